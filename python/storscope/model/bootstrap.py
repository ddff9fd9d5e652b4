"""Intervals for estimates from a time series, by resampling blocks of it.

Neighbouring intervals of a capture resemble each other, so resampling them one by one would give intervals that are
far too narrow. Whole blocks are drawn instead (circular moving blocks: Künsch 1989; Politis and Romano 1992), with a
length that grows with the correlation between neighbours (Politis and White 2004).

Everything here works on sums: a mean, a ratio, a regression slope or a correlation is a function of sums over the
rows, and the sums of a block are differences of one cumulative sum. A thousand replicates of a day at 20 s cost
milliseconds.

Beware: with fewer than about ten independent blocks the intervals are too narrow; `Interval.blocks` says how many
there were.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

LEVEL = 0.95
REPLICATES = 400


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the bounds that cover the truth with probability `level`, as far as the blocks tell."""

    estimate: float
    low: float
    high: float
    level: float = LEVEL
    blocks: int = 0
    """Blocks the series was cut into; below about ten the bounds are too narrow."""

    def covers(self, value: float) -> bool:
        """True when `value` lies within the bounds."""
        return self.low <= value <= self.high


def lag_one_correlation(values: FloatArray) -> float:
    """Correlation of each value with its successor; 0 for a constant or very short series."""
    centred = values - values.mean() if len(values) else values
    power = float(centred @ centred)
    if len(values) < 3 or power <= 0:
        return 0.0
    return float(centred[:-1] @ centred[1:]) / power


def block_length(values: FloatArray) -> int:
    """Block length for the mean of a series like an AR(1): (6 rho^2 / (1 - rho^2)^2)^(1/3) n^(1/3), at most n / 5.

    Politis and White 2004 with the correction of Patton, Politis and White 2009, equation (9) for circular blocks,
    with the spectrum of an AR(1) put in.
    """
    return block_length_of(lag_one_correlation(values), len(values))


def block_length_of(rho: float, n: int) -> int:
    """The same of n values whose lag-one correlation is known."""
    rho = min(abs(rho), 0.99)
    length = (6.0 * rho**2 / (1.0 - rho**2) ** 2) ** (1 / 3) * n ** (1 / 3)
    return int(np.clip(math.ceil(length), 1, max(1, n // 5)))


def resampled_sums(rows: FloatArray, block: int, replicates: int, rng: np.random.Generator) -> FloatArray:
    """Column sums of `replicates` resamples of `rows` (n x k), each made of circular blocks; shape (replicates, k)."""
    n = len(rows)
    block = int(np.clip(block, 1, n))
    count, rest = divmod(n, block)
    wrapped = np.concatenate([np.zeros((1, rows.shape[1])), rows, rows[: block - 1]])
    cumulative = np.cumsum(wrapped, axis=0)
    starts = rng.integers(0, n, (replicates, count))
    sums: FloatArray = (cumulative[starts + block] - cumulative[starts]).sum(axis=1)
    if rest:
        last = rng.integers(0, n, replicates)
        sums = sums + cumulative[last + rest] - cumulative[last]
    return sums


def interval_of_sums(
    rows: FloatArray,
    statistic: Callable[[FloatArray], FloatArray],
    *,
    block: int,
    seed: int = 0,
    replicates: int = REPLICATES,
    level: float = LEVEL,
) -> Interval:
    """Interval of a statistic that is a function of the column sums of `rows` (n x k).

    `statistic` maps sums of shape (m, k) to m values. The bounds are quantiles of the replicates, widened by
    sqrt(n / (n - block)) since means within a block vary less than means of the whole.
    """
    estimate = float(statistic(rows.sum(axis=0)[None, :])[0])
    rng = np.random.default_rng(seed)
    replicated = statistic(resampled_sums(rows, block, replicates, rng))
    return interval_from_replicates(
        estimate, replicated, level=level, blocks=len(rows) // block, widen=_widening(len(rows), block)
    )


def interval_from_replicates(
    estimate: float, replicated: FloatArray, *, level: float = LEVEL, blocks: int = 0, widen: float = 1.0
) -> Interval:
    """Quantiles of the finite replicates around the estimate; NaN bounds when there are none."""
    finite = replicated[np.isfinite(replicated)]
    if not len(finite):
        return Interval(estimate, math.nan, math.nan, level, blocks)
    tail = (1.0 - level) / 2.0
    low, middle, high = np.quantile(finite, [tail, 0.5, 1.0 - tail])
    return Interval(
        estimate, float(middle - widen * (middle - low)), float(middle + widen * (high - middle)), level, blocks
    )


def ratio_interval(top: FloatArray, bottom: FloatArray, *, seed: int = 0, level: float = LEVEL) -> Interval:
    """sum(top) / sum(bottom) with its interval: a share, or a mean latency weighted by operations."""
    ratio = float(top.sum() / bottom.sum()) if bottom.sum() else math.nan
    block = block_length(top - ratio * bottom) if math.isfinite(ratio) else 1
    rows = np.stack([top, bottom], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return interval_of_sums(rows, lambda s: s[:, 0] / s[:, 1], block=block, seed=seed, level=level)


def _widening(n: int, block: int) -> float:
    return math.sqrt(n / (n - block)) if n > block else 1.0
