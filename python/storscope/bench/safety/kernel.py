"""Where the kernel and the machine are asked: /sys, /proc, /dev, udev's database and /etc, as arguments.

Tests hand in captured or handmade trees. Nothing here opens a device.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_OCTAL = re.compile(rb"\\([0-7]{3})")


class DeviceNumber(NamedTuple):
    """What the kernel calls a block device. Names lie (links, renames, bind mounts), numbers do not."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}:{self.minor}"

    @classmethod
    def of_raw(cls, raw: int) -> DeviceNumber:
        """From `st_dev` or `st_rdev`."""
        return cls(os.major(raw), os.minor(raw))

    @classmethod
    def parse(cls, text: str) -> DeviceNumber | None:
        """From "8:1"; null for anything else."""
        major, colon, minor = text.strip().partition(":")
        if not (colon and major.isdecimal() and minor.isdecimal()):
            return None
        return cls(int(major), int(minor))


@dataclass(frozen=True)
class Kernel:
    """The roots."""

    sysfs: Path = Path("/sys")
    proc: Path = Path("/proc")
    dev: Path = Path("/dev")
    udev: Path = Path("/run/udev")
    etc: Path = Path("/etc")

    def node(self, name: str) -> Path:
        """The device node the kernel gives to a block device. sysfs writes "!" for "/" (cciss!c0d0)."""
        return self.dev / name.replace("!", "/")

    def number_of_node(self, path: str) -> DeviceNumber | None:
        """The number of the block device that a path names; null if it names something else or nothing.

        Where the node is missing (containers, chroots, captured trees) sysfs is asked for the path's last name.
        """
        inside = self.dev / path.removeprefix("/dev/") if path.startswith("/dev/") else Path(path)
        try:
            status = inside.stat()
        except OSError:
            return DeviceNumber.parse(read_text(self.sysfs / "class" / "block" / Path(path).name / "dev") or "")
        return DeviceNumber.of_raw(status.st_rdev) if stat.S_ISBLK(status.st_mode) else None


def read_text(path: Path) -> str | None:
    """A kernel file as text without blanks around it; null where there is none or it may not be read."""
    try:
        return path.read_bytes().decode("utf-8", "replace").strip(" \t\n\0")
    except OSError:
        return None


def read_number(path: Path) -> int | None:
    """A kernel file that holds one number."""
    text = read_text(path)
    return int(text) if text is not None and text.isdecimal() else None


def read_link(path: Path) -> str | None:
    """Where a link of the kernel's points; null where there is none or it may not be read."""
    try:
        return str(path.readlink())
    except OSError:
        return None


def names_in(folder: Path) -> tuple[str, ...]:
    """Sorted names in a folder; none where it is absent."""
    try:
        return tuple(sorted(path.name for path in folder.iterdir()))
    except OSError:
        return ()


def unescape(field: str) -> str:
    r"""Names in /proc/self/mountinfo and /proc/swaps write blank, tab, newline and backslash as \ooo (proc(5))."""
    raw = _OCTAL.sub(lambda match: bytes([int(match[1], 8)]), os.fsencode(field))
    return os.fsdecode(raw)
