from __future__ import annotations

import datetime as dt
import statistics
import zoneinfo
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storscope.domain.errors import InputError, MalformedInput
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence
from storscope.sources.importer import ImportOptions
from storscope.sources.importers.esxtop_csv import IMPORTER
from tests.support.golden import check_golden
from tests.support.pdh import counters, intervals, observed, pdh_text
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "esxtop_csv"
BATCH = SAMPLES / "esxi7_batch.csv"
DEVICE = "naa.6001405a1b2c3d4e5f60718293a4b5c6"
SQL_VM = "SQL02 (df09cdf2-1f4c-4b0e-9d57-0c2f3a6b7e11)"
SCRIPT_VM = "web, <script>alert(1)</script>"
READS = rf"\\h\Physical Disk SCSI Device({DEVICE})\Reads/sec"


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.csv")), ids=lambda sample: sample.name)
def test_a_sample_yields_the_expected_tables(sample: Path) -> None:
    check_golden(read_tables(IMPORTER, sample), sample.with_suffix(".expected.jsonl"))


@pytest.fixture(scope="module")
def batch() -> Tables:
    return read_tables(IMPORTER, BATCH)


def test_a_row_is_the_interval_that_ends_at_its_stamp_however_sampling_drifts(batch: Tables) -> None:
    assert intervals(batch, "device", DEVICE) == [
        ("2026-11-02T09:59:58", 3.0),
        ("2026-11-02T10:00:01", 3.0),
        ("2026-11-02T10:00:04", 4.0),
        ("2026-11-02T10:00:08", 3.0),
    ]
    assert batch.notes.clock == "UTC in the file"


def test_the_first_sample_has_no_interval_and_never_becomes_data(batch: Tables, tmp_path: Path) -> None:
    assert sum(count for reason, count in batch.notes.omitted.items() if reason.startswith("first samples")) == 1
    one = pdh_text([READS], [["99999.00"]])
    tables = read_text(IMPORTER, one, tmp_path)
    assert tables.rows("observations") == []
    assert tables.rows("series") == []


def test_a_capture_without_disks_says_what_to_capture(batch: Tables, tmp_path: Path) -> None:
    text = pdh_text([r"\\h\Physical Cpu(0)\% Util Time", r"\\h\Memory\Kernel MBytes"], [["1.00", "9.00"]] * 3)
    (said,) = read_text(IMPORTER, text, tmp_path).notes.warnings
    assert "the counters, which are of Memory, Physical Cpu: capture all groups (esxtop -b -a)" in said
    assert "No disk" not in " ".join(batch.notes.warnings)


def test_values_enter_in_our_units(batch: Tables) -> None:
    busiest = observed(batch, "device", DEVICE)[1]
    assert busiest["ops_per_s"] == 2210.0
    assert busiest["read_bytes_per_s"] == 125.0 * 1024**2
    assert busiest["latency_ns_mean"] == pytest.approx(33.30e6)
    assert busiest["latency_ns_mean"] == pytest.approx(
        busiest["device_latency_ns_mean"] + busiest["kernel_latency_ns_mean"]
    )
    assert (busiest["queue_depth_mean"], busiest["queued_mean"], busiest["queue_limit"]) == (64.0, 17.0, 64.0)
    assert observed(batch, "host", "esx01.example.net")[1]["cpu_busy_ratio"] == pytest.approx(0.855)


def test_an_idle_interval_has_load_zero_and_no_latency(batch: Tables) -> None:
    idle = observed(batch, "device", DEVICE)[2]
    assert (idle["ops_per_s"], idle["read_bytes_per_s"]) == (0.0, 0.0)
    assert not [name for name in idle if "latency" in name and idle[name] is not None]


def test_a_latency_whose_rate_was_rounded_to_zero_is_counted(tmp_path: Path) -> None:
    text = pdh_text(
        [r"\\h\Virtual Disk(a)\Reads/sec", r"\\h\Virtual Disk(a)\Average MilliSec/Read"],
        [["5.00", "5.00"], ["0.00", "7.00"], ["1.00", "0.00"]],
    )
    tables = read_text(IMPORTER, text, tmp_path)
    assert [row["read_latency_ns_mean"] for row in observed(tables, "vm", "a")] == [None, 0.0]
    assert tables.notes.omitted["latencies of intervals whose rate is 0.00"] == 1


def test_impossible_values_are_left_out_and_counted(batch: Tables) -> None:
    resets = counters(batch, "device", DEVICE)["Resets/sec"]
    assert resets == [0.0, None, 0.0, 0.0]
    assert batch.notes.omitted["impossible values: negative, or a counter that wrapped"] == 1


def test_names_with_separators_and_script_survive_as_data(batch: Tables) -> None:
    names = {(row["kind"], row["entity"]) for row in batch.rows("entities")}
    assert {("vm", SQL_VM), ("vm_disk", f"{SQL_VM}:scsi0:0"), ("vm", SCRIPT_VM)} <= names


def test_what_lies_on_what_is_linked(batch: Tables) -> None:
    host = ("host", "esx01.example.net")
    expected = {
        ("vm_disk", f"{SQL_VM}:scsi0:0", "member_of", "vm", SQL_VM),
        ("vm", SQL_VM, "member_of", *host),
        ("device", DEVICE, "member_of", *host),
        ("adapter", "vmhba64", "member_of", *host),
        ("path", "vmhba64:C0:T0:L1", "uses", "adapter", "vmhba64"),
        ("partition", f"{DEVICE}-1", "lives_on", "device", DEVICE),
        ("process", f"{DEVICE}/2097810:vmm0:SQL02-1", "lives_on", "device", DEVICE),
    }
    assert expected <= batch.links()
    assert not [link for link in batch.links() if link[2] == "leads_to"], "this path's name does not tell its device"


def test_every_column_is_in_a_table(batch: Tables) -> None:
    columns = BATCH.read_text().splitlines()[0].count(r"\\esx01")
    canonical = sum(
        any(row[name] is not None for row in rows)
        for rows in _rows_by_entity(batch).values()
        for name in rows[0]
        if name.endswith(("_per_s", "_mean", "_limit", "_ratio"))
    )
    assert canonical + batch.tables["series"].num_rows == columns


def _rows_by_entity(tables: Tables) -> dict[tuple[str, str], list[dict[str, object]]]:
    found: dict[tuple[str, str], list[dict[str, object]]] = {}
    for row in tables.rows("observations"):
        found.setdefault((row["kind"], row["entity"]), []).append(row)
    return found


def test_esx_4_keeps_adapters_devices_and_partitions_in_one_group() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "esx4_one_group.csv", ImportOptions(system="old-esx"))
    assert {(row["system"], row["kind"], row["entity"]) for row in tables.rows("observations")} == {
        ("old-esx", "adapter", "vmhba1"), ("old-esx", "device", "vmhba1:0:0"), ("old-esx", "partition", "vmhba1:0:0:1"),
    }  # fmt: skip
    assert ("partition", "vmhba1:0:0:1", "lives_on", "device", "vmhba1:0:0") in tables.links()
    assert ("device", "vmhba1:0:0", "uses", "adapter", "vmhba1") in tables.links()


def test_rows_of_other_lengths_are_counted_and_said() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "esx4_one_group.csv")
    assert tables.notes.system == "localhost"
    assert tables.notes.omitted["cells beyond the last column of the header"] == 1
    assert tables.notes.omitted["cells missing at the end of rows"] == 3
    assert any("2 rows are shorter or longer" in warning for warning in tables.notes.warnings)


def test_a_copy_without_seconds_gets_its_times_from_the_order_of_rows() -> None:
    path = SAMPLES / "saved_by_a_spreadsheet.csv"
    tables = read_tables(IMPORTER, path)
    found = intervals(tables, "device", DEVICE)
    # 22:42:38 was the first stamp before seconds were lost; steps of 10 s; the minute changes at the fourth row.
    assert found[0] == ("2026-03-26T22:42:30", 10.0)
    assert found[2] == ("2026-03-26T22:42:50", 10.0)
    assert len(found) == 13
    assert tables.notes.clock is not None
    assert "rebuilt from row order, 10 s steps (counted per minute)" in tables.notes.clock
    assert any("no seconds" in warning for warning in tables.notes.warnings)
    told = read_tables(IMPORTER, path, ImportOptions(interval_s=9.5))
    assert {length for _, length in intervals(told, "device", DEVICE)} == {9.5}
    assert ("vm", "a, b") in {(row["kind"], row["entity"]) for row in tables.rows("entities")}


def test_spreadsheet_times_all_in_one_minute_use_the_usual_delay(tmp_path: Path) -> None:
    text = pdh_text([READS], [["1"], ["2"]], stamps=["3/26/2015 22:42", "3/26/2015 22:42"])
    tables = read_text(IMPORTER, text, tmp_path)
    assert [length for _, length in intervals(tables, "device", DEVICE)] == [5.0]
    assert tables.notes.clock is not None
    assert "a guess" in tables.notes.clock


def test_a_year_that_no_capture_is_from_is_no_time(tmp_path: Path) -> None:
    text = pdh_text([READS], [["0"], ["1"], ["2"]], stamps=["3/26/2015 22:41", "3/26/9015 22:42", "3/26/2015 22:42"])
    tables = read_text(IMPORTER, text, tmp_path)
    assert [row["read_ops_per_s"] for row in observed(tables, "device", DEVICE)] == [2.0]
    assert tables.notes.omitted["rows whose time stamp has an unknown form"] == 1


@pytest.mark.parametrize(
    ("stamps", "options", "first"),
    [
        (["20/11/2026 20:00:00", "20/11/2026 20:00:05", "20/11/2026 20:00:10"], ImportOptions(), "2026-11-20T20:00:00"),
        (["12/11/2026 23:59:55", "13/11/2026 00:00:00", "13/11/2026 00:00:05"], ImportOptions(), "2026-11-12T23:59:55"),
        (["03/04/2026 23:59:50", "03/04/2026 23:59:55", "04/04/2026 00:00:00"], ImportOptions(), "2026-04-03T23:59:50"),
        (["04/03/2026 23:59:50", "04/03/2026 23:59:55", "04/04/2026 00:00:00"], ImportOptions(), "2026-04-03T23:59:50"),
        (["03/04/2026 10:00:00", "03/04/2026 10:00:05", "03/04/2026 10:00:10"], ImportOptions(), "2026-03-04T10:00:00"),
        (["03/04/2026 10:00:00", "03/04/2026 10:00:05", "03/04/2026 10:00:10"], ImportOptions(day_first=True),
         "2026-04-03T10:00:00"),
    ],
    ids=["above 12", "above 12 later", "midnight", "midnight, month first", "neither", "told"],
)  # fmt: skip
def test_day_and_month_are_told_apart(stamps: list[str], options: ImportOptions, first: str, tmp_path: Path) -> None:
    tables = read_text(IMPORTER, pdh_text([READS], [["0"], ["1"], ["2"]], stamps=stamps), tmp_path, options)
    assert intervals(tables, "device", DEVICE) == [(first, 5.0), (f"{_after(first)}", 5.0)]
    assert tables.notes.warnings == []
    assert ("day first" in (tables.notes.clock or "")) == (stamps[0][:2] == first[8:10])


def _after(first: str) -> str:
    return (dt.datetime.fromisoformat(first) + dt.timedelta(seconds=5)).isoformat()


def test_in_a_large_file_the_order_is_told_by_some_stamps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("storscope.sources.importers._pdh_order._WHOLE_BYTES", 0)
    start = dt.datetime(2026, 4, 3, 20)
    stamps = [f"{start + dt.timedelta(seconds=20 * row):%d/%m/%Y %H:%M:%S}" for row in range(1440)]
    tables = read_text(IMPORTER, pdh_text([READS], [["1"]] * 1440, stamps=stamps), tmp_path)
    found = intervals(tables, "device", DEVICE)
    assert (found[0], len(found)) == (("2026-04-03T20:00:00", 20.0), 1439)
    assert {length for _, length in found} == {20.0}
    last = [*stamps[:5], "13/04/2026 20:00:00"]
    found = intervals(read_text(IMPORTER, pdh_text([READS], [["1"]] * 6, stamps=last), tmp_path), "device", DEVICE)
    assert found[0][0] == "2026-04-03T20:00:00"


def test_copies_without_seconds_that_could_be_either_are_doubted(tmp_path: Path) -> None:
    text = pdh_text([READS], [["1"], ["2"]], stamps=["3/4/2015 22:42", "3/4/2015 22:42"])
    assert any("No date tells" in warning for warning in read_text(IMPORTER, text, tmp_path).notes.warnings)


def test_a_capture_without_a_readable_stamp_records_nothing_and_says_the_option(tmp_path: Path) -> None:
    text = pdh_text([READS], [["1"], ["2"]], stamps=["13/13/2026 10:00:00", "14/13/2026 10:00:00"])
    tables = read_text(IMPORTER, text, tmp_path)
    assert tables.rows("entities") == []
    assert tables.notes.omitted["rows whose time stamp has an unknown form"] == 2


def test_a_date_that_the_sampled_stamps_did_not_show_says_the_option(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("storscope.sources.importers._pdh_order._WHOLE_BYTES", 0)
    monkeypatch.setattr("storscope.sources.importers._pdh_order._PROBES", 1)
    stamps = ["03/04/2026 10:00:00", "13/04/2026 10:00:00", "01/05/2026 10:00:00"]
    tables = read_text(IMPORTER, pdh_text([READS], [["1"]] * 3, stamps=stamps), tmp_path)
    assert any("say --day-first" in warning for warning in tables.notes.warnings)


def test_minutes_in_the_header_are_west_of_utc(tmp_path: Path) -> None:
    text = pdh_text([READS], [["1.00"], ["2.00"]], title="(PDH-CSV 4.0) (Pacific Standard Time)(480)")
    tables = read_text(IMPORTER, text, tmp_path)
    assert intervals(tables, "device", DEVICE)[0][0] == "2026-11-02T08:00:00"
    assert tables.notes.clock == "zone in the file: Pacific Standard Time, UTC-08:00 throughout"


def test_a_missing_zone_is_taken_from_the_options(tmp_path: Path) -> None:
    text = pdh_text(
        [READS], [["1.00"], ["2.00"], ["3.00"]], title="(PDH-CSV 4.0)",
        stamps=["03/29/2026 01:59:50", "03/29/2026 03:00:00", "03/29/2026 03:00:10"],
    )  # fmt: skip
    tables = read_text(IMPORTER, text, tmp_path, ImportOptions(timezone=zoneinfo.ZoneInfo("Europe/Berlin")))
    assert intervals(tables, "device", DEVICE) == [
        ("2026-03-29T00:59:50", 10.0), ("2026-03-29T01:00:00", 10.0),
    ]  # fmt: skip


def test_a_clock_that_goes_back_never_makes_a_negative_interval(tmp_path: Path) -> None:
    stamps = ["11/02/2026 02:59:50", "11/02/2026 03:00:00", "11/02/2026 02:00:00", "11/02/2026 02:00:10"]
    text = pdh_text([READS], [["1"], ["2"], ["3"], ["4"]], stamps=stamps)
    tables = read_text(IMPORTER, text, tmp_path)
    assert {length for _, length in intervals(tables, "device", DEVICE)} == {10.0}
    assert any("went back 1 times" in warning for warning in tables.notes.warnings)


def test_captures_joined_in_one_file_keep_their_own_headers(tmp_path: Path) -> None:
    first = pdh_text([rf"\\h\Physical Disk SCSI Device({DEVICE})\Writes/sec", READS], [["1", "2"], ["3", "4"]])
    second = pdh_text([READS], [["5"], ["6"]], stamps=["11/03/2026 00:00:00", "11/03/2026 00:00:05"])
    tables = read_text(IMPORTER, first + second, tmp_path)
    rows = observed(tables, "device", DEVICE)
    assert [row["read_ops_per_s"] for row in rows] == [4.0, 6.0]
    assert [row["write_ops_per_s"] for row in rows] == [3.0, None]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("lost", [0, 1, 5, 13])
def test_a_capture_joined_to_an_unfinished_line_keeps_its_header(mark: str, lost: int, tmp_path: Path) -> None:
    writes = rf"\\h\Physical Disk SCSI Device({DEVICE})\Writes/sec"
    first = pdh_text([writes, READS], [["1.00", "2.00"], ["3.00", "4.00"]])
    second = pdh_text([READS, writes], [["5", "6"], ["7", "8"]], stamps=["11/03/2026 00:00:00", "11/03/2026 00:00:05"])
    text = mark + first[: len(first) - lost] + mark + second
    rows = observed(read_text(IMPORTER, text, tmp_path), "device", DEVICE)
    read = [] if lost == 13 else [None if lost == 5 else 4.0]
    assert [row["read_ops_per_s"] for row in rows] == [*read, 7.0]
    assert [row["write_ops_per_s"] for row in rows] == [*[3.0 for _ in read], 8.0]


def test_a_number_that_is_cut_in_half_is_none(tmp_path: Path) -> None:
    load = rf"\\h\Physical Disk SCSI Device({DEVICE})\Load"
    text = pdh_text([READS, load], [["1.00", "2.00"], ["3.00", "4.00"], ["865.89", "6.00"]]).replace('"', "")
    tables = read_text(IMPORTER, text[: text.index("865.89") + 1], tmp_path)
    assert [row["read_ops_per_s"] for row in observed(tables, "device", DEVICE)] == [3.0]
    assert tables.notes.omitted["cells missing at the end of rows"] == 2


def test_a_repeated_column_counts_once(tmp_path: Path) -> None:
    name = rf"\\h\Physical Disk SCSI Device({DEVICE})\Load"
    tables = read_text(IMPORTER, pdh_text([name, READS, name], [["1", "2", "3"], ["1", "2", "3"]]), tmp_path)
    assert counters(tables, "device", DEVICE)["Load"] == [1.0]
    assert tables.notes.omitted["columns that repeat an earlier one"] == 1


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_encodings_and_line_ends_do_not_matter(encoding: str, line_end: str, tmp_path: Path, batch: Tables) -> None:
    text = BATCH.read_text().replace("\n", line_end).encode(encoding)
    tables = read_text(IMPORTER, text, tmp_path)
    assert tables.tables == batch.tables
    assert IMPORTER.recognise(Evidence(tmp_path / "evidence").head) > 0.9


def test_blocks_join_without_a_seam(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stamps = [f"{dt.datetime(2026, 11, 2) + dt.timedelta(seconds=7 * row):%m/%d/%Y %H:%M:%S}" for row in range(50)]
    names = [READS, rf"\\h\Physical Disk SCSI Device({DEVICE})\Load"]
    text = pdh_text(names, [[f"{row}.25", f"{row}.5"] for row in range(50)], stamps=stamps)
    whole = read_text(IMPORTER, text, tmp_path)
    monkeypatch.setattr("storscope.sources.importers._pdh._VALUES_PER_BLOCK", 1)
    parts = read_text(IMPORTER, text, tmp_path)
    assert parts.tables["timelines"].num_rows == 7
    assert parts.tables["observations"] == whole.tables["observations"]
    assert counters(parts, "device", DEVICE) == counters(whole, "device", DEVICE)


CELL = st.one_of(
    st.integers(0, 10**6).map(lambda cents: f"{cents / 100:.2f}"),
    st.sampled_from(["", " ", "x", "-1.#IND00"]),
)


@given(st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=2, max_size=12))
def test_values_are_conserved_and_absent_is_never_zero(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]
) -> None:
    names = [
        rf"\\h\Physical Disk SCSI Device({DEVICE})\{name}" for name in ("MBytes Read/sec", "Load", "World Q Depth")
    ]
    stamps = [f"11/02/2026 00:{minute:02d}:00" for minute in range(len(rows))]
    text = pdh_text(names, rows, stamps=stamps)
    tables = read_text(IMPORTER, text, tmp_path_factory.mktemp("conserved"))
    expected = [[float(cell) if cell.replace(".", "").isdigit() else None for cell in row] for row in rows]
    series = counters(tables, "device", DEVICE)
    # The first sample has no interval of its own and is left out.
    for column, name in ((1, "Load"), (2, "World Q Depth")):
        assert series[name] == [row[column] for row in expected[1:]]
    stored = [row["read_bytes_per_s"] for row in observed(tables, "device", DEVICE)]
    assert stored == [row[0] * 1024**2 for row in expected[1:] if row[0] is not None]
    absent = sum(value is None for row in expected for value in row)
    left_out = sum(count for reason, count in tables.notes.omitted.items() if "cells" in reason)
    assert left_out == absent


@pytest.mark.parametrize("cut", [60, 3000, 9000, 11_000])
def test_a_cut_file_gives_what_it_has_or_says_where_it_broke(cut: int, tmp_path: Path, batch: Tables) -> None:
    try:
        tables = read_text(IMPORTER, BATCH.read_bytes()[:cut], tmp_path)
    except MalformedInput as error:
        assert "line 1" in str(error)
    else:
        assert tables.tables["observations"].num_rows <= batch.tables["observations"].num_rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "only blank lines|no header"),
        (b'"(PDH-CSV 4.0) (UTC)(0)"\n', "found 0 others"),
        (b'"(PDH-CSV 4.0) (UTC)(0)","no path"\n"11/02/2026 00:00:00","1"\n', "found 1 others"),
        (b'"(PDH-CSV 4.0) (UTC)(0)","' + b"x" * 300 + b"\n", "closing quote"),
        (b'"(PDH-CSV 4.0)' + b"," * 1_100_000 + b"\n", "closing quote|1,000,000 columns"),
    ],
    ids=["empty", "clock only", "no counter", "open quote", "too wide"],
)
def test_what_is_no_capture_is_refused_with_a_reason(text: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match=f"(?i){said}"):
        read_text(IMPORTER, text, tmp_path)


def test_a_hundred_megabytes_in_one_line_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="64 MiB"):
        read_text(IMPORTER, b'"(PDH-CSV 4.0) (UTC)(0)","' + b"x" * 100 * 1024**2, tmp_path)


def test_a_file_that_is_gone_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "evidence"
    path.write_bytes(BATCH.read_bytes())
    evidence = Evidence(path)
    assert evidence.head.raw
    path.unlink()
    with pytest.raises(InputError, match="cannot read"):
        IMPORTER.read(evidence, Recorder(lambda _table, _batch: None), ImportOptions())


def test_windows_counters_are_left_to_their_own_importer(tmp_path: Path) -> None:
    path = tmp_path / "perfmon.csv"
    path.write_text(pdh_text([r"\\H\PhysicalDisk(0 C:)\Disk Reads/sec"], [["1"]]))
    assert IMPORTER.recognise(Evidence(path).head) == 0.0


# Stamps that lost their seconds: the truth is the same capture with them --------------------------------------------


def _lost_seconds(
    tmp_path: Path,
    moments: list[dt.datetime],
    options: ImportOptions | None = None,
    title: str = "(PDH-CSV 4.0) (UTC)(0)",
) -> tuple[Tables, list[tuple[dt.datetime, float]], list[tuple[dt.datetime, float]]]:
    """A copy of a capture whose stamps have only minutes; ends and lengths in it and in the capture."""
    rows = [["1"]] * len(moments)
    found = []
    for form in ("%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S.%f"):
        stamps = [f"{moment:{form}}" for moment in moments]
        tables = read_text(IMPORTER, pdh_text([READS], rows, title=title, stamps=stamps), tmp_path, options)
        ends = [
            (
                row["time"].replace(tzinfo=None) + dt.timedelta(seconds=row["duration_ns"] / 1e9),
                row["duration_ns"] / 1e9,
            )
            for row in observed(tables, "device", DEVICE)
        ]
        found.append((tables, ends))
    (copy, rebuilt), (_, true) = found
    assert len(rebuilt) == len(true) == len(moments) - 1
    return copy, rebuilt, true


_BEGIN = dt.datetime(2026, 11, 21, 1, 11, 26)


def _every(
    step_s: float, count: int, *, missing: range = range(0), pause_s: float = 0, pause_at: int = 0
) -> list[dt.datetime]:
    return [
        _BEGIN + dt.timedelta(seconds=row * step_s + (pause_s if pause_at and row >= pause_at else 0))
        for row in range(count)
        if row not in missing
    ]


@pytest.mark.parametrize("rows_in_a_block", [8, 16_384])
@pytest.mark.parametrize(("moments", "step_s", "pauses"), [
    (_every(1, 300), 1, 0),
    (_every(1, 300, pause_at=150, pause_s=1800), 1, 1),
    (_every(5, 300, pause_at=150, pause_s=90), 5, 1),
    (_every(7, 300), 7, 0),
    (_every(5.053, 3_000), 5.053, 0),
    (_every(20, 200, missing=range(50, 53)), 20, 1),
    (_every(90, 200), 90, 0),
    (_every(300, 100, missing=range(40, 41)), 300, 1),
    (_every(40, 200, pause_at=100, pause_s=7200), 40, 1),
])  # fmt: skip
def test_times_without_seconds_stay_within_their_printed_minute(
    moments: list[dt.datetime], step_s: float, pauses: int, rows_in_a_block: int,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.setattr("storscope.sources.importers._pdh._MAX_ROWS", rows_in_a_block)
    copy, rebuilt, true = _lost_seconds(tmp_path, moments)
    tolerance = dt.timedelta(seconds=min(step_s, 15))
    for (end, _), (real, _) in zip(rebuilt, true, strict=True):
        minute = real.replace(second=0, microsecond=0)
        assert minute - tolerance <= end < minute + dt.timedelta(minutes=1) + tolerance
    if rows_in_a_block == 16_384:
        lengths = [length for _, length in rebuilt]
        assert sum(length > 1.5 * step_s for length in lengths) == pauses
        assert sorted(lengths)[len(lengths) // 2] == pytest.approx(step_s, abs=2 * step_s / len(lengths))
        assert sum(lengths) == pytest.approx(sum(length for _, length in true), abs=2 * step_s)
        assert any("sampling paused" in warning for warning in copy.notes.warnings) == bool(pauses)


def test_a_pause_in_a_copy_without_seconds_is_said_and_moves_nothing_else(tmp_path: Path) -> None:
    moments = _every(1, 300, pause_at=150, pause_s=1800)
    for options in (None, ImportOptions(interval_s=1)):
        copy, rebuilt, true = _lost_seconds(tmp_path, moments, options)
        assert rebuilt == true
        (said,) = [warning for warning in copy.notes.warnings if "paused" in warning]
        assert "once" in said
        assert "30 min until 2026-11-21 01:43 UTC" in said


def test_an_interval_that_the_minutes_contradict_is_doubted(tmp_path: Path) -> None:
    copy, _, _ = _lost_seconds(tmp_path, _every(10, 100), ImportOptions(interval_s=5))
    assert any("a row every 10 s, not every 5 s" in warning for warning in copy.notes.warnings)


@pytest.mark.parametrize("options", [None, ImportOptions(timezone=zoneinfo.ZoneInfo("Europe/Berlin"))])
@pytest.mark.parametrize(("title", "begin", "jump_h"), [
    ("(PDH-CSV 4.0) (W. Europe Daylight Time)(-120)", dt.datetime(2026, 10, 25, 2, 40, 3), -1),
    ("(PDH-CSV 4.0) (W. Europe Standard Time)(-60)", dt.datetime(2026, 3, 29, 1, 40, 3), 1),
])  # fmt: skip
def test_without_seconds_a_change_of_summer_time_is_no_pause(
    title: str, begin: dt.datetime, jump_h: int, options: ImportOptions | None, tmp_path: Path
) -> None:
    true_local = [begin + dt.timedelta(seconds=15 * row) for row in range(160)]
    change = begin.replace(hour=3 if jump_h < 0 else 2, minute=0, second=0)
    moments = [moment + dt.timedelta(hours=jump_h if moment >= change else 0) for moment in true_local]
    copy, rebuilt, true = _lost_seconds(tmp_path, moments, options, title)
    assert {length for _, length in rebuilt} == {length for _, length in true} == {15.0}
    assert {true_end - end for (end, _), (true_end, _) in zip(rebuilt, true, strict=True)} == {dt.timedelta(seconds=3)}
    assert not any("paused" in warning for warning in copy.notes.warnings)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    step_s=st.sampled_from([1, 2, 5, 7, 10, 20, 30, 60, 120]),
    late_s=st.lists(st.floats(0, 0.3), min_size=60, max_size=200),
    pauses=st.dictionaries(st.integers(5, 199), st.integers(60, 100_000), max_size=3),
)
def test_no_row_is_further_from_its_minute_than_a_step(
    step_s: int, late_s: list[float], pauses: dict[int, int], tmp_path: Path
) -> None:
    moments, moment = [], _BEGIN
    for row, late in enumerate(late_s):
        moment += dt.timedelta(seconds=step_s + pauses.get(row, 0))
        moments.append(moment + dt.timedelta(seconds=late))
    _, rebuilt, true = _lost_seconds(tmp_path, moments)
    tolerance_s = min(max(step_s, statistics.median(length for _, length in rebuilt)), 15)
    for (end, _), (real, _) in zip(rebuilt, true, strict=True):
        away = end - real.replace(second=0, microsecond=0)
        assert -tolerance_s <= away.total_seconds() < 60 + tolerance_s
