"""From a path to what it really is: a file, a directory, a block device. Everything else is refused.

The path is resolved once, by `hold`, to a descriptor that refers to the object without opening it (O_PATH: no device is
started, no tape rewound, no FIFO waited for). Every later look and open goes through that descriptor, so that a link
that is changed meanwhile changes nothing.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from storscope.bench.safety.block import BlockDevice, device_of_number, partitions
from storscope.bench.safety.extents import ExtentMap, extents_of
from storscope.bench.safety.kernel import DeviceNumber, Kernel, names_in
from storscope.bench.safety.mounts import Mount, all_mounts, mount_of
from storscope.domain.errors import TargetRefused, UsageError

_KINDS = {stat.S_IFCHR: "a character device", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
_WANTED = "a file, a directory or a block device"
_OF_CHARACTER_DEVICES = (
    "Of an NVMe controller (/dev/nvme0) name the namespace (/dev/nvme0n1), of a SCSI generic device its disk."
)


@dataclass(frozen=True)
class Identity:
    """What makes an object this object. Two paths with equal identities lead to the same one."""

    kind: str
    device: DeviceNumber
    """Of a block device its own number, else that of the file system."""
    inode: int | None
    """Null for a block device: several nodes may stand for it."""

    @classmethod
    def of(cls, status: os.stat_result) -> Identity:
        """From a stat of the object."""
        if stat.S_ISBLK(status.st_mode):
            return cls("device", DeviceNumber.of_raw(status.st_rdev), None)
        kind = "directory" if stat.S_ISDIR(status.st_mode) else "file"
        return cls(kind, DeviceNumber.of_raw(status.st_dev), status.st_ino)


@dataclass(frozen=True)
class Held:
    """An object that a path led to, held so that no change of the path can swap it."""

    asked: str
    descriptor: int

    @property
    def status(self) -> os.stat_result:
        """What the object is now."""
        return os.fstat(self.descriptor)

    @property
    def path(self) -> str:
        """Its path without links, as the kernel knows it."""
        return str(Path(f"/proc/self/fd/{self.descriptor}").readlink())

    def reopen(self, flags: int) -> int:
        """Opens this very object. Raises OSError."""
        return os.open(f"/proc/self/fd/{self.descriptor}", flags | os.O_CLOEXEC)


@contextmanager
def hold(path: str | Path) -> Iterator[Held]:
    """Holds what a path leads to. Raises UsageError if it leads nowhere, TargetRefused for what is no storage."""
    descriptor = _hold(os.fspath(path))
    try:
        _refuse_other_kinds(os.fspath(path), _mode(os.fspath(path), descriptor))
        yield Held(os.fspath(path), descriptor)
    finally:
        os.close(descriptor)


def _hold(path: str) -> int:
    try:
        return os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        is_absent = isinstance(error, FileNotFoundError)
        hint = "A new file needs a directory that exists: check the path." if is_absent else "Check the path."
        raise UsageError(_WANTED, reason or "", where=path, hint=hint) from error


def _mode(path: str, descriptor: int) -> int:
    try:
        return os.fstat(descriptor).st_mode
    except OSError as error:
        raise UsageError(
            _WANTED, str(error.strerror), where=path, hint="Its file system has failed; see the kernel's log."
        ) from error


def _refuse_other_kinds(path: str, mode: int) -> None:
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISBLK(mode):
        return
    hint = _OF_CHARACTER_DEVICES if stat.S_ISCHR(mode) else "What passes through is stored elsewhere: check the path."
    raise TargetRefused(_WANTED, _KINDS.get(stat.S_IFMT(mode), "something else"), where=path, hint=hint)


@dataclass(frozen=True)
class Place:
    """The file system that something is on. A null mount means that it is not in any visible mount table."""

    mount: Mount | None
    device: BlockDevice | None
    free_bytes: int
    total_bytes: int

    @property
    def fs_type(self) -> str | None:
        """ext4, xfs, tmpfs, ..."""
        return self.mount.fs_type if self.mount else None


@dataclass(frozen=True)
class FileTarget:
    """An existing regular file."""

    identity: Identity
    asked: str
    path: str
    size_bytes: int
    allocated_bytes: int
    links: int
    modified_ns: int
    place: Place
    extents: ExtentMap | None
    """Null if it may not be read or the file system refuses to tell."""


@dataclass(frozen=True)
class DirectoryTarget:
    """A directory: a scratch file is created in it."""

    identity: Identity
    asked: str
    path: str
    place: Place


@dataclass(frozen=True)
class NewFileTarget:
    """A name that does not exist yet, in a directory that does: a scratch file is created there."""

    asked: str
    path: str
    directory: DirectoryTarget

    @property
    def identity(self) -> None:
        """What does not exist has none."""
        return


@dataclass(frozen=True)
class DeviceTarget:
    """A block device or partition."""

    identity: Identity
    asked: str
    path: str
    device: BlockDevice
    partitions: tuple[BlockDevice, ...]
    by_id: tuple[str, ...]
    """Names under /dev/disk/by-id that lead to it."""


Target = FileTarget | DirectoryTarget | NewFileTarget | DeviceTarget


def resolve(path: str | Path, kernel: Kernel | None = None) -> Target:
    """What a path really is. Opens nothing for writing. Raises UsageError, TargetRefused."""
    kernel = kernel or Kernel()
    if _is_new(path):
        return _new_file(Path(path), kernel)
    with hold(path) as held:
        return describe(held, kernel)


def _is_new(path: str | Path) -> bool:
    """Not there, not even as a link to nothing, but its directory is."""
    text = os.fspath(path)
    named = bool(text) and "\0" not in text and not text.endswith("/")
    return named and _is_absent(text) and Path(text).parent.is_dir()


def _is_absent(path: str) -> bool:
    """What cannot be looked at, as the mount point of a file system that has failed, is there."""
    try:
        os.lstat(path)
    except OSError as error:
        return error.errno in {errno.ENOENT, errno.ENOTDIR}
    return False


def _new_file(path: Path, kernel: Kernel) -> NewFileTarget:
    with hold(path.parent) as held:
        directory = describe(held, kernel)
    assert isinstance(directory, DirectoryTarget)
    return NewFileTarget(os.fspath(path), str(Path(directory.path) / path.name), directory)


def describe(held: Held, kernel: Kernel) -> FileTarget | DirectoryTarget | DeviceTarget:
    """What is held."""
    status = held.status
    identity = Identity.of(status)
    if identity.kind == "device":
        return _device(held, identity, kernel)
    place = _place(held, kernel)
    if identity.kind == "directory":
        return DirectoryTarget(identity, held.asked, held.path, place)
    return FileTarget(
        identity, held.asked, held.path, status.st_size, status.st_blocks * 512,  # stat(2): blocks of 512 bytes
        status.st_nlink, status.st_mtime_ns, place, _extents(held),
    )  # fmt: skip


def _device(held: Held, identity: Identity, kernel: Kernel) -> DeviceTarget:
    device = device_of_number(kernel, identity.device)
    if device is None:
        raise TargetRefused(
            "a block device known to sysfs", f"number {identity.device}, which is not in it", where=held.asked,
            hint="A node without a device behind it, or /sys is not mounted. Nothing is written to what is not known.",
        )  # fmt: skip
    parts = () if device.is_partition else tuple(partitions(kernel, device.name))
    return DeviceTarget(identity, held.asked, held.path, device, parts, by_id_names(kernel, device))


def by_id_names(kernel: Kernel, device: BlockDevice) -> tuple[str, ...]:
    """The names udev gives that survive a reboot. A device-mapper device carries its own (dm-uuid-...)."""
    folder = kernel.dev / "disk" / "by-id"
    names = [name for name in names_in(folder) if kernel.number_of_node(str(folder / name)) == device.number]
    own = f"dm-uuid-{device.dm_uuid}" if device.dm_uuid else None
    return tuple(dict.fromkeys([*([own] if own else []), *names]))


def _place(held: Held, kernel: Kernel) -> Place:
    mount = mount_of(kernel, held.descriptor, all_mounts(kernel))
    number = mount.number if mount else DeviceNumber.of_raw(held.status.st_dev)
    if mount is not None and number.major == 0:
        number = kernel.number_of_node(mount.source) or number
    space = os.fstatvfs(held.descriptor)
    return Place(
        mount, device_of_number(kernel, number), space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize
    )


def _extents(held: Held) -> ExtentMap | None:
    try:
        descriptor = held.reopen(os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return extents_of(descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)
