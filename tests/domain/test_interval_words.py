"""Small numbers keep what they say: no sign on nothing, and no interval that looks like none."""

from __future__ import annotations

import pytest

from storscope.domain.interval_words import half_width_words, lopsided_words, signed_percent


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.081, "+8.1 %"),
        (-0.4, "−40.0 %"),
        (1.4, "+140 %"),
        (0.0006, "+0.1 %"),
        (0.0004, "0.0 %"),
        (-0.0004, "0.0 %"),
        (-1e-12, "0.0 %"),
        (0.0, "0.0 %"),
        (12.0, "+1,200 %"),
    ],
)
def test_a_change_that_rounds_to_nothing_has_no_sign(share: float, words: str) -> None:
    assert signed_percent(share) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.13, "±13 %"),
        (0.013, "±1.3 %"),
        (0.0005, "±0.1 %"),
        (0.0004, "±0.04 %"),
        (0.00004, "±0.004 %"),
        (1e-7, "±< 0.001 %"),
        (0.0, "±< 0.001 %"),
    ],
)
def test_half_of_an_interval_is_never_shown_as_nothing(share: float, words: str) -> None:
    assert half_width_words(share) == words


def test_the_nearer_end_of_a_lopsided_interval_is_not_shown_as_nothing() -> None:
    assert lopsided_words(1000.0, 999.8, 1300.0) == "−0.02 %/+30 %"
    assert lopsided_words(1000.0, 980.0, 1300.0) == "−2.0 %/+30 %"
