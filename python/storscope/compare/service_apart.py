"""The mean service of reads, writes and flushes apart, of which our runs keep no mean: from their distributions.

The mean of all operations is kept exactly. What the distributions give of each kind, each operation at the middle of
its bucket, is scaled so that all together have that mean. Our buckets are at most 0.8 % wide (crates/storscope-stats,
histogram.rs), fio's 1.6 %: each I/O is off by half of that at most, and so is the scale, so that a mean is off by less
than the width of a bucket. Where distributions and rates do not tell of the same I/Os, nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from storscope.compare.metrics import FLUSH_RATE, OPERATIONS
from storscope.compare.subjects import HistogramPart, Intervals
from storscope.domain.arrays import FloatArray

SERVICE = "device_latency_ns_mean"
_COUNTS_AGREE = 0.02
"""Part by which a histogram's I/Os may differ from rate x time: an I/O at the edge of an interval counts in either."""
_SCALE_MAX = 0.02
"""More than any bucket of ours or of fio's: the mean is then of other I/Os."""


def service_apart(intervals: Intervals, parts: Sequence[HistogramPart]) -> dict[str, FloatArray]:
    """'read', 'write' and, of a run with flushes, 'flush' -> mean service in ns, NaN where it is not known; {} where it
    never is."""
    service = intervals.columns.get(SERVICE)
    if service is None:
        return {}
    words = ("read", "write", *(("flush",) if FLUSH_RATE in intervals.columns else ()))
    sums, counts = (np.zeros((len(words), len(intervals))) for _ in range(2))
    for number, word in enumerate(words):
        at_time: dict[int | None, list[HistogramPart]] = {}
        for part in parts:
            if part.measure == "service" and part.operation == OPERATIONS[word]:
                at_time.setdefault(part.time_ns, []).append(part)
        for index, time_ns in enumerate(intervals.time_ns):
            for part in at_time.get(time_ns, ()):
                used = part.counts > 0
                sums[number, index] += float(((part.low_ns + part.high_ns)[used] / 2) @ part.counts[used])
                counts[number, index] += int(part.counts.sum())
    rates = np.stack([intervals.column(f"{word}_ops_per_s") for word in words])
    expected = rates * intervals.duration_s
    agree = (np.abs(counts - expected) <= 1 + _COUNTS_AGREE * expected).all(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = service * counts.sum(axis=0) / sums.sum(axis=0)
        means = scale * sums / counts
    means[:, ~(agree & (np.abs(scale - 1) <= _SCALE_MAX))] = np.nan
    found = dict(zip(words, means, strict=True))
    return {word: values for word, values in found.items() if np.isfinite(values).any()}
