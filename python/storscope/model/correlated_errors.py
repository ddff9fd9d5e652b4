"""Intervals for a regression whose errors hang together in time, for the regressors as they were.

A suspect that is loud for a tenth of the time, in one stretch, is held fixed here: asked is how well its effect is
known, not whether it was loud at all. Resampling rows by blocks asks both: many replicates then hold no loud row. And
blocks drawn within the loud rows apart miss that a whole stretch may lie too high by chance: with errors of
correlation 0.9 from row to row, 95 % intervals of that kind cover one loud stretch half of the time.

The errors are taken as AR(1) with a spread for each group of rows (loud and quiet). Coefficients are those of least
squares, so that what is estimated stays what it is without correlation; only their variance is that of the errors:
w' S w, with w the row of the pseudoinverse and S[i, j] = s_i s_j rho^|i - j| (Fuller, Introduction to Statistical Time
Series, 1996, chapter 9).

Beware: errors that hang together longer than an AR(1) with their lag-one correlation (a slow drift under white noise)
make the intervals too narrow. Simulated with an AR(1), 95 % intervals cover 85 to 99 % in 70 to 240 rows; the least
where rho is 0.9 and the suspect was loud once.
"""

from __future__ import annotations

import math

import numpy as np

from storscope.domain.arrays import BoolArray, FloatArray
from storscope.model.bootstrap import LEVEL, Interval, lag_one_correlation
from storscope.model.regression import coefficients, partial_correlation, total_moments
from storscope.model.student import two_sided_quantile

_OWN_SPREAD_ROWS = 100
"""Rows a group needs for a spread of its own below that of all: the fit takes a part of a short stretch's errors."""
_RHO_MAX = 0.97
_SEEN_MIN = 0.25
"""Part of the errors' variance that the residuals show, taken for at least this."""
_PERFECT = 1e-12


def partial_correlation_and_slope(
    columns: FloatArray, group: BoolArray, weights: FloatArray | None = None, level: float = LEVEL
) -> tuple[Interval, Interval]:
    """(partial correlation of the first with the last column, coefficient of the first), those between held fixed.

    The columns must have been `scaled`; rows are in order of time. `group` tells rows whose errors may have another
    spread, `weights` what rows count in the fit. The interval of the correlation is for the regressors as they were.
    Bounds are NaN where the first column has no part of its own.
    """
    n, k = columns.shape
    weight = np.ones(n) if weights is None else weights
    sums = total_moments(columns, weight)
    r = float(partial_correlation(sums, k)[0])
    solved = coefficients(sums, k)[0]
    slope = float(solved[1])
    design = np.column_stack([np.ones(n), columns[:, :-1]])
    residual = columns[:, -1] - design @ solved
    inverse = np.linalg.pinv(sums.reshape(k + 1, k + 1)[:k, :k], hermitian=True)
    own = float(inverse[1, 1])
    # Rows of weight 1 that tell as much (Kish 1965).
    count = float(weight.sum() ** 2 / (weight**2).sum())
    if not own > 0 or count <= k + 2:
        return Interval(r, math.nan, math.nan, level), Interval(slope, math.nan, math.nan, level)
    noise = float((weight * residual**2).sum() / weight.sum())
    if noise < _PERFECT:
        r = math.copysign(1.0, slope)
        return Interval(r, r, r, level, n), Interval(slope, slope, slope, level, n)
    spread = _spreads(residual, group, noise)
    errors = residual / spread
    errors = (errors - errors.mean()) / errors.std()
    rho = _unbiased(lag_one_correlation(errors), n)
    # The fit takes as much of the errors as it can follow: k rows of independent ones, more where they hang together.
    taken = sum(_weighted_variance(each, rho) for each in np.linalg.qr(design * np.sqrt(weight)[:, None])[0].T)
    seen = max(1.0 - taken / count, _SEEN_MIN)
    noise, spread = noise / seen, spread / math.sqrt(seen)
    variance = _weighted_variance((design @ inverse[:, 1]) * weight * spread, rho)
    # Of as many independent rows the variance of an AR(1) is known as well (Bartlett 1946).
    rows = count * (1.0 - rho**2) / (1.0 + rho**2)
    reach = two_sided_quantile(level, max(rows - k, 2.0))
    by_slope = reach * math.sqrt(variance)
    # r / sqrt(1 - r^2) = slope / spread of the errors x own deviation of the first column: both parts vary.
    g = r / math.sqrt(max(1.0 - r**2, _PERFECT)) * math.sqrt(seen)
    tails = max(float((errors**4).mean()) - 1.0, 0.5)
    by_g = reach * math.sqrt(variance / own / float(weight.sum()) / noise + g**2 * tails / 4.0 / rows)
    return (
        Interval(r, _correlation(g - by_g), _correlation(g + by_g), level, int(rows)),
        Interval(slope, slope - by_slope, slope + by_slope, level, int(rows)),
    )


def _spreads(residual: FloatArray, group: BoolArray, noise: float) -> FloatArray:
    """Each row's deviation of errors: its group's own, at least that of all where the group is small."""
    n, everybody = len(residual), math.sqrt(noise)
    spread = np.full(n, everybody)
    for rows in (group, ~group):
        count = int(rows.sum())
        if not count:
            continue
        own = math.sqrt(float((residual[rows] ** 2).mean()))
        is_small = count < _OWN_SPREAD_ROWS and count < n / 2
        spread[rows] = max(own, everybody if is_small else 1e-3 * everybody)
    return spread


def _unbiased(rho: float, n: int) -> float:
    """Lag-one correlation without its bias of -(1 + 3 rho) / n (Kendall 1954; Marriott and Pope 1954); 0 to 0.97."""
    return min(max(rho + (1.0 + 3.0 * rho) / n, 0.0), _RHO_MAX)


def _weighted_variance(weights: FloatArray, rho: float) -> float:
    """Variance of the sum of AR(1) values of variance 1, each times its weight."""
    padded = np.concatenate([weights, np.zeros(len(weights))])
    products = np.fft.irfft(np.abs(np.fft.rfft(padded)) ** 2, len(padded))[: len(weights)]
    falling = rho ** np.arange(1.0, len(weights))
    return max(float(products[0] + 2.0 * (products[1:] * falling).sum()), 0.0)


def _correlation(g: float) -> float:
    return g / math.sqrt(1.0 + g**2)
