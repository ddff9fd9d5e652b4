from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.model.plateau import densest_plateau, elasticity, spread_factor, swing

_ALL = np.ones(200, dtype=bool)


@given(level=st.floats(1, 1e9), others=st.integers(0, 90), seed=st.integers(0, 99))
def test_the_level_is_where_most_rates_are(level: float, others: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rates = level * np.concatenate((rng.uniform(0.97, 1.03, 200 - others), 10 ** rng.uniform(-2, -0.1, others)))
    plateau = densest_plateau(rng.permutation(rates), _ALL, 0.1)
    assert plateau is not None
    assert plateau.level == pytest.approx(level, rel=0.03)
    assert plateau.count >= 200 - others
    assert plateau.above.sum() == 0
    assert plateau.spread < 0.06


def test_only_intervals_that_were_asked_about_count() -> None:
    rates = np.repeat([100.0, 300.0, math.nan, 0.0], 50)
    plateau = densest_plateau(rates, np.repeat([False, True, True, True], 50), 0.1)
    assert plateau is not None
    assert (plateau.level, plateau.count, plateau.spread) == (300.0, 50, 0.0)
    assert densest_plateau(rates, rates == 0, 0.1) is None
    assert densest_plateau(rates, np.zeros(200, dtype=bool), 0.1) is None


@given(exponent=st.floats(-2, 2), seed=st.integers(0, 99))
def test_the_elasticity_of_a_power_is_its_exponent(exponent: float, seed: int) -> None:
    quantity = np.random.default_rng(seed).uniform(1, 100, 200)
    assert elasticity(7 * quantity**exponent, quantity) == pytest.approx(exponent, abs=1e-9)


def test_the_swing_is_the_difference_of_reads_alone_and_writes_alone() -> None:
    share = np.linspace(0, 1, 200)
    assert swing(90 + 20 * share, share) == pytest.approx(0.2)


def test_of_what_does_not_vary_nothing_is_told() -> None:
    ones = np.ones(200)
    assert math.isnan(elasticity(ones, ones))
    assert math.isnan(swing(ones, 0.5 * ones))
    assert math.isnan(elasticity(ones[:2], np.array([1.0, 2.0])))
    assert math.isnan(spread_factor(0 * ones))
    assert spread_factor(10.0 ** np.linspace(0, 1, 200)) == pytest.approx(10**0.8, rel=0.01)
