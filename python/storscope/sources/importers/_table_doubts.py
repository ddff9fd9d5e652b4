"""Which columns of a table are surely what they seem to be; the others stay counters, and the capture names them.

A share without a unit may be in per cent or a ratio: 0.9 is next to nothing or nearly all. It is in per cent if a cell
has the sign, or if a value is greater than any share can be; small values tell nothing. A column with points that may
stand between thousands (`_decimal_comma.py`) is a factor of 1000 either way.

A heading that says ratio is one, unless its values are greater than any: then heading and values contradict each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from storscope.domain.recorder import Recorder
from storscope.sources.importer import shortened
from storscope.sources.importers._decimal_comma import is_doubtful_point
from storscope.sources.importers._headings import (
    Meaning,
    has_unsure_unit,
    is_amount,
    is_taken_as_bytes,
    lacks_unit,
    write_cache_factor,
)
from storscope.sources.importers._table_cells import Table

_NO_SHARE_FROM: Final = 5.0
"""A ratio may be over 1, where the counter's interval is not the table's, but not by so much."""
_MOST_NAMED: Final = 8
_SHARE: Final = "Nothing tells whether {} is in per cent or a ratio of 0 to 1: {}. Write % into the heading."
_POINT: Final = (
    "Nothing tells whether a point in {} is a decimal one or stands between thousands: {}. Save the table "
    "with commas between its cells, or without points between thousands."
)
UNSURE_POINT: Final = "a point may be a decimal one or stand between thousands"
"""Why what is no column of its own is left out."""
_KEPT: Final = "kept as a counter that no rule reads"


def keep_the_sure(table: Table, recorder: Recorder) -> None:
    """Takes the columns whose meaning is in doubt out of what is measured, and says so."""
    measured: dict[int, Meaning] = {}
    doubted: dict[str, list[int]] = {}
    for index, meaning in table.heading.measured.items():
        if table.commas.points_in_doubt(table.separator) and any(is_doubtful_point(row[index]) for row in table.rows):
            doubted.setdefault(_POINT, []).append(index)
        elif not _is_ratio(meaning) or (not meaning.is_share and not _is_per_cent(table, index)):
            measured[index] = meaning
        elif not any(row[index].strip() for row in table.rows):
            continue
        elif _has_signs(table, index) or (meaning.is_share and _is_per_cent(table, index)):
            measured[index] = Meaning(meaning.column, 0.01)
        else:
            doubted.setdefault(_SHARE, []).append(index)
    for sentence, indexes in doubted.items():
        recorder.warn(sentence.format(_shown([table.heading.names[index] for index in indexes]), _KEPT))
    table.heading = replace(table.heading, measured=measured)


def _is_ratio(meaning: Meaning) -> bool:
    """Whether a heading says no more than that it is a share, or that it is a ratio."""
    return meaning.column.endswith("_ratio") and meaning.factor == 1.0


def _has_signs(table: Table, index: int) -> bool:
    return any(row[index].strip().endswith("%") for row in table.rows)


def _is_per_cent(table: Table, index: int) -> bool:
    return _has_signs(table, index) or any(table.number(row[index]) > _NO_SHARE_FROM for row in table.rows)


def tell_of_counters(table: Table, recorder: Recorder) -> None:
    """Names the columns of numbers that stay counters, with what would make rules read them."""
    names = table.heading.names
    for index, taken in table.heading.passed_over:
        recorder.warn(
            f"'{shortened(names[index])}' means the same as '{shortened(names[taken])}', which was taken: the first is "
            f"{_KEPT}."
        )
    if table.heading.disk_side:
        shown = _shown([names[index] for index in table.heading.disk_side])
        recorder.warn(f"Beside what hosts did stands what disks did: {shown}, {_KEPT}.")
    tell_of_small_letters(names, recorder)
    aside = {index for index, _ in table.heading.passed_over} | set(table.heading.disk_side)
    others = [index for index in table.heading.others if index not in aside and table.has_numbers(index)]
    _tell_of_others([names[index] for index in others], recorder)


def tell_of_small_letters(names: Sequence[str], recorder: Recorder) -> None:
    """Names the bandwidths that were taken as bytes though their letters could be bits."""
    small = [name for name in names if is_taken_as_bytes(name)]
    if small:
        recorder.warn(f"Taken as bytes per second, not bits: {_shown(small)}. If it is bits, write kbit/s or Mbit/s.")


def _tell_of_others(names: Sequence[str], recorder: Recorder) -> None:
    wanting = [name for name in names if lacks_unit(name)]
    unsure = [name for name in names if has_unsure_unit(name)]
    amounts = [name for name in names if is_amount(name)]
    unknown = [name for name in names if name not in {*wanting, *unsure, *amounts} and write_cache_factor(name) is None]
    if wanting:
        recorder.warn(
            f"Without a unit in the heading {_shown(wanting)}: {_KEPT}. Write the unit into the heading (ms, us, "
            "MB/s, MiB/s), then import again."
        )
    if unsure:
        recorder.warn(f"Perhaps bytes, perhaps bits: {_shown(unsure)}, {_KEPT}. Write kB/s or kbit/s.")
    if amounts:
        recorder.warn(
            f"Amounts, as the heading has no '/s': {_shown(amounts)}, {_KEPT}. If it is a rate, write '/s' into the "
            "heading; else divide by the interval."
        )
    if unknown:
        recorder.warn(f"Headings that are not known, each {_KEPT}: {_shown(unknown)}.")


def _shown(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(f"'{shortened(name, 60)}'" for name in names[:_MOST_NAMED]) + more
