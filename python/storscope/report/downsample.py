"""Fewer points for the screen, with every extreme kept.

Samples in a row are joined into buckets of equal count that never reach across a gap. A bucket keeps the smallest, the
greatest and the mean value of its samples, so a peak of one sample in a day is drawn at its full height. Nothing is
interpolated: a bucket whose samples are all absent is absent, and a row of absent values closes every gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from storscope.domain.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Extremes:
    """Per bucket: the smallest, the mean and the greatest value; NaN where there was none."""

    low: FloatArray
    mean: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Downsampled:
    """Buckets in time order. `time_ns` is where a bucket starts; the last row of each stretch is its end, all NaN."""

    time_ns: IntArray
    columns: Mapping[str, Extremes]
    samples_per_bucket: int


def downsample(
    time_ns: IntArray,
    end_ns: IntArray,
    columns: Mapping[str, FloatArray],
    weights: Mapping[str, FloatArray],
    buckets_max: int,
) -> Downsampled:
    """At most about `buckets_max` buckets (each stretch between gaps adds up to two rows).

    `weights[name]` weighs the mean of a column (operations for a latency); without it samples count alike.
    """
    count = len(time_ns)
    if not count:
        return Downsampled(time_ns, {}, 1)
    first_of_stretch = _stretches(time_ns, end_ns, max(2, buckets_max // 4))
    size = max(1, -(-count // buckets_max))
    starts = _bucket_starts(first_of_stretch, count, size)
    last_of_stretch = np.append(first_of_stretch[1:], count) - 1
    closes = np.searchsorted(starts, last_of_stretch, side="right")
    return Downsampled(
        np.insert(time_ns[starts], closes, end_ns[last_of_stretch]),
        {name: _extremes(values, starts, closes, weights.get(name)) for name, values in columns.items()},
        size,
    )


def _stretches(time_ns: IntArray, end_ns: IntArray, gaps_max: int) -> IntArray:
    """Indices at which a stretch without a gap begins. Of too many gaps only the longest are kept."""
    slack = np.median(end_ns - time_ns) / 2
    gaps = (time_ns[1:] - end_ns[:-1]).astype(np.float64)
    is_gap = gaps > slack
    if is_gap.sum() > gaps_max:
        is_gap &= gaps > np.sort(gaps)[-gaps_max - 1]
    return np.concatenate([[0], np.flatnonzero(is_gap) + 1]).astype(np.int64)


def _bucket_starts(first_of_stretch: IntArray, count: int, size: int) -> IntArray:
    """Every stretch's own first sample, and every `size`-th one after it."""
    position = np.arange(count)
    lengths = np.diff(np.append(first_of_stretch, count))
    return np.flatnonzero((position - np.repeat(first_of_stretch, lengths)) % size == 0).astype(np.int64)


def _extremes(values: FloatArray, starts: IntArray, closes: IntArray, weight: FloatArray | None) -> Extremes:
    known = np.isfinite(values)
    heavy = np.where(known, 1.0 if weight is None else np.nan_to_num(weight), 0.0)
    # A bucket whose samples all weigh nothing falls back to the plain mean.
    weighed = np.add.reduceat(heavy, starts)
    counts = np.add.reduceat(known.astype(np.float64), starts)
    plain = np.add.reduceat(np.where(known, values, 0.0), starts)
    sums = np.add.reduceat(np.where(known, values * heavy, 0.0), starts)
    low = np.fmin.reduceat(values, starts)
    high = np.fmax.reduceat(values, starts)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(weighed > 0, sums / weighed, plain / counts)
    # Rounding of the sum may carry a mean of equal values past them by a bit.
    mean = np.fmin(np.fmax(mean, low), high)
    mean[counts == 0] = np.nan
    return Extremes(*(np.insert(part, closes, np.nan) for part in (low, mean, high)))
