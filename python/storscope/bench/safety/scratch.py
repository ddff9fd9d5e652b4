"""Scratch files: created with a proof of ownership, removed at the end, and after a crash at the next start.

A file is made without a name (O_TMPFILE), marked, recorded in the journal, and only then linked to its name, so that a
crash at any point leaves either nothing or a file that the next start can prove to be ours. Where the file system
cannot do that, an empty file may be left behind. SIGKILL and power loss leave the file to `sweep`, or the first to
`afterwards`; so do SIGTERM and SIGHUP unless the caller turns them into exceptions.

Removal goes by proof, not by name: same inode, same birth, same mark, one name, our own, a process that has ended, and
nobody who holds its lock; where there is no birth time, the same file system's number too. Whatever fails the proof is
left alone and named; so is what was created on another machine or in another container, where nothing tells here
whether the process has ended. A removal that fails is told and tried again at the next start: it stops no run.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import TracebackType

from storscope.bench.safety.access import inspect_new_file, lock
from storscope.bench.safety.check import Check
from storscope.bench.safety.kernel import DeviceNumber, Kernel
from storscope.bench.safety.ownership import Journal, Record, born_ns, carries_mark, put_mark, sidecar
from storscope.bench.safety.permission import decide
from storscope.bench.safety.processes import boot_of, is_alive, is_foreign, this_process
from storscope.bench.safety.target import DirectoryTarget, Identity, NewFileTarget, hold, resolve
from storscope.domain.errors import TargetRefused, UsageError

_NAMELESS_UNSUPPORTED = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT, errno.ENOSYS}
"""What file systems and kernels without O_TMPFILE answer (open(2))."""


Told = Callable[[str], None]
"""Hears a sentence for the user."""


def _random_word() -> str:
    return secrets.token_hex(16)


@dataclass
class Scratch:
    """A scratch file of this process. Leaving the `with` removes it, unless it is kept."""

    path: Path
    descriptor: int
    """Open for reading and writing; without O_DIRECT."""
    name: int
    """Refers to it by its name (O_PATH), and so knows its path when that changes."""
    record: Record
    journal: Journal
    kernel: Kernel
    checks: tuple[Check, ...]
    told: Told
    is_closed: bool = False

    def keep(self) -> None:
        """From now on it stays, also after a crash."""
        self.record = replace(self.record, keep=True)
        self.journal.write(self.record)

    def close(self) -> None:
        """Closes it; removes it if it is to be removed, and tells why it could not be. Once is enough."""
        if self.is_closed:
            return
        self.is_closed = True
        try:
            self._seal() if self.record.keep else self._remove()
        finally:
            os.close(self.name)
            os.close(self.descriptor)

    def _seal(self) -> None:
        try:
            reason = self.journal.seal(self.record, os.fstat(self.descriptor), self.record.size_bytes)
        except OSError as error:  # its file system has failed
            reason = str(error.strerror)
        if reason:
            self.told(f"{self.path} stays, but is not known as storscope's own any more: {reason}.")

    def _remove(self) -> None:
        left = remove(self.record, self.journal, self.kernel, is_own_lock=True)
        names = self._names()
        if names == 1 and left.outcome is not Swept.REMOVED:
            left = self._remove_moved(left)
        if names > 1:
            left = replace(left, outcome=Swept.LINKED)
        if names > 0 and left.outcome is not Swept.REMOVED:
            self.told(f"The scratch file {left}.")

    def _names(self) -> int:
        """How many names it has; where its file system has failed and does not tell, the one that it was given."""
        try:
            return os.fstat(self.descriptor).st_nlink
        except OSError:
            return 1

    def _remove_moved(self, left: Leftover) -> Leftover:
        """It went along with its folder, and is removed there; one that got another name is for who gave it that."""
        try:
            path = Path(f"/proc/self/fd/{self.name}").readlink()
        except OSError:
            return left
        if path == self.path:
            return left
        if path.name != self.path.name:
            return Leftover(str(path), Swept.RENAMED)
        return remove(replace(self.record, path=str(path)), self.journal, self.kernel, is_own_lock=True)

    def __enter__(self) -> Scratch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def create(
    path: str | Path,
    size_bytes: int,
    *,
    keep: bool = False,
    journal: Journal | None = None,
    kernel: Kernel | None = None,
    word: Callable[[], str] = _random_word,
    now_ns: Callable[[], int] = time.time_ns,
    told: Told = lambda _: None,
) -> Scratch:
    """Creates a scratch file in a directory, or under a new name. It is a hole of `size_bytes`: writing it comes next.

    `told` hears, at the end, why a file that is to be removed is still there.

    Raises TargetRefused if there is no room or no permission, UsageError if the name exists. Never overwrites.
    """
    kernel, journal, secret = kernel or Kernel(), journal or Journal.of_user(), word()
    target = _new_target(path, secret, kernel)
    found = inspect_new_file(target, size_bytes)
    decide(target, found.checks, None, kernel)
    with hold(target.directory.path) as folder:
        if Identity.of(folder.status) != target.directory.identity:
            raise TargetRefused("the directory that was checked", "another one", where=target.asked)
        descriptor = _make(folder.descriptor, target)
        try:
            record = _record(descriptor, target, size_bytes, keep, secret, kernel, now_ns())
            name = _name_it(descriptor, folder.descriptor, record, journal)
        except BaseException:
            _undo(descriptor, folder.descriptor, Path(target.path).name)
            raise
    return Scratch(Path(target.path), descriptor, name, record, journal, kernel, found.checks, told)


def _new_target(path: str | Path, secret: str, kernel: Kernel) -> NewFileTarget:
    target = resolve(path, kernel)
    if isinstance(target, DirectoryTarget):
        name = f"storscope-scratch-{secret[:12]}.dat"
        return NewFileTarget(os.fspath(path), str(Path(target.path) / name), target)
    if isinstance(target, NewFileTarget):
        return target
    raise UsageError("a directory or a new name for a scratch file", "something that exists", where=os.fspath(path))


def _make(folder: int, target: NewFileTarget) -> int:
    """A file without a name if possible, else one with."""
    name, path = Path(target.path).name, target.path
    try:
        return os.open(".", os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o600, dir_fd=folder)
    except OSError as error:
        if error.errno not in _NAMELESS_UNSUPPORTED:
            raise _not_created(error, path) from error
    try:
        return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    except OSError as error:
        raise _not_created(error, path) from error


def _not_created(error: OSError, path: str) -> TargetRefused:
    """Bytes were counted before: what is missing for an empty file is an inode."""
    hint = "The file system may have no inode left for another file (df -i)." if error.errno == errno.ENOSPC else ""
    return TargetRefused("a scratch file to be created", str(error.strerror), where=path, hint=hint)


def _record(
    descriptor: int, target: NewFileTarget, size_bytes: int, keep: bool, secret: str, kernel: Kernel, now_ns: int
) -> Record:
    status = os.fstat(descriptor)
    return Record(
        word=secret, path=target.path, device=DeviceNumber.of_raw(status.st_dev), inode=status.st_ino,
        born_ns=born_ns(descriptor), size_bytes=size_bytes, process=this_process(kernel), created_at_ns=now_ns,
        keep=keep,
    )  # fmt: skip


def _name_it(descriptor: int, folder: int, record: Record, journal: Journal) -> int:
    """Mark, journal, name: in this order. Returns a descriptor of the name."""
    lock(descriptor)
    name = Path(record.path).name
    try:
        put_mark(descriptor, record.path, record.word)
        journal.write(record)
        if os.fstat(descriptor).st_nlink == 0:
            # linkat(2) with AT_SYMLINK_FOLLOW, which Python uses only if a directory is given. It never replaces.
            os.link(f"/proc/self/fd/{descriptor}", name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
        os.ftruncate(descriptor, record.size_bytes)
        return os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except (UsageError, TargetRefused):  # there is no journal, or no place for the mark
        remove_sidecar(record)
        raise
    except OSError as error:
        journal.forget(record)
        remove_sidecar(record)
        raise TargetRefused("a scratch file to be created", str(error.strerror), where=record.path) from error


def _undo(descriptor: int, folder: int, name: str) -> None:
    """Takes the name away again from a file that was just created, and from no other that has got it meanwhile."""
    with contextlib.suppress(OSError):
        if os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino == os.fstat(descriptor).st_ino:
            os.unlink(name, dir_fd=folder)
    os.close(descriptor)


class Swept(StrEnum):
    """What became of a recorded file."""

    REMOVED = "removed"
    GONE = "already gone"
    IN_USE = "its process still runs"
    KEPT = "kept on request"
    AWAY = "its file system is not mounted there now"
    ELSEWHERE = "left alone: another file system is mounted there now, or the same one under another number"
    STUCK = "cannot be removed"
    RENAMED = "left alone: somebody gave it this name while it was in use"
    LINKED = "left alone: somebody gave it another name besides (a hard link)"
    NOT_OURS = "left alone: it is not the file that storscope created"
    FOREIGN = "left alone: created on another machine or in another container; remove it there, if that run has ended"


_FORGOTTEN = {Swept.REMOVED, Swept.GONE, Swept.NOT_OURS}
_QUIET = {Swept.GONE, Swept.IN_USE, Swept.KEPT, Swept.AWAY}


@dataclass(frozen=True)
class Leftover:
    """A recorded file and what was done."""

    path: str
    outcome: Swept
    reason: str = ""
    """Why it cannot be removed, as the system says."""

    @property
    def is_news(self) -> bool:
        """Whether the user should hear of it: it was removed, or it is there and stays."""
        return self.outcome not in _QUIET

    def __str__(self) -> str:
        return f"{self.path}: {self.outcome}" + (f": {self.reason}" if self.reason else "")


def sweep(journal: Journal | None = None, kernel: Kernel | None = None, *, pretend: bool = False) -> list[Leftover]:
    """Removes what crashed runs left behind. Call it at every start; it removes nothing it cannot prove to be ours.

    With `pretend` it only says what would become of each.
    """
    kernel, journal = kernel or Kernel(), journal or Journal.of_user()
    return [_sweep(record, journal, kernel, pretend) for record in journal.records()]


def sweep_one(word: str, journal: Journal, kernel: Kernel) -> Leftover | None:
    """As `sweep` does, with the one file whose record has this word; None where there is no such record."""
    record = next((record for record in journal.records() if record.word == word), None)
    return None if record is None else _sweep(record, journal, kernel, pretend=False)


def _sweep(record: Record, journal: Journal, kernel: Kernel, pretend: bool) -> Leftover:
    if is_alive(kernel, record.process):
        return Leftover(record.path, Swept.IN_USE)
    if record.keep and os.path.lexists(record.path):
        return Leftover(record.path, Swept.KEPT)
    if is_foreign(kernel, record.process):
        return Leftover(record.path, Swept.FOREIGN if os.path.lexists(record.path) else Swept.AWAY)
    return remove(record, journal, kernel, pretend=pretend)


def remove(
    record: Record, journal: Journal, kernel: Kernel, *, is_own_lock: bool = False, pretend: bool = False
) -> Leftover:
    """Removes a recorded file if it is proved to be the one. The record goes once the file is known to be gone.

    A file that anybody has locked stays, unless `is_own_lock` says that it is the caller. A failure is an outcome, not
    an error: the file may be on what has broken or is read-only since.
    """
    try:
        folder = os.open(Path(record.path).parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return Leftover(record.path, Swept.AWAY)
    try:
        rebooted = record.process.boot != boot_of(kernel)
        outcome = _remove_in(folder, record, rebooted=rebooted, is_own_lock=is_own_lock, pretend=pretend)
    except OSError as error:
        return Leftover(record.path, Swept.STUCK, str(error.strerror))
    finally:
        os.close(folder)
    if outcome in _FORGOTTEN and not pretend:
        journal.forget(record)
    if outcome in {Swept.REMOVED, Swept.GONE} and not pretend:
        remove_sidecar(record)
    return Leftover(record.path, outcome)


def _remove_in(folder: int, record: Record, *, rebooted: bool, is_own_lock: bool, pretend: bool) -> Swept:
    """Raises OSError for what the system does not let us look at, or remove."""
    name = Path(record.path).name
    elsewhere = DeviceNumber.of_raw(os.fstat(folder).st_dev) != record.device
    try:
        descriptor = _opened(folder, name, record)
    except FileNotFoundError:
        return Swept.AWAY if elsewhere else Swept.GONE
    if descriptor is None:
        return Swept.ELSEWHERE if elsewhere else Swept.NOT_OURS
    try:
        if not _is_it(descriptor, record, rebooted):
            return Swept.ELSEWHERE if elsewhere else Swept.NOT_OURS
        with _locked(descriptor) as is_free:
            if not (is_free or is_own_lock):
                return Swept.IN_USE
            if not pretend:
                os.unlink(name, dir_fd=folder)
            return Swept.REMOVED
    finally:
        os.close(descriptor)


def _opened(folder: int, name: str, record: Record) -> int | None:
    """Null for what cannot be the file. Raises OSError for what may be it and cannot be opened."""
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISREG(status.st_mode) and status.st_ino == record.inode:
            raise
        return None


@contextmanager
def _locked(descriptor: int) -> Iterator[bool]:
    """Whether the file could be locked; it stays so until the end. NFS wants it open for writing (flock(2))."""
    try:
        writable = os.open(f"/proc/self/fd/{descriptor}", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield lock(descriptor)
        return
    try:
        yield lock(writable)
    finally:
        os.close(writable)


def _is_it(descriptor: int, record: Record, rebooted: bool) -> bool:
    """Devices may be numbered anew, by a reboot or when they come back; inode, birth and mark are not."""
    status = os.fstat(descriptor)
    same_place = rebooted or record.born_ns is not None or DeviceNumber.of_raw(status.st_dev) == record.device
    same_file = stat.S_ISREG(status.st_mode) and status.st_ino == record.inode and status.st_nlink == 1
    return same_place and same_file and carries_mark(descriptor, record.path, record)


def remove_sidecar(record: Record) -> None:
    """Removes the mark beside a file, if it is there and of that file."""
    beside = sidecar(record.path)
    with contextlib.suppress(OSError):
        if beside.read_text(encoding="ascii", errors="replace") == record.word:
            beside.unlink()
