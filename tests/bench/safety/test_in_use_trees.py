"""The in-use cases that need kernel modules, on faithful sysfs trees: LVM, md, dm, multipath, bcache, ZFS, NVMe.

The kernel of a test machine may have neither device-mapper nor md; `trees.py` lays out what they show in /sys.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from storscope.bench.safety.block import below, family
from storscope.bench.safety.check import Outcome
from storscope.bench.safety.in_use import check_device
from storscope.bench.safety.signatures import medium_of
from storscope.domain.errors import TargetRefused
from storscope.domain.units import GIB, MIB
from tests.bench.safety import images
from tests.bench.safety.trees import KernelTree

BUSY = OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def refusals(tree: KernelTree, name: str) -> dict[str, str]:
    checks = check_device(tree.look(name))
    return {check.name: check.says for check in checks if check.outcome is Outcome.REFUSED}


def final(tree: KernelTree, name: str) -> set[str]:
    checks = check_device(tree.look(name))
    return {check.name for check in checks if check.outcome is Outcome.REFUSED and not check.overridable}


def test_a_free_disk_passes_every_check(tree: KernelTree) -> None:
    tree.disk("sda", "8:0")
    assert refusals(tree, "sda") == {}


def test_a_physical_volume_of_lvm_is_refused(tree: KernelTree) -> None:
    tree.disk("sda", "8:0")
    tree.stacked("dm-0", "253:0", "sda", dm_name="vg-data", dm_uuid="LVM-AbCd1234")
    assert refusals(tree, "sda")["held"] == "sda is held by the LVM volume vg-data (dm-0)"
    assert "held" in final(tree, "sda")


def test_a_disk_is_refused_if_a_partition_of_it_is_held(tree: KernelTree) -> None:
    tree.disk("sda", "8:0")
    tree.partition("sda", 2, "8:2", start_bytes=2 * GIB)
    tree.stacked("dm-0", "253:0", "sda2", dm_name="vg-data", dm_uuid="LVM-AbCd1234")
    assert refusals(tree, "sda")["held"] == "sda2 is held by the LVM volume vg-data (dm-0)"
    assert "partitions" in refusals(tree, "sda")


@pytest.mark.parametrize(
    ("name", "uuid", "says"),
    [
        ("md127", "", "the RAID md127"),
        ("dm-3", "mpath-3600508b4", "the multipath device mpatha (dm-3)"),
        ("dm-3", "CRYPT-LUKS2-0f1e", "the encrypted volume mpatha (dm-3)"),
        ("dm-3", "other", "the device-mapper device mpatha (dm-3)"),
        ("bcache0", "", "the cached device bcache0"),
        ("drbd1", "", "DRBD drbd1"),
    ],
)
def test_a_member_of_a_stack_is_refused(tree: KernelTree, name: str, uuid: str, says: str) -> None:
    tree.disk("sda", "8:0")
    tree.disk("sdb", "8:16")
    tree.stacked(name, "253:3", "sda", "sdb", dm_name="mpatha" if uuid else "", dm_uuid=uuid)
    for member in ("sda", "sdb"):
        assert refusals(tree, member)["held"] == f"{member} is held by {says}"


def test_a_device_registered_with_bcache_is_refused_before_anything_rests_on_it(tree: KernelTree) -> None:
    tree.disk("sda", "8:0")
    (tree.device("sda").folder / "bcache").mkdir()
    assert "registered with bcache" in refusals(tree, "sda")["held"]


def test_the_top_of_a_stack_may_be_written(tree: KernelTree) -> None:
    tree.disk("sda", "8:0")
    tree.disk("sdb", "8:16")
    tree.stacked("dm-3", "253:3", "sda", "sdb", dm_name="mpatha", dm_uuid="mpath-3600508b4")
    assert refusals(tree, "dm-3") == {}


def test_the_middle_of_a_stack_is_refused(tree: KernelTree) -> None:
    tree.disk("sda", "8:0")
    tree.stacked("dm-3", "253:3", "sda", dm_name="mpatha", dm_uuid="mpath-3600508b4")
    tree.stacked("dm-4", "253:4", "dm-3", dm_name="mpatha-part1", dm_uuid="part1-mpath-3600508b4")
    assert "held" in final(tree, "dm-3")


def test_a_mount_below_device_mapper_and_loop_devices_is_seen(tree: KernelTree) -> None:
    """Device-mapper claims the loop device it rests on, and nobody claims what lies below that."""
    tree.loop("loop0", "7:0", "/images/a")
    tree.loop("loop1", "7:1", "/dev/loop0")
    tree.stacked("dm-0", "253:0", "loop1", dm_name="vg-data", dm_uuid="LVM-AbCd1234")
    assert final(tree, "dm-0") == set()
    tree.mount("7:0", "/data")
    assert refusals(tree, "dm-0")["mounted"] == "loop0 is mounted at /data"
    assert "mounted" in final(tree, "dm-0")


def test_what_holds_the_bottom_of_a_stack_of_loop_devices_makes_the_top_used(tree: KernelTree) -> None:
    tree.disk("sda", "8:0")
    tree.loop("loop0", "7:0", "/dev/sda")
    tree.loop("loop1", "7:1", "/dev/loop0")
    assert final(tree, "loop1") == set()
    tree.stacked("md0", "9:0", "sda")
    assert refusals(tree, "loop1")["held"] == "sda is held by the RAID md0"
    assert "held" in final(tree, "loop1")


def test_a_loop_device_over_a_slave_of_device_mapper_is_another_user(tree: KernelTree) -> None:
    tree.disk("sda", "8:0")
    tree.stacked("dm-0", "253:0", "sda", dm_name="vg-data", dm_uuid="LVM-AbCd1234")
    tree.loop("loop0", "7:0", "/dev/sda")
    assert refusals(tree, "dm-0")["loop"] == "loop0 is set up over sda"


def test_the_volumes_of_one_group_are_not_each_others_users(tree: KernelTree) -> None:
    tree.loop("loop0", "7:0", "/images/a")
    tree.stacked("dm-0", "253:0", "loop0", dm_name="vg-data", dm_uuid="LVM-AbCd1234")
    tree.stacked("dm-1", "253:1", "loop0", dm_name="vg-other", dm_uuid="LVM-AbCd5678")
    tree.mount("253:1", "/other")
    assert final(tree, "dm-0") == set()


def test_a_spare_partition_of_a_system_disk_is_known_through_a_loop_device(tree: KernelTree) -> None:
    tree.disk("sda", "8:0")
    tree.partition("sda", 1, "8:1", start_bytes=MIB)
    tree.partition("sda", 2, "8:2", start_bytes=2 * GIB)
    tree.loop("loop0", "7:0", "/dev/sda2")
    tree.mount("8:1", "/")
    assert refusals(tree, "loop0")["system disk"] == "sda is a system disk: it carries /"


def test_a_circle_of_devices_ends(tree: KernelTree) -> None:
    """The kernel refuses to set one up; a node that was renamed may look like one."""
    tree.loop("loop0", "7:0", "/dev/loop1")
    tree.loop("loop1", "7:1", "/dev/loop0")
    assert {device.name for device in tree.look("loop0").stack.devices} == {"loop0", "loop1"}


def test_a_zfs_vdev_shows_as_a_claim_and_by_its_labels(tree: KernelTree, tmp_path: Path) -> None:
    """ZFS leaves no trace in sysfs. Its exclusive claim gives EBUSY; an exported pool has its labels."""
    tree.disk("sda", "8:0")
    image = tmp_path / "vdev"
    images.zfs(image)
    with image.open("rb") as file:
        medium = medium_of(file.fileno(), images.SIZE_BYTES)
        claimed = {check.name: check for check in check_device(tree.look("sda", BUSY, medium))}
        exported = {check.name: check for check in check_device(tree.look("sda", None, medium))}
    assert claimed["exclusive"].outcome is Outcome.REFUSED
    assert not claimed["exclusive"].overridable
    assert exported["exclusive"].outcome is Outcome.PASSED
    assert "part of a ZFS pool" in exported["signatures"].says


def test_mounts_are_compared_by_number_not_by_name(tree: KernelTree) -> None:
    tree.disk("sdb", "8:16")
    tree.disk("sdc", "8:32")
    tree.mount("8:32", "/data", source="/dev/sdb")  # the name it had when it was mounted
    assert final(tree, "sdb") == set()
    assert refusals(tree, "sdc")["mounted"] == "sdc is mounted at /data"


def test_every_member_of_a_mounted_btrfs_is_refused(tree: KernelTree) -> None:
    """mountinfo shows number 0:45 and one member; sysfs lists them all."""
    for name, number in (("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32")):
        tree.disk(name, number)
    tree.mount("0:45", "/pool", fs_type="btrfs", source="/dev/sda")
    members = tree.kernel.sysfs / "fs/btrfs/0f1e2d3c/devices"
    for name in ("sda", "sdb"):
        (members / name).mkdir(parents=True)
    assert "mounted" in final(tree, "sda")
    assert "mounted" in final(tree, "sdb")
    assert final(tree, "sdc") == set()


def test_both_members_of_a_mounted_bcachefs_are_refused(tree: KernelTree) -> None:
    for name, number in (("sda", "8:0"), ("sdb", "8:16")):
        tree.disk(name, number)
    tree.mount("0:46", "/pool", fs_type="bcachefs", source="/dev/sda:/dev/sdb")
    assert "mounted" in final(tree, "sda")
    assert "mounted" in final(tree, "sdb")


def test_swap_on_lvm_makes_the_volume_and_its_disk_in_use(tree: KernelTree) -> None:
    tree.disk("sda", "8:0")
    tree.stacked("dm-1", "253:1", "sda", dm_name="vg-swap", dm_uuid="LVM-Ef")
    tree.swap("/dev/dm-1")
    assert "swap" in final(tree, "dm-1")
    assert "held" in final(tree, "sda")


def test_swap_that_cannot_be_identified_is_said(tree: KernelTree) -> None:
    tree.disk("sda", "8:0")
    tree.swap("/gone/swapfile\\040(deleted)", "file")
    outcome = {check.name: check for check in check_device(tree.look("sda"))}["swap"]
    assert outcome.outcome is Outcome.UNKNOWN
    assert "/gone/swapfile" in outcome.says


def test_another_path_to_a_mounted_disk_is_refused(tree: KernelTree) -> None:
    """Two paths to one LUN without multipath above: an exclusive open of the second one succeeds."""
    tree.disk("sda", "8:0", wwid="naa.600508b4000971ca")
    tree.disk("sdb", "8:16", wwid="naa.600508b4000971ca")
    tree.disk("sdc", "8:32", wwid="naa.600508b4000971cb")
    tree.partition("sda", 1, "8:1", start_bytes=MIB)
    tree.mount("8:1", "/data")
    assert "sda1 is mounted at /data" in refusals(tree, "sdb")["mounted"]
    assert final(tree, "sdc") == set()


def test_the_family_of_a_partition_leaves_out_its_neighbours(tree: KernelTree) -> None:
    tree.disk("nvme0n1", "259:0")
    tree.partition("nvme0n1", 1, "259:1", start_bytes=MIB)
    tree.partition("nvme0n1", 2, "259:2", start_bytes=2 * GIB)
    tree.partition("nvme0n1", 3, "259:3", start_bytes=2 * GIB + 512 * MIB)  # overlaps the second
    names = [member.name for member in family(tree.kernel, tree.device("nvme0n1p2"))]
    assert names == ["nvme0n1p2", "nvme0n1", "nvme0n1p3"]


def test_an_overlapping_partition_in_use_is_refused(tree: KernelTree) -> None:
    tree.disk("sda", "8:0")
    tree.partition("sda", 1, "8:1", start_bytes=MIB)
    tree.partition("sda", 2, "8:2", start_bytes=512 * MIB)
    tree.mount("8:2", "/data")
    assert "mounted" in final(tree, "sda1")


def test_an_extended_partition_is_in_use_with_the_logical_ones_that_it_leads_to(tree: KernelTree) -> None:
    """Of it Linux shows a kilobyte, the table by which they are found: it could be overwritten beneath them."""
    tree.disk("sda", "8:0")
    tree.partition("sda", 1, "8:1", start_bytes=MIB)
    tree.partition("sda", 2, "8:2", start_bytes=2 * GIB, size_bytes=1024)
    tree.partition("sda", 5, "8:5", start_bytes=2 * GIB + MIB)
    assert final(tree, "sda2") == set()
    tree.mount("8:5", "/data")
    assert "sda5 is mounted at /data" in refusals(tree, "sda2")["mounted"]
    assert final(tree, "sda1") == set()


@pytest.mark.parametrize("point", ["/", "/boot", "/boot/efi", "/usr", "/var"])
def test_a_spare_partition_of_a_system_disk_needs_permission(tree: KernelTree, point: str) -> None:
    tree.disk("sda", "8:0")
    tree.partition("sda", 1, "8:1", start_bytes=MIB)
    tree.partition("sda", 2, "8:2", start_bytes=2 * GIB)
    tree.mount("8:1", point)
    assert set(refusals(tree, "sda2")) == {"system disk"}
    assert final(tree, "sda2") == set()


def test_a_system_disk_is_found_through_lvm_on_raid(tree: KernelTree) -> None:
    for name, number in (("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32")):
        tree.disk(name, number)
    tree.partition("sda", 1, "8:1", start_bytes=MIB)
    tree.partition("sdb", 1, "8:17", start_bytes=MIB)
    tree.stacked("md0", "9:0", "sda1", "sdb1")
    tree.stacked("dm-0", "253:0", "md0", dm_name="vg-root", dm_uuid="LVM-root")
    tree.stacked("dm-1", "253:1", "md0", dm_name="vg-spare", dm_uuid="LVM-spare")
    tree.mount("253:0", "/")
    assert below(tree.kernel, tree.device("dm-1")) == {"sda", "sdb"}
    assert refusals(tree, "dm-1")["system disk"] == "sda, sdb is a system disk: it carries /"
    assert refusals(tree, "sdc") == {}


def test_a_read_only_disk_makes_its_partitions_read_only(tree: KernelTree) -> None:
    tree.disk("sda", "8:0", read_only=True)
    tree.partition("sda", 1, "8:1", start_bytes=MIB)
    assert "read-only" in final(tree, "sda1")


def test_a_drive_without_a_medium_is_refused(tree: KernelTree) -> None:
    tree.disk("sr0", "11:0", size_bytes=0)
    assert "medium" in final(tree, "sr0")


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOMEDIUM, errno.EIO])
def test_an_open_that_fails_is_never_worked_around(tree: KernelTree, number: int) -> None:
    tree.disk("sda", "8:0")
    checks = {check.name: check for check in check_device(tree.look("sda", OSError(number, os.strerror(number))))}
    assert checks["exclusive"].outcome is Outcome.REFUSED
    assert not checks["exclusive"].overridable
    assert checks["exclusive"].remedy


def test_a_kernel_that_does_not_tell_what_is_mounted_is_not_trusted(tree: KernelTree) -> None:
    tree.disk("sda", "8:0")
    (tree.kernel.proc / "self" / "mountinfo").unlink()
    with pytest.raises(TargetRefused, match="a list of what is mounted"):
        tree.look("sda")


def test_a_loop_device_with_an_unknown_file_below_is_said(tree: KernelTree) -> None:
    tree.disk("sda", "8:0")
    tree.stacked("loop0", "7:0")
    (tree.device("loop0").folder / "loop").mkdir()
    (tree.device("loop0").folder / "loop" / "backing_file").write_text("/gone/image (deleted)\n")
    checks = {check.name: check for check in check_device(tree.look("sda"))}
    assert checks["loop"].outcome is Outcome.UNKNOWN
