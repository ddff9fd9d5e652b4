"""A matrix of measurements: its points, and what was measured at each.

Also a series of the same measurements over time: then a cell stands for a point and a slot of the schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from storscope.domain.units import NS_PER_S, format_bytes, format_ratio, format_span

FIGURES = ("ops_per_s", "bytes_per_s", "latency_ns_mean", "latency_ns_p99")
"""What a table and a chart of a sweep show. Latency is the response: from when an I/O should have started."""

MEASURED = frozenset({"ok", "invalid"})
"""States of a run that was measured to its end; others are measured again."""

SIMULATED = "simulated"
"""The kind of target that is a design."""

_LOPSIDED = 1.5
"""Times half of an interval that its farther end may lie from the value before '±' would mislead (ours)."""
_LEAST_SHOWN = 0.0005
"""Of a value: below this half of an interval is less than the digits of the value tell."""

_AT_ONCE_NS = NS_PER_S // 2
"""What begins so soon after a series began with it: the first measurement takes a moment to be under way (ours)."""

DIRECTED = ("read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s")
"""The same load by direction, for tables that have a column for each."""

OF_FLUSHES = ("flush_ops_per_s", "flush_latency_ns_mean", "flush_latency_ns_p99")
"""Of a workload whose writes are flushed; a flush is none of the I/Os that the others are of."""


@dataclass(frozen=True)
class Point:
    """One place of the matrix. None stands for what the workload itself decides, or does not have.

    `mode` is one of fio's patterns, or the name of a workload. `jobs` are workers, each with `depth` I/Os outstanding.
    `read_share` is given for mixed modes only.
    """

    mode: str
    block_bytes: int | None = None
    jobs: int | None = None
    depth: int | None = None
    read_share: float | None = None

    @property
    def key(self) -> str:
        """A text that no other point of the matrix has; the same in every process."""
        named = {"size": self.block_bytes, "jobs": self.jobs, "depth": self.depth, "read": self.read_share}
        return " ".join([self.mode, *(f"{name}={value:g}" for name, value in named.items() if value is not None)])

    @property
    def load_words(self) -> str:
        """'4 jobs, depth 8': how much is asked at a time."""
        jobs = [] if self.jobs is None else [f"{self.jobs} job{'' if self.jobs == 1 else 's'}"]
        depth = [] if self.depth is None else [f"depth {self.depth}"]
        return ", ".join(jobs + depth)

    @property
    def title(self) -> str:
        """'randrw, 70 % reads': the mode with its mix."""
        return self.mode if self.read_share is None else f"{self.mode}, {format_ratio(self.read_share)} reads"

    @property
    def words(self) -> str:
        """The point in words."""
        size = "" if self.block_bytes is None else format_bytes(self.block_bytes)
        return ", ".join(part for part in (self.title, size, self.load_words) if part)


@dataclass(frozen=True)
class Estimate:
    """A figure, and the interval that holds the true one with 95 % confidence where repetitions give one."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def half_width(self) -> float | None:
        """Half of the interval; None where there is none."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def shown(self) -> Estimate:
        """As people are told it: without an interval from 0 to more than twice the value, which tells nothing of it."""
        vague = self.half_width is not None and self.low is not None and self.low <= 0 < self.value < self.half_width
        return Estimate(self.value) if vague else self

    def words(self, value_words: Callable[[float], str]) -> str:
        """'3,193 ± 40'; '120 µs (98 µs to 2.1 ms)' where the interval is lopsided, or wider than the value itself.

        '37.1 µs ± < 0.1 %' where it is narrower than what is shown of the value.
        """
        shown = value_words(self.value)
        if self.low is None or self.high is None or self.half_width is None:
            return shown
        if self.half_width < _LEAST_SHOWN * abs(self.value):
            return f"{shown} ± < 0.1 %"
        if max(self.value - self.low, self.high - self.value) > _LOPSIDED * self.half_width:
            return f"{shown} ({value_words(self.low)} to {value_words(self.high)})"
        if self.half_width > self.value:
            return f"{shown} ({value_words(self.low)} to {value_words(self.high)})"
        return f"{shown} ± {value_words(self.half_width)}"


@dataclass(frozen=True)
class Cell:
    """What was measured at a point, over `runs` repetitions. Figures that are absent were not measured."""

    point: Point
    runs: int
    figures: Mapping[str, Estimate]
    doubts: tuple[str, ...] = ()
    slot: int | None = None
    """Of a series over time: which one."""
    elapsed_ns: int | None = None
    """Of a series over time: since its start."""
    invalid_runs: int = 0
    """Runs whose latencies do not mean what they say."""
    bounds: str = ""
    """Of a simulation: what bounds it, in a few words."""

    @property
    def words(self) -> str:
        """Which measurement it is: the point, and in a series when."""
        return self.point.words + (f", after {self.after}" if self.elapsed_ns is not None else "")

    @property
    def after(self) -> str:
        """When it began since its series did: '0 s' of the first one, '30 s'."""
        return "0 s" if self.elapsed_ns is not None and self.elapsed_ns < _AT_ONCE_NS else format_span(self.elapsed_ns)

    def get(self, name: str) -> Estimate | None:
        """A figure; None where it is absent."""
        return self.figures.get(name)


@dataclass(frozen=True)
class SweepResult:
    """What a sweep, or a series, has measured so far."""

    id: str
    target: str
    """Several are joined; whole paths, since who reads it is elsewhere."""
    target_kind: str
    cells: tuple[Cell, ...]
    planned: int
    """Measurements that were asked for."""
    done: int
    """Measurements that ended well."""
    repeats: int
    duration_ns: int
    """Asked for, of each; the longest where `ends` says something else."""
    seed: str
    started_ns: int | None
    ended_ns: int | None
    size_bytes: int | None = None
    """Of the target, where it is known and was the same in all measurements."""
    direct: bool = True
    ends: str | None = None
    """When each measurement ended, in words; None when each took `duration_ns`."""
    doubts: tuple[str, ...] = ()
    interval_ns: int | None = None
    """Of a series over time: from one slot's start to the next."""
    notes: tuple[str, ...] = ()
    """What a reader should know: pauses, slots that were missed."""
    failures: tuple[str, ...] = ()
    """Points that could not be measured just now, and why."""
    host: str | None = None
    """That measured it."""

    @property
    def is_simulated(self) -> bool:
        """Whether an array was simulated, and nothing measured."""
        return self.target_kind == SIMULATED

    def counted(self, runs: int) -> str:
        """'1 measurement', '36 measurements'; of a simulated sweep '36 simulations'."""
        return f"{runs} {'simulation' if self.is_simulated else 'measurement'}{'' if runs == 1 else 's'}"

    @property
    def each_takes(self) -> str:
        """After 'measurements': ' of 10.0 s', or ', each until IOPS within ±2 %, at most 60.0 s'."""
        return f" of {format_span(self.duration_ns)}" if self.ends is None else f", each until {self.ends}"

    @property
    def is_complete(self) -> bool:
        """Whether everything was measured that was asked for."""
        return self.done >= self.planned

    @property
    def is_series(self) -> bool:
        """Whether the same was measured again and again on a schedule."""
        return self.interval_ns is not None

    @property
    def modes(self) -> list[str]:
        """The modes with their mixes, in the order of the matrix."""
        return list(dict.fromkeys(cell.point.title for cell in self.cells))
