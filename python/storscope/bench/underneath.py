"""Which block devices lie under a target, nearest first: file -> mount -> device -> disk, loop -> its backing file.

The first level is the one the target's I/Os go to; its counters must agree with the generator's. The levels below say
whether that device is itself answered from somewhere else: a loop device over a file in the page cache does its I/Os,
and the disk below does none.

Beware: file systems over several devices show one of them in the mount table; for btrfs the others come from sysfs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from storscope.bench.safety.block import BlockDevice, device_named, device_of_number
from storscope.bench.safety.kernel import DeviceNumber, Kernel, names_in, read_text
from storscope.bench.safety.loops import backing_of
from storscope.bench.safety.mounts import Mount, all_mounts
from storscope.bench.safety.target import DeviceTarget, describe, hold

_MEMORY_FS = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})
_NETWORK_FS = frozenset({"nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "afs", "lustre", "beegfs"})
_MEMORY_DEVICES = ("zram", "ram", "pmem", "nullb")


@dataclass(frozen=True)
class Level:
    """Devices that are counted together: one, or the members of a volume or file system."""

    devices: tuple[str, ...]
    note: str = ""
    """What to know of it or of what is below: memory in disguise, a page cache of its own."""


@dataclass(frozen=True)
class Underneath:
    """The devices below a target. Without levels, `why_none` says why."""

    levels: tuple[Level, ...]
    fs_type: str | None = None
    why_none: str = ""
    links: tuple[tuple[str, str], ...] = ()
    """(upper, lower): what rests on what, each as "kind/name" with the kinds of the tables; "" is the target."""

    @property
    def nearest(self) -> tuple[str, ...]:
        """The devices that the target's own I/Os go to."""
        return self.levels[0].devices if self.levels else ()

    @property
    def names(self) -> tuple[str, ...]:
        """Every device of every level, once."""
        return tuple(dict.fromkeys(name for level in self.levels for name in level.devices))


def underneath(descriptor: int, kernel: Kernel | None = None) -> Underneath:
    """What lies under an open file or block device. Raises TargetRefused if /proc does not tell what is mounted."""
    kernel = kernel or Kernel()
    with hold(f"/proc/self/fd/{descriptor}") as held:
        found = describe(held, kernel)
    if isinstance(found, DeviceTarget):
        return _walked(kernel, [found.device], None)
    fs_type, device = found.place.fs_type, found.place.device
    point = f"filesystem/{storable(found.place.mount.point)}" if found.place.mount else ""
    if device is None:
        return Underneath((), fs_type, _why_none(kernel, found.place.mount), (("", point),) if point else ())
    return _walked(kernel, _members(kernel, device, fs_type), fs_type, point)


def storable(path: str) -> str:
    """A path as tables can hold it: bytes that are no UTF-8 are written as \\xff."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _why_none(kernel: Kernel, mount: Mount | None) -> str:
    if mount is None:
        return "the file system is in no mount table that may be read"
    fs_type = mount.fs_type
    if fs_type in _MEMORY_FS:
        return f"{fs_type} keeps its files in memory: no block device is involved"
    if mount.number.major != 0:
        return f"{fs_type} is on block device {mount.number}, which {kernel.sysfs} does not show"
    if fs_type in _NETWORK_FS or fs_type.startswith("fuse"):
        return f"{fs_type} has no block device on this host: a server or another process does the I/O"
    return f"{fs_type} does not tell which block device it is on"


def _members(kernel: Kernel, device: BlockDevice, fs_type: str | None) -> list[BlockDevice]:
    """The device, or all of a btrfs that it belongs to (/sys/fs/btrfs/UUID/devices)."""
    if fs_type != "btrfs":
        return [device]
    root = kernel.sysfs / "fs" / "btrfs"
    for file_system in names_in(root):
        names = names_in(root / file_system / "devices")
        if device.name in names:
            return [one for name in names if (one := device_named(kernel, name)) is not None]
    return [device]


def _walked(kernel: Kernel, devices: list[BlockDevice], fs_type: str | None, point: str = "") -> Underneath:
    levels: list[Level] = []
    links = [*([("", point)] if point else []), *((point, _reference(device)) for device in devices)]
    seen: set[str] = set()
    while devices:
        names = tuple(device.name for device in devices)
        seen.update(names)
        below: dict[str, BlockDevice] = {}
        notes = [_note(names)]
        for device in devices:
            found, said = _below(kernel, device)
            notes.append(said)
            links += [(_reference(device), _reference(one)) for one in found]
            below |= {one.name: one for one in found if one.name not in seen}
        levels.append(Level(names, next((note for note in notes if note), "")))
        devices = list(below.values())
    return Underneath(tuple(levels), fs_type, links=tuple(links))


def _reference(device: BlockDevice) -> str:
    return f"{'partition' if device.is_partition else 'device'}/{device.name}"


def _note(names: tuple[str, ...]) -> str:
    in_memory = [name for name in names if name.startswith(_MEMORY_DEVICES)]
    return f"{', '.join(in_memory)} keeps its blocks in memory" if in_memory else ""


def _below(kernel: Kernel, device: BlockDevice) -> tuple[list[BlockDevice], str]:
    """The devices one level down, and what to know of them."""
    if device.slaves:
        return [one for name in device.slaves if (one := device_named(kernel, name)) is not None], ""
    if device.is_partition:
        disk = device_named(kernel, device.disk)
        return ([disk] if disk else []), ""
    if device.backing_file is not None:
        return _below_loop(kernel, device)
    return [], ""


def _below_loop(kernel: Kernel, loop: BlockDevice) -> tuple[list[BlockDevice], str]:
    backing = backing_of(kernel, loop)
    if backing.device is not None:
        device = device_of_number(kernel, backing.device)
        return ([device] if device else []), ""
    if backing.file is None:
        return [], f"what {loop.name} is backed by is not known"
    number = backing.file[0]
    mount = next((one for one in all_mounts(kernel) if one.number == number), None)
    device = device_of_number(kernel, _number_behind(kernel, number, mount))
    if device is None:
        where = mount.fs_type if mount else "a file system that is in no mount table"
        in_memory = ": memory, no disk" if mount and mount.fs_type in _MEMORY_FS else ""
        return [], f"{loop.name} is backed by a file on {where}{in_memory}"
    buffered = read_text(loop.folder / "loop" / "dio") == "0"
    note = f"{loop.name} reads and writes its backing file through the page cache" if buffered else ""
    return _members(kernel, device, mount.fs_type if mount else None), note


def _number_behind(kernel: Kernel, number: DeviceNumber, mount: Mount | None) -> DeviceNumber:
    """btrfs and others have a number of their own (major 0); the mount's source is the device."""
    if number.major != 0 or mount is None:
        return number
    return kernel.number_of_node(mount.source) or number
