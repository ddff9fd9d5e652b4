"""Finds, by visiting loads, where latency leaves the flat part and the greatest load that meets an objective.

The knee is the load at which the mean is `KNEE_RATIO` times that at light load. At ratio 2 that is where load over
latency ("power") is greatest for M/M/1 (Kleinrock 1979, "Power and deterministic rules of thumb"), half its capacity;
for M/M/c it is where Erlang's C equals c (1 - u), for a server without variation nearly its capacity.

1. Ramp: short visits, each load 1.7 times the last, until more arrives than is served; then halving the last step.
2. Short rounds: each visits light load, and loads on either side of every crossing, in an order drawn anew, so that
   drift of the device or the machine is not taken for the curve. After each round the curve is fitted to all visits
   (`model.load_curve`) and the loads of the next one follow it. While a crossing is uncertain, a load between it and
   the lowest that was too much is visited too.
3. Long rounds: the same with visits several times as long, on either side of every crossing. They tell what lasts from
   what lives on credit: a limit by tokens, a write cache.
4. It ends when all intervals are narrow enough, or the time is up.

What is measured is a function that is passed in, so that the same search runs on storage and on a simulated queue.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from storscope.domain.load_curve import LoadCurve, PointKind, Visit
from storscope.domain.objective import MEAN, Objective
from storscope.domain.units import NS_PER_MS, NS_PER_S, format_rate
from storscope.model.load_answer import crossing_of, doubts_of
from storscope.model.load_curve import VISITS_MIN, CurveFit, bounds_of
from storscope.model.load_goal import KNEE_RATIO, Goal
from storscope.model.load_points import any_figure_of

HALF_WIDTH_RATIO = 0.02
"""Intervals are narrow enough when half their width is at most this share of the estimate..."""
SHORT_ROUNDS = 2
LONG_ROUNDS_MIN = 2
"""...after so many rounds."""
_UNCERTAIN = 0.1
_HALVINGS = 3
_RAMP_FACTOR = 1.7
_RAMP_START = 1 / 8
_RAMP_VISITS_MAX = 30
_RAMP_NS = NS_PER_S // 2
_RAMP_REQUESTS = 300
_BEYOND_KNEE, _BEYOND_OBJECTIVE = 6.0, 2.5
_CUT = 8.0
"""A visit is hopeless at so many times the greatest latency that matters..."""
_CUT_LEAST_NS = 20 * NS_PER_MS
"""...but not at what a pause of the machine does. A queue that grows gets there soon."""
_VISIT_NS = 1_200_000_000
_VISIT_SERVICES = 400
"""A visit lasts so many times the latency at light load, for a queue to come and go."""
_VISITS_IN_BUDGET, _LONGEST_SHARE = 48, 1 / 16
_LONG_VISIT_SHARE = 1 / 16
"""Of the time, for a visit of a long round."""
_RESERVE_SHARE = 1 / 30
"""Of the time, for what comes after the last visit."""
_SAME_LOAD = 0.01
_LIGHT_LOADS = (0.15, 0.35)
"""In units of the knee."""
_DITHER = 0.008
_AGAIN_PER_ROUND = 3
_REPLICATES, _LAST_REPLICATES = 60, 300
_DRAWN = 60


class Measure(Protocol):
    """Makes one visit, on an empty queue."""

    def __call__(self, rate_per_s: float, duration_ns: int, cut_ns: float | None) -> Visit:
        """At that load for that time, ended early when mean latency stays above `cut_ns`."""


@dataclass(frozen=True)
class SearchPlan:
    """What is searched, and for how long. `start_per_s` is a guess of what can be served; it need not be good."""

    start_per_s: float
    budget_ns: int
    objective: Objective | None = None
    seed: int = 0
    half_width_ratio: float = HALF_WIDTH_RATIO


class _TimeIsUp(Exception):
    """Neither more visits nor more rounds."""


@dataclass
class _Search:
    measure: Measure
    plan: SearchPlan
    clock_ns: Callable[[], int]
    stop: Callable[[], bool]
    told: Callable[[str], None]
    visits: list[Visit] = field(default_factory=list)
    ended: str = ""
    overhead_ns: int = 0
    """A visit takes so much longer than it lasts, at most."""

    def __post_init__(self) -> None:
        self.started_ns = self.clock_ns()
        self.random = np.random.default_rng(self.plan.seed)
        self.knee = Goal()
        self.goals = [self.knee]
        if self.plan.objective is not None:
            self.goals.append(Goal(self.plan.objective))

    # Visits ----------------------------------------------------------------------------------------------------------

    def visit(self, rate_per_s: float, duration_ns: int) -> Visit:
        """Of that length, or shorter by what is left. Raises _TimeIsUp if that is less than half."""
        left_ns = self.left_ns() - self.overhead_ns
        if self.stop():
            self.ended = "it was interrupted"
            raise _TimeIsUp
        if duration_ns > 2 * left_ns:
            self.ended = "its time was up"
            raise _TimeIsUp
        planned_ns = min(duration_ns, left_ns)
        visit = self.measure(rate_per_s, planned_ns, self.cut_ns())
        self.overhead_ns = max(self.overhead_ns, visit.cost_ns - planned_ns)
        self.visits.append(visit)
        return visit

    def left_ns(self) -> int:
        return round((1 - _RESERVE_SHARE) * self.plan.budget_ns) - (self.clock_ns() - self.started_ns)

    def cut_ns(self) -> float | None:
        light = self.light_guess_ns()
        if light is None:
            return None
        objective = self.plan.objective
        return max(_CUT_LEAST_NS, _CUT * max(KNEE_RATIO * light, objective.limit_ns if objective else 0.0))

    def light_guess_ns(self) -> float | None:
        means = [any_figure_of(visit, MEAN) for visit in self.visits if visit.kind is PointKind.VALID]
        return min((mean for mean in means if mean is not None), default=None)

    def visit_ns(self) -> int:
        """How long a visit of a short round lasts."""
        services_ns = _VISIT_SERVICES * (self.light_guess_ns() or 0.0)
        needed = max(goal.figure.requests_needed for goal in self.goals)
        busiest = max((visit.offered_per_s for visit in self.visits), default=self.plan.start_per_s)
        requests_ns = 3 * needed / busiest * NS_PER_S
        wanted_ns = max(_VISIT_NS, services_ns, requests_ns, self.plan.budget_ns / _VISITS_IN_BUDGET)
        return round(min(wanted_ns, self.plan.budget_ns * _LONGEST_SHARE))

    def lowest_overload(self) -> float | None:
        over = [visit.offered_per_s for visit in self.visits if visit.kind is PointKind.OVERLOADED]
        return min(over, default=None)

    # Ramp ------------------------------------------------------------------------------------------------------------

    def ramp(self) -> None:
        rate_per_s = self.plan.start_per_s * _RAMP_START
        for _ in range(_RAMP_VISITS_MAX):
            visit = self.visit(rate_per_s, self._ramp_visit_ns(rate_per_s))
            is_too_much = visit.kind is PointKind.OVERLOADED or self._is_generator_limit()
            if is_too_much and self.light_guess_ns() is None:
                rate_per_s = min(seen.offered_per_s for seen in self.visits) / (3 * _RAMP_FACTOR)
            elif self._is_beyond(visit) or self._is_generator_limit():
                return
            else:
                rate_per_s *= _RAMP_FACTOR

    def _ramp_visit_ns(self, rate_per_s: float) -> int:
        wanted_ns = max(_RAMP_NS, _RAMP_REQUESTS / rate_per_s * NS_PER_S)
        return round(min(wanted_ns, self.plan.budget_ns / 30))

    def _is_beyond(self, visit: Visit) -> bool:
        if visit.kind is PointKind.OVERLOADED:
            return True
        light, mean = self.light_guess_ns(), any_figure_of(visit, MEAN)
        if light is None or mean is None or mean < _BEYOND_KNEE * light:
            return False
        objective = self.plan.objective
        if objective is None:
            return True
        value = any_figure_of(visit, objective.figure)
        return value is not None and value > _BEYOND_OBJECTIVE * objective.limit_ns

    def _is_generator_limit(self) -> bool:
        last = self.visits[-3:]
        return len(last) == 3 and all(visit.kind is PointKind.INVALID for visit in last)

    # Rounds ----------------------------------------------------------------------------------------------------------

    def fill_in(self) -> None:
        """Until a curve can be put through the visits."""
        for _ in range(3 * VISITS_MIN):
            if self.fit():
                return
            valid = [visit.offered_per_s for visit in self.visits if visit.kind is PointKind.VALID]
            if not valid:
                return
            top = self.lowest_overload() or _RAMP_FACTOR * max(valid)
            share = self.random.uniform(0.0, 1.0)
            self.visit(min(valid) ** (1 - share) * top**share, self.visit_ns())

    def narrow_gaps(self) -> None:
        """The ramp's steps are wide: halves the last one, for each goal."""
        for _ in range(_HALVINGS):
            light_ns = self.light_guess_ns() or 1.0
            gaps = {goal.gap(self.visits, light_ns) for goal in self.goals} - {None}
            for low, high in (gap for gap in gaps if gap is not None):
                self.visit(math.sqrt(low * high), self.visit_ns())

    def short_round(self) -> None:
        """Light load, and around the crossings."""
        loads = [load for goal in self.goals for load in goal.loads(at_crossing=True)]
        self.round([(load, self.visit_ns()) for load in (*loads, *self.between(), *self.light())])

    def long_round(self) -> None:
        """The same with longer visits: light load, and below and above the crossings."""
        long_ns = max(self.visit_ns(), round(self.plan.budget_ns * _LONG_VISIT_SHARE))
        loads = self.light()
        for load in (load for goal in self.goals for load in goal.loads(at_crossing=False)):
            if all(abs(load / other - 1) > _SAME_LOAD for other in loads):
                loads.append(load)
        between = [(load, self.visit_ns()) for load in self.between()]
        self.round([*((load, long_ns) for load in loads), *between])

    def round(self, wanted: list[tuple[float, int]]) -> None:
        self.random.shuffle(wanted)
        again = []
        for load, duration_ns in wanted:
            dithered = load * (1 + self.random.uniform(-_DITHER, _DITHER))
            if self.visit(dithered, duration_ns).kind is PointKind.INVALID:
                again.append(load)
        for load in again[:_AGAIN_PER_ROUND]:
            self.visit(load, self.visit_ns())

    def light(self) -> list[float]:
        top = self.knee.known[1].estimate if self.knee.known else max(visit.offered_per_s for visit in self.visits)
        return [share * top for share in _LIGHT_LOADS]

    def between(self) -> list[float]:
        """The middle of each gap that a crossing is in; and a load between an uncertain knee and what was too much."""
        light_ns = self.light_guess_ns() or 1.0
        gaps = [goal.gap(self.visits, light_ns) for goal in self.goals]
        loads = list({math.sqrt(gap[0] * gap[1]) for gap in gaps if gap is not None})
        over, known = self.lowest_overload(), self.knee.known
        if known is not None and over is not None and known[1].half_width_ratio > _UNCERTAIN:
            share = self.random.uniform(0.0, 1.0)
            loads += [known[1].estimate ** (1 - share) * over**share] if known[1].estimate < over else []
        return loads

    def fit(self, replicates: int = _REPLICATES) -> bool:
        """Fits every goal that can be; whether the knee's can."""
        for goal in self.goals:
            goal.learn(self.visits, self.light_guess_ns() or 1.0, replicates=replicates, seed=self.plan.seed)
        return self.knee.fit is not None

    def is_narrow(self) -> bool:
        known = [goal.known[1] for goal in self.goals if goal.known is not None]
        return all(crossing.half_width_ratio <= self.plan.half_width_ratio for crossing in known)

    def say(self) -> None:
        """Where the search is."""
        if self.knee.known is None:
            return
        knee = self.knee.known[1]
        self.told(f"Knee near {format_rate(knee.estimate, '/s')}, known to ±{min(knee.half_width_ratio, 9.99):.0%}.")

    def run(self) -> None:
        try:
            self.ramp()
            self.narrow_gaps()
            self.fill_in()
            for _ in range(SHORT_ROUNDS):
                if self.fit():
                    self.short_round()
            long_rounds = 0
            while self.fit() and not (long_rounds >= LONG_ROUNDS_MIN and self.is_narrow()):
                self.say()
                self.long_round()
                long_rounds += 1
            self.ended = "its intervals were narrow enough" if self.knee.fit else "too few visits could be used"
        except _TimeIsUp:
            pass
        self.fit(_LAST_REPLICATES)


def search(
    measure: Measure,
    plan: SearchPlan,
    *,
    clock_ns: Callable[[], int],
    stop: Callable[[], bool] = lambda: False,
    told: Callable[[str], None] = lambda _: None,
) -> LoadCurve:
    """Visits loads until the crossings are known well enough, the time is up by `clock_ns`, or `stop` says so.

    `told` hears how far it has got. No visit is begun that would not end within the time.
    """
    found = _Search(measure, plan, clock_ns, stop, told)
    found.run()
    fit = found.knee.fit
    objective = found.goals[1] if len(found.goals) > 1 else None
    return LoadCurve(
        visits=tuple(found.visits),
        knee=crossing_of(found.knee, found.visits, found.ended),
        objective=plan.objective,
        within_objective=None if objective is None else crossing_of(objective, found.visits, found.ended),
        light_ns=None if fit is None else bounds_of(np.exp(fit.light_log), len(found.visits)),
        capacity_per_s=None if fit is None else bounds_of(fit.capacity, len(found.visits)),
        fitted=() if fit is None else _drawn(fit),
        doubts=tuple(doubts_of(found.goals, found.visits)),
        ended=found.ended,
    )


def _drawn(fit: CurveFit) -> tuple[tuple[float, float], ...]:
    loads = np.linspace(0.0, float(fit.points.load.max()), _DRAWN + 1)[1:]
    loads = loads[loads < fit.capacity[0]]
    latencies = np.exp(fit.log_latency(loads)[0])
    return tuple(zip(loads.tolist(), latencies.tolist(), strict=True))
