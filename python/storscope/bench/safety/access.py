"""Opening a target so that what was checked is what is written.

The order matters. The path is resolved to a held object; a block device is then claimed (O_EXCL, read-only: as long as
the claim is held the kernel lets nobody mount it, add it to a RAID or make it swap), a file is locked; the checks run
under the claim; permission is asked for; only then the same object is opened for writing, through the held descriptor
and not through its path. At the end the path must still lead to it, and the device must be the same one that sysfs
described. A refused target was never open for writing.

An open for writing without O_EXCL by a process that knows nothing of claims (dd, a virtual machine's disk) is still
possible afterwards; no user program can prevent it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from storscope.bench.safety.check import Check
from storscope.bench.safety.content_place import Contents
from storscope.bench.safety.file_use import FileLook, check_access, check_directory, check_file
from storscope.bench.safety.in_use import check_device, look_at_device
from storscope.bench.safety.kernel import Kernel
from storscope.bench.safety.mounts import all_mounts
from storscope.bench.safety.ownership import Journal, is_protected
from storscope.bench.safety.permission import decide, printable
from storscope.bench.safety.processes import runs
from storscope.bench.safety.signatures import Medium, medium_of
from storscope.bench.safety.target import (
    DeviceTarget,
    DirectoryTarget,
    FileTarget,
    Held,
    Identity,
    NewFileTarget,
    Target,
    describe,
    hold,
    resolve,
)
from storscope.domain.errors import TargetRefused, UsageError

_BLKGETDISKSEQ = 0x80081280
"""linux/fs.h, since 5.15."""


@dataclass
class OpenTarget:
    """A target the engine may use. Closing it gives up the claim."""

    target: FileTarget | DeviceTarget
    descriptor: int
    """What the engine gets. It stays the caller's to close, by closing this."""
    writable: bool
    checks: tuple[Check, ...] = ()
    _stack: ExitStack = field(default_factory=ExitStack, repr=False)

    def close(self) -> None:
        """Closes the descriptor and gives up the claim."""
        self._stack.close()

    def __enter__(self) -> OpenTarget:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_for_reading(path: str | Path, *, direct: bool = False, kernel: Kernel | None = None) -> OpenTarget:
    """Opens read-only; asks for no permission, since nothing can be lost. Raises UsageError, TargetRefused."""
    kernel = kernel or Kernel()
    with hold(path) as held, ExitStack() as stack:
        target = describe(held, kernel)
        if isinstance(target, DirectoryTarget):
            raise UsageError("a file or a block device to read", "a directory", where=held.asked)
        descriptor = _open(stack, held, os.O_RDONLY, direct)
        _confirm(held, target, descriptor)
        return OpenTarget(target, descriptor, writable=False, _stack=stack.pop_all())


def open_for_writing(
    path: str | Path,
    *,
    permission: str | None = None,
    expected: Target | None = None,
    reach_bytes: int | None = None,
    direct: bool = False,
    journal: Journal | None = None,
    kernel: Kernel | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> OpenTarget:
    """Opens an existing file or device for writing if that destroys nothing, or the user said that it may.

    `permission` is what the user typed, `expected` what an earlier look (a dry run) found there, `reach_bytes` where
    the writes end, if not with the target. Raises TargetRefused with what to do, UsageError for a directory or a name
    that does not exist (see `scratch.create`). `told` hears at the end if the next run will have to ask for permission
    that this one did not need.
    """
    with hold(path) as held:
        return open_held(
            held, permission=permission, expected=expected, reach_bytes=reach_bytes, direct=direct,
            journal=journal, kernel=kernel, told=told,
        )  # fmt: skip


def open_held(
    held: Held,
    *,
    permission: str | None = None,
    expected: Target | None = None,
    reach_bytes: int | None = None,
    direct: bool = False,
    journal: Journal | None = None,
    kernel: Kernel | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> OpenTarget:
    """The same for an object that is held already."""
    kernel = kernel or Kernel()
    journal = journal or Journal.of_user()
    with ExitStack() as stack:
        look = stack.enter_context(_inspected(held, kernel, journal, reach_bytes))
        target = look.target
        if not isinstance(target, FileTarget | DeviceTarget):
            raise UsageError("a file or a block device to write to", "a directory", where=held.asked)
        if expected is not None and not _is_same(expected, target):
            raise _swapped(held, "it led to something else when it was looked at")
        decide(target, look.checks, permission, kernel)
        descriptor = _open(stack, held, os.O_RDWR, direct)
        _confirm(held, target, descriptor)
        if isinstance(target, FileTarget) and look.is_own:
            stack.callback(_reseal, journal, target, told)
        return OpenTarget(target, descriptor, writable=True, checks=look.checks, _stack=stack.pop_all())


def _reseal(journal: Journal, target: FileTarget, told: Callable[[str], None]) -> None:
    reason = journal.reseal(target.identity, target.size_bytes)
    if reason:
        told(f"{target.path} is not known as storscope's own any more: {reason}.")


def _is_same(expected: Target, found: FileTarget | DeviceTarget) -> bool:
    """The number of a device that was replaced is the same, its sequence is not."""
    if isinstance(expected, DeviceTarget) and isinstance(found, DeviceTarget):
        return expected.device.sequence == found.device.sequence and expected.identity == found.identity
    return expected.identity == found.identity


@dataclass(frozen=True)
class Inspection:
    """A target with the answers of all its checks."""

    target: Target
    checks: tuple[Check, ...]
    is_own: bool = False


def inspect(
    path: str | Path,
    *,
    size_bytes: int | None = None,
    journal: Journal | None = None,
    kernel: Kernel | None = None,
) -> Inspection:
    """What `open_for_writing` or `scratch.create` would find, without opening anything for writing."""
    kernel = kernel or Kernel()
    target = resolve(path, kernel)
    if isinstance(target, NewFileTarget):
        return inspect_new_file(target, size_bytes)
    with hold(path) as held, _inspected(held, kernel, journal or Journal.of_user(), size_bytes) as look:
        return look


def inspect_new_file(target: NewFileTarget, size_bytes: int | None) -> Inspection:
    """The checks of the directory it would be created in."""
    with hold(target.directory.path) as folder:
        return Inspection(target, tuple(check_directory(target.directory, size_bytes, _folder_access(folder))))


def _folder_access(folder: Held) -> Check:
    writable = os.access(f"/proc/self/fd/{folder.descriptor}", os.W_OK | os.X_OK)
    return check_access(folder.path, writable=writable, protected=is_protected(folder.descriptor))


@contextmanager
def _inspected(held: Held, kernel: Kernel, journal: Journal, size_bytes: int | None) -> Iterator[Inspection]:
    """All checks; the claim or lock that keeps their answers true is held until the end."""
    with ExitStack() as stack:
        if stat.S_ISBLK(held.status.st_mode):
            yield _inspect_device(stack, held, kernel, size_bytes)
            return
        target = describe(held, kernel)
        if isinstance(target, FileTarget):
            yield _inspect_file(stack, held, target, kernel, journal, size_bytes)
        elif isinstance(target, DirectoryTarget):
            yield Inspection(target, tuple(check_directory(target, size_bytes, _folder_access(held))))


def _inspect_device(stack: ExitStack, held: Held, kernel: Kernel, reach_bytes: int | None) -> Inspection:
    descriptor, failure = _claim(stack, held)
    target = describe(held, kernel)
    assert isinstance(target, DeviceTarget)
    if descriptor is not None:
        _confirm_sequence(held, target, descriptor)
    if failure is None and descriptor is not None:
        _drop_cache(descriptor)
    media = () if descriptor is None else tuple(_media(stack, kernel, target, descriptor))
    look = look_at_device(kernel, target, failure, media, reach_bytes)
    return Inspection(target, tuple(check_device(look)))


def _claim(stack: ExitStack, held: Held) -> tuple[int | None, OSError | None]:
    """The device exclusively; else why not, and if possible a plain descriptor to read what it carries."""
    try:
        return _keep(stack, held.reopen(os.O_RDONLY | os.O_EXCL)), None
    except OSError as error:
        with contextlib.suppress(OSError):
            return _keep(stack, held.reopen(os.O_RDONLY | os.O_NONBLOCK)), error
        return None, error


def _media(stack: ExitStack, kernel: Kernel, target: DeviceTarget, descriptor: int) -> Iterator[tuple[str, Medium]]:
    """The device, then each partition through its own node (whose cache is its own), else as a window of the disk."""
    yield target.device.name, medium_of(descriptor, target.device.size_bytes)
    for part in target.partitions:
        node = _partition_node(stack, kernel.node(part.name), part.number)
        if node is not None:
            _drop_cache(node)
            yield part.name, medium_of(node, part.size_bytes)
        else:
            yield part.name, medium_of(descriptor, part.size_bytes, part.start_bytes)


def _drop_cache(descriptor: int) -> None:
    """Clean pages only: a mark that was written through another node may not be in this one's cache."""
    with contextlib.suppress(OSError):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def _partition_node(stack: ExitStack, node: Path, number: tuple[int, int]) -> int | None:
    try:
        descriptor = _keep(stack, os.open(node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        return None
    status = os.fstat(descriptor)
    is_it = stat.S_ISBLK(status.st_mode) and (os.major(status.st_rdev), os.minor(status.st_rdev)) == number
    return descriptor if is_it else None


def _inspect_file(
    stack: ExitStack, held: Held, target: FileTarget, kernel: Kernel, journal: Journal, reach_bytes: int | None
) -> Inspection:
    descriptor, failure = _readable(stack, held)
    is_own = journal.owns(held.descriptor, target.path)
    contents = Contents(kernel, tuple(all_mounts(kernel)))
    look = FileLook(
        kernel=kernel,
        target=target,
        content=contents.at(f"/proc/self/fd/{held.descriptor}", (target.identity.device, held.status.st_ino)),
        contents=contents,
        is_own=is_own,
        locked_by_other=descriptor is not None and not lock(descriptor),
        open_error=_write_failure(held, kernel) or failure,
        medium=None if descriptor is None else medium_of(descriptor, target.size_bytes),
        reach_bytes=reach_bytes,
    )
    return Inspection(target, tuple(check_file(look)), is_own)


def _readable(stack: ExitStack, held: Held) -> tuple[int | None, OSError | None]:
    try:
        return _keep(stack, held.reopen(os.O_RDONLY | os.O_NONBLOCK)), None
    except OSError as error:
        return None, error


def _write_failure(held: Held, kernel: Kernel) -> OSError | None:
    """Why the file could not be opened for writing, without opening it."""
    if os.fstatvfs(held.descriptor).f_flag & os.ST_RDONLY:
        return OSError(errno.EROFS, os.strerror(errno.EROFS))
    if is_protected(held.descriptor):
        return OSError(errno.EPERM, os.strerror(errno.EPERM))
    if not os.access(f"/proc/self/fd/{held.descriptor}", os.W_OK):
        return OSError(errno.EACCES, os.strerror(errno.EACCES))
    if runs(kernel, held.status):
        return OSError(errno.ETXTBSY, os.strerror(errno.ETXTBSY))
    return None


def lock(descriptor: int) -> bool:
    """Locks a file for this storscope; false if another one has it. Where locks are unknown, true."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _open(stack: ExitStack, held: Held, flags: int, direct: bool) -> int:
    try:
        return _keep(stack, held.reopen(flags | (os.O_DIRECT if direct else 0)))
    except OSError as error:
        hint = "Its file system knows no O_DIRECT." if direct and error.errno == errno.EINVAL else ""
        if error.errno in (errno.EACCES, errno.EPERM):
            hint = f"Run as a user who may {'write to' if flags & os.O_RDWR else 'read'} it."
        raise TargetRefused(
            "a target that opens", str(error.strerror), where=printable(held.asked), hint=hint
        ) from error


def _keep(stack: ExitStack, descriptor: int) -> int:
    stack.callback(os.close, descriptor)
    return descriptor


def _confirm(held: Held, target: FileTarget | DeviceTarget, descriptor: int) -> None:
    """The descriptor is the object that was checked, and the path still leads to it."""
    if Identity.of(os.fstat(descriptor)) != target.identity:
        raise _swapped(held, "what was opened is not what was checked")
    try:
        now = Identity.of(Path(held.asked).stat())
    except OSError as error:
        raise _swapped(held, "it leads nowhere any more") from error
    if now != target.identity:
        raise _swapped(held, "it leads to something else by now")
    if isinstance(target, DeviceTarget):
        _confirm_sequence(held, target, descriptor)


def _confirm_sequence(held: Held, target: DeviceTarget, descriptor: int) -> None:
    """A device that was pulled and replaced gets the same number, but another sequence number."""
    buffer = bytearray(8)
    try:
        fcntl.ioctl(descriptor, _BLKGETDISKSEQ, buffer)
    except OSError:  # before Linux 5.15
        return
    if target.device.sequence is not None and struct.unpack("=Q", buffer)[0] != target.device.sequence:
        raise _swapped(held, "the device was replaced by another one")


def _swapped(held: Held, how: str) -> TargetRefused:
    return TargetRefused(
        "a path that leads to one object throughout", how, where=printable(held.asked),
        hint="Somebody changes the path or the device meanwhile. Name the device or file itself and try again.",
    )  # fmt: skip
