"""Several at work in one store, and what those leave behind that were killed."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from storscope.domain.entity import EntityRef
from storscope.domain.errors import StoreError
from storscope.domain.recorder import Recorder
from storscope.store import CaptureInfo, Store
from tests.support.cases import make_store

_DEVICE = EntityRef("host", "device", "sda")
_SECOND = 10**9
_FIRST = f"{0:016x}"


def _info(capture: str) -> CaptureInfo:
    return CaptureInfo(capture, "x", capture, 1, "t", 1, 0, "h", "0", {})


def _observe(recorder: Recorder) -> None:
    recorder.observe(_DEVICE, 10**18, _SECOND, {"ops_per_s": 1.0})


def _write(store: Store, capture: str) -> None:
    with store.writer(_info(capture)) as writer:
        recorder = Recorder(writer.write)
        _observe(recorder)
        recorder.finish()
        writer.commit(recorder)


@pytest.mark.needs_root
def test_a_command_in_another_container_leaves_what_is_being_written(tmp_path: Path) -> None:
    """There the writer's process number is nobody's."""
    store = Store.open(tmp_path / "store", create=True)
    with store.writer(_info("ab")) as writer:
        recorder = Recorder(writer.write)
        _observe(recorder)
        elsewhere = [sys.executable, "-m", "storscope", "store", "info", "--store", str(store.path)]
        subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", *elsewhere], check=True, capture_output=True)
        recorder.finish()
        writer.commit(recorder)
    assert [row["capture"] for row in store.captures()] == ["ab"]


@pytest.mark.parametrize("number", [1, pytest.param(os.getpid(), id="own"), 999_999])
def test_a_replacement_that_broke_off_is_put_back_whatever_runs_under_its_number(number: int, tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", _observe)
    (store.path / f"capture={_FIRST}").rename(store.path / f".incoming-{_FIRST}-{number}-replaced")
    assert [row["capture"] for row in Store.open(store.path).captures()] == [_FIRST]
    assert not list(store.path.glob(".*"))


def test_a_directory_that_nobody_holds_is_removed_and_one_that_is_held_stays(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    (store.path / f".incoming-{'0' * 16}-{os.getpid()}").mkdir()
    with store.writer(_info("ab")):
        (kept,) = set(store.path.glob(".incoming-*")) - {store.path / f".incoming-{'0' * 16}-{os.getpid()}"}
        Store.open(store.path)
        assert list(store.path.glob(".*")) == [kept]
    assert not list(store.path.glob(".*"))


def _write_all(path: Path, start: object) -> None:
    start.wait()  # type: ignore[attr-defined]
    store = Store.open(path, create=True)
    for capture in ("aa", "bb", "cc"):
        _write(store, capture)
        assert store.query("SELECT count(*) FROM observations WHERE capture = $1", [capture]).column(0).to_pylist() == [
            1
        ]
        assert capture in {row["capture"] for row in store.captures()}


@pytest.mark.parametrize("turn", range(3))
def test_several_that_write_the_same_captures_into_a_new_store_all_succeed(turn: int, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(4)
    writers = [context.Process(target=_write_all, args=(tmp_path / "store", start)) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    store = Store.open(tmp_path / "store")
    assert [row["capture"] for row in store.captures()] == ["aa", "bb", "cc"]
    assert not list(store.path.glob(".*"))


def test_who_finds_nothing_to_import_leaves_a_store_that_another_writes_to(tmp_path: Path) -> None:
    ours, theirs = (Store.open(tmp_path / "store", create=True) for _ in range(2))
    with theirs.writer(_info("ab")):
        ours.remove_if_empty()
        assert Store.is_store(ours.path)
    ours.remove_if_empty()
    assert not ours.path.exists()
    _write(theirs, "ab")
    assert [row["capture"] for row in Store.open(tmp_path / "store").captures()] == ["ab"]


def test_a_capture_that_is_removed_meanwhile_is_no_damage(tmp_path: Path) -> None:
    reader, other = make_store(tmp_path / "store", _observe, _observe), Store(tmp_path / "store")
    count = "SELECT count(*) FROM observations"
    assert reader.query(count).column(0).to_pylist() == [2]
    other.remove_capture(_FIRST)
    assert reader.query(count).column(0).to_pylist() == [1]


@pytest.mark.needs_root
@pytest.mark.parametrize("asked", [["info"], ["query", "SELECT DISTINCT capture FROM observations"]])
def test_a_store_that_cannot_be_written_is_read_without_what_a_crash_left_aside(
    asked: list[str], tmp_path: Path
) -> None:
    store = make_store(tmp_path / "store", _observe, _observe)
    (store.path / f"capture={_FIRST}").rename(store.path / f".incoming-{_FIRST}-999999-replaced")
    subprocess.run(["mount", "--bind", "-o", "ro", store.path, store.path], check=True)
    try:
        called = [sys.executable, "-m", "storscope", "store", *asked, "--store", str(store.path)]
        done = subprocess.run(called, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert f"{1:016x}" in done.stdout
        assert f"capture {_FIRST} is not in the store" in " ".join(done.stderr.split())
        with pytest.raises(StoreError, match=r"Read-only file system[\s\S]*--store"):
            _write(Store.open(store.path), "ab")
    finally:
        subprocess.run(["umount", store.path], check=True)


def test_a_crash_between_the_renames_of_a_replacement_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_store(tmp_path / "store", _observe)
    renamed: Callable[..., Path] = Path.rename

    def killed(path: Path, target: Path) -> Path:
        if "capture=" in target.name:
            raise KeyboardInterrupt
        return renamed(path, target)

    monkeypatch.setattr(Path, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        _write(store, _FIRST)
    monkeypatch.undo()
    assert not store.captures()
    assert [row["capture"] for row in Store.open(store.path).captures()] == [_FIRST]
