"""Preconditioning before a measurement or a sweep: done once on the open session, and told."""

from __future__ import annotations

from typing import Protocol

from storscope.bench.figures import Interval
from storscope.bench.goals import Progress
from storscope.domain.errors import StorscopeError
from storscope.domain.units import format_bandwidth, format_span
from storscope.domain.workload import Workload
from storscope.workbench.benchmarking import BenchSession

WORDS = "twice the capacity that is used, in sequence, 128 KiB at a time"


class Watch(Protocol):
    """Hears what is done."""

    def say(self, sentence: str) -> None:
        """A sentence for the user."""

    def show(self, interval: Interval) -> None:
        """An interval of it."""

    def follow(self, progress: Progress) -> None:
        """How far it has got; told before each interval."""


def precondition(session: BenchSession, workload: Workload, watch: Watch) -> bool:
    """Whether it came to its end, so that measuring may begin; not if the user interrupted it.

    Raises StorscopeError if a write failed, UsageError for a target that is too small.
    """
    watch.say(f"Preconditioning: writing {WORDS}.")
    runs = session.precondition(workload, watch.show, watch.follow)
    for run in runs:
        rate = format_bandwidth(run.measured.per_s(run.measured.all.bytes))
        watch.say(f"{run.about.target}: {rate} over {format_span(run.measured.duration_ns)}.")
    last = runs[-1]
    if last.outcome.error is not None:
        raise StorscopeError("preconditioning that succeeds", last.outcome.error[1], where=last.about.target)
    if last.outcome.stopped:
        watch.say("Interrupted while preconditioning; nothing was measured.")
    return not last.outcome.stopped
