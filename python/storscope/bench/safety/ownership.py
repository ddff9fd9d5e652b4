"""Which files storscope created: a mark on the file, and a journal of the user's.

The mark is a random word in an extended attribute, or in a small file beside it where the file system has none. The
journal has one file per scratch file under $XDG_STATE_HOME/storscope/scratch, with the path, the file system's device
number and inode, the birth time, the size and the process. Neither alone proves anything: inodes are used again, and
marks are copied by `cp --preserve=xattr`. A file is ours only if both agree.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from storscope.bench.safety.kernel import DeviceNumber
from storscope.bench.safety.processes import ProcessId
from storscope.bench.safety.target import Identity
from storscope.domain.errors import UsageError

_ATTRIBUTE = "user.storscope.scratch"
_SIDECAR_SUFFIX = ".storscope-mark"
_VERSION = 1


@dataclass(frozen=True)
class Seal:
    """What a kept file looked like when storscope left it."""

    size_bytes: int
    modified_ns: int


@dataclass(frozen=True)
class Record:
    """One scratch file as the journal remembers it."""

    word: str
    path: str
    device: DeviceNumber
    inode: int
    born_ns: int | None
    """Birth time; null where the file system has none."""
    size_bytes: int
    process: ProcessId
    created_at_ns: int
    keep: bool = False
    seal: Seal | None = None

    def is_of(self, identity: Identity) -> bool:
        """Whether it describes that file."""
        return (self.device, self.inode) == (identity.device, identity.inode)


class Journal:
    """The scratch files of one user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of_user(cls) -> Journal:
        """Under the user's state directory (XDG Base Directory Specification 0.8)."""
        state = os.environ.get("XDG_STATE_HOME", "")
        root = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
        return cls(root / "storscope" / "scratch")

    def write(self, record: Record) -> None:
        """Remembers a file, durably, before the file gets its name. Raises UsageError where that has no place."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                "a folder that remembers scratch files until they are removed", str(error.strerror),
                where=str(self.folder), hint="Name another one with the environment variable XDG_STATE_HOME.",
            ) from error  # fmt: skip
        draft = self.folder / f".{record.word}.tmp"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            json.dump({"version": _VERSION, **asdict(record)}, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._file(record.word))
        _sync_folder(self.folder)

    def forget(self, record: Record) -> None:
        """Removes the memory of a file."""
        self._file(record.word).unlink(missing_ok=True)

    def records(self) -> Iterator[Record]:
        """What is remembered. What is broken, foreign or of a later version is passed over: nothing follows from it."""
        for path in self._paths():
            record = _parse(path)
            if record is not None:
                yield record

    def _paths(self) -> list[Path]:
        """None where we may not look, as with the home of another user in HOME: nothing there is ours."""
        try:
            return sorted(self.folder.glob("*.json")) if self.folder.is_dir() else []
        except PermissionError:
            return []

    def owns(self, descriptor: int, path: str) -> bool:
        """Whether storscope created this file, kept it on request, and nobody has changed it since."""
        status = os.fstat(descriptor)
        identity = Identity.of(status)
        for record in self.records():
            if record.path == path and record.is_of(identity):
                untouched = record.seal == Seal(status.st_size, status.st_mtime_ns)
                return untouched and carries_mark(descriptor, path, record)
        return False

    def reseal(self, identity: Identity) -> None:
        """After storscope wrote to a kept file again."""
        for record in self.records():
            if record.is_of(identity):
                with contextlib.suppress(OSError):
                    status = Path(record.path).lstat()
                    if Identity.of(status) == identity:
                        self.write(replace(record, seal=Seal(status.st_size, status.st_mtime_ns)))

    def _file(self, word: str) -> Path:
        return self.folder / f"{word}.json"


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _parse(path: Path) -> Record | None:
    """Root running with a user's environment must not act on that user's records, so the file must be one's own."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
            return None
        data = json.loads(path.read_text(encoding="utf-8", errors="surrogateescape"))
        if data.pop("version") != _VERSION or data["word"] != path.stem:
            return None
        seal = data.pop("seal")
        return Record(
            **{**data, "device": DeviceNumber(*data["device"]), "process": ProcessId(**data["process"])},
            seal=None if seal is None else Seal(**seal),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def put_mark(descriptor: int, path: str, word: str) -> None:
    """Marks an open file as ours."""
    try:
        os.setxattr(f"/proc/self/fd/{descriptor}", _ATTRIBUTE, word.encode())
    except OSError:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        beside = os.open(sidecar(path), flags, 0o600)
        with os.fdopen(beside, "w", encoding="utf-8") as file:
            file.write(word)


def carries_mark(descriptor: int, path: str, record: Record) -> bool:
    """Whether an open file carries the record's word, was born when it says, and is the user's own."""
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid() or not stat.S_ISREG(status.st_mode):
        return False
    return born_ns(descriptor) == record.born_ns and _word(descriptor, path) == record.word


def _word(descriptor: int, path: str) -> str | None:
    with contextlib.suppress(OSError):
        return os.getxattr(f"/proc/self/fd/{descriptor}", _ATTRIBUTE).decode("ascii", "replace")
    try:
        beside = sidecar(path)
        status = beside.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return None
        return beside.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None


def sidecar(path: str) -> Path:
    """The file that carries the mark where there are no extended attributes."""
    return Path(path + _SIDECAR_SUFFIX)


_STATX = struct.Struct("<I76x qI4x 160x")
"""struct statx (256 bytes): the mask, and stx_btime at byte 80 (linux/stat.h)."""
_STATX_BTIME = 0x800
_AT_EMPTY_PATH = 0x1000
_NS_PER_S = 1_000_000_000


def born_ns(descriptor: int) -> int | None:
    """When the file was created, which a later file with the same inode cannot share. Python 3.11 has no statx."""
    try:
        statx = ctypes.CDLL(None, use_errno=True).statx
    except (OSError, AttributeError):
        return None
    buffer = ctypes.create_string_buffer(_STATX.size)
    if statx(descriptor, b"", _AT_EMPTY_PATH, _STATX_BTIME, buffer) != 0:
        return None
    mask, seconds, nanoseconds = _STATX.unpack(buffer.raw)
    return seconds * _NS_PER_S + nanoseconds if mask & _STATX_BTIME else None
