"""The search for the knee as users start it: on real files, and on a device whose limit is known."""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from storscope.cli.main import run
from storscope.store import Store
from tests.bench.safety.conftest import Rig
from tests.bench.throttle import throttled

_SHORT = ("--knee", "--max-duration", "10s", "--size", "16M")
_LIMIT_PER_S = 1000
"""A slice of the limit, a tenth of a second, fits into the 128 requests that a loop device takes at a time: more are
let through more slowly on a busy machine, and then the limit is not what was set."""
_ATTEMPTS = 4
_ERROR = 0.05


def _arguments(target: Path, data: Path, *options: str) -> list[str]:
    return ["bench", str(target), "--workload", "random-8k-70-read", "--store", str(data.parent / "store"), *options]


def _parameters(store: Store) -> list[dict[str, Any]]:
    return [dict(row["parameters"]) for row in store.query("SELECT parameters FROM runs").to_pylist()]


def test_every_visit_and_the_answer_are_in_the_store(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(_arguments(data, data, *_SHORT, "--slo", "p99<1s", "--seed", "5", "--json"))
    assert code in (0, 2)  # on a busy machine there may be no answer
    result = json.loads(capsys.readouterr().out)
    assert result["seed"] == "5"
    by_role: dict[str, list[dict[str, Any]]] = {}
    for parameters in _parameters(Store.open(data.parent / "store")):
        assert parameters["knee_search"] == result["search"]
        by_role.setdefault(parameters["knee_role"], []).append(parameters)
    assert len(by_role["visit"]) == len(result["visits"]) > 0
    (answer,) = by_role["answer"]
    assert json.loads(answer["result"])["visits"] == result["visits"]
    assert answer["objective"] == "p99 < 1.00 s"
    assert (code == 0) == any(result[name]["load_per_s"] for name in ("knee", "within_objective"))
    assert list(data.iterdir()) == []


def test_a_search_says_its_time_beforehand_and_ends_with_curve_visits_and_answers(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(_arguments(data, data, *_SHORT, "--slo", "mean<1s")) in (0, 2)
    printed = capsys.readouterr()
    assert "Searching for 10 s at most" in printed.err
    assert re.search(rf" visits in .* on {re.escape(platform.node())}, begun 2\d\d\d-", printed.out)
    assert "Poisson" in printed.out
    assert "o visit" in printed.out
    assert "offered/s  achieved/s" in printed.out
    assert "\nKnee: " in printed.out
    assert "\nmean < 1.00 s" in printed.out


def test_a_search_is_drawn_when_it_ends_and_shown_again_from_the_store(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("--knee", "--size", "16M", "--slo", "p99<1s", "--json")
    code = run(
        _arguments(data, data, *asked, "--max-duration", "10s", "--seed", "5", "--report", str(tmp_path / "k.html"))
    )
    assert code in (0, 2)
    printed = capsys.readouterr()
    result, page = json.loads(printed.out), (tmp_path / "k.html").read_text()
    assert f"report: {tmp_path / 'k.html'}" in printed.err
    documented = (Path(__file__).parents[2] / "docs" / "bench-json.md").read_text().split("## A knee")[1]
    assert set(result) == set(re.findall(r"`(\w+)(?:\[\])?`", "".join(re.findall(r"^\| (`.*?) \|", documented, re.M))))
    told = documented.replace("[]`", "`").replace("{}`", "`")
    assert all(f"`{name}`" in told for part in (result["visits"][0], result["knee"]) for name in part)
    assert page.count("<tr>") == 1 + len(result["visits"])
    for words in (result["search"], str(data), "--knee --workload random-8k-70-read", "--max-duration 10s --seed 5"):
        assert words in page, words
    assert run(_arguments(data, data, *asked, "--show", "--report", str(tmp_path / "again.html"))) == code
    assert json.loads(capsys.readouterr().out) == result
    made = re.compile(r"Made [^<]*")
    assert made.sub("", (tmp_path / "again.html").read_text()) == made.sub("", page)
    assert run(_arguments(data, data, "--knee", "--size", "16M", "--slo", "p99<2s", "--show")) == 2
    assert "--slo, --size and --buffered must be as they were" in capsys.readouterr().err


def test_what_programs_read_of_a_search_stays(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fields may be added, none may go or change."""
    run(_arguments(data, data, *_SHORT, "--json"))
    result = json.loads(capsys.readouterr().out)
    assert set(result) >= {
        "search", "capture", "target", "target_kind", "direct", "seed", "duration_ns", "workload", "stream_shares",
        "max_outstanding", "answers", "visits", "knee", "objective", "within_objective", "light_ns", "capacity_per_s",
        "fitted", "doubts", "ended",
    }  # fmt: skip
    assert set(result["knee"]) >= {"figure", "limit_ns", "load_per_s", "reason"}
    assert set(result["visits"][0]) >= {
        "offered_per_s", "achieved_per_s", "kind", "reason", "figures_ns", "duration_ns", "cost_ns", "run",
    }  # fmt: skip
    assert (result["objective"], result["within_objective"]) == (None, None)
    assert result["workload"]["name"] == "random-8k-70-read"


def test_without_a_knee_the_reason_stands_in_its_place(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An objective that nothing can meet."""
    run(_arguments(data, data, *_SHORT, "--slo", "mean<1ns", "--json"))
    within = json.loads(capsys.readouterr().out)["within_objective"]
    assert within["load_per_s"] is None
    assert within["reason"]


def test_the_flushes_of_a_log_may_be_what_the_objective_is_of(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(_arguments(data, data, *_SHORT, "--workload", "commits", "--slo", "flush-p50<10s", "--json"))
    result = json.loads(capsys.readouterr().out)
    assert result["objective"] == "flush-p50 < 10.0 s"
    assert result["within_objective"]["figure"].endswith("flush-p50")
    told = [one for one in result["visits"] if one["kind"] == "valid" and one["figures_ns"]["service flush-p50"]]
    assert told and all(one["requests"] > 0 for one in told)


@pytest.mark.parametrize(
    ("workload", "objective", "said"),
    [
        ("oltp", "flush-p99<5ms", "which flushes nothing"),
        ("commits", "read-p99<5ms", "For example --slo 'p99 < 5.00 ms'"),
        ("commits", "sync-p99<5ms", "with read-, write- or flush- before it"),
    ],
)
def test_an_objective_of_what_nobody_does_is_refused(
    workload: str, objective: str, said: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(_arguments(data, data, *_SHORT, "--workload", workload, "--slo", objective)) == 2
    assert said in capsys.readouterr().err
    assert list(data.iterdir()) == []


def test_a_dry_run_of_a_search_writes_nothing(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_arguments(data, data, *_SHORT, "--dry-run")) == 0
    assert "at most 10 s" in capsys.readouterr().out
    assert [path.name for path in data.parent.iterdir() if path.name in ("store", "state")] == []
    assert list(data.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--knee", "--slo", "p99"), "a shell takes a bare < for itself"),
        (("--knee", "--slo", "p99>5ms"), "so with <"),
        (("--knee", "--slo", "p99<5"), "needs its unit"),
        (("--knee", "--slo", "p100<5ms"), "a percentile below 100"),
        (("--slo", "p99<5ms"), "--slo alone"),
        (("--knee", "--max-duration", "3s"), "at least 10 s"),
        (("--knee", "--duration", "20s"), "--max-duration"),
        (("--knee", "--engine", "fio"), "storscope's own engine"),
        (("--knee", "--report", "/nowhere/to/be/found/knee.html"), "a folder that exists"),
        (("--knee", "--format", "csv"), "--format"),
    ],
)
def test_what_cannot_be_searched_is_refused_with_a_remedy(
    options: tuple[str, ...], said: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(_arguments(data, data, *options)) == 2
    assert said in capsys.readouterr().err
    assert not (data.parent / "store").exists()


def _ended_by(ending: signal.Signals, data: Path) -> int:
    """The exit code of a search that is ended so after some visits."""
    command = [sys.executable, "-m", "storscope", *_arguments(data, data, "--knee", "--size", "16M")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    store = data.parent / "store"
    deadline, wanted = time.monotonic() + 120, len(list(store.glob("capture=*"))) + 3
    while len(list(store.glob("capture=*"))) < wanted and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(ending)
    process.communicate()
    return process.returncode


def test_a_search_that_was_killed_is_not_passed_over(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = _arguments(data, data, "--knee", "--size", "16M", "--show")
    assert _ended_by(signal.SIGKILL, data) == -signal.SIGKILL
    assert run(shown) == 2
    assert re.search(r"found only knee-\w+ \(\d visits?\), which has no answer", capsys.readouterr().err)
    run(_arguments(data, data, "--knee", "--size", "16M", "--max-duration", "10s"))
    capsys.readouterr()
    run(shown)
    assert "not brought to its end" not in capsys.readouterr().err, "it was before"
    _ended_by(signal.SIGKILL, data)
    run(shown)
    assert "began later and was not brought to its end" in capsys.readouterr().err


def test_an_interrupted_search_keeps_its_visits(data: Path) -> None:
    store = data.parent / "store"
    assert _ended_by(signal.SIGINT, data) == 130
    roles = [parameters["knee_role"] for parameters in _parameters(Store.open(store))]
    assert roles.count("visit") >= 2
    assert list(data.iterdir()) == []


def _half_width_ratio(load: dict[str, float]) -> float:
    return (load["high"] - load["low"]) / (2 * load["estimate"])


@pytest.mark.needs_root
def test_the_knee_of_a_throttled_device_is_its_limit(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A limit by tokens has no slow rise: up to it nothing waits, beyond it everything. So both answers are the limit.

    It takes the time that it takes unasked. On a machine that has other things to do a disturbance of a millisecond is
    ten times the device's own latency. So a search that says so, or that its answer is not known this well, is tried
    again on a new device, and counts for nothing. That it can be known this well is held to a simulated limit.
    """
    workload = tmp_path / "workload.toml"
    workload.write_text('name = "reads"\n[[stream]]\noutstanding = 4\n[[stream.line]]\nsize = "4k"\n')
    for seed in range(_ATTEMPTS):
        with ExitStack() as stack:
            rig = Rig(tmp_path, stack)
            image = rig.image(f"image-{seed}", 64 << 20)
            image.write_bytes(os.urandom(64 << 20))
            device = rig.loop(image)
            stack.enter_context(throttled(device, _LIMIT_PER_S))
            options = ("--workload", str(workload), "--knee", "--slo", "p99<50ms", "--seed", str(seed), "--json")
            run([*_arguments(device, data), *options])
        result = json.loads(capsys.readouterr().out)
        loads = {name: result[name]["load_per_s"] for name in ("knee", "within_objective")}
        busy = [doubt for doubt in result["doubts"] if "CPU time" in doubt]
        unsure = [name for name, load in loads.items() if load is None or _half_width_ratio(load) > _ERROR]
        if not busy and not unsure:
            break
    else:
        pytest.skip(f"the machine is too busy: {(*busy, *(result[name]['reason'] or loads[name] for name in unsure))}")
    for name, load in loads.items():
        assert load["estimate"] == pytest.approx(_LIMIT_PER_S, rel=_ERROR), (name, loads, result["doubts"])
    assert any(f"allows 1,000 reads/s of {device.name} (" in doubt for doubt in result["doubts"])
