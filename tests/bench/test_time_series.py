"""Time series as a whole: real runs on scratch files, on schedule, ended and gone on with."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from storscope.cli.main import run
from storscope.store import Store
from storscope.workbench.clock_steps import ClockSteps
from storscope.workbench.sweeping import latest_state
from tests.bench.sweep_runs import printed_json, runs_of, wait_for_captures


def test_a_time_series_measures_on_schedule(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", str(data), "--workload", "random-8k-70-read", "--size", "8M"]
    arguments += ["--time-series", "0.7s/0.1s", "--for", "2.9s", "--store", str(data.parent / "store")]
    report = data.parent / "series.html"
    assert run([*arguments, "--format", "json", "--report", str(report)]) == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    slots = [cell["slot"] for cell in result["cells"]]
    told = re.findall(r"overran its slot: (\d+) slots? (?:is|are) left out", captured.err)
    assert slots[0] == 0
    assert slots == sorted(set(slots))
    assert len(slots) + sum(map(int, told)) == 4, "each is measured, or told where a busy machine overran it"
    assert "interrupted" not in " ".join(result["notes"])
    assert result["interval_ns"] == 700_000_000
    for cell in result["cells"]:
        late_ns = cell["elapsed_ns"] - cell["slot"] * 700_000_000
        assert late_ns >= 0, "never before its time"
        assert cell["figures"]["ops_per_s"]["value"] > 0
    assert report.read_text().startswith("<!DOCTYPE html>")
    assert run([*arguments, "--show", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [float(row["elapsed_s"]) for row in rows] == [
        pytest.approx(cell["elapsed_ns"] / 1e9, abs=1e-3) for cell in result["cells"]
    ]
    assert not list(data.iterdir())


def test_an_interrupted_series_keeps_its_slots(data: Path) -> None:
    store = data.parent / "store"
    options = ("--workload", "random-8k-70-read", "--time-series", "600s/0.1s", "--for", "1h", "--size", "8M")
    process = subprocess.Popen(
        [sys.executable, "-m", "storscope", "bench", str(data), *options, "--store", str(store)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for_captures(data, 1)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "1 of 6 measurements" in out
    assert not list(data.iterdir())


def test_a_killed_series_goes_on_with_the_next_slot_of_its_schedule(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Slots that passed meanwhile are left out and said; elapsed times count from the first start."""
    path, store = data / "target", data.parent / "store"
    path.write_bytes(os.urandom(8 * 1024**2))
    arguments = ["bench", str(path), "--sweep", "modes=randread", "--time-series", "3s/0.2s", "--repeat", "5"]
    arguments += ["--store", str(store)]
    process = subprocess.Popen([sys.executable, "-m", "storscope", *arguments], stderr=subprocess.PIPE)
    wait_for_captures(data, 1)
    process.kill()
    process.communicate(timeout=30)
    time.sleep(3.5)  # over the second slot, whenever the first one ended
    assert run([*arguments, "--format", "json"]) == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert "is continued with slot" in captured.err
    slots = [cell["slot"] for cell in result["cells"]]
    assert slots[0] == 0
    assert slots[-1] == 4
    assert 1 not in slots
    assert any("as the series was interrupted" in note for note in result["notes"])
    for cell in result["cells"]:
        assert cell["elapsed_ns"] >= cell["slot"] * 3_000_000_000
    assert {row["sweep"] for row in runs_of(data)} == {result["id"]}


def test_a_series_whose_time_is_over_starts_anew(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--workload", "random-8k-70-read", "--size", "8M", "--time-series", "0.5s/0.1s", "--repeat", "1")
    arguments = ["bench", str(data), *options, "--store", str(data.parent / "store")]
    assert run(arguments) == 0
    assert run([*arguments, "--resume"]) == 0
    assert "is over; a new one starts" in capsys.readouterr().err
    assert len({row["sweep"] for row in runs_of(data)}) == 2


def test_each_slot_may_measure_a_matrix(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--sweep", "sizes=4k,64k", "modes=randread", "--time-series", "4s/0.1s", "--repeat", "2")
    store = str(data.parent / "store")
    assert run(["bench", str(data), *options, "--size", "8M", "--store", store, "--format", "json"]) == 0
    cells = printed_json(capsys)["cells"]
    assert [(cell["slot"], cell["block_bytes"]) for cell in cells] == [(0, 4096), (0, 65536), (1, 4096), (1, 65536)]


def test_times_since_the_start_are_true_though_the_clock_was_set(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if it had been set back by an hour right after the start, so that all dates are an hour too early."""
    path = data / "target"
    path.write_bytes(os.urandom(8 * 1024**2))
    monkeypatch.setattr(ClockSteps, "so_far_ns", lambda _: -3600 * 10**9)
    arguments = ["bench", str(path), "--sweep", "modes=randread", "--time-series", "1s/0.1s", "--repeat", "2"]
    assert run([*arguments, "--store", str(data.parent / "store"), "--format", "json"]) == 0
    result = printed_json(capsys)
    assert [cell["elapsed_ns"] // (3600 * 10**9) for cell in result["cells"]] == [1, 1]
    assert any("clock was set back by 60 min" in note for note in result["notes"])


def test_a_continued_series_knows_that_the_clock_was_set_before(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, store = data / "target", data.parent / "store"
    path.write_bytes(os.urandom(8 * 1024**2))
    arguments = ["bench", str(path), "--sweep", "modes=randread", "--repeat", "1", "--duration", "0.1s"]
    with monkeypatch.context() as set_back:
        set_back.setattr(ClockSteps, "so_far_ns", lambda _: -3600 * 10**9)
        assert run([*arguments, "--store", str(store)]) == 0
    (known,) = Store.open(store).query("SELECT parameters['sweep_plan'] AS digest FROM runs").to_pylist()
    plan: Any = SimpleNamespace(digest=known["digest"], digests=[known["digest"]])
    found = latest_state(Store.open(store), plan)
    assert found is not None
    assert round(found.clock.so_far_ns() / 10**9) == -3600
