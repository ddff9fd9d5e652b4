"""The in-use cases with real loop devices, partitions, file systems and swap.

LVM, md, device-mapper, multipath, bcache and ZFS are in `test_in_use_trees.py`: they need kernel modules. Other
processes are in `test_in_use_processes.py`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from storscope.bench.safety import create, inspect, open_for_reading, open_for_writing
from storscope.bench.safety.access import _confirm
from storscope.bench.safety.block import device_named
from storscope.bench.safety.kernel import Kernel
from storscope.bench.safety.permission import OPTION
from storscope.bench.safety.target import DeviceTarget, hold
from storscope.domain.errors import TargetRefused
from storscope.domain.units import MIB
from tests.bench.safety import images
from tests.bench.safety.conftest import Rig, run
from tests.bench.safety.in_use import alias_by_node, assert_refused_for_good, refusals

pytestmark = [pytest.mark.needs_root, pytest.mark.needs("losetup")]

FILE_SYSTEMS = [
    pytest.param(name, options, marks=pytest.mark.needs(f"mkfs.{name}"))
    for name, options in (("ext4", ("-q",)), ("xfs", ("-q",)), ("btrfs", ("-q",)))
]


def test_a_blank_device_may_be_written(rig: Rig) -> None:
    device = rig.loop()
    with open_for_writing(device) as opened:
        assert opened.writable
        assert os.pwrite(opened.descriptor, b"x" * 512, 0) == 512
        assert os.fstat(opened.descriptor).st_rdev == device.stat().st_rdev


def test_while_it_is_open_nobody_else_can_claim_it(rig: Rig) -> None:
    device = rig.loop()
    with open_for_writing(device):
        with pytest.raises(OSError, match="busy"):
            os.close(os.open(device, os.O_RDONLY | os.O_EXCL))
        with pytest.raises(TargetRefused, match="claimed inside the kernel"):
            open_for_writing(device)
    os.close(os.open(device, os.O_RDONLY | os.O_EXCL))


@pytest.mark.parametrize(("name", "options"), FILE_SYSTEMS)
def test_a_mounted_device_is_refused(rig: Rig, name: str, options: tuple[str, ...]) -> None:
    """btrfs shows a device number of its own in mountinfo; it must be found all the same."""
    device = rig.loop(rig.image(size_bytes=320 * MIB))
    run(f"mkfs.{name}", *options, device)
    rig.mount(device)
    assert_refused_for_good(device, "mounted", "exclusive")
    assert "signatures" in refusals(device)


@pytest.mark.needs("addpart")
@pytest.mark.needs("mkfs.ext4")
def test_a_disk_with_a_mounted_partition_is_refused(rig: Rig) -> None:
    disk = rig.loop()
    part = rig.partition(disk)
    run("mkfs.ext4", "-q", part)
    rig.mount(part)
    assert_refused_for_good(disk, "mounted", "exclusive")
    assert_refused_for_good(part, "mounted", "exclusive")


@pytest.mark.needs("addpart")
@pytest.mark.needs("mkfs.ext4")
def test_a_partition_beside_a_mounted_one_may_be_written(rig: Rig) -> None:
    disk = rig.loop()
    first, second = rig.partition(disk, 1, MIB, 16 * MIB), rig.partition(disk, 2, 20 * MIB, 8 * MIB)
    run("mkfs.ext4", "-q", first)
    rig.mount(first)
    with open_for_writing(second) as opened:
        assert opened.target.path == str(second)


@pytest.mark.needs("addpart")
@pytest.mark.needs("mkfs.ext4")
def test_a_partition_of_a_disk_that_is_mounted_whole_is_refused(rig: Rig) -> None:
    disk = rig.loop()
    part = rig.partition(disk)
    run("mkfs.ext4", "-q", disk)
    rig.mount(disk)
    assert_refused_for_good(part, "mounted", "exclusive")


@pytest.mark.needs("addpart")
@pytest.mark.needs("mkfs.ext4")
def test_a_disk_whose_partition_carries_a_file_system_needs_permission(rig: Rig) -> None:
    disk = rig.loop()
    part = rig.partition(disk)
    run("mkfs.ext4", "-q", part)
    assert refusals(disk) == {"partitions": True, "signatures": True, "content": True}
    with pytest.raises(TargetRefused, match=f"ext2/3/4 file system .* on {part.name}"):
        open_for_writing(disk)


@pytest.mark.needs("mkswap")
def test_active_swap_is_refused(rig: Rig) -> None:
    device = rig.loop()
    rig.swap_on(device)
    assert_refused_for_good(device, "swap", "exclusive")


@pytest.mark.needs("mkswap")
@pytest.mark.needs("addpart")
def test_a_disk_with_a_partition_that_is_swap_is_refused(rig: Rig) -> None:
    disk = rig.loop()
    part = rig.partition(disk)
    rig.swap_on(part)
    assert_refused_for_good(disk, "swap", "exclusive")


@pytest.mark.needs("mkswap")
def test_an_active_swap_file_is_refused(rig: Rig) -> None:
    area = rig.folder / "swap file"  # with a blank, which /proc/swaps escapes
    area.write_bytes(bytes(4 * MIB))
    area.chmod(0o600)
    rig.swap_on(area)
    assert_refused_for_good(area, "swap")


@pytest.mark.parametrize("name", sorted(images.HANDMADE))
def test_any_signature_needs_permission(rig: Rig, name: str) -> None:
    """LVM members, md members, ZFS vdevs and so on that are not assembled at the moment."""
    image = rig.folder / "signed"
    images.HANDMADE[name](image)
    device = rig.loop(image)
    assert refusals(device) == {"signatures": True, "content": True}
    before = image.read_bytes()
    with pytest.raises(TargetRefused, match="This would be lost"):
        open_for_writing(device)
    assert image.read_bytes() == before


def test_data_that_no_signature_explains_needs_permission(rig: Rig) -> None:
    image = rig.image()
    with image.open("r+b") as file:
        file.seek(100_000)
        file.write(b"a database on a raw device")
    device = rig.loop(image)
    assert refusals(device) == {"content": True}


def alias_by_symlink(rig: Rig, device: Path) -> Path:
    (rig.folder / "by-id").symlink_to(device)
    return rig.folder / "by-id"


def alias_by_chain(rig: Rig, device: Path) -> Path:
    (rig.folder / "inner").symlink_to(device)
    (rig.folder / "outer").symlink_to("inner")
    return rig.folder / "outer"


def alias_by_bind_mount(rig: Rig, device: Path) -> Path:
    target = rig.folder / "bound"
    target.touch()
    rig.bind(device, target)
    return target


def alias_by_relative_path(rig: Rig, device: Path) -> Path:
    return Path(os.path.relpath(device))


ALIASES = [alias_by_symlink, alias_by_chain, alias_by_node, alias_by_bind_mount, alias_by_relative_path]


@pytest.mark.needs("mkfs.ext4")
@pytest.mark.parametrize("alias", ALIASES)
def test_no_alias_hides_that_a_device_is_in_use(rig: Rig, alias: Callable[[Rig, Path], Path]) -> None:
    device = rig.loop()
    run("mkfs.ext4", "-q", device)
    rig.mount(device)
    assert_refused_for_good(alias(rig, device), "mounted", "exclusive")


@pytest.mark.needs("mkfs.ext4")
def test_the_backing_file_of_a_loop_device_is_refused(rig: Rig) -> None:
    image = rig.image()
    device = rig.loop(image)
    run("mkfs.ext4", "-q", device)
    assert_refused_for_good(image, "loop")
    (rig.folder / "alias").symlink_to(image)
    assert_refused_for_good(rig.folder / "alias", "loop")


@pytest.mark.needs("mkfs.ext4")
def test_a_second_loop_device_on_the_same_file_is_refused(rig: Rig) -> None:
    image = rig.image()
    first, second = rig.loop(image), rig.loop(image)
    run("mkfs.ext4", "-q", first)
    rig.mount(first)
    assert_refused_for_good(second, "loop")


@pytest.mark.needs("mkfs.ext4")
def test_a_device_below_a_loop_device_is_refused_and_the_one_above_if_the_lower_is_in_use(rig: Rig) -> None:
    lower = rig.loop()
    upper = rig.loop(lower)
    assert_refused_for_good(lower, "loop")
    run("mkfs.ext4", "-q", lower)
    rig.mount(lower)
    assert "mounted" in refusals(upper)


@pytest.mark.needs("mkfs.ext4")
def test_a_loop_device_two_levels_above_a_mounted_one_is_refused(rig: Rig) -> None:
    """The loop driver claims nothing of what lies below, so that the exclusive open says nothing either."""
    bottom = rig.loop()
    middle = rig.loop(bottom)
    top = rig.loop(middle)
    assert refusals(top) == {}
    run("mkfs.ext4", "-q", bottom)
    rig.mount(bottom)
    assert_refused_for_good(top, "mounted")
    assert f"{bottom.name} is mounted at" in str(refusal_of(top))


def refusal_of(path: Path) -> TargetRefused:
    with pytest.raises(TargetRefused) as refusal:
        open_for_writing(path)
    return refusal.value


@pytest.mark.needs("mkfs.ext4")
@pytest.mark.needs("addpart")
def test_a_mounted_partition_below_two_loop_devices_is_seen(rig: Rig) -> None:
    bottom = rig.loop()
    part = rig.partition(bottom)
    top = rig.loop(rig.loop(bottom))
    run("mkfs.ext4", "-q", part)
    rig.mount(part)
    assert_refused_for_good(top, "mounted")


def test_a_second_loop_device_on_what_lies_at_the_bottom_is_refused(rig: Rig) -> None:
    image = rig.image()
    bottom = rig.loop(image)
    top = rig.loop(rig.loop(bottom))
    assert refusals(top) == {}
    beside = rig.loop(bottom)
    assert_refused_for_good(top, "loop")
    assert f"{beside.name} is set up over {bottom.name}" in str(refusal_of(top))


def test_a_second_loop_device_on_the_file_at_the_bottom_is_refused(rig: Rig) -> None:
    image = rig.image()
    top = rig.loop(rig.loop(image))
    beside = rig.loop(image)
    assert_refused_for_good(top, "loop")
    assert f"{beside.name} has the same backing file" in str(refusal_of(top))


@pytest.mark.needs("mkswap")
@pytest.mark.parametrize("levels", [1, 2])
def test_a_loop_device_over_an_active_swap_file_is_refused(rig: Rig, levels: int) -> None:
    """The kernel lets nobody write to a swap file, a loop device of before can."""
    area = rig.folder / "swap file"
    area.write_bytes(bytes(4 * MIB))
    area.chmod(0o600)
    top = area
    for _ in range(levels):
        top = rig.loop(top)
    rig.swap_on(area)
    assert_refused_for_good(top, "swap")


def test_two_loop_devices_on_a_sparse_file_need_room_below(rig: Rig) -> None:
    free = os.statvfs(rig.folder)
    image = rig.image(size_bytes=free.f_bavail * free.f_frsize + 64 * MIB)
    assert refusals(rig.loop(rig.loop(image))) == {"space": False}


def test_a_read_only_device_is_refused(rig: Rig) -> None:
    device = rig.loop(None, "--read-only")
    assert "read-only" in refusals(device)
    with pytest.raises(TargetRefused, match="is read-only"):
        open_for_writing(device)


def test_reading_needs_no_permission_even_of_a_mounted_device(rig: Rig) -> None:
    device = rig.loop()
    run("mkfs.ext4", "-q", device)
    rig.mount(device)
    with open_for_reading(device) as opened:
        assert len(os.pread(opened.descriptor, 512, 0)) == 512
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.pwrite(opened.descriptor, bytes(512), 0)


@pytest.mark.needs("mkfs.ext4")
def test_permission_lifts_content_and_names_the_loop_devices_file(rig: Rig) -> None:
    image = rig.image()
    device = rig.loop(image)
    run("mkfs.ext4", "-q", device)
    with pytest.raises(TargetRefused) as refusal:
        open_for_writing(device)
    text = f"{image}:{image.stat().st_size}"
    assert f"{OPTION} '{text}'" in str(refusal.value)
    for wrong in ("", text.upper(), f" {text}", text[:-1], str(device), "yes"):
        with pytest.raises(TargetRefused):
            open_for_writing(device, permission=wrong)
    with open_for_writing(device, permission=text) as opened:
        os.pwrite(opened.descriptor, bytes(4096), 0)


def test_a_device_that_was_replaced_under_the_same_name_is_caught(rig: Rig) -> None:
    """The number is the same; the kernel's sequence number of devices is not."""
    first, second = rig.image("first"), rig.image("second")
    device = Path(run("losetup", "--find", "--show", first))
    try:
        planned = inspect(device).target
        run("losetup", "--detach", device)
        run("losetup", device, second)
        with pytest.raises(TargetRefused, match="something else when it was looked at"):
            open_for_writing(device, expected=planned)
    finally:
        run("losetup", "--detach", device)


def test_a_device_that_was_replaced_between_looking_and_opening_is_caught(rig: Rig) -> None:
    device = rig.loop()
    seen = inspect(device).target
    assert isinstance(seen, DeviceTarget)
    assert seen.device.sequence is not None
    later = replace(seen, device=replace(seen.device, sequence=seen.device.sequence + 1))
    with hold(device) as held:
        descriptor = held.reopen(os.O_RDONLY)
        try:
            _confirm(held, seen, descriptor)
            with pytest.raises(TargetRefused, match="replaced by another one"):
                _confirm(held, later, descriptor)
        finally:
            os.close(descriptor)


def test_a_loop_device_on_a_sparse_file_needs_room_below(rig: Rig) -> None:
    free = os.statvfs(rig.folder)
    device = rig.loop(rig.image(size_bytes=free.f_bavail * free.f_frsize + 64 * MIB))
    assert refusals(device) == {"space": False}


def test_only_the_part_of_a_loop_device_that_is_written_needs_room(rig: Rig) -> None:
    free = os.statvfs(rig.folder)
    device = rig.loop(rig.image(size_bytes=free.f_bavail * free.f_frsize + 64 * MIB))
    open_for_writing(device, reach_bytes=16 * MIB).close()


@pytest.mark.needs("mkfs.ext4")
def test_a_full_file_system_is_not_filled(rig: Rig) -> None:
    point = rig.ext4(rig.loop(rig.image(size_bytes=128 * MIB)))
    with pytest.raises(TargetRefused, match="must stay free"):
        create(point, 110 * MIB)
    assert [path.name for path in point.iterdir()] == ["lost+found"]
    with create(point, 32 * MIB) as scratch:
        assert scratch.path.stat().st_size == 32 * MIB
    assert [path.name for path in point.iterdir()] == ["lost+found"]


@pytest.mark.needs("mkfs.ext4")
def test_a_read_only_file_system_is_refused(rig: Rig) -> None:
    device = rig.loop(rig.image(size_bytes=128 * MIB))
    run("mkfs.ext4", "-q", device)
    point = rig.mount(device, "-o", "ro")
    with pytest.raises(TargetRefused, match="mounted read-only"):
        create(point, MIB)


@pytest.mark.needs("mkfs.ext4")
def test_a_file_system_that_is_read_only_under_a_mount_that_is_not_is_no_lack_of_rights(rig: Rig) -> None:
    """As squashfs is by nature, and ext4 after an error (errors=remount-ro)."""
    point, beside = rig.ext4(rig.loop(rig.image(size_bytes=128 * MIB))), rig.folder / "beside"
    (point / "data").write_bytes(bytes(MIB))
    beside.mkdir()
    rig.bind(point, beside)
    run("mount", "-o", "remount,ro", point)
    with pytest.raises(TargetRefused) as of_folder:
        create(beside, 1024 * MIB)
    assert of_folder.value.found == f"ext4 at {beside} is read-only"
    assert of_folder.value.hint == "Name another directory, or a file on it that is only read."
    with pytest.raises(TargetRefused) as of_file:
        open_for_writing(beside / "data", permission=f"{beside}/data:{MIB}")
    assert "Read-only file system" in of_file.value.found
    assert of_file.value.hint == "Test it with reads only."
    open_for_reading(beside / "data").close()


@pytest.mark.needs("unshare")
@pytest.mark.needs("mkfs.ext4")
def test_a_mount_in_another_namespace_is_seen(rig: Rig) -> None:
    device = rig.loop()
    run("mkfs.ext4", "-q", device)
    point = rig.folder / "hidden"
    point.mkdir()
    script = f"mount {device} {point} && echo open && read line; umount {point}"
    shell = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert shell.stdout is not None
        assert shell.stdout.readline() == "open\n"
        assert str(point) not in Path("/proc/self/mountinfo").read_text()
        assert_refused_for_good(device, "mounted", "exclusive")
    finally:
        shell.communicate("\n")


def test_no_descriptor_is_left_whatever_happens(rig: Rig, descriptors: Callable[[], int]) -> None:
    device = rig.loop()
    before = descriptors()
    open_for_writing(device).close()
    inspect(device)
    with pytest.raises(TargetRefused):
        open_for_writing(device, permission="wrong")
    assert descriptors() == before


def test_sysfs_is_read_as_the_kernel_writes_it(rig: Rig) -> None:
    image = rig.image()
    device = rig.loop(image)
    seen = device_named(Kernel(), device.name)
    assert seen is not None
    assert (seen.size_bytes, seen.backing_file, seen.read_only) == (image.stat().st_size, str(image), False)
    assert seen.sequence
