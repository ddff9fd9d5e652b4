from __future__ import annotations

import numpy as np
import pytest

from storscope.model.periodicity import DAY_NS, HOUR_NS, WEEK_NS, find_pattern, recurrent_window, rhythm, slot_table

START = 19_800 * DAY_NS


def hours(days: int) -> np.ndarray:
    return START + np.arange(days * 24) * HOUR_NS


def test_a_known_daily_signal_gives_its_known_share() -> None:
    rng = np.random.default_rng(1)
    times = hours(40)
    values = np.sqrt(2) * np.sin(2 * np.pi * times / DAY_NS) + rng.normal(size=len(times))  # variances 1 and 1
    pattern = find_pattern(slot_table(times, values)[0])
    assert pattern is not None
    assert pattern.share == pytest.approx(0.5, abs=0.05)
    assert pattern.p_value <= 0.01
    assert np.corrcoef(pattern.profile, np.sin(2 * np.pi * np.arange(24) / 24))[0, 1] > 0.98


def test_noise_has_a_pattern_no_more_often_than_the_p_value_says() -> None:
    found = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        walk = np.convolve(rng.normal(size=7 * 24 + 11), np.ones(12) / 12, "valid")  # correlated within the day
        pattern = find_pattern(slot_table(hours(7), walk)[0], seed=seed, shuffles=199)
        assert pattern is not None
        found += pattern.p_value <= 0.05
    assert found <= 12  # 5 expected; 12 or more has a chance of 0.4 %


def test_a_day_and_a_half_is_no_habit() -> None:
    times = hours(2)
    assert find_pattern(slot_table(times, np.sin(2 * np.pi * times / DAY_NS))[0]) is None


def test_a_weekly_signal_is_found_in_weeks() -> None:
    rng = np.random.default_rng(2)
    times = hours(35)
    sunday = (times // DAY_NS + 3) % 7 == 6
    table, _ = slot_table(times, 3.0 * sunday + rng.normal(size=len(times)), period_ns=WEEK_NS, slot_ns=DAY_NS)
    pattern = find_pattern(table)
    assert pattern is not None
    assert pattern.p_value <= 0.05
    assert int(np.argmax(pattern.profile)) == 6


def test_absent_slots_stay_absent() -> None:
    table, first = slot_table(np.array([START, START + 25 * HOUR_NS]), np.array([1.0, 2.0]))
    assert first == START // DAY_NS
    assert (table[0, 0], table[1, 1]) == (1.0, 2.0)
    assert np.isfinite(table).sum() == 2


def test_three_bad_nights_of_five_are_a_window_even_over_midnight() -> None:
    bad = np.zeros((9, 24), dtype=bool)
    bad[[4, 6, 8], 23] = bad[[4, 6, 8], 0] = bad[[4, 6, 8], 1] = True
    window = recurrent_window(bad, np.ones_like(bad))
    assert window is not None
    assert (window.first_slot, window.last_slot, window.days_bad, window.days_looked_at) == (23, 1, 3, 5)


def test_two_bad_nights_of_five_are_none_nor_are_bad_days_through() -> None:
    bad = np.zeros((5, 24), dtype=bool)
    bad[:2, 3] = True
    assert recurrent_window(bad, np.ones_like(bad)) is None
    assert recurrent_window(np.ones_like(bad), np.ones_like(bad)) is None


MINUTE_NS = HOUR_NS // 60


@pytest.mark.parametrize("period_min", [5, 17, 60])
@pytest.mark.parametrize("jitter", [0.0, 0.03])
def test_what_comes_every_few_minutes_has_a_rhythm(period_min: int, jitter: float) -> None:
    starts = (np.arange(12) + np.random.default_rng(1).normal(0, jitter, 12)) * period_min * MINUTE_NS
    found = rhythm(starts.astype(np.int64), 5_000_000_000)
    assert found is not None
    assert found.period_ns == pytest.approx(period_min * MINUTE_NS, rel=0.02)
    assert found.times == 12


def test_one_time_that_was_left_out_breaks_no_rhythm() -> None:
    starts = np.array([0, 5, 10, 20, 25, 30, 35], dtype=np.int64) * MINUTE_NS
    found = rhythm(starts, 1)
    assert found is not None
    assert found.period_ns == 5 * MINUTE_NS


def test_coarse_intervals_tell_a_rhythm_to_their_length() -> None:
    """Every 5 min, as samples of a minute tell it."""
    starts = np.array([0, 5, 9, 15, 20, 25, 29, 35], dtype=np.int64) * MINUTE_NS
    assert rhythm(starts, MINUTE_NS) is not None
    assert rhythm(starts, 1) is None


def test_irregular_times_have_none() -> None:
    made = np.random.default_rng(2)
    told = 0
    for _ in range(500):
        starts = np.cumsum(made.exponential(5 * MINUTE_NS, 12)).astype(np.int64)
        told += rhythm(starts, 5_000_000_000) is not None
    assert told == 0


def test_four_times_are_too_few() -> None:
    assert rhythm(np.arange(4, dtype=np.int64) * HOUR_NS, 1) is None
