"""Whether a workload's I/Os suit O_DIRECT: its offsets and sizes are multiples of the device's logical block (open(2)).

On devices, ext4 and xfs what is no multiple fails with EINVAL. Other file systems may take it through the page cache
(btrfs, f2fs), or ask for more than their device does (statx(2), STATX_DIOALIGN).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from storscope.bench.safety import DeviceTarget, NewFileTarget, resolve
from storscope.bench.safety.kernel import Kernel, read_number
from storscope.domain.units import KIB, format_bytes
from storscope.domain.workload import Workload

_SUITS_BYTES: Final = 4 * KIB
"""Disks with larger logical blocks are hardly found."""
_STRICT_FS: Final = frozenset({"ext2", "ext3", "ext4", "xfs"})
"""They pass what they are asked for on to the device, or refuse it (fs/iomap/direct-io.c)."""


@dataclass(frozen=True)
class DirectBlock:
    """What offsets and sizes must be multiples of."""

    size_bytes: int
    device: str | None
    """Whose block it is; None where nothing tells, and it is what suits nearly every device."""
    is_strict: bool
    """Whether I/Os that are no multiples of it fail for certain."""

    @property
    def words(self) -> str:
        """'512 B, the block of sdb'."""
        size = format_bytes(self.size_bytes)
        if self.device is None:
            return f"the device's block, which is not known here; {size} suits nearly every device"
        return f"{size}, the block of {self.device}"

    def misfits(self, workload: Workload) -> tuple[int, ...]:
        """Sizes and offsets of a workload that are no multiples of it."""
        units = {unit for stream in workload.streams for unit in stream.unit_bytes()}
        return tuple(sorted(unit for unit in units if unit % self.size_bytes))


def direct_block(targets: Sequence[str], kernel: Kernel | None = None) -> DirectBlock:
    """The largest logical block of the devices that targets are, or lie on. Raises UsageError, TargetRefused."""
    found = [_block_of(target, kernel or Kernel()) for target in targets]
    return max(found, key=lambda block: (block.size_bytes, block.device is not None))


def _block_of(path: str, kernel: Kernel) -> DirectBlock:
    target = resolve(path, kernel)
    if isinstance(target, DeviceTarget):
        device, is_strict = target.device, True
    else:
        place = target.directory.place if isinstance(target, NewFileTarget) else target.place
        if place.device is None:
            return DirectBlock(_SUITS_BYTES, None, is_strict=False)
        device, is_strict = place.device, place.fs_type in _STRICT_FS
    size_bytes = read_number(kernel.sysfs / "class" / "block" / device.disk / "queue" / "logical_block_size")
    if not size_bytes:
        return DirectBlock(_SUITS_BYTES, None, is_strict=False)
    return DirectBlock(size_bytes, device.disk, is_strict)
