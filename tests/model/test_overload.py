from __future__ import annotations

import numpy as np

from storscope.model.overload import Overload, bridged, judge_overload, runs_of

S = 1_000_000_000


def judge(load: np.ndarray, latency_ms: np.ndarray, anew: np.ndarray | None = None) -> Overload:
    return judge_overload(
        load, latency_ms * 1e6, knee=1_000, latency_limit_ns=10_000_000, step_ns=20 * S, sustained_ns=300 * S,
        anew=anew,
    )  # fmt: skip


def test_a_plateau_with_high_latency_is_saturation() -> None:
    load, latency = np.full(200, 500.0), np.full(200, 4.0)
    load[50:90], latency[50:90] = 1_050, 40
    found = judge(load, latency)
    assert (found.kind, found.first, found.last, found.longest_ns) == ("saturated", 50, 89, 40 * 20 * S)


def test_short_spikes_are_bursts_however_many() -> None:
    load, latency = np.full(200, 500.0), np.full(200, 4.0)
    load[::20], latency[::20] = 2_000, 30
    found = judge(load, latency)
    assert found.kind == "burst"
    assert found.runs == 10


def test_a_long_stay_of_wild_load_is_no_plateau() -> None:
    load, latency = np.full(200, 500.0), np.full(200, 4.0)
    load[50:90], latency[50:90] = np.tile([1_000, 6_000], 20), 40
    assert judge(load, latency).kind == "burst"


def test_high_load_with_low_latency_is_neither() -> None:
    assert judge(np.full(200, 5_000.0), np.full(200, 1.0)).kind == "none"


def test_runs_and_bridges() -> None:
    flags = np.array([0, 1, 1, 0, 1, 0, 0, 1], dtype=bool)
    assert runs_of(flags) == [(1, 2), (4, 4), (7, 7)]
    assert runs_of(bridged(flags, 1)) == [(1, 4), (7, 7)]
    assert runs_of(np.zeros(3, dtype=bool)) == []


def test_a_gap_in_time_ends_a_run_and_is_not_bridged() -> None:
    flags, anew = np.array([True, True, False, True, True]), np.zeros(5, dtype=bool)
    anew[4] = True
    assert runs_of(flags, anew) == [(0, 1), (3, 3), (4, 4)]
    assert runs_of(bridged(flags, 1, anew), anew) == [(0, 3), (4, 4)]
    anew[3] = True
    assert bridged(flags, 1, anew).tolist() == flags.tolist()


def test_a_stay_ends_where_time_was_not_measured() -> None:
    load, latency = np.full(200, 500.0), np.full(200, 4.0)
    load[90:110], latency[90:110] = 1_050, 40
    anew = np.arange(200) == 100
    found = judge(load, latency, anew)
    assert (found.kind, found.runs, found.longest_ns) == ("burst", 2, 10 * 20 * S)
