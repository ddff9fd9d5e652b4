"""When a simulated workload will have made so many I/Os.

The load generator counts for each worker apart. Streams that are not alike would use their shares up one after the
other, and what the slowest of them does alone is not the workload. So of several streams the time is learned
beforehand, in runs of the same plan that get longer until the I/Os are made, and the run ends by it. The last of them
simulates about as much as the run itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from storscope.bench.figures import Interval
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.sim.simulation import SimulationPlan, SimulationRun

_FIRST_NS = 10 * NS_PER_MS
_LONGEST_NS = 36_500 * 86_400 * NS_PER_S
_MARGIN = 1.1
_LEAST_GROWTH, _MOST_GROWTH = 2.0, 64.0
_INTERVALS = 200


def time_of_ios(plan: SimulationPlan, ios: int, stop: Callable[[], bool]) -> int:
    """When about so many will have been made; the plan's own duration, or when its streams end, if that is sooner."""
    longest_ns = _LONGEST_NS if plan.duration_ns is None else plan.duration_ns
    length_ns = min(_FIRST_NS, longest_ns)
    while True:
        made, end_ns, is_over = _tried(plan, length_ns, ios, stop)
        if end_ns is not None:
            return end_ns
        if is_over or length_ns >= longest_ns or stop():
            return length_ns
        growth = _MARGIN * ios / made if made else _MOST_GROWTH
        length_ns = min(longest_ns, round(length_ns * min(_MOST_GROWTH, max(_LEAST_GROWTH, growth))))


def _tried(
    plan: SimulationPlan, length_ns: int, ios: int, stop: Callable[[], bool]
) -> tuple[int, int | None, bool]:  # fmt: skip
    """How many are made in a run so long; when they are as many as asked, if ever; whether all streams ended before."""
    interval_ns = max(NS_PER_MS, length_ns // _INTERVALS)
    run = SimulationRun(replace(plan, ios_end_ns=length_ns, interval_ns=interval_ns, slice_ns=interval_ns, slices=2), 0)
    made, end_ns = 0, None
    for interval in map(Interval, run.intervals(stop)):
        before, made = made, made + interval.all.ios
        if end_ns is None and made >= ios:
            end_ns = interval.start_ns + max(1, round(interval.duration_ns * (ios - before) / (made - before)))
    return made, end_ns, bool(run.finish()["array"]["duration_ns"] < length_ns)
