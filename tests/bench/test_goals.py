"""When a measurement ends, and what is then said of it: on series of known truth."""

from __future__ import annotations

import numpy as np
import pytest

from storscope.bench.goals import FixedTime, Goal, Precision, SteadyState, default_figure, fixed_time, steadiness
from storscope.bench.judgement import Judgement, shown_share
from storscope.bench.preconditioning import Amount
from storscope.bench.samples import Figure, Sample, Samples
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed, Load, Open, RateStep, Steps
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Stream, Workload
from tests.bench.series import GRID_NS, autoregressive, closed_loop, given_latencies, rates

IOPS = Figure("iops")


def _ended(goal: Goal, samples: list[Sample]) -> tuple[Samples, bool]:
    """The samples until the goal was reached, asked at the end of each interval."""
    seen = Samples()
    for number, sample in enumerate(samples, 1):
        seen.add(sample)
        if sample.end_ns % GRID_NS == 0 and goal.progress(seen, GRID_NS).is_enough:
            return seen, number < len(samples)
    return seen, False


def _noise(spread: float, count: int = 480, seed: int = 1) -> list[Sample]:
    return rates(1e5 * (1 + spread * np.random.default_rng(seed).normal(size=count)))


def test_a_steady_storage_is_measured_in_five_seconds() -> None:
    seen, ended = _ended(Precision(IOPS), _noise(0.02))
    assert ended
    assert seen.end_ns == 5 * NS_PER_S
    judgement = Precision(IOPS).judge(seen, GRID_NS, is_whole=True)
    assert judgement.goal_met
    assert judgement.chosen is not None
    assert judgement.chosen.relative is not None
    assert judgement.chosen.relative <= 0.02
    assert not judgement.doubts


def test_a_noisy_storage_takes_longer_and_ends_as_sure_as_was_asked() -> None:
    goal = Precision(IOPS, within=0.02)
    seen, ended = _ended(goal, _noise(0.08))
    judgement = goal.judge(seen, GRID_NS, is_whole=True)
    assert ended
    assert 6 * NS_PER_S < seen.end_ns < 40 * NS_PER_S
    assert judgement.goal_met
    assert "became sure" in judgement.ended


def test_a_cap_that_is_hit_is_said_with_what_was_reached() -> None:
    goal = Precision(IOPS, within=0.001, longest_ns=10 * NS_PER_S)
    judgement = goal.judge(Samples(_noise(0.1, 80)), GRID_NS, is_whole=True)
    assert judgement.goal_met is False
    assert "instead of ±0.1 % in the longest time allowed, 10 s" in judgement.ended
    (doubt,) = judgement.doubts
    assert "--max-duration" in doubt


def test_an_interval_that_does_not_count_is_told_as_it_stands_in_the_figures() -> None:
    """'no interval that can be told' stood beside '±8.8 %'."""
    rng = np.random.default_rng(3)
    slow = Samples(rates(1e5 * (1 + 0.1 * autoregressive(rng, 0.97, 80))))
    judgement = Precision(IOPS, longest_ns=10 * NS_PER_S).judge(slow, GRID_NS, is_whole=True)
    assert judgement.chosen is not None and judgement.chosen.relative is not None
    assert (judgement.chosen.independent or 0.0) < 15
    reached = f"reached {shown_share(judgement.chosen.relative)}, by fewer than 15 samples that are independent"
    assert reached in judgement.ended and reached in judgement.doubts[-1]
    assert "no interval" not in judgement.ended


def test_what_had_not_settled_is_not_told_to_have_missed_what_it_reached() -> None:
    noise = 1 + 0.001 * np.random.default_rng(4).normal(size=80)
    drift = Samples(rates(1e5 * np.linspace(1.0, 1.012, 80) * noise))
    judgement = Precision(IOPS, longest_ns=10 * NS_PER_S).judge(drift, GRID_NS, is_whole=True)
    assert judgement.goal_met is False
    assert judgement.chosen is not None and judgement.chosen.relative is not None
    assert judgement.chosen.relative < 0.02
    assert (
        "IOPS had not settled and reached ±" in judgement.ended
        and "which does not count, instead of" in judgement.ended
    )


def test_a_single_stall_does_not_make_a_percentile_sure() -> None:
    rng = np.random.default_rng(6)
    latencies = [rng.gamma(4.0, 1e5, 312) for _ in range(160)]
    latencies[20] = np.append(latencies[20], np.full(64, 4.5e8))
    seen, ended = _ended(Precision(Figure("p99.9")), given_latencies(latencies)[:56])
    assert not ended
    assert Precision(Figure("p99.9")).judge(seen, GRID_NS, is_whole=True).goal_met is False


def test_nothing_ends_while_the_storage_still_warms_up() -> None:
    rising = closed_loop(1e6 * np.linspace(1.0, 4.0, 240))
    assert not _ended(Precision(IOPS, within=0.2), rising)[1]


def test_the_time_left_goes_with_the_square_of_the_width() -> None:
    goal = Precision(IOPS, within=0.01, longest_ns=10_000 * NS_PER_S)
    samples = Samples(_noise(0.1, 240))
    found = goal.judge(samples, GRID_NS, is_whole=True).chosen
    assert found is not None
    assert found.relative is not None
    wanted_ns = samples.end_ns * ((found.relative / 0.01) ** 2 - 1)
    assert goal.progress(samples, GRID_NS).left_ns == pytest.approx(wanted_ns, rel=0.01)


@pytest.mark.parametrize(("rho", "within"), [(0.0, 0.03), (0.5, 0.05), (0.8, 0.05)])
def test_stopping_when_it_looks_sure_does_not_make_the_intervals_wrong(rho: float, within: float) -> None:
    """Asking again and again finds narrow intervals by luck; a few per cent of coverage may go, not more."""
    rng, goal, held, runs = np.random.default_rng(5), Precision(IOPS, within=within), 0, 100
    for _ in range(runs):
        seen, _ = _ended(goal, rates(1e5 * (1 + 0.1 * autoregressive(rng, rho, 320))))
        found = goal.judge(seen, GRID_NS, is_whole=True).chosen
        assert found is not None
        held += found.low is not None and found.high is not None and found.low <= 1e5 <= found.high
    assert held / runs >= 0.85


def test_a_fixed_time_ends_by_the_clock_alone_and_still_has_intervals() -> None:
    goal = FixedTime(10 * NS_PER_S)
    samples = Samples(_noise(0.02, 80))
    assert not goal.progress(Samples(_noise(0.001, 80)), GRID_NS).is_enough
    judgement = goal.judge(samples, GRID_NS, is_whole=True)
    assert judgement.goal_met is None
    assert judgement.chosen is not None
    assert judgement.chosen.relative is not None
    assert "10 s that were asked for" in judgement.ended


def test_a_ramp_comes_on_top_of_the_time() -> None:
    assert FixedTime(10 * NS_PER_S, ramp_ns=3 * NS_PER_S).longest_ns == 13 * NS_PER_S


def _workload(load: Load) -> Workload:
    return Workload("test", (Stream(Mix((AccessSpec(4096),)), load),))


def test_the_figure_is_what_the_storage_decides() -> None:
    assert default_figure(_workload(Closed(8))) == IOPS
    assert default_figure(_workload(Open(1000.0))) == Figure("mean")


def test_rate_steps_have_values_and_neither_warm_up_nor_intervals() -> None:
    steps = _workload(Steps((RateStep(100.0, NS_PER_S), RateStep(1000.0, NS_PER_S))))
    judgement = fixed_time(steps, 10 * NS_PER_S).judge(Samples(closed_loop(np.linspace(1e6, 5e6, 80))), GRID_NS,
                                                       is_whole=True)  # fmt: skip
    assert judgement.from_ns == 0
    assert judgement.ended == "It ran for the 10 s that were asked for."
    assert all(one.low is None for one in judgement.estimates.values())
    assert not judgement.doubts


@pytest.mark.parametrize(
    ("values", "is_steady"),
    [
        ([100, 100, 100, 100, 100], True),
        ([91, 109, 91, 109, 100], True),
        ([89, 111, 100, 100, 100], False),  # range 22 %
        ([95, 97.5, 100, 102.5, 105], True),  # slope 10 %
        ([94, 97, 100, 103, 106], False),  # slope 12 %, range 12 %
        ([200, 150, 100, 100, 100, 100, 100], True),  # only the last five count
    ],
)
def test_steady_state_is_as_snia_defines_it(values: list[float], is_steady: bool) -> None:
    found = steadiness(values)
    assert found is not None
    assert found.is_steady == is_steady


def test_range_and_slope_of_a_worked_example() -> None:
    """Mean 100; greatest less smallest 12; least squares gives 2.7 a round, so 10.8 over the window."""
    found = steadiness([95, 99, 97, 102, 107])
    assert found is not None
    assert found.range_share == pytest.approx(0.12)
    assert found.slope_share == pytest.approx(4 * 2.7 / 100)


def test_rounds_end_at_the_first_steady_window_and_only_it_counts() -> None:
    levels = [300, 240, 200, 170, 150, 140, 135, 132, 131, 131, 131]
    goal = SteadyState(IOPS, round_ns=2 * NS_PER_S)
    seen, ended = _ended(goal, rates(100.0 * np.repeat(levels, 16)))
    judgement = goal.judge(seen, GRID_NS, is_whole=True)
    assert ended
    assert seen.end_ns == 10 * 2 * NS_PER_S  # rounds 5 to 9 still fall by 13.4 %
    assert (judgement.from_ns, judgement.to_ns) == (5 * 2 * NS_PER_S, 10 * 2 * NS_PER_S)
    assert judgement.goal_met
    assert judgement.chosen is not None
    assert judgement.chosen.value == pytest.approx(100 * np.mean(levels[5:10]), rel=1e-3)


def test_no_steady_state_in_25_rounds_is_said() -> None:
    goal = SteadyState(IOPS, round_ns=NS_PER_S)
    seen, ended = _ended(goal, rates(np.repeat([1000.0 * 1.1**index for index in range(25)], 8)))
    judgement = goal.judge(seen, GRID_NS, is_whole=True)
    assert not ended
    assert goal.longest_ns == 25 * NS_PER_S
    assert judgement.goal_met is False
    assert judgement.ended == "No steady state within 25 rounds."
    assert any("No steady state after 25 rounds" in doubt for doubt in judgement.doubts)


def test_too_few_rounds_cannot_tell() -> None:
    goal = SteadyState(IOPS, round_ns=NS_PER_S)
    judgement = goal.judge(Samples(rates(np.full(24, 1000.0))), GRID_NS, is_whole=False)
    assert judgement.goal_met is False
    assert any("it takes 5 to tell" in doubt for doubt in judgement.doubts)


def test_an_amount_knows_how_far_it_is() -> None:
    goal = Amount(4096 * 2000)
    progress = goal.progress(Samples(rates(np.full(8, 1000.0))), GRID_NS)
    assert progress.left_ns == pytest.approx(NS_PER_S, rel=0.01)
    assert "50%" in progress.says


def test_a_judgement_survives_the_disk() -> None:
    judgement = Precision(IOPS).judge(Samples(closed_loop(np.full(80, 1e6))), GRID_NS, is_whole=True)
    assert Judgement.from_json(judgement.to_json()) == judgement


def test_a_run_without_ios_is_judged_too() -> None:
    for goal in (FixedTime(NS_PER_S), Precision(IOPS), Precision(Figure("p99")), SteadyState(IOPS, NS_PER_S)):
        empty = goal.judge(Samples(), GRID_NS, is_whole=True)
        assert empty.chosen is None
        idle = goal.judge(Samples(rates(np.zeros(80))), GRID_NS, is_whole=True)
        assert idle.chosen is None or idle.chosen.value == 0.0
