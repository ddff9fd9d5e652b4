"""Whether a workload's I/Os suit O_DIRECT: its offsets and sizes are multiples of the device's logical block (open(2)).

On devices, ext4 and xfs what is no multiple fails with EINVAL. btrfs and f2fs ask for multiples of their own block, and
take what is none through the page cache without a word; others may do either, or ask for more than their device does
(statx(2), STATX_DIOALIGN).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from storscope.bench.safety import DeviceTarget, NewFileTarget, resolve
from storscope.bench.safety.kernel import Kernel, read_number
from storscope.bench.safety.target import Place
from storscope.bench.targets import Ready
from storscope.domain.access import Copy
from storscope.domain.errors import UsageError
from storscope.domain.load import Starts
from storscope.domain.units import KIB, format_bytes
from storscope.domain.workload import Stream, Workload

_SUITS_BYTES: Final = 4 * KIB
"""Disks with larger logical blocks are hardly found."""
_STRICT_FS: Final = frozenset({"ext2", "ext3", "ext4", "xfs"})
"""They pass what they are asked for on to the device, or refuse it (fs/iomap/direct-io.c)."""
CHOOSE: Final = "Choose such ones, or --buffered."
"""What to do where I/Os do not suit."""
_CACHING_FS: Final = frozenset({"btrfs", "f2fs"})
"""They fall back to the page cache (check_direct_IO in fs/btrfs/direct-io.c, f2fs_should_use_dio in fs/f2fs/file.c)."""


@dataclass(frozen=True)
class DirectBlock:
    """What offsets and sizes must be multiples of."""

    size_bytes: int
    owner: str | None
    """Whose block it is; None where nothing tells, and it is what suits nearly every device."""
    is_strict: bool
    """Whether I/Os that are no multiples of it fail for certain."""
    is_cached: bool = False
    """Whether they go through the page cache for certain."""

    @property
    def misfits_do(self) -> str:
        """'would fail': what becomes of I/Os that are no multiples of it."""
        if self.is_cached:
            return "would go through the page cache"
        return "would fail" if self.is_strict else "may fail, or go through the page cache"

    @property
    def words(self) -> str:
        """'512 B, the block of sdb'."""
        size = format_bytes(self.size_bytes)
        if self.owner is None:
            return f"the device's block, which is not known here; {size} suits nearly every device"
        return f"{size}, the block of {self.owner}"

    def misfits(self, workload: Workload) -> tuple[int, ...]:
        """Sizes and offsets of a workload that are no multiples of it."""
        return self.misfits_of(workload.streams)

    def misfits_of(self, streams: Sequence[Stream]) -> tuple[int, ...]:
        """The same of some streams."""
        units = {unit for stream in streams for unit in _units(stream, self.size_bytes)}
        return tuple(sorted(unit for unit in units if unit % self.size_bytes))


def _units(stream: Stream, block_bytes: int) -> Iterator[int]:
    """Sizes, alignments and starts that offsets follow from (Transfers::place in crates/storscope-load).

    A transfer that goes on where the one before it ended is rounded up to its alignment. So smaller ones than the block
    move nothing where all go on, from the start of the region, and have sizes of whole blocks.
    """
    if isinstance(stream.access, Copy) or not _goes_on(stream):
        yield from stream.unit_bytes()
        return
    yield stream.region.start_bytes
    for line in stream.access.lines:
        yield from (line.size_bytes, line.reply_bytes)
        if block_bytes % line.effective_align_bytes:
            yield line.effective_align_bytes


def _goes_on(stream: Stream) -> bool:
    """Whether each of its transfers, by each of its workers, goes on from the start of the region."""
    if isinstance(stream.access, Copy) or (stream.starts is Starts.APART and stream.workers > 1):
        return False
    return not any(line.random_share for line in stream.access.lines)


def direct_block(targets: Sequence[str], kernel: Kernel | None = None) -> DirectBlock:
    """The largest logical block of the devices that targets are, or lie on. Raises UsageError, TargetRefused."""
    found = [_block_of(target, kernel or Kernel()) for target in targets]
    return max(found, key=lambda block: (block.size_bytes, block.owner is not None))


def check_blocks(targets: Sequence[str], workload: Workload) -> None:
    """Whether all I/Os can go past the page cache, before anything is written for them.

    Raises UsageError where some would fail for certain. What is not known, and what goes through the cache, is a matter
    of the run.
    """
    for index, target in enumerate(targets):
        block = _block_of(target, Kernel())
        wrong = block.misfits_of([stream for stream in workload.streams if _uses(stream, index)])
        if wrong and block.is_strict:
            raise UsageError(
                f"sizes and offsets that are multiples of {block.words}",
                f"{', '.join(format_bytes(size) for size in wrong)}, which O_DIRECT answers with 'Invalid argument'",
                where=target,
                hint=f"{CHOOSE} A built-in workload becomes a file with: storscope workload convert NAME --to toml.",
            )


def _block_of(path: str, kernel: Kernel) -> DirectBlock:
    target = resolve(path, kernel)
    if isinstance(target, DeviceTarget):
        device, is_strict = target.device, True
    else:
        place = target.directory.place if isinstance(target, NewFileTarget) else target.place
        if place.fs_type in _CACHING_FS:
            folder = target.directory.path if isinstance(target, NewFileTarget) else target.path
            return _cached_block(os.statvfs(folder), place.fs_type)
        if place.device is None:
            return DirectBlock(_SUITS_BYTES, None, is_strict=False)
        device, is_strict = place.device, place.fs_type in _STRICT_FS and not _journals_data(place)
    size_bytes = read_number(kernel.sysfs / "class" / "block" / device.disk / "queue" / "logical_block_size")
    if not size_bytes:
        return DirectBlock(_SUITS_BYTES, None, is_strict=False)
    return DirectBlock(size_bytes, device.disk, is_strict)


def _cached_block(found: os.statvfs_result, fs_type: str) -> DirectBlock:
    """That of a file system that takes what is no multiple of its own block through the page cache."""
    return DirectBlock(found.f_bsize, fs_type, is_strict=False, is_cached=True)


def _journals_data(place: Place) -> bool:
    """ext4 then takes everything through the page cache (ext4_should_use_dio in fs/ext4/file.c)."""
    return place.mount is not None and "data=journal" in place.mount.super_options.split(",")


# What becomes of a run ------------------------------------------------------------------------------------------------


def as_taken(ready: Ready, workload: Workload, index: int = 0) -> Ready:
    """Target `index` as its file system takes what a workload sends there: not past the page cache, and with a doubt
    that says so, where these are no multiples of its block."""
    fs_type = ready.under.fs_type
    if not ready.direct or fs_type not in _CACHING_FS:
        return ready
    block = _cached_block(os.fstatvfs(ready.descriptor), fs_type)
    wrong = block.misfits_of([stream for stream in workload.streams if _uses(stream, index)])
    if not wrong:
        return ready
    sizes = ", ".join(format_bytes(size) for size in wrong)
    said = (
        f"I/Os that are no multiples of {block.words}, go through the page cache ({sizes}): "
        "reads may never reach the device, and a write reads and writes whole blocks."
    )
    return replace(ready, direct=False, doubts=(*ready.doubts, said))


def _uses(stream: Stream, index: int) -> bool:
    is_written = isinstance(stream.access, Copy) and stream.access.destination == index
    return is_written or not stream.targets or index in stream.targets
