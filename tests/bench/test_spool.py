"""What a run left that was killed, also one of another storscope."""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from storscope.bench.engine import EngineRun, NoTarget, RunPlan
from storscope.bench.figures import Interval
from storscope.bench.record import About
from storscope.bench.spool import FORM, SpoolWriter, abandoned
from storscope.cli.main import run
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed
from storscope.domain.units import MIB, NS_PER_MS
from storscope.domain.workload import Stream, Workload
from storscope.store import Store

_LINES = "its lines are not as this storscope writes them"
_WORKLOAD = Workload("w", (Stream(Mix((AccessSpec(4096),)), Closed(1)),))


def _about() -> About:
    return About(
        run="bench-1", workload=_WORKLOAD, target="null", target_kind="file", system="host", seed=0, version="9.9",
        planned_ns=1, started_ns=1, direct=True,
    )  # fmt: skip


def _left(folder: Path) -> Path:
    """A store with the spool of a run whose process is gone, of several intervals."""
    Store.open(folder, create=True)
    writer = SpoolWriter(folder, _about())
    plan = RunPlan(_WORKLOAD, (NoTarget("null", MIB),), 5 * NS_PER_MS, seed=0)
    interval = EngineRun(plan).outcome().total
    for number in range(4):
        writer.append(Interval({**interval.form, "start_ns": number * interval.duration_ns}))
    writer.close()
    return writer.path


def _changed(path: Path, number: int, **changes: Any) -> None:
    """Another value at a path like `about__doubts` in a line of the spool; None takes it away."""
    lines = path.read_text().splitlines()
    form = json.loads(lines[number])
    for keys, value in changes.items():
        *outer, last = keys.split("__")
        place = form
        for key in outer:
            place = place[key]
        if value is None:
            del place[last]
        else:
            place[last] = value
    lines[number] = json.dumps(form)
    path.write_text("\n".join(lines) + "\n")


def _asked(store: Path, capsys: pytest.CaptureFixture[str]) -> tuple[list[dict[str, Any]], str]:
    """The captures that the store tells, and what is said beside."""
    assert run(["store", "info", "--store", str(store), "--json"]) == 0
    said = capsys.readouterr()
    captures: list[dict[str, Any]] = json.loads(said.out)["captures"]
    return captures, said.err


@pytest.mark.parametrize(
    ("number", "changes", "reason"),
    [
        (0, {"about__unheard_of": 1}, _LINES),
        (0, {"about__seed": None}, _LINES),
        (0, {"about__workload__streams": 7}, _LINES),
        (1, {"interval__cells": None}, _LINES),
        (1, {"interval__cells": 7}, _LINES),
        (
            0,
            {"form": FORM + 1},
            f"it is of form {FORM + 1}, as storscope 9.9 wrote it, and",
        ),
        (0, {"form": None}, "it is without the number of its form"),
    ],
)
def test_what_another_storscope_left_is_set_aside_and_named_once(
    number: int, changes: dict[str, Any], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spool = _left(tmp_path / "store")
    _changed(spool, number, **changes)
    content = spool.read_bytes()
    captures, said = _asked(spool.parent, capsys)
    assert not captures
    assert f"A run that was killed cannot be stored: {reason}" in said
    assert f"It is kept as {spool}.unread. To store it, rename it to {spool.name}" in said
    assert Path(f"{spool}.unread").read_bytes() == content
    assert _asked(spool.parent, capsys) == ([], "")
    Path(f"{spool}.unread").rename(spool)
    assert "It is kept as" in _asked(spool.parent, capsys)[1], "also when it was renamed as that says"


def test_a_line_that_is_no_part_of_a_run_ends_what_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spool = _left(tmp_path / "store")
    lines = spool.read_text().splitlines()
    spool.write_text("\n".join([*lines[:3], "0", *lines[3:]]) + "\n")
    captures, said = _asked(spool.parent, capsys)
    assert len(captures) == 1
    assert "A run that was killed is in the store" in said
    rows = Store.open(spool.parent).query("SELECT time FROM observations WHERE kind = 'job'")
    assert len(rows) == 2


@pytest.mark.parametrize("content", [b"", b'{"form":1,"abou'])
def test_a_run_that_was_killed_before_anything_was_measured_leaves_nothing(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spool = _left(tmp_path / "store")
    spool.write_bytes(content)
    assert _asked(spool.parent, capsys) == ([], "")
    assert not list(spool.parent.glob(".bench-*"))


def test_the_number_of_the_form_stands_for_these_fields() -> None:
    """Who changes them counts it up, so that what others left is told from it."""
    names = {field.name for field in dataclasses.fields(About)}
    assert (FORM, names) == (1, {
        "run", "workload", "target", "target_kind", "system", "seed", "version", "planned_ns", "started_ns", "direct",
        "doubts", "links", "prefill", "labels", "targets", "goal", "engine", "engine_version", "job",
    })  # fmt: skip


def _no_locks(_descriptor: int, _how: int) -> None:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


@pytest.mark.parametrize("options", [[], ["--sweep"], ["--time-series", "1s/0.2s", "--repeat", "1"]])
def test_a_store_on_a_file_system_without_locks_takes_what_is_measured(
    options: list[str], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NFS whose server has no lock daemon, some FUSE."""
    monkeypatch.setattr(fcntl, "flock", _no_locks)
    store = data.parent / "store"
    duration = [] if "--time-series" in options else ["--duration", "0.2s"]
    arguments = ["bench", str(data), "--workload", "random-8k-70-read", "--size", "8M", *duration, *options]
    assert run([*arguments, "--store", str(store)]) == 0
    assert len(Store.open(store).capture_ids()) == 1
    assert not list(store.glob(".bench-*")), "nothing is left that a later command would take for a run that was killed"


def test_without_locks_a_run_that_may_be_under_way_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _left(tmp_path / "store")
    monkeypatch.setattr(fcntl, "flock", _no_locks)
    assert list(abandoned(path.parent)) == []
    assert path.exists()


def test_where_locks_want_a_file_that_may_be_written_a_killed_run_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NFS, which makes of flock(2) a lock of bytes."""
    path, flock = _left(tmp_path / "store"), fcntl.flock

    def of_nfs(descriptor: int, how: int) -> None:
        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", of_nfs)
    assert list(abandoned(path.parent)) == [path]


@pytest.mark.parametrize("files", range(8, 23, 3))
def test_where_too_many_files_are_open_the_remedy_is_to_allow_more(files: int, data: Path) -> None:
    """Whatever it is that they are too many for, neither room nor another store would help."""
    arguments = ["bench", str(data), "--workload", "random-8k-70-read", "--size", "8M", "--duration", "0.1s"]
    arguments += ["--store", str(data.parent / "store")]
    command = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", sys.executable, "-m", "storscope", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    assert "Traceback" not in done.stderr
    found, hint = done.stderr.splitlines()[-2:]
    assert "Too many open files" in found
    assert "Let the process open more files: ulimit -n 1024." in hint
    assert "Make room" not in hint
    assert list(data.iterdir()) == []
