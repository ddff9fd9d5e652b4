"""What is said of a measurement: which part of it counts, why it ended, its figures and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storscope.bench.samples import BANDWIDTH, FLUSH, IOPS, MEAN, Figure, Sample, Samples
from storscope.bench.settling import LEAST_SAMPLES, Estimate, LevelChange, WarmUp, estimate, level_change, warm_up
from storscope.domain.interval_words import half_width_words
from storscope.domain.units import format_bandwidth, format_duration, format_rate, format_span

_STATISTICS = (IOPS, BANDWIDTH, MEAN, "p50", "p99", "p99.9")


@dataclass(frozen=True)
class Judgement:
    """The figures are of `from_ns` to `to_ns` of the run, without whole intervals before and a cut-off one after."""

    figure: str
    """The one that the measurement was for."""
    from_ns: int
    to_ns: int
    start: str
    """A sentence on the warm-up."""
    ended: str
    """A sentence on why the run took as long as it did."""
    estimates: Mapping[str, Estimate]
    """By the figures' names: `iops` (1/s), `bandwidth` (B/s), and of the response (ns) `mean`, `p50`, `p99`, `p99.9`.

    These are of all I/Os; where there were both reads and writes, `read-iops`, `write-p99` and so on are of one kind.
    Flushes are apart: `flush-iops`, `flush-p99` and so on.
    A figure that nothing tells is absent: there is none of a run without I/Os.
    """
    doubts: tuple[str, ...] = ()
    goal_met: bool | None = None
    """Whether it got what it ran for; None when it ran for a fixed time."""

    def counts(self, start_ns: int) -> bool:
        """Whether an interval that starts then is in the figures."""
        return self.from_ns <= start_ns < self.to_ns

    @property
    def chosen(self) -> Estimate | None:
        """The figure that the measurement was for; None without any I/O."""
        return self.estimates.get(self.figure)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` reads them again."""
        estimates = {name: one.to_json() for name, one in self.estimates.items()}
        return {**self.__dict__, "doubts": list(self.doubts), "estimates": estimates}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Judgement:
        """What `to_json` wrote."""
        estimates = {name: Estimate.from_json(one) for name, one in form["estimates"].items()}
        return cls(**{**form, "doubts": tuple(form["doubts"]), "estimates": estimates})


def estimates_of(samples: Sequence[Sample], figure: Figure) -> dict[str, Estimate]:
    """The usual figures and the chosen one, of all I/Os; where there are both, of reads and of writes; of flushes."""
    both = all(any(part.ios for part in side) for side in zip(*(sample.parts(None) for sample in samples), strict=True))
    figures = [Figure(name) for name in _STATISTICS]
    if samples and both:
        figures += [Figure(name, direction) for direction in ("read", "write") for name in _STATISTICS]
    if any(sample.flushes.ios for sample in samples):
        figures += [Figure(name, FLUSH) for name in _STATISTICS if name != BANDWIDTH]
    if figure not in figures:
        figures.append(figure)
    found = ((one.name, estimate(one, samples)) for one in figures)
    return {name: one for name, one in found if one is not None}


# Warm-up --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settled:
    """The part of a run that counts."""

    from_ns: int
    samples: tuple[Sample, ...]
    start: WarmUp
    ramp_ns: int

    @property
    def is_settled(self) -> bool:
        """Whether the rest can be judged: neither drifting nor too short to tell."""
        return self.start.samples is not None

    @property
    def duration_ns(self) -> int:
        """How much of the run that is."""
        return sum(sample.duration_ns for sample in self.samples)

    @property
    def sentence(self) -> str:
        """How long the warm-up was and why."""
        first = f"The first {format_span(self.from_ns)} are left out"
        if self.start.is_too_short:
            asked = f" {first}: the workload's own ramp-up." if self.ramp_ns else ""
            return f"No warm-up was looked for: the run has fewer than {LEAST_SAMPLES} samples.{asked}"
        if self.start.samples is None:
            return "No end of a warm-up was found: nothing is left out."
        if self.start.figure is None or self.start.before is None or self.start.after is None:
            return f"{first}: the workload's own ramp-up." if self.ramp_ns else "No warm-up was found."
        shown = [shown_value(self.start.figure, value) for value in (self.start.before, self.start.after)]
        return f"{first} as warm-up: {self.start.figure.words} went from {shown[0]} to {shown[1]}."

    @property
    def doubts(self) -> tuple[str, ...]:
        """What makes the figures of this part mean less."""
        if self.start.is_too_short:
            return ()
        if self.is_settled:
            found = level_change(self.samples)
            return () if found is None else (_changed(found),)
        figure, before, after = self.start.figure, self.start.before, self.start.after
        assert figure is not None  # it is what moved
        moved = f"{figure.words} still went from {shown_value(figure, before)} to {shown_value(figure, after)}"
        return (f"The storage had not settled: {moved}. Measure longer, or with --steady-state.",)


def _changed(found: LevelChange) -> str:
    shown = [shown_value(found.figure, value) for value in (found.before, found.after)]
    changed = f"{found.figure.words} changed {format_span(found.at_ns)} into the run, from {shown[0]} to {shown[1]}"
    changed = changed[:1].upper() + changed[1:]
    return f"{changed}: something else happened, in the storage or beside it, and the figures are of both."


def settled(samples: Samples, grid_ns: int, ramp_ns: int = 0) -> Settled:
    """The run without its warm-up, cut where an interval of `grid_ns` ends; at least `ramp_ns` are left out."""
    step_ns = max(grid_ns, samples.length_ns)
    ramp_end_ns = _up_to(ramp_ns, step_ns)
    after_ramp = samples.between(ramp_end_ns)
    found = warm_up(after_ramp)
    from_ns = ramp_end_ns if not found.samples else _up_to(after_ramp[found.samples].start_ns, step_ns)
    return Settled(from_ns, tuple(samples.between(from_ns)), found, ramp_ns)


def _up_to(value_ns: int, step_ns: int) -> int:
    return math.ceil(value_ns / step_ns) * step_ns if step_ns else value_ns


# Words ----------------------------------------------------------------------------------------------------------------


def shown_value(figure: Figure, value: float | None) -> str:
    """A figure's value with its unit."""
    if figure.statistic == IOPS:
        return format_rate(value, "/s" if figure.direction == FLUSH else "IOPS")
    return format_bandwidth(value) if figure.statistic == BANDWIDTH else format_duration(value)


def shown_share(share: float) -> str:
    """A half width as people write it: '±1.3 %'."""
    return half_width_words(share)
