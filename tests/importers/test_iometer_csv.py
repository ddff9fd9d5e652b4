from __future__ import annotations

import csv
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
from storscope.sources.importers._iometer import BIN_EDGES_NS, Spec, SpecLine, header_of, spec_line
from storscope.sources.importers.iometer_csv import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "iometer_csv"
FILES = sorted(SAMPLES.glob("*.csv"))
OLD = SAMPLES / "iometer_2006.07.27_written.csv"
MIXED_DEPTH = SAMPLES / "iometer_1.1.0-rc1_written.csv"
NEW = SAMPLES / "iometer_1.1.0_written.csv"
LIVE = SAMPLES / "inst_1.1.0_written.csv"


def text_rows(path: Path) -> list[dict[str, str]]:
    """The results by column name, read apart from the importer."""
    found, header = [], []
    for line in path.read_text().splitlines():
        if "'Target Type," in line:
            header = [name.strip().lstrip("'") for name in line.split(",")]
        elif (header and not line.startswith(("'", "20"))) or (
            header and line.startswith("20") and line.count(",") > 50
        ):
            found.append(dict(zip(header, line.split(","), strict=False)))
    return found


def of_kind(tables: Tables, kind: str) -> list[dict[str, Any]]:
    return [row for row in tables.rows("observations") if row["kind"] == kind]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_sample_yields_the_expected_tables(path: Path) -> None:
    check_golden(read_tables(IMPORTER, path), path.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_sample_is_recognised(path: Path) -> None:
    assert IMPORTER.recognise(Evidence(path).head) > 0.9


# Conservation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_stored_values_are_those_of_the_text_times_their_unit(path: Path) -> None:
    totals = [row for row in text_rows(path) if row["Target Type"] == "ALL"]
    jobs = of_kind(read_tables(IMPORTER, path), "job")
    assert len(jobs) == len(totals) > 0
    for stored, row in zip(jobs, totals, strict=True):
        size = next(name for name in ("MBps", "MBps (Binary)", "MiBps (Binary)") if name in row)
        assert stored["ops_per_s"] == float(row["IOps"])
        assert stored["read_ops_per_s"] == float(row["Read IOps"])
        assert stored["bytes_per_s"] == pytest.approx(float(row[size]) * 2**20)
        assert stored["write_bytes_per_s"] == pytest.approx(float(row[f"Write {size}"]) * 2**20)
        assert stored["latency_ns_mean"] == pytest.approx(float(row["Average Response Time"]) * 1e6)
        assert stored["latency_ns_max"] == pytest.approx(float(row["Maximum Response Time"]) * 1e6)


@pytest.mark.parametrize("path", [OLD, MIXED_DEPTH, NEW], ids=lambda path: path.stem)
def test_rate_times_time_is_the_number_of_ios_and_bytes(path: Path) -> None:
    totals = [row for row in text_rows(path) if row["Target Type"] == "ALL"]
    for stored, row in zip(of_kind(read_tables(IMPORTER, path), "job"), totals, strict=True):
        seconds = stored["duration_ns"] / 1e9
        ios, size = int(row["Read I/Os"]) + int(row["Write I/Os"]), int(row["Bytes Read"]) + int(row["Bytes Written"])
        assert stored["ops_per_s"] * seconds == pytest.approx(ios)
        assert stored["bytes_per_s"] * seconds == pytest.approx(size, rel=1e-6)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rate_times_latency_is_the_configured_number_in_flight(path: Path) -> None:
    tables = read_tables(IMPORTER, path)
    runs = {row["run"]: row for row in tables.rows("runs")}
    for row in of_kind(tables, "job"):
        assert row["ops_per_s"] * row["latency_ns_mean"] / 1e9 == pytest.approx(
            runs[row["run"]]["outstanding"], rel=0.01
        )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_raw_times_lead_to_the_averages_stored(path: Path) -> None:
    """Average = raw sum / timer's speed / I/Os; it ties three columns, so that none can be another's."""
    checked = 0
    for row in text_rows(path):
        ticks = row.get("Total Raw Read Response Time")
        if row["Target Type"] in ("MANAGER", "WORKER") and ticks and int(row["Read I/Os"] or 0):
            average_ms = int(ticks) / float(row["Processor Speed"]) / int(row["Read I/Os"]) * 1000
            assert average_ms == pytest.approx(float(row["Average Read Response Time"]), rel=1e-5)
            checked += 1
    assert checked or path == LIVE


@pytest.mark.parametrize("path", [NEW, LIVE], ids=lambda path: path.stem)
def test_bins_add_up_to_the_ios_of_their_row(path: Path) -> None:
    tables = read_tables(IMPORTER, path)
    ios = {
        (row["run"], row["system"], row["entity"], row["time"]): row["ops_per_s"] * row["duration_ns"] / 1e9
        for row in tables.rows("observations")
    }
    histograms = tables.rows("histograms")
    assert histograms
    for row in histograms:
        expected = ios[row["run"], row["system"], row["entity"], row["time"]]
        assert sum(row["counts"]) == pytest.approx(expected, rel=1e-5)


# Bins ------------------------------------------------------------------------------------------------------------


def test_every_bin_of_the_heading_is_known_and_they_join_without_a_gap() -> None:
    heading = header_of(next(line for line in NEW.read_text().splitlines() if line.startswith("'Target Type")))
    assert heading[59:] == list(BIN_EDGES_NS)
    edges = list(BIN_EDGES_NS.values())
    assert all(this[1] == after[0] for this, after in itertools.pairwise(edges))


def test_headings_that_are_not_the_edges_get_the_true_ones() -> None:
    assert BIN_EDGES_NS["10 to 15 mS"][1] == pytest.approx(14_925_373, abs=1)
    assert BIN_EDGES_NS["20 to 30 mS"][1] == pytest.approx(30_303_030, abs=1)
    assert BIN_EDGES_NS["4.7 to 5 s"] == (4e9, 5e9)


def test_ios_above_ten_seconds_are_in_the_bin_before_whose_end_is_the_maximum() -> None:
    (row,) = (row for row in read_tables(IMPORTER, NEW).rows("histograms") if row["kind"] == "job")
    assert (row["bucket_low_ns"][-1], row["bucket_high_ns"][-1], row["counts"][-1]) == (5e9, 12.5e9, 2)


def test_a_device_gets_no_bins_since_its_row_shows_those_of_the_worker() -> None:
    tables = read_tables(IMPORTER, NEW)
    assert {row["kind"] for row in tables.rows("histograms")} == {"job", "host", "process"}
    assert tables.notes.omitted["raw times and bins of DISK rows, which are those of their worker"] == 2 * 30


# Runs ------------------------------------------------------------------------------------------------------------


def test_each_step_of_a_cycle_is_a_run_that_ends_at_its_time_stamp() -> None:
    runs = read_tables(IMPORTER, OLD).rows("runs")
    assert [run["run"] for run in runs] == [
        "8k 70/30 random", "8k 70/30 random (2)", "8k 70/30 random (3)", "file server",
    ]  # fmt: skip
    assert [run["outstanding"] for run in runs] == [2, 8, 32, 25]
    end = runs[1]["time"] + dt.timedelta(milliseconds=runs[1]["duration_ns"] / 1e6)
    assert end == dt.datetime(2009, 3, 12, 22, 2, 0, 30_000, dt.UTC)


def test_a_specification_of_several_lines_is_averaged_over_transfers() -> None:
    """60 single 4 KiB transfers against 40 bursts of two 64 KiB transfers."""
    run = read_tables(IMPORTER, OLD).rows("runs")[3]
    assert run["block_bytes"] == pytest.approx((60 * 4096 + 80 * 65536) / 140)
    assert run["read_ratio"] == pytest.approx((60 * 0.8 + 80 * 0.5) / 140)
    assert run["random_ratio"] == pytest.approx((60 * 1 + 80 * 0.25) / 140)
    measured = of_kind(read_tables(IMPORTER, OLD), "job")[3]
    assert measured["bytes_per_s"] / measured["ops_per_s"] == pytest.approx(run["block_bytes"], rel=1e-5)


def test_the_lines_of_the_specification_are_kept_with_the_run() -> None:
    parameters = dict(read_tables(IMPORTER, OLD).rows("runs")[0]["parameters"])
    assert parameters["line 1"].startswith("8192 B, share 100 %, reads 70 %, random 100 %")
    assert parameters["test_type"] == "6"


def test_an_ambiguous_depth_is_null_and_the_targets_tell_the_sum() -> None:
    tables = read_tables(IMPORTER, MIXED_DEPTH)
    assert tables.rows("runs")[0]["outstanding"] == 12 + 4
    depths = {row["entity"]: row["values"] for row in tables.rows("series") if row["name"] == "Queue Depth"}
    assert depths == {"PHYSICALDRIVE:1": [12], "PHYSICALDRIVE:2": [4]}
    assert not [row for row in tables.rows("series") if row["name"] == "Transactions per Connection"]
    assert sum(n for why, n in tables.notes.omitted.items() if "ambiguous" in why) > 0


def test_an_idle_worker_adds_nothing_and_is_no_row_of_zeros() -> None:
    names = {row["entity"] for row in of_kind(read_tables(IMPORTER, MIXED_DEPTH), "process")}
    assert names == {"Worker 1"}


def test_errors_are_the_status_of_the_run() -> None:
    assert read_tables(IMPORTER, NEW).rows("runs")[0]["status"] == "1 I/O errors"
    assert read_tables(IMPORTER, OLD).rows("runs")[0]["status"] == "ok"


def test_an_idle_direction_has_rate_zero_and_no_latency() -> None:
    row = of_kind(read_tables(IMPORTER, MIXED_DEPTH), "job")[0]
    assert row["write_ops_per_s"] == 0
    assert row["write_latency_ns_mean"] is None


# Rows and names --------------------------------------------------------------------------------------------------


def test_an_inch_mark_in_a_target_name_is_no_quote(tmp_path: Path) -> None:
    """A quoting CSV reader would take the rest of the line as one field."""
    odd = '"DATA 2.5 drive'
    text = OLD.read_text().replace('E: "DATA 2.5"', odd)
    line = next(line for line in text.splitlines() if odd in line)
    assert len(next(csv.reader([line]))) == 2
    tables = read_text(IMPORTER, text, tmp_path)
    names = {row["entity"] for row in of_kind(tables, "device")}
    assert names == {'1: "HP      LOGICAL VOLUME  3.5"', odd}
    assert len(of_kind(tables, "device")) == 7


def test_each_host_has_its_own_workers_and_devices() -> None:
    tables = read_tables(IMPORTER, NEW)
    assert {(row["system"], row["entity"]) for row in of_kind(tables, "process")} == {
        ("hosta", "Worker 1"), ("hostb", "Worker 1"),
    }  # fmt: skip
    options = ImportOptions(system="lab")
    renamed = read_tables(IMPORTER, NEW, options)
    assert {row["system"] for row in of_kind(renamed, "process")} == {"hosta", "hostb"}, "two hosts stay two"
    assert {row["system"] for row in of_kind(read_tables(IMPORTER, OLD, options), "process")} == {"lab"}


def test_a_target_of_several_workers_is_summed_over_them(tmp_path: Path) -> None:
    text = OLD.read_text().replace('E: "DATA 2.5"', '1: "HP      LOGICAL VOLUME  3.5"')
    tables = read_text(IMPORTER, text, tmp_path)
    first = tables.rows("runs")[0]["run"]
    (device,) = (row for row in of_kind(tables, "device") if row["run"] == first)
    (job,) = (row for row in of_kind(tables, "job") if row["run"] == first)
    for column in ("ops_per_s", "read_bytes_per_s", "latency_ns_mean", "read_latency_ns_mean", "latency_ns_max"):
        assert device[column] == pytest.approx(job[column], rel=1e-5)


def test_processors_shares_are_counters_of_their_host() -> None:
    names = {row["name"] for row in read_tables(IMPORTER, NEW).rows("series") if row["kind"] == "host"}
    assert "CPU 0: % CPU Utilization" in names
    host = of_kind(read_tables(IMPORTER, OLD), "host")[0]
    assert host["cpu_busy_ratio"] == 0.065


def test_links_lead_from_the_job_to_its_devices() -> None:
    links = read_tables(IMPORTER, MIXED_DEPTH).links()
    assert ("job", "64k sequential read", "lives_on", "device", "PHYSICALDRIVE:2") in links
    assert ("process", "Worker 1", "uses", "device", "PHYSICALDRIVE:1") in links


# The instantaneous file ------------------------------------------------------------------------------------------


def test_live_updates_are_the_workers_and_the_last_line_is_the_job() -> None:
    tables = read_tables(IMPORTER, LIVE)
    (run,) = tables.rows("runs")
    (job,) = of_kind(tables, "job")
    updates = of_kind(tables, "process")
    assert (run["outstanding"], run["workers"], len(updates)) == (8, 2, 6)
    done = sum(row["ops_per_s"] * row["duration_ns"] / 1e9 for row in updates)
    assert done == pytest.approx(job["ops_per_s"] * job["duration_ns"] / 1e9, rel=1e-4)
    assert tables.notes.omitted["whole-test rows of workers whose updates are kept"] == 2


def test_an_update_ends_at_its_time_stamp() -> None:
    row = of_kind(read_tables(IMPORTER, LIVE), "process")[0]
    assert row["time"] == dt.datetime(2015, 6, 20, 13, 0, 0, 50_000, dt.UTC)
    assert row["duration_ns"] == 1_000_000_000


def test_times_without_a_zone_are_placed_by_the_option() -> None:
    berlin = ImportOptions(timezone=zoneinfo.ZoneInfo("Europe/Berlin"))
    plain, placed = (read_tables(IMPORTER, LIVE, options).rows("runs")[0] for options in (None, berlin))
    assert plain["time"] - placed["time"] == dt.timedelta(hours=2)


# Specifications --------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(512, 2**20), st.integers(1, 100), st.integers(0, 100), st.integers(0, 100),
                          st.integers(0, 1000), st.integers(1, 64)), min_size=1, max_size=8))  # fmt: skip
def test_means_of_a_specification_stay_within_its_lines(lines: list[tuple[int, ...]]) -> None:
    spec = Spec("any", [SpecLine(*line, 0, 0) for line in lines])
    assert spec.block_bytes is not None
    assert spec.read_ratio is not None
    assert min(line[0] for line in lines) <= spec.block_bytes * (1 + 1e-9)
    assert spec.block_bytes <= max(line[0] for line in lines) * (1 + 1e-9)
    assert -1e-9 <= spec.read_ratio <= 1 + 1e-9


def test_numbers_end_at_the_first_letter_as_iometer_reads_them() -> None:
    found = spec_line("4K,100,67,100,0,1,0,0,")
    assert found is not None
    assert (found.size_bytes, found.reads) == (4, 67)
    assert spec_line("4096,100,67") is None


# Hostile and damaged input ---------------------------------------------------------------------------------------


def test_a_row_cut_in_the_middle_is_dropped_and_told(tmp_path: Path) -> None:
    text = OLD.read_text()
    place = text.rindex("WORKER,Worker 1")
    tables = read_text(IMPORTER, text[: place + 160], tmp_path)
    assert tables.notes.omitted["unfinished last row"] == 1
    assert any("stopped or the file was cut" in warning for warning in tables.notes.warnings)
    assert len(tables.rows("runs")) == 4
    assert len(of_kind(tables, "process")) == 6


def test_a_live_file_cut_before_its_end_keeps_the_updates(tmp_path: Path) -> None:
    lines = LIVE.read_text().splitlines()
    last = max(n for n, line in enumerate(lines) if "Worker 2,," in line)
    tables = read_text(IMPORTER, "\n".join(lines[:last]) + "\n" + lines[last][:200], tmp_path)
    assert len(of_kind(tables, "process")) == 5
    (run,) = tables.rows("runs")
    assert run["outstanding"] == 8


@pytest.mark.parametrize("text", [
    b"", b"\x7fELF\0\0", b"'Test Type,Test Description\n0,x\n", b"'Target Type,Target Name,x\n",
    b"'Target Type,Target Name,Access\nnonsense,1,2\n", b"'Target Type,Target Name\nALL,All,1,2,3,4\n",
    b"\xff\xfe'\0T\0",
])  # fmt: skip
def test_what_is_no_result_is_refused(text: bytes, tmp_path: Path) -> None:
    with pytest.raises(MalformedInput):
        read_text(IMPORTER, text, tmp_path)


def test_the_error_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="line 2"):
        read_text(IMPORTER, b"'Target Type,Target Name,Access\nnonsense,1,2\n", tmp_path)


def test_a_year_that_no_clock_shows_does_not_overflow(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, LIVE.read_text().replace("2015-06-20 13:00:01", "8015-06-20 13:00:01"), tmp_path)
    assert tables.notes.omitted["live updates without a time or without an I/O"] == 2


def test_hostile_numbers_neither_crash_nor_become_data(tmp_path: Path) -> None:
    header = "'Target Type,Target Name,Access Specification Name,# Workers,# Disks,IOps,Read I/Os,Write I/Os,"
    header += "Average Response Time,Queue Depth,0 to 50 uS,5 to 10 s"
    rows = ["ALL,All,x,1e400,nan,1e-300,9e300,1,inf,1e999,1e30,-4", "WORKER,W,x,,,-5,,,,," + "9" * 5000 + ","]
    text = "\n".join(["'Time Stamp", "9999-99-99 99:99:99:999", "'Results", header, *rows, "'Time Stamp", "x"])
    tables = read_text(IMPORTER, text, tmp_path)
    assert len(tables.rows("runs")) == 1
    assert not tables.rows("histograms")


@pytest.mark.parametrize("encode", [
    lambda text: text.replace("\r\n", "\n").encode(),
    lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
    lambda text: text.encode("utf-16"),
], ids=["lf", "bom-crlf", "utf-16"])  # fmt: skip
def test_line_ends_and_encodings_change_nothing(encode: Any, tmp_path: Path) -> None:
    other = read_text(IMPORTER, encode(OLD.read_text()), tmp_path)
    assert other.rows("observations") == read_tables(IMPORTER, OLD).rows("observations")
    assert IMPORTER.recognise(Evidence(tmp_path / "evidence").head) > 0.9


def test_script_in_a_target_name_stays_data(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>"
    tables = read_text(IMPORTER, OLD.read_text().replace("LABSRV1", name), tmp_path)
    assert {row["entity"] for row in of_kind(tables, "host")} == {name}


@given(st.binary(max_size=300))
def test_recognition_never_raises(raw: bytes) -> None:
    assert IMPORTER.recognise(Head("x", raw, "utf-8")) in (0.0, 0.97)


# Files that somebody worked on -----------------------------------------------------------------------------------


def _as_text(path: Path) -> str:
    return path.read_bytes().decode("cp1252")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_spreadsheet_that_made_all_lines_as_long_changes_nothing(path: Path, tmp_path: Path) -> None:
    lines = _as_text(path).splitlines()
    most = max(line.count(",") for line in lines)
    padded = read_text(IMPORTER, "\r\n".join(line + "," * (most - line.count(",")) for line in lines), tmp_path)
    plain = read_text(IMPORTER, _as_text(path), tmp_path)
    assert padded.rows("observations") == plain.rows("observations")
    assert padded.rows("runs") == plain.rows("runs")


@pytest.mark.parametrize("path", [OLD, NEW], ids=lambda path: path.stem)
def test_a_file_joined_with_itself_counts_once(path: Path, tmp_path: Path) -> None:
    once, twice = read_text(IMPORTER, _as_text(path), tmp_path), read_text(IMPORTER, _as_text(path) * 2, tmp_path)
    assert len(twice.rows("runs")) == len(once.rows("runs"))
    assert twice.notes.omitted["steps that are in the file twice"] == len(once.rows("runs"))


def test_steps_without_time_stamps_are_never_added_up(tmp_path: Path) -> None:
    lines = _as_text(NEW).splitlines()
    without, skip = [], False
    for line in lines:
        if skip or line.startswith("'Time Stamp"):
            skip = not skip
            continue
        without.append(line)
    ops = [row["ops_per_s"] for row in of_kind(read_text(IMPORTER, "\n".join(without), tmp_path), "job")]
    assert ops == [row["ops_per_s"] for row in of_kind(read_tables(IMPORTER, NEW), "job")]


def _as_a_spreadsheet_saves(path: Path, separator: str, *, quoted: bool, decimal: str) -> str:
    """The file as a spreadsheet of a European locale writes it after it has read it: every number anew."""

    def cell(text: str) -> str:
        is_number = re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", text.strip()) is not None
        found = text.strip().replace(".", decimal) if is_number else text
        must = (quoted and not is_number) or separator in found or '"' in found
        return '"' + found.replace('"', '""') + '"' if must else found

    lines = [line.split(",") for line in path.read_text().splitlines()]
    width = max(map(len, lines))
    return "\r\n".join(separator.join([cell(text) for text in line] + [""] * (width - len(line))) for line in lines)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize(
    ("separator", "decimal", "quoted"),
    [(";", ",", False), (";", ",", True), (";", ".", False), ("\t", ",", False), (",", ",", True)],
)
def test_a_european_spreadsheet_changes_nothing(
    path: Path, separator: str, decimal: str, quoted: bool, tmp_path: Path
) -> None:
    text = _as_a_spreadsheet_saves(path, separator, quoted=quoted, decimal=decimal)
    assert IMPORTER.recognise(Head("saved", text.encode(), "utf-8")) > 0.9
    saved, own = read_text(IMPORTER, text, tmp_path), read_tables(IMPORTER, path)
    for table in ("observations", "runs", "histograms", "series", "links"):
        assert saved.rows(table) == own.rows(table), table


def test_what_a_spreadsheet_rounded_is_a_number_still(tmp_path: Path) -> None:
    text = _as_a_spreadsheet_saves(NEW, ";", quoted=False, decimal=",")
    figure = max(re.findall(r"(?<=;)[0-9]{9,}(?=;)", text), key=int)
    rounded = f"{int(figure):.5E}".replace(".", ",")
    saved = read_text(IMPORTER, text.replace(f";{figure};", f";{rounded};"), tmp_path)
    values = [value for row in saved.rows("series") for value in row["values"] if value]
    assert float(rounded.replace(",", ".")) in values
