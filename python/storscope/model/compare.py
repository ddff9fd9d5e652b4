"""Is B different from A, by how much, and could it be chance? For series over time and for repeated runs.

`compare_series` takes one run a side, with values per interval. Neighbouring intervals resemble each other, so blocks
are resampled (see bootstrap.py). What blocks shorter than the correlation leave out of the variance is put back by the
closed form for an AR(1); that the spread itself is known from few independent values widens the result as Student's t
does, and so does that the correlation is not known well either: each resample takes another that may be the true one.
`compare_runs` takes the means of repeated runs, which are independent: Welch's test, and Fieller's interval for the
ratio. `compare_couples` is for runs taken in turn, where a drift of the whole system falls out.

Measured false positives at 5 %: 1 to 6 % for AR(1) series of 60 to 300 intervals with a lag-one correlation of up to
0.8, and no more than about 8 % of what has INDEPENDENT_MIN independent values, down to series of which a tenth have
them (tests/model/test_compare.py). Beware: fewer than `INDEPENDENT_MIN` independent values a side support no verdict;
those few series that seem to have them by luck differ far more often; a series says nothing about how much repeated
runs differ; two runs a side give a very wide interval, rightly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from storscope.domain.arrays import FloatArray
from storscope.model.bootstrap import Interval, resampled_sums
from storscope.model.correlated_means import correlation_of
from storscope.model.student import two_sided_p, two_sided_quantile

LEVEL = 0.95
REPLICATES = 2_000
INDEPENDENT_MIN = 5.0
"""Below so many independent values a side, false positives exceed what the level promises (simulated, AR(1))."""
INTERVALS_MIN = 8
"""Fewer intervals do not show how they are correlated."""
_ROWS_MAX = 1_000
"""Longer series are pooled to so many rows before they are resampled, to bound memory; means stay as they are."""


class Method(Enum):
    """How an interval came about."""

    SERIES = "series"
    RUNS = "runs"
    COUPLES = "couples"
    BUCKETS = "buckets"
    BUCKET_SERIES = "bucket-series"
    OWN = "own"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Difference:
    """B against A. Absent statistics are None, never a guess."""

    before: float
    after: float
    method: Method
    difference: Interval | None = None
    """after - before."""
    ratio: Interval | None = None
    """after / before, at least 0 since no figure here is negative; infinite where `before` cannot be told from 0."""
    p_value: float | None = None
    """Probability of a difference at least as large when there is none."""
    values_before: int = 1
    """Intervals, runs or I/Os the estimate rests on."""
    values_after: int = 1
    independent: float | None = None
    """About how many independent values the smaller side amounts to."""

    @property
    def change(self) -> float | None:
        """(after - before) / before; None where before is 0."""
        return self.after / self.before - 1.0 if self.before else None


@dataclass(frozen=True, slots=True)
class Weighted:
    """A series whose mean is sum(top) / sum(bottom): operations and seconds, or latency x operations and operations."""

    top: FloatArray
    bottom: FloatArray

    @property
    def mean(self) -> float:
        """The weighted mean; NaN without weight."""
        weight = float(self.bottom.sum())
        return float(self.top.sum()) / weight if weight else math.nan

    def __len__(self) -> int:
        return len(self.top)


# One value a side -----------------------------------------------------------------------------------------------------


def only_values(before: float, after: float, counts: tuple[int, int] = (1, 1)) -> Difference:
    """The difference alone: without spread there is no interval."""
    return Difference(before, after, Method.NONE, values_before=counts[0], values_after=counts[1])


# Series ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Replicates:
    """Deviations of a mean from itself over resamples, each of another correlation that the series may have."""

    deviations: FloatArray
    variance: FloatArray
    """Of the mean, by the correlation of the resample."""
    freedom: FloatArray
    """That the spread is known with, likewise."""
    independent: float
    """About how many independent values there are, by the likeliest correlation."""


def compare_series(
    before: Weighted, after: Weighted, *, seed: int = 0, level: float = LEVEL, replicates: int = REPLICATES
) -> Difference:
    """Difference and ratio of two weighted means of series; without interval below INTERVALS_MIN values a side."""
    counts = (len(before), len(after))
    if min(counts) < INTERVALS_MIN:
        return only_values(before.mean, after.mean, counts)
    rng = np.random.default_rng(seed)
    one, other = (_replicates(side, replicates, rng) for side in (before, after))
    return _from_replicates((before.mean, after.mean), (one, other), counts, Method.SERIES, level, rng)


def _replicates(side: Weighted, replicates: int, rng: np.random.Generator) -> _Replicates:
    """Block resamples of the mean, scaled so that their variance is the mean's also where blocks are short."""
    rows = pooled(np.stack([side.top, side.bottom], axis=1))
    correlation = correlation_of(rows[:, 0] - side.mean * rows[:, 1])
    sums = resampled_sums(rows, correlation.block, replicates, rng)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums[:, 0] / sums[:, 1]
    means = np.where(np.isfinite(means), means, side.mean)
    drawn = correlation.drawn(replicates, rng)
    deviations = means - means.mean()
    variance = float(deviations.var())
    wider = correlation.correction(drawn, variance * float(rows[:, 1].mean()) ** 2)
    return _Replicates(deviations * wider, variance * wider**2, correlation.freedom(drawn), correlation.independent)


def pooled(rows: FloatArray) -> FloatArray:
    """Sums of neighbouring rows, as few together as make at most `_ROWS_MAX` rows."""
    together = -(-len(rows) // _ROWS_MAX)
    if together <= 1:
        return rows
    sums: FloatArray = np.add.reduceat(rows, np.arange(0, len(rows), together), axis=0)
    return sums


def _from_replicates(
    means: tuple[float, float],
    sides: tuple[_Replicates, _Replicates],
    counts: tuple[int, int],
    method: Method,
    level: float,
    rng: np.random.Generator,
) -> Difference:
    before, after = means
    freedom = _welch_freedoms(sides)
    # A normal deviate over sqrt(chi^2 / df) is Student's t: each replicate gets a spread that is as uncertain as ours.
    uncertain = np.sqrt(freedom / rng.chisquare(freedom))
    one, other = (side.deviations * uncertain for side in sides)
    d = after - before
    differences = d + other - one
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(before + one > 0, np.maximum(after + other, 0.0) / (before + one), math.inf)
    independent = min(side.independent for side in sides)
    return Difference(
        before,
        after,
        method,
        _between(d, differences, level),
        _between(after / before, ratios, level) if before > 0 else None,
        chance(int((differences <= 0).sum()), int((differences >= 0).sum()), len(differences)),
        *counts,
        independent,
    )


def _welch_freedoms(sides: tuple[_Replicates, _Replicates]) -> FloatArray:
    """`welch_freedom` of every replicate."""
    total = sides[0].variance + sides[1].variance
    parts = sides[0].variance ** 2 / sides[0].freedom + sides[1].variance ** 2 / sides[1].freedom
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = np.where(parts > 0, np.maximum(1.0, total**2 / parts), sides[0].freedom + sides[1].freedom)
    return found


def chance(not_above: int, not_below: int, replicates: int) -> float:
    """Two-sided p value from how many replicates do not lie above, and not below, no difference at all.

    It is below 1 - level exactly where the interval of that level leaves out no difference.
    """
    return min(1.0, 2.0 * (1 + min(not_above, not_below)) / (1 + replicates))


def _between(estimate: float, values: FloatArray, level: float) -> Interval:
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(values, [tail, 1.0 - tail], method="closest_observation")
    return Interval(estimate, float(low), float(high), level)


def welch_freedom(variances: list[float], freedoms: list[float]) -> float:
    """Degrees of freedom of a sum of independent estimated variances (Welch and Satterthwaite); at least 1."""
    total = sum(variances)
    parts = sum(variance**2 / freedom for variance, freedom in zip(variances, freedoms, strict=True))
    return max(1.0, total**2 / parts) if parts > 0 else sum(freedoms)


# Figures with intervals of their own ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Known:
    """A figure with the half width of its LEVEL interval, and about how many independent values that rests on."""

    value: float
    half_width: float
    independent: float


def compare_known(before: Known, after: Known, *, level: float = LEVEL) -> Difference:
    """Two figures whose runs say themselves how sure they are, from finer samples than the series that was kept.

    The half widths are taken as Student's; Welch's test then. None where one rests on fewer than two values.
    """
    sides = (before, after)
    if min(side.independent for side in sides) < 2:
        return only_values(before.value, after.value)
    freedoms = [side.independent - 1.0 for side in sides]
    errors = [
        side.half_width / two_sided_quantile(LEVEL, freedom) for side, freedom in zip(sides, freedoms, strict=True)
    ]
    variances = [error**2 for error in errors]
    freedom = welch_freedom(variances, freedoms)
    found = by_student(
        (before.value, after.value), (variances[0], variances[1], 0.0), freedom, (1, 1), Method.OWN, level
    )
    return replace(found, independent=min(side.independent for side in sides))


# Repeated runs --------------------------------------------------------------------------------------------------------


def compare_runs(before: FloatArray, after: FloatArray, *, level: float = LEVEL) -> Difference:
    """Means of repeated runs by Welch's test. A side of one run is taken to spread as the other does.

    Both sides of one run, or runs that do not differ at all, give the difference only.
    """
    counts = (len(before), len(after))
    mean = (float(before.mean()), float(after.mean()))
    if max(counts) < 2:
        return only_values(*mean, counts)
    variances = [float(side.var(ddof=1)) if len(side) > 1 else math.nan for side in (before, after)]
    if math.isnan(sum(variances)):
        # Student's test with one value on one side (Crawford and Howell 1998).
        variances = [max(value for value in variances if not math.isnan(value))] * 2
        freedom = float(max(counts) - 1)
    else:
        of_means = [variance / count for variance, count in zip(variances, counts, strict=True)]
        freedom = welch_freedom(of_means, [count - 1.0 for count in counts])
    spread = (variances[0] / counts[0], variances[1] / counts[1], 0.0)
    return by_student(mean, spread, freedom, counts, Method.RUNS, level)


def compare_couples(before: FloatArray, after: FloatArray, *, level: float = LEVEL) -> Difference:
    """Runs taken in turn, A and B of a couple next to each other: the paired test, free of slow drift."""
    n = len(before)
    mean = (float(before.mean()), float(after.mean()))
    if n < 2:
        return only_values(*mean, (n, n))
    covariance = np.cov(before, after) / n
    spread = (float(covariance[0, 0]), float(covariance[1, 1]), float(covariance[0, 1]))
    return by_student(mean, spread, n - 1.0, (n, n), Method.COUPLES, level)


def by_student(
    means: tuple[float, float],
    spread: tuple[float, float, float],
    freedom: float,
    counts: tuple[int, int],
    method: Method,
    level: float,
) -> Difference:
    """Student's test of the difference of two means with variances and covariance `spread`."""
    before, after = means
    d, error = after - before, math.sqrt(max(0.0, spread[0] + spread[1] - 2.0 * spread[2]))
    if error <= 1e-12 * max(abs(before), abs(after)):
        return only_values(before, after, counts)
    t = two_sided_quantile(level, freedom)
    return Difference(
        before,
        after,
        method,
        Interval(d, d - t * error, d + t * error, level),
        Interval(after / before, *fieller(means, spread, t), level) if before > 0 else None,
        two_sided_p(d / error, freedom),
        *counts,
        float(min(counts)),
    )


def fieller(means: tuple[float, float], spread: tuple[float, float, float], t: float) -> tuple[float, float]:
    """Bounds of after / before: the ratios that a t test does not refuse (Fieller 1954); at least 0.

    They are 0 and infinity where `before` cannot be told from 0.
    """
    before, after = means
    a = before**2 - t**2 * spread[0]
    b = before * after - t**2 * spread[2]
    c = after**2 - t**2 * spread[1]
    if a <= 0:
        return 0.0, math.inf
    root = math.sqrt(max(0.0, b**2 - a * c))
    return max(0.0, (b - root) / a), max(0.0, (b + root) / a)


# Many comparisons -----------------------------------------------------------------------------------------------------


def holm(p_values: list[float]) -> list[float]:
    """p values adjusted for their number: one false finding among all is as rare as the level says (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted, least = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = least
    return adjusted
