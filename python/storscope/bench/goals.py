"""When a measurement ends: after a fixed time, when a figure is sure enough, or when the storage is in steady state.

A goal looks at the samples so far and says whether they suffice; at the end it judges the run. It keeps no state, so
that one goal serves many measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from storscope.bench.judgement import Judgement, Settled, estimates_of, settled, shown_share, shown_value
from storscope.bench.samples import IOPS, MEAN, Figure, Sample, Samples
from storscope.bench.settling import estimate
from storscope.domain.units import NS_PER_S, format_span
from storscope.domain.workload import Steps, Workload

_RATE = Figure(IOPS)
DEFAULT_WITHIN = 0.02
DEFAULT_LONGEST_NS = 60 * NS_PER_S
_LEAST_NS = 5 * NS_PER_S
"""Shorter measurements repeat badly however narrow their interval is: what disturbs storage comes every few seconds."""
_LEAST_INDEPENDENT = 15
"""An interval from fewer independent samples may be narrow by luck, and asking again and again finds the luck."""
DEFAULT_ROUND_NS = 60 * NS_PER_S
WINDOW_ROUNDS = 5
MOST_ROUNDS = 25
_RANGE = 0.20
_SLOPE = 0.10
"""SNIA Solid State Storage Performance Test Specification (PTS) 2.0.2, definition of steady state."""


@dataclass(frozen=True)
class Progress:
    """How far a measurement has got."""

    elapsed_ns: int
    left_ns: int
    """Expected, and never beyond the cap."""
    is_enough: bool = False
    says: str = ""
    """What is known so far, in a few words."""


class Goal(Protocol):
    """What a measurement is for."""

    @property
    def figure(self) -> Figure:
        """The one that counts."""

    @property
    def longest_ns(self) -> int:
        """It ends after this time in any case."""

    def explain(self) -> str:
        """In words, for the record."""

    def progress(self, samples: Samples, grid_ns: int) -> Progress:
        """Whether the samples so far suffice. Called at the end of each interval of `grid_ns`."""

    def judge(self, samples: Samples, grid_ns: int, *, is_whole: bool) -> Judgement:
        """What the run gave. `is_whole` is false if something else than the goal ended it."""


def default_figure(workload: Workload) -> Figure:
    """The rate where the storage sets it, the response where the workload does."""
    return Figure(MEAN if any(stream.load.is_open for stream in workload.streams) else IOPS)


def has_steps(workload: Workload) -> bool:
    """Whether its rate changes on purpose, so that nothing settles."""
    return any(isinstance(stream.load, Steps) for stream in workload.streams)


def steps_ns(workload: Workload) -> int:
    """How long its longest series of rate steps lasts."""
    loads = (stream.load for stream in workload.streams)
    return max((sum(step.duration_ns for step in load.steps) for load in loads if isinstance(load, Steps)), default=0)


# A fixed time ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FixedTime:
    """Exactly so long, and then how sure the figures are. `ramp_ns` at the start count for nothing."""

    duration_ns: int
    figure: Figure = _RATE
    ramp_ns: int = 0
    settles: bool = True
    """Whether a level is expected that a warm-up leads to: not of a workload that changes on purpose."""

    @property
    def longest_ns(self) -> int:
        """The ramp comes on top, as in Iometer and fio."""
        return self.duration_ns + self.ramp_ns

    def explain(self) -> str:
        """In words, for the record."""
        return f"{format_span(self.duration_ns)}" + (f" after {format_span(self.ramp_ns)} ramp" if self.ramp_ns else "")

    def progress(self, samples: Samples, _grid_ns: int) -> Progress:
        """Only the clock counts."""
        return Progress(samples.end_ns, max(0, self.longest_ns - samples.end_ns))

    def judge(self, samples: Samples, grid_ns: int, *, is_whole: bool) -> Judgement:
        """Of all after the warm-up."""
        kept = settled(samples, grid_ns, self.ramp_ns)
        ended = f"It ran for the {format_span(self.duration_ns)} that were asked for." if is_whole else _CUT_SHORT
        if not self.settles:
            every = tuple(samples.between(0))
            return Judgement(
                self.figure.name, 0, samples.end_ns, "The workload changes on purpose: no warm-up was looked for.",
                ended,
                {name: one.without_interval for name, one in estimates_of(every, self.figure).items()},
            )  # fmt: skip
        return _judgement(self.figure, kept, samples.end_ns, ended)


_CUT_SHORT = "It ended early."


def fixed_time(workload: Workload, duration_ns: int) -> FixedTime:
    """What is measured of a workload when only a time is given."""
    return FixedTime(duration_ns, default_figure(workload), settles=not has_steps(workload))


def _judgement(
    figure: Figure, kept: Settled, to_ns: int, ended: str, doubts: Sequence[str] = (), goal_met: bool | None = None
) -> Judgement:
    return Judgement(
        figure.name, kept.from_ns, to_ns, kept.sentence, ended, estimates_of(kept.samples, figure),
        (*kept.doubts, *doubts), goal_met,
    )  # fmt: skip


# Precision ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Precision:
    """Until the 95 % interval of a figure is within a share of it, or `longest_ns` have passed."""

    figure: Figure
    within: float = DEFAULT_WITHIN
    longest_ns: int = DEFAULT_LONGEST_NS
    ramp_ns: int = 0

    def explain(self) -> str:
        """In words, for the record."""
        return f"{self.figure.words} within ±{self.within * 100:.3g} %, at most {format_span(self.longest_ns)}"

    def progress(self, samples: Samples, grid_ns: int) -> Progress:
        """Enough when settled, long enough, and within the wanted interval now and a fifth of the time ago."""
        cap_ns = max(0, self.longest_ns - samples.end_ns)
        kept = settled(samples, grid_ns, self.ramp_ns)
        if not kept.is_settled:
            return Progress(samples.end_ns, cap_ns, says="not settled yet")
        relative = _relative(self.figure, kept.samples)
        too_short_ns = max(0, _LEAST_NS - kept.duration_ns)
        is_enough = not too_short_ns and _is_within(relative, self.within) and self._was_within(kept)
        says = f"{shown_share(relative)} of {self.figure.words}, ±{self.within * 100:.3g} % wanted" if relative else ""
        return Progress(samples.end_ns, min(cap_ns, max(too_short_ns, self._left_ns(kept, relative))), is_enough, says)

    def _was_within(self, kept: Settled) -> bool:
        """Whether it was so a fifth of the time ago too. Asked last: a percentile of a long run takes long to judge."""
        return _is_within(_relative(self.figure, kept.samples[: len(kept.samples) * 4 // 5]), self.within)

    def _left_ns(self, kept: Settled, relative: float | None) -> int:
        """The width of an interval goes with one over the square root of the time."""
        if relative is None:
            return self.longest_ns
        return max(0, round(kept.duration_ns * ((relative / self.within) ** 2 - 1.0)))

    def judge(self, samples: Samples, grid_ns: int, *, is_whole: bool) -> Judgement:
        """Of all after the warm-up."""
        kept = settled(samples, grid_ns, self.ramp_ns)
        relative = _relative(self.figure, kept.samples)
        wanted = f"±{self.within * 100:.3g} %"
        if kept.is_settled and relative is not None and relative <= self.within:
            ended = f"{_capital(self.figure.words)} became sure to {shown_share(relative)}; {wanted} was wanted."
            return _judgement(self.figure, kept, samples.end_ns, ended, goal_met=True)
        reached = f"{_capital(self.figure.words)} {self._reached(kept, relative)} instead of {wanted}"
        ended = f"{reached} in the longest time allowed, {format_span(self.longest_ns)}." if is_whole else _CUT_SHORT
        doubt = f"{reached}. Allow more with --max-duration, or be content with less with --within."
        return _judgement(self.figure, kept, samples.end_ns, ended, [doubt] if is_whole else (), goal_met=False)

    def _reached(self, kept: Settled, relative: float | None) -> str:
        """What is told of it beside its interval must not deny that interval, nor be narrower than what was wanted."""
        if relative is not None and relative > self.within:
            return f"reached {shown_share(relative)}"
        found = estimate(self.figure, kept.samples)
        if found is None or found.relative is None:
            return "reached no interval that can be told"
        shown = shown_share(found.relative)
        if not kept.is_settled and found.relative <= self.within:
            return f"had not settled and reached {shown}, which does not count,"
        few = f"fewer than {_LEAST_INDEPENDENT} samples that are independent of each other"
        return f"reached {shown}, by {few} (which does not count),"


def _relative(figure: Figure, samples: Sequence[Sample]) -> float | None:
    """None too where the samples are too few, or too alike, to tell."""
    found = estimate(figure, samples)
    is_known = found is not None and (found.independent or 0.0) >= _LEAST_INDEPENDENT
    return found.relative if found is not None and is_known else None


def _is_within(relative: float | None, wanted: float) -> bool:
    return relative is not None and relative <= wanted


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


# Steady state ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Steadiness:
    """How much a figure moves over the last rounds, as shares of its mean over them."""

    values: tuple[float, ...]
    range_share: float
    """Greatest less smallest."""
    slope_share: float
    """By how much the line of least squares rises or falls from the first of them to the last."""

    @property
    def is_steady(self) -> bool:
        """By both measures of the specification."""
        return self.range_share <= _RANGE and self.slope_share <= _SLOPE

    @property
    def words(self) -> str:
        """Both measures beside their limits."""
        return (
            f"range {self.range_share * 100:.1f} % (limit {_RANGE * 100:.0f} %), "
            f"slope {self.slope_share * 100:.1f} % (limit {_SLOPE * 100:.0f} %)"
        )


def steadiness(values: Sequence[float]) -> Steadiness | None:
    """Of the last five rounds; None before there are five, or without any I/O."""
    last = np.asarray(values[-WINDOW_ROUNDS:], dtype=np.float64)
    if len(last) < WINDOW_ROUNDS or not last.mean() > 0:
        return None
    slope = float(np.polyfit(np.arange(WINDOW_ROUNDS), last, 1)[0])
    return Steadiness(
        tuple(last.tolist()), float(np.ptp(last) / last.mean()), abs(slope) * (WINDOW_ROUNDS - 1) / float(last.mean())
    )


@dataclass(frozen=True)
class SteadyState:
    """Rounds of the same length until the figure of the last five is steady, at most 25."""

    figure: Figure
    round_ns: int = DEFAULT_ROUND_NS
    most_rounds: int = MOST_ROUNDS

    @property
    def longest_ns(self) -> int:
        """All rounds."""
        return self.round_ns * self.most_rounds

    def explain(self) -> str:
        """In words, for the record."""
        return f"steady state of {self.figure.words}, {self.most_rounds} rounds of {format_span(self.round_ns)} at most"

    def rounds(self, samples: Samples) -> list[float]:
        """The figure of each complete round."""
        count = samples.end_ns // self.round_ns
        spans = [samples.between(index * self.round_ns, (index + 1) * self.round_ns) for index in range(count)]
        return [self.figure.of(span) or 0.0 for span in spans]

    def progress(self, samples: Samples, _grid_ns: int) -> Progress:
        """Enough at the end of the first round that closes a steady window."""
        values = self.rounds(samples)
        found = steadiness(values)
        number = f"round {min(len(values) + 1, self.most_rounds)} of at most {self.most_rounds}"
        left_ns = max(0, self.round_ns * max(WINDOW_ROUNDS, len(values) + 1) - samples.end_ns)
        is_enough = found is not None and found.is_steady
        return Progress(samples.end_ns, left_ns, is_enough, number if found is None else f"{number}, {found.words}")

    def judge(self, samples: Samples, _grid_ns: int, *, is_whole: bool) -> Judgement:
        """Of the last five complete rounds; of all there is when there are fewer."""
        values = self.rounds(samples)
        found = steadiness(values)
        first = max(0, len(values) - WINDOW_ROUNDS)
        from_ns = first * self.round_ns
        to_ns = len(values) * self.round_ns if found else samples.end_ns
        shown = ", ".join(shown_value(self.figure, value) for value in values[-WINDOW_ROUNDS:])
        start = (
            f"The figures are of rounds {first + 1} to {len(values)}: {shown}." if found else "No round counts alone."
        )
        is_steady = found is not None and found.is_steady
        return Judgement(
            self.figure.name, from_ns, to_ns, start, self._ended(found, len(values), is_whole),
            estimates_of(samples.between(from_ns, to_ns), self.figure),
            () if is_steady else (self._doubt(found, len(values)),), is_steady,
        )  # fmt: skip

    def _ended(self, found: Steadiness | None, count: int, is_whole: bool) -> str:
        if found is not None and found.is_steady:
            return f"Steady state in round {count}: {found.words}."
        return f"No steady state within {count} rounds." if is_whole else _CUT_SHORT

    def _doubt(self, found: Steadiness | None, count: int) -> str:
        after = f"after {count} rounds of {format_span(self.round_ns)}"
        if found is None:
            return f"No steady state {after}: it takes {WINDOW_ROUNDS} to tell."
        return f"No steady state {after}: {found.words}. Precondition, or choose longer rounds."
