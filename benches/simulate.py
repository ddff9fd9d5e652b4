"""Simulated drive I/Os per second on one core, beside plain Python (heapq) and SimPy models of the same array.

Ours does more than its peers: the load generator's draws and three histograms for each I/O, drives with seek curve,
rotation and zones, controllers and a cache where the design has them, where the time goes, the queue of every drive
over time. The peers draw three uniform numbers and sum up nothing. CPU time of the process, interleaved, medians. The
drives are 10k SAS with their own write cache off, as behind an array's cache.

    uv run python -m benches.simulate
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from benches._python_arrays import with_heapq, with_simpy
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
segment = "512 KiB"

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
        text = _HEAD.format(layout=self.layout, count=self.count, size=f"{self.count * 60} GiB", **parts)
        stream = Stream(Mix((AccessSpec(4 * KIB, read_share=0.67),)), Closed(self.outstanding))
        design = read_design(text, self.name)
        return SimulationPlan(design, Workload("random", (stream,)), 1, ios=ios, interval_ns=60 * NS_PER_S)


CASES = (
    Case("RAID 10, 46 drives, bare", "raid10", 46, 128, 10e6, is_full=False),
    Case("RAID 10, 46 drives, cache and controller", "raid10", 46, 128, 10e6),
    Case("RAID 5, 46 drives, cache and controller", "raid5", 46, 128, 6e6),
    Case("RAID 10, 240 drives, cache and controller", "raid10", 240, 1024, 5e6),
)
_DAY_S = 86_400
_DAY_IOPS = 5_000.0


def main(ios: int = 10_000_000, rounds: int = 5, day_share: float = 0.02) -> float:
    """Prints rates and ratios; returns how many times faster than heapq the bare array is."""
    rates: dict[str, list[float]] = {case.name: [] for case in CASES} | {"heapq": [], "SimPy": []}
    for _ in range(rounds):
        for case in CASES:
            drive_ios, cpu_s = _cpu_s(case.plan(ios))
            rates[case.name].append(drive_ios / cpu_s)
        for name, model, share in (("heapq", with_heapq, 0.05), ("SimPy", with_simpy, 0.01)):
            rates[name].append(_rate_of_peer(model, max(1_000, round(ios * share))))
    medians = {name: statistics.median(found) for name, found in rates.items()}
    for case in CASES:
        print(
            f"{case.name:<44} {medians[case.name] / 1e6:6.2f} M drive I/Os/s (asked: {case.asked_per_s / 1e6:g} M; "
            f"min {min(rates[case.name]) / 1e6:.2f}, max {max(rates[case.name]) / 1e6:.2f})"
        )
    bare = medians[CASES[0].name]
    for name in ("heapq", "SimPy"):
        print(f"{'RAID 10, 46 drives, ' + name:<44} {medians[name] / 1e6:6.2f} M drive I/Os/s")
        with_cache = medians[CASES[1].name] / medians[name]
        print(f"  storscope / {name} = {bare / medians[name]:.0f} (with cache and controller {with_cache:.0f})")
    _day(day_share)
    return bare / medians["heapq"]


def _day(share: float) -> None:
    """A part of a day at 5,000 IOPS, and what all of it would take: time is linear in I/Os."""
    plan = CASES[3].plan(1)
    stream = replace(plan.workload.streams[0], load=Open(_DAY_IOPS))
    day = replace(plan, workload=Workload("day", (stream,)), ios=None, duration_ns=round(_DAY_S * share * NS_PER_S))
    _, cpu_s = _cpu_s(day)
    print(f"a day at {_DAY_IOPS:,.0f} IOPS: {cpu_s / share:.0f} s (asked: 60 s; {share:.0%} of it was run)")


def _cpu_s(plan: SimulationPlan) -> tuple[int, float]:
    """Drive I/Os and CPU seconds, the reading of intervals included."""
    arguments = [json.dumps(plan.design.form), json.dumps(plan.plan_json()), json.dumps(plan.options_json(0))]
    started = time.process_time()
    run = _core.SimulationRun(*arguments)
    while run.next(10.0) is not None:
        pass
    found = json.loads(run.finish())
    return int(found["array"]["drive_ios"]), time.process_time() - started


def _rate_of_peer(model: Callable[[int], object], ios: int) -> float:
    started = time.process_time()
    done = model(ios)
    return float(done.drive_ios) / (time.process_time() - started)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
