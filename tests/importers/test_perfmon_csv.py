from __future__ import annotations

import zoneinfo
from pathlib import Path
from typing import Final

import pytest

from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence
from storscope.sources.importer import ImportOptions
from storscope.sources.importers import recognise
from storscope.sources.importers._perfmon_names import COUNTERS, OBJECTS, VIRTUAL_DISK_COUNTERS
from storscope.sources.importers.perfmon_csv import IMPORTER
from tests.support.golden import check_golden
from tests.support.pdh import counters, intervals, observed, pdh_text
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "perfmon_csv"
ALL = sorted(path for path in SAMPLES.iterdir() if path.suffix in {".csv", ".tsv"})


@pytest.mark.parametrize("sample", ALL, ids=lambda sample: sample.name)
def test_a_sample_yields_the_expected_tables(sample: Path) -> None:
    assert recognise(Evidence(sample).head) is IMPORTER
    check_golden(read_tables(IMPORTER, sample), sample.with_suffix(".expected.jsonl"))


@pytest.fixture(scope="module")
def relog() -> Tables:
    return read_tables(IMPORTER, SAMPLES / "relog.csv")


def test_latencies_are_in_seconds_and_keep_littles_law(relog: Tables) -> None:
    row = observed(relog, "device", "0 C:")[0]
    assert row["latency_ns_mean"] == pytest.approx(641_000)
    assert row["read_latency_ns_mean"] == pytest.approx(800_000)
    assert row["ops_per_s"] * row["latency_ns_mean"] / 1e9 == pytest.approx(row["queue_depth_mean"])


def test_busy_is_what_is_not_idle_and_never_disk_time(relog: Tables) -> None:
    rows = observed(relog, "device", "0 C:")
    assert rows[0]["busy_ratio"] == pytest.approx(0.0725)
    assert rows[1]["busy_ratio"] == 0.0, "100.02 % idle is the clock's jitter"
    assert relog.notes.omitted["idle shares above 100 %, taken as 100 %"] == 2
    assert counters(relog, "device", "0 C:")["% Disk Time"] == [None, 8.0125, 0.0]


def test_the_first_sample_of_a_rate_is_blank_and_becomes_no_data(relog: Tables) -> None:
    assert intervals(relog, "device", "1 D: E:") == [
        ("2026-11-02T10:00:00.125000", 10.012), ("2026-11-02T10:00:10.137000", 10.013),
    ]  # fmt: skip
    assert relog.notes.omitted["blank cells (the first sample of a rate is one)"] > 0
    assert counters(relog, "device", "0 C:")["Current Disk Queue Length"] == [0.0, 2.0, 0.0]


def test_sums_over_all_instances_are_counters_and_labelled(relog: Tables) -> None:
    assert not [row for row in relog.rows("observations") if row["entity"] == "_Total"]
    assert counters(relog, "device", "_Total")["Disk Reads/sec"] == [None, 93.75, 0.0]
    labels = {(row["kind"], row["entity"]): row["label"] for row in relog.rows("entities")}
    assert labels["device", "_Total"] == "sum of all instances"
    assert not [link for link in relog.links() if link[1] == "_Total"]


def test_volumes_lie_on_the_disk_that_names_them(relog: Tables) -> None:
    expected = {
        ("filesystem", "C:", "lives_on", "device", "0 C:"),
        ("filesystem", "D:", "lives_on", "device", "1 D: E:"),
        ("filesystem", "E:", "lives_on", "device", "1 D: E:"),
        ("partition", "HarddiskVolume1", "member_of", "host", "WIN-DB01"),
        ("filesystem", r"D:\mnt (x)", "member_of", "host", "WIN-DB01"),
    }
    assert expected <= relog.links()


def test_the_processor_is_the_hosts_and_its_second_form_a_counter(relog: Tables) -> None:
    assert [row["cpu_busy_ratio"] for row in observed(relog, "host", "WIN-DB01")] == pytest.approx([0.125, 0.13])
    series = counters(relog, "host", "WIN-DB01")
    assert series[r"Processor Information(_Total)\% Processor Time"] == [None, 12.6, 13.1]
    assert series[r"Memory\Available MBytes"] == [2048.0, 2047.0, 2046.0]


def test_a_remark_at_the_end_of_the_header_is_no_counter(relog: Tables) -> None:
    assert relog.notes.omitted["columns whose name is no counter path"] == 1
    assert "cells missing at the end of rows" not in relog.notes.omitted
    assert relog.notes.warnings == []


def test_typeperfs_blank_line_and_closing_words_are_no_rows() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "typeperf.csv")
    rows = observed(tables, "device", "0 C:")
    assert [row["read_ops_per_s"] for row in rows] == [17.066449, 0.0, 3.0]
    assert [row["read_latency_ns_mean"] for row in rows] == [pytest.approx(12_500_000), None, None]
    omitted = tables.notes.omitted
    assert omitted["lines that are messages of the tool, or have no time stamp"] == 2
    assert omitted["cells that are no number"] == 1
    assert omitted["impossible values: negative, or a counter that wrapped"] == 1
    assert "cells missing at the end of rows" not in omitted
    assert tables.notes.clock == "no zone in the source; taken as UTC (set --timezone)"


def test_german_names_in_windows_1252_with_decimal_commas() -> None:
    row = observed(read_tables(IMPORTER, SAMPLES / "german_decimal_comma.csv"), "device", "0 C:")[0]
    assert (row["read_ops_per_s"], row["write_ops_per_s"], row["read_bytes_per_s"]) == (10.5, 20.25, 43008.0)
    assert row["read_latency_ns_mean"] == pytest.approx(12_500_000)
    assert row["busy_ratio"] == pytest.approx(0.045)


_READS: Final = r"\\H\PhysicalDisk(0 C:)\Disk Reads/sec"


def reads(tables: Tables) -> list[float | None]:
    """The reads per second of the disk, in order of time."""
    return [row["read_ops_per_s"] for row in observed(tables, "device", "0 C:")]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_idle_counters_do_not_outvote_a_decimal_comma(separator: str, tmp_path: Path) -> None:
    idle = [rf"\\H\PhysicalDisk({number} X:)\Disk Reads/sec" for number in range(1, 40)]
    rows = [["0", *["0"] * 39], ["120,5", *["0"] * 38, " "], ["7", *["0"] * 39]]
    tables = read_text(IMPORTER, pdh_text([_READS, *idle], rows, separator=separator), tmp_path)
    assert reads(tables) == [0.0, 120.5, 7.0]
    assert tables.notes.warnings == []


def test_a_decimal_comma_that_comes_late_is_taken_from_then_on(tmp_path: Path) -> None:
    rows = [["0"]] * 16_500 + [["85,25"]] * 3
    stamps = [f"11/02/2026 {at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}" for at in range(len(rows))]
    tables = read_text(IMPORTER, pdh_text([_READS], rows, stamps=stamps), tmp_path)
    assert reads(tables)[-4:] == [0.0, 85.25, 85.25, 85.25]
    assert "cells that are no number" not in tables.notes.omitted


def test_commas_among_points_are_left_out_and_said(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, pdh_text([_READS], [["999.50"], ["1,234"], ["12.25"]]), tmp_path)
    assert reads(tables) == [999.5, 12.25]
    assert tables.notes.omitted["cells that are no number"] == 1
    assert any("1 cells have a decimal comma" in warning for warning in tables.notes.warnings)


def test_czech_names_in_utf_16_with_tabs() -> None:
    tables = read_tables(IMPORTER, SAMPLES / "czech_utf16.tsv")
    assert [row["read_ops_per_s"] for row in observed(tables, "device", "0 C:")] == [10.5, 11.5]
    assert [row["read_ops_per_s"] for row in observed(tables, "device", "1 D:")] == [7.0, 8.0]


def test_no_translation_stands_for_two_counters() -> None:
    for names in (OBJECTS, COUNTERS, VIRTUAL_DISK_COUNTERS):
        spelled = [name.casefold() for english, others in names.items() for name in {english, *others}]
        assert len(spelled) == len(set(spelled))


def test_a_log_without_disks_says_so(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, pdh_text([r"\\H\Process(x)\Private Bytes"], [["1"], ["2"]]), tmp_path)
    [said] = [warning for warning in tables.notes.warnings if "No disk" in warning]
    assert "which are of Process" in said
    assert counters(tables, "process", "x") == {"Private Bytes": [1.0, 2.0]}


_VHDX: Final = "C:-ClusterStorage-Volume1-vm01-disk0.vhdx"


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("Hyper-V Virtual Storage Device", ("Read Operations/Sec", "Write Bytes/sec", "Latency", "Queue Length")),
        (
            "Virtuelles Hyper-V-Speichergerät",
            ("Lesevorgänge/s", "Bytes geschrieben/s", "Latenz", "Warteschlangenlänge"),
        ),
    ],
)
def test_virtual_disks_of_hyper_v_are_disks_of_vms(group: str, names: tuple[str, ...], tmp_path: Path) -> None:
    columns = [rf"\\HV01\{group}({_VHDX})\{name}" for name in (*names, "Normalized Throughput")]
    columns.append(rf"\\HV01\{group}(_Total)\{names[0]}")
    tables = read_text(IMPORTER, pdh_text(columns, [["50", "8192", "0.002", "0.1", "60", "90"]] * 3), tmp_path)
    row = observed(tables, "vm_disk", _VHDX)[-1]
    assert (row["read_ops_per_s"], row["write_bytes_per_s"], row["queue_depth_mean"]) == (50.0, 8192.0, 0.1)
    assert row["latency_ns_mean"] == pytest.approx(2_000_000)
    assert counters(tables, "vm_disk", _VHDX) == {"Normalized Throughput": [60.0] * 3}
    assert not observed(tables, "vm_disk", "_Total"), "a sum would count twice"
    assert not tables.notes.warnings


@pytest.mark.parametrize(
    ("name", "volumes"),
    [(_VHDX, {r"C:\ClusterStorage\Volume1"}), ("C:-ClusterStorage-SSD-A-vm.vhdx", set()), ("D:-vm-a.vhdx", set())],
)
def test_a_virtual_disk_lies_on_the_volume_that_its_path_surely_names(
    name: str, volumes: set[str], tmp_path: Path
) -> None:
    column = rf"\\HV01\Hyper-V Virtual Storage Device({name})\Read Operations/Sec"
    tables = read_text(IMPORTER, pdh_text([column], [["50"]] * 3), tmp_path)
    links = [row for row in tables.rows("links") if row["relation"] == "lives_on"]
    assert {row["target"] for row in links} == volumes


def test_a_lone_sample_has_no_length_unless_it_is_said(tmp_path: Path) -> None:
    text = pdh_text([_READS], [["5"]])
    alone = read_text(IMPORTER, text, tmp_path)
    assert alone.rows("observations") == alone.rows("series") == []
    assert alone.notes.omitted["samples of unknown length"] == 1
    assert any("--interval" in warning for warning in alone.notes.warnings)
    said = read_text(IMPORTER, text, tmp_path, ImportOptions(interval_s=10))
    assert intervals(said, "device", "0 C:") == [("2026-11-01T23:59:50", 10.0)]


_SUMMER, _WINTER = "(W. Europe Daylight Time)(-120)", "(W. Europe Standard Time)(-60)"
_BERLIN: Final = ImportOptions(timezone=zoneinfo.ZoneInfo("Europe/Berlin"))
_AUTUMN: Final = [f"10/25/2026 {time}" for time in ("02:59:30", "02:59:45", "02:00:00", "02:00:15", "03:00:15")]
_SPRING: Final = [f"03/29/2026 {time}" for time in ("01:59:30", "01:59:45", "03:00:00", "03:00:15", "03:00:30")]


@pytest.mark.parametrize("options", [None, _BERLIN])
@pytest.mark.parametrize(
    ("zone", "stamps", "first", "lengths"),
    [
        (_SUMMER, _AUTUMN, "2026-10-25T00:59:15", [15, 15, 15, 15, 3600]),
        (_WINTER, _SPRING, "2026-03-29T00:59:15", [15] * 5),
    ],
)  # fmt: skip
def test_a_change_of_summer_time_is_no_gap_and_no_step_back(
    zone: str, stamps: list[str], first: str, lengths: list[int], options: ImportOptions | None, tmp_path: Path
) -> None:
    rows = [[str(number)] for number in range(5)]
    tables = read_text(
        IMPORTER, pdh_text([_READS], rows, title=f"(PDH-CSV 4.0) {zone}", stamps=stamps), tmp_path, options
    )
    found = intervals(tables, "device", "0 C:")
    assert found[0][0] == first
    assert [length for _, length in found] == lengths
    assert [row["read_ops_per_s"] for row in observed(tables, "device", "0 C:")] == [0, 1, 2, 3, 4]
    if options is None:
        (warning,) = tables.notes.warnings
        assert "taken as a change of summer time" in warning
    else:
        assert (tables.notes.warnings, "Europe/Berlin" in (tables.notes.clock or "")) == ([], True)


def test_without_a_zone_the_repeated_hour_is_told_by_the_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("storscope.sources.importers._pdh._VALUES_PER_BLOCK", 1)
    stamps = [f"10/25/2026 {hour:02d}:{minute:02d}:00" for hour in (1, 2, 2, 3) for minute in range(0, 60, 2)]
    text = pdh_text([_READS], [["1"]] * len(stamps), title="(PDH-CSV 4.0)", stamps=stamps)
    for options, start in ((_BERLIN, "2026-10-24T22:58:00"), (None, "2026-10-25T00:58:00")):
        found = intervals(read_text(IMPORTER, text, tmp_path, options), "device", "0 C:")
        assert found[0][0] == start
        assert {length for _, length in found} == {120.0}
        assert len({start for start, _ in found}) == len(stamps)


@pytest.mark.parametrize(
    ("zone", "stamps"),
    [
        ("(UTC)(0)", _SPRING),
        (_WINTER, [stamp.replace(" 01", " 11").replace(" 03", " 13") for stamp in _SPRING]),
        (_WINTER, [stamp.replace("3:00:", "3:10:") for stamp in _SPRING]),
    ],
)  # fmt: skip
def test_another_step_of_an_hour_is_a_gap(zone: str, stamps: list[str], tmp_path: Path) -> None:
    text = pdh_text([_READS], [["1"]] * 5, title=f"(PDH-CSV 4.0) {zone}", stamps=stamps)
    assert max(length for _, length in intervals(read_text(IMPORTER, text, tmp_path), "device", "0 C:")) > 3600


def test_stamps_that_nobody_knows_are_left_out_and_said(tmp_path: Path) -> None:
    text = pdh_text([r"\\H\PhysicalDisk(0 C:)\Disk Reads/sec"], [["1"], ["2"], ["3"]],
                    stamps=["11/02/2026 00:00:00", "day 3, 7 o'clock", "11/02/2026 00:00:10"])  # fmt: skip
    tables = read_text(IMPORTER, text, tmp_path)
    assert [row["read_ops_per_s"] for row in observed(tables, "device", "0 C:")] == [1.0, 3.0]
    assert tables.notes.omitted["rows whose time stamp has an unknown form"] == 1
    assert any("line 3" in warning and "7 o'clock" in warning for warning in tables.notes.warnings)


def test_binary_garbage_after_the_header_is_counted_not_raised(tmp_path: Path) -> None:
    text = pdh_text([r"\\H\PhysicalDisk(0 C:)\Disk Reads/sec"], [["1"], ["2"]]).encode() + bytes(range(256)) * 20
    tables = read_text(IMPORTER, text, tmp_path)
    assert [row["read_ops_per_s"] for row in observed(tables, "device", "0 C:")] == [1.0, 2.0]
    assert sum(tables.notes.omitted.values()) > 0


def test_a_header_that_breaks_off_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="closing quote"):
        read_text(IMPORTER, (SAMPLES / "relog.csv").read_bytes()[:500], tmp_path)


def test_a_german_spreadsheet_may_keep_the_milliseconds(tmp_path: Path) -> None:
    stamps = [f"21.11.2026 01:11:{second}" for second in (26, 31, 36)]
    rows = [["1"], ["2"], ["3"]]
    plain = read_text(IMPORTER, pdh_text([_READS], rows, stamps=stamps), tmp_path)
    with_ms = read_text(IMPORTER, pdh_text([_READS], rows, stamps=[f"{stamp}.250" for stamp in stamps]), tmp_path)
    assert intervals(with_ms, "device", "0 C:")[0] == ("2026-11-21T01:11:21.250000", 5.0)
    assert len(intervals(with_ms, "device", "0 C:")) == len(intervals(plain, "device", "0 C:")) == 3
    assert with_ms.notes.omitted == plain.notes.omitted
