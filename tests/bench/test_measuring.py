"""Measurements that judge themselves: real runs of the engine, on no storage and on scratch files."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from storscope.bench.engine import EngineRun, NoTarget, RunPlan
from storscope.bench.figures import MEASURES, Interval
from storscope.bench.goals import FixedTime, Precision
from storscope.bench.joining import joined
from storscope.bench.measuring import Measuring, parts_of
from storscope.bench.record import status_of
from storscope.bench.samples import Figure
from storscope.bench.target_set import Use, uses_of
from storscope.cli.main import run
from storscope.domain.access import AccessSpec, Copy, Mix
from storscope.domain.errors import ConfigError, UsageError
from storscope.domain.load import Closed, Open
from storscope.domain.units import KIB, MIB, NS_PER_S, format_duration, format_rate
from storscope.domain.workload import Stream, Workload
from storscope.report.pack import Packer
from storscope.report.runs import run_table
from storscope.store import Store

_MIXED = Workload("mixed", (Stream(Mix((AccessSpec(4 * KIB, read_share=0.5),)), Closed(4)),))
_COPY = """
name = "copy over"
[[stream]]
name = "copying"
outstanding = 2
targets = [0]
[stream.copy]
size = "128k"
destination = 1
[[stream]]
targets = [0]
outstanding = 1
[[stream.line]]
size = "4k"
"""


def _plan(workload: Workload, duration_ns: int, interval_ns: int = NS_PER_S // 8) -> RunPlan:
    return RunPlan(workload, (NoTarget("null", 16 * MIB),), duration_ns, seed=1, interval_ns=interval_ns)


def _bench(data: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    arguments = ["bench", *options, "--size", "16M", "--store", str(data.parent / "store"), "--json"]
    assert run(arguments) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def _rows(data: Path, sql: str, *values: object) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = Store.open(data.parent / "store").query(sql, list(values)).to_pylist()
    return rows


# Joining and driving --------------------------------------------------------------------------------------------------


def test_intervals_that_are_joined_are_what_the_engine_sums_up() -> None:
    engine = EngineRun(_plan(_MIXED, NS_PER_S // 2, NS_PER_S // 40))
    intervals = list(engine.intervals())
    total, whole = engine.outcome().total, joined(intervals)
    assert whole is not None
    assert (whole.start_ns, whole.duration_ns) == (0, total.duration_ns)
    assert whole.outstanding_mean == pytest.approx(total.outstanding_mean)
    assert (whole.cpu_ns, whole.form["submitted"]) == (total.cpu_ns, total.form["submitted"])
    for direction in ("reads", "writes"):
        ours, theirs = whole.direction(direction), total.direction(direction)
        assert (ours.ios, ours.bytes) == (theirs.ios, theirs.bytes)
        for measure in MEASURES:
            assert ours.of(measure).counts == theirs.of(measure).counts
            assert ours.of(measure).mean_ns == pytest.approx(theirs.of(measure).mean_ns)
            assert ours.of(measure).max_ns == theirs.of(measure).max_ns


def test_recorded_intervals_are_eight_samples_long() -> None:
    engine = EngineRun(_plan(_MIXED, 2 * NS_PER_S))
    measuring = Measuring(engine, FixedTime(2 * NS_PER_S), NS_PER_S)
    intervals = list(measuring.intervals(lambda: False))
    assert [(interval.index, interval.duration_ns) for interval in intervals] == [(0, NS_PER_S), (1, NS_PER_S)]
    outcome = engine.outcome()
    assert sum(interval.all.ios for interval in intervals) == outcome.total.all.ios
    judgement = measuring.judgement(outcome)
    rate = outcome.total.all.ios / 2
    assert judgement.from_ns > 0 or judgement.estimates["iops"].value == pytest.approx(rate)


@pytest.mark.parametrize(("interval_ns", "parts"), [(NS_PER_S, 8), (NS_PER_S // 10, 8), (10_000_000, 1), (1001, 1)])
def test_very_short_intervals_are_not_cut_further(interval_ns: int, parts: int) -> None:
    assert parts_of(interval_ns) == parts


def test_a_run_that_has_what_it_was_for_ends_and_is_not_interrupted() -> None:
    workload = Workload("open", (Stream(Mix((AccessSpec(4 * KIB),)), Open(5000.0)),))
    engine = EngineRun(_plan(workload, 60 * NS_PER_S))
    measuring = Measuring(engine, Precision(Figure("iops"), within=0.2, longest_ns=60 * NS_PER_S), NS_PER_S)
    intervals = list(measuring.intervals(lambda: False))
    outcome = engine.outcome()
    assert not outcome.stopped
    assert status_of(outcome) != "interrupted"
    assert 5 <= len(intervals) < 60
    assert all(interval.duration_ns == NS_PER_S for interval in intervals)
    judgement = measuring.judgement(outcome)
    assert judgement.goal_met
    assert judgement.to_ns == len(intervals) * NS_PER_S
    assert measuring.progress.is_enough


def test_a_run_that_somebody_stops_is_judged_by_what_there_is() -> None:
    engine = EngineRun(_plan(_MIXED, 60 * NS_PER_S))
    measuring = Measuring(engine, Precision(Figure("iops"), within=1e-9), NS_PER_S)
    seen: list[Interval] = []
    for interval in measuring.intervals(lambda: len(seen) >= 3):
        seen.append(interval)  # noqa: PERF402  the condition looks at the list meanwhile
    outcome = engine.outcome()
    assert outcome.stopped
    judgement = measuring.judgement(outcome)
    assert judgement.ended == "It ended early."
    assert judgement.chosen is not None


# The verb -------------------------------------------------------------------------------------------------------------


def test_every_figure_has_its_interval_in_the_json_and_in_the_store(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = _bench(data, capsys, str(data), "--workload", "random-8k-70-read", "--duration", "4s")
    figures = result["figures"]
    assert {"iops", "bandwidth", "mean", "p50", "p99", "read-p99", "write-mean"} <= set(figures)
    assert (figures["iops"]["unit"], figures["bandwidth"]["unit"], figures["mean"]["unit"]) == ("1/s", "B/s", "ns")
    iops = figures["iops"]
    assert iops["low"] < iops["value"] < iops["high"]
    assert iops["value"] == pytest.approx(result["all"]["ops_per_s"])
    assert figures["mean"]["value"] == pytest.approx(result["all"]["response"]["mean_ns"])
    assert figures["p99"]["value"] == result["all"]["response"]["p99_ns"]
    assert result["confidence"] == 0.95
    assert result["goal_met"] is None
    facts = {row["name"]: row for row in _rows(data, "SELECT name, number, unit FROM facts")}
    assert facts["iops low"]["number"] == pytest.approx(iops["low"])
    assert (facts["iops"]["unit"], facts["p99"]["unit"]) == ("1/s", "ns")


def test_a_duration_is_kept_exactly(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = _bench(data, capsys, str(data), "--workload", "random-8k-70-read", "--duration", "3s")
    assert result["duration_ns"] + result["warm_up_ns"] == 3 * NS_PER_S


def test_without_a_duration_the_run_ends_when_it_is_sure_enough(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = _bench(data, capsys, str(data), "--workload", "random-8k-70-read", "--within", "60%")
    assert result["status"] in {"ok", "invalid"}
    assert result["goal_met"] is True
    assert result["figure"] == "iops"
    assert result["figures"]["iops"]["relative_half_width"] <= 0.6
    (row,) = _rows(data, "SELECT parameters, duration_ns FROM runs")
    parameters = dict(row["parameters"])
    assert parameters["goal_met"] == "true"
    assert parameters["goal"].startswith("IOPS within ±60 %")
    assert row["duration_ns"] == result["duration_ns"] < 60 * NS_PER_S


def test_a_cap_is_said(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--figure", "p99", "--within", "0.01%", "--max-duration", "3s")
    result = _bench(data, capsys, str(data), "--workload", "random-8k-70-read", *options)
    assert result["goal_met"] is False
    assert result["figure"] == "p99"
    assert any("--max-duration" in doubt for doubt in result["doubts"])


def test_what_is_left_out_is_kept_beside_the_run(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = data.parent / "job.fio"
    job.write_text("[job]\nrw=randread\nbs=4k\niodepth=4\nruntime=2\nramp_time=1\ntime_based\n")
    result = _bench(data, capsys, str(data), "--workload", str(job))
    assert result["warm_up_ns"] >= NS_PER_S
    assert result["warm_up_ns"] + result["duration_ns"] == 3 * NS_PER_S
    counted = _rows(data, "SELECT sum(ops_per_s * duration_ns / 1e9) AS ios FROM observations WHERE run = ?",
                    result["run"])  # fmt: skip
    aside = _rows(data, "SELECT sum(duration_ns) AS ns FROM observations WHERE run = ?", f"{result['run']}/warm-up")
    assert counted[0]["ios"] == pytest.approx(result["all"]["ios"])
    assert aside[0]["ns"] == result["warm_up_ns"]
    (row,) = _rows(data, "SELECT run, epoch_ns(time) AS ns, duration_ns, parameters FROM runs")
    (start,) = _rows(data, "SELECT min(epoch_ns(time)) AS ns FROM observations WHERE run = ?", result["run"])
    assert row["ns"] == start["ns"]
    assert row["duration_ns"] == result["duration_ns"]
    assert float(dict(row["parameters"])["warm_up_s"]) >= 1.0


def test_steady_state_is_measured_in_rounds(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--steady-state", "--round", "1s", "--duration", "30s")
    assert run(["bench", str(data), "--workload", "oltp", *options]) == 2
    assert "--duration" in capsys.readouterr().err
    result = _bench(data, capsys, str(data), "--workload", "random-8k-70-read", "--steady-state", "--round", "1s")
    rounds = (result["warm_up_ns"] + result["duration_ns"]) / NS_PER_S
    assert result["duration_ns"] == 5 * NS_PER_S
    assert 5 <= rounds <= 25
    assert result["goal_met"] or rounds == 25
    assert "Steady state in round" in result["ended"] or "No steady state" in result["ended"]


def test_preconditioning_writes_twice_the_capacity_and_is_a_run_of_its_own(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = _bench(data, capsys, str(data), "--workload", "backup", "--duration", "1s", "--precondition")
    rows = _rows(data, "SELECT run, name, block_bytes, read_ratio, random_ratio, parameters FROM runs ORDER BY time")
    assert [row["name"] for row in rows] == ["precondition", "backup"]
    first = rows[0]
    assert (first["block_bytes"], first["read_ratio"], first["random_ratio"]) == (128 * KIB, 0.0, 0.0)
    assert first["run"] in dict(rows[1]["parameters"])["preconditioned"]
    written = _rows(data, "SELECT sum(bytes_per_s * duration_ns / 1e9) AS bytes FROM observations WHERE run = ?",
                    first["run"])  # fmt: skip
    assert written[0]["bytes"] == pytest.approx(2 * 16 * MIB)
    assert result["write"]["ios"] == 0


_VERIFIED = 'name = "v"\nverification = "stamps"\n[[stream]]\noutstanding = 4\n'


@pytest.mark.parametrize(("targets", "options"), [(1, ["--precondition"]), (2, []), (2, ["--precondition"])])
def test_what_fills_and_preconditions_a_target_carries_the_stamps_that_are_verified(
    targets: int, options: list[str], data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workload = data.parent / "verified.toml"
    workload.write_text(_VERIFIED + 'line = [{ size = "2k", read_share = 0.7 }]\n')
    paths = [str(data / f"target{number}") for number in range(targets)]
    result = _bench(data, capsys, *paths, "--workload", str(workload), "--duration", "0.3s", *options)
    assert result["read"]["ios"] > 0
    assert result["write"]["ios"] > 0
    assert not any("verification" in doubt for doubt in result["doubts"])


def test_preconditioning_refuses_what_must_not_be_written(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    foreign = data / "foreign"
    content = os.urandom(16 * MIB)
    foreign.write_bytes(content)
    arguments = ["bench", str(foreign), "--workload", "backup", "--duration", "1s", "--precondition"]
    assert run([*arguments, "--store", str(data.parent / "store")]) == 2
    assert "would be lost" in capsys.readouterr().err
    assert foreign.read_bytes() == content


def test_a_stream_that_outlives_another_is_stored_to_its_end(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workload = data.parent / "ends.toml"
    line = 'line = [{ size = "4k", read_share = 1 }]'
    workload.write_text(
        f'name = "ends"\n[[stream]]\nname = "short"\nsteps = [{{ rate_per_s = 100, duration = "1s" }}]\n{line}\n'
        f'[[stream]]\nname = "long"\noutstanding = 1\n{line}\n'
    )
    _bench(data, capsys, str(data), "--workload", str(workload), "--duration", "3s")
    summed = "kind, entity, sum(ops_per_s * duration_ns / 1e9) AS ios, count(*) AS n, min(ops_per_s) AS least"
    of_run = "FROM observations WHERE kind IN ('job', 'process') GROUP BY ALL ORDER BY ALL"
    job, long, short = _rows(data, f"SELECT {summed} {of_run}")
    assert "long on " in long["entity"]
    assert job["n"] == long["n"] == short["n"] >= 3
    assert job["ios"] == pytest.approx(long["ios"] + short["ios"])
    assert (long["least"] > 0, short["least"]) == (True, 0.0)


# Several targets ------------------------------------------------------------------------------------------------------


def test_a_copy_reads_one_target_and_writes_the_other(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workload = data.parent / "copy.toml"
    workload.write_text(_COPY)
    source, destination = data / "source", data / "destination"
    content = os.urandom(16 * MIB)
    source.write_bytes(content)
    source.chmod(0o400)
    result = _bench(data, capsys, str(source), str(destination), "--workload", str(workload), "--duration", "2s")
    cells = {(cell["stream"], Path(cell["target"]).name): cell for cell in result["cells"]}
    assert set(cells) == {("copying", "source"), ("copying", "destination"), ("stream 2", "source")}
    assert sum(cell["ios"] for cell in cells.values()) == result["all"]["ios"]
    assert cells["copying", "destination"]["bytes"] == result["write"]["bytes"] > 0
    assert source.read_bytes() == content
    assert not destination.exists()


def test_each_stream_on_each_target_is_recorded_as_a_part_of_the_job(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workload = data.parent / "copy.toml"
    workload.write_text(_COPY)
    result = _bench(data, capsys, str(data), str(data), "--workload", str(workload), "--duration", "2s")
    ios = _rows(data, "SELECT kind, entity, sum(ops_per_s * duration_ns / 1e9) AS ios FROM observations "
                "WHERE run = ? GROUP BY kind, entity", result["run"])  # fmt: skip
    parts = [row["ios"] for row in ios if row["kind"] == "process"]
    (job,) = [row["ios"] for row in ios if row["kind"] == "job"]
    assert len(parts) == 3
    assert sum(parts) == pytest.approx(job)
    links = _rows(data, "SELECT entity, target FROM links WHERE relation = 'member_of'")
    assert {row["entity"] for row in links} == {row["entity"] for row in ios if row["kind"] == "process"}
    assert {row["target"] for row in links} == {result["run"]}


def test_compare_does_not_add_the_parts_to_the_job(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workload = data.parent / "copy.toml"
    workload.write_text(_COPY)
    options = (str(data), str(data), "--workload", str(workload), "--duration", "1s")
    results = [_bench(data, capsys, *options) for _ in range(2)]
    sides = [f"run={result['run']}" for result in results]
    assert run(["compare", *sides, "--store", str(data.parent / "store"), "--json"]) in {0, 1}
    shown = json.loads(capsys.readouterr().out)
    rates = {row["before"] for pair in shown["pairs"] for row in pair["rows"] if row["unit"] == "1/s"}
    assert any(rate == pytest.approx(results[0]["all"]["ops_per_s"]) for rate in rates), shown


def test_which_targets_are_written_follows_from_the_streams() -> None:
    copy = Stream(Copy(4096, destination=1), Closed(1), targets=(0,))
    read = Stream(Mix((AccessSpec(4096),)), Closed(1), targets=(2,))
    assert uses_of(Workload("w", (copy, read)), 3) == [Use(True, False), Use(False, True), Use(True, False)]
    everywhere = Stream(Mix((AccessSpec(4096, read_share=0.5),)), Closed(1))
    assert uses_of(Workload("w", (everywhere,)), 2) == [Use(True, True)] * 2
    with pytest.raises(UsageError, match="number 4 is not used"):
        uses_of(Workload("w", (copy, read)), 4)
    with pytest.raises(ConfigError, match=r"3 targets, as the streams of .w. number them"):
        uses_of(Workload("w", (copy, read)), 2)


def test_the_same_file_twice_is_refused(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, alias = data / "file", data / "alias"
    path.write_bytes(os.urandom(MIB))
    alias.hardlink_to(path)
    arguments = ["bench", str(path), str(alias), "--workload", "backup", "--duration", "1s", "--dry-run"]
    assert run(arguments) == 0
    capsys.readouterr()
    assert run([*arguments[:-1], "--store", str(data.parent / "store")]) == 2
    assert "targets that differ" in capsys.readouterr().err


# On a terminal --------------------------------------------------------------------------------------------------------


def _started(data: Path, *options: str) -> tuple[subprocess.Popen[bytes], int]:
    """The verb with a terminal as its standard error."""
    ours, theirs = pty.openpty()
    arguments = ["bench", str(data), "--workload", "random-8k-70-read", "--store", str(data.parent / "store"), *options]
    command = [sys.executable, "-m", "storscope", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    return process, ours


def _said(terminal: int, until: bytes = b"", patience_s: float = 120.0) -> bytes:
    """What it prints, up to a word or the end."""
    said, deadline = b"", time.monotonic() + patience_s
    while time.monotonic() < deadline:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # its end is closed
            break
        said += part
        if not part or (until and until in said):
            break
    return said


def test_a_terminal_shows_how_far_filling_and_measuring_are(data: Path) -> None:
    process, terminal = _started(data, "--size", "64M", "--within", "50%", "--max-duration", "15s")
    said = _said(terminal).decode()
    assert process.wait(120) == 0
    os.close(terminal)
    assert "filling: 100% of 64 MiB" in said
    # On a machine that does other work the storage may not settle in that time.
    assert "of IOPS, ±50 % wanted" in said or "not settled yet" in said
    assert " left" in said
    assert "█" in said


def test_ctrl_c_while_a_file_is_filled_says_that_nothing_was_measured(data: Path) -> None:
    # Slow enough to be interrupted: the file is filled through the page cache and forced to the device at its end.
    process, terminal = _started(data, "--size", "4G", "--duration", "1s")
    said = _said(terminal, b"filling: ")
    process.send_signal(signal.SIGINT)
    said += _said(terminal)
    assert process.wait(120) == 130
    os.close(terminal)
    assert b"nothing was measured" in said
    assert b"imported" not in said
    assert not list(data.iterdir())
    assert not (data.parent / "store").exists()


# Options --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--duration", "5s", "--within", "2%"), "several"),
        (("--steady-state", "--max-duration", "5m"), "Rounds end by the rules"),
        (("--round", "1m"), "--round with --steady-state"),
        (("--steady-state", "--round", "1.5"), "whole seconds"),
        (("--figure", "p98"), "one of iops"),
        (("--workload", "backup", "--figure", "write-p99"), "a figure of what 'backup' does, which only reads"),
        (("--workload", "log", "--figure", "read-iops"), "For example --figure iops"),
        (("--workload", "oltp", "--only", "olap"), "expected the workload's own name, found 'olap'"),
        (("--within", "200%"), "expected a share"),
        (("--within", "x"), "expected a share"),
        (("--engine", "fio", "--steady-state", "--round", "2s"), "a round of at least 10 s"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    data: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], message: str
) -> None:
    assert run(["bench", str(data), "--workload", "oltp", *options, "--store", str(data.parent / "store")]) == 2
    assert message in capsys.readouterr().err
    assert not list(data.iterdir())


def test_the_report_has_one_row_for_a_run_with_its_p99(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = _bench(data, capsys, str(data), "--workload", "random-8k-70-read", "--duration", "3s")
    table = run_table(Store.open(data.parent / "store"), Packer())
    assert table is not None
    (row,) = [dict(zip(table.heads, row, strict=True)) for row in table.rows]
    assert row["Operations"] == format_rate(result["all"]["ops_per_s"])
    assert row["Mean latency"] == format_duration(result["all"]["response"]["mean_ns"])
    assert row["p99"] == f"≤ {format_duration(result['all']['response']['p99_ns'])}"
