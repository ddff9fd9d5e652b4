from __future__ import annotations

import datetime as dt
import itertools
import re
import zoneinfo
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import ImportOptions
from storscope.sources.importers import fio_json
from storscope.sources.importers._fio_text import scaled_number, size_of
from storscope.sources.importers.fio_text import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "fio_text"
TEXTS = sorted(SAMPLES.glob("*.txt"))
OLD = SAMPLES / "fio_2.16_written.txt"
STONEWALL = SAMPLES / "fio_3.33_stonewall_and_clones.txt"
STATUS = SAMPLES / "fio_3.33_status_interval.txt"


def jobs(tables: Tables) -> list[dict[str, Any]]:
    return [row for row in tables.rows("observations") if row["kind"] == "job"]


def runs(tables: Tables) -> dict[str, dict[str, Any]]:
    return {row["run"]: row for row in tables.rows("runs")}


def counters(tables: Tables, entity: str) -> dict[str, float]:
    return {row["name"]: row["values"][0] for row in tables.rows("series") if row["entity"] == entity}


def in_flight(row: dict[str, Any]) -> float:
    if row["ops_per_s"] is not None:
        return float(row["ops_per_s"] * row["latency_ns_mean"] / 1e9)
    return sum((row[f"{way}_ops_per_s"] or 0) * (row[f"{way}_latency_ns_mean"] or 0) for way in ("read", "write")) / 1e9


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_a_sample_yields_the_expected_tables(path: Path) -> None:
    check_golden(read_tables(IMPORTER, path), path.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_every_sample_is_recognised_by_this_importer_alone(path: Path) -> None:
    head = Evidence(path).head
    assert IMPORTER.recognise(head) > 0.9
    assert fio_json.IMPORTER.recognise(head) < 0.5


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_ios_over_time_are_those_of_the_issued_lines(path: Path) -> None:
    """IOPS are printed with three digits; the stored rates must lead back to the exact counts."""
    blocks = re.split(r"\nRun status group 0", re.sub(r"(?m)^<[^>]*> ?", "", path.read_text()))
    issued = [re.findall(r"\d+", line) for line in re.findall(r"issued[^:]*: total=(.*?),? short", blocks[-2])]
    expected = sum(int(count) for counts in issued for count in counts[:2])
    found = 0.0
    for row in jobs(read_tables(IMPORTER, path)):
        ops = [row["read_ops_per_s"], row["write_ops_per_s"]] if row["read_ops_per_s"] is not None else [
            row["ops_per_s"]
        ]  # fmt: skip
        found += sum(ops) * row["duration_ns"] / 1e9
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_rate_times_latency_is_the_configured_number_in_flight(path: Path) -> None:
    tables = read_tables(IMPORTER, path)
    outstanding = {name: run["outstanding"] for name, run in runs(tables).items()}
    for row in jobs(tables):
        asked = outstanding[row["run"]]
        if asked and row["duration_ns"] > 50_000_000:
            tolerance = 0.07 if "3.42" in path.name else 0.03  # written with 22.4 of 24 in flight besides the trims
            assert in_flight(row) == pytest.approx(asked, rel=tolerance), row["run"]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_blanks_at_the_ends_of_lines_change_nothing(path: Path, tmp_path: Path) -> None:
    text = path.read_text().replace("\n", "  \n")
    assert IMPORTER.recognise(Head("x", text.encode(), "utf-8")) >= 0.9
    assert read_text(IMPORTER, text, tmp_path).rows("observations") == read_tables(IMPORTER, path).rows("observations")


def test_the_text_and_the_json_of_the_same_numbers_agree() -> None:
    text = jobs(read_tables(IMPORTER, SAMPLES / "fio_3.42_written.txt"))[0]
    json_row = jobs(read_tables(fio_json.IMPORTER, SAMPLES.parent / "fio_json" / "fio_3.42_written.json"))[0]
    assert text == {**json_row, "time": text["time"]}


def test_old_sizes_are_binary_and_exact_through_the_block_size() -> None:
    oltp, log = jobs(read_tables(IMPORTER, OLD))
    assert oltp["read_bytes_per_s"] * 60 == pytest.approx(1_000_000 * 8192)
    assert log["write_bytes_per_s"] == pytest.approx(1600 * 65536)
    assert oltp["read_latency_ns_mean"] == 2_400_000


def test_percentiles_take_their_unit_from_their_heading() -> None:
    found = counters(read_tables(IMPORTER, OLD), "oltp")
    assert found["read.clat.p99"] == 7_072_000
    assert found["write.clat.p99"] == 9_000_000
    new = counters(read_tables(IMPORTER, STONEWALL), "randwrite-sync")
    assert new["sync.lat.p50"] == 55_000


def test_thousands_of_times_are_decimal_and_sizes_follow_their_unit() -> None:
    assert scaled_number("4200.1k") == 4_200_100
    assert size_of("2", "KB", is_binary=True) == size_of("2", "KiB", is_binary=False) == 2048
    assert size_of("2", "kB", is_binary=False) == 2000
    assert size_of("2", "Kibit", is_binary=False) is None


def test_bandwidth_samples_are_in_kib_whatever_the_heading_says() -> None:
    assert counters(read_tables(IMPORTER, OLD), "oltp")["read.bw_min"] == 25_120
    assert counters(read_tables(IMPORTER, OLD), "logwriter")["write.bw_max"] == 104 * 1024
    found = counters(read_tables(IMPORTER, SAMPLES / "fio_3.33_kb_base_1000.txt"), "kb1000")
    rate = jobs(read_tables(IMPORTER, SAMPLES / "fio_3.33_kb_base_1000.txt"))[0]["read_bytes_per_s"]
    assert found["read.bw_mean"] * 1024 == pytest.approx(rate, rel=0.1)


def test_processes_of_a_group_are_multiplied_and_clones_are_not() -> None:
    assert runs(read_tables(IMPORTER, OLD))["oltp"]["outstanding"] == 64
    clones = runs(read_tables(IMPORTER, STONEWALL))
    assert [clones[f"two-clones #{n}"]["outstanding"] for n in (1, 2)] == [2, 2]
    assert clones["randwrite-sync"]["outstanding"] == 1, "psync ignores iodepth=32"


def test_sections_of_different_depths_in_one_result_leave_the_depth_unknown() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "fio_3.33_merged_sections.txt")
    (run,) = tables.rows("runs")
    assert run["outstanding"] is run["block_bytes"] is run["random_ratio"] is None
    assert 0 < run["read_ratio"] < 1
    assert any("different depths" in warning for warning in tables.notes.warnings)


def test_without_its_heading_a_result_keeps_a_depth_that_was_seen(tmp_path: Path) -> None:
    lines = STONEWALL.read_text().splitlines()
    tail = "\n".join(lines[next(n for n, line in enumerate(lines) if "groupid=0" in line) :])
    found = runs(read_text(IMPORTER, tail, tmp_path))
    assert found["seqread"]["outstanding"] == 8
    assert found["randwrite-sync"]["outstanding"] is None
    assert found["seqread"]["block_bytes"] is None


def test_status_blocks_become_intervals_that_follow_one_another() -> None:
    tables = read_tables(IMPORTER, STATUS)
    seen = jobs(tables)
    assert len(seen) == STATUS.read_text().count("groupid=") == 4
    assert len(runs(tables)) == 1
    assert all(a["time"].timestamp() + a["duration_ns"] / 1e9 == pytest.approx(b["time"].timestamp())
               for a, b in itertools.pairwise(seen))  # fmt: skip


def test_two_runs_in_one_file_stay_two_runs(tmp_path: Path) -> None:
    text = (SAMPLES / "fio_3.33_group_reporting.txt").read_text()
    again = text.replace("pid=10195", "pid=20000").replace("00:56:39", "01:56:39")
    tables = read_text(IMPORTER, text + again, tmp_path)
    assert sorted(runs(tables)) == ["randrw8k", "randrw8k (2)"]
    first, second = (row["time"] for row in tables.rows("runs"))
    assert second - first == dt.timedelta(hours=1)


def test_times_without_a_zone_are_placed_by_the_option() -> None:
    berlin = ImportOptions(timezone=zoneinfo.ZoneInfo("Europe/Berlin"))
    plain, placed = (read_tables(IMPORTER, OLD, options) for options in (None, berlin))
    assert plain.rows("runs")[0]["time"] - placed.rows("runs")[0]["time"] == dt.timedelta(hours=1)
    assert "Europe/Berlin" in (placed.notes.clock or "")


def test_groups_behind_a_stonewall_are_placed_one_after_the_other() -> None:
    oltp, log = read_tables(IMPORTER, OLD).rows("runs")
    assert oltp["time"] + dt.timedelta(seconds=60) == log["time"]
    assert log["time"] + dt.timedelta(seconds=10) == dt.datetime(2016, 12, 20, 10, 40, 10, tzinfo=dt.UTC)


def test_disk_lines_of_both_forms_are_read() -> None:
    new = counters(read_tables(IMPORTER, SAMPLES / "fio_3.42_written.txt"), "dm-3")
    assert (new["read_sectors"], new["aggr_write_sectors"], new["in_queue"]) == (6_398_400, 1_599_200, 211_924)
    tables = read_tables(IMPORTER, OLD)
    row = next(row for row in tables.rows("observations") if row["entity"] == "sda")
    assert row["read_latency_ns_mean"] == pytest.approx(1_190_100 / 500_100 * 1e6)
    assert row["busy_ratio"] == pytest.approx(0.997)
    assert counters(tables, "dm-0")["aggr_read_ios"] == 500_000


def test_summaries_and_all_clients_are_left_out_and_told() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "fio_3.33_client_server.txt")
    assert len(tables.rows("runs")) == 4
    assert tables.notes.omitted["'All clients', the sum of the other results"] == 1
    assert tables.notes.omitted["lines of the group summary, which follow from the jobs"] == 7


def test_progress_lines_before_a_result_do_not_hide_it(tmp_path: Path) -> None:
    text = (SAMPLES / "fio_3.33_group_reporting.txt").read_text()
    marked = text.replace("\nrandrw8k: (groupid", "\nJobs: 2 (f=2): [m(2)][66.7%][eta 00m:01s]\rrandrw8k: (groupid")
    plain = read_text(IMPORTER, text, tmp_path)
    assert read_text(IMPORTER, marked, tmp_path).rows("observations") == plain.rows("observations")


def test_a_failed_job_says_so_and_fio_is_quoted() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "fio_3.33_verify_failed.txt")
    assert tables.rows("runs")[0]["status"] == "error 84 (EILSEQ)"
    assert any("bad magic header" in warning for warning in tables.notes.warnings)


def test_an_idle_direction_has_rate_zero_and_no_latency() -> None:
    row = jobs(read_tables(IMPORTER, STATUS))[0]
    assert row["write_ops_per_s"] == 0
    assert row["write_latency_ns_mean"] is None


# Hostile and damaged input ---------------------------------------------------------------------------------------


def test_a_cut_file_keeps_the_results_before_the_cut(tmp_path: Path) -> None:
    text = STONEWALL.read_text()
    cut = text[: text.index("two-clones: (groupid=2") + 200]
    found = runs(read_text(IMPORTER, cut, tmp_path))
    assert {"seqread", "randwrite-sync"} <= set(found)


@pytest.mark.parametrize("text", [
    b"", b"\x7fELF\0\0\1\2", b"fio-3.33\nStarting 1 process\n", b"fio: pid=1, err=2/file:x.c:1, error=No such file\n",
    b"\xff\xfea\0", b"x" * 100_000,
])  # fmt: skip
def test_what_is_no_result_is_refused(text: bytes, tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="a result of fio"):
        read_text(IMPORTER, text, tmp_path)


def test_hostile_lines_neither_crash_nor_become_data(tmp_path: Path) -> None:
    text = "\n".join([
        "j: (g=0): rw=randread:9, bs=(R) 9999999999999999999999999B-9999999999999999999999999B, iodepth=" + "9" * 400,
        "j: (groupid=0, jobs=1): err= 99999: pid=1: Xxx Yyy 99 99:99:99 9999",
        "  read: IOPS=k, BW=(1.2.3MiB/1000msec)",
        "  read: IOPS=1k, BW=1 (1)(" + "9" * 400 + "MiB/" + "9" * 400 + "msec)",
        "    clat (usec): min=, max=x, avg=1e999, stdev=nan",
        "     | 99.00th=[....], 1.2.3th=[ 5]",
        "  lat (usec)   : 50=0.9.9%, 100=1%",
        "     issued rwts: total= short=",
        "  write: IOPS=1k, BW=1 (1)(9MiB/" + "9" * 40 + "msec)",
        "  sda: ios=1/2, ticks=/, util=%",
        "k: (groupid=" + "9" * 5000 + ", jobs=1): err= 0: pid=1",
    ])  # fmt: skip
    (run,) = read_text(IMPORTER, text, tmp_path).rows("runs")
    assert run["duration_ns"] in (0, None) or run["duration_ns"] > 0


def test_a_line_made_to_be_slow_is_passed_over(tmp_path: Path) -> None:
    text = STATUS.read_text() + "a: (groupid=0, jobs=1): err= 0" * 100_000 + "\n"
    tables = read_text(IMPORTER, text, tmp_path)
    assert tables.notes.omitted["lines of text that are no result"] == 1


@pytest.mark.parametrize("encode", [
    lambda text: text.replace("\n", "\r\n").encode(),
    lambda text: b"\xef\xbb\xbf" + text.encode(),
    lambda text: text.encode("utf-16"),
], ids=["crlf", "bom", "utf-16"])  # fmt: skip
def test_line_ends_and_encodings_change_nothing(encode: Any, tmp_path: Path) -> None:
    other = read_text(IMPORTER, encode(STONEWALL.read_text()), tmp_path)
    assert other.rows("observations") == read_tables(IMPORTER, STONEWALL).rows("observations")
    assert IMPORTER.recognise(Evidence(tmp_path / "evidence").head) > 0.9


def test_script_in_a_job_name_stays_data(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>"
    text = (SAMPLES / "fio_3.33_group_reporting.txt").read_text().replace("randrw8k", f"x{name}")
    assert read_text(IMPORTER, text, tmp_path).rows("runs")[0]["name"] == f"x{name}"


@given(st.binary(max_size=300))
def test_recognition_never_raises(raw: bytes) -> None:
    assert IMPORTER.recognise(Head("x", raw, "utf-8")) in (0.0, 0.93)
