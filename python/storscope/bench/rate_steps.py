"""What a run did at each of its rate steps: figures over all of them together mean little.

I/Os count where they complete. Steps of several streams are cut where any of them changes, and what they ask for is
added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from storscope.bench.samples import Figure, Sample
from storscope.domain.load import Load, Open, Steps
from storscope.domain.workload import Workload

_IOPS, _BANDWIDTH, _MEAN, _P50, _P99 = map(Figure, ("iops", "bandwidth", "mean", "p50", "p99"))


@dataclass(frozen=True)
class RateStepFigures:
    """A time in which the rate that was asked for stayed the same; times count from the run's start."""

    start_ns: int
    end_ns: int
    asked_per_s: float | None
    """By all streams together; None if some are closed loops, which ask for no rate."""
    counted_ns: int
    """How much of it was measured: samples that lie within. All else is of these, and None where there are none."""
    ops_per_s: float | None
    bytes_per_s: float | None
    mean_ns: float | None
    p50_ns: float | None
    p99_ns: float | None


def rate_step_figures(workload: Workload, samples: Iterable[Sample]) -> tuple[RateStepFigures, ...]:
    """Of each step; nothing of a workload without steps. `samples` are those of the whole run, in order."""
    times_ns = _times_ns(workload)
    every = list(samples)
    return tuple(_figures(workload, start_ns, end_ns, every) for start_ns, end_ns in pairwise(times_ns))


def _times_ns(workload: Workload) -> list[int]:
    """Where the rate of any stream changes, from 0 on; nothing without steps."""
    found = set()
    for stream in workload.streams:
        if isinstance(stream.load, Steps):
            at_ns = 0
            for step in stream.load.steps:
                at_ns += step.duration_ns
                found.add(at_ns)
    return [0, *sorted(found)] if found else []


def _figures(workload: Workload, start_ns: int, end_ns: int, samples: Sequence[Sample]) -> RateStepFigures:
    inside = [one for one in samples if one.start_ns >= start_ns and one.end_ns <= end_ns]
    rates = [_rate_per_s(stream.load, start_ns) for stream in workload.streams]
    known = [rate for rate in rates if rate is not None]
    return RateStepFigures(
        start_ns, end_ns, sum(known) if len(known) == len(rates) else None, sum(one.duration_ns for one in inside),
        *(figure.of(inside) for figure in (_IOPS, _BANDWIDTH, _MEAN, _P50, _P99)),
    )  # fmt: skip


def _rate_per_s(load: Load, at_ns: int) -> float | None:
    """What it asks for from then on; None of a closed loop."""
    if isinstance(load, Open):
        return load.rate_per_s
    if not isinstance(load, Steps):
        return None
    end_ns = 0
    for step in load.steps:
        end_ns += step.duration_ns
        if at_ns < end_ns:
            return step.rate_per_s
    return 0.0
