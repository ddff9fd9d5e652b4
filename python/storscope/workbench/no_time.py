"""Runs whose I/Os take no time: what stands on their way has no cost in the design, so that figures mean nothing.

A design without costs is sound as long as drives answer; a cache without costs in front of them answers at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from storscope.bench.samples import Part, Sample
from storscope.domain.errors import ConfigError
from storscope.domain.units import format_count, format_ratio
from storscope.sim.simulation import SimulationPlan

_TIME_STANDS = "time_stands"
"""The core's word for a closed loop whose I/Os take no time (crates/storscope-load/src/error.rs)."""
_LEAST_SHARE = 0.05
"""Of the I/Os of a direction: fewer that take no time hardly move a figure."""
_REMEDY = "give controllers a cost (cost_per_op), or links"


def check_time_passed(plan: SimulationPlan, found: Mapping[str, Any], end_ns: int, *, is_stopped: bool) -> None:
    """Raises ConfigError for a run of which all I/Os were done at one instant: it has neither rates nor latencies.

    `found` is what the core gave. Not for a run that ended before its first interval because data was lost, or because
    it was stopped.
    """
    error, done = found["error"], found["result"]["ending"]["completed"]
    if end_ns:
        return
    if error is not None and error["kind"] == _TIME_STANDS:
        raise ConfigError(error["message"], where=plan.design.where)
    if error is None and done and not is_stopped:
        done = min(done, plan.ios or done)
        counted = "1 I/O was" if done == 1 else f"{done:,} I/Os were"
        said = (
            f"{counted} done at one instant, since nothing on their way takes time: {_REMEDY}, or the load a think time"
        )
        raise ConfigError(said, where=plan.design.where)


def doubts_of_no_time(samples: Sequence[Sample]) -> tuple[str, ...]:
    """A sentence if many reads, or many writes, took 0 ns: nothing real does."""
    told = []
    for direction, name in (("read", "reads"), ("write", "writes")):
        part = Part.merged([sample.part(direction) for sample in samples])
        at_once = part.response.at_most(0)
        if at_once and at_once >= _LEAST_SHARE * part.ios:
            which = f"all {format_count(at_once)}" if at_once == part.ios else f"{format_ratio(at_once / part.ios)} of"
            told.append(f"{which} {name}")
    if not told:
        return ()
    what = " and ".join(told)
    said = (
        f"{what[:1].upper()}{what[1:]} took no time, since nothing on their way has a cost: {_REMEDY}. Until then "
        "latencies, and rates of a closed loop, are not those of an array."
    )
    return (said,)
