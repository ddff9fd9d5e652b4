"""The offset between the clocks of two sources that saw the same load.

Both load curves are brought onto one grid by integrating them (rates are constant within an interval, so nothing is
lost), differenced so that a slow daily rise does not correlate with every other slow rise, and correlated at every
lag. The peak, refined by a parabola, is the offset; blocks of time are resampled for its interval.

It answers None when the peak is no clear peak: chance (n_eff pairs tried at as many lags) must be unable to make it,
and no lag elsewhere may come near it. A strictly periodic load has many equal peaks and therefore no answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storscope.domain.arrays import FloatArray, IntArray
from storscope.model.bootstrap import Interval, interval_from_replicates, resampled_sums

INTERVALS_MIN = 30
P_VALUE_MAX = 1e-4
_RIVAL_MAX = 0.75
"""A second peak this near in height makes the first one ambiguous."""
_NEAR_LAGS = 4
"""Lags about the peak that belong to it."""
_GRID_MAX = 200_000
"""Steps a source may span (46 days at 20 s); beyond it the answer is None."""


@dataclass(frozen=True, slots=True)
class Offset:
    """How much to add to the times of the second source so that it agrees with the first."""

    offset_ns: Interval
    correlation: float
    """Of the changes of load, at the peak."""
    p_value: float
    """Chance of such a peak anywhere in the lags tried, if the two had nothing in common."""
    intervals: int
    """Grid steps both cover at that offset."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A rate per interval; intervals are in order and do not overlap."""

    start_ns: IntArray
    duration_ns: IntArray
    rate: FloatArray


def estimate_offset(one: Curve, other: Curve, *, max_offset_ns: int, seed: int = 0) -> Offset | None:
    """The offset of `other` against `one`, or None when the loads do not tell."""
    step_ns = int(max(np.median(one.duration_ns), np.median(other.duration_ns))) if len(one.rate) else 0
    if min(len(one.rate), len(other.rate)) < INTERVALS_MIN or step_ns <= 0:
        return None
    if max(_span_ns(one), _span_ns(other)) > _GRID_MAX * step_ns:
        return None
    first, second = _changes(one, step_ns), _changes(other, step_ns)
    if min(np.isfinite(first).sum(), np.isfinite(second).sum()) < INTERVALS_MIN:
        return None
    base_ns = int(one.start_ns[0]) - int(other.start_ns[0])
    correlation, overlap = _correlations(first, second)
    lags = np.arange(-(len(second) - 1), len(first))
    allowed = (np.abs(base_ns + lags * step_ns) <= max_offset_ns) & (overlap >= INTERVALS_MIN)
    if not allowed.any():
        return None
    score = np.where(allowed, correlation * np.sqrt(overlap), -np.inf)
    peak = int(np.argmax(score))
    p_value = _chance(float(score[peak]), int(allowed.sum()))
    if p_value > P_VALUE_MAX or _has_rival(score, allowed, peak):
        return None
    lag = int(lags[peak])
    position = _positions(first, second, lag, seed)
    return Offset(_shifted(position, base_ns, step_ns), float(correlation[peak]), p_value, int(overlap[peak]))


def _span_ns(curve: Curve) -> int:
    return int(curve.start_ns[-1] + curve.duration_ns[-1] - curve.start_ns[0])


def _changes(curve: Curve, step_ns: int) -> FloatArray:
    """Changes of the log rate on a grid that starts with the curve; NaN in gaps; outliers brought in."""
    start, end = curve.start_ns, curve.start_ns + curve.duration_ns
    count = int((end[-1] - start[0]) // step_ns)
    grid = start[0] + step_ns * np.arange(count + 1)
    knots = np.stack([start, end], axis=1).ravel().astype(np.float64)
    relative = knots - float(start[0])
    widths = curve.duration_ns.astype(np.float64)
    area = np.cumsum(np.stack([np.zeros(len(widths)), np.nan_to_num(curve.rate) * widths], axis=1).ravel())
    seen = np.cumsum(np.stack([np.zeros(len(widths)), np.isfinite(curve.rate) * widths], axis=1).ravel())
    position = (grid - start[0]).astype(np.float64)
    covered = np.diff(np.interp(position, relative, seen))
    rate = np.diff(np.interp(position, relative, area)) / np.where(covered > 0, covered, 1.0)
    level = np.where(covered >= 0.5 * step_ns, np.sqrt(np.clip(rate, 0.0, None)), np.nan)
    changes = np.diff(level)
    known = changes[np.isfinite(changes)]
    if not len(known):
        return changes
    limit = 6.0 * float(np.median(np.abs(known - np.median(known)))) or float(np.abs(known).max())
    return np.clip(changes, -limit, limit)


def _correlations(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Correlation and overlap for every lag from -(len(second) - 1) to len(first) - 1, NaN left out pairwise."""
    size = 1 << (len(first) + len(second) - 1).bit_length()

    def spectrum(values: FloatArray) -> npt.NDArray[np.complex128]:
        return np.fft.rfft(values, size)

    def correlate(a: FloatArray, b: FloatArray) -> FloatArray:
        raw = np.fft.irfft(spectrum(a) * np.conj(spectrum(b)), size)
        return np.concatenate([raw[size - (len(b) - 1) :], raw[: len(a)]]) if len(b) > 1 else raw[: len(a)]

    seen_a, seen_b = np.isfinite(first).astype(float), np.isfinite(second).astype(float)
    a = np.where(seen_a > 0, first - np.nanmean(first), 0.0)
    b = np.where(seen_b > 0, second - np.nanmean(second), 0.0)
    overlap = np.round(correlate(seen_a, seen_b))
    power = correlate(a**2, seen_b) * correlate(seen_a, b**2)
    usable = (overlap >= 3) & (power > 1e-12 * max(float(np.max(power)), 1e-300))
    product = correlate(a, b)
    return np.where(usable, product / np.sqrt(np.where(usable, power, 1.0)), 0.0), overlap


def _chance(score: float, lags: int) -> float:
    """Chance that the greatest of `lags` standard normal scores reaches `score`.

    The score is correlation x sqrt(pairs), standard normal for unrelated white noise (Bartlett 1946); changes of
    load are close to white or negatively correlated, for which this is on the safe side within a factor of 1.5.
    """
    return min(1.0, lags * 0.5 * math.erfc(score / 1.25 / math.sqrt(2.0)))


def _has_rival(score: FloatArray, allowed: npt.NDArray[np.bool_], peak: int) -> bool:
    away = allowed.copy()
    away[max(0, peak - _NEAR_LAGS) : peak + _NEAR_LAGS + 1] = False
    return bool(away.any() and score[away].max() > _RIVAL_MAX * score[peak])


def _positions(first: FloatArray, second: FloatArray, lag: int, seed: int) -> FloatArray:
    """Peak position in steps: the estimate, then one per resample of blocks."""
    window = np.arange(lag - _NEAR_LAGS, lag + _NEAR_LAGS + 1)
    start = max(0, int(window.max()))
    end = min(len(first), len(second) + int(window.min()))
    rows = np.zeros((max(end - start, 0), len(window)))
    index = np.arange(start, end)
    for column, shift in enumerate(window):
        other = index - shift
        rows[:, column] = np.nan_to_num(first[index]) * np.nan_to_num(second[other])
    block = max(1, min(round(len(rows) ** (1 / 3)) * 2, len(rows) // 5))
    replicated = resampled_sums(rows, block, 400, np.random.default_rng(seed))
    sums = np.concatenate([rows.sum(axis=0)[None, :], replicated])
    positions: FloatArray = _parabola_peak(sums) + window[0]
    return positions


def _parabola_peak(values: FloatArray) -> FloatArray:
    """Position of each row's greatest value, refined by the parabola through it and its neighbours."""
    peak = np.clip(np.argmax(values, axis=1), 1, values.shape[1] - 2)
    row = np.arange(len(values))
    left, middle, right = values[row, peak - 1], values[row, peak], values[row, peak + 1]
    bend = left - 2.0 * middle + right
    shift = np.where(bend < 0, 0.5 * (left - right) / np.where(bend < 0, bend, -1.0), 0.0)
    result: FloatArray = peak + np.clip(shift, -0.5, 0.5)
    return result


def _shifted(position: FloatArray, base_ns: int, step_ns: int) -> Interval:
    """Offset in nanoseconds. Bounds keep a quarter of a step away: a parabola through three lags knows no better."""
    interval = interval_from_replicates(float(position[0]), position[1:])
    half = max(0.25, (interval.high - interval.low) / 2.0)
    low, high = min(interval.low, interval.estimate - half), max(interval.high, interval.estimate + half)
    return Interval(base_ns + interval.estimate * step_ns, base_ns + low * step_ns, base_ns + high * step_ns)
