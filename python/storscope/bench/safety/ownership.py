"""Which files storscope created: a mark on the file, and a journal of the user's.

The mark is a random word in an extended attribute, or in a small file beside it where the file system has none. The
journal has one file per scratch file under $XDG_STATE_HOME/storscope/scratch, with the path, the file system's device
number and inode, the birth time, the size and the process. Neither alone proves anything: inodes are used again, and
marks are copied by `cp --preserve=xattr`. A file is ours only if both agree.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import stat
import struct
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from storscope.bench.safety.kernel import DeviceNumber
from storscope.bench.safety.processes import ProcessId
from storscope.bench.safety.target import Identity
from storscope.domain.errors import TargetRefused, UsageError

_ATTRIBUTE = "user.storscope.scratch"
_SIDECAR_SUFFIX = ".storscope-mark"
_VERSION = 1


@dataclass(frozen=True)
class Seal:
    """What a kept file looked like when storscope left it.

    Anybody can set the time of the last modification back (`touch -r`, `rsync -t`), nobody that of the last change.
    """

    size_bytes: int
    modified_ns: int
    changed_ns: int | None = None
    """Null in records that do not tell: they fit no file."""

    @classmethod
    def of(cls, status: os.stat_result) -> Seal:
        """From a stat of the file."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns)


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


_NO_PLACE = "a folder that remembers scratch files until they are removed"
_HINT = "Name another one with an environment variable, as in XDG_STATE_HOME=/var/tmp/NAME storscope bench ..."
"""/var/tmp outlives the crash of a machine, after which the files are to be found again; /tmp need not."""


class Journal:
    """The scratch files of one user."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @classmethod
    def of_user(cls) -> Journal:
        """Under the user's state directory (XDG Base Directory Specification 0.8); without one it remembers nothing."""
        state = os.environ.get("XDG_STATE_HOME", "")
        try:
            root = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
        except RuntimeError:  # neither HOME nor an entry in passwd, as in containers under any user number
            return cls(None)
        return cls(root / "storscope" / "scratch")

    @property
    def folder(self) -> Path:
        """Where it is. Raises UsageError where a user has no place for it."""
        if self._folder is None:
            raise UsageError(_NO_PLACE, "a user without a home directory", hint=_HINT)
        return self._folder

    def write(self, record: Record) -> None:
        """Remembers a file, durably, before the file gets its name. Raises UsageError where that has no place."""
        draft = self.folder / f".{record.word}.tmp"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                _write_durably(draft, {"version": _VERSION, **asdict(record)})
                draft.replace(self._file(record.word))
            except OSError:
                with contextlib.suppress(OSError):
                    draft.unlink()
                raise
            _sync_folder(self.folder)
        except OSError as error:
            raise UsageError(_NO_PLACE, str(error.strerror), where=str(self.folder), hint=_HINT) from error

    def refusal(self) -> UsageError | None:
        """Why `write` would fail, as far as can be told without writing."""
        try:
            nearest = next(folder for folder in (self.folder, *self.folder.parents) if folder.exists())
            if not nearest.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            if not os.access(nearest, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            return UsageError(_NO_PLACE, str(error.strerror), where=str(self.folder), hint=_HINT)
        except UsageError as error:
            return error
        return None

    def forget(self, record: Record) -> None:
        """Removes the memory of a file. Where that fails the next start finds the file gone, and tries again."""
        with contextlib.suppress(OSError):
            self._file(record.word).unlink()

    def records(self) -> Iterator[Record]:
        """What is remembered. What is broken, foreign or of a later version is passed over: nothing follows from it."""
        for path in self._paths():
            record = _parse(path)
            if record is not None:
                yield record

    def _paths(self) -> list[Path]:
        """None where we may not look, as with the home of another user in HOME: nothing there is ours."""
        try:
            return sorted(self._folder.glob("*.json")) if self._folder and self._folder.is_dir() else []
        except OSError:
            return []

    def owns(self, descriptor: int, path: str) -> bool:
        """Whether storscope created this file, kept it on request, and nobody has changed it since."""
        status = os.fstat(descriptor)
        identity = Identity.of(status)
        for record in self.records():
            if record.path == path and record.is_of(identity):
                untouched = record.seal == Seal.of(status)
                return untouched and carries_mark(descriptor, path, record)
        return False

    def seal(self, record: Record, status: os.stat_result, size_bytes: int) -> str:
        """Remembers how storscope leaves a kept file, unless its size shows that others wrote to it too.

        Returns why not, and nothing if it did: without a fitting seal, the next run asks before it writes.
        """
        if status.st_size != size_bytes:
            return f"its size changed from {size_bytes} to {status.st_size} bytes while it was in use"
        try:
            self.write(replace(record, seal=Seal.of(status)))
        except UsageError as error:
            return f"it cannot be remembered ({': '.join(filter(None, (error.where, error.found)))})"
        return ""

    def reseal(self, identity: Identity, size_bytes: int) -> str:
        """After storscope wrote to a kept file of that size again; see `seal`."""
        for record in self.records():
            if record.is_of(identity):
                try:
                    status = Path(record.path).lstat()
                except OSError as error:
                    return str(error.strerror)
                if Identity.of(status) == identity:
                    return self.seal(record, status, size_bytes)
        return ""

    def _file(self, word: str) -> Path:
        return self.folder / f"{word}.json"


def _write_durably(path: Path, form: Mapping[str, Any]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
        json.dump(form, file)
        file.flush()
        os.fsync(file.fileno())


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
        record = Record(
            **{**data, "device": DeviceNumber(*data["device"]), "process": ProcessId(**data["process"])},
            seal=None if seal is None else Seal(**seal),
        )
        return record if _is_sound(record) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _is_sound(record: Record) -> bool:
    """Whether each field is of its type: JSON carries any."""
    numbers = (
        *record.device, record.inode, record.size_bytes, record.created_at_ns, record.process.pid,
        record.process.start_ticks, record.born_ns or 0, *(asdict(record.seal).values() if record.seal else ()),
    )  # fmt: skip
    texts = (record.path, record.process.boot, record.process.pid_namespace, record.process.machine or "")
    return (
        all(isinstance(number, int) for number in numbers if number is not None)
        and all(isinstance(text, str) and "\0" not in text for text in texts)
        and isinstance(record.keep, bool)
    )


def put_mark(descriptor: int, path: str, word: str) -> None:
    """Marks an open file as ours. Raises TargetRefused where that has no place."""
    try:
        os.setxattr(f"/proc/self/fd/{descriptor}", _ATTRIBUTE, word.encode())
    except OSError:
        _put_sidecar(sidecar(path), word)


def _put_sidecar(beside: Path, word: str) -> None:
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(beside, flags, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(word)
        except OSError:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise TargetRefused(
            "a new file that marks the scratch file, as this file system has no attributes", str(error.strerror),
            where=str(beside), hint="Choose another name for the scratch file, or another directory.",
        ) from error  # fmt: skip


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


_STATX = struct.Struct("<I4xQ64x qI4x 160x")
"""struct statx (256 bytes): the mask, stx_attributes at byte 8, and stx_btime at byte 80 (linux/stat.h)."""
_STATX_BTIME = 0x800
_STATX_ATTR_IMMUTABLE, _STATX_ATTR_APPEND = 0x10, 0x20
_AT_EMPTY_PATH = 0x1000
_NS_PER_S = 1_000_000_000


def born_ns(descriptor: int) -> int | None:
    """When the file was created, which a later file with the same inode cannot share."""
    found = _statx(descriptor)
    if found is None:
        return None
    mask, _, seconds, nanoseconds = _STATX.unpack(found)
    return seconds * _NS_PER_S + nanoseconds if mask & _STATX_BTIME else None


def is_protected(descriptor: int) -> bool:
    """Whether the file is immutable or append-only (chattr(1)), which no permission shows. Not known is no."""
    found = _statx(descriptor)
    return found is not None and bool(_STATX.unpack(found)[1] & (_STATX_ATTR_IMMUTABLE | _STATX_ATTR_APPEND))


def _statx(descriptor: int) -> bytes | None:
    """struct statx; null where there is none. Python 3.11 does not have it."""
    try:
        statx = ctypes.CDLL(None, use_errno=True).statx
    except (OSError, AttributeError):
        return None
    buffer = ctypes.create_string_buffer(_STATX.size)
    return buffer.raw if statx(descriptor, b"", _AT_EMPTY_PATH, _STATX_BTIME, buffer) == 0 else None
