"""What the engine says, as people read it; and a store without room."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from storscope.bench.engine import explained, in_units, run_error
from storscope.cli.main import run as storscope
from storscope.domain.errors import StoreError
from storscope.domain.units import KIB, MIB
from storscope.store import Store
from tests.bench.safety.conftest import Rig, run


def test_times_of_the_engine_get_a_unit_that_people_read() -> None:
    said = "I/Os left 745471 ns late at p99, of a response of 1572863 ns: the generator was too slow"
    assert in_units(said) == "I/Os left 745 µs late at p99, of a response of 1.57 ms: the generator was too slow"
    assert in_units("3 I/Os failed and are in no latency") == "3 I/Os failed and are in no latency"


def test_a_size_that_the_device_does_not_take_is_explained(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", str(data), "--sweep", "sizes=4000", "--size", "8m", "--duration", "100ms"]
    assert storscope([*arguments, "--store", str(data.parent / "store")]) == 2
    assert "multiples of the device's block, 512 or 4,096 bytes" in capsys.readouterr().out
    assert explained("I/O error (os error 5)") == "I/O error (os error 5)"


def test_a_size_that_the_device_does_not_take_is_no_failing_device() -> None:
    assert "is failing" in run_error("failed", explained("a read: I/O error (os error 5)")).message()
    assert "is failing" not in run_error("failed", explained("a read: Invalid argument (os error 22)")).message()


@pytest.mark.parametrize("found", ["No space left on device (os error 28)", "Disk quota exceeded (os error 122)"])
def test_a_write_that_finds_no_room_is_no_failing_device(found: str) -> None:
    said = run_error("failed", explained(f"a write: {found}")).message()
    assert "make room, or choose a smaller --size" in said
    assert "is failing" not in said


def test_a_quota_that_is_used_up_is_no_lack_of_room() -> None:
    """`df` shows room, and nobody else took any: what helps is another limit."""
    said = explained("a write: Disk quota exceeded (os error 122)")
    assert "a quota of the user, the group, the project or the subvolume is used up" in said
    assert "others took it" not in said


@pytest.mark.parametrize(
    ("said", "behind"),
    [
        ("device: io_uring_setup: Operation not permitted (os error 1)", "kernel.io_uring_disabled forbids it"),
        ("device: io_uring_setup: Function not implemented (os error 38)", "or the kernel has none"),
        ("device: io_uring_register files: Operation not permitted (os error 1)", "(seccomp)"),
        ("device: io_uring_setup: Cannot allocate memory (os error 12)", "ulimit -l"),
    ],
)
def test_a_ring_that_is_refused_is_explained_with_what_to_choose(said: str, behind: str) -> None:
    told = explained(said)
    assert told.startswith(said)
    assert behind in told
    assert "--ioengine threads" in told


_FEW_TASKS = (
    "device: threads: expected 5 threads for workers, found that the system starts 4 (Resource temporarily unavailable "
    "(os error 11)): allow more tasks (ulimit -u, pids.max of the cgroup, TasksMax of the service) or memory, or ask "
    "for fewer workers"
)


@pytest.mark.parametrize(
    "said", [_FEW_TASKS, explained("device: io_uring_setup: Operation not permitted (os error 1)")]
)
def test_an_engine_that_says_what_it_lacks_is_given_no_other_advice(said: str) -> None:
    """A limit on tasks has nothing to do with locked memory, nor has a filter of a container."""
    assert run_error("device", said).hint == ""
    assert "ulimit -l" in run_error("device", "device: io_uring_enter: Device or resource busy (os error 16)").hint


def test_what_else_a_ring_answers_is_left_as_it_is() -> None:
    said = "device: io_uring_enter: Device or resource busy (os error 16)"
    assert explained(said) == said


@pytest.fixture
def full(data: Path) -> Iterator[Path]:
    """A file system without a free byte, with an empty directory."""
    with ExitStack() as stack:
        rig = Rig(data.parent, stack)
        device = rig.loop(rig.image(size_bytes=8 * MIB))
        run("mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", device)
        mount = rig.mount(device)
        (mount / "store").mkdir()
        (mount / "store" / "storscope-store.json").write_text('{"schema_version": 1, "made_by": "storscope"}\n')
        with pytest.raises(OSError, match="No space"), (mount / "fill").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        yield mount / "store"


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
def test_a_store_without_room_is_named(full: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", str(data), "--workload", "backup", "--size", "8m", "--duration", "200ms"]
    assert storscope([*arguments, "--store", str(full)]) == 2
    told = capsys.readouterr().err
    assert f"{full}: expected a store that takes what is measured, found No space left on device" in told
    assert not list(full.glob(".bench-*"))
    assert not list(data.iterdir())


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
def test_a_store_that_fills_up_ends_the_run_with_what_was_measured(
    full: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill = full.parent / "fill"
    os.truncate(fill, fill.stat().st_size - 48 * KIB)
    arguments = ["bench", str(data), "--workload", "backup", "--size", "8m", "--duration", "60s"]
    assert storscope([*arguments, "--store", str(full)]) == 2
    shown, told = capsys.readouterr()
    assert "figures, with 95 % intervals" in shown, "nobody has to measure again to see them"
    (spool,) = full.glob(".bench-*.jsonl")
    assert f"{full}: expected a store that takes what is measured, found No space left on device" in told
    assert f"What was measured is in {spool}." in told
    fill.unlink()
    assert storscope(["store", "info", "--store", str(full)]) == 0
    assert "1 capture" in capsys.readouterr().out


def test_a_measurement_whose_capture_finds_no_room_stays_and_is_said_to(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(store: Store, *_: object) -> str:
        raise StoreError("a store that takes a capture", "No space left on device", where=str(store.path))

    store = data.parent / "store"
    with monkeypatch.context() as patch:
        patch.setattr("storscope.workbench.benchmarking.keep", full)
        arguments = ["bench", str(data), "--workload", "backup", "--size", "8m", "--duration", "200ms"]
        assert storscope([*arguments, "--store", str(store)]) == 2
    (spool,) = store.glob(".bench-*.jsonl")
    shown, told = capsys.readouterr()
    assert "figures, with 95 % intervals" in shown, "nobody has to measure again to see them"
    assert "as capture" not in told
    assert f"{store}: expected a store that takes a capture, found No space left on device" in told
    assert f"What was measured is in {spool}." in told
    assert storscope(["store", "info", "--store", str(store)]) == 0
    said = capsys.readouterr()
    assert "1 capture" in said.out
    assert "A run that had ended, and was not in the store yet, is there as" in said.err
    assert "killed" not in said.err


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
def test_a_store_that_cannot_be_written_is_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ExitStack() as stack:
        rig = Rig(data.parent, stack)
        device = rig.loop(rig.image(size_bytes=8 * MIB))
        run("mkfs.ext4", "-q", device)
        mount = rig.mount(device)
        store = mount / "store"
        Store.open(store, create=True)
        run("mount", "-o", "remount,ro", str(mount))
        arguments = ["bench", str(data), "--workload", "backup", "--size", "8m", "--duration", "200ms"]
        assert storscope([*arguments, "--store", str(store)]) == 2
    told = capsys.readouterr().err
    assert f"{store}: expected a store that can be written to, found Read-only file system" in told
    assert "--store DIR" in told


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.xfs")
@pytest.mark.parametrize("option", [(), ("--buffered",)])
def test_a_thin_volume_that_fills_up_is_not_told_as_failing(
    data: Path, capsys: pytest.CaptureFixture[str], option: tuple[str, ...]
) -> None:
    """Through the page cache that shows only when the scratch file is written out."""
    with ExitStack() as stack:
        rig = Rig(data.parent, stack)
        memory = data.parent / "memory"
        memory.mkdir()
        rig.mount_at(memory, "-t", "tmpfs", "-o", "size=80m", "tmpfs")
        (memory / "image").touch()
        os.truncate(memory / "image", 512 * MIB)
        device = rig.loop(memory / "image")
        run("mkfs.xfs", "-q", device)
        mount = rig.mount(device)
        arguments = ["bench", str(mount), "--workload", "backup", "--size", "128m", "--duration", "200ms", *option]
        assert storscope([*arguments, "--store", str(data.parent / "store")]) == 2
        assert not list(mount.iterdir())
    told = capsys.readouterr().err
    assert "No space left on device (os error 28); no room is left there, or on what it lies on (a thin volume" in told
    assert "error: the system" not in told
    assert "is failing" not in told


@pytest.mark.parametrize("ioengine", ["io_uring", "threads"])
def test_how_the_engine_makes_its_ios_can_be_fixed(
    ioengine: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["bench", str(data), "--workload", "random-8k-70-read", "--buffered", "--size", "1m", "--duration", "100ms"]
    store = ["--store", str(data.parent / "store")]
    assert storscope([*given, *store, "--ioengine", ioengine]) in (0, 1)
    told = capsys.readouterr()
    (line,) = [line for line in told.out.splitlines() if ", seed " in line]
    assert line.partition(", seed ")[2].split(", ")[1].split(" ")[0] == ioengine, "with a reason or without"
    assert "in a trial" not in line
    assert storscope([*given, *store, "--ioengine", ioengine, "--engine", "fio"]) == 2
    assert "--ioengine with storscope's own engine" in capsys.readouterr().err
