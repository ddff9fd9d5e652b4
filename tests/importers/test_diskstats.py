from __future__ import annotations

import datetime as dt
import zoneinfo
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._zone_names import FIRST_YEAR, OFFSETS_HOURS
from storscope.sources.importers.diskstats import IMPORTER
from storscope.sources.importers.iostat_text import IMPORTER as IOSTAT_TEXT
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "diskstats"
CAPTURED = SAMPLES / "linux_6.18.txt"
OLD = SAMPLES / "linux_4.14_wrap_and_reset.txt"
TAIL = "0 0 0 0 0 0 0 0 0 0"


def observations(tables: Tables, entity: str) -> list[dict[str, Any]]:
    return [row for row in tables.rows("observations") if row["entity"] == entity]


def snapshot(time: str, reads: int = 0, line: str = "") -> str:
    return f"{time}\n   8       0 {line or f'sda {reads} {TAIL}'}\n"


@pytest.mark.parametrize("sample", [CAPTURED, OLD], ids=lambda path: path.stem)
def test_every_sample_yields_the_expected_tables(sample: Path) -> None:
    check_golden(read_tables(IMPORTER, sample), sample.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize("sample", [CAPTURED, OLD], ids=lambda path: path.stem)
def test_every_sample_is_recognised(sample: Path) -> None:
    assert IMPORTER.recognise(Evidence(sample).head) >= 0.9
    assert IOSTAT_TEXT.recognise(Evidence(sample).head) == 0


@pytest.mark.parametrize("text", [b"", b"\0\0\0", b"1 2 3 4 5\n", b"0, 143043, 0, 4096\n", b"some text\n8 0 sda\n"])
def test_other_text_is_not_recognised(text: bytes) -> None:
    assert IMPORTER.recognise(Head("x", text, "utf-8")) < 0.5


def test_iostat_says_the_same_of_the_same_seconds() -> None:
    """The two were captured side by side; they started up to 50 ms apart."""
    ours = observations(read_tables(IMPORTER, CAPTURED), "vda")
    theirs = observations(read_tables(IOSTAT_TEXT, SAMPLES / "linux_6.18.iostat"), "vda")
    for mine, other in zip(ours, theirs[:3], strict=True):
        for name in ("read_ops_per_s", "write_ops_per_s", "write_bytes_per_s", "read_latency_ns_mean"):
            assert mine[name] == (None if other[name] is None else pytest.approx(other[name], rel=0.05)), name


def test_rates_and_latencies_are_differences() -> None:
    sda, idle = observations(read_tables(IMPORTER, OLD), "sda")
    assert sda["duration_ns"] == 10_000_000_000
    assert sda["time"] == dt.datetime(2020, 11, 1, 0, 0, 0, 250_000, tzinfo=dt.UTC)
    assert sda["read_ops_per_s"] == 10.0
    assert sda["read_bytes_per_s"] == 8000 * 512 / 10
    assert sda["read_latency_ns_mean"] == 18_000_000
    assert idle["read_ops_per_s"] == 0.0
    assert idle["read_latency_ns_mean"] is None


def test_times_that_wrap_at_32_bits_are_unwrapped() -> None:
    sda = observations(read_tables(IMPORTER, OLD), "sda")[0]
    assert sda["write_latency_ns_mean"] == 1000 / 50 * 1_000_000
    assert sda["queue_depth_mean"] == pytest.approx((2**32 - 4294966000 + 4004) / 10_000)


def test_an_interval_with_a_reset_is_left_out_and_the_next_is_not() -> None:
    tables = read_tables(IMPORTER, OLD)
    (after,) = observations(tables, "sdb")
    assert after["read_ops_per_s"] == 1.0
    assert after["read_latency_ns_mean"] == 4_000_000
    assert tables.notes.omitted["intervals with a counter reset"] == 1


def test_a_reset_to_zero_is_a_reset_and_what_follows_is_idle(tmp_path: Path) -> None:
    text = "".join(snapshot(f"{1795222000 + 30 * n}", reads) for n, reads in enumerate((60, 120, 0, 0, 60)))
    tables = read_text(IMPORTER, text, tmp_path)
    assert [row["read_ops_per_s"] for row in observations(tables, "sda")] == [2.0, 0.0, 2.0]
    assert tables.notes.omitted == {"intervals with a counter reset": 1}


def test_a_busy_share_above_one_is_cut_and_counted() -> None:
    tables = read_tables(IMPORTER, OLD)
    assert observations(tables, "nvme0n1")[0]["busy_ratio"] == 1.0
    assert any("cut to 1" in reason for reason in tables.notes.omitted)


def test_partitions_live_on_their_disk() -> None:
    links = read_tables(IMPORTER, OLD).links()
    assert ("partition", "sda1", "lives_on", "device", "sda") in links
    assert ("partition", "nvme0n1p1", "lives_on", "device", "nvme0n1") in links
    assert not any(source == "nvme0n1" and relation == "lives_on" for _, source, relation, _, _ in links)


def test_devices_that_never_did_an_operation_are_left_out() -> None:
    tables = read_tables(IMPORTER, CAPTURED)
    assert {row["entity"] for row in tables.rows("observations")} == {"vda", "loop0"}
    assert tables.notes.omitted["intervals of devices that never did an operation"] == 8 * 3


def test_a_device_that_wakes_up_was_idle_before(tmp_path: Path) -> None:
    text = "".join(snapshot(f"{1795222000 + 30 * n}", reads) for n, reads in enumerate((0, 0, 0, 60)))
    tables = read_text(IMPORTER, text, tmp_path)
    assert [row["read_ops_per_s"] for row in observations(tables, "sda")] == [0.0, 0.0, 2.0]
    assert not tables.notes.omitted


@pytest.mark.parametrize(
    ("first", "second", "seconds", "start"),
    [
        ("2026-11-21T10:00:00Z", "2026-11-21T10:00:10Z", 10, "2026-11-21T10:00:00+00:00"),
        ("2026-11-21 10:00:00+01:00", "2026-11-21 10:00:10+01:00", 10, "2026-11-21T09:00:00+00:00"),
        ("2026-11-21T10:00:00,250000000+00:00", "2026-11-21T10:00:01,500000000+00:00", 1.25,
         "2026-11-21T10:00:00.250000+00:00"),
        ("1795222083", "1795222093", 10, "2026-11-21T00:48:03+00:00"),
        ("1795222083.500000000", "1795222084.000000000", 0.5, "2026-11-21T00:48:03.500000+00:00"),
        ("1795222083500000000", "1795222084000000000", 0.5, "2026-11-21T00:48:03.500000+00:00"),
        ("Sat Nov 21 01:10:15 UTC 2026", "Sat Nov 21 01:10:25 UTC 2026", 10, "2026-11-21T01:10:15+00:00"),
        ("Sat Nov 21 01:10:15 AM CET 2026", "Sat Nov 21 01:10:25 AM CET 2026", 10, "2026-11-21T00:10:15+00:00"),
        ("2026-11-21 10:00:00", "2026-11-21 10:00:10", 10, "2026-11-21T09:00:00+00:00"),
        ("Sat 21 Nov 01:10:15 UTC 2026", "Sat 21 Nov 01:10:25 UTC 2026", 10, "2026-11-21T01:10:15+00:00"),
        ("Sat 21 Nov 2026 01:10:15 PM UTC", "Sat 21 Nov 2026 01:10:25 PM UTC", 10, "2026-11-21T13:10:15+00:00"),
        ("Sat Nov 21 01:10:15 +03 2026", "Sat Nov 21 01:10:25 +03 2026", 10, "2026-11-20T22:10:15+00:00"),
    ],
)  # fmt: skip
def test_time_lines_in_many_forms(first: str, second: str, seconds: float, start: str, tmp_path: Path) -> None:
    options = ImportOptions(timezone=zoneinfo.ZoneInfo("Europe/Berlin"))
    (row,) = observations(read_text(IMPORTER, snapshot(first, 10) + snapshot(second, 30), tmp_path, options), "sda")
    assert row["time"].isoformat() == start
    assert row["read_ops_per_s"] == pytest.approx(20 / seconds)


@pytest.mark.parametrize("form", ["2026-10-25 02:{}", "Sun Oct 25 02:{} CE{}T 2026", "Sun 25 Oct 2026 02:{} AM CE{}T"])
def test_the_hour_repeated_in_autumn_keeps_its_rates(form: str, tmp_path: Path) -> None:
    stamps = [form.format(clock, "S" * summer) for summer in (True, False) for clock in ("00:00", "59:50")]
    text = "".join(snapshot(stamp, reads) for stamp, reads in zip(stamps, (0, 3590, 3600, 7190), strict=True))
    tables = read_text(IMPORTER, text, tmp_path, ImportOptions(timezone=zoneinfo.ZoneInfo("Europe/Berlin")))
    rows = observations(tables, "sda")
    assert [row["duration_ns"] for row in rows] == [3_590_000_000_000, 10_000_000_000, 3_590_000_000_000]
    assert [row["read_ops_per_s"] for row in rows] == [1.0, 1.0, 1.0]
    assert [row["time"].strftime("%H:%M") for row in rows] == ["00:00", "00:59", "01:00"]


def test_an_abbreviation_that_several_zones_have_is_doubted_unless_the_option_has_it(tmp_path: Path) -> None:
    text = "".join(snapshot(f"Fri Nov 20 10:00:{second} CST 2026", 10) for second in (10, 40))
    for zone, doubt in ((None, "taken as UTC"), ("Europe/Berlin", "not Europe/Berlin"), ("America/Chicago", None)):
        options = ImportOptions(timezone=zoneinfo.ZoneInfo(zone) if zone else None)
        (warning,) = read_text(IMPORTER, text, tmp_path, options).notes.warnings or ("",)
        assert (f"say CST, {doubt}" if doubt and "taken" in doubt else doubt or "") in warning
        assert bool(warning) == bool(doubt)


def test_whole_seconds_are_doubted_when_the_interval_is_short(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, snapshot("1795222083", 10) + snapshot("1795222084", 30), tmp_path)
    assert any("wrong by 100%" in warning for warning in tables.notes.warnings)


def test_without_time_lines_the_interval_must_be_given(tmp_path: Path) -> None:
    text = "".join(f"8 0 sda {reads} {TAIL}\n" for reads in (10, 30, 70))
    with pytest.raises(MalformedInput, match="--interval"):
        read_text(IMPORTER, text, tmp_path)
    rows = observations(read_text(IMPORTER, text, tmp_path, ImportOptions(interval_s=2)), "sda")
    assert [row["read_ops_per_s"] for row in rows] == [10.0, 20.0]


def test_a_clock_that_stands_still_or_goes_back_gives_no_rate(tmp_path: Path) -> None:
    times = ("1795222083", "1795222083", "1795222080", "1795222180")
    text = "".join(snapshot(time, 10 * number) for number, time in enumerate(times, 1))
    tables = read_text(IMPORTER, text, tmp_path)
    assert [row["read_ops_per_s"] for row in observations(tables, "sda")] == [0.1]
    assert tables.notes.omitted["snapshots whose clock did not advance"] == 2


def test_a_time_that_falls_without_a_wrap_is_absent(tmp_path: Path) -> None:
    text = snapshot("1795222000", line="sda 10 0 80 500 0 0 0 0 0 1 1") + snapshot(
        "1795222100", line="sda 20 0 160 400 0 0 0 0 0 2 2"
    )
    (row,) = observations(read_text(IMPORTER, text, tmp_path), "sda")
    assert row["read_ops_per_s"] == 0.1
    assert row["read_latency_ns_mean"] is None


def test_old_partitions_have_four_fields(tmp_path: Path) -> None:
    text = snapshot("1795222000", line="sda1 10 80 5 40") + snapshot("1795222100", line="sda1 20 160 5 40")
    (row,) = observations(read_text(IMPORTER, text, tmp_path), "sda1")
    assert (row["read_ops_per_s"], row["write_ops_per_s"]) == (0.1, 0.0)
    assert row["busy_ratio"] is None and row["queue_depth_mean"] is None


def test_one_snapshot_is_no_data_and_says_so(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, snapshot("1795222000", 10), tmp_path)
    assert tables.rows("observations") == []
    assert any("two" in warning for warning in tables.notes.warnings)


@pytest.mark.parametrize("cut", [1, 2, 5, 40, 120])
def test_a_cut_file_gives_no_number_that_is_not_in_the_whole(cut: int, tmp_path: Path) -> None:
    whole = [(row["time"], row["entity"], row["write_ops_per_s"], row["queue_depth_mean"])
             for row in read_tables(IMPORTER, OLD).rows("observations")]  # fmt: skip
    rows = read_text(IMPORTER, OLD.read_bytes()[:-cut], tmp_path).rows("observations")
    assert rows
    for row in rows:
        assert (row["time"], row["entity"], row["write_ops_per_s"], row["queue_depth_mean"]) in whole


def test_line_ends_bom_utf16_and_noise_change_nothing(tmp_path: Path) -> None:
    text = OLD.read_text()
    expected = read_tables(IMPORTER, OLD).rows("observations")
    noisy = text.replace("\n", "\n<script>alert(1)</script> \xff\n")
    for variant in (text.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16"),
                    noisy.encode("latin-1")):  # fmt: skip
        assert read_text(IMPORTER, variant, tmp_path).rows("observations") == expected


@pytest.mark.parametrize("text", ["", "nothing\n", "\x00\x01"])
def test_what_has_no_snapshot_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="diskstats"):
        read_text(IMPORTER, text, tmp_path)


COUNTS = st.integers(0, 10**12)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**9)), min_size=1, max_size=6), start=COUNTS)
def test_what_the_counters_gained_is_what_the_rates_add_up_to(
    steps: list[tuple[int, int]], start: int, tmp_path: Path
) -> None:
    """Operations and bytes are conserved; times too, through any number of wraps below one per interval."""
    reads = sectors = start
    milliseconds = start % 2**32
    text = snapshot("1795222000", line=f"sda {reads} 0 {sectors} {milliseconds} 0 0 0 0 0 1 1")
    for number, (operations, ms) in enumerate(steps, 1):
        reads, sectors, milliseconds = reads + operations, sectors + 8 * operations, (milliseconds + ms) % 2**32
        text += snapshot(f"{1795222000 + 30 * number}", line=f"sda {reads} 0 {sectors} {milliseconds} 0 0 0 0 0 1 1")
    rows = observations(read_text(IMPORTER, text, tmp_path), "sda")
    assert [row["read_ops_per_s"] * 30 for row in rows] == pytest.approx([operations for operations, _ in steps])
    assert [row["read_bytes_per_s"] * 30 for row in rows] == pytest.approx([ops * 4096 for ops, _ in steps])
    for row, (operations, ms) in zip(rows, steps, strict=True):
        if operations and row["read_latency_ns_mean"] is not None:
            assert row["read_latency_ns_mean"] * operations == pytest.approx(ms * 1_000_000)
        elif not operations:
            assert row["read_latency_ns_mean"] is None


@pytest.mark.parametrize("time", ["99999999910", "9926-11-20T22:00:00Z", "0001-11-20T22:00:00Z"])
def test_a_time_of_no_capture_is_no_time(time: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="a line with the time"):
        read_text(IMPORTER, snapshot(time, 60), tmp_path)


def test_discards_and_flushes_are_no_reads_or_writes_in_flight(tmp_path: Path) -> None:
    """10 s with 5 reads of 1 ms and 10 writes of 1 ms beside 5,000 discards of 20 ms and 10 flushes of 5 ms."""
    text = (
        "2026-11-20T10:00:00.000Z\n   8 0 sda 100 0 800 100 100 0 800 100 0 900 900 50 0 409600 700 5 9\n"
        "2026-11-20T10:00:10.000Z\n   8 0 sda 105 0 840 105 110 0 880 110 0 9900 100965 5050 0 41369600 100700 15 59\n"
    )
    tables = read_text(IMPORTER, text, tmp_path)
    (row,) = tables.rows("observations")
    assert (row["read_ops_per_s"], row["write_ops_per_s"]) == (0.5, 1.0)
    assert row["queue_depth_mean"] == pytest.approx(0.0015)
    series = {one["name"]: one["values"] for one in tables.rows("series")}
    assert series["aqu-sz"] == [pytest.approx(10.0065)]


@pytest.mark.parametrize(
    ("stamp", "hour"), [("EST 2026", 15), ("CET 2026", 9), ("AEDT 2026", 23), ("EST 2012", 10), ("XYZ 2026", 10)]
)
def test_an_abbreviation_that_means_one_offset_places_its_times(stamp: str, hour: int, tmp_path: Path) -> None:
    text = "".join(snapshot(f"Fri Nov 20 10:00:{second} {stamp}", reads) for second, reads in (("10", 10), ("40", 40)))
    tables = read_text(IMPORTER, text, tmp_path)
    (row,) = observations(tables, "sda")
    assert row["time"].hour == hour
    assert bool(tables.notes.warnings) == (hour == 10)
    assert ("zone in the file" in (tables.notes.clock or "")) == (hour != 10)


def test_every_zone_of_the_database_puts_these_abbreviations_at_the_same_offset() -> None:
    found: dict[str, set[float]] = {}
    for zone in map(zoneinfo.ZoneInfo, zoneinfo.available_timezones()):
        for moment in (
            dt.datetime(year, month, 1, tzinfo=zone) for year in range(FIRST_YEAR, 2026) for month in (1, 7)
        ):
            offset = moment.utcoffset() or dt.timedelta()
            found.setdefault(moment.tzname() or "", set()).add(offset / dt.timedelta(hours=1))
    assert {name: {float(hours)} for name, hours in OFFSETS_HOURS.items()} == {
        name: found[name] for name in OFFSETS_HOURS
    }
