from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.domain import units


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0 %"),
        (7.8e-16, "< 0.001 %"),
        (0.004, "0.4 %"),
        (0.5, "50 %"),
        (0.9999999, "> 99.9 %"),
        (1.0, "100 %"),
        (12.0, "1,200 %"),
    ],
)
def test_ratios_never_round_to_all_or_nothing(value: float, shown: str) -> None:
    assert units.format_ratio(value) == shown


@pytest.mark.parametrize(
    ("ns", "shown"), [(830, "830 ns"), (45_200, "45.2 µs"), (18_500_000, "18.5 ms"), (2.1e9, "2.10 s"), (None, "–")]
)
def test_latencies_have_three_digits_and_a_unit(ns: float | None, shown: str) -> None:
    assert units.format_duration(ns) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0 s"), (0.25, "250 ms"), (5.25, "5.25 s"), (45, "45 s"), (119.7, "2 min"), (125, "2 min 05 s"),
     (600, "10 min"), (3605, "1 h 00 min 05 s"), (7200, "2 h 00 min")],
)  # fmt: skip
def test_instants_of_a_run_are_exact_to_the_second(seconds: float, shown: str) -> None:
    assert units.format_instant(round(seconds * units.NS_PER_S)) == shown


def test_an_instant_that_is_not_known_is_a_dash_and_no_zero() -> None:
    assert (units.format_instant(None), units.format_instant(0)) == ("–", "0 s")


@pytest.mark.parametrize(("text", "size"), [("4096", 4096), ("64k", 65536), ("1MiB", 2**20), (" 1.5 g ", 3 * 2**29)])
def test_sizes_are_read_as_storage_tools_take_them(text: str, size: int) -> None:
    assert units.bytes_from_text(text) == size


def test_what_is_no_size_is_refused() -> None:
    for text in ("", "k", "4 kk", "-1", "1e3"):
        with pytest.raises(ValueError, match="expected a size"):
            units.bytes_from_text(text)


@given(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1), timezones=st.just(dt.UTC)))
def test_instants_survive_the_way_in_and_out(moment: dt.datetime) -> None:
    assert units.datetime_from_ns(units.ns_from_datetime(moment)) == moment


def test_a_naive_time_has_no_place() -> None:
    with pytest.raises(ValueError, match="zone"):
        units.ns_from_datetime(dt.datetime(2026, 1, 1))
