"""The stretches of a run in which neither the array nor what is asked changes: phases, cut at rate steps.

What bounds a run is judged stretch by stretch, since a mean over unlike loads hides the one that fills a component.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace

from storscope.bench.figures import Interval
from storscope.bench.rate_steps import RateStepFigures
from storscope.sim.phases import Phase


def stretches_of(
    phases: Sequence[Phase], steps: Sequence[RateStepFigures], intervals: Sequence[Interval]
) -> list[Phase]:  # fmt: skip
    """The phases, each cut where a rate step begins or ends within it.

    A step without a whole interval has no figures of its own: it is put to the one before it, or after it.
    """
    bounds = sorted({bound for step in steps for bound in (step.start_ns, step.end_ns)})
    starts = [one.start_ns for one in intervals]

    def has_interval(from_ns: int, to_ns: int) -> bool:
        first = bisect_left(starts, from_ns)
        return first < len(starts) and starts[first] + intervals[first].duration_ns <= to_ns

    return [part for phase in phases for part in _cut(phase, bounds, has_interval)]


def _cut(phase: Phase, bounds: Sequence[int], has_interval: Callable[[int, int], bool]) -> list[Phase]:
    starts = [phase.from_ns]
    for bound in bounds:
        if phase.from_ns < bound < phase.to_ns and has_interval(starts[-1], bound):
            starts.append(bound)
    if len(starts) > 1 and not has_interval(starts[-1], phase.to_ns):
        starts.pop()
    ends = [*starts[1:], phase.to_ns]
    return [replace(phase, from_ns=start, to_ns=end) for start, end in zip(starts, ends, strict=True)]
