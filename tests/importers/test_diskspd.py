"""diskspd's XML and text: the same I/Os in two forms."""

from __future__ import annotations

import datetime as dt
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from storscope.domain.arrays import FloatArray, IntArray
from storscope.domain.errors import MalformedInput
from storscope.model.compare_histograms import buckets_of
from storscope.sources.evidence import Evidence
from storscope.sources.importer import Importer, ImportOptions
from storscope.sources.importers import diskspd_text, diskspd_xml, recognise
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

HERE = Path(__file__).parent
XML, TEXT = diskspd_xml.IMPORTER, diskspd_text.IMPORTER
SPANS_XML = HERE / "diskspd_xml" / "two_spans_written.xml"
SPANS_TEXT = HERE / "diskspd_text" / "two_spans_written.txt"
POOL = HERE / "diskspd_xml" / "no_latency_and_thread_pool_written.xml"
TWO_RESULTS = HERE / "diskspd_text" / "two_results_written.txt"
ALL = [(XML, SPANS_XML), (XML, POOL), (TEXT, SPANS_TEXT), (TEXT, TWO_RESULTS)]
MIX = "8 KiB random, 70 % reads"


def jobs(tables: Tables) -> list[dict[str, Any]]:
    return [row for row in tables.rows("observations") if row["kind"] == "job"]


def percentile(buckets: dict[str, Any], share: float) -> float:
    """The upper edge of the bucket that has it."""
    rank = 0
    for high, count in zip(buckets["bucket_high_ns"], buckets["counts"], strict=True):
        rank += count
        if rank >= share * sum(buckets["counts"]):
            return float(high)
    raise AssertionError("no such share")


@pytest.mark.parametrize(("importer", "path"), ALL, ids=lambda value: getattr(value, "stem", ""))
def test_a_sample_yields_the_expected_tables(importer: Importer, path: Path) -> None:
    check_golden(read_tables(importer, path), path.with_suffix(".expected.jsonl"))
    assert recognise(Evidence(path).head) is importer


def test_both_forms_of_a_run_say_the_same() -> None:
    found, truth = read_tables(TEXT, SPANS_TEXT), read_tables(XML, SPANS_XML)
    ours, others = found.rows("runs"), truth.rows("runs")
    for column in ("run", "system", "block_bytes", "read_ratio", "random_ratio", "outstanding", "workers", "engine"):
        assert [run[column] for run in ours] == [run[column] for run in others], column
    for row, other in zip(jobs(found), jobs(truth), strict=True):
        for column, value in row.items():
            if column.endswith("_per_s") and value is not None:
                # Counts are exact; the time of the XML is rounded to 0.01 s.
                seconds, rounded = row["duration_ns"] / 1e9, other["duration_ns"] / 1e9
                assert value * seconds == pytest.approx(other[column] * rounded, rel=1e-6)
            elif "latency" in column:
                assert value == other[column], column


def test_the_totals_that_the_text_prints_are_reproduced() -> None:
    text = SPANS_TEXT.read_text()
    tables = read_tables(TEXT, SPANS_TEXT)
    printed = re.findall(r"total: +(\d+) \| +(\d+) \| +([\d.]+) \| +([\d.]+) \| +([\d.]+) ", text)
    assert len(printed) == 6, "total, read and write of two spans"
    for number, row in enumerate(jobs(tables)):
        for place, way in enumerate(("", "read_", "write_")):
            size, ios, mib_per_s, iops, mean_ms = (float(cell) for cell in printed[3 * number + place])
            seconds = row["duration_ns"] / 1e9
            assert row[f"{way}ops_per_s"] == pytest.approx(iops, abs=0.005)
            assert row[f"{way}ops_per_s"] * seconds == pytest.approx(ios, rel=1e-6)
            assert row[f"{way}bytes_per_s"] * seconds == pytest.approx(size, rel=1e-6)
            assert row[f"{way}bytes_per_s"] / 2**20 == pytest.approx(mib_per_s, abs=0.006)
            assert (row[f"{way}latency_ns_mean"] or 0) / 1e6 == pytest.approx(mean_ms)


def test_rate_times_latency_is_the_number_in_flight() -> None:
    """The I/Os of the sample come from a closed loop: Little's law holds but for those that the end cut off."""
    for importer, path in ((XML, SPANS_XML), (TEXT, SPANS_TEXT)):
        tables = read_tables(importer, path)
        for row, run in zip(jobs(tables), tables.rows("runs"), strict=True):
            assert row["ops_per_s"] * row["latency_ns_mean"] / 1e9 == pytest.approx(run["outstanding"], rel=0.01)


@pytest.mark.parametrize(("importer", "path"), [(XML, SPANS_XML), (TEXT, SPANS_TEXT)], ids=["xml", "text"])
def test_percentiles_that_are_printed_are_found_again(importer: Importer, path: Path) -> None:
    tables = read_tables(importer, path)
    everything, writes = tables.rows("histograms")
    assert (everything["operation"], writes["operation"]) == ("all", "write"), "the second run has but writes"
    row = jobs(tables)[0]
    assert sum(everything["counts"]) == pytest.approx(row["ops_per_s"] * row["duration_ns"] / 1e9)
    kept = {row["name"]: row["values"][0] for row in tables.rows("series") if (row["run"], row["kind"]) == (MIX, "job")}
    table = SPANS_TEXT.read_text().split("%-ile")[1]
    printed = re.findall(r"(\w+|\d-nines) \| +([\d.]+) \| +([\d.]+) \| +([\d.]+)", table)
    shares = {"25th": 0.25, "50th": 0.5, "75th": 0.75, "90th": 0.9, "95th": 0.95, "99th": 0.99, "3-nines": 0.999}
    for name, reads, writes_ms, total in printed:
        if name not in shares:
            continue
        assert percentile(everything, shares[name]) == pytest.approx(float(total) * 1e6), name
        assert kept[f"read.lat.p{100 * shares[name]:g}"] == pytest.approx(float(reads) * 1e6)
        assert kept[f"write.lat.p{100 * shares[name]:g}"] == pytest.approx(float(writes_ms) * 1e6)


def test_the_percentiles_of_both_forms_compare_as_the_same() -> None:
    """A percentile is the middle of its bucket; the text has seven edges below it, the XML a hundred."""
    found, truth = read_tables(TEXT, SPANS_TEXT).rows("histograms"), read_tables(XML, SPANS_XML).rows("histograms")
    for ours, others in zip(found, truth, strict=True):
        for share in (0.5, 0.95, 0.99, 0.999):
            middles = [buckets_of([_arrays(one)]).percentile(share) for one in (ours, others)]
            assert middles[0] == pytest.approx(middles[1], abs=1000)


def _arrays(row: dict[str, Any]) -> tuple[FloatArray, FloatArray, IntArray]:
    low, high = (np.asarray(row[f"bucket_{edge}_ns"], dtype=np.float64) for edge in ("low", "high"))
    return low, high, np.asarray(row["counts"], dtype=np.int64)


def test_outstanding_counts_threads_and_targets() -> None:
    assert [run["outstanding"] for run in read_tables(XML, SPANS_XML).rows("runs")] == [2 * 4, 2 * 2]
    without_latency, pool = read_tables(XML, POOL).rows("runs")
    assert without_latency["outstanding"] == 4 * 2
    assert (pool["outstanding"], pool["workers"]) == (2 * 4, 2), "-O is a thread's, over all targets"


def test_what_was_not_measured_is_unknown_and_said() -> None:
    tables = read_tables(XML, POOL)
    assert jobs(tables)[0]["latency_ns_mean"] is None
    assert any("with -L" in warning for warning in tables.notes.warnings)


def test_a_run_starts_behind_its_warm_up() -> None:
    first, second = read_tables(XML, SPANS_XML).rows("runs")
    assert first["time"] == dt.datetime(2026, 10, 18, 21, 39, 14, tzinfo=dt.UTC)
    assert (second["time"] - first["time"]).total_seconds() == pytest.approx(5 + 3)
    placed = ImportOptions(start=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    assert read_tables(XML, SPANS_XML, placed).rows("runs")[0]["time"] == dt.datetime(
        2026, 1, 1, 0, 0, 10, tzinfo=dt.UTC
    )


def test_a_last_result_that_is_unfinished_is_left_out_and_said(tmp_path: Path) -> None:
    text = POOL.read_text()
    tables = read_text(XML, text[:-100], tmp_path)
    assert len(tables.rows("runs")) == 1
    assert any("unfinished" in warning for warning in tables.notes.warnings)


def test_a_result_behind_one_that_was_stopped_is_read(tmp_path: Path) -> None:
    text = POOL.read_text()
    tables = read_text(XML, text[: text.index("<Thread>")] + "\n" + SPANS_XML.read_text(), tmp_path)
    assert [run["run"] for run in tables.rows("runs")] == [MIX, "64 KiB sequential, writes"]
    assert tables.notes.omitted["unfinished results"] == 1


def test_a_long_file_of_beginnings_is_refused_in_no_time(tmp_path: Path) -> None:
    began = time.process_time()
    with pytest.raises(MalformedInput):
        read_text(XML, "<Results>" * 400_000, tmp_path)
    assert time.process_time() - began < 1


def test_a_document_with_entities_is_refused(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]>\n' + SPANS_XML.read_text()
    with pytest.raises(MalformedInput, match="a document type or an entity"):
        read_text(XML, bomb, tmp_path)


@pytest.mark.parametrize("cut", ["Write IO", "Results for timespan 2"])
def test_a_time_span_whose_tables_were_cut_is_left_out_and_said(tmp_path: Path, cut: str) -> None:
    text = SPANS_TEXT.read_bytes().decode()
    at = text.rindex(cut) + len(cut) + (300 if cut == "Write IO" else 0)
    tables = read_text(TEXT, text[:at], tmp_path)
    assert [run["run"] for run in tables.rows("runs")] == [MIX]
    assert any("no results" in warning for warning in tables.notes.warnings)


def test_a_row_of_a_thread_that_is_missing_makes_no_wrong_total(tmp_path: Path) -> None:
    lines = SPANS_TEXT.read_text().splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if line.startswith("Write IO")) + 3
    tables = read_text(TEXT, "".join(lines[:place] + lines[place + 1 :]), tmp_path)
    assert [run["run"] for run in tables.rows("runs")] == ["64 KiB sequential, writes"]


def test_a_run_that_printed_no_result_is_an_error(tmp_path: Path) -> None:
    head = SPANS_TEXT.read_text().partition("actual test time")[0]
    with pytest.raises(MalformedInput, match="results of diskspd"):
        read_text(TEXT, head, tmp_path)
