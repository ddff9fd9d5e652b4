"""Whether two paths with different numbers lead to the same content, as overlayfs and FUSE make them do.

overlayfs shows files of other file systems under a device number and inodes of its own, FUSE may; the numbers of a file
and of its layer then differ, and comparing them tells nothing. Where the file system says where content lies on its
device (FIEMAP, which overlayfs hands through), a block at the same place of equally large file systems is the same
block: statfs(2) of an overlay is that of its upper layer (ovl_statfs in fs/overlayfs/super.c).

Beware: of FUSE, of layers in memory and of a file of holes nothing can be told. Extents that are shared with other
files (reflinks) say nothing and are left out.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from storscope.bench.safety.extents import Extent, ExtentMap, Flag, extents_of
from storscope.bench.safety.kernel import DeviceNumber, Kernel
from storscope.bench.safety.mounts import Mount, mount_of

LAYERED = frozenset({"aufs", "ecryptfs", "fuse", "overlay"})
"""File systems that show files of others; FUSE's are named fuse.PROGRAM too. One on a device of its own (fuseblk) does
not."""

FileId = tuple[DeviceNumber, int]
"""File system and inode."""


def is_layered(device: DeviceNumber, fs_type: str | None) -> bool:
    """Whether a file with this number may be known by another one. In doubt (a mount that no table shows), yes."""
    return device.major == 0 and (fs_type is None or fs_type.partition(".")[0] in LAYERED)


@dataclass(frozen=True)
class Content:
    """Where the content of a file is."""

    file: FileId
    is_layered: bool
    extents: tuple[Extent, ...] = ()
    """Those that lie somewhere, and nowhere but in this file; none where the file system does not tell."""
    total_bytes: int = 0
    """Of the file system."""

    @property
    def is_told(self) -> bool:
        """Whether it can be recognised by its numbers, or by where it lies."""
        return not self.is_layered or bool(self.extents)


def _own_extents(found: ExtentMap) -> tuple[Extent, ...]:
    """The extents by which a file can be recognised."""
    not_its_own = Flag.SHARED | Flag.INLINE
    return tuple(extent for extent in found.extents if extent.physical is not None and not extent.flags & not_its_own)


@dataclass(frozen=True)
class Contents:
    """Looks at files to compare them."""

    kernel: Kernel
    mounts: tuple[Mount, ...]

    def at(self, path: Path | str, file: FileId) -> Content:
        """Of the file that a path should lead to, after what is delayed has been written out.

        If it may not be read, or leads elsewhere, only its numbers are known.
        """
        return self._at(path, file, sync=True)

    def is_at(self, content: Content, path: Path | str, file: FileId | None) -> bool:
        """Whether the file that a path leads to has this content."""
        if file is None or file == content.file:
            return file is not None
        if not content.is_layered and file[0].major != 0:
            return False
        other = self._at(path, file, only_layered=not content.is_layered)
        return content.total_bytes == other.total_bytes and _meet(content.extents, other.extents)

    def _at(self, path: Path | str, file: FileId, *, sync: bool = False, only_layered: bool = False) -> Content:
        """With `only_layered` nothing more is asked of a file that its numbers identify."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return Content(file, is_layered(file[0], None))
        try:
            if not _is(descriptor, file):
                return Content(file, is_layered(file[0], None))
            mount = mount_of(self.kernel, descriptor, self.mounts)
            layered = is_layered(file[0], mount.fs_type if mount else None)
            if only_layered and not layered:
                return Content(file, is_layered=False)
            space = os.fstatvfs(descriptor)
            found = _own_extents(extents_of(descriptor, sync=sync))
            return Content(file, layered, found, space.f_blocks * space.f_frsize)
        except OSError:
            return Content(file, is_layered(file[0], None))
        finally:
            os.close(descriptor)

    def recognises(self, content: Content) -> Callable[[os.stat_result, Path], bool]:
        """Tells it among the files that processes have open."""

        def wanted(status: os.stat_result, link: Path) -> bool:
            file = DeviceNumber.of_raw(status.st_dev), status.st_ino
            return stat.S_ISREG(status.st_mode) and self.is_at(content, link, file)

        return wanted


def _is(descriptor: int, file: FileId) -> bool:
    status = os.fstat(descriptor)
    return stat.S_ISREG(status.st_mode) and (DeviceNumber.of_raw(status.st_dev), status.st_ino) == file


def _meet(ones: Iterable[Extent], others: Iterable[Extent]) -> bool:
    """Whether a byte of both files is at the same offset and the same place."""
    by_shift: dict[int, list[Extent]] = {}
    for one in ones:
        by_shift.setdefault(_shift(one), []).append(one)
    return any(
        one.logical < other.logical + other.length and other.logical < one.logical + one.length
        for other in others
        for one in by_shift.get(_shift(other), ())
    )


def _shift(extent: Extent) -> int:
    assert extent.physical is not None
    return extent.physical - extent.logical
