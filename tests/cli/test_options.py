"""What people type after an option becomes a value with one unit, or an error that says what it takes."""

from __future__ import annotations

import datetime as dt
import zoneinfo

import click
import pytest

from storscope.cli.options import DurationType, TimeType, make_import_options


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1us", 1e-6), ("2.5µs", 2.5e-6), ("1ns", 1e-9), ("20ms", 0.02), ("5m", 300.0), ("5min", 300.0), ("1.5", 1.5),
     ("2m30s", 150.0), ("1h30m", 5400.0), ("1 h 30 min", 5400.0)],
)  # fmt: skip
def test_a_duration_takes_every_unit_down_to_nanoseconds(text: str, seconds: float) -> None:
    assert DurationType().convert(text, None, None) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize("text", ["0s", "0.1ns", "1parsec", "-1s", "nan", "40000d", "", "30s2m", "5m5m", "2m30"])
def test_a_refused_duration_is_told_the_units_and_the_least(text: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        DurationType().convert(text, None, None)
    assert "units: ns, us, ms, s, m or min, h, d; a plain number is seconds" in caught.value.message
    assert "at least 1ns" in caught.value.message
    assert f"found {text!r}" in caught.value.message


@pytest.mark.parametrize("text", ["0001-01-01", "9999-01-01T00:00", "yesterday"])
def test_a_time_outside_the_years_of_captures_is_refused(text: str) -> None:
    assert TimeType().convert("1970-01-01T00:00:01", None, None) == dt.datetime(1970, 1, 1, 0, 0, 1)
    with pytest.raises(click.BadParameter, match="expected a time like"):
        TimeType().convert(text, None, None)


@pytest.mark.parametrize(
    ("start", "zone", "hour"),
    [
        ("2026-11-20T22:00", "Europe/Berlin", 21),
        ("2026-11-20T22:00", None, 22),
        ("2026-11-20T22:00Z", "Asia/Tokyo", 22),
    ],
)
def test_a_start_without_a_zone_is_in_the_zone_of_the_other_times(start: str, zone: str | None, hour: int) -> None:
    values = dict.fromkeys(("timezone", "interval", "system", "year", "day_first", "keep_first"))
    given = {"start": TimeType().convert(start, None, None), "timezone": zone and zoneinfo.ZoneInfo(zone)}
    options = make_import_options(values | given)
    assert options.start == dt.datetime(2026, 11, 20, hour, tzinfo=dt.UTC)
