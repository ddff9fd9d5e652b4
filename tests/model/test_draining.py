"""How long a stock lasts, by stocks whose end is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from storscope.domain.arrays import FloatArray
from storscope.model.draining import draining

_STEP_S = 60.0


def times(count: int) -> FloatArray:
    return np.arange(count) * _STEP_S


def test_what_falls_evenly_lasts_until_its_line_meets_nothing() -> None:
    found = draining(times(31), np.linspace(0.9, 0.6, 31))
    assert found is not None
    assert found.lost == pytest.approx(0.3, abs=0.011)
    assert found.lasts_s.estimate == pytest.approx(0.6 / 0.3 * 1_800)
    assert found.lasts_s.low == pytest.approx(found.lasts_s.high)


def test_only_the_time_since_it_was_fullest_counts() -> None:
    levels = np.concatenate([np.linspace(0.2, 1, 100), np.linspace(1, 0.5, 51)])
    found = draining(times(151), levels)
    assert found is not None
    assert found.lasts_s.estimate == pytest.approx(50 * _STEP_S, rel=0.01)


def bucket(seed: int, pace_per_s: float = 1_500) -> FloatArray:
    """The share left of 5.4 million, minute by minute until nothing is: 300 a second come back, and a load takes them
    whose neighbouring minutes hang together."""
    noise = np.random.default_rng(seed).gamma(2.0, 0.5, 404)
    load = pace_per_s * sum(noise[i : i + 400] for i in range(5)) / 5
    left = 1 + np.cumsum(300 - load) * _STEP_S / 5.4e6
    return left[: int(np.argmax(left <= 0))]


def test_the_interval_holds_the_truth_nine_times_of_ten() -> None:
    held = 0
    for seed in range(100):
        whole = bucket(seed)
        seen = whole[: len(whole) // 2]
        found = draining(times(len(seen)), seen, seed=seed)
        assert found is not None
        held += found.lasts_s.covers((len(whole) - len(seen) + 1) * _STEP_S)
    assert 87 <= held <= 99


def test_a_level_without_a_trend_is_not_falling() -> None:
    """Of noise around a level less than one in twenty is taken for a fall."""
    seeds = range(200)
    noise = (0.5 + 0.02 * np.random.default_rng(seed).standard_normal(120) for seed in seeds)
    told = [found for levels in noise if (found := draining(times(120), levels)) is not None and found.lost > 0.05]
    assert len(told) < 0.05 * len(seeds)


@given(arrays(np.float64, st.integers(0, 60), elements=st.floats(0, 1)))
def test_whatever_the_levels_the_answer_is_finite_or_none(levels: FloatArray) -> None:
    found = draining(times(len(levels)), levels)
    if found is not None:
        assert 0 < found.lasts_s.low <= found.lasts_s.estimate <= found.lasts_s.high < np.inf
        assert 0 < found.lost <= 1
