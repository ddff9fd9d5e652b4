from __future__ import annotations

import csv
import datetime as dt
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import ImportOptions
from storscope.sources.importers.results_table import IMPORTER, normalised
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "results_table"
FILES = sorted(SAMPLES.glob("*.csv"))
EVA = SAMPLES / "eva4400_before_published.csv"
SHEET = SAMPLES / "spreadsheet_written.csv"
SYNC = SAMPLES / "sync_jobs_written.csv"


def runs(tables: Tables) -> list[dict[str, Any]]:
    return tables.rows("runs")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_sample_yields_the_expected_tables(path: Path) -> None:
    check_golden(read_tables(IMPORTER, path), path.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_sample_is_recognised_but_not_against_a_tool_s_own_format(path: Path) -> None:
    assert 0.5 <= IMPORTER.recognise(Evidence(path).head) < 0.7


def test_rate_times_response_time_is_kept_for_the_judge_of_the_configured_depth() -> None:
    """None of the published rows can have kept 64 in flight; the third comes nearest."""
    tables = read_tables(IMPORTER, EVA)
    in_flight = [row["ops_per_s"] * row["latency_ns_mean"] / 1e9 for row in tables.rows("observations")]
    assert in_flight == pytest.approx([28.86, 25.33, 52.07, 24.76], abs=0.005)
    assert [run["outstanding"] for run in runs(tables)] == [64] * 4
    assert all(run["workers"] == 1 for run in runs(tables))


def test_megabytes_are_of_the_kind_that_fits_rate_times_block_size() -> None:
    tables = read_tables(IMPORTER, EVA)
    for row, run in zip(tables.rows("observations"), runs(tables), strict=True):
        assert row["bytes_per_s"] == pytest.approx(row["ops_per_s"] * run["block_bytes"], rel=1e-3)
    assert any("1,048,576" in warning for warning in tables.notes.warnings)
    decimal = read_tables(IMPORTER, SHEET).rows("observations")[0]
    assert decimal["read_bytes_per_s"] == pytest.approx(32_800_000)


@pytest.mark.parametrize(("second", "times"), [(100, "2.00"), (150, "2.00 to 3.00")])
def test_rows_whose_bandwidth_is_not_rate_times_size_are_doubted_together(
    second: int, times: str, tmp_path: Path
) -> None:
    """A sweep had the same note for each of its rows."""
    rows = [f"job{number},4096,{iops},204800" for number, iops in enumerate((100, second, 50, 50, 50))]
    tables = read_text(IMPORTER, "\n".join(["test,block_bytes,iops,bytes_per_s", *rows, ""]), tmp_path)
    [doubt] = [warning for warning in tables.notes.warnings if "bandwidth printed" in warning]
    assert doubt.startswith(f"2 rows, the first job0: iops x block size is {times} times the bandwidth printed")


def test_without_a_block_size_the_kind_of_megabyte_is_a_doubt_told(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, "test,iops,mb_per_s\na,100,5\n", tmp_path)
    assert tables.rows("observations")[0]["bytes_per_s"] == 5e6
    assert any("does not tell whether it is binary" in warning for warning in tables.notes.warnings)


def test_binary_units_are_taken_at_their_word() -> None:
    tables = read_tables(IMPORTER, SYNC)
    assert tables.rows("observations")[0]["read_bytes_per_s"] == 40_000 * 1024
    assert not tables.notes.warnings


def test_ratios_come_from_percentages_or_from_the_mode() -> None:
    eva, sheet = runs(read_tables(IMPORTER, EVA)), runs(read_tables(IMPORTER, SHEET))
    assert (eva[1]["read_ratio"], eva[1]["random_ratio"]) == (0.65, 0.6)
    assert (sheet[0]["read_ratio"], sheet[0]["random_ratio"]) == (1, 1)
    assert (sheet[2]["read_ratio"], sheet[2]["random_ratio"]) == (1, 0)
    assert sheet[1]["read_ratio"] is None, "the share of a mix is not in this table"


def test_a_pattern_that_says_read_does_not_say_sequential(tmp_path: Path) -> None:
    (run,) = runs(read_text(IMPORTER, "system,pattern,tps\nA,read,2000\n", tmp_path))
    assert (run["read_ratio"], run["random_ratio"]) == (1, None)


@pytest.mark.parametrize(("text", "expected"), [
    ("spec,iops,outstanding\na,1,48\n", 48),
    ("spec,iops,iodepth,numjobs\na,1,16,4\n", 64),
    ("spec,iops,queue_depth\na,1,16\n", 16),
    ("# 64 outstanding I/Os, 1 worker\nspec,iops,x\na,1,\n", 64),
    ("# 32 outstanding requests\nspec,iops,x\na,1,\n", 32),
    ("# 64 outstanding I/Os, 4 workers\nspec,iops,x\na,1,\n", None),
    ("# queue depth unknown\nspec,iops,x\na,1,\n", None),
    ("# numjobs synchronous jobs\nspec,iops,numjobs\na,1,8\n", 8),
    ("spec,iops,numjobs\na,1,8\n", None),
])  # fmt: skip
def test_the_configured_depth_is_taken_only_where_it_is_said(text: str, expected: float | None, tmp_path: Path) -> None:
    assert runs(read_text(IMPORTER, text, tmp_path))[0]["outstanding"] == expected


def test_rows_whose_bandwidth_cannot_be_theirs_are_doubted() -> None:
    doubts = [text for text in read_tables(IMPORTER, SHEET).notes.warnings if "split or merged" in text]
    assert len(doubts) == 1
    assert "1 MiB" in doubts[0]
    assert "2.00 times" in doubts[0]


def test_a_cell_that_is_no_number_is_null_and_counted() -> None:
    tables = read_tables(IMPORTER, SHEET)
    row = next(row for row in tables.rows("observations") if "randwrite" in row["entity"])
    assert row["write_ops_per_s"] is row["write_latency_ns_mean"] is None
    assert tables.notes.omitted["cells that are no number"] == 3


def test_an_idle_direction_has_rate_zero_and_no_latency() -> None:
    row = next(row for row in read_tables(IMPORTER, SHEET).rows("observations") if "1 MiB" in row["entity"])
    assert row["write_ops_per_s"] == 0
    assert row["write_latency_ns_mean"] is None


def test_other_numbers_are_counters_and_texts_parameters() -> None:
    tables = read_tables(IMPORTER, SHEET)
    values = {row["entity"]: row["values"][0] for row in tables.rows("series") if row["name"] == "cpu_pct"}
    assert sorted(values.values()) == [3, 9.75, 12.5]
    assert dict(runs(tables)[0]["parameters"])["remark"] == "first; warm cache"


def test_rows_of_one_device_are_told_apart_and_live_on_it() -> None:
    tables = read_tables(IMPORTER, SYNC)
    names = [run["run"] for run in runs(tables)]
    assert len(set(names)) == 3
    assert {row["system"] for row in tables.rows("observations")} == {"lab-a", "lab-b"}
    assert ("job", names[1], "lives_on", "device", "md0") in tables.links()


def test_rows_of_the_same_name_become_different_runs(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, "spec,iops,x\na,1,\na,2,\n", tmp_path)
    assert [run["run"] for run in runs(tables)] == ["a", "a (2)"]


def test_times_come_from_the_start_option_only() -> None:
    assert runs(read_tables(IMPORTER, EVA))[0]["time"] is None
    start = dt.datetime(2010, 5, 4, 12, tzinfo=dt.UTC)
    placed = read_tables(IMPORTER, EVA, ImportOptions(start=start))
    assert runs(placed)[0]["time"] == start
    assert "--start" in (placed.notes.clock or "")


def test_headings_of_a_spreadsheet_are_read_like_plain_names() -> None:
    assert normalised("Response time (ms)") == "response_time_ms"
    assert normalised(" Read MB/s ") == "read_mb_per_s"
    assert normalised("Latency [µs]") == "latency_us"


@given(st.floats(0.001, 1e9), st.floats(0.001, 1e6), st.sampled_from(["ns", "us", "ms", "s"]))
def test_stored_values_are_those_of_the_table_times_their_unit(rate: float, latency: float, unit: str) -> None:
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as place:
        text = f"spec,iops,latency_{unit}\na,{rate!r},{latency!r}\n"
        (row,) = read_text(IMPORTER, text, Path(place)).rows("observations")
    assert row["ops_per_s"] == rate
    assert row["latency_ns_mean"] == pytest.approx(latency * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit])


# What it is not --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [
    "time,device,iops\n1,sda,5\n",
    "timestamp,name,read_iops,write_iops\n2020,a,1,2\n",
    "name,size,colour\na,1,2\n",
    "name,iops\na,1\n",
    '"(PDH-CSV 4.0) (UTC)(0)","\\\\host\\Physical Disk(1)\\Reads/sec"\n',
    "ID,ALL,iops average,x\n",
    "",
])  # fmt: skip
def test_tables_of_other_things_are_not_claimed(text: str) -> None:
    assert IMPORTER.recognise(Head("x", text.encode(), "utf-8")) == 0


def test_samples_of_other_importers_are_not_claimed() -> None:
    others = [path for path in SAMPLES.parent.glob("*/*") if path.parent != SAMPLES and path.is_file()]
    assert len(others) > 10
    for path in others:
        if path.suffix not in (".jsonl", ".md"):
            assert IMPORTER.recognise(Evidence(path).head) == 0, path


@pytest.mark.parametrize("text", [
    b"", b"# only a comment\n", b"spec,iops,x\n", b"\x7fELF\0\0\n", b"a,b,c\n1,2,3\n", b"\xff\xfea\0,\0",
    b'spec,iops,x\n"' + b"a" * 200_000 + b"\n",
])  # fmt: skip
def test_what_is_no_table_of_results_is_refused(text: bytes, tmp_path: Path) -> None:
    with pytest.raises(MalformedInput):
        read_text(IMPORTER, text, tmp_path)


def test_rows_with_too_many_cells_are_left_out_and_counted(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, "spec,iops,x\na,1,2,3,4\nb,5,6\nc,7\n", tmp_path)
    assert [run["run"] for run in runs(tables)] == ["b", "c"]
    assert tables.notes.omitted["rows with more cells than the heading"] == 1


def test_hostile_numbers_neither_crash_nor_become_data(tmp_path: Path) -> None:
    text = "spec,block_bytes,iops,mb_per_s,latency_ms\na,1e-400,1e400,nan,inf\nb,-5,1e-300,-1,9e307\n"
    tables = read_text(IMPORTER, text + "c," + "9" * 5000 + "k,1,1,1\n", tmp_path)
    assert len(runs(tables)) == 3


@pytest.mark.parametrize("encode", [
    lambda text: text.replace("\n", "\r\n").encode(),
    lambda text: b"\xef\xbb\xbf" + text.encode(),
    lambda text: text.encode("utf-16"),
], ids=["crlf", "bom", "utf-16"])  # fmt: skip
def test_line_ends_and_encodings_change_nothing(encode: Any, tmp_path: Path) -> None:
    other = read_text(IMPORTER, encode(SHEET.read_text()), tmp_path)
    assert other.rows("observations") == read_tables(IMPORTER, SHEET).rows("observations")
    assert IMPORTER.recognise(Evidence(tmp_path / "evidence").head) >= 0.5


def test_script_in_a_name_stays_data(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>"
    assert runs(read_text(IMPORTER, f"spec,iops,x\n{name},1,\n", tmp_path))[0]["name"] == name


@given(st.binary(max_size=300))
def test_recognition_never_raises(raw: bytes) -> None:
    assert IMPORTER.recognise(Head("x", raw, "utf-8")) in (0.0, 0.55)


def test_where_a_comma_is_decimal_points_group_thousands(tmp_path: Path) -> None:
    text = "spec;iops;Latency (ms);MB/s\nA;1.500;2,5;5,859\nB;12.345;3,5;48,223\nC;1.234,5;3,5;4,822\n"
    rows = read_text(IMPORTER, text, tmp_path).rows("observations")
    assert [row["ops_per_s"] for row in rows] == [1_500.0, 12_345.0, 1_234.5]
    points = text.replace(".", "").replace(",", ".")
    assert [row["ops_per_s"] for row in read_text(IMPORTER, points, tmp_path).rows("observations")][2] == 1_234.5


def test_a_test_that_only_reads_does_that_in_all(tmp_path: Path) -> None:
    text = "device,mode,block_bytes,numjobs,read_kb_per_s,read_iops\nsdb,randread,4096,1,12473,3193\n"
    (row,) = read_text(IMPORTER, text, tmp_path).rows("observations")
    assert (row["ops_per_s"], row["bytes_per_s"]) == (3_193.0, 12_473 * 1024)
    (mixed,) = read_text(IMPORTER, text.replace("randread", "randrw"), tmp_path).rows("observations")
    assert mixed["ops_per_s"] is None


def _written(heading: str, rows: list[list[str]], separator: str) -> str:
    """As a spreadsheet saves it: quotes where a cell has the separator."""
    file = io.StringIO()
    csv.writer(file, delimiter=separator, lineterminator="\n").writerows([heading.split(","), *rows])
    return file.getvalue()


_HEADING = "spec,block_bytes,read_pct,random_pct,outstanding,iops,response_time_ms"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_what_a_comma_is_all_numbers_tell_whatever_separates_them(separator: str, tmp_path: Path) -> None:
    american = [
        ["olap", "8192", "100", "100", "8", "3,000.5", "2.675"],
        ["log", "8192", "0", "0", "8", "1,200", "12.5"],
        ["backup", "65536", "100", "0", "8", "812.375", "9.812"],
    ]
    exchanged = str.maketrans(".,", ",.")
    european = [[cell.translate(exchanged) for cell in row] for row in american]
    for rows in (american, european):
        tables = read_text(IMPORTER, _written(_HEADING, rows, separator), tmp_path)
        found = [(row["ops_per_s"], row["latency_ns_mean"]) for row in tables.rows("observations")]
        assert found == [(3_000.5, 2.675e6), (1_200.0, 12.5e6), (812.375, 9.812e6)]
        assert not tables.notes.omitted
        assert not tables.notes.warnings


def test_a_sweep_saved_again_in_a_european_locale_is_the_same_sweep(tmp_path: Path) -> None:
    path = SAMPLES / "fio_sweep_written.csv"
    rows = list(csv.reader(path.read_text().splitlines(), delimiter=";"))
    european = [[cell.replace(".", ",") if index else cell for cell in row] for index, row in enumerate(rows)]
    text = _written(",".join(european[0]), european[1:], ",")
    assert read_text(IMPORTER, text, tmp_path).rows("observations") == read_tables(IMPORTER, path).rows("observations")


@pytest.mark.parametrize(("separator", "iops", "is_doubted"), [(",", 1_234, True), ("\t", 1.234, True),
                                                               (";", 1.234, False)])  # fmt: skip
def test_where_no_number_tells_what_a_comma_is_the_guess_is_said(
    separator: str, iops: float, is_doubted: bool, tmp_path: Path
) -> None:
    text = _written("spec,iops,cpu,cpus", [["a", "1,234", "3", "0"], ["b", "950", "4", "1"]], separator)
    tables = read_text(IMPORTER, text, tmp_path)
    assert [row["ops_per_s"] for row in tables.rows("observations")] == [iops, 950]
    assert any(f"1,234 was taken as {iops:g}" in warning for warning in tables.notes.warnings) == is_doubted


def test_numbers_of_two_languages_in_one_table_are_doubted(tmp_path: Path) -> None:
    text = _written("spec,iops,response_time_ms", [["a", "10.5", "2.25"], ["b", "12,5", "1.75"]], ",")
    tables = read_text(IMPORTER, text, tmp_path)
    assert [row["ops_per_s"] for row in tables.rows("observations")] == [10.5, None]
    assert tables.notes.omitted["cells that are no number"] == 1
    assert any("decimal comma: 1, with a decimal point: 3." in text for text in tables.notes.warnings)


def test_a_list_beside_the_measured_columns_does_not_tell_what_their_comma_is(tmp_path: Path) -> None:
    text = _written(
        "spec,iops,response_time_ms,cpus", [["a", "1,234", "2.25", "0,1"], ["b", "12,345", "1.75", "2,3"]], ","
    )
    rows = read_text(IMPORTER, text, tmp_path).rows("observations")
    assert [row["ops_per_s"] for row in rows] == [1_234, 12_345]


def test_a_heading_between_rows_is_no_test(tmp_path: Path) -> None:
    """Two tables joined."""
    for path in (SHEET, EVA):
        lines = path.read_text().splitlines()
        heading = next(index for index, line in enumerate(lines) if not line.startswith("#"))
        joined = "\n".join([*lines[: heading + 2], lines[heading].upper(), *lines[heading + 2 :]]) + "\n"
        tables, whole = read_text(IMPORTER, joined, tmp_path), read_tables(IMPORTER, path)
        assert [run["run"] for run in runs(tables)] == [run["run"] for run in runs(whole)]
        assert tables.rows("observations") == whole.rows("observations")
        assert tables.notes.omitted == whole.notes.omitted | {"headings repeated between rows": 1}


def test_cells_that_are_missing_at_the_end_of_a_row_are_counted(tmp_path: Path) -> None:
    tables = read_text(IMPORTER, "spec,iops,response_time_ms\na,1,2\nb,5\nc\nd,7,\n", tmp_path)
    assert [row["ops_per_s"] for row in tables.rows("observations")] == [1, 5, 7]
    assert tables.notes.omitted["cells missing at the end of rows"] == 3


@pytest.mark.parametrize("cut", range(1, 36))
def test_a_table_cut_in_its_last_row_has_no_half_numbers_but_in_the_last_column(cut: int, tmp_path: Path) -> None:
    whole = read_text(IMPORTER, "spec,iops,read_iops,remark\na,1,1,\nlong name,2866,1433,first and only\n", tmp_path)
    text = "spec,iops,read_iops,remark\na,1,1,\nlong name,2866,1433,first and only\n"[:-cut]
    tables = read_text(IMPORTER, text, tmp_path)
    found, wanted = tables.rows("observations"), whole.rows("observations")
    assert found == wanted[: len(found)]
    is_whole_row = text.splitlines()[-1].count(",") == 3
    assert tables.notes.omitted["last line, cut off (it has no line end)"] == (0 if is_whole_row else 1)
