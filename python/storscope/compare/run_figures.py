"""What the rows of a run say together: over its whole length, over its intervals, and its histograms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from storscope.compare.combining import Row, combined, in_step, split_whole
from storscope.compare.flushes_apart import of_ios
from storscope.compare.metrics import FLUSH_LATENCY, FLUSH_RATE
from storscope.compare.selection import Times
from storscope.compare.subjects import HistogramPart, Intervals, Measured
from storscope.domain.schema import CANONICAL
from storscope.domain.units import NS_PER_S
from storscope.model.compare import Known

_KINDS: Final = ("job", "process", "host", "device")
"""Entities of a run from the whole to its parts; the first that has what is asked for is used."""


def measured_run(
    rows: Sequence[Row], histograms: Sequence[Row], times: Times, own: Mapping[str, Known]
) -> Measured | None:
    """What a run's rows say; None when nothing of it lies within the times that are meant."""
    by_kind: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if times.take(row["time_ns"], end_of_row_ns(row)):
            by_kind[row["kind"]].append(row)
    whole = intervals = None
    for kind in (*_KINDS, *(kind for kind in by_kind if kind not in _KINDS)):
        parts = [split_whole(own) for own in _by_entity(by_kind[kind])]
        totals = [total for total, _ in parts if total]
        series = [steps for _, steps in parts if len(steps) > 1]
        if whole is None and totals and len(totals) == len(parts):
            whole = combined([arrays([total]) for total in totals])
        if intervals is None and series and len(series) == len(parts):
            intervals = combined([arrays(steps) for steps in in_step(series)])
    if whole is None and intervals is None:
        return None
    whole, intervals = (None if one is None else of_ios(one) for one in (whole, intervals))
    return Measured(whole, intervals, _histograms(histograms, times), own)


def end_of_row_ns(row: Row) -> int | None:
    """When its time ends; None where that is not known."""
    return None if row["time_ns"] is None else int(row["time_ns"] + (row["duration_ns"] or 0))


def _by_entity(rows: Iterable[Row]) -> list[list[Row]]:
    grouped: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row["system"], row["entity"]].append(row)
    return list(grouped.values())


def arrays(rows: Sequence[Row]) -> Intervals:
    """Rows of the table `observations` as arrays. A row without a length weighs as one second."""
    seconds = np.asarray([(row["duration_ns"] or NS_PER_S) / NS_PER_S for row in rows], dtype=np.float64)
    columns = {
        name: np.asarray([np.nan if row.get(name) is None else row[name] for row in rows], dtype=np.float64)
        for name in (*CANONICAL, FLUSH_RATE, FLUSH_LATENCY)
        if any(row.get(name) is not None for row in rows)
    }
    return Intervals(seconds, columns, [row["time_ns"] for row in rows])


def _histograms(rows: Sequence[Row], times: Times) -> list[HistogramPart]:
    """Those of the run as a whole where there are such, else those of its parts; per interval where there are such."""
    inside = [row for row in rows if times.take(row["time_ns"], end_of_row_ns(row))]
    kind = next((kind for kind in _KINDS if any(row["kind"] == kind for row in inside)), None)
    grouped: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in inside:
        if kind is None or row["kind"] == kind:
            grouped[row["entity"], row["operation"], row["measure"]].append(row)
    series = [split_whole(own)[1] or own for own in grouped.values()]
    lengths: dict[str, set[int]] = defaultdict(set)
    for own in series:
        lengths[own[0]["measure"]].add(len(own))
    return [
        _histogram(row, place if len(lengths[row["measure"]]) == 1 else 0)
        for own in series
        for place, row in enumerate(own)
    ]


def _histogram(row: Row, place: int) -> HistogramPart:
    return HistogramPart(
        row["time_ns"],
        place,
        row["operation"],
        row["measure"],
        np.asarray(row["bucket_low_ns"], dtype=np.float64),
        np.asarray([np.inf if high is None else high for high in row["bucket_high_ns"]], dtype=np.float64),
        np.asarray(row["counts"], dtype=np.int64),
    )
