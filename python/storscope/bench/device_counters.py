"""Reads the kernel's counters of what lies under a target, before and after, for the check of a run against its device.

From /proc/diskstats for the devices, and from /proc/self/io for what this process caused to be read and written.

Beware: the counters are of whole devices. What others moved meanwhile can hide what a cache kept from the device: where
both are possible the doubt is of the excess. Other I/O of this process, and of children it waited for, counts as its
own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from storscope.bench.device_check import Asked, DeviceCheck
from storscope.bench.device_judging import Evidence
from storscope.bench.figures import DIRECTIONS, Interval
from storscope.bench.io_limits import io_limits
from storscope.bench.safety import ExtentMap, Kernel
from storscope.bench.safety.kernel import read_text
from storscope.bench.underneath import Underneath
from storscope.domain import diskstats, process_io
from storscope.domain.diskstats import Counters

_DIRECTIONS: Final = ("read", "write")


@dataclass(frozen=True)
class Snapshot:
    """The counters at an instant."""

    time_ns: int
    devices: Mapping[str, Counters]
    process: Mapping[str, int]
    initialising: bool


class DeviceWatch:
    """Reads the counters of what lies under a target when it is made, and compares when asked."""

    def __init__(
        self, under: Underneath, *, direct: bool, extents: ExtentMap | None, kernel: Kernel | None = None,
        shared: bool = False,
    ) -> None:  # fmt: skip
        """`shared`: others are meant to use the devices meanwhile."""
        self._under, self._direct, self._extents, self._shared = under, direct, extents, shared
        self._kernel = kernel or Kernel()
        self._before = self._snapshot()

    def look_again(self) -> None:
        """Counts from now on instead: what was done before to prepare the run is not the run's."""
        self._before = self._snapshot()

    def compare(self, asked: Mapping[str, Asked], flushes: int = 0) -> DeviceCheck:
        """What happened since it was made, against what was `asked` in each direction, beside so many flushes."""
        before, after = self._before, self._snapshot()
        initialising = before.initialising or after.initialising
        deltas = _deltas(before, after)
        evidence = Evidence(
            self._under, self._direct, self._extents, asked, *deltas, flushes, initialising, self._shared,
            io_limits(self._under.names, self._kernel), after.time_ns - before.time_ns,
        )  # fmt: skip
        return evidence.check(self._silent())

    def _snapshot(self) -> Snapshot:
        proc = self._kernel.proc
        every = diskstats.parse(read_text(proc / "diskstats") or "")
        known = {name: every[name] for name in self._under.names if name in every}
        caused = process_io.parse(read_text(proc / "self" / "io") or "")
        return Snapshot(time.monotonic_ns(), known, caused, self._initialising())

    def _initialising(self) -> bool:
        """Whether the thread lives that writes the inode tables of new ext4 file systems (fs/ext4/super.c)."""
        if self._under.fs_type != "ext4":
            return False
        return any(read_text(comm) == "ext4lazyinit" for comm in self._kernel.proc.glob("[0-9]*/comm"))

    def _silent(self) -> list[str]:
        """Devices whose counting is switched off (queue/iostats, Documentation/ABI/stable/sysfs-block)."""
        block = self._kernel.sysfs / "class" / "block"
        return [name for name in self._under.nearest if read_text(block / name / "queue" / "iostats") == "0"]


def _deltas(before: Snapshot, after: Snapshot) -> tuple[dict[str, Counters], dict[str, int | None]]:
    devices: dict[str, Counters] = {}
    for name, now in after.devices.items():
        change = diskstats.change(before.devices[name], now) if name in before.devices else None
        if change is not None and any(now.values()):
            devices[name] = change.deltas
    process = {
        direction: after.process[f"{direction}_bytes"] - before.process[f"{direction}_bytes"]
        if f"{direction}_bytes" in after.process and f"{direction}_bytes" in before.process
        else None
        for direction in _DIRECTIONS
    }
    return devices, process


def asked_of(result: Mapping[str, Any]) -> dict[str, Asked]:
    """What a run completed, of its result as the engine writes it: its intervals and what was drained after the end."""
    asked = {}
    for engines_word, word in DIRECTIONS.items():
        parts = [Interval(form).direction(engines_word) for form in (result["total"], result["drain"]) if form]
        asked[word] = Asked(sum(part.ios for part in parts), sum(part.bytes for part in parts))
    return asked


def flushes_of(result: Mapping[str, Any]) -> int:
    """The flushes of a run, those that were drained after the end included."""
    return sum(Interval(form).flushes.ios for form in (result["total"], result["drain"]) if form)
