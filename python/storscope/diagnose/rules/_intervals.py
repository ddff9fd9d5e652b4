"""Arithmetic on the intervals of a series: means that mind absent values, runs of bad intervals.

NaN is absent and never counts as a value; an empty mean is NaN, never 0.
"""

from __future__ import annotations

import numpy as np

from storscope.domain.arrays import BoolArray, FloatArray, IntArray
from storscope.model.overload import runs_of
from storscope.store.series import Series


def mean(values: FloatArray) -> float:
    """The mean of what is present; NaN of nothing."""
    present = values[np.isfinite(values)]
    return float(present.mean()) if len(present) else float("nan")


def median(values: FloatArray) -> float:
    """The median of what is present; NaN of nothing."""
    present = values[np.isfinite(values)]
    return float(np.median(present)) if len(present) else float("nan")


def greatest(values: FloatArray) -> float:
    """The greatest value present; NaN of nothing."""
    present = values[np.isfinite(values)]
    return float(present.max()) if len(present) else float("nan")


def weighted_mean(values: FloatArray, weights: FloatArray) -> float:
    """The mean of `values` where both are present and the weight is positive; NaN of nothing."""
    keep = np.isfinite(values) & np.isfinite(weights) & (weights > 0)
    return float(np.average(values[keep], weights=weights[keep])) if keep.any() else float("nan")


def longest_run(bad: BoolArray, anew: BoolArray) -> int:
    """The greatest number of true values that follow on each other in time: `anew` is true after a gap."""
    return max((last - first + 1 for first, last in runs_of(bad, anew)), default=0)


def in_runs(bad: BoolArray, anew: BoolArray, shortest: int) -> BoolArray:
    """`bad` with its runs of fewer than `shortest` true values taken out; `anew` rows follow a gap, which ends one."""
    kept = np.zeros(len(bad), dtype=bool)
    for first, last in runs_of(bad, anew):
        kept[first : last + 1] = last - first + 1 >= shortest
    return kept


def told_at(series: Series, column: str, times_ns: IntArray) -> FloatArray:
    """The column at these instants, each from the interval that began last of those that tell it; NaN outside of it."""
    told = np.isfinite(series[column])
    if not told.any():
        return np.full(len(times_ns), np.nan)
    begin_ns, end_ns = series.time_ns[told], series.time_ns[told] + (seconds(series)[told] * 1e9).astype(np.int64)
    place = np.searchsorted(begin_ns, times_ns, side="right") - 1
    inside = (place >= 0) & (times_ns < end_ns[place])
    return np.where(inside, series[column][told][place], np.nan)


def told_once(series: Series) -> Series:
    """A counter with each time once: several captures may tell of one."""
    known = series.where(np.isfinite(series["value"]))
    again = np.concatenate(([False], np.diff(known.time_ns) == 0))[: len(known)]
    return known.where(~again)


def seconds(series: Series) -> FloatArray:
    """The length of each interval in seconds; the usual one where it is not known."""
    lengths = np.where(series.duration_ns > 0, series.duration_ns, series.interval_ns)
    return lengths / 1e9


def total(series: Series, column: str) -> float:
    """A rate summed over time: how many there were. NaN when the column has no value."""
    values = series[column]
    keep = np.isfinite(values)
    return float((values * seconds(series))[keep].sum()) if keep.any() else float("nan")


def ends(series: Series, bad: BoolArray | None = None) -> tuple[int, int] | None:
    """(start, end) in ns of the series, or of its bad intervals; None when there is none."""
    which = np.arange(len(series)) if bad is None else np.flatnonzero(bad)
    if not len(which):
        return None
    last = int(which[-1])
    return int(series.time_ns[which[0]]), int(series.time_ns[last]) + int(seconds(series)[last] * 1e9)


def hull(spans: list[tuple[int, int]]) -> tuple[int | None, int | None]:
    """The span from the first start to the last end; (None, None) of none."""
    if not spans:
        return None, None
    return min(start for start, _ in spans), max(end for _, end in spans)
