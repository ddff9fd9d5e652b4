"""The extent map of a file: what is written, allocated but unwritten, a hole, or not yet on the device.

Reading what was never written measures memory: the kernel answers with zeros and asks no device. On one machine
unwritten extents "read" 4.2 and holes 4.4 times faster than data. So a prefill is proved with this map.

From FS_IOC_FIEMAP (Documentation/filesystems/fiemap.rst), which ext4, XFS, btrfs, F2FS and others answer. Where it is
refused (tmpfs, NFS, FUSE), SEEK_HOLE tells holes from data, and whether data is unwritten or delayed stays null.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from dataclasses import dataclass, replace
from enum import IntFlag
from pathlib import Path

_FS_IOC_FIEMAP = 0xC020660B
_HEAD = struct.Struct("=QQIIII")
"""struct fiemap: start, length, flags, extents mapped, extents there is room for, reserved."""
_EXTENT = struct.Struct("=QQQ16xI12x")
"""struct fiemap_extent: logical, physical, length, reserved, flags, reserved."""
_ROOM = 512
_SYNC_FIRST = 1
_MAX_LENGTH = 2**64 - 1


class Flag(IntFlag):
    """What the kernel says of an extent (linux/fiemap.h)."""

    LAST = 0x1
    UNKNOWN = 0x2
    DELAYED = 0x4
    ENCODED = 0x8
    INLINE = 0x200
    UNWRITTEN = 0x800
    SHARED = 0x2000


@dataclass(frozen=True)
class Extent:
    """A run of bytes. `physical` is null where the kernel has not placed it or does not say."""

    logical: int
    physical: int | None
    length: int
    flags: Flag


@dataclass(frozen=True)
class ExtentMap:
    """The map of one file within its size."""

    size_bytes: int
    extents: tuple[Extent, ...]
    source: str
    """FIEMAP, or SEEK_HOLE where that is all there is."""

    def until(self, end_bytes: int) -> ExtentMap:
        """The map of the first part."""
        return replace(self, size_bytes=min(self.size_bytes, end_bytes))

    @property
    def hole_bytes(self) -> int:
        """Bytes that no extent covers."""
        return self.size_bytes - sum(self._within(extent) for extent in self.extents)

    @property
    def unwritten_bytes(self) -> int | None:
        """Allocated but never written; null if only SEEK_HOLE answered."""
        return self._bytes_with(Flag.UNWRITTEN)

    @property
    def delayed_bytes(self) -> int | None:
        """Written to memory, not yet placed on the device."""
        return self._bytes_with(Flag.DELAYED)

    @property
    def encoded_bytes(self) -> int | None:
        """Compressed or encrypted by the file system: its device transfers another number of bytes."""
        return self._bytes_with(Flag.ENCODED)

    @property
    def shared_bytes(self) -> int | None:
        """Shared with another file (reflink, snapshot): the first write copies."""
        return self._bytes_with(Flag.SHARED)

    @property
    def inline_bytes(self) -> int | None:
        """Kept in the file's metadata."""
        return self._bytes_with(Flag.INLINE)

    @property
    def written_bytes(self) -> int | None:
        """On the device and written: what a read test may read."""
        without = (Flag.UNWRITTEN, Flag.DELAYED, Flag.INLINE)
        if self.source != "FIEMAP":
            return None
        return sum(self._within(extent) for extent in self.extents if not any(flag in extent.flags for flag in without))

    @property
    def missing_bytes(self) -> int:
        """What reading answers from memory: holes, and where the map tells, what is unwritten or not yet placed."""
        written = self.written_bytes
        return self.hole_bytes if written is None else self.size_bytes - written

    @property
    def is_fully_written(self) -> bool | None:
        """Whether every byte is written and on the device; null if that cannot be known."""
        if self.hole_bytes:
            return False
        return None if self.written_bytes is None else self.written_bytes == self.size_bytes

    def _bytes_with(self, flag: Flag) -> int | None:
        if self.source != "FIEMAP":
            return None
        return sum(self._within(extent) for extent in self.extents if flag in extent.flags)

    def _within(self, extent: Extent) -> int:
        """Bytes of an extent that lie before the end of the file."""
        return max(0, min(extent.logical + extent.length, self.size_bytes) - extent.logical)


def extents(path: Path | str, *, sync: bool = False) -> ExtentMap:
    """The map of a file. With `sync` the kernel first writes out what is delayed. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return extents_of(descriptor, sync=sync)
    finally:
        os.close(descriptor)


def extents_of(descriptor: int, *, sync: bool = False) -> ExtentMap:
    """The map of an open file."""
    size = os.fstat(descriptor).st_size
    try:
        return ExtentMap(size, tuple(_fiemap(descriptor, sync)), "FIEMAP")
    except OSError as error:
        if error.errno not in {errno.EOPNOTSUPP, errno.ENOTTY, errno.ENOSYS, errno.EINVAL}:
            raise
    return ExtentMap(size, tuple(_seek(descriptor, size)), "SEEK_HOLE")


def _fiemap(descriptor: int, sync: bool) -> list[Extent]:
    found: list[Extent] = []
    start = 0
    while True:
        batch = _fiemap_from(descriptor, start, sync)
        found += batch
        if not batch or Flag.LAST in batch[-1].flags:
            return found
        start = batch[-1].logical + batch[-1].length


def _fiemap_from(descriptor: int, start: int, sync: bool) -> list[Extent]:
    buffer = bytearray(_HEAD.size + _ROOM * _EXTENT.size)
    _HEAD.pack_into(buffer, 0, start, _MAX_LENGTH - start, _SYNC_FIRST if sync else 0, 0, _ROOM, 0)
    fcntl.ioctl(descriptor, _FS_IOC_FIEMAP, buffer)
    mapped = _HEAD.unpack_from(buffer)[3]
    return [_extent(buffer, _HEAD.size + index * _EXTENT.size) for index in range(mapped)]


def _extent(buffer: bytearray, at: int) -> Extent:
    logical, physical, length, raw = _EXTENT.unpack_from(buffer, at)
    flags = Flag(raw)
    unplaced = Flag.UNKNOWN in flags or Flag.DELAYED in flags
    return Extent(logical, None if unplaced else physical, length, flags)


def _seek(descriptor: int, size: int) -> list[Extent]:
    found: list[Extent] = []
    at = 0
    while at < size:
        try:
            data = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
                break
            raise
        at = os.lseek(descriptor, data, os.SEEK_HOLE)
        found.append(Extent(data, None, at - data, Flag.UNKNOWN))
    return found
