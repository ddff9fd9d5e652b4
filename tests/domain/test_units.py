"""How numbers enter: durations as people write them; and how rounded ones leave."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.domain.units import NS_PER_S, format_rounded, ns_from_text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("20ms", 0.02), ("5 m", 300), (".5s", 0.5), ("1.5h", 5400), ("2m30s", 150), ("1h30m", 5400), ("90m90s", 5490),
     ("1 d 2 h 5 ms", 93_600.005), (" 1 h 30 min ", 5400)],
)  # fmt: skip
def test_a_duration_is_the_sum_of_its_parts(text: str, seconds: float) -> None:
    assert ns_from_text(text) == round(seconds * NS_PER_S)


@given(st.integers(0, 2**63 - 1))
def test_nanoseconds_stay_exact(ns: int) -> None:
    seconds, rest = divmod(ns, NS_PER_S)
    assert ns_from_text(f"{ns}ns") == ns_from_text(f"{seconds}s{rest}ns") == ns_from_text(f"{seconds}.{rest:09}s") == ns


@pytest.mark.parametrize("text", ["", "5", "2m30", "m", "5 parsec", "5minutes", "-5s", "1h-30m", "2m,30s"])
def test_what_is_no_duration_is_told_what_one_looks_like(text: str) -> None:
    with pytest.raises(ValueError, match="expected a duration like 20ms, 5m or 1h30m, found "):
        ns_from_text(text)


@pytest.mark.parametrize("text", ["30s2m", "5m5m", "5m5min", "1h2d"])
def test_units_that_come_twice_or_after_a_smaller_one_are_a_slip(text: str) -> None:
    with pytest.raises(ValueError, match="each unit of a duration once, the larger first, as in 1h30m, found "):
        ns_from_text(text)


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.1234, "0.123"), (32.04, "32"), (499.2, "499"), (999.7, "1,000"), (1_097.4, "1,100"), (12_345.6, "12,300")],
)
def test_a_rounded_number_has_no_exponent(number: float, text: str) -> None:
    assert format_rounded(number) == text
