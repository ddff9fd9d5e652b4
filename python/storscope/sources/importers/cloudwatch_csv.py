"""Amazon CloudWatch as CSV: what its console exports of a graph, and tables whose headings are metrics of EBS.

From the console, recalled; no capture at hand. The console writes rows of words above the values ("Label", "Full
label", "Id", "Statistic", "Period", "Region", ...), the name of each in the first cell, and below them a row a period
with its time in the first cell. Others write one heading: a time, perhaps a column that names the volume, and metrics
by the names that CloudWatch gives them, perhaps with the volume in each heading. Both are one shape here: all that
stands above a column tells its metric, statistic and volume.

What is converted, and how, `_cloudwatch.py` says. Times are UTC unless a zone stands beside them, in their heading, or
is given with --timezone (the console can show local time), and the start of a period.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from storscope.domain import units
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._cloud_samples import CloudSamples, Kept
from storscope.sources.importers._cloudwatch import CARRIES, NEVER, NOT_YET, CloudWatchWriter, entity_of
from storscope.sources.importers._cloudwatch_cells import number_of, period_s, rows_below
from storscope.sources.importers._cloudwatch_metrics import (
    is_of_instance,
    metric_in,
    rest_of,
    statistic_in,
    thing_in,
)
from storscope.sources.importers._decimal_comma import Commas
from storscope.sources.importers._headings import words_of
from storscope.sources.importers._left_out import LeftOut
from storscope.sources.importers._table_cells import ABSENT
from storscope.sources.importers._table_heading import KINDS, cells_of, separator_of, time_columns, zone_of
from storscope.sources.importers._table_times import TableTimes

_MOST_LINES_ABOVE: Final = 30
_LONGEST_LINE: Final = 64 * 1024
_REMEDY: Final = "Its heading is to be the metric as CloudWatch spells it, such as 'VolumeReadOps'."
_PERIOD_WORDS: Final = (("period",), ("period", "s"), ("period", "seconds"))
_LABELS: Final = ("label", "full label")
_INSTANCES: Final = ("instance", "instance id", "instance name")


@dataclass(frozen=True)
class _Column:
    """What a column of values is."""

    index: int
    metric: str
    statistic: str
    name: str | None
    """The id of the volume or the instance."""
    rest: str | None
    """What else stands above it."""
    period_s: float | None


@dataclass(frozen=True)
class _Sheet:
    """What stands above the values."""

    lines: int
    separator: str
    times: tuple[int, ...]
    time_name: str
    names: tuple[int, ...]
    """Columns that name the volume or the instance of their row."""
    columns: tuple[_Column, ...]
    others: dict[int, str]
    """Columns that are no metric which is known, with what stands above them."""

    @property
    def width(self) -> int:
        """Cells of a row."""
        return 1 + max(*self.times, *self.names, *self.others, *(column.index for column in self.columns))


# The heading -----------------------------------------------------------------------------------------------------


def _find(lines: Sequence[str]) -> _Sheet | None:
    """None where no line names a metric beside a time, or beside what the console calls its rows."""
    head = [line if len(line) <= _LONGEST_LINE else "" for line in lines[:_MOST_LINES_ABOVE]]
    named = next((number for number, line in enumerate(head) if metric_in(cells_of(line))), None)
    if named is None:
        return None
    separator = separator_of(head[named])
    cells = [[cell.strip() for cell in _split(line, separator)] for line in head]
    heading = next(
        (n for n, row in enumerate(cells) if time_columns(row) and len(row) > 1 and (n > named or metric_in(row))), None
    )
    if heading is not None:
        return _sheet(cells[: max(heading, named) + 1], cells[heading], separator)
    if not any(row and row[0].lower() in _LABELS for row in cells):
        return None
    rows = (number for number in range(named + 1, len(cells)) if cells[number] and _is_time(cells[number][0]))
    return _sheet(cells[: next(rows, named + 1)], None, separator)


def _split(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []


def _is_time(cell: str) -> bool:
    times = TableTimes(ImportOptions())
    return times.instant(cell, times.clock()) is not None


def _sheet(above: Sequence[Sequence[str]], heading: Sequence[str] | None, separator: str) -> _Sheet | None:
    times = time_columns(heading) if heading is not None else (0,)
    named = dict(enumerate(heading)) if heading is not None else {}
    width = max(len(cells) for cells in above)
    names = tuple(index for index in range(width) if index not in times and _names(named.get(index, "")))
    columns: list[_Column] = []
    others: dict[int, str] = {}
    for index in range(width):
        said = {number: cells[index] for number, cells in enumerate(above) if index < len(cells) and cells[index]}
        if index in times or index in names or not said:
            continue
        if (metric := metric_in(said.values())) is not None:
            columns.append(_column(index, metric, said, above))
        else:
            others[index] = " ".join(said.values())
    if not columns:
        return None
    title = named.get(times[0], "")
    return _Sheet(len(above), separator, times, title, names, _told_apart(columns), others)


def _told_apart(columns: Sequence[_Column]) -> tuple[_Column, ...]:
    """Columns that no id tells apart, by what else stands above them; one column of a metric needs no name."""
    counts = Counter((column.metric, column.statistic) for column in columns if column.name is None)
    several = any(count > 1 for count in counts.values())
    return tuple(replace(one, name=one.name or one.rest) if several else one for one in columns)


def _names(heading: str) -> bool:
    words = " ".join(words_of(heading))
    return words in _INSTANCES or KINDS.get(words) in ("vdisk", "disk", "device", "vm", "host")


def _column(index: int, metric: str, said: dict[int, str], above: Sequence[Sequence[str]]) -> _Column:
    periods = [cell for number, cell in said.items() if words_of(above[number][0]) in _PERIOD_WORDS]
    texts = list(said.values())
    rest = next((rest for text in texts if metric in text and (rest := rest_of(text))), None)
    name = thing_in(texts, of_instance=is_of_instance(metric))
    return _Column(index, metric, statistic_in(texts), name, rest, period_s(periods))


def _recognise(head: Head) -> float:
    found = _find(head.lines)
    return 0.9 if found is not None else 0.0


# Reading ---------------------------------------------------------------------------------------------------------


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    lines = list(evidence.lines())
    sheet = _find(lines)
    if sheet is None:
        raise broken(
            evidence, "a heading with a time and metrics of CloudWatch, or the rows of words of its console",
            next((line for line in lines if line.strip()), "an empty file"),
            hint="For instance: timestamp,volume,VolumeReadOps,VolumeWriteOps,VolumeTotalReadTime",
        )  # fmt: skip
    rows = rows_below(evidence, recorder, lines[sheet.lines :], sheet.separator, sheet.width)
    times = TableTimes(options, zone_of(sheet.time_name), evidence.name)
    times.learn(_stamp(sheet, row) for row in rows)
    samples, left_out = CloudSamples(recorder), LeftOut()
    _gather(sheet, rows, evidence, times, samples)
    for index, name in sheet.others.items():
        filled = sum(row[index].strip().lower() not in ABSENT for row in rows)
        if filled:
            left_out.add(name, "no metric of EBS that is known", filled)
    left_out.tell(recorder, _REMEDY)
    samples.refuse_mixtures(evidence.name, "Name the volume of each row in a column 'volume', or in each heading.")
    CloudWatchWriter(samples, recorder, options).write()
    recorder.notes.clock = f"{times.words}; a time is the start of its interval"
    for doubt in (times.doubt, times.zone_doubt):
        if doubt is not None:
            recorder.warn(doubt)


def _gather(
    sheet: _Sheet, rows: Sequence[Sequence[str]], evidence: Evidence, times: TableTimes, samples: CloudSamples
) -> None:
    recorder, clock = samples.recorder, times.clock()
    has_comma = _has_decimal_comma(sheet, rows, recorder)
    for row in rows:
        time_ns = times.instant(_stamp(sheet, row), clock)
        if time_ns is None:
            recorder.omit("rows whose time is none")
            continue
        named = next((cell for index in sheet.names if (cell := row[index].strip())), None)
        for column in sheet.columns:
            cell = row[column.index].strip()
            if cell.lower() in ABSENT:
                continue
            value = number_of(cell, decimal_comma=has_comma)
            if math.isnan(value):
                recorder.omit("cells that are no number")
                continue
            of_instance = is_of_instance(column.metric)
            name = named or column.name or thing_in([evidence.name], of_instance=of_instance)
            entity, kept = entity_of(column.metric, name, times.options), Kept(column.metric, column.statistic)
            samples.add(entity, kept, time_ns, value)
            if column.period_s:
                samples.said_ns[entity, kept] = round(column.period_s * units.NS_PER_S)


def _stamp(sheet: _Sheet, row: Sequence[str]) -> str:
    return " ".join(row[index].strip() for index in sheet.times)


def _has_decimal_comma(sheet: _Sheet, rows: Sequence[Sequence[str]], recorder: Recorder) -> bool:
    commas = Commas()
    for row in rows:
        for column in sheet.columns:
            commas.learn(row[column.index])
    if doubt := commas.doubt(sheet.separator):
        recorder.warn(doubt)
    return commas.are_decimal(sheet.separator)


IMPORTER = Importer(
    name="cloudwatch_csv",
    title="Amazon CloudWatch of EBS volumes, CSV",
    supports="what the console exports of a graph, and tables whose headings are metrics of AWS/EBS, or those of "
    "AWS/EC2 that begin with EBS; recalled: no capture was seen",
    how_to_capture="CloudWatch's console: a graph with Statistic Sum and Period 1 minute > Actions > Download as .csv",
    recognise=_recognise,
    read=_read,
    carries=CARRIES,
    not_yet={
        **NOT_YET,
        "other columns": "only metrics of EBS are read; --as counter_table reads what else a table has",
    },
    never=NEVER,
)  # fmt: skip
