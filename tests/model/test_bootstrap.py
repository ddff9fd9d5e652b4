from __future__ import annotations

import numpy as np
import pytest

from storscope.model import bootstrap, regression


def ar1(rng: np.random.Generator, n: int, rho: float) -> np.ndarray:
    noise = rng.normal(size=n)
    values = np.empty(n)
    values[0] = noise[0] / np.sqrt(1 - rho**2)
    for i in range(1, n):
        values[i] = rho * values[i - 1] + noise[i]
    return values


def mean_interval(values: np.ndarray, seed: int = 0) -> bootstrap.Interval:
    """A mean is a ratio to the number of samples."""
    return bootstrap.ratio_interval(values, np.ones_like(values), seed=seed)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
def test_the_interval_of_a_mean_covers_the_truth_as_often_as_it_says(rho: float) -> None:
    rng = np.random.default_rng(1)
    covered = [mean_interval(10 + ar1(rng, 600, rho), seed=trial).covers(10) for trial in range(300)]
    assert 0.90 <= np.mean(covered) <= 0.99


def test_ignoring_the_correlation_would_not_cover() -> None:
    rng = np.random.default_rng(2)
    covered = 0
    for trial in range(200):
        values = ar1(rng, 600, 0.8)
        rows = np.stack([values, np.ones_like(values)], axis=1)
        one_by_one = bootstrap.interval_of_sums(rows, lambda s: s[:, 0] / s[:, 1], block=1, seed=trial)
        covered += one_by_one.covers(0)
    assert covered / 200 < 0.75


def test_a_ratio_is_weighted() -> None:
    ops, latency = np.array([1.0, 99.0] * 50), np.array([100.0, 1.0] * 50)
    assert bootstrap.ratio_interval(ops * latency, ops).estimate == pytest.approx(1.99)


def test_resamples_keep_the_number_of_rows() -> None:
    rows = np.ones((103, 1))
    sums = bootstrap.resampled_sums(rows, 10, 50, np.random.default_rng(0))
    assert sums == pytest.approx(np.full((50, 1), 103))


def test_blocks_grow_with_correlation() -> None:
    rng = np.random.default_rng(3)
    lengths = [bootstrap.block_length(ar1(rng, 2_000, rho)) for rho in (0.0, 0.5, 0.9)]
    assert lengths[0] < lengths[1] < lengths[2]


def test_the_same_seed_gives_the_same_bounds() -> None:
    values = np.random.default_rng(4).normal(size=200)
    assert mean_interval(values, seed=7) == mean_interval(values, seed=7)
    assert mean_interval(values, seed=7) != mean_interval(values, seed=8)


def test_a_constant_series_has_no_width() -> None:
    interval = mean_interval(np.full(50, 3.0))
    assert (interval.low, interval.estimate, interval.high) == pytest.approx((3, 3, 3))


def test_partial_correlation_agrees_with_regressing_the_control_out() -> None:
    rng = np.random.default_rng(5)
    control = rng.normal(size=500)
    x = control + rng.normal(size=500)
    y = control + 0.5 * rng.normal(size=500)
    residual = [v - np.polyval(np.polyfit(control, v, 1), control) for v in (x, y)]
    columns = np.column_stack([regression.scaled(v) for v in (x, control, y)])
    partial = regression.partial_correlation(regression.moments(columns).sum(axis=0)[None], 3)[0]
    assert partial == pytest.approx(np.corrcoef(*residual)[0, 1], abs=1e-9)
    assert abs(partial) < 0.1
    assert np.corrcoef(x, y)[0, 1] > 0.5


def test_a_constant_column_correlates_with_nothing() -> None:
    columns = np.column_stack([np.zeros(50), regression.scaled(np.arange(50.0))])
    assert regression.partial_correlation(regression.moments(columns).sum(axis=0)[None], 2)[0] == 0


def test_regression_by_sums_is_least_squares() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(2, 300))
    y = 3 + 2 * a - b + 0.1 * rng.normal(size=300)
    sums = regression.moments(np.column_stack([a, b, y])).sum(axis=0)[None]
    assert regression.coefficients(sums, 3)[0] == pytest.approx([3, 2, -1], abs=0.05)
    assert regression.explained_share(sums, 3)[0] == pytest.approx(0.998, abs=0.002)


def test_weights_count_as_repeated_rows() -> None:
    a, y = np.array([0.0, 1.0, 2.0, 5.0]), np.array([1.0, 2.0, 2.5, 9.0])
    weights = np.array([1.0, 3.0, 1.0, 2.0])
    repeated = np.repeat(np.column_stack([a, y]), weights.astype(int), axis=0)
    weighted = regression.moments(np.column_stack([a, y]), weights).sum(axis=0)
    assert weighted == pytest.approx(regression.moments(repeated).sum(axis=0))
