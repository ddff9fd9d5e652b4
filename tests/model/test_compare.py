"""The statistics of comparisons, against closed forms and against what chance does to AR(1) series."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from storscope.domain.arrays import FloatArray
from storscope.model import compare
from storscope.model.bootstrap import resampled_sums
from storscope.model.compare import Known, Method, Weighted, compare_known, compare_runs
from storscope.model.compare_buckets_of_runs import compare_buckets_of_runs
from storscope.model.compare_histograms import (
    Buckets,
    Superiority,
    buckets_of,
    compare_percentile,
    mann_whitney_of_buckets,
    superiority,
)
from storscope.model.correlated_means import correlation_of, spread_correction, variance_of_mean
from storscope.model.student import incomplete_beta, two_sided_p, two_sided_quantile

TRIALS = 250


def ar1(rng: np.random.Generator, trials: int, n: int, rho: float) -> np.ndarray:
    """`trials` stationary series of variance 1, a row each."""
    noise = rng.normal(size=(trials, n)) * math.sqrt(1 - rho**2)
    values = np.empty((trials, n))
    values[:, 0] = rng.normal(size=trials)
    for i in range(1, n):
        values[:, i] = rho * values[:, i - 1] + noise[:, i]
    return values


def plain(values: np.ndarray) -> Weighted:
    return Weighted(values, np.ones_like(values))


def pairs(seed: int, n: int, rho: float, change: float = 0.0, noise: float = 0.1) -> list[tuple[Weighted, Weighted]]:
    rng = np.random.default_rng(seed)
    one, other = (100 * (1 + noise * ar1(rng, TRIALS, n, rho)) for _ in range(2))
    return [(plain(a), plain(b * (1 + change))) for a, b in zip(one, other, strict=True)]


# Student --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("df", "t"), [(1, 12.7062047), (2, 4.30265273), (10, 2.22813885), (30, 2.04227246)])
def test_quantiles_of_student_are_those_of_the_tables(df: float, t: float) -> None:
    assert two_sided_quantile(0.95, df) == pytest.approx(t, rel=1e-8)
    assert two_sided_p(t, df) == pytest.approx(0.05, rel=1e-7)


def test_with_one_degree_of_freedom_student_is_cauchy_and_with_many_normal() -> None:
    assert two_sided_p(3.0, 1) == pytest.approx(1 - 2 * math.atan(3) / math.pi)
    assert two_sided_quantile(0.99, 1e7) == pytest.approx(NormalDist().inv_cdf(0.995), rel=1e-6)


def test_the_incomplete_beta_function_of_whole_numbers_is_a_binomial_tail() -> None:
    tail = sum(math.comb(9, k) * 0.3**k * 0.7 ** (9 - k) for k in range(4, 10))
    assert incomplete_beta(4, 6, 0.3) == pytest.approx(tail)


# Series ---------------------------------------------------------------------------------------------------------------


def test_the_variance_of_a_mean_is_that_of_ar1_series() -> None:
    means = ar1(np.random.default_rng(1), 20_000, 40, 0.7).mean(axis=1)
    assert variance_of_mean(0.7, 40) == pytest.approx(means.var(), rel=0.04)
    assert variance_of_mean(0.0, 40) == pytest.approx(1 / 40)


def test_the_spread_of_block_resamples_is_put_right() -> None:
    rng = np.random.default_rng(2)
    n, rho, block = 100, 0.7, 10
    seen = [resampled_sums(values[:, None], block, 200, rng).var() / n**2 for values in ar1(rng, 300, n, rho)]
    corrected = np.mean(seen) * spread_correction(np.array([rho]), n, block)[0] ** 2
    assert corrected == pytest.approx(variance_of_mean(rho, n), rel=0.08)
    assert np.mean(seen) < 0.85 * variance_of_mean(rho, n)


@pytest.mark.parametrize(("n", "rho"), [(60, 0.0), (60, 0.5), (200, 0.8)])
def test_false_positives_are_as_rare_as_promised(n: int, rho: float) -> None:
    found = [compare.compare_series(a, b, seed=k, replicates=500).p_value for k, (a, b) in enumerate(pairs(3, n, rho))]
    assert np.mean(np.asarray(found) < 0.05) <= 0.085  # three standard errors of 250 trials above 5 %
    assert np.mean(np.asarray(found) < 0.5) == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize(("n", "rho"), [(20, 0.7), (30, 0.8), (60, 0.9)])
def test_pairs_that_only_seem_long_enough_are_not_false_more_often(n: int, rho: float) -> None:
    """A fifth of such pairs seem to have enough independent values, those whose correlation came out too small.

    With that correlation taken for the true one, a fifth to a third of them would differ.
    """
    rng = np.random.default_rng(17)
    one, other = (100 * (1 + 0.1 * ar1(rng, 1_000, n, rho)) for _ in range(2))
    seeming = [
        (plain(a), plain(b))
        for a, b in zip(one, other, strict=True)
        if (compare.compare_series(plain(a), plain(b), replicates=2).independent or 0.0) >= compare.INDEPENDENT_MIN
    ]
    assert 100 < len(seeming) < 300
    found = [compare.compare_series(a, b, seed=k, replicates=500).p_value for k, (a, b) in enumerate(seeming)]
    assert np.mean(np.asarray(found) < 0.05) <= 0.12  # two standard errors of 150 trials above 7 %


@pytest.mark.parametrize(("n", "wave"), [(120, 0.2), (120, 0.4), (300, 0.2)])
def test_a_slow_wave_under_noise_is_no_difference(n: int, wave: float) -> None:
    """Neighbours correlate by 0.9 x `wave` only; by that alone 18 to 25 % of equal pairs differed."""
    rng = np.random.default_rng(23)
    shares = math.sqrt(wave), math.sqrt(1 - wave)
    sides = [100 + 10 * (shares[0] * ar1(rng, TRIALS, n, 0.9) + shares[1] * rng.normal(size=(TRIALS, n)))
             for _ in range(2)]  # fmt: skip
    found = [
        compare.compare_series(plain(a), plain(b), seed=k, replicates=500)
        for k, (a, b) in enumerate(zip(*sides, strict=True))
    ]
    judged = [item.p_value or 0.0 for item in found if (item.independent or 0.0) >= compare.INDEPENDENT_MIN]
    assert len(judged) > 0.9 * TRIALS
    assert np.mean(np.asarray(judged) < 0.05) <= 0.14


def test_without_a_wave_intervals_are_hardly_wider() -> None:
    """A tenth of series without memory seem to have one."""
    lasting = [correlation_of(values).is_lasting for values in ar1(np.random.default_rng(24), TRIALS, 120, 0.0)]
    assert np.mean(lasting) <= 0.15


def test_a_correlation_that_is_known_well_is_taken_as_it_is() -> None:
    values = ar1(np.random.default_rng(18), 1, 5_000, 0.6)[0]
    drawn = correlation_of(values).drawn(2_000, np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(0.6, abs=0.02)
    assert drawn.std() == pytest.approx(math.sqrt((1 - 0.6**2) / 5_000), rel=0.1)


def test_a_test_that_ignores_correlation_would_cry_wolf() -> None:
    wrong = 0
    for a, b in pairs(4, 200, 0.8):
        error = math.sqrt((a.top.var(ddof=1) + b.top.var(ddof=1)) / 200)
        wrong += two_sided_p((b.mean - a.mean) / error, 398) < 0.05
    assert wrong / TRIALS > 0.3


@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_the_interval_of_the_ratio_covers_the_truth(rho: float) -> None:
    found = [
        compare.compare_series(a, b, seed=k, replicates=500) for k, (a, b) in enumerate(pairs(5, 100, rho, change=0.1))
    ]
    assert 0.91 <= np.mean([item.ratio is not None and item.ratio.covers(1.1) for item in found]) <= 0.99
    assert 0.91 <= np.mean([item.difference is not None and item.difference.covers(10) for item in found]) <= 0.99


def test_a_ten_percent_difference_is_found_as_often_as_theory_says() -> None:
    n, rho, noise = 150, 0.5, 0.2
    found = np.mean(
        [
            (compare.compare_series(a, b, seed=k, replicates=500).p_value or 1) < 0.05
            for k, (a, b) in enumerate(pairs(6, n, rho, change=0.1, noise=noise))
        ]
    )
    error = noise * math.sqrt(variance_of_mean(rho, n) * (1 + 1.1**2))
    power = NormalDist().cdf(0.1 / error - 1.96)
    assert 0.6 < power < 0.9
    assert found == pytest.approx(power, abs=0.1)


def test_interval_and_p_value_agree() -> None:
    for k, (a, b) in enumerate(pairs(7, 40, 0.3, change=0.05)[:60]):
        item = compare.compare_series(a, b, seed=k, replicates=500)
        assert item.difference is not None
        assert item.ratio is not None
        assert item.p_value is not None
        if not 0.03 < item.p_value < 0.07:
            assert item.difference.covers(0) == item.ratio.covers(1) == (item.p_value > 0.05)


def test_the_mean_is_weighted_by_operations() -> None:
    operations = np.array([1.0, 99.0] * 10)
    latency = np.array([100.0, 1.0] * 10)
    item = compare.compare_series(Weighted(operations * latency, operations), plain(np.full(20, 1.99)))
    assert item.before == pytest.approx(1.99)
    assert item.change == pytest.approx(0.0, abs=1e-12)


def test_too_few_intervals_have_no_interval() -> None:
    item = compare.compare_series(plain(np.arange(1.0, 6.0)), plain(np.arange(2.0, 7.0)))
    assert (item.method, item.difference, item.ratio, item.p_value) == (Method.NONE, None, None, None)
    assert (item.before, item.after, item.values_before) == (3, 4, 5)


def test_a_slow_drift_amounts_to_few_independent_values() -> None:
    drifting, steady = np.linspace(100, 200, 60), 150 + np.random.default_rng(8).normal(size=60)
    item = compare.compare_series(plain(drifting), plain(steady))
    assert item.independent is not None
    assert item.independent < compare.INDEPENDENT_MIN


def test_long_series_are_pooled_without_moving_the_mean() -> None:
    values = np.random.default_rng(9).normal(100, 10, 12_345)
    item = compare.compare_series(plain(values), plain(values * 1.02), replicates=400)
    assert item.before == pytest.approx(values.mean())
    assert item.difference is not None
    half_width = (item.difference.high - item.difference.low) / 2
    assert half_width == pytest.approx(1.96 * 10 * math.sqrt(2 / 12_345), rel=0.2)


def test_a_series_of_zeros_has_no_ratio() -> None:
    item = compare.compare_series(plain(np.zeros(20)), plain(np.ones(20)))
    assert (item.ratio, item.change) == (None, None)
    assert item.difference is not None
    assert item.difference.low == 1


def test_the_same_seed_gives_the_same_bounds() -> None:
    a, b = pairs(10, 50, 0.5)[0]
    assert compare.compare_series(a, b, seed=1) == compare.compare_series(a, b, seed=1)
    assert compare.compare_series(a, b, seed=1) != compare.compare_series(a, b, seed=2)


# Repeated runs --------------------------------------------------------------------------------------------------------


def test_welch_by_hand() -> None:
    before, after = np.array([10.0, 12.0, 14.0]), np.array([20.0, 21.0, 22.0, 23.0])
    item = compare.compare_runs(before, after)
    error = math.sqrt(4 / 3 + (5 / 3) / 4)
    freedom = (4 / 3 + 5 / 12) ** 2 / ((4 / 3) ** 2 / 2 + (5 / 12) ** 2 / 3)
    assert item.difference is not None
    assert item.difference.high - 9.5 == pytest.approx(two_sided_quantile(0.95, freedom) * error)
    assert item.p_value == pytest.approx(two_sided_p(9.5 / error, freedom))


def test_few_runs_cry_wolf_as_rarely_as_promised_and_their_ratio_covers() -> None:
    rng = np.random.default_rng(11)
    found = [compare.compare_runs(rng.normal(100, 5, 3), rng.normal(110, 10, 4)) for _ in range(1_000)]
    same = [compare.compare_runs(rng.normal(100, 5, 3), rng.normal(100, 5, 3)) for _ in range(1_000)]
    assert np.mean([(item.p_value or 1) < 0.05 for item in same]) <= 0.07
    assert 0.93 <= np.mean([item.ratio is not None and item.ratio.covers(1.1) for item in found]) <= 0.98


def test_one_run_against_several_is_taken_to_spread_as_they_do() -> None:
    item = compare.compare_runs(np.array([10.0, 12.0, 14.0]), np.array([22.0]))
    assert item.difference is not None
    assert item.difference.high - 10 == pytest.approx(4.30265273 * 2 * math.sqrt(1 / 3 + 1))


def test_one_run_against_one_has_no_interval_and_neither_have_runs_that_do_not_differ() -> None:
    assert compare.compare_runs(np.array([10.0]), np.array([12.0])).difference is None
    assert compare.compare_runs(np.array([10.0, 10.0]), np.array([12.0, 12.0])).p_value is None


def test_runs_in_turn_are_free_of_drift() -> None:
    rng = np.random.default_rng(12)
    drift = np.array([0.0, 30.0, 60.0, 90.0])
    before, after = 100 + drift + rng.normal(0, 1, 4), 110 + drift + rng.normal(0, 1, 4)
    assert (compare.compare_couples(before, after).p_value or 1) < 0.02
    assert (compare.compare_runs(before, after).p_value or 0) > 0.5


@pytest.mark.parametrize("width", [1.016, 1.19, 2.0])
def test_runs_in_one_bucket_a_side_are_as_far_apart_as_its_edges_allow(width: float) -> None:
    """Of runs that spread by a tenth to all of a bucket's width, those that agree in it."""
    rng, covered, judged = np.random.default_rng(21), 0, 0
    for spread in (0.1, 0.3, 1.0) * 700:
        base = rng.uniform(20.0, 21.0)
        sides = [np.floor(base + shift + spread * rng.normal(size=2)) for shift in (0.0, 6.0)]
        if any(len(np.unique(side)) > 1 for side in sides):
            continue
        edges = [np.stack([width**side, width ** (side + 1)], axis=1) for side in sides]
        item = compare_buckets_of_runs(edges[0], edges[1])
        assert item.ratio is not None and item.p_value is not None
        covered += item.ratio.covers(width**6)
        judged += 1
        assert item.ratio.covers(1.0) == (item.p_value >= 0.05)
    assert judged > 500
    assert covered / judged >= 0.95


def test_fieller_has_no_bound_where_before_may_be_zero() -> None:
    assert compare.fieller((1.0, 5.0), (1.0, 1.0, 0.0), 2.0) == (0.0, math.inf)


def test_holm_by_hand() -> None:
    assert compare.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert compare.holm([0.6, 0.9]) == [1.0, 1.0]


# Distributions --------------------------------------------------------------------------------------------------------

EDGES = np.geomspace(1e4, 1e8, 300)


def counted(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return EDGES[:-1], EDGES[1:], np.histogram(values, EDGES)[0]


def test_the_percentile_of_an_exponential_is_inside_the_interval() -> None:
    rng = np.random.default_rng(13)
    truth = 1.2
    covered = 0
    for k in range(60):
        one, other = (buckets_of([counted(rng.exponential(scale, 5_000))]) for scale in (1e6, truth * 1e6))
        item = compare_percentile(one, other, 0.99, seed=k, replicates=300)
        assert item.method is Method.BUCKETS
        assert item.ratio is not None
        covered += item.ratio.covers(truth)
        assert item.before == pytest.approx(1e6 * math.log(100), rel=0.2)
    assert covered >= 55


def test_the_width_of_buckets_is_in_the_interval() -> None:
    coarse = Buckets(np.array([0.0, 1e6, 2e6]), np.array([1e6, 2e6, 4e6]), np.array([[10, 80, 10]]))
    item = compare_percentile(coarse, coarse, 0.5)
    assert item.ratio is not None
    assert (item.ratio.low, item.ratio.high, item.p_value) == (0.5, 2.0, 1.0)


def test_histograms_per_interval_keep_the_correlation_that_counts_lose() -> None:
    rng = np.random.default_rng(14)
    wrong = {Method.BUCKETS: 0, Method.BUCKET_SERIES: 0}
    trials = 40
    for k in range(trials):
        sides = [
            buckets_of([counted(1e6 * np.exp(level + 0.5 * rng.normal(size=200))) for level in levels])
            for levels in 0.3 * ar1(rng, 2, 80, 0.7)
        ]
        whole = [Buckets(side.low, side.high, side.total[None]) for side in sides]
        for pair in (sides, whole):
            item = compare_percentile(pair[0], pair[1], 0.95, seed=k, replicates=300)
            wrong[item.method] += (item.p_value or 1) < 0.05
    assert wrong[Method.BUCKET_SERIES] / trials <= 0.15
    assert wrong[Method.BUCKETS] / trials > 0.4


def test_a_wave_that_few_slow_ios_hide_makes_no_percentile_differ() -> None:
    """Which I/Os an interval holds moves its p99 more than the wave does: of such pairs 15 to 20 % differed."""
    rng = np.random.default_rng(25)
    waves = 0.2 * ar1(rng, 160, 120, 0.9)
    sides = [
        buckets_of([counted(1e6 * np.exp(level + 0.5 * rng.normal(size=300))) for level in levels]) for levels in waves
    ]
    found = [
        compare_percentile(one, other, 0.99, seed=k, replicates=300).p_value or 0.0
        for k, (one, other) in enumerate(zip(sides[::2], sides[1::2], strict=True))
    ]
    assert np.mean(np.asarray(found) < 0.05) <= 0.125


def test_a_percentile_of_few_alike_intervals_raises_no_more_alarms_than_promised() -> None:
    rng = np.random.default_rng(14)
    sides = [
        buckets_of([counted(1e6 * np.exp(level + 0.5 * rng.normal(size=200))) for level in levels])
        for levels in 0.3 * ar1(rng, 2 * TRIALS, 8, 0.5)
    ]
    found = [
        compare_percentile(one, other, 0.95, seed=k, replicates=300).p_value or 0.0
        for k, (one, other) in enumerate(zip(sides[::2], sides[1::2], strict=True))
    ]
    assert np.mean(np.asarray(found) < 0.05) <= 0.085  # 10 % and more where the spread is taken as known


def test_a_percentile_in_an_open_bucket_has_no_upper_bound() -> None:
    open_ended = Buckets(np.array([0.0, 1e6]), np.array([1e6, math.inf]), np.array([[10, 90]]))
    item = compare_percentile(open_ended, open_ended, 0.99)
    assert item.ratio is not None
    assert item.before == 1e6
    assert item.ratio.high == math.inf


def of_samples(before: FloatArray, after: FloatArray) -> Superiority:
    """Each value counts once."""
    return superiority(*((side, np.ones(len(side), np.int64)) for side in (before, after)))


def test_mann_whitney_by_hand() -> None:
    item = of_samples(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 5.0]))
    assert item.probability == pytest.approx((1.5 + 3 + 3) / 9)
    assert of_samples(np.arange(5.0), np.arange(5.0)).p_value == pytest.approx(1.0)


def test_mann_whitney_is_as_rarely_wrong_as_promised_also_with_ties() -> None:
    rng = np.random.default_rng(15)
    values = rng.poisson(3.0, (1_000, 2, 40)).astype(float)
    wrong = [of_samples(one, other).p_value < 0.05 for one, other in values]
    assert 0.03 <= np.mean(wrong) <= 0.07


def test_mann_whitney_of_exponentials_is_the_ratio_of_their_rates() -> None:
    rng = np.random.default_rng(16)
    one, other = (buckets_of([counted(rng.exponential(scale, 50_000))]) for scale in (1e6, 3e6))
    assert mann_whitney_of_buckets(one, other).probability == pytest.approx(0.75, abs=0.01)


def _error(values: FloatArray) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def test_figures_with_intervals_of_their_own_are_compared_by_welch() -> None:
    """Equal pairs differ in one case of twenty; the interval is the one of the t test on the samples themselves."""
    rng, wrong, trials = np.random.default_rng(11), 0, 600
    for _ in range(trials):
        sides = [rng.normal(100.0, spread, count) for spread, count in ((5.0, 12), (15.0, 30))]
        known = [
            Known(float(side.mean()), two_sided_quantile(0.95, len(side) - 1) * _error(side), len(side))
            for side in sides
        ]
        found = compare_known(known[0], known[1])
        exact = compare_runs(sides[0], sides[1])
        assert found.p_value == pytest.approx(exact.p_value)
        wrong += (found.p_value or 0.0) < 0.05
    assert 0.03 <= wrong / trials <= 0.07


def test_a_percentile_of_values_that_are_0_is_0() -> None:
    """The lower edge of a bucket is not in it, so that one which holds 0 begins before it."""
    low, high, counts = np.array([-1.0]), np.array([0.0]), np.array([100], np.int64)
    assert buckets_of([(low, high, counts)]).percentile(0.99) == 0.0
