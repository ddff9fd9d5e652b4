from __future__ import annotations

import numpy as np
import pytest

from storscope.model.knee import find_knee, knee_utilisation, rise_of
from tests.model.queues import single_server, wandering

CAPACITY_PER_S = 200.0


@pytest.mark.parametrize("busiest", [0.7, 0.9])
def test_the_knee_of_an_mm1_queue_is_found_from_watching_it(busiest: float) -> None:
    knees = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rates = CAPACITY_PER_S * wandering(rng, 400, 0.05, busiest)
        knees.append(find_knee(*single_server(rng, CAPACITY_PER_S, rates, 10), seed=seed))
    assert all(knee.seen for knee in knees)
    assert np.mean([knee.capacity.covers(CAPACITY_PER_S) for knee in knees]) >= 0.9
    assert np.mean([knee.knee.covers(CAPACITY_PER_S / 2) for knee in knees]) >= 0.9
    assert all(abs(knee.knee.estimate / (CAPACITY_PER_S / 2) - 1) < 0.1 for knee in knees)
    assert all(abs(knee.light_latency_ns.estimate / 5e6 - 1) < 0.05 for knee in knees)


def test_the_knee_of_an_md1_queue_is_near_though_its_curve_is_another() -> None:
    # M/D/1: L = S (1 + u / (2 (1 - u))), twice S at u = 2/3.
    rng = np.random.default_rng(1)
    load, latency = single_server(rng, CAPACITY_PER_S, CAPACITY_PER_S * wandering(rng, 600, 0.05, 0.9), 10, fixed=True)
    assert find_knee(load, latency).knee.estimate == pytest.approx(CAPACITY_PER_S * 2 / 3, rel=0.1)


def test_below_the_bend_no_knee_is_claimed() -> None:
    rng = np.random.default_rng(2)
    knee = find_knee(*single_server(rng, CAPACITY_PER_S, CAPACITY_PER_S * wandering(rng, 400, 0.02, 0.2), 10))
    assert not knee.seen
    assert "flat" in knee.reason
    assert knee.load_max == pytest.approx(0.2 * CAPACITY_PER_S, rel=0.3)


def test_latency_that_another_makes_is_no_knee() -> None:
    rng = np.random.default_rng(3)
    load = wandering(rng, 600, 100, 1_000)
    latency = np.where((np.arange(600) // 60) % 2 == 1, 40e6, 4e6) * rng.gamma(20, 1 / 20, 600)
    assert not find_knee(load, latency).seen


def test_latency_that_falls_with_load_is_no_knee() -> None:
    rng = np.random.default_rng(4)
    load = wandering(rng, 600, 100, 1_000)
    assert not find_knee(load, 1e9 / load * rng.gamma(20, 1 / 20, 600)).seen


def test_a_step_across_loads_nobody_saw_is_no_knee() -> None:
    rng = np.random.default_rng(7)
    backup = np.arange(1_200) % 240 < 15
    load = np.where(backup, rng.normal(1_700, 250, 1_200), rng.normal(300, 60, 1_200))
    latency = np.where(backup, 40e6, 3.4e6) * rng.gamma(200, 1 / 200, 1_200)
    knee = find_knee(load, latency)
    assert not knee.seen
    assert "hardly any load between" in knee.reason
    between = (load > 500) & (load < 1_100)
    knee = find_knee(load[~between], latency[~between])
    assert not knee.seen
    assert knee.reason.startswith("no load between 4")
    short = find_knee(load[:200], latency[:200])
    assert not short.seen


def test_a_gap_does_not_hide_a_rise_that_had_begun() -> None:
    rng = np.random.default_rng(8)
    use = wandering(rng, 800, 0.05, 0.35)
    use[::20] = 0.85
    knee = find_knee(200 * use, 5e6 / (1 - use) * rng.gamma(100, 1 / 100, 800))
    assert knee.seen
    assert knee.knee.estimate == pytest.approx(100, rel=0.1)


def test_a_light_load_nobody_saw_is_said_to_be_extrapolated() -> None:
    rng = np.random.default_rng(9)
    for low, extrapolated in ((0.02, False), (0.4, True)):
        use = wandering(rng, 800, low, 0.8)
        knee = find_knee(200 * use, 5e6 / (1 - use) * rng.gamma(100, 1 / 100, 800))
        assert knee.seen
        assert knee.light_is_extrapolated is extrapolated
        assert knee.load_min == pytest.approx(200 * low, abs=8)


def test_flat_is_said_only_of_a_load_that_varied_widely() -> None:
    rng = np.random.default_rng(10)
    latency = 5e6 * rng.gamma(100, 1 / 100, 600)
    assert find_knee(wandering(rng, 600, 100, 1_000), latency).flat
    assert not find_knee(wandering(rng, 600, 500, 1_000), latency).flat
    assert not find_knee(wandering(rng, 600, 100, 1_000), 1e9 / wandering(rng, 600, 10, 1_000)).flat


def test_wild_intervals_do_not_move_the_knee() -> None:
    rng = np.random.default_rng(5)
    load, latency = single_server(rng, CAPACITY_PER_S, CAPACITY_PER_S * wandering(rng, 600, 0.05, 0.9), 10)
    wild = latency.copy()
    wild[rng.integers(0, 600, 12)] *= 100
    assert find_knee(load, wild).knee.estimate == pytest.approx(find_knee(load, latency).knee.estimate, rel=0.1)


def test_a_load_that_stands_still_or_a_short_capture_is_refused() -> None:
    steady = find_knee(np.full(100, 500.0), np.full(100, 5e6))
    short = find_knee(np.arange(10.0), np.arange(10.0))
    assert not steady.seen
    assert "hardly varies" in steady.reason
    assert "10 intervals" in short.reason or "9 intervals" in short.reason


def test_the_curve_is_exact_for_one_server() -> None:
    u = np.array([0.1, 0.5, 0.9])
    assert rise_of(u, 1.0) == pytest.approx(1 / (1 - u))
    assert knee_utilisation(1.0) == pytest.approx(0.5, abs=1e-3)


def test_the_curve_is_near_erlang_c_for_eight_servers() -> None:
    # M/M/8 at u = 0.8: Erlang C by its recursion.
    servers, u = 8, 0.8
    blocked = 1.0
    for n in range(1, servers + 1):
        blocked = u * servers * blocked / (n + u * servers * blocked)
    waits = blocked / (1 - u + u * blocked)
    assert rise_of(np.array([u]), float(servers))[0] == pytest.approx(1 + waits / (servers * (1 - u)), rel=0.03)
