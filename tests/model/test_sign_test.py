"""The sign test against exact arithmetic, and how often it errs."""

from __future__ import annotations

import numpy as np
import pytest

from storscope.model.sign_test import signs


def test_one_sidedness_has_the_probability_of_a_fair_coin() -> None:
    assert signs([1.0] * 8, 0.95).p_value == pytest.approx(2 / 2**8)
    assert signs([1.0] * 7 + [-1.0], 0.95).p_value == pytest.approx(2 * (1 + 8) / 2**8)
    assert signs([1.0, -1.0], 0.95).p_value == 1.0


def test_what_is_even_counts_for_neither_side() -> None:
    found = signs([0.2] * 6 + [0.0] * 20, 0.95)
    assert (found.above, found.below) == (6, 0)
    assert found.p_value == pytest.approx(2 / 2**6)
    assert signs([0.0] * 9, 0.95).p_value == 1.0


def test_the_interval_of_a_median_is_that_of_the_order() -> None:
    found = signs([float(value) for value in range(1, 11)], 0.95)
    assert (found.low, found.median, found.high) == (2.0, 5.5, 9.0), "ranks 2 and 9 of 10 hold it in 97.9 %"
    few = signs([1.0, 2.0, 3.0, 4.0, 5.0], 0.95)
    assert (few.low, few.high) == (None, None)


def test_no_values_have_no_signs() -> None:
    with pytest.raises(ValueError, match="no values"):
        signs([], 0.95)


def test_equal_sides_differ_no_more_often_than_the_level_says() -> None:
    rng = np.random.default_rng(7)
    trials = [signs(list(rng.standard_cauchy(size)), 0.95) for size in (8, 15, 38) for _ in range(700)]
    assert np.mean([one.p_value < 0.05 for one in trials]) <= 0.05
    covered = [one.low <= 0 <= one.high for one in trials if one.low is not None and one.high is not None]
    assert np.mean(covered) >= 0.95
