"""What is compared: a benchmark run, or an entity of a running system over a time, with its figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from storscope.compare.asked import Asked
from storscope.compare.metrics import DURATION, IN_FLIGHT, Metric
from storscope.domain.arrays import FloatArray, IntArray
from storscope.domain.comparison import Load
from storscope.domain.units import NS_PER_S
from storscope.model.compare import Known, Weighted


@dataclass(frozen=True)
class Intervals:
    """Figures over time. `columns` are canonical ones, NaN where absent; weights are seconds."""

    duration_s: FloatArray
    columns: Mapping[str, FloatArray]
    time_ns: Sequence[int | None] = ()
    """When each began, as its histograms have it; empty where parts were added up."""

    def __len__(self) -> int:
        return len(self.duration_s)

    def weighted(self, metric: Metric) -> Weighted | None:
        """The metric's series with its weights, intervals without it left out; None when none has it."""
        values = self.column(metric.column)
        weights = self._weights(metric, values)
        usable = np.isfinite(values) & np.isfinite(weights) & (weights > 0)
        if not usable.any():
            return None
        return Weighted((values * weights)[usable], weights[usable])

    def column(self, name: str) -> FloatArray:
        """A canonical column or `IN_FLIGHT`; all NaN when the source did not have it."""
        if name == IN_FLIGHT and name not in self.columns:
            return in_flight(self.column("ops_per_s"), self.column("latency_ns_mean"))
        found = self.columns.get(name)
        return np.full(len(self), np.nan) if found is None else found

    def _weights(self, metric: Metric, values: FloatArray) -> FloatArray:
        """Latencies are weighted by operations; where none of them is known, by time."""
        if metric.weight == DURATION:
            return self.duration_s
        operations = self.column(metric.weight) * self.duration_s
        return operations if np.isfinite(operations[np.isfinite(values)]).any() else self.duration_s


def in_flight(ops_per_s: FloatArray, latency_ns: FloatArray) -> FloatArray:
    """Little's law: rate x latency is the number in flight."""
    number: FloatArray = ops_per_s * latency_ns / NS_PER_S
    return number


@dataclass(frozen=True)
class HistogramPart:
    """One latency histogram of a subject, as it stands in the store."""

    time_ns: int | None
    place: int
    """Which one of its series, where all of this measure are as long; else 0. It stands for a time that is unknown."""
    operation: str
    measure: str
    low_ns: FloatArray
    high_ns: FloatArray
    counts: IntArray


@dataclass(frozen=True)
class Measured:
    """The figures of a subject: over its whole length, over its intervals where there are any, its histograms."""

    whole: Intervals | None
    intervals: Intervals | None
    histograms: Sequence[HistogramPart] = ()
    own: Mapping[str, Known] = field(default_factory=dict)
    """By the metric's name: figures of which the run itself says how sure they are."""
    told: Mapping[tuple[str, str, float], float] = field(default_factory=dict)
    """Operation, what was timed, per cent -> ns: percentiles that are told without a distribution."""

    def value(self, metric: Metric) -> float | None:
        """The figure over the whole length; None when the source does not have it."""
        for source in (self.whole, self.intervals):
            series = source.weighted(metric) if source is not None else None
            if series is not None:
                return series.mean
        return None

    def series(self, metric: Metric) -> Weighted | None:
        """The figure over time; None when there are no intervals."""
        return self.intervals.weighted(metric) if self.intervals is not None else None


@dataclass(frozen=True)
class Subject:
    """One run, or one entity of a running system."""

    capture: str
    key: str
    """What it is within its capture: the run's id, or the entity."""
    name: str
    """Of its access specification, or of the entity."""
    is_run: bool
    measured: Callable[[], Measured]
    load: Load = field(default_factory=Load)
    asked: Asked = field(default_factory=Asked)
    """What more it tells of what was to be done."""
    engine: str | None = None
    made_by: str = ""
    """How a benchmark run of our own made its I/Os, where that is known: through io_uring, by threads."""
    place: str = ""
    """What it ran on, as its user knows that: the design of a simulated run, the target of a measured one."""
    design: str = ""
    """Where the design of a simulated run was read."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """What tells it from runs of its name and load (`compare.marks`)."""
    row: Mapping[str, str] | None = None
    """The cells of a row of a table of results, by column; None of any other run."""
    is_simulated: bool = False
    time_ns: int | None = None
    duration_ns: int | None = None
    """That the figures are of, without a warm-up."""
    warm_up_ns: int = 0
    changes: tuple[str, ...] = ()
    """How the phases of a simulated run began, in words, without the first: its figures are of all of them together."""
    doubts: str = ""
    """What the run said against its own figures; sentences."""
    status: str | None = None
    latency_bound: str | None = None
    """Of an invalid run what its latencies are of the truth: its 'upper' or its 'lower' bound; 'limited' where they are
    those with as many in flight as the workload allows."""
    has_fixed_rate: bool = False
    streams: Mapping[str, str] = field(default_factory=dict)
    """Of a run that storscope made of several streams: what each was to do, as text that is equal where that is."""
    stream_ios: Mapping[str, float] = field(default_factory=dict)
    """Of such a run: how many I/Os each stream did, or as many times as much of all."""
    sweep_mode: str | None = None
    """Of a point of a sweep, which was measured at a random place of its order: the mode or the workload."""
    stands_for: int = 0
    """Of a point of a sweep: how many runs of it did not come to their end before (`compare.measured_again`)."""
    activity: float = 0.0
    """Operations, for showing the busiest first."""
