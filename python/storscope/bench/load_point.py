"""A visit to one load of an open loop: watches its intervals, ends it early when it is hopeless, sums it up.

Its first part is left out: the queue starts empty, so early requests wait too little. Overloaded is a visit whose queue
was full, or grew all the while; it is ended as soon as that is clear, and the engine then takes what is in flight to
its end, so that the next visit starts on an empty queue.

Each figure is given twice. *Response* counts from the instant a request should have started: what a user waits. It is
given only where lateness is at most 5 % of it, both taken as the same figure; for a percentile that is held against a
limit, at most 5 % of that: far below its limit it need not be exact. *Service* counts from the submission: a generator
that is woken late by a busy machine does not spoil it, as randomly delayed Poisson arrivals are still Poisson arrivals
(Kingman 1993, "Poisson Processes", 5.1) unless they come in lumps. So it is given where lateness is at most half of it,
or else where fewer than one request in ten is sent together with another because of it: rate times mean lateness is the
number of arrivals in a delay. Later intervals are left out, up to 70 % of a visit, and so are those after them in which
the queue that a pause left is worked off: what arrived meanwhile was sent together, and what comes next waits for it.
Beware: a target that blocks the submission itself makes the generator late, and its service time hides that.

Each figure has a 95 % interval from the parts of the visit that it rests on (`bench.settling`); a lower bound has none.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

from storscope.bench.buckets import Buckets
from storscope.bench.figures import DIRECTIONS, FLUSHES, Direction, Interval, Latencies, Outcome
from storscope.bench.goals import Progress
from storscope.bench.judgement import Judgement, estimates_of
from storscope.bench.samples import FLUSH, Figure, Samples
from storscope.bench.samples import MEAN as MEAN_LATENCY
from storscope.bench.settling import latency_estimate
from storscope.domain.load_curve import SERVICE, PointKind, Visit
from storscope.domain.objective import MEAN, P99, LatencyFigure, Objective
from storscope.domain.units import NS_PER_MS, NS_PER_S, format_duration, format_ratio, format_span

INTERVAL_NS = 50 * NS_PER_MS
"""Of a visit: short enough that a pause of the machine spoils little of it."""
_RAMP_SHARE = 0.2
_FULL_SHARE = 0.9
_HOPELESS_INTERVALS = 5
_TOLERATED_UNSENT = 0.01
"""As crates/storscope-load/src/result.rs."""
_GROWTH = 1.3
"""A queue grows if it is longer by this factor in the second half..."""
_GROWN_SHARE = 0.03
"""...and what is done at the end had waited for this share of the visit: the error in load is no greater."""
_LATE_RATIO = {"": 0.05, SERVICE: 0.5}
_LUMPED_SHARE = 0.1
"""So many requests sent together with another change the mean at light load by half of that at most."""
_BACKLOG = 1.5
"""After a late interval, more than so many times what is usually in flight is a queue that the pause left (ours).

With 1 too few long queues are kept, with 2 too much of what pauses left (M/D/1 at 0.3 to 0.9 of its capacity)."""
_KEPT_SHARE_MIN = 0.3
_NAMES = {**{word: name for name, word in DIRECTIONS.items()}, FLUSH: FLUSHES}
"""The engine's word for what a figure is of."""


@dataclass(frozen=True)
class VisitGoal:
    """Ends a visit after its time, or when it is hopeless. For one visit: it looks at that visit's watch."""

    duration_ns: int
    watch: PointWatch

    @property
    def figure(self) -> Figure:
        """The mean, which is for the knee."""
        return Figure(MEAN_LATENCY)

    @property
    def longest_ns(self) -> int:
        """Its time."""
        return self.duration_ns

    def explain(self) -> str:
        """In words, for the record."""
        return f"a visit of {format_span(self.duration_ns)} in a search for the knee"

    def progress(self, samples: Samples, _grid_ns: int) -> Progress:
        """Enough when it is hopeless."""
        left_ns = max(0, self.duration_ns - samples.end_ns)
        return Progress(samples.end_ns, left_ns, is_enough=self.watch.is_hopeless)

    def judge(self, samples: Samples, grid_ns: int, *, is_whole: bool) -> Judgement:  # noqa: ARG002  by name
        """Of all but the first part."""
        from_ns = ramp_ns(samples.end_ns, grid_ns)
        ended = "It was ended early: more arrived than was served." if self.watch.is_hopeless else "It took its time."
        return Judgement(
            self.figure.name, from_ns, samples.end_ns, f"The first {format_span(from_ns)} are left out: the queue "
            "was empty.", ended, estimates_of(samples.between(from_ns), self.figure),
        )  # fmt: skip


def ramp_ns(duration_ns: int, grid_ns: int) -> int:
    """How much of a visit is left out at its start: whole intervals."""
    return round(_RAMP_SHARE * duration_ns / grid_ns) * grid_ns


@dataclass(frozen=True)
class _Part:
    """An interval, in the figures that decide."""

    duration_ns: int
    outstanding: float
    whole: Direction
    service_ns: float | None
    """Its mean."""
    asked: Direction
    """What the objective is of: the whole, or one direction."""
    interval: Interval

    @classmethod
    def of(cls, interval: Interval, asked: str | None) -> _Part:
        """`asked` is the objective's direction."""
        whole = interval.all
        only = whole if asked is None else interval.direction(_NAMES[asked])
        return cls(interval.duration_ns, interval.outstanding_mean or 0.0, whole, whole.service.mean_ns, only, interval)

    def told(self, figure: LatencyFigure) -> Direction:
        """What the figure is of."""
        return self.whole if figure.direction is None else self.asked

    def buckets(self, figure: LatencyFigure, measure: str) -> Buckets:
        """The latencies of what the figure is of that `measure` timed."""
        names = DIRECTIONS if figure.direction is None else (_NAMES[figure.direction],)
        tallies = (tally for cell in self.interval.form["cells"] for name in names if (tally := cell.get(name)))
        return Buckets.merged(Buckets.from_form(tally[measure]) for tally in tallies)


@dataclass(frozen=True)
class _Told:
    """A figure, and the parts that it rests on."""

    value: float
    parts: tuple[_Part, ...]


class PointWatch:
    """Hears each interval of a visit; `is_hopeless` says when to end it."""

    def __init__(
        self, offered_per_s: float, objective: Objective | None = None, *, slots: int, ios_per_arrival: float,
        cut_ns: float | None,
    ) -> None:  # fmt: skip
        """A visit at so many arrivals per second, with room for `slots` I/Os in flight.

        It tells the mean, the p99 and the figure of the objective.
        It is hopeless when five intervals on end have a mean above `cut_ns`, or a full queue.
        """
        self._offered_per_s, self._slots, self._cut_ns = offered_per_s, slots, cut_ns
        asked = () if objective is None else (objective.figure,)
        self._asked = None if objective is None else objective.figure.direction
        self._figures = tuple(dict.fromkeys((MEAN, P99, *asked)))
        self._limit_ns = {} if objective is None else {objective.figure: objective.limit_ns}
        self._limit_ns.pop(MEAN, None)  # the mean at light load is what the knee is told by
        self._objective = objective
        self._ios_per_arrival = ios_per_arrival
        self._parts: list[_Part] = []
        self._bad_on_end = 0
        self._is_after_pause = False

    def __call__(self, interval: Interval) -> None:
        """The next interval."""
        part = _Part.of(interval, self._asked)
        if not self._is_bad(part):
            self._bad_on_end, self._is_after_pause = 0, False
        elif self._is_full(part) or not self._is_of_a_pause(part):  # a full queue makes what arrives late
            self._bad_on_end += 1
        self._parts.append(part)

    @property
    def is_hopeless(self) -> bool:
        """Whether nothing is to be learnt from going on."""
        return self._bad_on_end >= _HOPELESS_INTERVALS

    def visit(self, outcome: Outcome, cost_ns: int, run: str | None = None) -> Visit:
        """What the visit tells."""
        kept = self._kept()
        overload = self._overload(kept, outcome)
        wrong = self._wrong(kept, outcome)
        kind = PointKind.INVALID if wrong else PointKind.OVERLOADED if overload else PointKind.VALID
        told = {} if overload else self._measured(kept)
        values = {name: None if one is None else one.value for name, one in told.items()}
        figures = self._bounds(kept) if overload else values
        reason = wrong or overload or self._late_words(kept, figures)
        if kind is PointKind.VALID and all(value is None for value in figures.values()):
            kind = PointKind.INVALID
        duration_ns = sum(part.duration_ns for part in kept)
        ios = sum(part.whole.ios for part in kept)
        achieved = ios / self._ios_per_arrival / duration_ns * NS_PER_S if duration_ns else None
        intervals = {} if kind is PointKind.INVALID else self._intervals(told)
        requests = None if self._asked is None else sum(part.asked.ios for part in kept)
        return Visit(
            self._offered_per_s, achieved, kind, reason, figures, duration_ns, cost_ns, run, intervals, requests,
            {} if kind is PointKind.INVALID else self._above_limit(told),
        )  # fmt: skip

    def _kept(self) -> list[_Part]:
        return self._parts[self._counted]

    @property
    def _counted(self) -> slice:
        """What counts: without the start, and without a last interval that was cut off."""
        first = ramp_ns(sum(part.duration_ns for part in self._parts), INTERVAL_NS) // INTERVAL_NS
        is_cut_off = len(self._parts) > first + 1 and self._parts[-1].duration_ns < INTERVAL_NS / 2
        return slice(first, len(self._parts) - is_cut_off)

    def _is_full(self, part: _Part) -> bool:
        return part.outstanding > _FULL_SHARE * self._slots

    def _is_bad(self, part: _Part) -> bool:
        if self._is_full(part):
            return True
        if self._cut_ns is None:
            return False
        stuck = part.service_ns is None and part.outstanding > 1
        return stuck or (part.service_ns or 0.0) > self._cut_ns

    def _is_of_a_pause(self, part: _Part) -> bool:
        """Whether a bad interval, the next one, is of a pause, or of the queue that one left and that gets shorter."""
        if not self._parts:
            return False
        is_pause = self._pauses()(part)
        self._is_after_pause = self._is_after_pause or is_pause
        return is_pause or (self._is_after_pause and part.outstanding < self._parts[-1].outstanding)

    def _pauses(self) -> Callable[[_Part], bool]:
        """Tells where more was sent together than is usually in flight; what is late all the time has no pauses."""
        late_ns = statistics.median(_lateness(part, MEAN) for part in self._parts)
        in_flight = statistics.median(part.outstanding for part in self._parts)
        least_ns = late_ns + in_flight / self._offered_per_s * NS_PER_S
        return lambda part: _lateness(part, MEAN) > least_ns

    def _wrong(self, kept: Sequence[_Part], outcome: Outcome) -> str:
        if outcome.error is not None:
            return outcome.error[1]
        if not any(part.whole.ios for part in kept):
            return "nothing was completed"
        ending = outcome.result["ending"]
        unsent = ending["unsent"] / max(1, ending["unsent"] + ending["submitted"])
        if unsent > _TOLERATED_UNSENT and not any(map(self._is_full, kept)) and not self.is_hopeless:
            return f"the generator did not keep up: {format_ratio(unsent)} of the arrivals were never sent"
        if self._overload(kept, outcome) and not any(map(self._is_full, kept)):
            lateness_ns, service_ns = (_pooled(kept, MEAN, name).mean_ns or 0.0 for name in ("lateness", "service"))
            if lateness_ns > service_ns:
                late, took = format_duration(lateness_ns), format_duration(service_ns)
                return f"the generator did not keep up: requests left {late} late, and the storage took {took}"
        return ""

    def _overload(self, kept: Sequence[_Part], outcome: Outcome) -> str:
        if self.is_hopeless:
            return "more arrived than was served; ended early"
        full = sum(map(self._is_full, kept))
        if full > len(kept) / 2 or (full and outcome.result["ending"]["unsent"]):
            return f"more than {_FULL_SHARE * self._slots:,.0f} requests were in flight at a time"
        if kept and _is_growing(self._calm(self._pauses())):
            return "the queue grew all the while"
        return ""

    def _bounds(self, kept: Sequence[_Part]) -> dict[str, float | None]:
        """What an overloaded visit saw, the same for both ways to count."""
        values = {figure.name: _value(_pooled(kept, figure, "response"), figure) for figure in self._figures}
        return {prefix + name: value for prefix in _LATE_RATIO for name, value in values.items()}

    def _intervals(self, told: Mapping[str, _Told | None]) -> dict[str, tuple[float | None, float | None]]:
        found = {}
        for prefix in _LATE_RATIO:
            for figure in self._figures:
                one = told.get(prefix + figure.name)
                if one is not None:
                    measure = "service" if prefix else "response"
                    of = latency_estimate(figure.share, [part.buckets(figure, measure) for part in one.parts])
                    if of is not None and (of.low is not None or of.high is not None):
                        found[prefix + figure.name] = (of.low, of.high)
        return found

    def _above_limit(self, told: Mapping[str, _Told | None]) -> dict[str, float]:
        """Of a percentile that an objective is of: the share of its requests that took longer than its limit."""
        objective = self._objective
        if objective is None or objective.figure.share is None:
            return {}
        found = {}
        for prefix in _LATE_RATIO:
            name = prefix + objective.figure.name
            if (one := told.get(name)) is not None:
                latencies = _pooled(one.parts, objective.figure, "service" if prefix else "response")
                found[name] = latencies.share_above(objective.limit_ns)
        return {name: share for name, share in found.items() if share is not None}

    def _measured(self, kept: Sequence[_Part]) -> dict[str, _Told | None]:
        return {
            prefix + figure.name: self._without_late(kept, figure, prefix)
            for prefix in _LATE_RATIO
            for figure in self._figures
        }

    def _without_late(self, kept: Sequence[_Part], figure: LatencyFigure, prefix: str) -> _Told | None:
        """The figure over intervals that were in time; None if they are too few, or too few requests for it."""
        measure = "service" if prefix else "response"
        usual = _usual(kept, figure, measure)
        if usual is None:
            return None
        limit_ns = _LATE_RATIO[prefix] * max(usual, self._limit_ns.get(figure, 0.0))
        told = _enough(self._calm(lambda part: _lateness(part, figure) > limit_ns), kept, figure, measure)
        if prefix and told is None:
            told = _enough(self._calm(self._is_lumped), kept, figure, measure)
        return told

    def _calm(self, is_late: Callable[[_Part], bool]) -> list[_Part]:
        """Of what counts the parts that no pause reached; one in what is left out at the start may reach further."""
        is_calm = _out_of_reach(self._parts, [is_late(part) for part in self._parts])
        return list(compress(self._parts[self._counted], is_calm[self._counted]))

    def _is_lumped(self, part: _Part) -> bool:
        return self._offered_per_s * _lateness(part, MEAN) > _LUMPED_SHARE * NS_PER_S

    def _late_words(self, kept: Sequence[_Part], figures: dict[str, float | None]) -> str:
        late = [name for name, value in figures.items() if value is None and not name.startswith(SERVICE)]
        if not late:
            return ""
        lateness = _pooled(kept, MEAN, "lateness")
        p99 = format_duration(lateness.quantile_ns(0.99))
        return f"late by {format_duration(lateness.mean_ns)} on average, {p99} at p99"


def _is_growing(kept: Sequence[_Part]) -> bool:
    half = len(kept) // 2
    if half < 2:
        return False
    before = sum(part.outstanding for part in kept[:half]) / half
    after = sum(part.outstanding for part in kept[-half:]) / half
    last = [part.service_ns for part in kept[-max(1, len(kept) // 3) :] if part.service_ns is not None]
    waited_ns = sum(last) / len(last) if last else 0.0
    return after > _GROWTH * before and waited_ns > _GROWN_SHARE * sum(part.duration_ns for part in kept)


def _out_of_reach(parts: Sequence[_Part], late: Sequence[bool]) -> list[bool]:
    """Which are neither late nor after such while more is in flight than before the pause, and than usually."""
    in_time = [part.outstanding for part, is_late in zip(parts, late, strict=True) if not is_late]
    usual = _BACKLOG * statistics.median(in_time) if in_time else 0.0
    calm, before, waits = [], 0.0, False
    for part, is_late in zip(parts, late, strict=True):
        waits = is_late or (waits and part.outstanding > max(before, usual))
        calm.append(not waits)
        if not waits and part.whole.ios:  # nothing completes where a pause has just begun
            before = part.outstanding
    return calm


def _enough(some: Sequence[_Part], kept: Sequence[_Part], figure: LatencyFigure, measure: str) -> _Told | None:
    """The figure over some of the parts, if they and their requests are enough for it."""
    if sum(part.duration_ns for part in some) < _KEPT_SHARE_MIN * sum(part.duration_ns for part in kept):
        return None
    pooled = _pooled(some, figure, measure)
    value = _value(pooled, figure) if pooled.count >= figure.requests_needed else None
    return None if value is None else _Told(value, tuple(some))


def _usual(kept: Sequence[_Part], figure: LatencyFigure, measure: str) -> float | None:
    """What the figure is about: the median of its means, which a pause of the machine does not move."""
    if figure.share is not None:
        return _value(_pooled(kept, figure, measure), figure)
    means = [mean for part in kept if (mean := part.told(figure).of(measure).mean_ns) is not None]
    return statistics.median(means) if means else None


def _lateness(part: _Part, figure: LatencyFigure) -> float:
    value = _value(part.told(figure).lateness, figure)
    return 0.0 if value is None else value


def _pooled(parts: Iterable[_Part], figure: LatencyFigure, measure: str) -> Latencies:
    """Of what the figure is of."""
    pooled = Latencies()
    for part in parts:
        latencies = part.told(figure).of(measure)
        pooled.counts.update(latencies.counts)
        pooled.sum_ns += latencies.sum_ns
        if latencies.max_ns is not None:
            pooled.max_ns = max(latencies.max_ns, pooled.max_ns or 0)
    return pooled


def _value(latencies: Latencies, figure: LatencyFigure) -> float | None:
    return latencies.mean_ns if figure.share is None else latencies.quantile_ns(figure.share)
