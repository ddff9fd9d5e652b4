"""docs/bench-json.md names every field of `bench --json`, and no other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from storscope.cli.main import run

_PAGE = (Path(__file__).parents[2] / "docs" / "bench-json.md").read_text(encoding="utf-8")
_SINGLE, _REST = _PAGE.split("## Sweeps and series")
_SWEEP, _ = _REST.split("## A knee")  # tests/bench/test_knee.py has searches


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def _table(text: str) -> set[str]:
    """The fields of a page's table: what stands in backquotes in its first column."""
    firsts = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for first in firsts for name in re.findall(r"`([\w.]+)(?:\[\]|\{\})?`", first)}


def _printed(data: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    arguments = ["bench", str(data), *options, "--size", "8m", "--duration", "500ms", "--json"]
    assert run([*arguments, "--store", str(data.parent / "store")]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def _all_named(form: dict[str, Any], text: str) -> None:
    for name in form:
        assert f"`{name}`" in text or f"`{name}[]`" in text, name


def test_every_field_of_a_measurement_is_explained(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    form = _printed(data, capsys, "--workload", "oltp")
    assert set(form) == _table(_SINGLE)
    for part in (form["all"], form["all"]["service"], form["figures"]["read-p99"], form["device"], form["cells"][0]):
        _all_named(part, _SINGLE)
    assert {name.removeprefix("read-").removeprefix("write-") for name in form["figures"]} == {
        "iops", "bandwidth", "mean", "p50", "p99", "p99.9",
    }  # fmt: skip


def test_what_the_file_asks_for_and_is_not_measured_is_a_doubt_of_each_run(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log whose writes were not synchronous had 44 us for a commit, and nothing in the result said so."""
    job = data.parent / "log.fio"
    job.write_text("[log]\nrw=write\nbs=4k\nsync=1\n")
    said = "Not as the file of the workload asks: sync=1 (a workload has no synchronous writes"
    single = _printed(data, capsys, "--workload", str(job))
    sweep = _printed(data, capsys, "--workload", str(job), "--sweep", "depth=1")
    for form in (single, sweep):
        assert any(doubt.startswith(said) for doubt in form["doubts"])
    job.write_text("[log]\nrw=write\nbs=4k\n")
    assert not any("Not as the file" in doubt for doubt in _printed(data, capsys, "--workload", str(job))["doubts"])


def test_a_seed_is_a_text_since_readers_of_json_round_great_numbers(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    greatest = str(2**64 - 1)
    single = _printed(data, capsys, "--workload", "oltp", "--seed", greatest)
    sweep = _printed(data, capsys, "--sweep", "modes=randread", "--seed", greatest)
    assert (single["seed"], sweep["seed"]) == (greatest, greatest)


def test_every_field_of_a_sweep_is_explained(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    form = _printed(data, capsys, "--sweep", "modes=randrw")
    assert set(form) == _table(_SWEEP)
    _all_named(form["cells"][0], _SWEEP)
    _all_named(form["cells"][0]["figures"], _SWEEP)
    _all_named(form["cells"][0]["figures"]["ops_per_s"], _SWEEP)
