"""How much the mean of values varies that hang together in time, and by how much blocks of them vary too little.

Neighbours of an AR(1) tell all: rho from one to the next is rho^k over k. Counters often are more: a slow wave (a cache
that fills and empties, neighbours on the array) under the chance of which I/Os an interval holds. Neighbours then
hardly resemble each other, and yet the mean moves with the wave. Simulated with an AR(1) of 0.9 that has a fifth of the
variance, the rest without memory: of 60 to 300 intervals one equal pair in four or five differed, at 5 %, by the
correlation of neighbours alone. So correlations are looked at over more intervals, too; where they are beyond what an
AR(1) leaves by more than chance, the variance is their sum's (Geyer 1992, initial monotone sequence), told as the rho
of the AR(1) whose mean varies as much. Equal pairs like those then differ in 6 to 15 %.

Beware: short runs (30 intervals) do not show such waves, and of any length a wave as long as the run is not shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from storscope.domain.arrays import FloatArray
from storscope.model.bootstrap import block_length, block_length_of, lag_one_correlation

_CAUTION: Final = 0.5
"""Standard errors by which correlations are taken for larger than they seem, since a pair is judged where they seem
small. Simulated (AR(1)): of 30 intervals with 0.8 a fifth seem to have INDEPENDENT_MIN independent values; equal pairs
of those differ in 16 % without this, in 4 to 7 % with it, and in 26 % where the correlation is taken as known.
Intervals of 60 values without correlation become 7 % wider, those of 8 values three times as wide."""
_CORRELATION_MAX: Final = 0.99
_LAGS: Final = (12, 40)
"""Over how many intervals at least and at most a wave is looked for: a tenth of the run, a quarter of a short one."""
_BEYOND: Final = 1.0
"""Standard errors by which their correlations must exceed those of an AR(1) together. Of series that have no more
memory than that up to a tenth do."""
_Ratio = TypeVar("_Ratio", float, FloatArray)


@dataclass(frozen=True, slots=True)
class Correlation:
    """Of n values, as the lag-one correlation of the AR(1) whose mean varies as much as theirs."""

    n: int
    rho: float
    block: int
    """How many neighbours are resampled together."""
    variance: float
    """Of the values."""
    is_lasting: bool
    """Whether it goes on for longer than that from one value to the next tells."""

    @property
    def independent(self) -> float:
        """About how many independent values there are."""
        return 1.0 / variance_of_mean(self.rho, self.n)

    def drawn(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Correlations that the process behind the values may have, 0 to 0.99; from few values they differ a lot.

        The standard error is that of an AR(1), sqrt((1 - rho^2) / n) (Bartlett 1946); the centre is `_CAUTION` of it
        above the likeliest.
        """
        error = math.sqrt((1.0 - self.rho**2) / max(1, self.n))
        drawn: FloatArray = np.clip(self.rho + error * rng.normal(_CAUTION, 1.0, count), 0.0, _CORRELATION_MAX)
        return drawn

    def freedom(self, drawn: FloatArray) -> FloatArray:
        """Degrees of freedom of the spread, by each of these: one less than the independent values, at least 1."""
        freedom: FloatArray = np.maximum(1.0, 1.0 / variance_of_mean(drawn, self.n) - 1.0)
        return freedom

    def correction(self, drawn: FloatArray, variance_of_resamples: float) -> FloatArray:
        """By how much resampled means spread too little, for each of the correlations.

        Under a wave that is hidden within blocks they spread less than those of an AR(1): then by what they do.
        """
        correction = spread_correction(drawn, self.n, self.block)
        if not self.is_lasting or not variance_of_resamples > 0:
            return correction
        share = variance_of_mean(drawn, self.n)
        whole = self.variance * share / np.maximum(1.0 - share, 0.05)  # the values' own mean is taken out of them
        larger: FloatArray = np.maximum(correction, np.sqrt(whole / variance_of_resamples))
        return larger


def correlation_of(values: FloatArray) -> Correlation:
    """Of values in order of time."""
    n, variance = len(values), float(values.var()) if len(values) else 0.0
    rho = corrected_correlation(values)
    lasting = _lasting(values, rho)
    if lasting is None:
        return Correlation(n, rho, block_length(values), variance, is_lasting=False)
    return Correlation(n, lasting, block_length_of(lasting, n), variance, is_lasting=True)


def corrected_correlation(values: FloatArray) -> float:
    """Lag-one correlation without its downward bias of (1 + 3 rho) / n (Kendall 1954); 0 to 0.99."""
    rho = lag_one_correlation(values)
    return float(np.clip(rho + (1.0 + 3.0 * rho) / max(1, len(values)), 0.0, _CORRELATION_MAX))


def _lasting(values: FloatArray, rho: float) -> float | None:
    """The rho of an AR(1) whose mean varies as much, where that is beyond `rho`; else None."""
    n = len(values)
    lags = min(max(_LAGS[0], n // 10), _LAGS[1], n // 4)
    if lags < 3:
        return None
    found = _autocorrelations(values, n // 2)
    bias = variance_of_mean(rho, n)  # the mean that is taken out makes each smaller by about this
    beyond = float((found[2 : lags + 1] + bias - rho ** np.arange(2.0, lags + 1.0)).sum())
    # Correlations of neighbouring lags go together, as the values do (Bartlett 1946).
    error = math.sqrt((lags - 1) / n) * (1.0 + rho) / (1.0 - rho)
    if beyond <= _BEYOND * error:
        return None
    times = _summed(found, bias)
    times = _summed(found, min(times / n, 0.3))
    return _rho_of(min(times / n, variance_of_mean(_CORRELATION_MAX, n)), rho, n)


def _autocorrelations(values: FloatArray, count: int) -> FloatArray:
    n = len(values)
    power = np.abs(np.fft.rfft(values - values.mean(), 2 * n)) ** 2
    products = np.fft.irfft(power)[:count]
    whole = float(products[0])
    found: FloatArray = products / whole if whole > 0 else np.zeros(count)
    return found


def _summed(found: FloatArray, bias: float) -> float:
    """By how much the mean varies more than that of independent values: pairs of lags, while above 0 and falling."""
    times, last = 1.0, math.inf
    for lag in range(1, len(found) - 1, 2):
        last = min(last, float(found[lag] + found[lag + 1]) + 2.0 * bias)
        if last <= 0:
            break
        times += 2.0 * last
    return times


def _rho_of(variance: float, least: float, n: int) -> float | None:
    """The rho above `least` of which the mean of n values has that variance; None where there is none."""
    if variance_of_mean(least, n) >= variance:
        return None
    low, high = least, _CORRELATION_MAX
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if variance_of_mean(middle, n) < variance else (low, middle)
    return low


# An AR(1) -------------------------------------------------------------------------------------------------------------


def variance_of_mean(rho: _Ratio, m: int) -> _Ratio:
    """Variance of the mean of m values of an AR(1) of variance 1 (closed form)."""
    tail = 2.0 * rho * (1.0 - rho**m) / (m * (1.0 - rho) ** 2)
    return ((1.0 + rho) / (1.0 - rho) - tail) / m


def spread_correction(rho: FloatArray, n: int, block: int) -> FloatArray:
    """Standard deviation of the mean of n over that of its block resamples, for an AR(1).

    Resampled means spread by (block / n) (V(block) - V(n)), V being the variance of a mean; the truth is V(n). Without
    correlation this is sqrt(n / (n - block)).
    """
    if block >= n:
        return np.full(len(rho), math.inf)
    whole = variance_of_mean(rho, n)
    correction: FloatArray = np.sqrt(whole / (block / n * (variance_of_mean(rho, block) - whole)))
    return correction
