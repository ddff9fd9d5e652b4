"""Whether the figures of a simulated run last: what comes after its end is simulated as well, and only looked at.

A level that falls over many minutes, in bursts that are longer than what it falls by, no test of the run itself tells
from one that stays; so it is with a full write cache whose streams still change places in it. The simulator needs no
test: it can go on. What it sees gives a doubt and no figures, since the run was to end where it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from storscope.bench.figures import Interval
from storscope.bench.goals import has_steps
from storscope.bench.judgement import Judgement, shown_value
from storscope.bench.samples import IOPS, MEAN, Figure, Sample, Samples
from storscope.bench.settling import LEAST_SAMPLES, Estimate, estimate
from storscope.domain.units import NS_PER_S, format_instant
from storscope.sim.replay import TracePlan
from storscope.sim.simulation import SimulationPlan, SimulationRun

_TIMES: Final = 3
"""So many times as long as the run, with the run: what comes after is twice what there was."""
_MOST_IOS: Final = 500_000
"""Of a run of more I/Os nothing is looked at: that would take more than a second or two."""
_LEAST_DIFFERENCE: Final = 0.05
"""Less is not worth a doubt."""
_WATCHED: Final = (Figure(IOPS), Figure(MEAN))


def doubts_of_what_follows(
    plan: SimulationPlan, array: Mapping[str, Any], judgement: Judgement, ios: int, stop: Callable[[], bool]
) -> tuple[str, ...]:
    """A sentence if IOPS or mean response of the next two runs' lengths lie outside of what the figures say.

    Only of a run to which nothing happens on purpose, on an array that remembers (`ios` is how many I/Os it made): what
    has neither cache nor flash forgets within seconds.
    """
    if ios > _MOST_IOS or not _may_go_on(plan, array) or not _remembers(array):
        return ()
    later = _later(plan, judgement.to_ns, stop)
    if len(later) < LEAST_SAMPLES:
        return ()
    end_ns = later[-1].end_ns
    for figure in _WATCHED:
        now, then = judgement.estimates.get(figure.name), estimate(figure, later)
        if now is not None and then is not None and _differs(now, then):
            values = shown_value(figure, now.value), shown_value(figure, then.value)
            said = (
                f"The array had not settled, though nothing in the run itself tells: it was simulated on to "
                f"{format_instant(end_ns)}, to see what follows, and {figure.words} went from {values[0]} to "
                f"{values[1]}. Simulate longer, with --duration."
            )
            return (said,)
    return ()


def _may_go_on(plan: SimulationPlan, array: Mapping[str, Any]) -> bool:
    """Whether what follows is as what was: no trace, rate steps, schedule, or work in the background that ends."""
    if isinstance(plan, TracePlan) or has_steps(plan.workload):
        return False
    return not (plan.design.lifetimes or plan.design.form["changes"] or array["background"])


def _remembers(array: Mapping[str, Any]) -> bool:
    return array["cache"] is not None or any(target["flash"] for target in array["targets"])


def _later(plan: SimulationPlan, from_ns: int, stop: Callable[[], bool]) -> list[Sample]:
    """What the same run does after an instant."""
    interval_ns = _TIMES * (plan.interval_ns or NS_PER_S)  # as many samples as the run had
    run = SimulationRun(replace(plan, duration_ns=_TIMES * from_ns, ios=None, interval_ns=interval_ns, slices=2), 0)
    samples = Samples(Sample.of(Interval(form)) for form in run.intervals(stop))
    return [] if stop() else samples.between(from_ns)


def _differs(now: Estimate, then: Estimate) -> bool:
    """Beyond both intervals, and enough to be worth a word; without an interval nothing is sure."""
    if now.half_width is None or then.half_width is None:
        return False
    apart = abs(then.value - now.value)
    return apart > now.half_width + then.half_width and apart > _LEAST_DIFFERENCE * abs(now.value)
