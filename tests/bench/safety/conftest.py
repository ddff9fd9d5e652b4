"""Real loop devices, mounts and swap for the tests, always taken down again; and handmade kernel trees."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from storscope.bench.safety import Journal
from storscope.domain.units import MIB
from tests.bench.safety.trees import KernelTree


def run(*command: str | Path, stdin: str = "") -> str:
    """Runs a program; its words are in the failure."""
    done = subprocess.run([str(word) for word in command], input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stderr}"
    return done.stdout.strip()


class Rig:
    """Sets up real devices, and takes down in reverse order whatever it set up, also after a failure."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._stack = stack

    def image(self, name: str = "image", size_bytes: int = 32 * MIB) -> Path:
        """A file of zeros (a hole)."""
        path = self.folder / name
        with path.open("xb") as file:
            file.truncate(size_bytes)
        return path

    def loop(self, backing: Path | None = None, *options: str) -> Path:
        """A loop device of our own."""
        backing = backing or self.image()
        device = Path(run("losetup", "--find", "--show", "--partscan", *options, backing))
        self._stack.callback(_detach, device)
        return device

    def partition(self, disk: Path, index: int = 1, start_bytes: int = MIB, size_bytes: int = 24 * MIB) -> Path:
        """A partition told to the kernel by addpart(8): the table itself is not needed for that."""
        run("addpart", disk, str(index), str(start_bytes // 512), str(size_bytes // 512))
        self._stack.callback(_until_done, "delpart", disk, str(index))
        node = Path(f"{disk}p{index}")
        _wait_for(node)
        return node

    def mount(self, device: Path, *options: str) -> Path:
        """Mounts a device."""
        point = self.folder / f"mount-{device.name}"
        point.mkdir()
        self.mount_at(point, *options, device)
        return point

    def ext4(self, device: Path, *options: str) -> Path:
        """Makes a file system on a device and mounts it; nothing of it is left to be written by the kernel later."""
        run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", *options, device)
        return self.mount(device)

    def mount_at(self, point: Path, *options: str | Path) -> None:
        """Mounts in a folder; the options end with what is mounted."""
        run("mount", *options, point)
        self._stack.callback(_unmount, point)

    def bind(self, source: Path, target: Path) -> None:
        """Mounts a file or directory in a second place."""
        run("mount", "--bind", source, target)
        self._stack.callback(run, "umount", target)

    def swap_on(self, area: Path) -> None:
        """Makes an area of ours swap, unless the kernel refuses."""
        run("mkswap", area)
        done = subprocess.run(["swapon", str(area)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"the kernel refuses swapon here: {done.stderr.strip()}")
        self._stack.callback(run, "swapoff", area)


def _unmount(point: Path) -> None:
    """The kernel may still be taking down a ring that had a file open: it does so after the ring was closed."""
    for _ in range(600):
        if subprocess.run(["umount", str(point)], capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.1)
    run("umount", point)


def _detach(device: Path) -> None:
    _until_done("losetup", "--detach", device)


def _until_done(*command: str | Path) -> None:
    """A device may be busy: a probe of udev's reads it, or the kernel has yet to let go of an io_uring that ended."""
    for _ in range(600):
        if subprocess.run([str(word) for word in command], capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.1)
    run(*command)


def _wait_for(node: Path) -> None:
    for _ in range(1200):
        if node.exists():
            return
        time.sleep(0.05)
    pytest.fail(f"{node} did not appear")


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with ExitStack() as stack:
        folder = tmp_path / "rig"
        folder.mkdir()
        yield Rig(folder, stack)


@pytest.fixture
def tree(tmp_path: Path) -> KernelTree:
    return KernelTree(tmp_path / "tree")


@pytest.fixture(autouse=True)
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    """No test sees or changes the journal of whoever runs the tests."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Journal.of_user()


@pytest.fixture
def full_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a home without room: small files are created, and cannot be written."""
    sync = os.fsync

    def full(descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", full)


@pytest.fixture
def descriptors() -> Iterator[Callable[[], int]]:
    """Counts this process's descriptors; none may be left when a test ends."""

    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = count()
    yield count
    assert count() == before, "a descriptor was left open"
