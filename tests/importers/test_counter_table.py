"""Tables of counters over time: by tables whose every number is known."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import ImportOptions
from storscope.sources.importers import recognise
from storscope.sources.importers._headings import lacks_unit, meaning_of
from storscope.sources.importers._table_times import TableTimes
from storscope.sources.importers.counter_table import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "counter_table"
FILES = sorted(SAMPLES.glob("*.csv"))
VOLUMES = SAMPLES / "volumes_written.csv"
SHEET = SAMPLES / "sheet_newest_first_written.csv"
KINDS = SAMPLES / "kinds_written.csv"


def of(tables: Tables, entity: str) -> list[dict[str, Any]]:
    return sorted((row for row in tables.rows("observations") if row["entity"] == entity), key=lambda row: row["time"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_sample_yields_the_expected_tables(path: Path) -> None:
    check_golden(read_tables(IMPORTER, path), path.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize(
    ("heading", "column", "factor"),
    [
        ("Read IOPS", "read_ops_per_s", 1), ("Total IOPS (IO/s)", "ops_per_s", 1),
        ("op/s (write)", "write_ops_per_s", 1),
        ("Reads/sec", "read_ops_per_s", 1), ("writeIOPS", "write_ops_per_s", 1), ("tps", "ops_per_s", 1),
        ("Read MB/s", "read_bytes_per_s", 1e6), ("Throughput (MiB/s)", "bytes_per_s", 1_048_576),
        ("avgWriteKBps", "write_bytes_per_s", 1e3), ("Mbps", "bytes_per_s", 125_000),
        ("Read Throughput (Mbit/s)", "read_bytes_per_s", 125_000), ("Write Gb/s", "write_bytes_per_s", 125e6),
        ("us/op (read)", "read_latency_ns_mean", 1e3), ("Average Response Time (ms)", "latency_ns_mean", 1e6),
        ("write_latency_us", "write_latency_ns_mean", 1e3), ("await (s)", "latency_ns_mean", 1e9),
        ("Max Latency (ms)", "latency_ns_max", 1e6), ("Avg Queue Length", "queue_depth_mean", 1),
        ("Peak queue depth", "queue_depth_max", 1), ("CPU %", "cpu_busy_ratio", 0.01),
        ("Utilization (%)", "busy_ratio", 0.01), ("Read Cache Hit %", "read_hit_ratio", 0.01),
        ("forwarded_per_s", "forwarded_per_s", 1),
    ],
)  # fmt: skip
def test_a_heading_means(heading: str, column: str, factor: float) -> None:
    found = meaning_of(heading)
    assert found is not None
    assert (found.column, found.factor) == (column, factor)


@pytest.mark.parametrize(
    "heading",
    ["Read Miss IOPS", "95th Latency (ms)", "Mirror MB/s", "Service Time (ms)", "B/op (read)", "IO Size (KB)", "Reads",
     "Max Read Latency (ms)", "Write Pending (%)", "Free (GB)", "Time", "Read hits", "CPU load", "Read Write IOPS",
     "Latency", "Bandwidth"],
)  # fmt: skip
def test_a_heading_with_any_other_word_or_no_unit_means_nothing(heading: str) -> None:
    assert meaning_of(heading) is None


def test_what_lacks_a_unit_is_told_and_kept(tmp_path: Path) -> None:
    assert lacks_unit("Avg Latency")
    assert not lacks_unit("Temperature")
    tables = read_tables(IMPORTER, KINDS)
    assert any("Avg Latency" in warning and "unit" in warning for warning in tables.notes.warnings)
    assert "Avg Latency" in {row["name"] for row in tables.rows("series")}


def test_rows_of_totals_are_left_out_and_reads_that_were_none_have_no_latency() -> None:
    tables = read_tables(IMPORTER, VOLUMES)
    assert {row["entity"] for row in tables.rows("observations")} == {"db", "dw"}
    assert tables.notes.omitted["rows of totals, which count everything twice"] == 3
    dw = of(tables, "dw")
    assert [row["write_latency_ns_mean"] for row in dw] == [None] * 3
    assert [row["read_latency_ns_mean"] for row in dw] == [1.1e6, 9e5, None]


def test_an_interval_ends_at_its_time_and_a_gap_of_minutes_is_none(tmp_path: Path) -> None:
    rows = [(30, 1), (60, 2), (90, 3), (400, 4), (430, 5)]
    text = "time,volume,iops\n" + "".join(f"{1_795_168_800 + at},v,{iops}\n" for at, iops in rows)
    found = of(read_text(IMPORTER, text, tmp_path), "v")
    assert [row["duration_ns"] for row in found] == [30_000_000_000] * 5
    begin = dt.datetime.fromtimestamp(1_795_168_800, dt.UTC)
    assert [(row["time"] - begin).total_seconds() for row in found] == [0, 30, 60, 370, 400]


def test_no_interval_is_between_two_steps_nor_lies_over_another_one(tmp_path: Path) -> None:
    text = "time,volume,iops\n" + "".join(f"{1_795_168_800 + at},v,1\n" for at in (0, 30, 150))
    found = of(read_text(IMPORTER, text, tmp_path), "v")
    assert [row["duration_ns"] for row in found] == [30 * 10**9] * 3


def test_disks_of_a_vm_are_things_of_their_own(tmp_path: Path) -> None:
    rows = [f"{1_795_168_800 + at},{vm},disk1,{at + 1}\n" for at in (0, 10) for vm in ("a", "b")]
    found = read_text(IMPORTER, "time,vm,virtual disk,iops\n" + "".join(rows), tmp_path)
    assert {(row["kind"], row["entity"]) for row in found.rows("observations")} == {
        ("vm_disk", "a/disk1"), ("vm_disk", "b/disk1"),
    }  # fmt: skip
    assert ("vm_disk", "a/disk1", "member_of", "vm", "a") in found.links()


def test_a_heading_may_say_that_times_are_starts_and_a_column_how_long_an_interval_is() -> None:
    found = of(read_tables(IMPORTER, KINDS), "vol7")
    assert [row["time"].timestamp() for row in found] == [1_795_168_800, 1_795_168_860]
    assert {row["duration_ns"] for row in found} == {60_000_000_000}
    assert [row["bytes_per_s"] for row in found] == [406.25 * 2**20, 484.375 * 2**20]
    assert [row["latency_ns_max"] for row in found] == [9.2e6, 12e6]


def test_the_newest_row_may_be_first_and_commas_be_decimal() -> None:
    tables = read_tables(IMPORTER, SHEET)
    lun = of(tables, "lun1")
    assert [row["read_ops_per_s"] for row in lun] == [None, 600.5, 1200.5]
    assert [row["latency_ns_mean"] for row in lun] == [2.25e6, 6.25e6, 12.5e6]
    assert [row["busy_ratio"] for row in lun] == pytest.approx([0.11, 0.71, 0.935])
    assert ("vdisk", "lun1", "lives_on", "disk_group", "pool0") in tables.links()
    assert ("vdisk", "lun2", "owned_by", "controller", "SPB") in tables.links()


def test_a_column_of_kinds_says_what_a_name_is_of() -> None:
    tables = read_tables(IMPORTER, KINDS)
    assert {(row["system"], row["kind"], row["entity"]) for row in tables.rows("observations")} == {
        ("flash1", "controller", "ctrl-0"), ("flash1", "vdisk", "vol7"),
    }  # fmt: skip
    assert [row["cpu_busy_ratio"] for row in of(tables, "ctrl-0")] == [0.645, 0.81]


def test_how_full_a_write_cache_is_is_a_share_by_the_name_that_a_rule_reads(tmp_path: Path) -> None:
    text = (
        "time,controller,Write IOPS,SP Cache Dirty Pages (%)\n2026-11-01 10:00:00,SP A,900,60\n"
        "2026-11-01 10:05:00,SP A,900,100\n2026-11-01 10:10:00,SP A,900,98.5\n"
    )
    tables = read_text(IMPORTER, text, tmp_path)
    (series,) = tables.rows("series")
    assert (series["kind"], series["entity"], series["name"]) == ("controller", "SP A", "write_cache_used_ratio")
    assert (series["unit"], series["values"]) == ("ratio", [0.6, 1.0, 0.985])
    assert not any("no rule reads" in said for said in tables.notes.warnings)


def test_a_table_that_names_no_array_says_how_to_tell_it_from_others(tmp_path: Path) -> None:
    said = "--system"
    assert any(said in warning for warning in read_tables(IMPORTER, VOLUMES).notes.warnings)
    assert not any(said in warning for warning in read_tables(IMPORTER, KINDS).notes.warnings)
    named = read_tables(IMPORTER, VOLUMES, ImportOptions(system="flash7"))
    assert not any(said in warning for warning in named.notes.warnings)
    assert {row["system"] for row in named.rows("observations")} == {"flash7"}


def test_devices_of_hosts_belong_to_their_host(tmp_path: Path) -> None:
    rows = [f"{1_795_168_800 + at},{host},sda,{at + 1}\n" for at in (0, 10) for host in ("db1", "db2")]
    text = "time,host,device,iops\n" + "".join(rows)
    tables = read_text(IMPORTER, text, tmp_path)
    assert {(row["system"], row["entity"]) for row in tables.rows("observations")} == {("db1", "sda"), ("db2", "sda")}
    assert ("device", "sda", "member_of", "host", "db1") in tables.links()


def test_a_volume_that_several_hosts_see_is_one_thing_for_each(tmp_path: Path) -> None:
    rows = [f"{1_795_168_800 + at},{host},lun1,{at + 1}\n" for at in (0, 10) for host in ("a", "b")]
    found = read_text(IMPORTER, "time,host,volume,iops\n" + "".join(rows), tmp_path)
    assert {row["entity"] for row in found.rows("observations")} == {"a/lun1", "b/lun1"}
    assert len({row["system"] for row in found.rows("observations")}) == 1
    alone = [row for row in rows if ",a," in row]
    found = read_text(IMPORTER, "time,host,volume,iops\n" + "".join(alone), tmp_path)
    assert {row["entity"] for row in found.rows("observations")} == {"lun1"}


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("2026-11-20T10:05:00.123Z", "2026-11-20T10:05:00.123+00:00"), ("2026-11-20 10:05", "2026-11-20T10:05+00:00"),
        ("2026-11-20 10:05:01+01:00", "2026-11-20T09:05:01+00:00"), ("1795168800", "2026-11-20T10:00+00:00"),
        ("1795168800500", "2026-11-20T10:00:00.5+00:00"), ("11/20/2026 10:05 PM", "2026-11-20T22:05+00:00"),
        ("20.11.2026 10:05", "2026-11-20T10:05+00:00"), ("20/11/2026, 10:05:00", "2026-11-20T10:05+00:00"),
        ("Nov 20, 2026 10:05:00 PM", "2026-11-20T22:05+00:00"), ("20-Nov-2026 10:05", "2026-11-20T10:05+00:00"),
        ("Friday, November 20, 2026 10:05 AM", "2026-11-20T10:05+00:00"),
        ("2026-11-20 10:05:00 UTC", "2026-11-20T10:05+00:00"), ("2026-13-45 10:05", None), ("10:05", None), ("", None),
    ],
)  # fmt: skip
def test_a_time_is(cell: str, expected: str | None) -> None:
    times = TableTimes(ImportOptions())
    times.learn([cell])
    found = times.instant(cell, times.clock())
    wanted = None if expected is None else dt.datetime.fromisoformat(expected).timestamp()
    assert found == (None if wanted is None else round(wanted * 1e6) * 1000)


def test_the_hour_that_autumn_repeats_is_told_for_each_volume(tmp_path: Path) -> None:
    stamps = ["02:30", "02:45", "02:00", "02:15", "02:30"]
    rows = [f"2026-10-25 {at}:00,{volume},{n}" for volume in "ab" for n, at in enumerate(stamps)]
    text = "time,volume,iops\n" + "\n".join(rows) + "\n"
    tables = read_text(IMPORTER, text, tmp_path, ImportOptions(timezone=ZoneInfo("Europe/Berlin")))
    for volume in "ab":
        found = of(tables, volume)
        assert [row["ops_per_s"] for row in found] == [0, 1, 2, 3, 4]
        assert {row["duration_ns"] for row in found} == {900 * 10**9}


def test_rows_that_are_there_twice_count_once(tmp_path: Path) -> None:
    text = VOLUMES.read_text()
    joined = read_text(IMPORTER, text + text, tmp_path)
    assert joined.rows("observations") == read_text(IMPORTER, text, tmp_path).rows("observations")
    assert joined.notes.omitted["rows that are in the file twice"] == 6
    assert joined.notes.omitted["headings repeated between rows"] == 1


def test_a_last_line_cut_off_is_no_row(tmp_path: Path) -> None:
    text = VOLUMES.read_text().rsplit(",", 2)[0]
    tables = read_text(IMPORTER, text, tmp_path)
    assert len(of(tables, "dw")) == 2


def test_one_row_of_a_thing_needs_its_interval_said(tmp_path: Path) -> None:
    text = "time,volume,iops\n1795168800,v,5\n"
    assert not read_text(IMPORTER, text, tmp_path).rows("observations")
    found = of(read_text(IMPORTER, text, tmp_path, ImportOptions(interval_s=20)), "v")
    assert [row["duration_ns"] for row in found] == [20 * 10**9]


def test_a_table_without_a_heading_is_refused_with_one_as_an_example(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="a heading with a column of times"):
        read_text(IMPORTER, "a,b\n1,2\n", tmp_path)


def test_a_table_of_results_has_no_time_and_is_none_of_these() -> None:
    results = Path(__file__).parent / "results_table"
    for path in results.glob("*.csv"):
        assert IMPORTER.recognise(Evidence(path).head) == 0
    tables = {
        "time,volume,iops,latency_ms": "counter_table", "start time,name,iops,latency_ms": "counter_table",
        "time,name,read_iops,read_latency_ms,read_kb_per_s,queue_depth": "counter_table",
        "time,volume,read_mb_per_s,read_iops,queue": "counter_table",
        "start time,name,block size,outstanding,iops,latency_ms": "results_table",
    }  # fmt: skip
    for heading, name in tables.items():
        row = "2026-11-20 10:00:00,v,1,2,3,4"
        found = recognise(Head("x", f"{heading}\n{row}\n".encode(), "utf-8"))
        assert found is not None
        assert found.name == name


numbers = st.floats(0.01, 1e6).map(lambda value: round(value, 2))


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.tuples(numbers, numbers, numbers), min_size=2, max_size=12),
    comma=st.booleans(), step_s=st.integers(1, 3600),
)  # fmt: skip
def test_what_is_written_is_read(
    rows: list[tuple[float, float, float]], comma: bool, step_s: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def cell(value: float) -> str:
        return f"{value:.2f}".replace(".", ",") if comma else f"{value:.2f}"

    lines = [
        f"{1_795_168_800 + step_s * n};v;{cell(reads)};{cell(moved)};{cell(latency)}"
        for n, (reads, moved, latency) in enumerate(rows)
    ]
    text = "epoch;volume;Read IOPS;Read MB/s;Read Latency (ms)\n" + "\n".join(lines) + "\n"
    found = of(read_text(IMPORTER, text, tmp_path_factory.mktemp("t")), "v")
    for row, (reads, moved, latency) in zip(found, rows, strict=True):
        assert row["duration_ns"] == step_s * 10**9
        assert row["read_ops_per_s"] == pytest.approx(reads)
        assert row["read_bytes_per_s"] == pytest.approx(moved * 1e6)
        assert row["read_latency_ns_mean"] == pytest.approx(latency * 1e6)
