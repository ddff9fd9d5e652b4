"""What is mounted, by device number.

Read from mountinfo (proc_pid_mountinfo(5)) of this process and of every other mount namespace that may be read, since a
container may have mounted what the host has not. btrfs and others show a number of their own (major 0) in mountinfo;
their devices come from /sys/fs/btrfs and from the mount's source, resolved to a number, never compared as a name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from storscope.bench.safety.kernel import DeviceNumber, Kernel, names_in, read_text, unescape
from storscope.domain.errors import TargetRefused


@dataclass(frozen=True)
class Mount:
    """One line of mountinfo."""

    mount_id: int
    number: DeviceNumber
    point: str
    options: str
    fs_type: str
    source: str
    super_options: str = ""
    """Of the file system, not of this mount alone: `data=journal`, `compress=zstd` and the like."""

    @property
    def is_read_only(self) -> bool:
        """Whether this mount is, or its file system: squashfs is by nature, ext4 may be since an error."""
        return any("ro" in options.split(",") for options in (self.options, self.super_options))


def parse_mountinfo(text: str) -> list[Mount]:
    """The mounts of one namespace; a line that is not one is passed over."""
    return [mount for line in text.splitlines() if (mount := _mount(line)) is not None]


def _mount(line: str) -> Mount | None:
    left, _, right = line.partition(" - ")
    before, after = left.split(" "), right.split(" ")
    if len(before) < 6 or len(after) < 2:
        return None
    number = DeviceNumber.parse(before[2])
    if number is None or not before[0].isdecimal():
        return None
    super_options = "".join(after[2:3])
    return Mount(int(before[0]), number, unescape(before[4]), before[5], after[0], unescape(after[1]), super_options)


def own_mounts(kernel: Kernel) -> list[Mount]:
    """The mounts this process sees. Raises TargetRefused if the kernel does not tell: then nothing is safe."""
    path = kernel.proc / "self" / "mountinfo"
    try:
        return parse_mountinfo(os.fsdecode(path.read_bytes()))
    except OSError as error:
        raise TargetRefused(
            "a list of what is mounted", str(error), where=str(path),
            hint="Without it storscope cannot tell what is in use, and writes to nothing. Is /proc mounted?",
        ) from error  # fmt: skip


def all_mounts(kernel: Kernel) -> list[Mount]:
    """The mounts of every namespace that may be read, this one first."""
    mounts = own_mounts(kernel)
    seen = set(mounts)
    for path in _other_namespaces(kernel):
        try:
            found = parse_mountinfo(os.fsdecode(path.read_bytes()))
        except OSError:  # the process ended meanwhile
            continue
        mounts += [mount for mount in found if mount not in seen]
        seen.update(found)
    return mounts


def _other_namespaces(kernel: Kernel) -> Iterator[Path]:
    known = {_namespace(kernel.proc / "self")}
    for pid in names_in(kernel.proc):
        if not pid.isdecimal():
            continue
        namespace = _namespace(kernel.proc / pid)
        if namespace is not None and namespace not in known:
            known.add(namespace)
            yield kernel.proc / pid / "mountinfo"


def _namespace(process: Path) -> str | None:
    try:
        return str((process / "ns" / "mnt").readlink())
    except OSError:
        return None


def mounted_devices(kernel: Kernel, mounts: list[Mount]) -> dict[DeviceNumber, list[str]]:
    """Device number -> where it is mounted."""
    found: dict[DeviceNumber, list[str]] = {}
    for mount in mounts:
        for number in _numbers_of(kernel, mount):
            found.setdefault(number, []).append(mount.point)
    for number, file_system in _btrfs_members(kernel):
        found.setdefault(number, []).append(f"btrfs {file_system}")
    return {number: list(dict.fromkeys(points)) for number, points in found.items()}


def _numbers_of(kernel: Kernel, mount: Mount) -> set[DeviceNumber]:
    if mount.number.major != 0:
        return {mount.number}
    # bcachefs joins its members with ":"; a network source ("host:/path") names no device and falls out.
    paths = [mount.source, *mount.source.split(":")]
    numbers = {kernel.number_of_node(path) for path in paths if path.startswith("/dev/")}
    return {number for number in numbers if number is not None}


def _btrfs_members(kernel: Kernel) -> Iterator[tuple[DeviceNumber, str]]:
    """Every device of every mounted btrfs: mountinfo names only one of them (fs/btrfs/sysfs.c)."""
    root = kernel.sysfs / "fs" / "btrfs"
    for file_system in names_in(root):
        for name in names_in(root / file_system / "devices"):
            number = DeviceNumber.parse(read_text(kernel.sysfs / "class" / "block" / name / "dev") or "")
            if number is not None:
                yield number, file_system


def mount_of(kernel: Kernel, descriptor: int, mounts: Sequence[Mount]) -> Mount | None:
    """The mount through which a descriptor was reached, by its mount id; null where the kernel does not say."""
    text = read_text(kernel.proc / "self" / "fdinfo" / str(descriptor)) or ""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == "mnt_id":
            return next((mount for mount in mounts if mount.mount_id == int(value)), None)
    return None
