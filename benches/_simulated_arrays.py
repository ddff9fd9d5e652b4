"""The arrays that the simulator is timed on, and the timing."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import Final

from storscope import _core
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed, Open
from storscope.domain.units import KIB, NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from storscope.sim.simulation import SimulationPlan

_HEAD = """\
name = "bench"
{controllers}
{cache}
[[group]]
name = "g"
drive = "10k-sas"
count = {count}
layout = "{layout}"
{copies}segment = "512 KiB"

[[volume]]
name = "v"
group = "g"
size = "{size}"

[[host]]
name = "h"
volumes = [{{ volume = "v" }}]
"""
_CONTROLLERS = """
[[controller]]
name = "A"
servers = 8
cost_per_op = "5 us"
"""
_CACHE = """
[cache]
page = "4 KiB"
write = { size = "512 MiB" }
read = { size = "512 MiB" }
"""


@dataclass(frozen=True)
class Case:
    """A design under random 4 KiB with two thirds reads."""

    name: str
    layout: str
    count: int
    outstanding: int
    asked_per_s: float
    """Drive I/Os per second of CPU that the project asks of it."""
    is_full: bool = True
    """With controllers and cache."""

    def plan(self, ios: int) -> SimulationPlan:
        """Of so many I/Os of the host."""
        parts = {"controllers": _CONTROLLERS, "cache": _CACHE} if self.is_full else {"controllers": "", "cache": ""}
        copies = 'read_choice = "round_robin"\n' if self.layout == "raid10" else ""
        text = _HEAD.format(layout=self.layout, copies=copies, count=self.count, size=f"{self.count * 60} GiB", **parts)
        stream = Stream(Mix((AccessSpec(4 * KIB, read_share=0.67),)), Closed(self.outstanding))
        design = read_design(text, self.name)
        return SimulationPlan(design, Workload("random", (stream,)), 1, ios=ios, interval_ns=60 * NS_PER_S)


CASES: Final = (
    Case("RAID 10, 46 drives, bare", "raid10", 46, 128, 10e6, is_full=False),
    Case("RAID 10, 46 drives, cache and controller", "raid10", 46, 128, 10e6),
    Case("RAID 5, 46 drives, cache and controller", "raid5", 46, 128, 6e6),
    Case("RAID 10, 240 drives, cache and controller", "raid10", 240, 1024, 5e6),
)

DAY_IOPS: Final = 5_000.0
_DAY_S: Final = 86_400


def day(share: float) -> SimulationPlan:
    """A part of a day at `DAY_IOPS` on the last of the arrays."""
    plan = CASES[-1].plan(1)
    stream = replace(plan.workload.streams[0], load=Open(DAY_IOPS))
    return replace(plan, workload=Workload("day", (stream,)), ios=None, duration_ns=round(_DAY_S * share * NS_PER_S))


def cpu_s(plan: SimulationPlan) -> tuple[int, float]:
    """Drive I/Os and CPU seconds, the reading of intervals included."""
    arguments = [json.dumps(plan.design.form), json.dumps(plan.plan_json()), json.dumps(plan.options_json(0))]
    started = time.process_time()
    run = _core.SimulationRun(*arguments)
    while run.next(10.0) is not None:
        pass
    found = json.loads(run.finish())
    return int(found["array"]["drive_ios"]), time.process_time() - started
