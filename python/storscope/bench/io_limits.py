"""What control groups allow this process of a block device: io.max of version 2, blkio.throttle.* of version 1.

Such a limit (of a container, a unit, a virtual machine's thread) holds I/Os back before the device, whose counters then
agree with the generator's: only the limit itself tells that it was measured. Formats:
Documentation/admin-guide/cgroup-v2.rst (io.max) and cgroup-v1/blkio-controller.rst.

Limits of version 2 hold for all groups below; those of version 1 for the group alone, unless its mount says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from storscope.bench.control_groups import ONE, control_groups
from storscope.bench.safety.kernel import Kernel, read_text
from storscope.domain.units import format_bandwidth, format_count

_OF_TWO: Final = {"rbps": ("read", True), "wbps": ("write", True), "riops": ("read", False), "wiops": ("write", False)}
_OF_ONE: Final = {
    f"blkio.throttle.{direction}_{unit}_device": (direction, unit == "bps")
    for direction in ("read", "write") for unit in ("bps", "iops")
}  # fmt: skip


@dataclass(frozen=True)
class IoLimit:
    """One rate that one group may not pass on one device."""

    group: str
    device: str
    direction: str
    """'read' or 'write'."""
    is_bytes: bool
    per_s: int
    file: str
    """Where it is set."""

    @property
    def words(self) -> str:
        """'1,000 reads/s of sda'."""
        return f"{self.rate_words(self.per_s)} of {self.device}"

    def rate_words(self, per_s: float) -> str:
        """A rate in the limit's unit."""
        if self.is_bytes:
            return f"{format_bandwidth(per_s)} of {self.direction}s"
        return f"{format_count(round(per_s))} {self.direction}s/s"


def io_limits(devices: Sequence[str], kernel: Kernel) -> list[IoLimit]:
    """All limits on whole disks among these devices, by the kernel's names."""
    numbers = {read_text(kernel.sysfs / "class/block" / name / "dev"): name for name in devices}
    found = []
    for path, folder, version in control_groups("blkio", kernel.proc, kernel.sysfs):
        found += [limit for limit in _limits(path, folder, version) if limit.device in numbers]
        if version == ONE:
            break
    return [replace(limit, device=numbers[limit.device]) for limit in found]


def _limits(group: str, folder: Path, version: int) -> Iterator[IoLimit]:
    """Devices by their numbers; a limit that is 'max' or no number is none."""
    for file, number, direction, is_bytes, told in _told(folder, version):
        if told.isdecimal() and int(told):
            yield IoLimit(group, number, direction, is_bytes, int(told), file)


def _told(folder: Path, version: int) -> Iterator[tuple[str, str, str, bool, str]]:
    """File, device, direction, whether it is of bytes, and what is told."""
    if version == ONE:
        for file, of_what in _OF_ONE.items():
            for number, *words in _lines(folder / file):
                yield file, number, *of_what, "".join(words)
        return
    for number, *words in _lines(folder / "io.max"):
        for word in words:
            key, _, told = word.partition("=")
            if key in _OF_TWO:
                yield "io.max", number, *_OF_TWO[key], told


def _lines(path: Path) -> Iterator[list[str]]:
    return (line.split() for line in (read_text(path) or "").splitlines() if line.strip())


_REACHED: Final = 0.9
"""Of a limit (ours): what was done is that, and not what the device would do. The kernel's slices of 0.1 s let a short
run have a little more or less."""


def doubts_of_limits(limits: Sequence[IoLimit], done_per_s: Mapping[tuple[str, str, bool], float]) -> list[str]:
    """A sentence for each that was reached. `done_per_s` by device, direction and whether it is of bytes."""
    said = []
    for limit in limits:
        done = done_per_s.get((limit.device, limit.direction, limit.is_bytes), 0.0)
        if done >= _REACHED * limit.per_s:
            said.append(
                f"A limit that is not the device's: the control group {limit.group} allows {limit.words} "
                f"({limit.file}), and {limit.rate_words(done)} were done. Raise the limit, or measure outside of the "
                "group, to know the device."
            )
    return said
