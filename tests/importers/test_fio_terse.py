from __future__ import annotations

import datetime as dt
import re
import time
from pathlib import Path
from typing import Any

import pytest

from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence
from storscope.sources.importer import ImportOptions
from storscope.sources.importers import fio_json, fio_text
from storscope.sources.importers.fio_terse import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "fio_terse"
LINES = sorted(SAMPLES.glob("*.terse"))
OTHER_FORMS = SAMPLES / "other_forms"
WITH_JSON = [path for path in LINES if (OTHER_FORMS / f"{path.stem}.json").exists()]
SAME_RUN = SAMPLES / "fio_3.33_same_run.terse"
SAME_JSON = OTHER_FORMS / "fio_3.33_same_run.json"
STATUS = SAMPLES / "fio_3.33_status_interval.terse"
START = ImportOptions(start=dt.datetime(2026, 11, 24, 2, 0, tzinfo=dt.UTC))


def jobs(tables: Tables) -> list[dict[str, Any]]:
    return [row for row in tables.rows("observations") if row["kind"] == "job"]


def counters(tables: Tables) -> dict[tuple[str, str], float]:
    return {(row["entity"], row["name"]): row["values"][0] for row in tables.rows("series") if len(row["values"]) == 1}


@pytest.mark.parametrize("path", LINES, ids=lambda path: path.stem)
def test_a_sample_yields_the_expected_tables(path: Path) -> None:
    check_golden(read_tables(IMPORTER, path), path.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize("path", LINES, ids=lambda path: path.stem)
def test_every_sample_is_recognised_by_this_importer_alone(path: Path) -> None:
    head = Evidence(path).head
    assert IMPORTER.recognise(head) > 0.9
    assert fio_json.IMPORTER.recognise(head) < 0.5
    assert fio_text.IMPORTER.recognise(head) < 0.5


@pytest.mark.parametrize("path", WITH_JSON, ids=lambda path: path.stem)
def test_a_run_has_the_figures_of_its_json(path: Path) -> None:
    """Rates: to one I/O a second where sizes are mixed or I/Os were in flight, to 1 KiB a run; times to 1 ns."""
    found, truth = (
        jobs(read_tables(IMPORTER, path)),
        jobs(read_tables(fio_json.IMPORTER, OTHER_FORMS / f"{path.stem}.json")),
    )
    assert [(row["run"], row["duration_ns"]) for row in found] == [(row["run"], row["duration_ns"]) for row in truth]
    for row, true in zip(found, truth, strict=True):
        seconds = row["duration_ns"] / 1e9
        for column in ("ops_per_s", "bytes_per_s", "latency_ns_mean"):
            for way in ("", "read_", "write_"):
                value, wanted = row[way + column], true[way + column]
                assert (value is None) == (wanted is None), (row["run"], way, column)
                if wanted is None:
                    continue
                # The JSON of a state in between counts I/Os in flight (up to 4), and both are read while they change.
                # The mean of a later interval is a difference of sums, so it takes part in the error of the counts.
                share = 1e-9 if column != "latency_ns_mean" else 3e-3 if path == STATUS else 2e-6
                error = {"ops_per_s": 8 / seconds if path == STATUS else 1, "bytes_per_s": 1024 / seconds}.get(column)
                assert value == pytest.approx(wanted, rel=share, abs=error), (row["run"], way, column)
        if row["latency_ns_max"] is not None:
            assert 0 <= true["latency_ns_max"] - row["latency_ns_max"] < 1000, "cut to whole us"


def test_counts_of_plain_sizes_are_exact() -> None:
    found, truth = (
        jobs(read_tables(importer, path)) for importer, path in ((IMPORTER, SAME_RUN), (fio_json.IMPORTER, SAME_JSON))
    )
    for row, true in zip(found, truth, strict=True):
        for way in ("read", "write"):
            assert row[f"{way}_ops_per_s"] == pytest.approx(true[f"{way}_ops_per_s"], rel=1e-12)


@pytest.mark.parametrize("ending", [".json", ".txt"])
def test_counters_have_the_names_and_values_of_the_other_forms(ending: str) -> None:
    other = {".json": fio_json.IMPORTER, ".txt": fio_text.IMPORTER}[ending]
    found, truth = (
        counters(read_tables(IMPORTER, SAME_RUN)),
        counters(read_tables(other, SAME_JSON.with_suffix(ending))),
    )
    shared = found.keys() & truth.keys()
    wanted = {"mix", "writers #1", "writers #2", "vda"}
    assert {entity for entity, _ in shared} == wanted
    assert {("mix", "read.lat.mean"), ("mix", "read.bw_mean"), ("mix", "usr_cpu"), ("mix", "ctx")} <= shared
    for key in shared:
        is_share, is_cut = "level" in key[1] or "latency_" in key[1], re.search(r"\.(min|max|p[\d.]+)$", key[1])
        # Terse times are cut to us, shares of depths rounded to 0.1 %; the text rounds its samples to two digits.
        step = 1000 if is_cut else 0.051 if is_share else 0.006
        tolerance = 0.006 if ending == ".txt" and not is_cut else 1e-6
        assert found[key] == pytest.approx(truth[key], rel=tolerance, abs=step), key


def test_percentiles_are_those_of_the_json_in_whole_microseconds() -> None:
    found = counters(read_tables(IMPORTER, SAME_RUN))
    truth = counters(read_tables(fio_json.IMPORTER, SAME_JSON))
    shared = [key for key in found.keys() & truth.keys() if ".clat.p" in key[1]]
    assert len(shared) == 17 * 4, "two directions of the mix, one of each writer"
    for key in shared:
        assert 0 <= truth[key] - found[key] < 1000, key


def test_states_of_a_run_are_intervals_of_one() -> None:
    tables = read_tables(IMPORTER, STATUS, START)
    assert [run["run"] for run in tables.rows("runs")] == ["mix", "writers #1", "writers #2"]
    mix = [row for row in jobs(tables) if row["run"] == "mix"]
    assert sum(row["duration_ns"] for row in mix) == 2_001_000_000
    assert mix[0]["time"] == START.start
    writers = [row["time"] for row in jobs(tables) if row["run"] == "writers #1"]
    assert writers[0] >= mix[-1]["time"], "behind the stonewall"


def test_lines_that_two_runs_appended_are_two_runs(tmp_path: Path) -> None:
    """Later repetitions are told from processes of one section by the totals of the disks."""
    v5 = (SAMPLES / "fio_3.33_v5.terse").read_text()
    tables = read_text(IMPORTER, v5 + SAME_RUN.read_text(), tmp_path)
    assert [run["run"] for run in tables.rows("runs")] == [
        "mix", "writers #1", "writers #2", "mix (2)", "writers #1 (2)", "writers #2 (2)",
    ]  # fmt: skip


def test_what_a_line_never_says_is_unknown() -> None:
    (run, *_) = read_tables(IMPORTER, SAME_RUN).rows("runs")
    assert (run["outstanding"], run["random_ratio"], run["workers"], run["time"]) == (None, None, None, None)
    assert "outstanding, random share, workers, job options" in IMPORTER.never


def test_one_pass_of_a_job_without_io_is_said(tmp_path: Path) -> None:
    """A job of trims alone has nothing but zeros in version 3."""
    idle = STATUS.read_text().splitlines()[1] + "\n"
    tables = read_text(IMPORTER, idle, tmp_path)
    assert not jobs(tables)
    assert "no read and no write was done" in tables.notes.warnings[0]


def test_a_line_that_was_cut_is_left_out_and_said(tmp_path: Path) -> None:
    first, second, _ = SAME_RUN.read_text().splitlines()
    tables = read_text(IMPORTER, first + "\n" + second[:700], tmp_path)
    assert [run["run"] for run in tables.rows("runs")] == ["mix"]
    assert tables.notes.omitted["lines that are damaged or cut"] == 1
    with pytest.raises(MalformedInput, match="a whole line of fio's terse output"):
        read_text(IMPORTER, second[:700], tmp_path)


def test_a_name_with_semicolons_and_an_error_are_read(tmp_path: Path) -> None:
    line = SAME_RUN.read_text().splitlines()[0].replace(";mix;0;0;", ";my;job;0;5;")
    (run,) = read_text(IMPORTER, line, tmp_path).rows("runs")
    assert (run["name"], run["status"]) == ("my;job", "error 5 (EIO)")


def test_a_long_line_of_cells_is_refused_in_no_time(tmp_path: Path) -> None:
    began = time.process_time()
    with pytest.raises(MalformedInput):
        read_text(IMPORTER, "5;fio-3.33;a;0;0" + ";1" * 2_000_000 + "\n", tmp_path)
    assert time.process_time() - began < 1
