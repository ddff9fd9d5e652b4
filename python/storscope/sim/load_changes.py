"""When what is asked of a simulated array changes: streams that begin or end by a schedule, and rate steps.

The array itself knows nothing of them. It notes its counters there (marks.rs), and intervals end there where they can,
so that what comes between two changes has figures of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

from storscope.domain.load import Steps
from storscope.domain.workload import Stream, Workload
from storscope.sim.schedule import Lifetime

MOST = 64
"""As many as the array notes, and more than there are phases that are told apart."""
_WHOLE = Lifetime()


def load_changes_ns(workload: Workload, lifetimes: Mapping[str, Lifetime], end_ns: int) -> tuple[int, ...]:
    """The instants at which the load changes before the end of a run, in order; none if they are too many to mark."""
    found: set[int] = set()
    for stream in workload.streams:
        life = lifetimes.get(stream.name, _WHOLE)
        steps = stream.load.steps if isinstance(stream.load, Steps) else ()
        ends = accumulate((step.duration_ns for step in steps), initial=life.start_ns)
        found |= {at_ns for at_ns in ends if life.end_ns is None or at_ns < life.end_ns}
        found |= set() if life.end_ns is None else {life.end_ns}
    inside = sorted(at_ns for at_ns in found if 0 < at_ns < end_ns)
    return tuple(inside) if len(inside) <= MOST else ()


def load_end_ns(workload: Workload, lifetimes: Mapping[str, Lifetime]) -> int | None:
    """When the last stream ends by itself or by the schedule; None if any has no end."""
    ends = [_end_ns(stream, lifetimes.get(stream.name, _WHOLE)) for stream in workload.streams]
    known = [end_ns for end_ns in ends if end_ns is not None]
    return max(known) if len(known) == len(ends) else None


def steps_end_ns(workload: Workload, lifetimes: Mapping[str, Lifetime]) -> int | None:
    """When the last rate step ends; None of a workload without steps."""
    every = [stream for stream in workload.streams if isinstance(stream.load, Steps)]
    ends = [_end_ns(stream, lifetimes.get(stream.name, _WHOLE)) for stream in every]
    return max((end_ns for end_ns in ends if end_ns is not None), default=None)


def _end_ns(stream: Stream, life: Lifetime) -> int | None:
    if not isinstance(stream.load, Steps):
        return life.end_ns
    end_ns = life.start_ns + sum(step.duration_ns for step in stream.load.steps)
    return end_ns if life.end_ns is None else min(end_ns, life.end_ns)
