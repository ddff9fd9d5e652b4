"""A measurement under way: the engine's short samples become recorded intervals, and a goal ends the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from storscope.bench.figures import Interval, Outcome
from storscope.bench.goals import Goal, Progress
from storscope.bench.joining import joined
from storscope.bench.judgement import Judgement
from storscope.bench.samples import Sample, Samples
from storscope.domain.units import NS_PER_MS

SAMPLES_PER_INTERVAL = 8
"""A power of two: samples that were put together still end where intervals end."""
_SHORTEST_NS = 10 * NS_PER_MS


class Runs(Protocol):
    """What `engine.EngineRun` offers."""

    def hold(self) -> bool:
        """Waits until every I/O from `begin` on counts; whether there may have been others before."""

    def begin(self) -> None:
        """Lets it start."""

    def intervals(self, stop: Callable[[], bool] = ...) -> Iterator[Interval]:
        """Each interval as soon as it is complete."""

    def end(self) -> None:
        """Ends the run, as it has what it was for. Only goals that do not take a fixed time ask for it."""

    def outcome(self) -> Outcome:
        """How it ended."""


def parts_of(interval_ns: int) -> int:
    """Into how many samples a recorded interval of that length is cut."""
    is_even = interval_ns % SAMPLES_PER_INTERVAL == 0
    return SAMPLES_PER_INTERVAL if is_even and interval_ns >= SAMPLES_PER_INTERVAL * _SHORTEST_NS else 1


class Measuring:
    """Drives a run whose own intervals are `parts` times shorter than those that are recorded, of `interval_ns`."""

    def __init__(
        self, run: Runs, goal: Goal, interval_ns: int, *, parts: int = SAMPLES_PER_INTERVAL, measure: str = "response"
    ) -> None:
        self._run, self._goal, self._interval_ns = run, goal, interval_ns
        self._parts, self._measure = parts, measure
        self._samples = Samples()
        self._has_ended = False
        self.progress = Progress(0, goal.longest_ns)
        """As of the last recorded interval."""

    def intervals(self, stop: Callable[[], bool]) -> Iterator[Interval]:
        """The intervals to record, each as soon as it is complete.

        What completes after the goal was reached belongs to none of them.
        """
        pending: list[Interval] = []
        for short in self._run.intervals(stop):
            if self._has_ended:
                continue
            pending.append(short)
            self._samples.add(Sample.of(short, self._measure))
            if len(pending) == self._parts:
                yield self._next(pending)
                pending = []
        if pending:
            yield self._next(pending)

    def _next(self, parts: list[Interval]) -> Interval:
        first = parts[0]
        whole = joined(parts, first.index // self._parts)
        assert whole is not None  # there is at least one part
        self.progress = self._goal.progress(self._samples, self._interval_ns)
        if self.progress.is_enough:
            self._has_ended = True
            self._run.end()
        return whole

    @property
    def samples(self) -> Samples:
        """All there are so far."""
        return self._samples

    def judgement(self, outcome: Outcome) -> Judgement:
        """Once all intervals were taken."""
        is_whole = not outcome.stopped and outcome.error is None
        return self._goal.judge(self._samples, self._interval_ns, is_whole=is_whole)
