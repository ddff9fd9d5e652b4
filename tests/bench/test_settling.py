"""Warm-up and intervals on series whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from storscope.bench.judgement import settled
from storscope.bench.samples import Figure, Sample, Samples
from storscope.bench.settling import estimate, level_change, warm_up
from storscope.domain.errors import UsageError
from storscope.domain.units import NS_PER_S
from tests.bench.series import (
    GRID_NS,
    LENGTH_NS,
    FloatArray,
    autoregressive,
    closed_loop,
    drawn,
    given_latencies,
    open_loop,
    rates,
)
from tests.model.queues import single_server

IOPS, MEAN, P99 = Figure("iops"), Figure("mean"), Figure("p99")


@pytest.mark.parametrize("time_constant", [4, 10, 20])
@pytest.mark.parametrize("start", [0.3, 3.0])
def test_a_start_that_decays_is_left_out_and_little_more(time_constant: int, start: float) -> None:
    rng = np.random.default_rng(1)
    level = 1e6 * (1 + (start - 1) * np.exp(-np.arange(240) / time_constant) + 0.05 * rng.normal(size=240))
    found = warm_up(closed_loop(level))
    assert found.samples is not None
    assert 1.5 * time_constant <= found.samples <= 6 * time_constant + 10
    assert found.figure is not None
    assert found.before is not None
    assert found.after is not None
    rises = (found.figure == MEAN) == (start < 1)
    assert (found.after > found.before) == rises


def test_what_is_left_out_no_longer_biases_the_figure() -> None:
    rng = np.random.default_rng(2)
    level = 1e6 * (1 + 4 * np.exp(-np.arange(400) / 15) + 0.05 * rng.normal(size=400))
    samples = Samples(closed_loop(level))
    kept = settled(samples, GRID_NS)
    whole, without = MEAN.of(samples.between(0)), MEAN.of(kept.samples)
    assert whole is not None
    assert without is not None
    assert whole > 1.02e6
    assert without == pytest.approx(1e6, rel=0.01)
    assert kept.from_ns % GRID_NS == 0
    assert "as warm-up" in kept.sentence


def test_steady_noise_has_no_warm_up() -> None:
    rng = np.random.default_rng(3)
    found = [warm_up(rates(1000 * (1 + 0.1 * rng.normal(size=80)))).samples for _ in range(100)]
    assert sum(samples != 0 for samples in found) <= 5


@pytest.mark.parametrize("stalls", [[15], [6, 30], [22, 23, 24], [3]])
def test_a_stall_is_no_warm_up(stalls: list[int]) -> None:
    rng = np.random.default_rng(8)
    level = 1e6 * (1 + 0.05 * rng.normal(size=80))
    level[stalls] *= 20
    found = warm_up(closed_loop(level))
    assert found.samples == 0


@pytest.mark.parametrize("slow", [1, 4, 8, 24])
def test_a_slow_start_is_left_out_also_where_it_is_short(slow: int) -> None:
    rng = np.random.default_rng(9)
    for _ in range(20):
        level = 1e6 * (1 + 0.05 * rng.normal(size=80))
        level[:slow] *= 3
        found = warm_up(closed_loop(level)).samples
        assert found is not None and found >= slow


def test_a_run_with_stalls_counts_them_as_often_as_there_are() -> None:
    """The interval of what is kept holds the mean with the stalls, almost as often as that of all."""
    rng = np.random.default_rng(10)
    held = 0
    for _ in range(200):
        level = 1e6 * (1 + 0.05 * rng.normal(size=80))
        level[rng.random(80) < 0.05] *= 5
        kept = settled(Samples(closed_loop(level)), GRID_NS)
        found = estimate(IOPS, kept.samples)
        assert found is not None and found.low is not None and found.high is not None
        truth = 0.95 + 0.05 / 5
        held += found.low <= truth * closed_loop(np.full(80, 1e6))[0].part(None).ios / LENGTH_NS * 1e9 <= found.high
    assert held / 200 >= 0.85


def test_a_run_that_still_drifts_is_not_settled() -> None:
    found = warm_up(closed_loop(1e6 * np.linspace(1.0, 3.0, 120)))
    assert found.samples is None
    assert not found.is_too_short
    kept = settled(Samples(closed_loop(1e6 * np.linspace(1.0, 3.0, 120))), GRID_NS)
    assert kept.from_ns == 0
    assert any("had not settled" in doubt for doubt in kept.doubts)


@pytest.mark.parametrize("change", [0.3, -0.3])
def test_a_drift_all_the_way_through_is_no_warm_up(change: float) -> None:
    rng = np.random.default_rng(15)
    level = [1e4 * (1 + change * np.linspace(0, 1, 80) + 0.05 * rng.normal(size=80)) for _ in range(60)]
    found = [settled(Samples(rates(one)), GRID_NS).doubts for one in level]
    assert sum(not doubts for doubts in found) <= 3


def test_of_two_figures_that_move_that_which_goes_farther_is_told() -> None:
    """Arrivals that scatter by 2 % were said to be what moved, where the response rose by a fifth."""
    rng = np.random.default_rng(11)
    counts = np.rint(np.linspace(1020, 990, 200) + rng.normal(size=200)).astype(int)
    rising = open_loop(np.linspace(1e6, 1.2e6, 200) + 1e3 * rng.normal(size=200), counts)
    found = warm_up(rising)
    assert (found.samples, found.figure) == (None, Figure("mean"))
    assert warm_up(closed_loop(np.linspace(1e6, 1.2e6, 200))).figure == Figure("iops")


def _bursts(rng: np.random.Generator, count: int) -> FloatArray:
    """The level of a storage that stands still for a part of every tenth sample or so, and catches up afterwards."""
    at = np.arange(count) + rng.uniform(0, 10)
    return 1 + 0.6 * np.sign(np.sin(at * 2 * np.pi / 10)) + 0.2 * rng.normal(size=count)


@pytest.mark.parametrize("falls_to", [0.5, 2.0])
def test_a_drift_all_the_way_through_is_told_also_among_bursts(falls_to: float) -> None:
    """Bursts make the interval wide: a drift that stays within the noise around it was told by nothing."""
    rng, untold = np.random.default_rng(17), 0
    for _ in range(60):
        decaying = falls_to + (1 - falls_to) * np.exp(-np.arange(200) / 80)
        kept = settled(Samples(rates(1e4 * decaying * _bursts(rng, 200))), GRID_NS)
        untold += not any("had not settled" in doubt for doubt in kept.doubts)
    assert untold <= 6


def test_bursts_alone_are_no_drift() -> None:
    rng = np.random.default_rng(18)
    found = [warm_up(rates(1e4 * _bursts(rng, 200))).samples for _ in range(200)]
    assert sum(samples is None for samples in found) <= 10


def _gathering(rng: np.random.Generator, count: int) -> FloatArray:
    """The level of a storage whose full cache gathers for five to seven samples, and is written full at once then."""
    level = 2.4 + 0.05 * rng.normal(size=count)
    at = rng.uniform(0, 6)
    while at < count:
        level[int(at)] += 6.0
        at += 6 + np.clip(rng.normal(), -1, 1)
    return level


@pytest.mark.parametrize("change", [0.2, -0.15])
def test_a_drift_is_told_also_where_bursts_are_far_apart_and_regular(change: float) -> None:
    """They make up for each other: the level is far surer than the interval, which was as wide as the drift."""
    rng, untold = np.random.default_rng(21), 0
    for _ in range(60):
        kept = settled(Samples(rates(1e4 * np.linspace(1.0, 1.0 + change, 160) * _gathering(rng, 160))), GRID_NS)
        untold += not any("had not settled" in doubt for doubt in kept.doubts)
    assert untold <= 6


def test_regular_bursts_alone_are_no_drift() -> None:
    rng = np.random.default_rng(22)
    found = [warm_up(rates(1e4 * _gathering(rng, 160))).samples for _ in range(200)]
    assert sum(samples is None for samples in found) <= 10


def test_a_queue_in_equilibrium_hardly_ever_seems_to_drift() -> None:
    """M/M/1 behind its start, with 100 and 1,000 services to a sample."""
    rng, drifts = np.random.default_rng(23), 0
    for load in (0.5, 0.6, 0.7, 0.8, 0.9):
        for services in [100] * 30 + [1000] * 10:
            arrivals, latency_ns = single_server(rng, 1e3, np.full(240, 1e3 * load), services / 1e3)
            counts = np.rint(arrivals * services / 1e3).astype(int)
            drifts += warm_up(open_loop(latency_ns[40:], counts[40:])).samples is None
    assert drifts <= 10, "of 200"


@pytest.mark.parametrize("slow", [24, 32, 40])
def test_a_warm_up_that_takes_long_is_one_where_the_rest_is_settled(slow: int) -> None:
    rng = np.random.default_rng(16)
    level = [1e4 * (np.where(np.arange(80) < slow, 0.7, 1.0) + 0.05 * rng.normal(size=80)) for _ in range(60)]
    found = [warm_up(rates(one)).samples for one in level]
    assert sum(samples is None or samples < slow for samples in found) <= 3


def test_a_short_run_says_that_no_warm_up_was_looked_for() -> None:
    kept = settled(Samples(rates(np.full(19, 1000.0))), GRID_NS)
    assert kept.start.is_too_short
    assert "No warm-up was looked for" in kept.sentence
    assert not kept.doubts


def test_a_ramp_is_left_out_whatever_it_looks_like() -> None:
    kept = settled(Samples(rates(np.full(80, 1000.0))), GRID_NS, ramp_ns=1_500_000_000)
    assert kept.from_ns == 2 * NS_PER_S
    assert "the workload's own ramp-up" in kept.sentence


def test_a_change_in_the_middle_is_no_warm_up_but_is_said() -> None:
    rng = np.random.default_rng(4)
    level = np.concatenate([np.full(100, 1000.0), np.full(100, 700.0)]) * (1 + 0.03 * rng.normal(size=200))
    found = level_change(rates(level))
    assert found is not None
    assert found.at_ns == pytest.approx(100 * LENGTH_NS, abs=5 * LENGTH_NS)
    assert found.before == pytest.approx(1000, rel=0.02)
    assert found.after == pytest.approx(700, rel=0.02)
    assert level_change(rates(1000 * (1 + 0.1 * rng.normal(size=200)))) is None


@pytest.mark.parametrize(("rho", "count"), [(0.0, 40), (0.5, 80), (0.8, 80), (0.9, 240)])
def test_intervals_of_a_rate_hold_its_true_mean_about_as_often_as_they_say(rho: float, count: int) -> None:
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(300):
        found = estimate(IOPS, rates(1e5 * (1 + 0.1 * autoregressive(rng, rho, count))))
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 1e5 <= found.high
    assert 0.91 <= held / 300 <= 0.995


@pytest.mark.parametrize("figure", [MEAN, Figure("p50"), P99])
@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_intervals_of_a_latency_hold_its_truth_also_when_its_level_wanders(figure: Figure, rho: float) -> None:
    rng = np.random.default_rng(6)
    pool = rng.exponential(1.0, 1_000_000) * np.exp(0.2 * rng.normal(size=1_000_000)) * 1e6
    truth = float(pool.mean()) if figure.share is None else float(np.quantile(pool, figure.share))
    held = runs = 150
    for _ in range(runs):
        found = estimate(figure, drawn(rng, 1e6 * np.exp(0.2 * autoregressive(rng, rho, 64)), 400))
        assert found is not None
        sound = found.low is not None and found.low <= truth and (found.high is None or truth <= found.high)
        held -= not sound
    assert held / runs >= 0.9


def test_the_interval_narrows_with_the_square_root_of_the_time() -> None:
    rng = np.random.default_rng(7)
    short, long = (estimate(IOPS, rates(1000 * (1 + 0.1 * rng.normal(size=count)))) for count in (100, 400))
    assert short is not None
    assert long is not None
    assert short.half_width is not None
    assert long.half_width is not None
    assert short.half_width / long.half_width == pytest.approx(2.0, rel=0.35)


def test_too_little_data_has_a_value_and_no_interval() -> None:
    found = estimate(IOPS, rates(np.full(5, 1000.0)))
    assert found is not None
    assert (found.value, found.low, found.high, found.relative) == (1000.0, None, None, None)
    assert estimate(MEAN, rates(np.zeros(50))) is None


def _spread_thin(rng: np.random.Generator, ios: int, count: int = 200) -> list[Sample]:
    """So many latencies of 8 to 16 ms, one by one in samples that are empty but for them."""
    latencies = [np.empty(0)] * count
    for at in rng.permutation(count)[:ios]:
        latencies[at] = rng.uniform(8e6, 16e6, 1)
    return given_latencies(latencies)


@pytest.mark.parametrize("ios", [1, 2, 5, 9])
def test_a_mean_of_a_few_ios_has_no_interval_however_many_samples_are_empty(ios: int) -> None:
    found = estimate(MEAN, _spread_thin(np.random.default_rng(19), ios))
    assert found is not None
    assert (found.low, found.high, found.relative) == (None, None, None)


def test_nor_has_one_of_many_ios_in_a_few_samples() -> None:
    latencies = [np.full(1000 if at in (7, 90, 150) else 0, 1e6 * (1 + at)) for at in range(200)]
    found = estimate(MEAN, given_latencies(latencies))
    assert found is not None and found.low is None


@pytest.mark.parametrize("ios", [10, 20, 50])
def test_a_mean_of_enough_ios_has_an_interval_that_rests_on_no_more_than_them(ios: int) -> None:
    rng, held = np.random.default_rng(20), 0
    for _ in range(200):
        found = estimate(MEAN, _spread_thin(rng, ios))
        assert found is not None and found.low is not None and found.high is not None
        assert found.independent is not None and found.independent <= ios
        held += found.low <= 12e6 <= found.high
    assert held / 200 >= 0.9


def test_a_tail_beyond_the_data_has_no_upper_bound() -> None:
    found = estimate(Figure("p99.9"), drawn(np.random.default_rng(8), np.full(40, 1e6), 10))
    assert found is not None
    assert found.high is None
    assert found.low is not None


@pytest.mark.parametrize(("stretches", "is_told"), [(4, False), (16, True)])
def test_slow_times_that_came_seldom_have_no_upper_bound(stretches: int, is_told: bool) -> None:
    """Of each stretch of four samples a tenth of a percent of all I/Os is slow, whatever their number."""
    rng = np.random.default_rng(11)
    scale = np.full(640, 1e6)
    for start in rng.permutation(80)[:stretches] * 8:
        scale[start : start + 4] *= 10
    found = estimate(Figure("p99"), drawn(rng, scale, 400 // stretches))
    assert found is not None
    assert (found.high is not None) == is_told


P999 = Figure("p99.9")


def _with_stalls(rng: np.random.Generator, stalls: int, count: int = 80) -> list[Sample]:
    """Gamma latencies of 1 ms; in so many samples 32 I/Os waited for the same stall of 50 to 500 ms."""
    latencies = [rng.gamma(4.0, 2.5e5, 200) for _ in range(count)]
    for at in rng.permutation(count // 2)[:stalls] * 2:
        latencies[at] = np.append(latencies[at], np.full(32, rng.uniform(5e7, 5e8)))
    return given_latencies(latencies)


@pytest.mark.parametrize("stalls", [1, 2, 5])
def test_a_percentile_that_rests_on_a_few_stalls_has_no_interval(stalls: int) -> None:
    """With one stall of any length in ten seconds, half of the slowest I/Os of an endless run wait below 275 ms."""
    rng = np.random.default_rng(12)
    for _ in range(20):
        found = estimate(P999, _with_stalls(rng, stalls))
        assert found is not None and found.value > 5e7
        assert (found.high, found.independent, found.relative) == (None, None, None)
        assert found.low is not None and found.low < 5e6, "what is seen without the stalls is at least reached"


def test_stalls_that_come_often_enough_are_as_sure_as_any_other_time() -> None:
    """Half of the times that a percentile is about are at the median of what is slow: 275 ms."""
    rng, held = np.random.default_rng(13), 0
    for _ in range(40):
        found = estimate(Figure("p99"), _with_stalls(rng, 60, 480))
        assert found is not None and found.low is not None and found.high is not None
        held += found.low <= 2.75e8 <= found.high
    assert held / 40 >= 0.85


@pytest.mark.parametrize("name", ["p50", "p99", "p99.9"])
@pytest.mark.parametrize("outliers", [0, 1])
def test_a_device_that_always_takes_the_same_time_is_sure(name: str, outliers: int) -> None:
    latencies = [np.full(300, 1e6) for _ in range(80)]
    latencies[17][:outliers] = 4e7
    found = estimate(Figure(name), given_latencies(latencies))
    assert found is not None and found.low is not None and found.high is not None
    assert found.low == pytest.approx(1e6, rel=0.008) == found.high


@pytest.mark.parametrize(("name", "truth"), [("p50", 1000), ("p90", 2000), ("p99", 3000), ("p99.9", 3000)])
def test_times_of_a_coarse_clock_have_an_interval(name: str, truth: int) -> None:
    rng = np.random.default_rng(14)
    drawn_ns = [rng.choice([1e3, 2e3, 3e3], 2000, p=[0.7, 0.27, 0.03]) for _ in range(80)]
    found = estimate(Figure(name), given_latencies(drawn_ns))
    assert found is not None and found.low is not None and found.high is not None
    assert found.low == pytest.approx(truth, rel=0.008) == found.high


def test_memory_is_bounded_and_pooled_samples_give_the_same_figures() -> None:
    level = 1e6 * (1 + 0.1 * np.random.default_rng(9).normal(size=3000))
    parts = closed_loop(level, outstanding=1)
    pooled = Samples(parts)
    kept = pooled.between(0)
    assert len(kept) <= 512
    assert pooled.length_ns == 8 * LENGTH_NS
    assert all(sample.start_ns % pooled.length_ns == 0 for sample in kept)
    complete = parts[: 8 * len(kept)]
    for figure in (IOPS, MEAN, P99):
        assert figure.of(kept) == pytest.approx(figure.of(complete), rel=1e-12)


@pytest.mark.parametrize("name", ["iops", "bandwidth", "mean", "p99.9", "read-p99", "write-iops"])
def test_figures_have_names_that_read_back(name: str) -> None:
    assert Figure.from_name(name).name == name


@pytest.mark.parametrize("name", ["p98", "latency", "read", "both-p99", "read-", ""])
def test_an_unknown_figure_lists_what_there_is(name: str) -> None:
    with pytest.raises(UsageError, match=r"one of iops, bandwidth, mean, p50"):
        Figure.from_name(name)


def test_a_direction_without_ios_has_no_figure() -> None:
    samples = rates(np.full(40, 1000.0))
    assert Figure("mean", "write").of(samples) is None
    assert Figure("iops", "write").of(samples) == 0.0
    assert math.isnan(Figure("p99", "write").series(samples)[0])
