"""Intervals hold what they promise: noise that hangs together, suspects loud once or often, seldom or half the time."""

from __future__ import annotations

import numpy as np
import pytest

from storscope.domain.arrays import BoolArray, FloatArray
from storscope.model import regression
from storscope.model.correlated_errors import partial_correlation_and_slope
from tests.model.test_bootstrap import ar1

SLOPE, NOISE = 1.0, 0.8


def suspect(rng: np.random.Generator, n: int, share: float, stretches: int) -> tuple[FloatArray, BoolArray]:
    """(load, where it is loud): fifteen times as much in stretches of one length."""
    length, part = round(n * share / stretches), n // stretches
    loud = np.zeros(n, dtype=bool)
    for number in range(stretches):
        start = number * part + int(rng.integers(0, part - length + 1))
        loud[start : start + length] = True
    return rng.gamma(40, 1 / 40, n) * np.where(loud, 15.0, 1.0), loud


def columns(load: FloatArray, other: FloatArray, latency: FloatArray) -> FloatArray:
    return np.column_stack([regression.scaled(each) for each in (load, other, latency)])


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.8])
@pytest.mark.parametrize("stretches", [1, 4])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_intervals_cover_the_truth_about_as_often_as_they_say(share: float, stretches: int, rho: float) -> None:
    covered = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        load, loud = suspect(rng, 240, share, stretches)
        noise = ar1(rng, 240, rho) * np.sqrt(1 - rho**2)
        latency = SLOPE * regression.scaled(load) + NOISE * noise
        r, slope = partial_correlation_and_slope(columns(load, rng.normal(size=240), latency), loud)
        truth = SLOPE / np.hypot(SLOPE, NOISE), SLOPE / latency.std()
        covered.append((r.covers(truth[0]), slope.covers(truth[1])))
    assert np.all(np.mean(covered, axis=0) >= 0.88)
    assert np.all(np.mean(covered, axis=0) <= 0.99)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_where_latency_scatters_more_while_it_is_loud_the_slope_is_covered_still(share: float) -> None:
    covered = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        load, loud = suspect(rng, 240, share, 4)
        noise = ar1(rng, 240, 0.6) * 0.8 * np.where(loud, 3.0, 1.0)
        latency = SLOPE * regression.scaled(load) + NOISE * noise
        _, slope = partial_correlation_and_slope(columns(load, rng.normal(size=240), latency), loud)
        covered.append(slope.covers(SLOPE / latency.std()))
    assert 0.88 <= np.mean(covered) <= 0.99


@pytest.mark.parametrize("quiet", [60, 240, 960])
def test_quiet_time_that_is_added_does_not_blur_an_effect(quiet: int) -> None:
    """Fifteen loud rows: the factor stays as sure, and r as high where they count for a tenth at least."""
    rng = np.random.default_rng(0)
    loud = np.zeros(quiet + 15, dtype=bool)
    loud[30:45] = True
    load = rng.gamma(40, 1 / 40, loud.size) * np.where(loud, 15.0, 1.0)
    latency = np.where(loud, 4.0, 0.0) + 0.5 * rng.normal(size=loud.size)
    judged = columns(load, rng.normal(size=loud.size), latency)
    _, slope = partial_correlation_and_slope(judged, loud)
    weights = np.where(loud, 1.0, min(1.0, 9 * 15 / quiet))
    r, _ = partial_correlation_and_slope(judged, loud, weights)
    assert r.low > 0.85
    back = latency.std() / load.std() * (load[loud].mean() - load[~loud].mean())
    assert slope.low * back < 4 < slope.high * back
    assert (slope.high - slope.low) * back < 1


def test_the_variance_is_that_of_least_squares_where_errors_are_independent() -> None:
    """The textbook's interval: b +- t s / sqrt(sum of squares of x)."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=2_000)
    y = 0.5 * x + np.tile([1.0, -1.0], 1_000) * np.abs(rng.normal(size=2_000))
    judged = np.column_stack([regression.scaled(x), regression.scaled(y)])
    _, slope = partial_correlation_and_slope(judged, rng.random(2_000) < 0.5)
    b = float(judged[:, 0] @ judged[:, 1]) / 2_000
    error = np.sqrt(float(((judged[:, 1] - b * judged[:, 0]) ** 2).sum()) / 1_998 / 2_000)
    assert slope.estimate == pytest.approx(b)
    assert (slope.high - slope.low) / 2 == pytest.approx(1.961 * error, rel=0.03)


def test_the_mean_of_an_autoregression_has_its_known_variance() -> None:
    """Loud in one half, quiet in the other: the difference of two means of variance (1 + rho) / (1 - rho) / n each."""
    rng = np.random.default_rng(2)
    loud = np.arange(4_000) < 2_000
    y: FloatArray = ar1(rng, 4_000, 0.8) * 0.6
    judged = np.column_stack([regression.scaled(loud * 1.0), regression.scaled(y)])
    _, slope = partial_correlation_and_slope(judged, loud)
    assert (slope.high - slope.low) / 2 == pytest.approx(1.96 * np.sqrt((1.8 / 0.2) / 4_000), rel=0.08)


def test_a_perfect_or_a_constant_column_has_no_bounds_to_trust() -> None:
    x = np.tile([1.0, -1.0, 2.0, -2.0], 10)
    r, slope = partial_correlation_and_slope(np.column_stack([regression.scaled(x)] * 2), x > 0)
    assert (r.low, r.high, slope.estimate) == pytest.approx((1, 1, 1))
    r, _ = partial_correlation_and_slope(np.column_stack([np.zeros(40), regression.scaled(x)]), x > 0)
    assert np.isnan(r.low)
