"""Magic numbers of what may lie on a device or in an image: one table.

Names are those of blkid(8), so that the two can be compared. Offsets and bytes are those of libblkid of util-linux
(libblkid/src/superblocks, partitions), which in turn cites each format's own header; where another origin is simpler to
check it stands beside the entry. A magic of two bytes is confirmed by a further field in `signatures.py` or left out:
a format that is not listed is still refused as unknown content (`content.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from storscope.domain.units import KIB, MIB

BCACHE_UUID = bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")
BCACHEFS_UUID = bytes.fromhex("c68573f666ce90a9d96a60cf803df7ef")


@dataclass(frozen=True)
class Magic:
    """A format's mark. A negative offset counts from the end."""

    name: str
    what: str
    """As a person would say it."""
    offset: int
    pattern: bytes
    source: str


def _many(name: str, what: str, offsets: tuple[int, ...], pattern: bytes, source: str) -> tuple[Magic, ...]:
    return tuple(Magic(name, what, offset, pattern, source) for offset in offsets)


_FS = "file system"
_OCFS2_OFFSETS = (1 * KIB, 2 * KIB, 4 * KIB, 8 * KIB)
_MD_1 = b"\xfc\x4e\x2b\xa9\x01\x00\x00\x00"
"""Magic and major version 1, both little-endian."""
_GPT_SECTORS = (512, 1 * KIB, 2 * KIB, 4 * KIB)
"""The header is in the second sector and in the last, whatever a sector's size."""
_GPT_BACKUP = tuple(-size for size in _GPT_SECTORS)
_DASD_OFFSETS = (1 * KIB, 4 * KIB, 8 * KIB)
_PAGE_SIZES = (4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB)
_LUKS2_SECOND = tuple(16 * KIB << power for power in range(9))
"""16 KiB to 4 MiB: LUKS2 on-disk format 1.1.1, table 2."""

FILE_SYSTEMS: tuple[Magic, ...] = (
    Magic("xfs", f"XFS {_FS}", 0, b"XFSB", "superblocks/xfs.c"),
    *_many("btrfs", f"btrfs {_FS}", (64 * KIB + 64, 64 * MIB + 64, 256 * KIB * MIB + 64), b"_BHRfS_M",
           "superblock and its mirrors: fs/btrfs/disk-io.h of Linux"),
    Magic("f2fs", f"F2FS {_FS}", 1 * KIB, b"\x10\x20\xf5\xf2", "superblocks/f2fs.c"),
    Magic("erofs", f"EROFS {_FS}", 1 * KIB, b"\xe2\xe1\xf5\xe0", "superblocks/erofs.c"),
    Magic("squashfs", f"squashfs {_FS}", 0, b"hsqs", "superblocks/squashfs.c"),
    Magic("squashfs", f"squashfs {_FS}", 0, b"sqsh", "superblocks/squashfs.c"),
    Magic("cramfs", f"cramfs {_FS}", 0, b"\x45\x3d\xcd\x28", "superblocks/cramfs.c"),
    Magic("romfs", f"romfs {_FS}", 0, b"-rom1fs-", "superblocks/romfs.c"),
    Magic("zonefs", f"zonefs {_FS}", 0, b"SFOZ", "superblocks/zonefs.c"),
    *_many("reiserfs", f"ReiserFS {_FS}", (8 * KIB + 52, 64 * KIB + 52), b"ReIsEr", "superblocks/reiserfs.c"),
    Magic("reiser4", f"Reiser4 {_FS}", 64 * KIB, b"ReIsEr4", "superblocks/reiserfs.c"),
    Magic("jfs", f"JFS {_FS}", 32 * KIB, b"JFS1", "superblocks/jfs.c"),
    Magic("gfs2", f"GFS2 {_FS}", 64 * KIB, b"\x01\x16\x19\x70", "superblocks/gfs.c"),
    *_many("ocfs2", f"OCFS2 {_FS}", _OCFS2_OFFSETS, b"OCFSV2", "superblocks/ocfs.c"),
    Magic("bcachefs", f"bcachefs {_FS}", 4 * KIB + 24, BCACHEFS_UUID, "superblocks/bcache.c"),
    Magic("apfs", f"APFS {_FS}", 32, b"NXSB", "superblocks/apfs.c"),
    *_many("ufs", f"UFS {_FS}", (8 * KIB + 1372, 64 * KIB + 1372), b"\x54\x19\x01\x00", "superblocks/ufs.c"),
    *_many("ufs", f"UFS2 {_FS}", (8 * KIB + 1372, 64 * KIB + 1372), b"\x19\x01\x54\x19", "superblocks/ufs.c"),
    Magic("vfat", f"FAT {_FS}", 0x52, b"FAT32   ", "superblocks/vfat.c"),
    Magic("vfat", f"FAT {_FS}", 0x36, b"FAT16   ", "superblocks/vfat.c"),
    Magic("vfat", f"FAT {_FS}", 0x36, b"FAT12   ", "superblocks/vfat.c"),
    Magic("vfat", f"FAT {_FS}", 0x36, b"FAT     ", "superblocks/vfat.c"),
    Magic("vfat", f"FAT {_FS}", 0x36, b"MSDOS", "superblocks/vfat.c"),
    Magic("vfat", f"FAT {_FS}", 0x52, b"MSWIN", "superblocks/vfat.c"),
    Magic("exfat", f"exFAT {_FS}", 3, b"EXFAT   ", "superblocks/exfat.c"),
    Magic("ntfs", f"NTFS {_FS}", 3, b"NTFS    ", "superblocks/ntfs.c"),
    Magic("refs", f"ReFS {_FS}", 3, b"ReFS\x00", "superblocks/refs.c"),
    Magic("iso9660", f"ISO 9660 {_FS}", 32 * KIB + 1, b"CD001", "superblocks/iso9660.c"),
    *_many("udf", f"UDF {_FS}", (32 * KIB + 1, 34 * KIB + 1, 36 * KIB + 1), b"BEA01", "superblocks/udf.c"),
    *_many("udf", f"UDF {_FS}", (34 * KIB + 1, 36 * KIB + 1), b"NSR02", "superblocks/udf.c"),
    *_many("udf", f"UDF {_FS}", (34 * KIB + 1, 36 * KIB + 1), b"NSR03", "superblocks/udf.c"),
    Magic("VMFS", f"VMware VMFS {_FS}", 2 * MIB, b"\x5e\xf1\xab\x2f", "superblocks/vmfs.c"),
)  # fmt: skip

CONTAINERS: tuple[Magic, ...] = (
    Magic("VMFS_volume_member", "part of a VMware VMFS volume", MIB, b"\x0d\xd0\x01\xc0", "superblocks/vmfs.c"),
    Magic("linux_raid_member", "part of an md RAID (1.1)", 0, _MD_1, "linux/raid/md_p.h"),
    Magic("linux_raid_member", "part of an md RAID (1.2)", 4 * KIB, _MD_1, "linux/raid/md_p.h"),
    Magic("isw_raid_member", "part of an Intel RAID", -1 * KIB, b"Intel Raid ISM Cfg Sig. ", "superblocks/isw_raid.c"),
    Magic("ddf_raid_member", "part of a DDF RAID", -512, b"\xde\x11\xde\x11", "SNIA DDF 2.0, anchor header"),
    Magic("ddf_raid_member", "part of a DDF RAID", -512, b"\x11\xde\x11\xde", "SNIA DDF 2.0, anchor header"),
    Magic("nvidia_raid_member", "part of an NVIDIA RAID", -1 * KIB, b"NVIDIA", "superblocks/nvidia_raid.c"),
    Magic("lsi_mega_raid_member", "part of an LSI RAID", -512, b"$XIDE$", "superblocks/lsi_raid.c"),
    Magic("bcache", "bcache cache or backing device", 4 * KIB + 24, BCACHE_UUID, "superblocks/bcache.c"),
    Magic("drbd", "DRBD device", -4 * KIB + 60, b"\x83\x74\x02\x6b", "superblocks/drbd.c"),
    Magic("drbd", "DRBD device", -4 * KIB + 60, b"\x83\x74\x02\x6d", "superblocks/drbd.c"),
    Magic("vdo", "VDO volume", 0, b"dmvdo001", "superblocks/vdo.c"),
    *_many("stratis", "part of a Stratis pool", (512 + 4, 4608 + 4), b"!Stra0tis\x86\xff\x02^\x41rh",
           "superblocks/stratis.c"),
    Magic("ceph_bluestore", "Ceph BlueStore device", 0, b"bluestore block device", "superblocks/bluestore.c"),
    Magic("oracleasm", "Oracle ASM disk", 32, b"ORCLDISK", "superblocks/oracleasm.c"),
    Magic("mpool", "HSE media pool", 0, b"mpoolDev", "superblocks/mpool.c"),
)  # fmt: skip

CRYPTO: tuple[Magic, ...] = (
    Magic("crypto_LUKS", "LUKS encrypted volume", 0, b"LUKS\xba\xbe", "LUKS2 on-disk format, 2.1"),
    *_many("crypto_LUKS", "LUKS encrypted volume (second header)", _LUKS2_SECOND, b"SKUL\xba\xbe",
           "LUKS2 on-disk format, 2.1"),
    Magic("BitLocker", "BitLocker encrypted volume", 3, b"-FVE-FS-", "superblocks/bitlocker.c"),
    Magic("DM_verity_hash", "dm-verity hashes", 0, b"verity\0\0", "superblocks/dm_verity.c"),
    Magic("DM_integrity", "dm-integrity volume", 0, b"integrt\0", "superblocks/dm_integrity.c"),
)  # fmt: skip

SWAP: tuple[Magic, ...] = tuple(
    Magic(name, what, page - len(pattern), pattern, "superblocks/swap.c: the end of the first page")
    for page in _PAGE_SIZES
    for name, what, pattern in (
        ("swap", "swap area", b"SWAP-SPACE"),
        ("swap", "swap area", b"SWAPSPACE2"),
        ("swsuspend", "hibernated memory", b"S1SUSPEND\0"),
        ("swsuspend", "hibernated memory", b"S2SUSPEND\0"),
        ("swsuspend", "hibernated memory", b"ULSUSPEND\0"),
        ("swsuspend", "hibernated memory", b"LINHIB0001"),
    )
)

PARTITION_TABLES: tuple[Magic, ...] = (
    *_many("gpt", "GPT partition table", _GPT_SECTORS, b"EFI PART", "UEFI 2.10, 5.3.2"),
    *_many("gpt", "GPT partition table (backup)", _GPT_BACKUP, b"EFI PART", "UEFI 2.10, 5.3.2"),
    Magic("sgi", "SGI partition table", 0, b"\x0b\xe5\xa9\x41", "partitions/sgi.c"),
    Magic("sun", "Sun partition table", 508, b"\xda\xbe", "partitions/sun.c"),
    *_many("bsd", "BSD disk label", (0, 64, 512), b"\x57\x45\x56\x82", "partitions/bsd.c"),
    Magic("mac", "Apple partition table", 512, b"PM\x00\x00", "partitions/mac.c"),
    Magic("aix", "AIX physical volume", 0, b"\xc9\xc2\xd4\xc1", "partitions/aix.c"),
    *_many("dasd", "DASD volume label", _DASD_OFFSETS, b"\xe5\xd6\xd3\xf1", "VOL1 in EBCDIC: partitions/dasd.c"),
    *_many("dasd", "DASD volume label", _DASD_OFFSETS, b"\xd3\xd5\xe7\xf1", "LNX1 in EBCDIC: partitions/dasd.c"),
    Magic("ldm", "Windows dynamic disk", 6 * 512, b"PRIVHEAD", "block/partitions/ldm.c of Linux"),
)

ALL: tuple[Magic, ...] = FILE_SYSTEMS + CONTAINERS + CRYPTO + SWAP + PARTITION_TABLES
