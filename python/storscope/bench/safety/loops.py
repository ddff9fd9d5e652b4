"""Loop devices and swap: files and devices that the kernel itself uses, without any process having them open."""

from __future__ import annotations

import fcntl
import os
import stat
import struct
from dataclasses import dataclass
from pathlib import Path

from storscope.bench.safety.block import BlockDevice, disks
from storscope.bench.safety.kernel import DeviceNumber, Kernel, read_text, unescape

_LOOP_GET_STATUS64 = 0x4C05
"""linux/loop.h"""
_LOOP_INFO64 = struct.Struct("<QQQ208x")
"""The head of struct loop_info64 (232 bytes): device, inode, and number if the backing file is itself a device."""
_DELETED = " (deleted)"


@dataclass(frozen=True)
class Backing:
    """What lies below a loop device or a swap area. A null means that the kernel did not tell."""

    name: str
    """The loop device, or how /proc/swaps names the swap area."""
    path: str
    file: tuple[DeviceNumber, int] | None
    """File system and inode."""
    device: DeviceNumber | None
    """Set if what lies below is a block device."""

    @property
    def is_known(self) -> bool:
        """Whether it could be identified."""
        return self.file is not None or self.device is not None


def identity_of(status: os.stat_result) -> tuple[DeviceNumber, int]:
    """What makes a file this file, whatever it is called."""
    return DeviceNumber.of_raw(status.st_dev), status.st_ino


def are_told(kernel: Kernel) -> bool:
    """Whether sysfs lists block devices at all. Without it `loops` finds none, which means nothing."""
    try:
        next((kernel.sysfs / "class" / "block").iterdir(), None)
    except OSError:
        return False
    return True


def loops(kernel: Kernel) -> list[Backing]:
    """Every loop device in use."""
    return [backing_of(kernel, disk) for disk in disks(kernel) if disk.backing_file is not None]


def backing_of(kernel: Kernel, loop: BlockDevice) -> Backing:
    """What lies below a loop device: asked of the driver, else found by the path that sysfs shows."""
    path = loop.backing_file or ""
    return _ask_driver(kernel, loop, path) or _by_path(kernel, loop.name, path)


def _ask_driver(kernel: Kernel, loop: BlockDevice, path: str) -> Backing | None:
    """Works for deleted files too, but only for who may open the device."""
    buffer = bytearray(_LOOP_INFO64.size)
    try:
        descriptor = os.open(kernel.node(loop.name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if DeviceNumber.of_raw(os.fstat(descriptor).st_rdev) != loop.number:
            return None
        fcntl.ioctl(descriptor, _LOOP_GET_STATUS64, buffer)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    device, inode, below = _LOOP_INFO64.unpack(buffer)
    number = DeviceNumber.of_raw(below) if below else None
    return Backing(loop.name, path, None if number else (DeviceNumber.of_raw(device), inode), number)


def _by_path(kernel: Kernel, name: str, path: str) -> Backing:
    number = kernel.number_of_node(path) if path.startswith("/dev/") else None
    if number is not None:
        return Backing(name, path, None, number)
    try:
        status = Path(path).stat()
    except OSError:
        return Backing(name, path, None, None)
    if stat.S_ISBLK(status.st_mode):
        return Backing(name, path, None, DeviceNumber.of_raw(status.st_rdev))
    return Backing(name, path, identity_of(status), None)


def swaps(kernel: Kernel) -> list[Backing]:
    """Every active swap area (/proc/swaps, proc(5)). A kernel without swap has no such file, and none in use."""
    lines = (read_text(kernel.proc / "swaps") or "").splitlines()[1:]
    return [_swap(kernel, line.split()[0]) for line in lines if line.split()]


def _swap(kernel: Kernel, field: str) -> Backing:
    path = unescape(field).removesuffix(_DELETED)
    return _by_path(kernel, path, path)
