"""Everything that makes a file in use or of value, and what a directory must offer before a scratch file is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from storscope.bench.safety import loops as kernel_users
from storscope.bench.safety.check import Check, Outcome, passed, refused, unknown, would_lose
from storscope.bench.safety.content_place import Content, Contents
from storscope.bench.safety.in_use import cannot_open, check_other_paths, check_signatures, check_writers
from storscope.bench.safety.kernel import Kernel
from storscope.bench.safety.signatures import Medium
from storscope.bench.safety.space import check_file_limit, check_space
from storscope.bench.safety.target import DirectoryTarget, FileTarget, Place
from storscope.domain.units import format_bytes, format_time

NO_STORAGE = frozenset({
    "autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs",
    "fusectl", "hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "ramfs", "rpc_pipefs", "securityfs", "selinuxfs",
    "sysfs", "tracefs",
})  # fmt: skip
"""File systems whose files are switches of the kernel, or memory without a limit. A mistyped /dev/sdx lands in one."""


@dataclass(frozen=True)
class FileLook:
    """What the checks of an existing file look at."""

    kernel: Kernel
    target: FileTarget
    content: Content
    """By which it is recognised under other paths."""
    contents: Contents
    is_own: bool
    """Created by storscope, kept, and not changed since."""
    locked_by_other: bool
    """Another storscope is using it."""
    open_error: OSError | None
    medium: Medium | None
    reach_bytes: int | None
    """Where the writes end; null for the end of the file."""

    @property
    def end_bytes(self) -> int:
        """Where the writes end."""
        return self.target.size_bytes if self.reach_bytes is None else self.reach_bytes


def check_file(look: FileLook) -> list[Check]:
    """All checks of an existing file."""
    return [check(look) for check in FILE_CHECKS]


def check_directory(target: DirectoryTarget, size_bytes: int | None, access: Check) -> list[Check]:
    """All checks before a scratch file is created. Where there can be none, room and rights are not asked for."""
    place = check_place(target.place, target.path, "Name another directory, or a file on it that is only read.")
    if place.outcome is Outcome.REFUSED:
        return [place]
    space = check_space(size_bytes or 0, target.place.free_bytes, target.place.total_bytes)
    return [place, access, space, check_file_limit(size_bytes or 0)]


def check_access(path: str, *, writable: bool, protected: bool) -> Check:
    """Whether files may be created in a directory and removed again: in an append-only one they stay (chattr(1))."""
    if not writable:
        return refused("access", f"no file may be created in {path}", "Choose a directory that you may write to.")
    if protected:
        says = f"no file may be removed from {path}: it is append-only (lsattr shows a)"
        return refused("access", says, "Choose another directory, from which the scratch file can be removed.")
    return passed("access", f"files may be created in {path}")


def check_place(place: Place, path: str, if_read_only: str = "Test it with reads only.") -> Check:
    """Whether it is a file system that stores anything; `if_read_only` is what to do where it stores nothing new."""
    if place.mount is None:
        return unknown("file system", "not in any visible mount table")
    if place.fs_type in NO_STORAGE:
        says = f"{path} is on {place.fs_type}, which is no storage"
        return refused("file system", says, "A mistyped device name? Check it with lsblk.")
    if place.mount.is_read_only:
        point = place.mount.point
        what = f"{point} is mounted" if "ro" in place.mount.options.split(",") else f"{place.fs_type} at {point} is"
        says = f"{what} read-only"
        return refused("file system", says, if_read_only)
    note = ": memory, not a device" if place.fs_type == "tmpfs" else ""
    return passed("file system", f"{place.fs_type} at {place.mount.point}{note}")


def _open(look: FileLook) -> Check:
    if look.open_error is not None:
        return cannot_open("open", look.target.path, look.open_error)
    return passed("open", "can be opened for writing")


def _place(look: FileLook) -> Check:
    return check_place(look.target.place, look.target.path)


def _space(look: FileLook) -> Check:
    """Filling holes allocates, and so does the first write to what is shared with another file."""
    target, end = look.target, look.end_bytes
    within = min(end, target.size_bytes)
    missing = max(0, target.size_bytes - target.allocated_bytes)
    if target.extents is not None and within < target.size_bytes:
        missing = target.extents.until(within).hole_bytes
    shared = (target.extents.until(within).shared_bytes if target.extents else None) or 0
    needed = min(missing, within) + shared + max(0, end - target.size_bytes)
    return check_space(needed, target.place.free_bytes, target.place.total_bytes)


def _limit(look: FileLook) -> Check:
    return check_file_limit(look.end_bytes)


def _content(look: FileLook) -> Check:
    target = look.target
    if target.size_bytes == 0:
        return passed("content", "the file is empty")
    if look.is_own:
        return passed("content", "created by storscope and not changed since")
    says = f"a file of {format_bytes(target.size_bytes)} that storscope did not create, or that was changed since"
    return would_lose("content", says, f"its content, last changed {format_time(target.modified_ns)}")


def _signatures(look: FileLook) -> Check:
    """What storscope filled with random data may carry a mark by chance."""
    if look.is_own or look.target.size_bytes == 0:
        return passed("signatures", "empty or created by storscope")
    return check_signatures(((look.target.path, look.medium),) if look.medium else ())


def _links(look: FileLook) -> Check:
    links = look.target.links
    if links == 0:
        return refused("links", "the file has been deleted", "Check the path.")
    if links > 1:
        return would_lose("links", f"the file has {links} names (hard links)", "the same content under its other names")
    return passed("links", "one name")


def _swap(look: FileLook) -> Check:
    areas = kernel_users.swaps(look.kernel)
    if any(look.contents.is_at(look.content, area.path, area.file) for area in areas):
        return refused("swap", "an active swap file", "Run swapoff first.")
    lost = [area.path for area in areas if not area.is_known]
    if lost:
        return unknown("swap", f"cannot be identified: {', '.join(lost)}; the kernel refuses writes to swap files")
    return passed("swap", "no active swap file")


def _loop(look: FileLook) -> Check:
    if not kernel_users.are_told(look.kernel):
        says = f"{look.kernel.sysfs} does not list block devices, so that a loop device over the file would not be seen"
        return refused("loop", says, f"Mount {look.kernel.sysfs}, or name a directory, for a scratch file.")
    bound = kernel_users.loops(look.kernel)
    found = [loop.name for loop in bound if look.contents.is_at(look.content, loop.path, loop.file)]
    if found:
        return refused("loop", f"backing file of {', '.join(found)}", "Test the loop device, or detach it first.")
    lost = [loop.name for loop in bound if not loop.is_known]
    if lost:
        return unknown("loop", f"what lies below {', '.join(lost)} cannot be identified")
    return passed("loop", "backs no loop device")


def _writers(look: FileLook) -> Check:
    if look.locked_by_other:
        return refused("writers", "another storscope is using it", "Wait for it to end.")
    return check_writers(look.kernel, [look.contents.recognises(look.content)])


def _other_paths(look: FileLook) -> Check:
    """Nobody but storscope has written to its own, and nobody has anything in an empty one."""
    return check_other_paths(look.content.is_told or look.is_own or look.target.size_bytes == 0)


FILE_CHECKS: tuple[Callable[[FileLook], Check], ...] = (
    _place, _open, _links, _swap, _loop, _writers, _other_paths, _space, _limit, _signatures, _content,
)  # fmt: skip
