"""Moments: instants of real clocks, and times since the start of a simulated run, as people write both."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.domain.moment import SinceStart, moment_from_text
from storscope.domain.units import NS_PER_S, format_time


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0:12:30", 750), ("00:12:30.25", 750.25), ("26:00:00", 93_600), ("12m30s", 750), ("12 min 30 s", 750),
        ("start + 12 min 30 s", 750), ("start + 1 h 00 min 05 s", 3605), ("start + 5.25 s", 5.25), ("750s", 750),
        ("1.5h", 5400), ("2d 4h", 187_200), ("20ms", 0.02), ("750", 750), ("0", 0),
    ],
)  # fmt: skip
def test_the_time_since_the_start_in_every_form_that_is_told(text: str, seconds: float) -> None:
    assert moment_from_text(text) == SinceStart(round(seconds * NS_PER_S), text)


@given(st.integers(0, 200_000))
def test_what_pages_tell_is_taken(seconds: int) -> None:
    assert moment_from_text(format_time(seconds * NS_PER_S, 0)) == SinceStart(seconds * NS_PER_S, "")


def test_an_instant_is_in_utc_without_a_zone() -> None:
    assert (
        moment_from_text("2026-11-20T22:00") == moment_from_text("2026-11-20T23:00+01:00") == 1_795_212_000 * NS_PER_S
    )


@pytest.mark.parametrize(
    "text", ["", "12:30", "1m3", "yesterday", "-5s", "0:60:00", "0:00:60", "5 parsec", "start", "start + ", "5s later"]
)
def test_anything_else_is_told_both_forms(text: str) -> None:
    with pytest.raises(ValueError, match=r"like 2026-11-20T22:00 .* like 0:12:30, 12m30s or 750s, found "):
        moment_from_text(text)
