"""Loads of several devices set side by side, interval by interval, where not every device has a row in each.

A capture may lack rows: a line that was damaged or cut, a device that came later, and `iostat -z`, which omits every
device without activity in an interval (iostat(1) of sysstat 12). So the series of a system are put on the union of
their times, NaN where a row is absent. Loads are then compared in the intervals that all of them have, as long as these
are nearly all. Where they are fewer and hardly a row shows an idle device, idle rows were not written: an absent one
has no load. Else nothing is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from storscope.domain.arrays import FloatArray, IntArray
from storscope.store.series import Series

_IN_COMMON: Final = 0.9
"""Part of the intervals in which all that are compared must have a row (ours)."""
_IDLE_ROWS: Final = 0.01
"""Part of the rows up to which a source that leaves idle devices out may show one: a flush, a discard (ours)."""
_LONGEST_GROWTH: Final = 2
"""Times all together over those of the longest series, above which the series are of times apart."""


def on_common_intervals(series: Sequence[Series]) -> list[Series]:
    """The series on the union of their times, with NaN where a row is absent; as they are where times are apart."""
    if len(series) < 2 or all(np.array_equal(one.time_ns, series[0].time_ns) for one in series):
        return list(series)
    longest = max(series, key=len)
    times = np.unique(np.concatenate([one.time_ns for one in series]))
    if len(times) > _LONGEST_GROWTH * len(longest):
        return list(series)
    return [one if np.array_equal(one.time_ns, times) else _spread(one, times) for one in series]


def _spread(one: Series, times: IntArray) -> Series:
    places = np.searchsorted(times, one.time_ns)
    columns = {}
    for name, values in one.columns.items():
        columns[name] = np.full(len(times), np.nan)
        columns[name][places] = values
    duration_ns = np.full(len(times), one.interval_ns, dtype=np.int64)
    duration_ns[places] = one.duration_ns
    return replace(one, time_ns=times, duration_ns=duration_ns, columns=columns)


def loads(series: Sequence[Series], column: str) -> FloatArray | None:
    """What each did in the intervals that are compared, one row a device; None where they are too few."""
    if not all(np.array_equal(one.time_ns, series[0].time_ns) for one in series):
        return None
    table = np.stack([one[column] for one in series])
    shown = np.stack([one["ops_per_s"] for one in series])
    present = np.isfinite(shown)
    common = present.all(axis=0)
    if common.mean() >= _IN_COMMON:
        found: FloatArray = np.nan_to_num(table[:, common])
        return found
    idle = (shown == 0).sum()
    return np.nan_to_num(table) if idle <= _IDLE_ROWS * present.sum() else None
