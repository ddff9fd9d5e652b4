"""Everything that makes a block device in use, or its content of value.

Each check asks one source and stands alone; together they overlap, since each source is blind somewhere: mountinfo does
not show other containers, sysfs shows no ZFS, an exclusive open shows no raw users, signatures show no databases.
All compare device numbers, over everything whose bytes are the target's: the disk it is a part of, the partitions that
overlap it, further paths to the same disk, and all that lies below loop devices and stacked ones, down to the bottom.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from storscope.bench.safety import loops as kernel_users
from storscope.bench.safety.block import BlockDevice, below, device_named, device_of_number
from storscope.bench.safety.check import Check, Outcome, passed, refused, unknown, would_lose
from storscope.bench.safety.content import sample
from storscope.bench.safety.content_place import Content, Contents
from storscope.bench.safety.kernel import DeviceNumber, Kernel
from storscope.bench.safety.mounts import all_mounts, mounted_devices
from storscope.bench.safety.processes import Wanted, is_device, writers
from storscope.bench.safety.signatures import Medium, find
from storscope.bench.safety.space import check_space
from storscope.bench.safety.stack import Stack, stack_of
from storscope.bench.safety.target import DeviceTarget
from storscope.domain.units import SECTOR_BYTES, format_bytes

SYSTEM_POINTS = frozenset({"/", "/boot", "/boot/efi", "/efi", "/usr", "/var"})
"""Where the running system lives (FHS 3.0; UEFI system partition)."""


@dataclass(frozen=True)
class DeviceLook:
    """What the checks look at."""

    kernel: Kernel
    target: DeviceTarget
    stack: Stack
    files: tuple[Content, ...]
    """What its loop devices are set up over."""
    contents: Contents
    mounted: dict[DeviceNumber, list[str]]
    claim: OSError | None
    """How the exclusive open failed; null if it succeeded and is held."""
    media: tuple[tuple[str, Medium], ...]
    """What can be read for signatures: the device and its partitions."""
    reach_bytes: int | None = None
    """Where the writes end; null for the end of the device."""


def look_at_device(
    kernel: Kernel,
    target: DeviceTarget,
    claim: OSError | None,
    media: tuple[tuple[str, Medium], ...],
    reach_bytes: int | None = None,
) -> DeviceLook:
    """Gathers what the checks need."""
    mounts, stack = all_mounts(kernel), stack_of(kernel, target.device)
    contents = Contents(kernel, tuple(mounts))
    files = tuple(contents.at(backing.path, backing.file) for backing in stack.backings if backing.file is not None)
    return DeviceLook(
        kernel, target, stack, files, contents, mounted_devices(kernel, mounts), claim, media, reach_bytes
    )


def check_device(look: DeviceLook) -> list[Check]:
    """All checks, in the order of DEVICE_CHECKS."""
    return [check(look) for check in DEVICE_CHECKS]


def _medium(look: DeviceLook) -> Check:
    if look.target.device.size_bytes == 0:
        return refused("medium", f"{look.target.path} has no medium or no size", "Insert or set up the medium.")
    return passed("medium", f"{format_bytes(look.target.device.size_bytes)}")


def _read_only(look: DeviceLook) -> Check:
    if look.target.device.read_only:
        return refused("read-only", f"{look.target.path} is read-only", "Test it with reads only.")
    return passed("read-only", "the device accepts writes")


def _mounted(look: DeviceLook) -> Check:
    found = [
        f"{member.name} is mounted at {', '.join(look.mounted[member.number])}"
        for member in look.stack.devices
        if member.number in look.mounted
    ]
    if found:
        return refused("mounted", "; ".join(found), "Test a file on it, or unmount it if its content may go.")
    return passed("mounted", "neither it nor a part of it nor what lies below is mounted, in any visible namespace")


def _held(look: DeviceLook) -> Check:
    members = [member for member in look.stack.devices if member.number in look.stack.whole]
    found = [f"{member.name} is held by {_holder(look.kernel, name)}" for member in members for name in member.holders]
    found += [f"{member.name} is registered with bcache" for member in members if _in_bcache(member)]
    if found:
        remedy = "Test the device above it instead; on multipath always that one. Or take it out of the stack first."
        return refused("held", "; ".join(dict.fromkeys(found)), remedy)
    return passed("held", "no LVM, RAID, device-mapper, multipath or bcache device rests on it")


def _in_bcache(member: BlockDevice) -> bool:
    """A registered backing or cache device has this folder, even while no bcache device is running on it."""
    return (member.folder / "bcache").exists()


_HOLDERS_BY_UUID = {"LVM-": "the LVM volume", "mpath-": "the multipath device", "CRYPT-": "the encrypted volume"}
"""Prefixes of device-mapper UUIDs, which each subsystem sets (libdm, multipath-tools, cryptsetup)."""
_HOLDERS_BY_NAME = {"dm-": "the device-mapper device", "md": "the RAID", "bcache": "the cached device", "drbd": "DRBD"}


def _holder(kernel: Kernel, name: str) -> str:
    device = device_named(kernel, name)
    uuid = (device.dm_uuid if device else None) or ""
    label = f"{device.dm_name} ({name})" if device and device.dm_name else name
    for prefix, what in _HOLDERS_BY_UUID.items():
        if uuid.startswith(prefix):
            return f"{what} {label}"
    return next((f"{what} {label}" for prefix, what in _HOLDERS_BY_NAME.items() if name.startswith(prefix)), label)


def _swap(look: DeviceLook) -> Check:
    areas = kernel_users.swaps(look.kernel)
    found = [area.path for area in areas if area.device in look.stack.numbers or _is_below(look, area)]
    if found:
        return refused("swap", f"active swap area: {', '.join(found)}", "Run swapoff first.")
    lost = [area.path for area in areas if not area.is_known]
    if lost:
        return unknown(
            "swap", f"swap areas that cannot be identified: {', '.join(lost)}; the exclusive open covers them"
        )
    return passed("swap", "no active swap area")


def _loop(look: DeviceLook) -> Check:
    bound = kernel_users.loops(look.kernel)
    names = {member.number: member.name for member in look.stack.devices}
    others = [loop for loop in bound if loop.name not in look.stack.loops]
    over = [f"{loop.name} is set up over {names[loop.device]}" for loop in others if loop.device in names]
    shared = [loop.name for loop in others if _is_below(look, loop)]
    if over:
        return refused("loop", "; ".join(over), "Detach it with losetup -d.")
    if shared:
        return refused("loop", f"{', '.join(shared)} has the same backing file", "Detach it with losetup -d.")
    lost = [loop.name for loop in bound if not loop.is_known]
    if lost:
        return unknown("loop", f"what lies below {', '.join(lost)} cannot be identified")
    return passed("loop", "no other loop device uses the same bytes")


def _is_below(look: DeviceLook, user: kernel_users.Backing) -> bool:
    """Whether the file that something else is set up over is also below the target."""
    return any(look.contents.is_at(file, user.path, user.file) for file in look.files)


def _other_paths(look: DeviceLook) -> Check:
    return check_other_paths(all(file.is_told for file in look.files))


def check_other_paths(is_told: bool) -> Check:
    """Whether a use of the same content by another path would be seen."""
    if is_told:
        return passed("other paths", "its content would be recognised by other paths too")
    says = "cannot be told on this file system (overlay, FUSE) who uses its content by another path"
    return would_lose("other paths", says, "what is done with the same content by another path")


def _claim(look: DeviceLook) -> Check:
    if look.claim is None:
        return passed("exclusive", "opened exclusively: nothing in the kernel uses it, nor can while it is held")
    return cannot_open("exclusive", look.target.path, look.claim)


def cannot_open(name: str, path: str, error: OSError) -> Check:
    """An open that failed. It is never worked around."""
    says = f"{path} cannot be opened: {error.strerror}"
    if error.errno == errno.EBUSY:
        says = f"{path} is claimed inside the kernel: by a mount, RAID, LVM, ZFS, swap, an iSCSI target or the like"
        return refused(name, says, "Find the user (lsblk, zpool status, dmsetup ls, targetcli ls) and stop it.")
    if error.errno == errno.EACCES:
        return refused(name, says, "Run as a user who may write to it.")
    if error.errno == errno.EPERM:
        remedy = "Not its permissions forbid that, but an attribute (lsattr shows i or a), or the rules of a container."
        return refused(name, says, remedy)
    if error.errno == errno.EROFS:
        return refused(name, says, "Test it with reads only.")
    if error.errno == errno.ETXTBSY:
        return refused(name, f"{path} is a program that is running", "Choose another file.")
    return refused(name, says, "Storscope writes only to what it can open.")


def _system(look: DeviceLook) -> Check:
    target = look.stack.disks(look.kernel)
    for number, points in look.mounted.items():
        system = sorted(SYSTEM_POINTS.intersection(points))
        device = device_of_number(look.kernel, number) if system else None
        if device is not None and target & below(look.kernel, device):
            says = f"{', '.join(sorted(target))} is a system disk: it carries {', '.join(system)}"
            return would_lose("system disk", says, "whatever of the running system rests on this part of the disk")
    return passed("system disk", "the running system is on other disks")


def _writers(look: DeviceLook) -> Check:
    files = [look.contents.recognises(file) for file in look.files]
    return check_writers(look.kernel, [is_device(look.stack.numbers), *files])


def check_writers(kernel: Kernel, wanted: list[Wanted]) -> Check:
    """Whether another process may write to it at any moment."""
    seen = writers(kernel, lambda status, link: any(one(status, link) for one in wanted))
    if seen.found:
        found = "; ".join(str(writer) for writer in seen.found)
        return refused("writers", f"in use by {found}", "Stop that process first.")
    unseen = [*seen.hidden, *([f"{seen.unseen} processes of other users cannot be looked at"] if seen.unseen else [])]
    if unseen:
        return unknown("writers", f"{'; '.join(unseen)}; none of the others writes")
    return passed("writers", "no other process has it open for writing")


def _space_below(look: DeviceLook) -> Check:
    """A loop device on a sparse file takes room from the file system below as it is written."""
    size = look.target.device.size_bytes
    end = size if look.reach_bytes is None else min(size, look.reach_bytes)
    found = [_space_of(backing, end) for backing in look.stack.backings if backing.file is not None]
    if not found:
        return passed("space", "nothing is allocated below, as far as the kernel shows")
    return max(found, key=lambda check: (check.outcome is Outcome.REFUSED, check.outcome is Outcome.UNKNOWN))


def _space_of(backing: kernel_users.Backing, most_bytes: int) -> Check:
    """Room for the holes of the file, of which at most so much is written."""
    try:
        status, space = Path(backing.path).stat(), os.statvfs(backing.path)
    except OSError:
        return unknown("space", f"the room below {backing.name} cannot be seen")
    if kernel_users.identity_of(status) != backing.file:
        return unknown("space", f"the room below {backing.name} cannot be seen: {backing.path} is another file by now")
    needed = max(0, min(most_bytes, status.st_size - status.st_blocks * SECTOR_BYTES))
    return check_space(needed, space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize)


def _partitions(look: DeviceLook) -> Check:
    found = [f"{part.name} ({format_bytes(part.size_bytes)})" for part in look.target.partitions]
    if found:
        return would_lose("partitions", f"has partitions: {', '.join(found)}", *(f"partition {name}" for name in found))
    return passed("partitions", "no partitions")


def _signatures(look: DeviceLook) -> Check:
    return check_signatures(look.media)


def check_signatures(media: tuple[tuple[str, Medium], ...]) -> Check:
    """Whether any of it carries a known mark. What cannot be read is not known to be free of one."""
    found: list[str] = []
    for name, medium in media:
        try:
            found += [f"{signature} on {name}" for signature in find(medium)]
        except OSError as error:
            found.append(f"unknown content on {name}, which cannot be read ({error.strerror})")
    if not media:
        return would_lose("signatures", "it cannot be read, so its content is unknown", "unknown content")
    if found:
        return would_lose("signatures", f"carries {'; '.join(found)}", *found)
    return passed("signatures", "no file system, partition table, RAID, LVM, swap or encryption mark")


def _content(look: DeviceLook) -> Check:
    try:
        seen = [sample(medium) for _, medium in look.media[:1]]
    except OSError as error:
        return would_lose("content", f"cannot be read: {error.strerror}", "unknown content")
    if not seen:
        return would_lose("content", "cannot be read", "unknown content")
    if seen[0].first_data_at is not None:
        says = f"not blank: data in the block at byte {seen[0].first_data_at:,}"
        return would_lose(
            "content", says, "data of unknown kind (a database, an encrypted volume, an earlier test, ...)"
        )
    return passed("content", f"blank in the {format_bytes(seen[0].looked_at_bytes)} that were sampled")


DEVICE_CHECKS: tuple[Callable[[DeviceLook], Check], ...] = (
    _medium, _read_only, _mounted, _held, _swap, _loop, _other_paths, _claim, _writers, _space_below, _system,
    _partitions, _signatures, _content,
)  # fmt: skip
