"""A target that somebody truncates while it is measured is said to have shrunk."""

from __future__ import annotations

import fcntl
import os
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from storscope.bench.figures import Outcome
from storscope.bench.shrinking import Sizes
from storscope.bench.targets import Ready
from storscope.cli.main import run
from storscope.domain.units import MIB
from tests.bench.safety.conftest import Rig
from tests.bench.safety.conftest import run as command

_READS = """
name = "reads"
[[stream]]
outstanding = 2
line = [{ size = "4k" }]
"""
_WRITES = _READS.replace("reads", "writes").replace('size = "4k"', 'size = "4k", read_share = 0.0')
_SHUT_DOWN = 0x8004587D
"""FS_IOC_SHUTDOWN of XFS, ext4 and f2fs; 2 does not even write the log (fs/xfs/libxfs/xfs_fs.h)."""
_WENT_ON = Outcome({"valid": True}, ("Another doubt.",), None)


@contextmanager
def _once_measured(store: Path, act: Callable[[], object]) -> Iterator[None]:
    """Does something in another thread as soon as an interval was measured."""
    is_over = threading.Event()

    def wait() -> None:
        while not any(spool.read_bytes().count(b"\n") > 1 for spool in store.glob(".bench-*.jsonl")):
            if is_over.wait(0.02):
                return
        act()

    waiting = threading.Thread(target=wait)
    waiting.start()
    try:
        yield
    finally:
        is_over.set()
        waiting.join()


def test_a_read_beyond_the_end_of_a_truncated_file_says_so(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "reads.toml").write_text(_READS)
    target, store = data / "target", tmp_path / "store"
    target.write_bytes(os.urandom(16 * MIB))
    options = ["--workload", str(tmp_path / "reads.toml"), "--duration", "20s", "--store", str(store)]
    with _once_measured(store, lambda: os.truncate(target, MIB)):
        assert run(["bench", str(target), *options]) == 2
    said = capsys.readouterr().err
    assert "bytes were transferred" in said
    assert f"{target} shrank during the run, from 16 MiB to 1 MiB: beyond its end there is nothing to read" in said


@pytest.mark.parametrize("cut_bytes", [MIB, None])
def test_what_was_truncated_while_it_is_written_is_told_by_its_holes(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], cut_bytes: int | None
) -> None:
    """Writes make the file as long again, and no I/O fails."""
    (tmp_path / "writes.toml").write_text(_WRITES)
    store = tmp_path / "store"
    options = ["--workload", str(tmp_path / "writes.toml"), "--duration", "3s", "--size", "256m", "--store", str(store)]

    def cut() -> None:
        if cut_bytes is not None:
            os.truncate(data / "new", cut_bytes)

    with _once_measured(store, cut):
        assert run(["bench", str(data / "new"), *options]) == 0
    told = f"{data}/new has holes, and had none when it was opened: somebody else truncated it or punched them."
    assert (told in capsys.readouterr().out) is (cut_bytes is not None)


def test_only_what_is_smaller_than_before_shrank(tmp_path: Path) -> None:
    path = tmp_path / "target"
    path.write_bytes(bytes(3 * MIB))
    with path.open("rb") as file:
        sizes = Sizes([Ready(file.fileno(), "target", "file", True, ())])
        assert sizes.compare(_WENT_ON) is _WENT_ON
        os.truncate(path, 4 * MIB)
        assert sizes.compare(_WENT_ON) is _WENT_ON, "it grew"
        os.truncate(path, 3 * MIB - 1)
        (_, doubt) = sizes.compare(_WENT_ON).doubts
        assert doubt.startswith("target shrank during the run, from 3,145,728 bytes to 3,145,727 bytes: somebody else")


@contextmanager
def _failing_xfs(data: Path, store: Path) -> Iterator[Path]:
    """A mounted file system that shuts down as soon as an interval was measured."""
    with ExitStack() as stack:
        rig = Rig(data.parent, stack)
        device = rig.loop(rig.image(size_bytes=512 * MIB))
        command("mkfs.xfs", "-q", device)
        mount = rig.mount(device)
        descriptor = os.open(mount, os.O_RDONLY)
        stack.callback(os.close, descriptor)
        with _once_measured(store, lambda: fcntl.ioctl(descriptor, _SHUT_DOWN, struct.pack("I", 2))):
            yield mount


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.xfs")
@pytest.mark.parametrize(
    ("option", "left"),
    [
        ((), "The scratch file {}: cannot be removed: Input/output error."),
        (("--keep",), "{} stays, but is not known as storscope's own any more: Input/output error."),
    ],
)
def test_a_file_system_that_fails_during_a_run_ends_it_with_what_was_measured(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: tuple[str, ...], left: str
) -> None:
    (tmp_path / "writes.toml").write_text(_WRITES)
    store = tmp_path / "store"
    options = ["--workload", str(tmp_path / "writes.toml"), "--duration", "20s", "--size", "16m", "--store", str(store)]
    with _failing_xfs(data, store) as mount:
        assert run(["bench", str(mount / "new"), *options, *option]) == 2
    shown, told = capsys.readouterr()
    assert "figures, with 95 % intervals" in shown
    assert "In the store" in told
    assert "Input/output error (os error 5)" in told
    assert left.format(mount / "new") in told


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.xfs")
def test_a_sweep_whose_file_system_fails_tells_each_point_that_is_not_measured(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    axes = ["--sweep", "sizes=4k", "modes=randwrite,randread,read", "--duration", "20s", "--size", "16m"]
    with _failing_xfs(data, store) as mount:
        assert run(["bench", str(mount), *axes, "--store", str(store)]) == 2
    shown, told = capsys.readouterr()
    assert shown.count("not measured: ") == 3
    assert "3 measurements are missing; the same command continues" in shown
    assert "error: the system" not in told


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.xfs")
def test_where_a_file_system_has_failed_its_mount_point_is_no_new_name(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A scratch file there would be one of the file system that the mount point is on."""
    with _failing_xfs(data, tmp_path / "store") as mount:
        descriptor = os.open(mount, os.O_RDONLY)
        fcntl.ioctl(descriptor, _SHUT_DOWN, struct.pack("I", 2))
        os.close(descriptor)
        for option in ((), ("--dry-run",)):
            assert run(["bench", str(mount), "--workload", "log", *option, "--store", str(tmp_path / "store")]) == 2
            shown, told = capsys.readouterr()
            assert f"{mount}: expected a file, a directory or a block device, found Input/output error" in shown + told
            assert "Would be done" not in shown
