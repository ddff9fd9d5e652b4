"""Comparing latency distributions that are known as counts in buckets.

A percentile lies somewhere in its bucket, so every bound here is an edge of a bucket: the intervals hold the width of
the buckets as well as chance. With one histogram a side the counts are resampled as if I/Os were independent, which
they are not (a stall delays many at once): that interval is too narrow, and `Method.BUCKETS` says so. With a histogram
per interval whole blocks of intervals are resampled, which keeps the correlation (`Method.BUCKET_SERIES`), and the
result is widened as Student's t is, as that of means (compare.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from storscope.domain.arrays import FloatArray, IntArray
from storscope.model.bootstrap import Interval
from storscope.model.compare import (
    INTERVALS_MIN,
    LEVEL,
    Difference,
    Method,
    chance,
    pooled,
)
from storscope.model.correlated_means import correlation_of

REPLICATES = 1_000


@dataclass(frozen=True)
class Buckets:
    """Latencies counted in buckets: `counts` has one row an interval (one row in all when they have no time order)."""

    low: FloatArray
    high: FloatArray
    counts: IntArray

    @property
    def total(self) -> IntArray:
        """Counts of the whole time."""
        summed: IntArray = self.counts.sum(axis=0)
        return summed

    @property
    def size(self) -> int:
        """How many latencies were counted."""
        return int(self.counts.sum())

    def percentile(self, share: float) -> float:
        """The middle of the bucket that holds it (the lower edge where that has no upper one); NaN without counts.

        Never below 0: a bucket that holds the value 0 begins before it, as its lower edge is not in it."""
        if not self.size:
            return math.nan
        low, high = self.bounds(share)
        return max(0.0, (low + high) / 2.0) if math.isfinite(high) else low

    def bounds(self, share: float) -> tuple[float, float]:
        """The edges of the bucket that holds it; there must be counts."""
        at = int(_bucket_of(self.total[None].astype(np.float64), share)[0])
        return float(self.low[at]), float(self.high[at])


@dataclass(frozen=True, slots=True)
class Superiority:
    """The Mann-Whitney test in the form that says something: how often B is the slower one."""

    probability: float
    """That a value of B exceeds one of A, equal ones counted half; 0.5 without difference."""
    p_value: float
    """Beware: takes every value as independent of the others."""


def buckets_of(parts: list[tuple[FloatArray, FloatArray, IntArray]]) -> Buckets:
    """Histograms (low edges, high edges, counts) of any bucket lists on the union of their buckets, a row each."""
    edges = np.unique(np.concatenate([np.stack([low, high], axis=1) for low, high, _ in parts]), axis=0)
    counts = np.zeros((len(parts), len(edges)), np.int64)
    where = {(low, high): index for index, (low, high) in enumerate(map(tuple, edges.tolist()))}
    for row, (low, high, count) in enumerate(parts):
        at = [where[edge] for edge in zip(low.tolist(), high.tolist(), strict=True)]
        np.add.at(counts[row], at, count)
    return Buckets(edges[:, 0], edges[:, 1], counts)


def compare_percentile(
    before: Buckets,
    after: Buckets,
    share: float,
    *,
    seed: int = 0,
    level: float = LEVEL,
    replicates: int = REPLICATES,
) -> Difference:
    """Difference and ratio of a percentile (`share` 0 to 1) of two distributions, bounds at bucket edges."""
    in_order = min(len(before.counts), len(after.counts)) >= INTERVALS_MIN
    rng = np.random.default_rng(seed)
    ranks = [_ranks(side, share, in_order, replicates, rng) for side in (before, after)]
    (low_a, high_a), (low_b, high_b) = (
        (side.low[at], side.high[at]) for side, at in zip((before, after), ranks, strict=True)
    )
    a, b = before.percentile(share), after.percentile(share)
    return Difference(
        a,
        b,
        Method.BUCKET_SERIES if in_order else Method.BUCKETS,
        _outer(b - a, low_b - high_a, high_b - low_a, level),
        _outer(b / a, low_b / high_a, _over(high_b, low_a), level) if a > 0 else None,
        chance(int((low_b < high_a).sum()), int((high_b > low_a).sum()), replicates),
        before.size,
        after.size,
        min(_independent(side, share) for side in (before, after)) if in_order else None,
    )


def _ranks(side: Buckets, share: float, in_order: bool, replicates: int, rng: np.random.Generator) -> IntArray:
    """The bucket of the percentile in each resample."""
    if in_order:
        rows, late = pooled(side.counts.astype(np.float64)), _late(side, share)
        # Short blocks spread too little: the share that is looked up moves by what is missing. How much it spreads is
        # known from few independent values, which makes a normal deviate Student's t.
        # How much they hang together is not known well either (correlated_means.py).
        correlation, n = correlation_of(late), len(late)
        correlations = correlation.drawn(replicates, rng)
        freedom = correlation.freedom(correlations)
        uncertain = np.sqrt(freedom / rng.chisquare(freedom))
        times = _times_drawn(n, correlation.block, replicates, rng)
        widen = correlation.correction(correlations, float((times @ late / n).var())) * uncertain
        return _bucket_of(times @ rows, share, rows.sum(axis=0), widen)
    total = side.total
    drawn = rng.multinomial(total.sum(), total / total.sum(), replicates)
    return _bucket_of(drawn.astype(np.float64), share)


def _times_drawn(n: int, block: int, replicates: int, rng: np.random.Generator) -> FloatArray:
    """How often each of n rows is in each resample of circular blocks: resampling many columns is then one product."""
    return np.stack([_rows_drawn(n, block, rng) for _ in range(replicates)])


def _rows_drawn(n: int, block: int, rng: np.random.Generator) -> FloatArray:
    """How often each of n rows is drawn when whole blocks are, n rows in all."""
    count, rest = divmod(n, block)
    starts = rng.integers(0, n, count + 1)
    lengths = np.append(np.full(count, block), rest)
    rows = (np.repeat(starts - np.append(0, np.cumsum(lengths)[:-1]), lengths) + np.arange(n)) % n
    return np.bincount(rows, minlength=n).astype(np.float64)


def _bucket_of(
    counts: FloatArray, share: float, whole: FloatArray | None = None, widen: FloatArray | float = 1.0
) -> IntArray:
    """Index of the bucket that holds the percentile, per row; deviations from `whole` made larger by `widen`."""
    cumulative = np.cumsum(counts, axis=1)
    cumulative /= cumulative[:, -1:]
    if whole is not None:
        centre = np.cumsum(whole) / whole.sum()
        cumulative = centre + np.reshape(widen, (-1, 1)) * (cumulative - centre)
    index: IntArray = np.argmax(cumulative >= share - 1e-12, axis=1)
    return index


def _late(side: Buckets, share: float) -> FloatArray:
    """Per interval: values above the percentile, less what is expected; its correlation is that of the estimate."""
    at = int(_bucket_of(side.total[None].astype(np.float64), share)[0])
    above = side.counts[:, at + 1 :].sum(axis=1) / max(1, int(side.total[at + 1 :].sum()))
    everything = side.counts.sum(axis=1) / max(1, side.size)
    late: FloatArray = pooled((above - everything)[:, None])[:, 0]
    return late


def _independent(side: Buckets, share: float) -> float:
    return correlation_of(_late(side, share)).independent


def _over(top: FloatArray, bottom: FloatArray) -> FloatArray:
    ratio: FloatArray = np.divide(top, bottom, out=np.full(len(top), math.inf), where=bottom > 0)
    return ratio


def _outer(estimate: float, low: FloatArray, high: FloatArray, level: float) -> Interval:
    tail = (1.0 - level) / 2.0
    return Interval(
        estimate,
        float(np.quantile(low, tail, method="lower")),
        float(np.quantile(high, 1.0 - tail, method="higher")),
        level,
    )


# Mann-Whitney ---------------------------------------------------------------------------------------------------------


def mann_whitney_of_buckets(before: Buckets, after: Buckets) -> Superiority:
    """For counts: values in buckets with the same middle count as equal."""
    return superiority((_middles(before), before.total), (_middles(after), after.total))


def _middles(side: Buckets) -> FloatArray:
    middles: FloatArray = np.where(np.isfinite(side.high), (side.low + side.high) / 2.0, side.low)
    return middles


def superiority(before: tuple[FloatArray, IntArray], after: tuple[FloatArray, IntArray]) -> Superiority:
    """Values with their counts. Normal approximation with the correction for ties (Mann and Whitney 1947)."""
    values, at = np.unique(np.concatenate([before[0], after[0]]), return_inverse=True)
    split = len(before[0])
    one = np.bincount(at[:split], before[1], len(values))
    other = np.bincount(at[split:], after[1], len(values))
    n, m = float(one.sum()), float(other.sum())
    below = np.concatenate([[0.0], np.cumsum(one)[:-1]])
    wins = float((other * (below + one / 2.0)).sum())
    probability = wins / (n * m)
    tied = one + other
    ties = float((tied**3 - tied).sum()) / ((n + m) * (n + m - 1.0))
    variance = n * m / 12.0 * (n + m + 1.0 - ties)
    if variance <= 0:
        return Superiority(probability, 1.0)
    return Superiority(probability, math.erfc(abs(wins - n * m / 2.0) / math.sqrt(2.0 * variance)))
