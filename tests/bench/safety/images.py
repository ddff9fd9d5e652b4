"""Images with faithful signatures, for formats whose tools or kernel modules a test machine may lack.

Layouts as documented beside each; check sums are computed where blkid(8) verifies them, so that it recognises them too.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

from storscope.domain.units import KIB, MIB

SIZE_BYTES = 64 * MIB + 24 * KIB
"""Not a multiple of 64 or 256 KiB, so that places counted from the end show whether they are rounded rightly."""


def _write(path: Path, pieces: dict[int, bytes], size_bytes: int = SIZE_BYTES) -> None:
    with path.open("wb") as file:
        file.truncate(size_bytes)
        for offset, piece in pieces.items():
            file.seek(offset)
            file.write(piece)


def lvm2(path: Path) -> None:
    """A physical volume: label_header in sector 1 with its check sum over bytes 20 to 511 (LVM2 lib/label/label.h)."""
    body = struct.pack("<I8s32sQ", 32, b"LVM2 001", b"abcdefghijklmnopqrstuvwxyz012345", SIZE_BYTES).ljust(492, b"\0")
    check = zlib.crc32(body, 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
    _write(path, {512: b"LABELONE" + struct.pack("<QI", 1, check) + body})


def md_0_90(path: Path) -> None:
    """md 0.90, 64 KiB before the last 64 KiB boundary: magic, 0.90.0, level 1, size in KiB, two disks (md_p.h)."""
    start = SIZE_BYTES // (64 * KIB) * 64 * KIB - 64 * KIB
    words = [0xA92B4EFC, 0, 90, 0, 0, 0x11111111, 0, 1, start // KIB, 2, 2, 0, 0, 0x22222222, 0x33333333, 0x44444444]
    block = words + [0] * (1024 - len(words))
    block[38] = sum(block) % (2**32 - 1)  # folded as in calc_sb_csum of drivers/md/md.c
    _write(path, {start: struct.pack("<1024I", *block)})


def _md_1(super_sector: int) -> bytes:
    """struct mdp_superblock_1: magic, major 1, features, pad, uuid, name, ..., super_offset at byte 144 (md_p.h)."""
    block = bytearray(512)
    struct.pack_into("<IIII16s32s", block, 0, 0xA92B4EFC, 1, 0, 0, bytes(range(16)), b"host:0")
    struct.pack_into("<Q", block, 144, super_sector)
    block[216:220] = _md_1_checksum(block)
    return bytes(block)


def _md_1_checksum(block: bytearray) -> bytes:
    """Sum of the first 256 bytes as 32-bit words, folded (calc_sb_1_csum, drivers/md/md.c); no devices follow."""
    total = sum(struct.unpack("<64I", bytes(block[:216]) + bytes(4) + bytes(block[220:256])))
    return struct.pack("<I", ((total & 0xFFFFFFFF) + (total >> 32)) & 0xFFFFFFFF)


def md_1_0(path: Path) -> None:
    """md 1.0: at least 8 KiB and at most 12 KiB before the end, on a 4 KiB boundary."""
    sector = (SIZE_BYTES // 512 - 16) // 8 * 8
    _write(path, {sector * 512: _md_1(sector)})


def md_1_1(path: Path) -> None:
    """md 1.1: at the start."""
    _write(path, {0: _md_1(0)})


def md_1_2(path: Path) -> None:
    """md 1.2: 4 KiB from the start."""
    _write(path, {4 * KIB: _md_1(8)})


def zfs(path: Path, labels: tuple[int, ...] = (0, 1, 2, 3)) -> None:
    """ZFS: uberblocks (magic, version 5000, txg, guid sum, time) at 1 KiB steps in the second half of each label."""
    end = SIZE_BYTES // (256 * KIB) * 256 * KIB
    starts = (0, 256 * KIB, end - 512 * KIB, end - 256 * KIB)
    ring = b"".join(
        struct.pack("<QQQQQ", 0x00BAB10C, 5000, txg, 99, 1_700_000_000).ljust(1024, b"\0") for txg in range(8)
    )
    _write(path, {starts[label] + 128 * KIB: ring for label in labels})


def bcache(path: Path) -> None:
    """bcache: superblock at sector 8: check sum, offset, version 1 (backing), magic (include/uapi/linux/bcache.h)."""
    magic = bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")
    _write(path, {4 * KIB: struct.pack("<QQQ", 0, 8, 1) + magic})


def luks1(path: Path) -> None:
    """LUKS 1: magic, version, cipher, mode, hash; a UUID at byte 168 (LUKS on-disk format 1.2.3, figure 1)."""
    head = struct.pack(">6sH32s32s32s", b"LUKS\xba\xbe", 1, b"aes", b"xts-plain64", b"sha256").ljust(168, b"\0")
    _write(path, {0: head + b"0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"})


def vmfs(path: Path) -> None:
    """VMFS 5: volume and file system marks at 1 and 2 MiB (libblkid/src/superblocks/vmfs.c)."""
    _write(path, {MIB: b"\x0d\xd0\x01\xc0" + struct.pack("<I", 5), 2 * MIB: b"\x5e\xf1\xab\x2f" + struct.pack("<I", 5)})


HANDMADE: dict[str, Callable[[Path], None]] = {
    "LVM2_member": lvm2, "linux_raid_member 0.90": md_0_90, "linux_raid_member 1.0": md_1_0,
    "linux_raid_member 1.1": md_1_1, "linux_raid_member 1.2": md_1_2, "zfs_member": zfs, "bcache": bcache,
    "crypto_LUKS": luks1, "VMFS": vmfs,
}  # fmt: skip
