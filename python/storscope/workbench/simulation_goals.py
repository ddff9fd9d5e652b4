"""When a simulation ends and what counts of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from storscope.bench.goals import FixedTime, fixed_time
from storscope.bench.judgement import Judgement, estimates_of
from storscope.bench.samples import Samples
from storscope.domain.units import format_count
from storscope.sim.replay import TracePlan
from storscope.sim.simulation import SimulationPlan


@dataclass(frozen=True)
class ToTheEnd(FixedTime):
    """As long as the plan's I/Os take; `what` are they, in words."""

    what: str = ""

    def explain(self) -> str:
        """In words, for the record."""
        return self.what

    def judge(self, samples: Samples, grid_ns: int, *, is_whole: bool) -> Judgement:
        """Of all after the warm-up; of a trace, of all: leaving out how it begins would be another trace."""
        found = super().judge(samples, grid_ns, is_whole=is_whole)
        ended = f"It ran for {self.what}." if is_whole else found.ended
        if self.settles:
            return replace(found, ended=ended)
        estimates = estimates_of(tuple(samples.between(0)), self.figure)
        return replace(
            found, ended=ended, start="All of it counts: no warm-up was looked for.", estimates=estimates
        )  # fmt: skip


def goal_of(plan: SimulationPlan) -> FixedTime:
    """What is measured of a plan, and until when."""
    timed = fixed_time(plan.workload, plan.duration_ns or 1)
    if isinstance(plan, TracePlan):
        requests = format_count(sum(len(trace) for trace in plan.traces))
        due = "" if plan.duration_ns is None else " that were due in the time asked for"
        return ToTheEnd(
            timed.duration_ns, timed.figure, settles=False, what=f"the {requests} requests of the trace{due}"
        )
    if plan.duration_ns is None and plan.ios is not None:
        return ToTheEnd(1, timed.figure, settles=timed.settles, what=f"about {format_count(plan.ios)} I/Os")
    return timed
