"""A measurement as its page shows it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from storscope.bench.figures import DIRECTIONS, FLUSHES, Direction, Interval
from storscope.bench.record import cell_words, is_valid_cell, latency_of
from storscope.bench.samples import BANDWIDTH, IOPS, MEAN, Figure, Part, Sample
from storscope.bench.workloads.describe import describe
from storscope.domain.arrays import FloatArray
from storscope.domain.run_result import RunFigure, RunPart, RunResult, RunSide
from storscope.domain.units import NS_PER_S, format_bytes, format_duration, format_ratio
from storscope.workbench.benchmarking import Benched

_MOST_POINTS: Final = 240
_COLUMNS: Final = {"ops_per_s": IOPS, "bytes_per_s": BANDWIDTH, "latency_ns_mean": MEAN, "latency_ns_p99": "p99"}
_SHARES: Final = (0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999, 0.99995, 0.99999)
_BEYOND: Final = 3
"""A share is shown where so many are slower than what it does not exceed: of fewer it is one of the slowest."""
_MEASURES: Final = ("response", "service")
_DID: Final = {"read": "read", "write": "wrote"}


def run_result(benched: Benched, paths: Sequence[str]) -> RunResult:
    """`paths` are the targets as they were named.

    Raises ValueError for one without a judgement, which no measurement of a command is.
    """
    about, judgement, counted = benched.about, benched.judgement, benched.measured
    if judgement is None:
        raise ValueError("a measurement that was judged")
    samples = _thinned(benched.samples)
    return RunResult(
        id=about.run, capture=benched.capture, workload=about.workload.name,
        load_words=tuple(words.strip() for words in describe(about.workload)),
        target=", ".join(map(os.path.abspath, paths)),
        target_kind=about.target_kind, direct=about.direct, host=about.system, started_ns=about.started_ns,
        duration_ns=benched.outcome.total.duration_ns, counted_from_ns=judgement.from_ns,
        counted_ns=counted.duration_ns, seed=str(about.seed), engines=", ".join(benched.outcome.engines),
        version=about.version, is_valid=benched.outcome.is_valid, latency=latency_of(about),
        figures={name: RunFigure(name, Figure.from_name(name).unit, one.value, one.low, one.high)
                 for name, one in judgement.estimates.items()},
        chosen=judgement.figure, start=judgement.start, ended=judgement.ended, doubts=benched.doubts,
        facts=tuple(_facts(benched)), times_s=np.array([one.start_ns / NS_PER_S for one in samples]),
        sides=tuple(_sides(samples, counted)), parts=tuple(_parts(benched)),
    )  # fmt: skip


def _thinned(samples: Sequence[Sample]) -> list[Sample]:
    """Neighbours put together until a chart has room for all."""
    size = -(-len(samples) // _MOST_POINTS)
    return [Sample.merged(samples[at : at + size]) for at in range(0, len(samples), size)] if samples else []


def _sides(samples: Sequence[Sample], counted: Interval) -> Iterator[RunSide]:
    parts = {"reads": [one.reads for one in samples], "writes": [one.writes for one in samples],
             FLUSHES: [one.flushes for one in samples]}  # fmt: skip
    for name, own in parts.items():
        direction = counted.direction(name)
        if direction.ios or any(part.ios for part in own):
            yield RunSide(name, _columns(samples, own), {measure: _spread(direction, measure) for measure in _MEASURES})


def _columns(samples: Sequence[Sample], own: Sequence[Part]) -> dict[str, FloatArray]:
    alone = [Sample(one.start_ns, one.duration_ns, part) for one, part in zip(samples, own, strict=True)]
    found = {name: Figure(statistic, "read").series(alone) for name, statistic in _COLUMNS.items()}
    return found if any(part.bytes for part in own) else {**found, "bytes_per_s": np.full(len(alone), math.nan)}


def _spread(direction: Direction, measure: str) -> tuple[tuple[float, float], ...]:
    latencies = direction.of(measure)
    told = (share for share in _SHARES if latencies.count * (1.0 - share) >= _BEYOND)
    return tuple((share, float(latencies.quantile_ns(share) or 0)) for share in told)


def _parts(benched: Benched) -> Iterator[RunPart]:
    for cell in benched.measured.cells:
        stream, target = cell_words(benched.about, cell)
        for direction in (*DIRECTIONS, FLUSHES):
            own = cell.direction(direction)
            if own.ios:
                quantiles = tuple(own.shown.quantile_ns(share) for share in (0.5, 0.99, 0.999))
                moved = cell.per_s(own.bytes) if direction != FLUSHES else None
                yield RunPart(
                    stream, target, direction, cell.per_s(own.ios), moved, own.shown.mean_ns,
                    (*quantiles, own.shown.max_ns), is_valid_cell(benched.outcome, cell),
                )  # fmt: skip


def _facts(benched: Benched) -> Iterator[str]:
    total, check = benched.measured, benched.outcome.device
    ios = total.all.ios
    if ios:
        late = format_duration(total.all.lateness.quantile_ns(0.99))
        sent = "" if total.outstanding_mean is None else f", and sent I/Os late by {late} at p99"
        yield f"The generator took {format_duration(total.cpu_ns / ios)} of CPU for each I/O{sent}."
    if check is not None and check.moved is not None:
        did = [
            f"{_DID[word]} {format_bytes(check.moved[word].bytes)} ({format_ratio(ratio)} of what was asked for)"
            for word in check.moved
            if (ratio := check.ratio(word)) is not None
        ]
        if did:
            yield f"In the whole run {', '.join(check.devices)} {' and '.join(did)}: {check.answer.value}."
