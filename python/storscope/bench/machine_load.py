"""What else this machine did meanwhile: time of its CPUs that others had, and that the hypervisor gave to other guests.

From /proc/stat (proc_stat(5)), whose counters are of all CPUs, in ticks, and the time of this process and its threads.
Kernel threads that work for the process, as those of a loop device, count as others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from storscope.domain.units import format_ratio

_PROC_STAT = Path("/proc/stat")
_STOLEN_MUCH, _OTHERS_MUCH, _OTHERS_MOST = 0.03, 0.3, 0.6
_COUNTED = 8
"""user, nice, system, idle, iowait, irq, softirq, steal; guests' time is in user time already."""
_IDLE, _IOWAIT, _STEAL = 3, 4, 7


@dataclass(frozen=True)
class MachineLoad:
    """Counters of the CPUs at one time, in s; or, as a difference, of a time."""

    total_s: float
    idle_s: float
    stolen_s: float
    own_s: float

    def since(self, before: MachineLoad) -> MachineLoad:
        """What came to pass from `before` on."""
        return MachineLoad(
            self.total_s - before.total_s, self.idle_s - before.idle_s,
            self.stolen_s - before.stolen_s, self.own_s - before.own_s,
        )  # fmt: skip

    @property
    def stolen_ratio(self) -> float:
        """Of all CPU time, what the hypervisor kept."""
        return self.stolen_s / self.total_s if self.total_s > 0 else 0.0

    @property
    def others_ratio(self) -> float:
        """Of all CPU time, what other programs and the kernel had."""
        busy_s = self.total_s - self.idle_s - self.stolen_s - self.own_s
        return max(0.0, busy_s) / self.total_s if self.total_s > 0 else 0.0

    def doubts(self) -> Iterator[str]:
        """In sentences, if it was much."""
        if self.stolen_ratio > _STOLEN_MUCH:
            yield (
                f"The hypervisor gave {format_ratio(self.stolen_ratio)} of this machine's CPU time to other guests: "
                "it paused, and pauses look like latency."
            )
        if self.others_ratio > _OTHERS_MUCH:
            yield (
                f"Other programs and the kernel had {format_ratio(self.others_ratio)} of this machine's CPU time: "
                + (
                    "what was found is of a busy machine more than of the storage."
                    if self.others_ratio > _OTHERS_MOST
                    else "latency has their noise in it."
                )
            )


def machine_load(proc_stat: Path = _PROC_STAT) -> MachineLoad | None:
    """As of now; None where the kernel does not tell."""
    try:
        fields = [int(field) for field in proc_stat.read_text().splitlines()[0].split()[1 : 1 + _COUNTED]]
    except (OSError, ValueError, IndexError):
        return None
    if len(fields) < _COUNTED:
        return None
    seconds = [field / os.sysconf("SC_CLK_TCK") for field in fields]
    own = os.times()
    return MachineLoad(sum(seconds), seconds[_IDLE] + seconds[_IOWAIT], seconds[_STEAL], own.user + own.system)
