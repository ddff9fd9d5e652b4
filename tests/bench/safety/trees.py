"""Handmade /sys, /proc and /dev, laid out as Linux does, for what this kernel or test machine cannot set up.

Device-mapper, md, multipath, bcache and ZFS need kernel modules that a test machine may lack. Their traces in sysfs
follow Documentation/ABI/{stable,testing}/sysfs-block, sysfs-block-dm, sysfs-block-bcache and what `ls -l` shows on
machines that have them: `dev`, `size` in sectors of 512 bytes, `holders` and `slaves` as links between the folders,
`dm/name`, `dm/uuid`. A whole disk lies below its bus, a partition below its disk, a stacked device below
devices/virtual/block; class/block and dev/block hold links.
"""

from __future__ import annotations

import os
from pathlib import Path

from storscope.bench.safety.block import BlockDevice, device_named, partitions
from storscope.bench.safety.in_use import DeviceLook, look_at_device
from storscope.bench.safety.kernel import Kernel
from storscope.bench.safety.signatures import Medium
from storscope.bench.safety.target import DeviceTarget, Identity, by_id_names
from storscope.domain.units import GIB, MIB

SIZE_BYTES = 8 * GIB


class KernelTree:
    """A machine without devices, to which they are added."""

    def __init__(self, root: Path) -> None:
        self.kernel = Kernel(root / "sys", root / "proc", root / "dev", root / "udev")
        for folder in ("sys/class/block", "sys/dev/block", "proc/self", "dev/disk/by-id", "udev/data"):
            (root / folder).mkdir(parents=True)
        (root / "proc" / "self" / "mountinfo").write_text("22 1 0:21 / /proc rw,relatime - proc proc rw\n")
        (root / "proc" / "swaps").write_text("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n")

    def disk(
        self, name: str, number: str, *, size_bytes: int = SIZE_BYTES, serial: str = "", wwid: str = "",
        vpd_serial: str = "", read_only: bool = False,
    ) -> None:  # fmt: skip
        """A disk on a bus."""
        folder = self.kernel.sysfs / "devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0" / name / "block" / name
        self._device(folder, number, size_bytes, read_only)
        device = folder.parent.parent
        (folder / "device").symlink_to(os.path.relpath(device, folder))
        (device / "model").write_text("EXAMPLE DISK    \n")
        if wwid:
            (device / "wwid").write_text(f"{wwid}\n")
        if serial:
            (folder / "serial").write_text(f"{serial}\n")
        if vpd_serial:
            page = vpd_serial.rjust(20).encode()
            (device / "vpd_pg80").write_bytes(bytes([0, 0x80]) + len(page).to_bytes(2, "big") + page)

    def partition(self, disk: str, index: int, number: str, *, start_bytes: int, size_bytes: int = GIB) -> str:
        """A partition of a disk."""
        parent = (self.kernel.sysfs / "class/block" / disk).resolve()
        name = f"{disk}p{index}" if disk[-1].isdigit() else f"{disk}{index}"
        self._device(parent / name, number, size_bytes, False)
        (parent / name / "partition").write_text(f"{index}\n")
        (parent / name / "start").write_text(f"{start_bytes // 512}\n")
        return name

    def stacked(
        self, name: str, number: str, *slaves: str, size_bytes: int = SIZE_BYTES, dm_name: str = "", dm_uuid: str = ""
    ) -> None:
        """A device that rests on others: dm, md, bcache."""
        folder = self.kernel.sysfs / "devices/virtual/block" / name
        self._device(folder, number, size_bytes, False)
        for slave in slaves:
            below = (self.kernel.sysfs / "class/block" / slave).resolve()
            (folder / "slaves" / slave).symlink_to(os.path.relpath(below, folder / "slaves"))
            (below / "holders" / name).symlink_to(os.path.relpath(folder, below / "holders"))
        if dm_uuid:
            (folder / "dm").mkdir()
            (folder / "dm" / "name").write_text(f"{dm_name}\n")
            (folder / "dm" / "uuid").write_text(f"{dm_uuid}\n")

    def loop(self, name: str, number: str, backing: str, *, size_bytes: int = SIZE_BYTES) -> None:
        """A loop device over a device (by its node's name) or a file."""
        folder = self.kernel.sysfs / "devices/virtual/block" / name
        self._device(folder, number, size_bytes, False)
        (folder / "loop").mkdir()
        (folder / "loop" / "backing_file").write_text(f"{backing}\n")

    def mount(self, number: str, point: str, *, fs_type: str = "ext4", source: str = "/dev/root") -> None:
        """A line of mountinfo."""
        with (self.kernel.proc / "self" / "mountinfo").open("a") as file:
            file.write(f"30 22 {number} / {point} rw,relatime shared:1 - {fs_type} {source} rw\n")

    def swap(self, path: str, kind: str = "partition") -> None:
        """A line of /proc/swaps."""
        with (self.kernel.proc / "swaps").open("a") as file:
            file.write(f"{path:<40}{kind}\t4194300\t0\t-2\n")

    def device(self, name: str) -> BlockDevice:
        """A device as the code reads it."""
        device = device_named(self.kernel, name)
        assert device is not None, name
        return device

    def target(self, name: str) -> DeviceTarget:
        """A target without a node to open."""
        device = self.device(name)
        parts = () if device.is_partition else tuple(partitions(self.kernel, name))
        identity = Identity("device", device.number, None)
        path = f"/dev/{name}"
        return DeviceTarget(identity, path, path, device, parts, by_id_names(self.kernel, device))

    def look(self, name: str, claim: OSError | None = None, medium: Medium | None = None) -> DeviceLook:
        """What the checks see; the medium is blank unless given."""
        target = self.target(name)
        media = ((name, medium or blank(min(target.device.size_bytes, 64 * MIB))),)
        return look_at_device(self.kernel, target, claim, media)

    def _device(self, folder: Path, number: str, size_bytes: int, read_only: bool) -> None:
        for part in ("holders", "slaves"):
            (folder / part).mkdir(parents=True)
        (folder / "dev").write_text(f"{number}\n")
        (folder / "size").write_text(f"{size_bytes // 512}\n")
        (folder / "ro").write_text(f"{int(read_only)}\n")
        for link in (self.kernel.sysfs / "class/block" / folder.name, self.kernel.sysfs / "dev/block" / number):
            link.symlink_to(os.path.relpath(folder, link.parent))


def blank(size_bytes: int) -> Medium:
    """Zeros."""
    return Medium(lambda offset, length: bytes(max(0, min(length, size_bytes - offset))), size_bytes)
