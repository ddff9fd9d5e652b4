"""A run in short samples: what warm-up, precision and steady state are judged by.

Samples are shorter than the recorded intervals, so that a few seconds suffice for a judgement. Memory is bounded: when
there are too many, neighbours are put together two by two, so that a sample of a long run is long. Latency is the
response, as a user sees it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from storscope.bench.buckets import Buckets
from storscope.bench.figures import DIRECTIONS, FLUSHES, Interval
from storscope.domain.arrays import FloatArray
from storscope.domain.errors import UsageError
from storscope.domain.units import NS_PER_S

_MOST = 512
_WHOLE_SHARE = 0.75
"""A sample shorter than this share of the others is not complete."""


@dataclass(frozen=True)
class Part:
    """The I/Os of one direction in a sample, or the flushes."""

    ios: int = 0
    bytes: int = 0
    response: Buckets = field(default_factory=Buckets)

    @classmethod
    def merged(cls, parts: Sequence[Part]) -> Part:
        """All of them together."""
        return cls(
            sum(part.ios for part in parts),
            sum(part.bytes for part in parts),
            Buckets.merged(part.response for part in parts),
        )


@dataclass(frozen=True)
class Sample:
    """A short time of a run; `start_ns` counts from the run's start."""

    start_ns: int
    duration_ns: int
    reads: Part
    writes: Part = Part()
    flushes: Part = Part()

    @classmethod
    def of(cls, interval: Interval, measure: str = "response") -> Sample:
        """An interval of the engine, all streams and targets together; `measure` is what stands for the latency."""
        reads, writes, flushes = (
            Part.merged(
                [
                    Part(tally["ios"], tally["bytes"], Buckets.from_form(tally[measure]))
                    for cell in interval.form["cells"]
                    if (tally := cell.get(name)) is not None
                ]
            )
            for name in (*DIRECTIONS, FLUSHES)
        )
        return cls(interval.start_ns, interval.duration_ns, reads, writes, flushes)

    @classmethod
    def merged(cls, samples: Sequence[Sample]) -> Sample:
        """Consecutive samples as one."""
        return cls(
            samples[0].start_ns,
            sum(sample.duration_ns for sample in samples),
            Part.merged([sample.reads for sample in samples]),
            Part.merged([sample.writes for sample in samples]),
            Part.merged([sample.flushes for sample in samples]),
        )

    @property
    def end_ns(self) -> int:
        """Where it ends."""
        return self.start_ns + self.duration_ns

    def parts(self, direction: str | None) -> tuple[Part, ...]:
        """Of `read`, `write`, or both (None); or of `flush`."""
        if direction is None:
            return self.reads, self.writes
        return ({"read": self.reads, "write": self.writes, FLUSH: self.flushes}[direction],)

    def part(self, direction: str | None) -> Part:
        """The same as one."""
        return Part.merged(self.parts(direction))


class Samples:
    """The samples of a run under way, in order."""

    def __init__(self, samples: Iterable[Sample] = ()) -> None:
        self._samples: list[Sample] = []
        self.length_ns = 0
        """Length of a sample, the last one perhaps excepted; 0 before the first."""
        for sample in samples:
            self.add(sample)

    def add(self, sample: Sample) -> None:
        """One more; the length of the first is that of all but the last."""
        if not self._samples:
            self.length_ns = sample.duration_ns
        last = self._samples[-1] if self._samples else None
        if last is not None and last.duration_ns + sample.duration_ns / 2 < self.length_ns:
            self._samples[-1] = Sample.merged([last, sample])
            return
        if len(self._samples) >= _MOST:
            pairs = zip(self._samples[::2], self._samples[1::2], strict=True)
            self._samples = [Sample.merged(pair) for pair in pairs]
            self.length_ns *= 2
        self._samples.append(sample)

    @property
    def end_ns(self) -> int:
        """How far the run has got."""
        return self._samples[-1].end_ns if self._samples else 0

    def __iter__(self) -> Iterator[Sample]:
        """All, in order."""
        return iter(self._samples)

    def between(self, from_ns: int, to_ns: float = math.inf) -> list[Sample]:
        """Those that lie within. A last one that is not complete is put to the one before, so that nothing is lost."""
        inside = [sample for sample in self._samples if sample.start_ns >= from_ns and sample.end_ns <= to_ns]
        if len(inside) > 1 and inside[-1].duration_ns < _WHOLE_SHARE * self.length_ns:
            inside[-2:] = [Sample.merged(inside[-2:])]
        return inside


# Figures --------------------------------------------------------------------------------------------------------------

IOPS, BANDWIDTH, MEAN = "iops", "bandwidth", "mean"
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999}
STATISTICS = (IOPS, BANDWIDTH, MEAN, *QUANTILES)
FLUSH = "flush"
_DIRECTED = {"read": "reads", "write": "writes", FLUSH: "flushes"}


@dataclass(frozen=True)
class Figure:
    """What a measurement is for: a statistic of all I/Os, of one direction ('read-p99'), or of flushes ('flush-p99').

    Flushes are none of all I/Os, and move nothing, so that they have no throughput.
    """

    statistic: str
    direction: str | None = None

    @classmethod
    def from_name(cls, name: str) -> Figure:
        """The figure of that name. UsageError lists what there is."""
        head, dash, rest = name.partition("-")
        figure = cls(rest, head) if dash and head in _DIRECTED else cls(name)
        if figure.statistic not in STATISTICS or (figure.direction == FLUSH and figure.statistic == BANDWIDTH):
            expected = f"one of {', '.join(STATISTICS)}, perhaps with read-, write- or flush- (not bandwidth) before it"
            raise UsageError(expected, repr(name), where="--figure")
        return figure

    @property
    def name(self) -> str:
        """As `from_name` reads it."""
        return self.statistic if self.direction is None else f"{self.direction}-{self.statistic}"

    @property
    def unit(self) -> str:
        """Of its values."""
        return {IOPS: "1/s", BANDWIDTH: "B/s"}.get(self.statistic, "ns")

    @property
    def words(self) -> str:
        """As a sentence names it."""
        named = {
            IOPS: "the rate" if self.direction == FLUSH else "IOPS",
            BANDWIDTH: "the throughput",
            MEAN: "the mean response",
        }
        what = named.get(self.statistic, f"the response at {self.statistic}")
        return what if self.direction is None else f"{what} of {_DIRECTED[self.direction]}"

    @property
    def is_rate(self) -> bool:
        """Whether no latency is in it."""
        return self.statistic in {IOPS, BANDWIDTH}

    @property
    def share(self) -> float | None:
        """Of a quantile; None of another statistic."""
        return QUANTILES.get(self.statistic)

    def of(self, samples: Sequence[Sample]) -> float | None:
        """Its value over all of these samples; None where there is none."""
        parts = [part for sample in samples for part in sample.parts(self.direction)]
        if self.is_rate:
            amount = sum(part.ios if self.statistic == IOPS else part.bytes for part in parts)
            duration_ns = sum(sample.duration_ns for sample in samples)
            return amount * NS_PER_S / duration_ns if duration_ns else None
        if self.share is None:
            ios = sum(part.ios for part in parts if part.response.max_ns is not None)
            return math.fsum(part.response.sum_ns for part in parts) / ios if ios else None
        return Buckets.merged(part.response for part in parts).quantile_ns(self.share)

    def series(self, samples: Sequence[Sample]) -> FloatArray:
        """Its value in each sample, NaN where there is none."""
        values = [self.of([sample]) for sample in samples]
        return np.asarray([math.nan if value is None else value for value in values], dtype=np.float64)
