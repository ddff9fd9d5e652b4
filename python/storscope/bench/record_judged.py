"""Writes into the tables what is said of a run: the figures with their intervals, the warm-up, why it ended."""

from __future__ import annotations

from storscope.bench.judgement import Judgement
from storscope.bench.samples import Figure
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S

WARM_UP = "/warm-up"
"""Follows a run's name in the rows of its warm-up: they are kept, and whoever reads the run does not meet them."""


def judged_parameters(goal: str, judgement: Judgement | None) -> dict[str, str]:
    """For the parameters of the table `runs`."""
    asked = {"goal": goal} if goal else {}
    if judgement is None:
        return asked
    met = {} if judgement.goal_met is None else {"goal_met": str(judgement.goal_met).lower()}
    return asked | met | {
        "figure": judgement.figure,
        "warm_up_s": f"{judgement.from_ns / NS_PER_S:.12g}",
        "warm_up": judgement.start,
        "ended": judgement.ended,
    }  # fmt: skip


def record_estimates(recorder: Recorder, entity: EntityRef, judgement: Judgement) -> None:
    """Each figure as a fact of the run's job, beside the bounds of its 95 % interval."""
    recorder.fact(entity, "warm-up", judgement.from_ns, "ns")
    for name, estimate in judgement.estimates.items():
        unit = Figure.from_name(name).unit
        recorder.fact(entity, name, estimate.value, unit)
        recorder.fact(entity, f"{name} low", estimate.low, unit)
        recorder.fact(entity, f"{name} high", estimate.high, unit)
        recorder.fact(entity, f"{name} independent", estimate.independent)
