from __future__ import annotations

import datetime as dt
import itertools
import time
import zoneinfo
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence
from storscope.sources.foreign import foreign
from storscope.sources.importer import ImportOptions
from storscope.sources.importers import recognise
from storscope.sources.importers.vdbench import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "vdbench"
FLAT = SAMPLES / "flatfile_5.04.07_written.html"
OLD = SAMPLES / "flatfile_5.02_written.html"
SUMMARY = SAMPLES / "reports" / "summary_5.04.07_written.html"
TOTALS = SAMPLES / "reports" / "totals_5.04.07_written.html"
ALL = (FLAT, OLD, SUMMARY, TOTALS)
BERLIN = ImportOptions(timezone=zoneinfo.ZoneInfo("Europe/Berlin"))
RUNS = ["mix_8k", "mix_8k (2)", "writes_various", "two_disks", "limited"]


def observed(tables: Tables) -> dict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    for row in tables.rows("observations"):
        found[row["run"]].append(row)
    return found


def mean(rows: list[dict[str, Any]], column: str, weight: str = "duration_ns") -> float:
    total = sum(row[weight] * row["duration_ns"] if weight != "duration_ns" else row[weight] for row in rows)
    each = [(row[column] or 0.0) * row["duration_ns"] * (row[weight] if weight != "duration_ns" else 1) for row in rows]
    return float(sum(each) / total)


def averages(path: Path) -> list[dict[str, str]]:
    """The rows that Vdbench averaged itself."""
    lines = [line.split() for line in path.read_text().splitlines() if not line.startswith("*")]
    heading = next(words for words in lines if words[:1] == ["tod"])
    rows = [dict(zip(heading, words, strict=True)) for words in lines if len(words) == len(heading)]
    return [row for row in rows if row["Interval"].startswith("avg_")]


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_sample_yields_the_expected_tables(path: Path) -> None:
    check_golden(read_tables(IMPORTER, path), path.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize("path", [FLAT, OLD], ids=lambda path: path.stem)
def test_the_intervals_that_are_kept_have_the_averages_that_vdbench_prints(path: Path) -> None:
    """Rates have four digits behind the point."""
    tables = observed(read_tables(IMPORTER, path))
    printed = averages(path)
    assert len(tables) == len(printed)
    for rows, average in zip(tables.values(), printed, strict=True):
        assert mean(rows, "ops_per_s") == pytest.approx(float(average["rate"]), abs=0.001)
        assert mean(rows, "bytes_per_s") / 2**20 == pytest.approx(float(average["MB/sec"]), abs=0.001)
        assert mean(rows, "latency_ns_mean", "ops_per_s") / 1e6 == pytest.approx(float(average["resp"]), abs=0.001)
        assert max(row["latency_ns_max"] or 0 for row in rows) / 1e6 == pytest.approx(float(average["resp_max"]))
        reads = mean(rows, "read_ops_per_s") / mean(rows, "ops_per_s")
        assert reads == pytest.approx(float(average["read%"]) / 100, abs=1e-4)


@pytest.mark.parametrize("path", [SUMMARY, TOTALS], ids=lambda path: path.stem)
def test_the_other_reports_say_the_same_to_fewer_digits(path: Path) -> None:
    found, truth = observed(read_tables(IMPORTER, path)), observed(read_tables(IMPORTER, FLAT))
    assert list(found) == list(truth) == RUNS
    for run in RUNS:
        ours, others = found[run], truth[run]
        assert sum(row["duration_ns"] for row in ours) == sum(row["duration_ns"] for row in others)
        assert mean(ours, "ops_per_s") == pytest.approx(mean(others, "ops_per_s"), abs=0.06)
        latency = mean(others, "latency_ns_mean", "ops_per_s")
        assert mean(ours, "latency_ns_mean", "ops_per_s") == pytest.approx(latency, abs=600)
        assert mean(ours, "bytes_per_s") == pytest.approx(mean(others, "bytes_per_s"), abs=0.006 * 2**20)


def test_the_flatfile_alone_is_recognised_and_the_others_say_what_to_do() -> None:
    """A folder has all three, and three copies of a run would count as repetitions."""
    assert recognise(Evidence(FLAT).head) is recognise(Evidence(OLD).head) is IMPORTER
    for path in (SUMMARY, TOTALS):
        assert recognise(Evidence(path).head) is None
        assert "--as vdbench" in (foreign(Evidence(path).head) or "")


def test_the_first_interval_is_start_up_and_counted_as_left_out() -> None:
    tables = read_tables(IMPORTER, FLAT)
    assert tables.notes.omitted["intervals that Vdbench leaves out of its average (start-up, warm-up)"] == 5
    first, *_ = tables.rows("runs")
    assert first["duration_ns"] == 4 * 2 * 10**9


def test_the_depth_is_known_where_as_many_ios_were_in_flight() -> None:
    runs = {run["run"]: run["outstanding"] for run in read_tables(IMPORTER, FLAT).rows("runs")}
    assert runs == {"mix_8k": 8, "mix_8k (2)": 16, "writes_various": None, "two_disks": None, "limited": None}
    assert any("those of one storage definition" in w for w in read_tables(IMPORTER, FLAT).notes.warnings)


def test_of_several_sizes_the_mean_that_ran_is_the_block_size() -> None:
    runs = {run["run"]: run for run in read_tables(IMPORTER, FLAT).rows("runs")}
    assert runs["mix_8k"]["block_bytes"] == 8192
    assert runs["writes_various"]["block_bytes"] == float(averages(FLAT)[2]["bytes/io"])
    assert dict(runs["writes_various"]["parameters"])["xfersize"] == "512"


def test_an_idle_interval_has_no_latency() -> None:
    idle = [row for row in observed(read_tables(IMPORTER, FLAT))["writes_various"] if row["ops_per_s"] == 0]
    assert len(idle) == 1
    assert idle[0]["latency_ns_mean"] is idle[0]["write_latency_ns_mean"] is None


def test_times_go_over_midnight_and_by_the_zone() -> None:
    """The summary has UTC beside its own time; of the flatfile the user says the zone."""
    own = [run["time"] for run in read_tables(IMPORTER, SUMMARY).rows("runs")]
    said = [run["time"] for run in read_tables(IMPORTER, FLAT, BERLIN).rows("runs")]
    for one, other in zip(own, said, strict=True):
        assert abs((one - other).total_seconds()) < 0.1
    assert said[0].date() == said[-1].date(), "in UTC"
    steps = [late - early for early, late in itertools.pairwise(said)]
    assert all(dt.timedelta(seconds=8) < step < dt.timedelta(seconds=13) for step in steps)


def test_a_flatfile_without_dates_is_placed_by_start() -> None:
    assert not read_tables(IMPORTER, OLD).notes.has_times
    start = dt.datetime(2012, 3, 1, 12, tzinfo=dt.UTC)
    first, *_ = read_tables(IMPORTER, OLD, ImportOptions(start=start)).rows("runs")
    assert abs(first["time"] - start) < dt.timedelta(seconds=0.1)


def test_a_run_that_was_stopped_is_kept_and_said(tmp_path: Path) -> None:
    text = FLAT.read_text()
    cut = text[: text.index(" mix_8k avg_2-5")].rsplit("\n", 1)[0] + "\n"
    tables = read_text(IMPORTER, cut, tmp_path)
    assert [run["status"] for run in tables.rows("runs")] == ["stopped"]
    assert len(tables.rows("observations")) == 4
    assert "no average stands below" in tables.notes.warnings[0]


def test_a_run_on_files_is_refused_with_what_to_do(tmp_path: Path) -> None:
    fsd = "tod timestamp Run Interval reqrate Rate Rate_std Rate_max Resp MB/sec\n"
    with pytest.raises(MalformedInput, match="rate, resp") as error:
        read_text(IMPORTER, fsd, tmp_path)
    assert "FSD" in error.value.message()


def test_a_long_line_of_tags_is_read_in_no_time(tmp_path: Path) -> None:
    began = time.process_time()
    read_text(IMPORTER, "<a" * 400_000 + "\n" + FLAT.read_text(), tmp_path)
    assert time.process_time() - began < 2
