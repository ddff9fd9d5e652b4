from __future__ import annotations

import numpy as np
import pytest

from storscope.model.clock import Curve, estimate_offset

S = 1_000_000_000
HOUR = 3_600 * S
START = 1_700_000_000 * S


def truth(seed: int, seconds: int) -> np.ndarray:
    """Load per second: bursts of random length and height on a slow wave."""
    rng = np.random.default_rng(seed)
    level = np.repeat(rng.gamma(1.0, 400.0, seconds // 30 + 1), 30)[:seconds]
    return level + 300 * (1 + np.sin(np.arange(seconds) / 7_000))


def seen(load: np.ndarray, from_s: int, step_s: int, clock_s: float, noise: float = 0.05, seed: int = 0) -> Curve:
    """The load averaged in intervals by a source whose clock is ahead by `clock_s`."""
    count = (len(load) - from_s) // step_s
    rate = load[from_s : from_s + count * step_s].reshape(count, step_s).mean(axis=1)
    rate = rate * (1 + noise * np.random.default_rng(seed).normal(size=count))
    start = START + np.int64((from_s + clock_s) * S) + np.arange(count, dtype=np.int64) * step_s * S
    return Curve(start, np.full(count, step_s * S, dtype=np.int64), rate)


@pytest.mark.parametrize("ahead_s", [0, 7, 90, -433, 3_600, -18_000])
def test_a_known_offset_is_found_within_its_interval(ahead_s: int) -> None:
    load = truth(1, 40_000)
    offset = estimate_offset(seen(load, 0, 20, 0), seen(load, 133, 20, ahead_s, seed=1), max_offset_ns=15 * HOUR)
    assert offset is not None
    assert offset.offset_ns.estimate == pytest.approx(-ahead_s * S, abs=4 * S)
    assert offset.p_value < 1e-6


def test_the_interval_covers_the_truth() -> None:
    covered = []
    for seed in range(40):
        load, ahead_s = truth(seed, 12_000), 3.0 * seed - 50
        offset = estimate_offset(
            seen(load, 0, 20, 0, 0.2, seed), seen(load, 7 * seed % 20, 20, ahead_s, 0.2, seed + 99), max_offset_ns=HOUR
        )
        assert offset is not None
        covered.append(offset.offset_ns.covers(-ahead_s * S))
    assert np.mean(covered) >= 0.9


def test_different_steps_meet_on_the_coarser() -> None:
    load = truth(3, 40_000)
    offset = estimate_offset(seen(load, 0, 60, 0), seen(load, 0, 10, 300), max_offset_ns=HOUR)
    assert offset is not None
    assert offset.offset_ns.estimate == pytest.approx(-300 * S, abs=12 * S)


def test_unrelated_loads_give_no_offset() -> None:
    found = [
        estimate_offset(seen(truth(s, 20_000), 0, 20, 0), seen(truth(s + 1_000, 20_000), 0, 20, 0),
                        max_offset_ns=15 * HOUR)
        for s in range(30)
    ]  # fmt: skip
    assert found == [None] * 30


def test_a_load_that_repeats_itself_is_ambiguous() -> None:
    load = 500 + 400 * (np.arange(40_000) % 600 < 200)
    assert estimate_offset(seen(load, 0, 20, 0), seen(load, 0, 20, 200, seed=1), max_offset_ns=HOUR) is None


def test_an_offset_beyond_what_is_allowed_is_not_reported() -> None:
    load = truth(5, 40_000)
    assert estimate_offset(seen(load, 0, 20, 0), seen(load, 0, 20, 9_000), max_offset_ns=HOUR) is None
