"""Whether the kernel lets a process make and use an io_uring: many containers' filters and some hosts forbid it."""

from __future__ import annotations

from storscope.bench.engine import EngineRun, NoTarget, RunPlan
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed
from storscope.domain.units import KIB, MIB
from storscope.domain.workload import Stream, Workload


def ring_refused() -> str | None:
    """Why we can have no io_uring, as our own engine finds it with one that reads nothing; None if we can."""
    stream = Stream(Mix((AccessSpec(4 * KIB),)), Closed(1))
    probe = RunPlan(Workload("probe", (stream,)), (NoTarget("nop", MIB),), duration_ns=1, seed=0)
    outcome = EngineRun(probe).outcome()
    if outcome.error is not None:
        return outcome.error[1]
    used = outcome.result["engines"][0]
    return None if used["engine"] == "io_uring" else used["reason"] or "io_uring is not allowed here"
