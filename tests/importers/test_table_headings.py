"""Headings, times and numbers of tables, one by one: what each means, and what means nothing for sure."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from storscope.domain.errors import MalformedInput
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._decimal_comma import Commas
from storscope.sources.importers._headings import (
    has_unsure_unit,
    is_amount,
    is_taken_as_bytes,
    meaning_of,
    write_cache_factor,
)
from storscope.sources.importers._stamps import Stamps
from storscope.sources.importers._table_heading import Heading, heading_of, zone_of
from storscope.sources.importers._table_times import TableTimes


def heading(text: str) -> Heading:
    found = heading_of(text.split(","))
    assert found is not None
    return found


def instant(cell: str, options: ImportOptions | None = None, zone: str | None = None) -> dt.datetime | None:
    times = TableTimes(options or ImportOptions(), zone)
    times.learn([cell])
    found = times.instant(cell, times.clock())
    return None if found is None else dt.datetime.fromtimestamp(found / 1e9, dt.UTC)


@pytest.mark.parametrize(
    ("heading", "factor"),
    [
        ("SP Cache Dirty Pages (%)", 0.01), ("Dirty Pages (%)", 0.01), ("Write Cache Used %", 0.01),
        ("write_cache_utilization_percent", 0.01), ("write cache full ratio", 1.0), ("Write Cache Usage (MB)", None),
        ("Write Pending Rate (%)", None), ("Write Cache Hit (%)", None), ("Read Cache Used %", None),
        ("Cache Used", None),
    ],
)  # fmt: skip
def test_how_full_a_write_cache_is_is_told_by_few_headings(heading: str, factor: float | None) -> None:
    """Hitachi's write pending is a share of all of the cache, which never comes to 1."""
    assert write_cache_factor(heading) == factor
    assert meaning_of(heading) is None


# Units -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heading", "column", "factor"),
    [
        ("Read I/O Rate (overall) (ops/s)", "read_ops_per_s", 1), ("I/O per second", "ops_per_s", 1),
        ("Write I/Os/sec", "write_ops_per_s", 1), ("read_io_per_sec", "read_ops_per_s", 1),
        ("kB/s", "bytes_per_s", 1e3), ("Write TB/s", "write_bytes_per_s", 1e12), ("read_kb_s", "read_bytes_per_s", 1e3),
        ("Mb/s", "bytes_per_s", 125e3), ("read kb/s", "read_bytes_per_s", 1e3),
        ("read_mb_per_s", "read_bytes_per_s", 1e6),
        ("Avg. Disk sec/Read", "read_latency_ns_mean", 1e9), ("QLEN", "queue_depth_mean", 1),
        ("tot_iops", "ops_per_s", 1),
        ("Data Disk Latency (Preview) (ms)", "latency_ns_mean", 1e6),
    ],
)  # fmt: skip
def test_a_heading_of_an_exporter_means(heading: str, column: str, factor: float) -> None:
    found = meaning_of(heading)
    assert found is not None
    assert (found.column, found.factor) == (column, factor)


@pytest.mark.parametrize("heading", ["IO/s per disk", "MB/s/disk", "IOPS per volume", "Queue Depth per LUN"])
def test_what_is_divided_by_something_else_is_none_of_the_whole(heading: str) -> None:
    assert meaning_of(heading) is None


def test_bytes_and_bits_are_told_by_capitals_and_small_letters_alone_are_doubted() -> None:
    for unsure in ("read_mbps", "kbps", "Traffic (bps)", "b/s", "Mib/s"):
        assert meaning_of(unsure) is None
        assert has_unsure_unit(unsure)
    assert is_taken_as_bytes("read kb/s")
    for sure in ("Read KB/s", "read_kb_per_s", "Read Mb/s", "READ MBPS", "Read MiB/s", "Read kbit/s"):
        assert meaning_of(sure) is not None
        assert not is_taken_as_bytes(sure)


def test_an_amount_is_no_rate() -> None:
    for amount in ("VolumeReadOps", "Read KBytes", "Reads"):
        assert meaning_of(amount) is None
        assert is_amount(amount)
    assert not is_amount("Temperature")


# Columns ---------------------------------------------------------------------------------------------------------


def test_of_columns_with_one_meaning_the_plain_one_is_taken_then_the_hosts() -> None:
    found = heading("time,volume,Disk Latency (ms),Latency (ms)")
    assert list(found.measured) == [3]
    assert found.passed_over == ((2, 3),)
    assert list(heading("time,volume,Current IOPS,Host IOPS,Avg IOPS").measured) == [4]


def test_what_the_disks_did_is_none_of_a_volume_beside_what_its_hosts_did() -> None:
    found = heading("time,volume,Disk Read IOPS,Host Read IOPS,Disk Latency (ms)")
    assert list(found.measured) == [3]
    assert found.disk_side == (2, 4)


@pytest.mark.parametrize("name", ["VV_NAME", "VV name", "VolumeId", "volume_id", "LUN Name", "vol name"])
def test_the_usual_names_of_volumes_are_known(name: str) -> None:
    assert heading(f"time,{name},iops").things == {"vdisk": 1}


def test_a_name_is_preferred_to_a_number() -> None:
    assert heading("time,volume id,volume name,iops").things == {"vdisk": 2}
    assert heading("time,appliance_id,svm,volume,iops").things == {"array": 1, "svm": 2, "vdisk": 3}


@pytest.mark.parametrize(
    ("names", "times"),
    [
        ("Zeit,Volume,IOPS", (0,)),
        ("Datum,Volume,IOPS", (0,)),
        ("Zeitstempel (UTC),Volume,IOPS", (0,)),
        ("Datum,Uhrzeit,Volume,IOPS", (0, 1)),
        ("Datum,Zeit,Volume,IOPS", (0, 1)),
    ],
)
def test_german_words_name_times_too(names: str, times: tuple[int, ...]) -> None:
    assert heading(names).times == times


@pytest.mark.parametrize("name", ["Antwortzeit", "Laufzeit", "Zeitraum", "Fecha"])
def test_other_words_name_no_times(name: str) -> None:
    assert heading_of([name, "Volume", "IOPS"]) is None


def test_a_heading_may_say_the_zone() -> None:
    said = {"Time (UTC)": "UTC", "timestamp (EST)": "EST", "time_utc": "UTC", "Time": None, "Time (GMT+1)": "GMT+1"}
    for name, zone in said.items():
        assert heading(f"{name},volume,iops").times == (0,)
        assert zone_of(name) == zone


# Times -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("20261120220000", "22:00"), ("20261120T220000Z", "22:00"), ("202611202200", "22:00"),
        ("20-Nov-26 22:00:00", "22:00"), ("Fri Nov 20 22:00:00 2026", "22:00"),
        ("Fri Nov 20 22:05:00 CET 2026", "21:05"), ("2026-11-20 22:00:00 CET", "21:00"),
        ("2026-11-20 22:00 UTC+1", "21:00"), ("2026-11-20 22:00:00 GMT+01:00", "21:00"),
        ("2026-11-20 22:00:00 +01", "21:00"), ("12345678901", None), ("99999999999999", None),
    ],
)  # fmt: skip
def test_a_time_of_an_exporter_is(cell: str, expected: str | None) -> None:
    found = instant(cell)
    assert found == (None if expected is None else dt.datetime.fromisoformat(f"2026-11-20T{expected}+00:00"))


def test_the_zone_of_a_heading_is_used_and_one_that_is_not_sure_is_said() -> None:
    nine = dt.datetime(2026, 11, 20, 9, tzinfo=dt.UTC)
    assert instant("2026-11-20 10:00", zone="CET") == nine
    assert instant("2026-11-20 10:00+01:00", zone="UTC") == nine
    times = TableTimes(ImportOptions())
    assert times.instant("2026-11-20 10:00:00 PST", times.clock()) is not None
    assert times.zone_doubt is not None
    assert "PST" in times.zone_doubt
    assert "no zone in the source" not in times.words


def test_a_zone_that_contradicts_the_option_is_refused() -> None:
    assert instant("2026-11-20 10:00 PST", ImportOptions(timezone=ZoneInfo("America/Los_Angeles"))) == dt.datetime(
        2026, 11, 20, 18, tzinfo=dt.UTC
    )
    with pytest.raises(MalformedInput, match="PST"):
        instant("2026-11-20 10:00 PST", ImportOptions(timezone=ZoneInfo("Europe/Berlin")))


def test_dates_with_dashes_may_have_the_month_first_in_tables() -> None:
    cell = "04-03-2026 22:00"
    march, april = (dt.datetime(2026, month, day, 22, tzinfo=dt.UTC) for month, day in ((3, 4), (4, 3)))
    assert instant("04-13-2026 22:00") == dt.datetime(2026, 4, 13, 22, tzinfo=dt.UTC)
    assert instant(cell) == march
    assert instant(cell, ImportOptions(day_first=False)) == april
    times = TableTimes(ImportOptions())
    times.learn([cell])
    assert times.doubt is not None
    of_linux = Stamps(ImportOptions(day_first=False))
    of_linux.learn("04-03-2026 22:00:00")
    assert of_linux.moment("04-03-2026 22:00:00", None) == march.replace(tzinfo=None)


# Numbers ---------------------------------------------------------------------------------------------------------


def test_a_point_before_three_digits_is_doubted_between_semicolons_unless_a_number_tells() -> None:
    def commas(*cells: str) -> Commas:
        found = Commas()
        for cell in cells:
            found.learn(cell)
        return found

    assert commas("1.234", "2.500", "850").points_in_doubt(";")
    assert "1.234" in (commas("1.234").doubt(";") or "")
    for told in (("1.234", "12.5"), ("1.234", "12,5"), ("1.234", "15000"), ("1.234", "0.250")):
        assert not commas(*told).points_in_doubt(";")
    assert not commas("1.234").points_in_doubt(",")
