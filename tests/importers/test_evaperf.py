"""Both forms of evaperf: they share everything but where a column begins."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._evaperf_columns import columns_of, number
from storscope.sources.importers.evaperf_csv import IMPORTER as CSV
from storscope.sources.importers.evaperf_text import IMPORTER as TEXT
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

HERE = Path(__file__).parent
VD_TEXT = HERE / "evaperf_text" / "eva4400_vd.txt"
OBJECTS_TEXT = HERE / "evaperf_text" / "eva4400_all_objects.txt"
VD_CSV = HERE / "evaperf_csv" / "eva6400_vd.csv"
BARE_CSV = HERE / "evaperf_csv" / "bare_headings_no_times.csv"
SAMPLES = [(TEXT, VD_TEXT), (TEXT, OBJECTS_TEXT), (CSV, VD_CSV), (CSV, BARE_CSV)]
HEADINGS = ("Name,Ctlr,Online To,Wr Mode,Read Hit Req/s,Read Hit MB/s,Read Hit Latency (ms),Read Miss Req/s,"
            "Read Miss MB/s,Read Miss Latency (ms),Write Req/s,Write MB/s,Write Latency (ms)")  # fmt: skip


def rows_of(tables: Tables, kind: str, entity: str) -> list[dict[str, Any]]:
    return [row for row in tables.rows("observations") if (row["kind"], row["entity"]) == (kind, entity)]


def counter_names(tables: Tables, entity: str) -> set[str]:
    return {row["name"] for row in tables.rows("series") if row["entity"] == entity}


@pytest.mark.parametrize(("importer", "sample"), SAMPLES, ids=lambda value: getattr(value, "stem", ""))
def test_every_sample_yields_the_expected_tables(importer: Any, sample: Path) -> None:
    check_golden(read_tables(importer, sample), sample.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize(("importer", "sample"), SAMPLES, ids=lambda value: getattr(value, "stem", ""))
def test_each_form_is_recognised_by_its_own_importer_only(importer: Any, sample: Path) -> None:
    other = CSV if importer is TEXT else TEXT
    assert importer.recognise(Evidence(sample).head) >= 0.8
    assert other.recognise(Evidence(sample).head) < 0.5


@pytest.mark.parametrize(
    "text",
    [
        b"", b"\0\1\2", b"Time,Read,Write\n1,2,3\n",
        b'"(PDH-CSV 4.0)","\\\\HOST\\PhysicalDisk(_Total)\\Disk Reads/sec"\n',
        b"'Target Type,Target Name,IOps,Read IOps,Write IOps\nALL,All,1,2,3\n", b'"' + b"a,b;" * 60_000,
        b"Device            r/s     rkB/s     w/s     wkB/s  aqu-sz  %util\nsda 1.0 2.0 3.0 4.0 5.0 6.0\n",
    ],
)  # fmt: skip
def test_other_text_is_not_recognised(text: bytes) -> None:
    assert CSV.recognise(Head("x", text, "utf-8")) < 0.5
    assert TEXT.recognise(Head("x", text, "utf-8")) < 0.5


def test_a_volume_is_the_sum_of_its_two_rows_weighted_by_operations() -> None:
    row = rows_of(read_tables(TEXT, VD_TEXT), "vdisk", "ESX\\vmfs 01")[0]
    assert row["read_ops_per_s"] == 5 + 12 + 20 + 48
    assert row["write_ops_per_s"] == 40 + 10
    assert row["write_bytes_per_s"] == pytest.approx((0.33 + 0.08) * 1_000_000)
    milliseconds = (5 * 0.3 + 12 * 9.5 + 20 * 0.5 + 48 * 11.5) / 85
    assert row["read_latency_ns_mean"] == pytest.approx(milliseconds * 1_000_000)
    assert row["write_latency_ns_mean"] == pytest.approx((40 * 2.5 + 10 * 4.0) / 50 * 1_000_000)
    assert row["read_hit_ratio"] == pytest.approx(25 / 85)


def test_what_the_other_controller_counts_was_forwarded() -> None:
    tables = read_tables(TEXT, VD_TEXT)
    vmfs = rows_of(tables, "vdisk", "ESX\\vmfs 01")
    # In the third sample the volume is on line to B, so it is A's row that was forwarded.
    assert [row["forwarded_per_s"] for row in vmfs] == [20 + 48 + 10, 30 + 48 + 10, 5 + 12 + 40]
    assert [row["forwarded_per_s"] for row in rows_of(tables, "vdisk", "Windows\\DW data")] == [0.0] * 3


def test_without_a_row_of_the_other_controller_forwarding_is_unknown_not_zero() -> None:
    rows = rows_of(read_tables(TEXT, VD_TEXT), "vdisk", "ESX\\<script>alert(1)</script>")
    assert [row["forwarded_per_s"] for row in rows] == [None] * 3
    assert [row["read_latency_ns_mean"] for row in rows] == [None] * 3


def test_the_published_load_of_a_field_report() -> None:
    """2,844 IOPS of 64 KB, half reads, at about 18.5 ms: Little's law gives some 51 operations in flight."""
    row = rows_of(read_tables(TEXT, VD_TEXT), "vdisk", "Windows\\DW data")[0]
    assert row["read_ops_per_s"] + row["write_ops_per_s"] == 2844
    in_flight = (row["read_ops_per_s"] * row["read_latency_ns_mean"]
                 + row["write_ops_per_s"] * row["write_latency_ns_mean"]) / 1e9  # fmt: skip
    assert in_flight == pytest.approx(51.2, abs=0.2)


def test_samples_are_placed_by_their_times() -> None:
    rows = rows_of(read_tables(TEXT, VD_TEXT), "vdisk", "Windows\\DW data")
    assert [row["time"] for row in rows] == [
        dt.datetime(2009, 11, 20, 22, 0, second, tzinfo=dt.UTC) for second in (0, 20, 40)
    ]
    assert {row["duration_ns"] for row in rows} == {20_000_000_000}


def test_without_times_start_and_interval_place_them() -> None:
    start = dt.datetime(2009, 11, 20, 22, tzinfo=dt.UTC)
    tables = read_tables(CSV, BARE_CSV, ImportOptions(start=start, interval_s=20, system="EVA6400"))
    rows = rows_of(tables, "vdisk", "vol1")
    assert [row["time"] for row in rows] == [start, start + dt.timedelta(seconds=20)]
    assert {row["system"] for row in rows} == {"EVA6400"}
    assert tables.notes.clock is not None and "rebuilt" in tables.notes.clock


def test_a_change_of_owner_or_write_mode_is_an_event_and_the_last_state_a_fact() -> None:
    tables = read_tables(TEXT, VD_TEXT)
    events = {row["type"]: dict(row["attributes"]) for row in tables.rows("events")}
    assert events == {
        "ownership_changed": {"owner": "B", "was": "A"}, "cache_policy_changed": {"policy": "WT", "was": "WB"},
    }  # fmt: skip
    facts = tables.facts("vdisk", "ESX\\vmfs 01")
    assert (facts["online_to"], facts["write_mode"], facts["lun"]) == ("B", "WT", "1")
    assert "lun" not in tables.facts("vdisk", "ESX\\<script>alert(1)</script>")


def test_links_say_what_is_shared() -> None:
    links = read_tables(TEXT, VD_TEXT).links() | read_tables(TEXT, OBJECTS_TEXT).links()
    assert ("vdisk", "Windows\\DW data", "owned_by", "controller", "A") in links
    assert ("vdisk", "Windows\\DW data", "lives_on", "disk_group", "DG 1") in links
    assert ("disk", "Rack 1\\Disk 001", "member_of", "disk_group", "DG 1") in links
    assert ("controller", "A", "member_of", "array", "EVA4400-01") in links


def test_every_object_becomes_its_kind() -> None:
    tables = read_tables(TEXT, OBJECTS_TEXT)
    (array,) = rows_of(tables, "array", "EVA4400-01")
    assert (array["ops_per_s"], array["bytes_per_s"]) == (2980.0, 187_210_000.0)
    assert rows_of(tables, "controller", "A")[0]["cpu_busy_ratio"] == pytest.approx(0.71)
    assert "Data %" in counter_names(tables, "A")
    disk = rows_of(tables, "disk", "Rack 1\\Disk 001")[0]
    assert disk["queue_depth_mean"] == 15.0
    assert disk["latency_ns_mean"] == pytest.approx((135 * 38500 + 2 * 9000) / 137 * 1000)
    assert rows_of(tables, "disk_group", "DG 1")[0]["read_ops_per_s"] == 85 + 1354 + 20 + 48


def test_the_back_end_of_a_group_is_not_added_to_its_front_end() -> None:
    tables = read_tables(TEXT, OBJECTS_TEXT)
    assert len(rows_of(tables, "disk_group", "DG 1")) == 1
    assert "back end Drive Latency (us)" in counter_names(tables, "DG 1")


def test_tables_of_other_objects_are_counted() -> None:
    assert any("host ports" in reason for reason in read_tables(TEXT, OBJECTS_TEXT).notes.omitted) or any(
        "outside the tables" in reason for reason in read_tables(TEXT, OBJECTS_TEXT).notes.omitted
    )


def test_every_number_of_every_row_is_kept_by_controller() -> None:
    tables = read_tables(CSV, BARE_CSV)
    values = {row["name"]: row["values"] for row in tables.rows("series")}
    assert values["Write Latency via 1"] == [2.5, 2.6]
    assert values["Read Miss MB/s via 2"] == [0.39, 0.39]
    assert len(values) == 2 * 9


@pytest.mark.parametrize(
    ("heading", "key", "factor", "stated"),
    [
        ("Read Hit Latency (us)", "read_hit_latency", 1e3, True), ("Read Hit Latency", "read_hit_latency", 1e6, False),
        ("Read Miss Latency(ms)", "read_miss_latency", 1e6, True), ("Write Data Rate MB/s", "write_bytes", 1e6, True),
        ("Write KB/s", "write_bytes", 1e3, True), ("Mirror MB/s", "mirror_bytes", 1e6, True),
        ("Mirr", "mirrored", 1, True), ("Wr Mode", "write_mode", 1, True), ("CPU %", "cpu_percent", 0.01, True),
        ("% Data Transfer", "data_percent", 0.01, True), ("Drive Queue Depth", "queue_depth", 1, True),
        ("\\\\HOST\\Memory\\MB/s", None, 1, True),
    ],
)  # fmt: skip
def test_headings_are_read_by_their_words(heading: str, key: str | None, factor: float, stated: bool) -> None:
    (column,) = columns_of([heading])
    assert (column.key, column.factor, column.unit_is_stated) == (key, factor, stated)


def test_a_latency_without_a_unit_is_doubted() -> None:
    assert any("Little" in warning for warning in read_tables(CSV, BARE_CSV).notes.warnings)
    assert not read_tables(TEXT, VD_TEXT).notes.warnings


def test_columns_in_any_order_say_the_same(tmp_path: Path) -> None:
    lines = ["vol1,A,A,WB,5,0.04,0.3,12,0.1,9.5,40,0.33,2.5", "vol1,B,A,WB,20,0.16,0.5,48,0.39,11.5,10,0.08,4"]
    table = [line.split(",") for line in (HEADINGS, *lines)]
    turned = "\n".join(",".join(reversed(cells)) for cells in table) + "\n"
    straight = read_text(CSV, "\n".join((HEADINGS, *lines)) + "\n", tmp_path).rows("observations")
    assert read_text(CSV, turned, tmp_path).rows("observations") == straight


def test_an_owner_that_is_no_controller_leaves_forwarding_unknown(tmp_path: Path) -> None:
    lines = ["vol1,A,5000-1FE1,WB,5,0.04,0.3,12,0.1,9.5,40,0.33,2.5", "vol1,B,5000-1FE1,WB,2,0,0,4,0,1,1,0,4"]
    tables = read_text(CSV, "\n".join((HEADINGS, *lines)) + "\n", tmp_path)
    assert tables.rows("observations")[0]["forwarded_per_s"] is None
    assert any("Online To" in warning for warning in tables.notes.warnings)


def test_an_empty_cell_is_absent(tmp_path: Path) -> None:
    tables = read_text(CSV, HEADINGS + "\nvol1,A,A,WB,5,,0.3,,,,40,0.33,\n", tmp_path)
    (row,) = tables.rows("observations")
    assert row["read_bytes_per_s"] is None and row["write_latency_ns_mean"] is None
    assert row["read_hit_ratio"] is None
    assert row["write_ops_per_s"] == 40.0


def test_a_name_keeps_its_comma_and_quotes() -> None:
    assert rows_of(read_tables(CSV, VD_CSV), "vdisk", 'SQL, "tempdb"')[0]["forwarded_per_s"] == 50.0


@pytest.mark.parametrize(("importer", "sample"), SAMPLES, ids=lambda value: getattr(value, "stem", ""))
def test_encodings_and_line_ends_change_nothing(importer: Any, sample: Path, tmp_path: Path) -> None:
    text = sample.read_bytes().decode().replace("\r\n", "\n")
    expected = read_tables(importer, sample).rows("observations")
    for variant in (text.encode(), text.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + text.encode(),
                    text.encode("utf-16")):  # fmt: skip
        assert read_text(importer, variant, tmp_path).rows("observations") == expected


@pytest.mark.parametrize("importer", [TEXT, CSV], ids=["text", "csv"])
@pytest.mark.parametrize("text", ["", "nothing\n", "\x00\x01\x02", "1,80,5.24,0.4,1342,87.95\n" * 3])
def test_what_has_no_heading_is_refused(importer: Any, text: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="without -nh"):
        read_text(importer, text, tmp_path)


@pytest.mark.parametrize("cut", [5, 60, 200])
def test_a_cut_csv_loses_only_its_last_row(cut: int, tmp_path: Path) -> None:
    whole = read_tables(CSV, VD_CSV).rows("observations")
    found = read_text(CSV, VD_CSV.read_bytes()[:-cut], tmp_path).rows("observations")
    assert found[:2] == whole[:2]
    assert {row["entity"] for row in found} <= {row["entity"] for row in whole}


RATES = st.integers(0, 100_000)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rates=st.tuples(*[RATES] * 6), latencies=st.tuples(*[st.integers(0, 500)] * 6))
def test_operations_and_time_in_flight_are_conserved(
    rates: tuple[int, ...], latencies: tuple[int, ...], tmp_path: Path
) -> None:
    """What the rows hold together is in the observation: operations, and operations x latency."""
    lines = []
    for place, controller in enumerate("AB"):
        hit, miss, write = rates[3 * place : 3 * place + 3]
        of_hit, of_miss, of_write = latencies[3 * place : 3 * place + 3]
        lines.append(f"vol1,{controller},A,WB,{hit},0,{of_hit},{miss},0,{of_miss},{write},0,{of_write}")
    (row,) = read_text(CSV, "\n".join((HEADINGS, *lines)) + "\n", tmp_path).rows("observations")
    reads = rates[0] + rates[1] + rates[3] + rates[4]
    assert row["read_ops_per_s"] == reads
    assert row["forwarded_per_s"] == sum(rates[3:])
    in_flight = sum(rates[place] * latencies[place] for place in (0, 1, 3, 4)) * 1e6
    assert (row["read_latency_ns_mean"] is None) == (reads == 0)
    assert (row["read_latency_ns_mean"] or 0.0) * reads == pytest.approx(in_flight)


def test_a_damaged_date_and_a_negative_number_are_left_out(tmp_path: Path) -> None:
    rows = [
        ("2026-11-20 22:00:10", "1.00"), ("9926-11-20 22:00:20", "1.00"), ("2026-11-20 22:00:30", "-3.00"),
    ]  # fmt: skip
    text = "Time,ID,Read Hit Req/s,Read Miss Req/s,Write Req/s,Online To,Ctlr\n" + "".join(
        f"{stamp},vd1,1,2,{writes},A,A\n" for stamp, writes in rows
    )
    tables = read_text(CSV, text, tmp_path)
    assert [row["write_ops_per_s"] for row in tables.rows("observations")] == [1.0, None]
    assert tables.notes.omitted["rows whose time stamp is no date"] == 1
    assert tables.notes.omitted["negative numbers: a counter was reset or wrapped"] == 1
    assert "no times" not in (tables.notes.clock or "")


def test_a_number_that_begins_with_0_has_a_decimal_comma_and_no_thousands() -> None:
    assert [number(text) for text in ("0,123", "1,234", "12,5", "1,234.5")] == [0.123, 1234.0, 12.5, 1234.5]


def test_behind_semicolons_a_comma_is_decimal_in_every_cell() -> None:
    assert [number(text, decimal_comma=True) for text in ("100,000", "0,234", "1.234,5", "17", "2.5")] == [
        100.0, 0.234, 1_234.5, 17.0, 2.5,
    ]  # fmt: skip
    assert number("100,000") == 100_000.0


def test_a_table_behind_semicolons_is_that_behind_commas(tmp_path: Path) -> None:
    heading = "ID;Read Hit Req/s;Read Miss Req/s;Write Req/s;Write Latency (ms);Ctlr;Online To;Name;Time"
    rows = "1;10,000;100,000;50,000;2,500;A;A;\\Virtual Disks\\SQL;11/20/2026 10:00:00"
    german = read_text(CSV, f"{heading}\n{rows}\n", tmp_path).rows("observations")
    english = f"{heading}\n{rows}\n".replace(",", ".").replace(";", ",")
    assert german == read_text(CSV, english, tmp_path).rows("observations")
    assert german[0]["write_ops_per_s"] == 50.0


def _with_decimals(cell: str, comma: str) -> str:
    return f"{float(cell):.3f}".replace(".", comma) if re.fullmatch(r"[0-9]+[.][0-9]+", cell) else cell


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_three_decimals_behind_a_comma_are_no_thousands_whatever_separates_them(separator: str, tmp_path: Path) -> None:
    written = io.StringIO()
    cells = list(csv.reader(VD_CSV.read_text().splitlines()))
    csv.writer(written, delimiter=separator).writerows([_with_decimals(cell, ",") for cell in row] for row in cells)
    tables, expected = read_text(CSV, written.getvalue(), tmp_path), read_tables(CSV, VD_CSV)
    assert tables.rows("observations") == expected.rows("observations")
    assert tables.notes.warnings == expected.notes.warnings
    assert tables.notes.omitted == expected.notes.omitted


def test_three_decimals_behind_a_comma_in_text_are_no_thousands(tmp_path: Path) -> None:
    text = re.sub(r"(?<=[0-9])\.(?=[0-9])", ",", VD_TEXT.read_text().replace(" 5.90 ", "5.900 "))
    expected = read_tables(TEXT, VD_TEXT)
    tables = read_text(TEXT, text, tmp_path)
    assert tables.rows("observations") == expected.rows("observations")
    assert not tables.notes.warnings


@pytest.mark.parametrize(("separator", "writes", "is_doubted"), [
    (",", 1_500, True), ("\t", 1.5, True), (";", 1.5, False),
])  # fmt: skip
def test_where_no_number_tells_what_a_comma_is_the_guess_is_said(
    separator: str, writes: float, is_doubted: bool, tmp_path: Path
) -> None:
    table = ["ID", "Read Hit Req/s", "Read Miss Req/s", "Write Req/s", "Online To", "Ctlr"], [
        "vd1", "1", "2", "1,500", "A", "A",
    ]  # fmt: skip
    written = io.StringIO()
    csv.writer(written, delimiter=separator).writerows(table)
    tables = read_text(CSV, written.getvalue(), tmp_path)
    assert [row["write_ops_per_s"] for row in tables.rows("observations")] == [writes]
    assert any(f"1,500 was taken as {writes:g}" in warning for warning in tables.notes.warnings) == is_doubted


_EVERY_20_S = range(0, 120, 20)


def test_two_arrays_in_one_file_have_intervals_of_their_own(tmp_path: Path) -> None:
    rows = "".join(
        f"20/11/2009 22:{second // 60:02d}:{second % 60:02d},{node},vol1,A,A,WB,5,0.04,0.3,12,0.1,9.5,40,0.33,2.5\n"
        for at in _EVERY_20_S
        for node, second in (("EVA1", at), ("EVA2", at + 7))
    )
    found = read_text(CSV, f"Time,Node,{HEADINGS}\n{rows}", tmp_path).rows("observations")
    assert {row["duration_ns"] for row in found} == {20_000_000_000}
    begin = dt.datetime(2009, 11, 20, 21, 59, 40, tzinfo=dt.UTC)
    for system, late_s in (("EVA1", 0), ("EVA2", 7)):
        times = [row["time"] for row in found if row["system"] == system]
        assert times == [begin + dt.timedelta(seconds=late_s + at) for at in _EVERY_20_S]


def test_two_objects_with_times_of_their_own_have_intervals_of_their_own(tmp_path: Path) -> None:
    tables = OBJECTS_TEXT.read_text()
    text = ""
    volumes = VD_TEXT.read_text().split("\n\n")[2]
    controllers = next(part for part in tables.split("\n\n") if part.lstrip().startswith("CPU"))
    for at in _EVERY_20_S:
        for table, second in ((volumes, at), (controllers, at + 3)):
            text += f"11/20/2009 10:{second // 60:02d}:{second % 60:02d} PM\n\n{table}\n\n"
    found = read_text(TEXT, text, tmp_path)
    for kind in ("vdisk", "controller"):
        rows = [row for row in found.rows("observations") if row["kind"] == kind]
        assert {row["duration_ns"] for row in rows} == {20_000_000_000}
        assert len({row["time"] for row in rows}) == len(_EVERY_20_S)
    assert not found.notes.warnings


@pytest.mark.parametrize(("importer", "sample", "volume", "line"), [
    (TEXT, VD_TEXT, "ESX\\vmfs 01", -2), (CSV, VD_CSV, 'SQL, "tempdb"', -1), (CSV, VD_CSV, 'SQL, "tempdb"', 4),
])  # fmt: skip
def test_what_is_left_when_the_row_of_a_controller_is_lost_is_no_load_of_the_volume(
    importer: Any, sample: Path, volume: str, line: int, tmp_path: Path
) -> None:
    lines = sample.read_text().rstrip("\n").split("\n")
    del lines[line]
    whole = read_tables(importer, sample)
    tables = read_text(importer, "\n".join(lines) + "\n", tmp_path)
    kept = rows_of(tables, "vdisk", volume)
    assert len(kept) == len(rows_of(whole, "vdisk", volume)) - 1
    assert all(row in rows_of(whole, "vdisk", volume) for row in kept)
    reason = "samples of a disk that lack the row of a controller (its rows are kept as counters)"
    assert tables.notes.omitted[reason] == 1
    values = {row["name"]: len(row["values"]) for row in tables.rows("series") if row["entity"] == volume}
    assert [values[f"Write MB/s via {controller}"] for controller in "AB"] == [len(kept) + 1, len(kept)]


def test_a_cell_that_is_no_number_leaves_no_part_of_a_volume_behind(tmp_path: Path) -> None:
    text = VD_CSV.read_text().replace("22:00:20,7,10,", "22:00:20,7,**,")
    rows = rows_of(read_text(CSV, text, tmp_path), "vdisk", 'SQL, "tempdb"')
    assert [row["read_ops_per_s"] for row in rows] == [31.0]


def test_a_controller_that_stays_away_has_no_part_in_the_load(tmp_path: Path) -> None:
    """From the third sample on there are only rows of A, as after a fail-over."""
    both = ["vol1,A,A,WB,5,0.04,0.3,12,0.1,9.5,40,0.33,2.5", "vol1,B,A,WB,20,0.16,0.5,48,0.39,11.5,10,0.08,4"]
    rows = [f"22:00:{at},{row}\n" for at in (10, 20, 30, 40) for row in (both if at < 30 else both[:1])]
    tables = read_text(CSV, f"Time,{HEADINGS}\n" + "".join(f"20/11/2009 {row}" for row in rows), tmp_path)
    assert [row["write_ops_per_s"] for row in tables.rows("observations")] == [50, 50, 40, 40]
    assert not tables.notes.omitted


_SEVERAL = {
    "vol1": ("vol1,A,A,WB,5,0.04,0.3,12,0.1,9.5,40,0.33,2.5", "vol1,B,A,WB,20,0.16,0.5,48,0.39,11.5,10,0.08,4"),
    "vol2": ("vol2,A,B,WB,1,0.04,0.3,2,0.1,9.5,3,0.33,2.5", "vol2,B,B,WB,20,0.16,0.5,48,0.39,11.5,30,0.08,4"),
    "vol3": ("vol3,A,B,WB,1,0.04,0.3,2,0.1,9.5,4,0.33,2.5", "vol3,B,B,WB,20,0.16,0.5,48,0.39,11.5,60,0.08,4"),
}
"""Volume -> its rows of A and of B; those of A alone write 40, 3 and 4 per second, both together 50, 33 and 64."""


def _written(tmp_path: Path, lost: set[tuple[int, str]], samples: int = 6) -> tuple[Tables, dict[str, list[float]]]:
    """What is told of a file whose samples lack B's row of some volumes: the tables, and writes per second."""
    text = f"Time,{HEADINGS}\n"
    for at in range(samples):
        for volume, rows in _SEVERAL.items():
            kept = rows[:1] if (at, volume) in lost else rows
            text += "".join(f"20/11/2009 22:00:{10 + at * 8},{row}\n" for row in kept)
    tables = read_text(CSV, text, tmp_path)
    return tables, {volume: [row["write_ops_per_s"] for row in rows_of(tables, "vdisk", volume)] for volume in _SEVERAL}


_LOST = "samples of a disk that lack the row of a controller (its rows are kept as counters)"


@pytest.mark.parametrize("lost", [{2, 3}, {0, 1}, {0, 1, 2}, {4, 5}, {1, 2, 3, 4}, {0, 1, 3, 4}, {0, 1, 2, 3, 4}])
def test_rows_that_are_missing_several_times_running_leave_no_partial_sum(lost: set[int], tmp_path: Path) -> None:
    tables, writes = _written(tmp_path, {(at, "vol2") for at in lost})
    assert writes == {"vol1": [50] * 6, "vol2": [33] * (6 - len(lost)), "vol3": [64] * 6}
    assert tables.notes.omitted[_LOST] == len(lost)


def test_in_a_file_of_one_sample_the_other_volumes_tell_that_a_row_is_missing(tmp_path: Path) -> None:
    tables, writes = _written(tmp_path, {(0, "vol2")}, samples=1)
    assert writes == {"vol1": [50], "vol2": [], "vol3": [64]}
    assert tables.notes.omitted[_LOST] == 1


def test_a_controller_that_comes_back_is_missed_while_it_is_away(tmp_path: Path) -> None:
    tables, writes = _written(tmp_path, {(at, volume) for at in (2, 3) for volume in _SEVERAL})
    assert writes == {"vol1": [50] * 4, "vol2": [33] * 4, "vol3": [64] * 4}
    assert tables.notes.omitted[_LOST] == 6


def test_volumes_with_one_row_each_are_whole_whoever_owns_them(tmp_path: Path) -> None:
    """As where only the owner's rows are printed, and a volume changes its owner on the way."""
    text = f"Time,{HEADINGS}\n"
    for at in range(6):
        for volume, (of_a, of_b) in _SEVERAL.items():
            text += f"20/11/2009 22:00:{10 + at * 8},{of_a if volume == 'vol1' or at < 3 else of_b}\n"
    tables = read_text(CSV, text, tmp_path)
    assert [row["write_ops_per_s"] for row in rows_of(tables, "vdisk", "vol2")] == [3, 3, 3, 30, 30, 30]
    assert _LOST not in tables.notes.omitted
