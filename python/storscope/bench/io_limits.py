"""What control groups allow this process of a block device: io.max of version 2, blkio.throttle.* of version 1.

Such a limit (of a container, a unit, a virtual machine's thread) holds I/Os back before the device, whose counters then
agree with the generator's: only the limit itself tells that it was measured. Formats:
Documentation/admin-guide/cgroup-v2.rst (io.max) and cgroup-v1/blkio-controller.rst.

Limits of version 2 hold for all groups below; those of version 1 for the group alone, unless its mount says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    return [IoLimit(**{**limit.__dict__, "device": numbers[limit.device]}) for limit in found]


def _limits(group: str, folder: Path, version: int) -> Iterator[IoLimit]:
    """Devices by their numbers."""
    if version == ONE:
        for file, (direction, is_bytes) in _OF_ONE.items():
            for number, words in _lines(folder / file):
                yield from _limit(group, number, direction, words[-1:], file, is_bytes=is_bytes)
        return
    for number, words in _lines(folder / "io.max"):
        told = dict(word.split("=", 1) for word in words if "=" in word)
        for key, (direction, is_bytes) in _OF_TWO.items():
            yield from _limit(group, number, direction, [told.get(key, "max")], "io.max", is_bytes=is_bytes)


def _lines(path: Path) -> Iterator[tuple[str, Sequence[str]]]:
    for line in (read_text(path) or "").splitlines():
        number, *words = line.split() or [""]
        yield number, words


def _limit(
    group: str, number: str, direction: str, words: Sequence[str], file: str, *, is_bytes: bool
) -> Iterator[IoLimit]:
    for word in words:
        if word.isdecimal() and int(word):
            yield IoLimit(group, number, direction, is_bytes, int(word), file)


_REACHED: Final = 0.9
"""Of a limit: what was done is that, and not what the device would do."""


def doubts_of_limits(limits: Sequence[IoLimit], done_per_s: Mapping[tuple[str, str, bool], float]) -> list[str]:
    """A sentence for each that was reached. `done_per_s` by device, direction and whether it is of bytes."""
    said = []
    for limit in limits:
        done = done_per_s.get((limit.device, limit.direction, limit.is_bytes), 0.0)
        if done >= _REACHED * limit.per_s:
            said.append(
                f"Not the device's own limit: the control group {limit.group} allows {limit.words} ({limit.file}), and "
                f"{limit.rate_words(done)} were done. Raise the limit, or measure outside of the group, to know the "
                "device."
            )
    return said
