"""Block devices as sysfs describes them: what is part of what, what rests on what.

Sources: Documentation/ABI/testing/sysfs-block and sysfs-class-block of Linux; `size` and `start` count sectors of
512 bytes whatever the device's own. SCSI serial numbers are page 0x80 of the vital product data (SPC-4, 7.8.15).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from storscope.bench.safety.kernel import DeviceNumber, Kernel, names_in, read_number, read_text
from storscope.domain.units import SECTOR_BYTES

_VPD_HEADER_BYTES = 4
_FIRST_LOGICAL: Final = 5
"""Of an MBR: 1 to 4 stand in its table, the others in a chain that the extended one of these begins."""
_MOST_TABLE_BYTES: Final = 4096
"""Linux gives an extended partition two sectors of 512 bytes, or one larger one (block/partitions/msdos.c)."""


@dataclass(frozen=True)
class BlockDevice:
    """One block device or partition. Unknown is null."""

    number: DeviceNumber
    name: str
    """The kernel's name, which may change at the next boot."""
    disk: str
    """The whole disk's name; its own if it is one."""
    start_bytes: int
    """Where it begins on the whole disk."""
    size_bytes: int
    read_only: bool
    partition: int | None
    model: str | None
    serial: str | None
    """Of the whole disk."""
    wwid: str | None
    """World-wide name of the whole disk: two disks with the same one are two paths to one disk."""
    dm_name: str | None
    dm_uuid: str | None
    backing_file: str | None
    """What a loop device shows."""
    sequence: int | None
    """Grows with every device that appears: tells a device from its successor of the same number (Linux 5.15)."""
    holders: tuple[str, ...]
    slaves: tuple[str, ...]
    folder: Path = field(compare=False)

    @property
    def is_partition(self) -> bool:
        """Whether it is a part of a disk."""
        return self.partition is not None

    @property
    def end_bytes(self) -> int:
        """Where it ends on the whole disk."""
        return self.start_bytes + self.size_bytes


def device_of_number(kernel: Kernel, number: DeviceNumber) -> BlockDevice | None:
    """The device of a number; null if sysfs does not know it."""
    return _read(kernel, kernel.sysfs / "dev" / "block" / str(number))


def device_named(kernel: Kernel, name: str) -> BlockDevice | None:
    """The device of a kernel name."""
    return _read(kernel, kernel.sysfs / "class" / "block" / name)


def _read(kernel: Kernel, link: Path) -> BlockDevice | None:
    folder = link.resolve()
    number = DeviceNumber.parse(read_text(folder / "dev") or "")
    if number is None:
        return None
    partition = read_number(folder / "partition")
    disk = folder if partition is None else folder.parent
    sectors, start, sequence = (read_number(path) for path in (folder / "size", folder / "start", disk / "diskseq"))
    return BlockDevice(
        number=number,
        name=folder.name,
        disk=disk.name,
        start_bytes=(start or 0) * SECTOR_BYTES,
        size_bytes=(sectors or 0) * SECTOR_BYTES,
        read_only=any(read_text(part / "ro") == "1" for part in (folder, disk)),
        partition=partition,
        model=_attribute(disk, "device/model"),
        serial=_serial(kernel, disk),
        wwid=_attribute(disk, "wwid", "device/wwid"),
        dm_name=_attribute(folder, "dm/name"),
        dm_uuid=_attribute(folder, "dm/uuid"),
        backing_file=_attribute(disk, "loop/backing_file"),
        sequence=sequence,
        holders=names_in(folder / "holders"),
        slaves=names_in(folder / "slaves"),
        folder=folder,
    )


def _attribute(folder: Path, *names: str) -> str | None:
    """The first of several attributes that says something."""
    return next((text for name in names if (text := read_text(folder / name))), None)


def _serial(kernel: Kernel, disk: Path) -> str | None:
    """virtio and NVMe say it in sysfs, SCSI and SATA in page 0x80, the rest through udev if at all."""
    return _attribute(disk, "serial", "device/serial") or _vpd_serial(disk) or _udev_serial(kernel, disk)


def _vpd_serial(disk: Path) -> str | None:
    try:
        page = (disk / "device" / "vpd_pg80").read_bytes()
    except OSError:
        return None
    length = int.from_bytes(page[2:4], "big")
    text = page[_VPD_HEADER_BYTES : _VPD_HEADER_BYTES + length].decode("ascii", "replace").strip(" \0")
    return text or None


def _udev_serial(kernel: Kernel, disk: Path) -> str | None:
    """udev's database has a file per device: lines "E:KEY=value" (systemd, src/libsystemd/sd-device)."""
    text = read_text(kernel.udev / "data" / f"b{read_text(disk / 'dev')}") or ""
    for line in text.splitlines():
        if line.startswith("E:ID_SERIAL_SHORT="):
            return line.partition("=")[2].strip() or None
    return None


def disks(kernel: Kernel) -> Iterator[BlockDevice]:
    """Every whole disk."""
    for name in names_in(kernel.sysfs / "class" / "block"):
        device = device_named(kernel, name)
        if device is not None and not device.is_partition:
            yield device


def partitions(kernel: Kernel, disk: str) -> list[BlockDevice]:
    """The partitions the kernel knows on a disk, by name."""
    folder = (kernel.sysfs / "class" / "block" / disk).resolve()
    names = [name for name in names_in(folder) if (folder / name / "partition").is_file()]
    return [device for name in names if (device := _read(kernel, folder / name)) is not None]


def twins(kernel: Kernel, device: BlockDevice) -> list[BlockDevice]:
    """Other disks with the same world-wide name and size: further paths to the same disk, without multipath above."""
    disk = device_named(kernel, device.disk)
    if disk is None or not disk.wwid:
        return []
    same = (disk.wwid, disk.size_bytes)
    return [other for other in disks(kernel) if other.name != disk.name and (other.wwid, other.size_bytes) == same]


def family(kernel: Kernel, device: BlockDevice) -> list[BlockDevice]:
    """Every device whose bytes are also bytes of this one, or are found by them; itself first.

    These are the disk it is a part of, the partitions that overlap it, those that an extended one leads to, and the
    same on further paths to the disk.
    """
    found = [device]
    for name in [device.disk, *(twin.name for twin in twins(kernel, device))]:
        disk = device_named(kernel, name)
        candidates = [*([disk] if disk else []), *partitions(kernel, name)]
        found += [
            other
            for other in candidates
            if other.number != device.number and (_overlap(device, other) or _leads_to(device, other))
        ]
    return found


def _leads_to(extended: BlockDevice, logical: BlockDevice) -> bool:
    """Whether the first is an extended partition, of which Linux shows no more than a table, and the second in it."""
    is_extended = extended.partition is not None and extended.partition < _FIRST_LOGICAL
    is_table = is_extended and extended.size_bytes <= _MOST_TABLE_BYTES
    return is_table and (logical.partition or 0) >= _FIRST_LOGICAL and logical.start_bytes > extended.start_bytes


def _overlap(one: BlockDevice, other: BlockDevice) -> bool:
    return one.start_bytes < other.end_bytes and other.start_bytes < one.end_bytes


def below(kernel: Kernel, device: BlockDevice) -> set[str]:
    """Names of the whole disks at the bottom: through partitions, LVM, md, dm and multipath."""
    bottom: set[str] = set()
    todo, seen = [device], set[str]()
    while todo:
        current = todo.pop()
        if current.name in seen:
            continue
        seen.add(current.name)
        names = current.slaves or ((current.disk,) if current.is_partition else ())
        if not names:
            bottom.add(current.name)
        todo += [found for name in names if (found := device_named(kernel, name)) is not None]
    return bottom
