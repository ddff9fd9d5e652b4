"""What a device or image carries, by its magic numbers: an own small reader, so that no tool need be installed.

Formats with one fixed mark are in `magic.py`. Here are those that need a field more (ext, MBR, HFS+, NILFS2), a place
that depends on the size (md 0.9 and 1.0, the trailing labels of ZFS) or a search (LVM2, ZFS). All are reported, not
only the first: a disk that was reused carries several. A false alarm costs the user one option; a missed mark is caught
as unknown content.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from storscope.bench.safety.magic import ALL
from storscope.domain.units import KIB, SECTOR_BYTES

Read = Callable[[int, int], bytes]
"""(offset, length) -> the bytes there; fewer at the end. Raises OSError."""


@dataclass(frozen=True)
class Medium:
    """Something that can be read: a device, a partition of it, a file."""

    read: Read
    size_bytes: int


@dataclass(frozen=True)
class Signature:
    """One mark that was found."""

    name: str
    """As blkid(8) would call it."""
    what: str
    offset: int
    source: str

    def __str__(self) -> str:
        return f"{self.what} (mark at byte {self.offset:,})"


def medium_of(descriptor: int, size_bytes: int, start_bytes: int = 0) -> Medium:
    """An open file or device, or a window of it."""

    def read(offset: int, length: int) -> bytes:
        length = min(length, size_bytes - offset)
        if offset < 0 or length <= 0:
            return b""
        return _read_fully(descriptor, start_bytes + offset, length)

    return Medium(read, size_bytes)


def _read_fully(descriptor: int, offset: int, length: int) -> bytes:
    """`pread` may return less than asked in the middle of a file; only at its end it returns nothing."""
    parts: list[bytes] = []
    while length > 0 and (part := os.pread(descriptor, length, offset)):
        parts.append(part)
        offset += len(part)
        length -= len(part)
    return b"".join(parts)


def find(medium: Medium) -> list[Signature]:
    """Every known mark, by offset. Raises OSError where the medium cannot be read: then its content is unknown."""
    found = [*_fixed(medium)]
    for probe in PROBES:
        found += probe(medium)
    return sorted(set(found), key=lambda signature: (signature.offset, signature.name))


def _fixed(medium: Medium) -> Iterator[Signature]:
    for magic in ALL:
        offset = magic.offset if magic.offset >= 0 else medium.size_bytes + magic.offset
        if offset >= 0 and medium.read(offset, len(magic.pattern)) == magic.pattern:
            yield Signature(magic.name, magic.what, offset, magic.source)


_EXT_SUPERBLOCK = 1024
_EXT_MAX_LOG_BLOCK = 6
"""64 KiB, the largest block of ext4 (fs/ext4/ext4.h, EXT4_MAX_BLOCK_LOG_SIZE 16 = 10 + 6)."""
_EXT_HAS_JOURNAL, _EXT_JOURNAL_DEVICE = 0x4, 0x8
_EXT4_ONLY_INCOMPAT = 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x1000 | 0x2000 | 0x4000 | 0x8000 | 0x10000
"""extents, 64bit, mmp, flex_bg, ea_inode, dirdata, csum_seed, largedir, inline_data, encrypt (ext4 documentation)."""
_EXT4_ONLY_RO_COMPAT = 0x8 | 0x10 | 0x20 | 0x40 | 0x100 | 0x200 | 0x400
"""huge_file, gdt_csum, dir_nlink, extra_isize, quota, bigalloc, metadata_csum."""


def ext(medium: Medium) -> Iterator[Signature]:
    """ext2, 3, 4 and external journals: 0xEF53 with a block size that exists (ext4 documentation, super block)."""
    block = medium.read(_EXT_SUPERBLOCK, 0x68)
    if block[0x38:0x3A] != b"\x53\xef" or _little(block, 0x18) > _EXT_MAX_LOG_BLOCK or len(block) < 0x68:
        return
    yield Signature(_ext_name(block), "ext2/3/4 file system", _EXT_SUPERBLOCK + 0x38, "ext4 documentation, super block")


def _ext_name(block: bytes) -> str:
    compatible, incompatible, read_only_compatible = (_little(block, at) for at in (0x5C, 0x60, 0x64))
    if incompatible & _EXT_JOURNAL_DEVICE:
        return "jbd"
    if incompatible & _EXT4_ONLY_INCOMPAT or read_only_compatible & _EXT4_ONLY_RO_COMPAT:
        return "ext4"
    return "ext3" if compatible & _EXT_HAS_JOURNAL else "ext2"


def nilfs2(medium: Medium) -> Iterator[Signature]:
    """NILFS2: 0x3434 with revision 2, at 1 KiB and near the end (linux/nilfs2_ondisk.h)."""
    for start in (1 * KIB, (medium.size_bytes // (4 * KIB) - 1) * 4 * KIB):
        block = medium.read(start, 8)
        if block[:4] == b"\x02\x00\x00\x00" and block[6:8] == b"\x34\x34":
            yield Signature("nilfs2", "NILFS2 file system", start + 6, "linux/nilfs2_ondisk.h")


def hfs_plus(medium: Medium) -> Iterator[Signature]:
    """HFS+ and HFSX: "H+" with version 4, "HX" with 5 (Apple TN1150); HFS: "BD" with its 512-multiple block size."""
    block = medium.read(1 * KIB, 24)
    if block[:4] in {b"H+\x00\x04", b"HX\x00\x05"}:
        yield Signature("hfsplus", "HFS+ file system", 1 * KIB, "Apple TN1150")
    elif block[:2] == b"BD" and len(block) == 24:
        size = int.from_bytes(block[20:24], "big")
        if size and size % SECTOR_BYTES == 0:
            yield Signature("hfs", "HFS file system", 1 * KIB, "Inside Macintosh: Files, 2-61")


_MBR_MARK = 510
_MBR_ENTRIES = range(446, 510, 16)
_BOOT_SECTORS = (b"FAT", b"NTFS    ", b"MSDOS", b"MSWIN", b"EXFAT   ", b"-FVE-FS-")


def dos_table(medium: Medium) -> Iterator[Signature]:
    """MBR: 0x55AA and four entries whose boot flag is 0 or 0x80, unless it is a file system's own boot sector."""
    sector = medium.read(0, SECTOR_BYTES)
    if sector[_MBR_MARK:] != b"\x55\xaa" or any(name in sector[:0x60] for name in _BOOT_SECTORS):
        return
    if all(sector[entry] in {0, 0x80} for entry in _MBR_ENTRIES):
        yield Signature("dos", "MBR partition table", _MBR_MARK, "partitions/dos.c; UEFI 2.10, 5.2.1")


def lvm2(medium: Medium) -> Iterator[Signature]:
    """LVM2: a label in one of the first four sectors (lib/format_text/layout.h of LVM2)."""
    for sector in range(4):
        label = medium.read(sector * SECTOR_BYTES, 32)
        if label[:8] == b"LABELONE" and label[24:32] == b"LVM2 001":
            what = "physical volume of LVM"
            yield Signature("LVM2_member", what, sector * SECTOR_BYTES + 24, "lib/format_text/layout.h of LVM2")


_MD_MAGIC = 0xA92B4EFC
_MD_0_90_RESERVED = 64 * KIB
_BYTE_ORDERS: tuple[Literal["little", "big"], ...] = ("little", "big")
"""0.90 is written in the byte order of the machine, 1.x always little-endian."""


def md_at_end(medium: Medium) -> Iterator[Signature]:
    """md 0.90 and 1.0 keep their superblock at the end, where its place depends on the size (linux/raid/md_p.h)."""
    old = medium.size_bytes // _MD_0_90_RESERVED * _MD_0_90_RESERVED - _MD_0_90_RESERVED
    block = medium.read(old, 8)
    if block in {_MD_MAGIC.to_bytes(4, order) + bytes(4) for order in _BYTE_ORDERS}:
        yield Signature("linux_raid_member", "part of an md RAID (0.90)", old, "linux/raid/md_p.h")
    new = (medium.size_bytes // SECTOR_BYTES - 16) // 8 * 8 * SECTOR_BYTES
    block = medium.read(new, 8)
    if (_little(block, 0), _little(block, 4)) == (_MD_MAGIC, 1):
        yield Signature("linux_raid_member", "part of an md RAID (1.0)", new, "linux/raid/md_p.h")


_ZFS_LABEL = 256 * KIB
_ZFS_UBERBLOCKS = 128 * KIB
_ZFS_UBERBLOCK_STEP = 1 * KIB
_ZFS_MAGIC = (b"\x0c\xb1\xba\x00\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00\xba\xb1\x0c")


def zfs(medium: Medium) -> Iterator[Signature]:
    """ZFS: four labels, two at each end; the second half of each holds uberblocks (ZFS On-Disk Specification, 1.2)."""
    end = medium.size_bytes // _ZFS_LABEL * _ZFS_LABEL
    for label in {0, _ZFS_LABEL, end - 2 * _ZFS_LABEL, end - _ZFS_LABEL}:
        start = label + _ZFS_UBERBLOCKS
        ring = medium.read(start, _ZFS_UBERBLOCKS)
        for at in range(0, len(ring), _ZFS_UBERBLOCK_STEP):
            if ring[at : at + 8] in _ZFS_MAGIC:
                yield Signature("zfs_member", "part of a ZFS pool", start + at, "ZFS On-Disk Specification, 1.2-1.3")
                break


def _little(block: bytes, at: int) -> int:
    return int.from_bytes(block[at : at + 4], "little")


PROBES: tuple[Callable[[Medium], Iterator[Signature]], ...] = (
    ext, nilfs2, hfs_plus, dos_table, lvm2, md_at_end, zfs,
)  # fmt: skip
