"""What a run did at each of its rate steps: figures over all of them together mean little.

I/Os and flushes count where they complete. Steps of several streams are cut where any of them changes, and what they
ask for is added up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from storscope.bench.samples import BANDWIDTH, FLUSH, IOPS, MEAN, Figure, Sample
from storscope.domain.load import Open, Steps
from storscope.domain.workload import Stream, Workload

_FIGURES = tuple(map(Figure.from_name, (IOPS, BANDWIDTH, MEAN, "p50", "p99")))
_OF_FLUSHES = tuple(Figure(name, FLUSH) for name in (IOPS, MEAN, "p99"))


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
    flushes_per_s: float | None = None
    """None of a workload without flushes, which are no I/Os."""
    flush_mean_ns: float | None = None
    flush_p99_ns: float | None = None


def rate_step_figures(
    workload: Workload, samples: Iterable[Sample], active_ns: Mapping[str, tuple[int, float]] | None = None
) -> tuple[RateStepFigures, ...]:
    """Of each step that the run came to; nothing of a workload without steps.

    `samples` are those of the whole run, in order. `active_ns` has, by name, when streams begin and end that are not
    active all the time; steps count from there.
    """
    every, active = list(samples), active_ns or {}
    pieces = [piece for stream in workload.streams for piece in _pieces(stream, *active.get(stream.name, _ALWAYS))]
    bounds = {bound for piece in pieces for bound in (piece.start_ns, piece.end_ns) if bound < math.inf}
    ended_ns = every[-1].end_ns if every else 0
    found = []
    for start_ns, end_ns in pairwise(sorted(bounds)):
        there = [piece for piece in pieces if piece.start_ns <= start_ns and end_ns <= piece.end_ns]
        if start_ns < ended_ns and any(piece.is_step for piece in there):
            found.append(_figures(there, round(start_ns), round(end_ns), every, flushes=workload.flushes))
    return tuple(found)


_ALWAYS = (0, math.inf)


@dataclass(frozen=True)
class _Piece:
    """A time in which a stream asks for one rate; None is a closed loop."""

    start_ns: float
    end_ns: float
    rate_per_s: float | None
    is_step: bool = False


def _pieces(stream: Stream, start_ns: float, end_ns: float) -> Iterator[_Piece]:
    if not isinstance(stream.load, Steps):
        yield _Piece(start_ns, end_ns, stream.load.rate_per_s if isinstance(stream.load, Open) else None)
        return
    for step in stream.load.steps:
        upto_ns = min(start_ns + step.duration_ns, end_ns)
        if upto_ns > start_ns:
            yield _Piece(start_ns, upto_ns, step.rate_per_s, is_step=True)
        start_ns = upto_ns


def _figures(
    pieces: Sequence[_Piece], start_ns: int, end_ns: int, samples: Sequence[Sample], *, flushes: bool
) -> RateStepFigures:  # fmt: skip
    inside = [one for one in samples if one.start_ns >= start_ns and one.end_ns <= end_ns]
    rates = [piece.rate_per_s for piece in pieces]
    known = [rate for rate in rates if rate is not None]
    return RateStepFigures(
        start_ns, end_ns, sum(known) if len(known) == len(rates) else None, sum(one.duration_ns for one in inside),
        *(figure.of(inside) for figure in (*_FIGURES, *(_OF_FLUSHES if flushes else ()))),
    )  # fmt: skip
