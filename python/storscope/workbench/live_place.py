"""Where the live demonstration works: a directory of its own on storage, and a store; both are gone afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from storscope.bench.safety.ownership import is_protected
from storscope.bench.safety.target import hold
from storscope.bench.underneath import Underneath, underneath
from storscope.domain.errors import TargetRefused, UsageError
from storscope.domain.units import MIB, format_bytes

SCRATCH_BYTES = 256 * MIB
_LEAST_SCRATCH_BYTES = 32 * MIB
_FILES = 2
_SHARE_OF_FREE = 0.25
"""A demonstration takes at most that share of the free space."""


@dataclass(frozen=True)
class Place:
    """Where the scratch files are."""

    directory: Path
    """Made for the demonstration and empty."""
    under: Underneath
    scratch_bytes: int
    """Of each file."""

    @property
    def words(self) -> str:
        """'/var/tmp (ext4 on vda)'."""
        on = f" on {', '.join(self.under.nearest)}" if self.under.levels else ""
        return f"{self.directory.parent} ({self.under.fs_type or 'an unknown file system'}{on})"


@contextmanager
def place(wanted: Path | None, scratch_bytes: int = SCRATCH_BYTES) -> Iterator[Place]:
    """A new directory in `wanted`, or in the first usual place that is storage rather than memory.

    Raises UsageError where there is no such place, or too little room.
    """
    parent = _parent(wanted)
    size = _size(parent, scratch_bytes)
    directory = Path(tempfile.mkdtemp(prefix="storscope-demo-", dir=parent))
    try:
        yield Place(directory, _under(directory), size)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _parent(wanted: Path | None) -> Path:
    if wanted is not None:
        if not wanted.is_dir():
            found = f"{wanted}, which is a file" if wanted.exists() else f"{wanted}, which does not exist"
            raise UsageError("a directory that can be written to", found)
        if not os.access(wanted, os.W_OK | os.X_OK):
            raise UsageError("a directory that can be written to", f"{wanted}, in which you may not write")
        if _keeps_all(wanted):
            found = f"{wanted}, which is append-only (lsattr shows a)"
            raise UsageError("a directory from which files can be removed", found)
        if _is_memory(_under(wanted)):
            raise UsageError("a directory on storage", f"{wanted}: {_under(wanted).why_none}")
        return wanted
    writable = [folder for folder in _usual() if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)]
    usable = [folder for folder in writable if not _keeps_all(folder)]
    on_storage = [folder for folder in usable if not _is_memory(_under(folder))]
    on_devices = [folder for folder in on_storage if _under(folder).levels]
    for folder in (*on_devices, *on_storage):
        if _room(folder) >= _FILES * _LEAST_SCRATCH_BYTES:
            return folder
    raise UsageError(
        "a directory on storage with room for two files", ", ".join(map(str, usable)) or "none that can be written to",
        hint="Name one: storscope demo --live DIR",
    )  # fmt: skip


def _keeps_all(folder: Path) -> bool:
    """Whether what is made there could not be removed again (chattr(1))."""
    with hold(folder) as held:
        return is_protected(held.descriptor)


def _usual() -> list[Path]:
    folders = [Path(tempfile.gettempdir()), Path("/var/tmp"), Path.cwd()]
    try:
        return [*folders, Path.home()]
    except RuntimeError:  # neither HOME nor an entry in passwd
        return folders


def _under(folder: Path) -> Underneath:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return underneath(descriptor)
    except TargetRefused:
        return Underneath((), None, "the kernel does not tell what is mounted")
    finally:
        os.close(descriptor)


def _is_memory(under: Underneath) -> bool:
    return not under.levels and "memory" in under.why_none


def _room(folder: Path) -> int:
    status = os.statvfs(folder)
    return int(status.f_bavail * status.f_frsize * _SHARE_OF_FREE)


def _size(folder: Path, wanted: int) -> int:
    """What was wanted, or less where room is short, in whole MiB."""
    size = min(wanted, _room(folder) // _FILES) // MIB * MIB
    if size < min(wanted, _LEAST_SCRATCH_BYTES):
        needed = format_bytes(_FILES * _LEAST_SCRATCH_BYTES / _SHARE_OF_FREE)
        raise UsageError(f"{needed} of free space in {folder}", format_bytes(_room(folder) / _SHARE_OF_FREE))
    return size


@contextmanager
def undisturbed() -> Iterator[None]:
    """While something is taken down, a further Ctrl-C waits in vain. Only the main thread can be spared."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
