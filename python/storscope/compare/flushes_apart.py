"""Rates and latencies of reads and writes alone, where a run's tables count flushes among all operations.

A benchmark's `ops_per_s` and `latency_ns_mean` are of all operations, as the tables of fio's runs are
(domain/flush.py); a flush moves no data, and neither fio nor storscope calls it an I/O. So it is taken out where
counters tell of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from storscope.compare.metrics import FLUSH_LATENCY, FLUSH_RATE, IN_FLIGHT
from storscope.compare.subjects import Intervals, in_flight
from storscope.domain.arrays import FloatArray

_RATE, _LATENCY = "ops_per_s", "latency_ns_mean"


def of_ios(intervals: Intervals) -> Intervals:
    """The same with rate and latency of I/Os; how many were in flight, flushes included, is kept as it was."""
    if not {FLUSH_RATE, _RATE} <= intervals.columns.keys():
        return intervals
    rate, latency = intervals.column(_RATE), intervals.column(_LATENCY)
    flushes = np.nan_to_num(intervals.column(FLUSH_RATE))
    spent = np.where(flushes > 0, flushes * intervals.column(FLUSH_LATENCY), 0.0)
    columns = dict(intervals.columns)
    columns[_RATE] = np.maximum(rate - flushes, 0.0)
    if _LATENCY in columns:
        columns[IN_FLIGHT] = in_flight(rate, latency)
        columns[_LATENCY] = mean_of_ios(rate * latency - spent, columns[_RATE])
    return replace(intervals, columns=columns)


def mean_of_ios(time_ns_per_s: FloatArray, rate: FloatArray) -> FloatArray:
    """What all I/Os of a second took over their number; NaN without any."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(rate > 0, np.maximum(time_ns_per_s, 0.0) / rate, np.nan)
