"""One measurement as its page shows it: figures with their intervals, their course, and how latencies are spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from storscope.domain.arrays import FloatArray


@dataclass(frozen=True)
class RunFigure:
    """A figure with its 95 % interval; an end that cannot be told is None."""

    name: str
    """As `--figure` takes it: iops, p99, flush-mean."""
    unit: str
    """1/s, B/s or ns."""
    value: float
    low: float | None
    high: float | None

    @property
    def relative(self) -> float | None:
        """The farther end's distance as a share of the value."""
        if self.low is None or self.high is None or not self.value:
            return None
        return max(self.value - self.low, self.high - self.value) / self.value


@dataclass(frozen=True)
class RunSide:
    """Reads, writes or flushes: sample by sample over the whole run, and the spread of the latencies that count."""

    name: str
    columns: Mapping[str, FloatArray]
    """By the names of the tables: ops_per_s, bytes_per_s, latency_ns_mean, latency_ns_p99; NaN where there is none."""
    spread: Mapping[str, tuple[tuple[float, float], ...]]
    """By response and service: shares, and the latency in ns that each of them does not exceed."""


@dataclass(frozen=True)
class RunPart:
    """What a stream did on a target, in one direction, or its flushes."""

    stream: str
    target: str
    direction: str
    ops_per_s: float | None
    bytes_per_s: float | None
    mean_ns: float | None
    quantiles_ns: tuple[int | None, ...]
    """p50, p99, p99.9 and the greatest."""
    is_valid: bool = True
    """Whether they mean what they say."""


@dataclass(frozen=True)
class RunResult:
    """A measurement that is in the store as `capture`."""

    id: str
    capture: str
    workload: str
    load_words: tuple[str, ...]
    """What the workload does, in sentences."""
    target: str
    """As it was named, with its whole path; several are joined."""
    target_kind: str
    direct: bool
    host: str
    started_ns: int
    duration_ns: int
    counted_from_ns: int
    """Since the start: the figures are from then on..."""
    counted_ns: int
    """...and of so much of the run."""
    seed: str
    engines: str
    version: str
    is_valid: bool
    latency: str
    """What the latencies over time are: response or service."""
    figures: Mapping[str, RunFigure]
    chosen: str
    """The figure that it was measured for."""
    start: str
    ended: str
    """Sentences on its warm-up and on why it took as long."""
    doubts: tuple[str, ...]
    facts: tuple[str, ...]
    """What else it rests on, in sentences: what the devices did, what the generator itself took."""
    times_s: FloatArray
    """When each sample begins, since the start."""
    sides: tuple[RunSide, ...]
    parts: tuple[RunPart, ...]
