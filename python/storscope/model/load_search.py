"""Finds, by visiting loads, where latency leaves the flat part and the greatest load that meets an objective.

The knee is the load at which the mean is `KNEE_RATIO` times that at light load. At ratio 2 that is where load over
latency ("power") is greatest for M/M/1 (Kleinrock 1979, "Power and deterministic rules of thumb"), half its capacity;
for M/M/c it is where Erlang's C equals c (1 - u), for a server without variation nearly its capacity.

1. Ramp: short visits, each load 1.7 times the last, until more arrives than is served.
2. Rounds: each visits light load, and loads on either side of every crossing, in an order drawn anew, so that drift of
   the device or the machine is not taken for the curve. After each round the curve is fitted to all visits
   (`model.load_curve`) and the loads of the next one follow it.
3. It ends when all intervals are narrow enough, or the time is up.

What is measured is a function that is passed in, so that the same search runs on storage and on a simulated queue.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from storscope.domain.load_curve import Bounds, Crossing, LoadCurve, PointKind, Visit
from storscope.domain.objective import MEAN, LatencyFigure, Objective
from storscope.domain.units import NS_PER_S, format_duration, format_rate
from storscope.model.load_curve import VISITS_MIN, CurveFit, Points, bounds_of, fit_curve

KNEE_RATIO = 2.0
HALF_WIDTH_RATIO = 0.02
"""Intervals are narrow enough when half their width is at most this share of the estimate..."""
ROUNDS_MIN = 4
"""...after so many rounds."""
_RAMP_FACTOR = 1.7
_RAMP_START = 1 / 8
_RAMP_VISITS_MAX = 30
_RAMP_NS = NS_PER_S // 2
_RAMP_REQUESTS = 300
_BEYOND_KNEE, _BEYOND_OBJECTIVE = 6.0, 2.5
_CUT = 8.0
"""A visit is hopeless at so many times the greatest latency that matters."""
_VISIT_NS = 1_200_000_000
_VISIT_SERVICES = 400
"""A visit lasts so many times the latency at light load, for a queue to come and go."""
_VISITS_IN_BUDGET, _LONGEST_SHARE = 32, 1 / 16
_KNEE_LEVELS = ((1.5, -0.2, -0.02), (2.0, 0.0, 0.0), (2.8, 0.02, 0.2))
"""Latency over that at light load, and how far the load may be from the crossing."""
_OBJECTIVE_LEVELS = ((0.7, -0.15, -0.015), (1.0, 0.0, 0.0), (1.45, 0.015, 0.15))
_LIGHT_LOADS = (0.2, 0.45)
"""In units of the knee."""
_DITHER = 0.008
_AGAIN_PER_ROUND = 3
_IN_TIME_SHARE = 0.7
_REPLICATES, _LAST_REPLICATES = 60, 300
_DRAWN = 60
_DRIFT_DEVIATIONS, _DRIFT_MIN = 3.0, 0.05
SERVICE = "service "
"""Before the name of a figure that is of service time."""


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
class _Goal:
    """A crossing that is looked for."""

    figure: LatencyFigure
    levels: tuple[tuple[float, float, float], ...]
    objective: Objective | None = None
    fit: CurveFit | None = None
    basis: str = ""
    """Nothing, or SERVICE: the way to count that most visits tell."""
    crossing: Bounds | None = None

    @property
    def is_known(self) -> bool:
        return self.crossing is not None and self.crossing.estimate > 0

    def target_log(self) -> np.ndarray:
        """Log latency that is looked for, for each curve of the fit."""
        assert self.fit is not None
        if self.objective is None:
            return self.fit.light_log + math.log(KNEE_RATIO)
        return np.full(len(self.fit.capacity), math.log(self.objective.limit_ns))


@dataclass
class _Search:
    measure: Measure
    plan: SearchPlan
    clock_ns: Callable[[], int]
    stop: Callable[[], bool]
    visits: list[Visit] = field(default_factory=list)
    rounds: int = 0
    ended: str = ""

    def __post_init__(self) -> None:
        self.started_ns = self.clock_ns()
        self.random = np.random.default_rng(self.plan.seed)
        objective = self.plan.objective
        self.knee = _Goal(MEAN, _KNEE_LEVELS)
        self.goals = [self.knee]
        if objective is not None:
            self.goals.append(_Goal(objective.figure, _OBJECTIVE_LEVELS, objective))

    # Visits ----------------------------------------------------------------------------------------------------------

    def visit(self, rate_per_s: float, duration_ns: int) -> Visit:
        left_ns = self.plan.budget_ns - (self.clock_ns() - self.started_ns)
        if self.stop():
            self.ended = "it was interrupted"
            raise _TimeIsUp
        if duration_ns > left_ns:
            self.ended = "its time was up"
            raise _TimeIsUp
        visit = self.measure(rate_per_s, duration_ns, self.cut_ns())
        self.visits.append(visit)
        return visit

    def cut_ns(self) -> float | None:
        light = self.light_guess_ns()
        if light is None:
            return None
        objective = self.plan.objective
        return _CUT * max(KNEE_RATIO * light, objective.limit_ns if objective else 0.0)

    def light_guess_ns(self) -> float | None:
        means = [_any_figure(visit, MEAN) for visit in self.visits if visit.kind is PointKind.VALID]
        return min((mean for mean in means if mean is not None), default=None)

    def visit_ns(self) -> int:
        """How long a visit of a round lasts."""
        services_ns = _VISIT_SERVICES * (self.light_guess_ns() or 0.0)
        needed = max(goal.figure.requests_needed for goal in self.goals)
        busiest = max((visit.offered_per_s for visit in self.visits), default=self.plan.start_per_s)
        requests_ns = 3 * needed / busiest * NS_PER_S
        wanted_ns = max(_VISIT_NS, services_ns, requests_ns, self.plan.budget_ns / _VISITS_IN_BUDGET / 1.5)
        return round(min(wanted_ns, self.plan.budget_ns * _LONGEST_SHARE))

    # Ramp ------------------------------------------------------------------------------------------------------------

    def ramp(self) -> None:
        rate_per_s = self.plan.start_per_s * _RAMP_START
        for _ in range(_RAMP_VISITS_MAX):
            visit = self.visit(rate_per_s, self._ramp_visit_ns(rate_per_s))
            if visit.kind is PointKind.OVERLOADED and self.light_guess_ns() is None:
                rate_per_s /= 5 * _RAMP_FACTOR
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
        light, mean = self.light_guess_ns(), _any_figure(visit, MEAN)
        if light is None or mean is None or mean < _BEYOND_KNEE * light:
            return False
        objective = self.plan.objective
        if objective is None:
            return True
        value = _any_figure(visit, objective.figure)
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
            over = [visit.offered_per_s for visit in self.visits if visit.kind is PointKind.OVERLOADED]
            if not valid:
                return
            top = min(over, default=_RAMP_FACTOR * max(valid))
            share = self.random.uniform(0.0, 1.0)
            self.visit(min(valid) ** (1 - share) * top**share, self.visit_ns())

    def round(self) -> None:
        loads = [load for goal in self.goals for load in self._levels(goal)]
        top = self.knee.crossing.estimate if self.knee.crossing else max(loads)
        loads += [share * top for share in _LIGHT_LOADS]
        self.random.shuffle(loads)
        again = []
        for load in loads:
            dithered = load * (1 + self.random.uniform(-_DITHER, _DITHER))
            if self.visit(dithered, self.visit_ns()).kind is PointKind.INVALID:
                again.append(load)
        for load in again[:_AGAIN_PER_ROUND]:
            self.visit(load, self.visit_ns())
        self.rounds += 1

    def _levels(self, goal: _Goal) -> list[float]:
        if not goal.is_known or goal.fit is None or goal.crossing is None:
            return []
        at = goal.crossing.estimate
        target = goal.target_log()
        loads = []
        for ratio, least, most in goal.levels:
            relative = ratio if goal.objective is not None else ratio / KNEE_RATIO
            found = float(goal.fit.crossing(target + math.log(relative))[0])
            loads.append(at * (1 + min(max(found / at - 1, least), most)))
        return loads

    def fit(self, replicates: int = _REPLICATES) -> bool:
        """Fits every goal that can be; whether the knee's can."""
        for goal in self.goals:
            goal.basis = _basis(self.visits, goal.figure)
            points = _points(self.visits, goal, self.light_guess_ns() or 1.0)
            goal.fit = fit_curve(points, replicates=replicates, seed=self.plan.seed) if points.is_enough else None
            if goal.fit is not None:
                loads = goal.fit.crossing(goal.target_log())
                goal.crossing = bounds_of(loads, goal.fit.visits_near(float(loads[0])))
        return self.knee.fit is not None

    def is_narrow(self) -> bool:
        known = [goal.crossing for goal in self.goals if goal.is_known and goal.crossing is not None]
        return all(crossing.half_width_ratio <= self.plan.half_width_ratio for crossing in known)

    def run(self) -> None:
        try:
            self.ramp()
            self.fill_in()
            while self.fit() and not (self.rounds >= ROUNDS_MIN and self.is_narrow()):
                self.round()
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
) -> LoadCurve:
    """Visits loads until the crossings are known well enough, the time is up by `clock_ns`, or `stop` says so."""
    found = _Search(measure, plan, clock_ns, stop)
    found.run()
    knee, fit = found.knee, found.knee.fit
    objective = found.goals[1] if len(found.goals) > 1 else None
    return LoadCurve(
        visits=tuple(found.visits),
        knee=_crossing(found, knee),
        objective=plan.objective,
        within_objective=None if objective is None else _crossing(found, objective),
        light_ns=None if fit is None else bounds_of(np.exp(fit.light_log), len(found.visits)),
        capacity_per_s=None if fit is None else bounds_of(fit.capacity, len(found.visits)),
        fitted=() if fit is None else _drawn(fit),
        doubts=tuple(_doubts(found)),
        ended=found.ended,
    )


def _crossing(found: _Search, goal: _Goal) -> Crossing:
    basis = goal.basis + goal.figure.name
    limit_ns = goal.objective.limit_ns if goal.objective else None
    if goal.fit is None or goal.crossing is None:
        return Crossing(basis, limit_ns, None, _why_unknown(found))
    if goal.objective is None:
        limit_ns = float(np.exp(goal.target_log()[0]))
    if not goal.is_known:
        light = min(found.visits, key=lambda visit: visit.offered_per_s)
        seen = format_duration(_figure(light, goal.figure, goal.basis))
        reason = f"not even {format_rate(light.offered_per_s, '/s')} meet it: {goal.figure.name} was {seen} there"
        return Crossing(basis, limit_ns, None, reason)
    top = max((visit.offered_per_s for visit in found.visits if visit.kind is not PointKind.INVALID), default=0.0)
    if goal.crossing.estimate > 1.05 * top:
        reason = f"latency does not reach it up to {format_rate(top, '/s')}, the highest load that could be measured"
        return Crossing(basis, limit_ns, None, reason)
    return Crossing(basis, limit_ns, goal.crossing)


def _why_unknown(found: _Search) -> str:
    invalid = [visit for visit in found.visits if visit.kind is PointKind.INVALID]
    if 2 * len(invalid) > len(found.visits):
        return f"{len(invalid)} of {len(found.visits)} visits cannot be used; the last: {invalid[-1].reason}"
    return f"only {len(found.visits)} visits were made before {found.ended or 'the end'}; allow more time"


def _doubts(found: _Search) -> list[str]:
    doubts = []
    invalid = [visit for visit in found.visits if visit.kind is PointKind.INVALID]
    if invalid:
        doubts.append(f"{len(invalid)} of {len(found.visits)} visits are left out; the last: {invalid[-1].reason}.")
    for goal in found.goals:
        if goal.basis:
            doubts.append(
                f"The {goal.figure.name} is of service time (from submission), as the generator was woken too late to "
                "tell the response time: this machine was busy, or the target is quicker than its timers."
            )
        if goal.is_known and goal.fit is not None and goal.crossing is not None:
            doubts += _goal_doubts(goal, goal.fit, goal.crossing)
    return doubts


def _goal_doubts(goal: _Goal, fit: CurveFit, crossing: Bounds) -> list[str]:
    doubts = []
    what = "knee" if goal.objective is None else "load that meets the objective"
    if crossing.half_width_ratio > 0.07:
        doubts.append(
            f"The {what} is known to ±{crossing.half_width_ratio:.0%} only; a longer --max-duration or a quieter "
            "machine makes it narrower."
        )
    drift = _drift(fit, crossing.estimate)
    if abs(drift) > _DRIFT_MIN:
        doubts.append(
            f"The {what} drifted by {drift:+.0%} between the first and the second half of the search: the storage or "
            "the machine changed."
        )
    return doubts


def _drift(fit: CurveFit, load: float) -> float:
    """By how much the crossing moved from the first half of its visits to the second; 0 where that may be chance."""
    points = fit.points
    at = fit.log_latency(np.array([load]))[0, 0]
    predicted = fit.log_latency(points.load)[0]
    near = (np.abs(predicted - at) < 0.8) & ~points.is_bound
    if near.sum() < 8:
        return 0.0
    moved = -(points.log_latency - predicted)[near] / np.maximum(fit.elasticity(points.load[near]), 0.2)
    first, second = np.array_split(moved, 2)
    deviation = math.hypot(first.std(ddof=1) / math.sqrt(len(first)), second.std(ddof=1) / math.sqrt(len(second)))
    change = float(np.median(second) - np.median(first))
    return change if abs(change) > _DRIFT_DEVIATIONS * deviation else 0.0


def _drawn(fit: CurveFit) -> tuple[tuple[float, float], ...]:
    loads = np.linspace(0.0, float(fit.points.load.max()), _DRAWN + 1)[1:]
    loads = loads[loads < fit.capacity[0]]
    latencies = np.exp(fit.log_latency(loads)[0])
    return tuple(zip(loads.tolist(), latencies.tolist(), strict=True))


# Visits as points -----------------------------------------------------------------------------------------------------


def _figure(visit: Visit, figure: LatencyFigure, basis: str) -> float | None:
    return visit.figure_ns(basis + figure.name)


def _any_figure(visit: Visit, figure: LatencyFigure) -> float | None:
    value = _figure(visit, figure, "")
    return _figure(visit, figure, SERVICE) if value is None else value


def _basis(visits: Sequence[Visit], figure: LatencyFigure) -> str:
    """Response if most visits tell it, else service."""
    valid = [visit for visit in visits if visit.kind is PointKind.VALID]
    told = {basis: sum(_figure(visit, figure, basis) is not None for visit in valid) for basis in ("", SERVICE)}
    return SERVICE if told[""] < _IN_TIME_SHARE * told[SERVICE] else ""


def _points(visits: Sequence[Visit], goal: _Goal, light_ns: float) -> Points:
    limit_ns = goal.objective.limit_ns if goal.objective else KNEE_RATIO * light_ns
    rows = []
    for visit in visits:
        value = _figure(visit, goal.figure, goal.basis)
        is_over = visit.kind is PointKind.OVERLOADED
        if value is None or value <= 0:
            continue
        latency = max(value, 3 * limit_ns) if is_over else value
        requests = max(1.0, (visit.achieved_per_s or 0.0) * visit.duration_ns / NS_PER_S)
        rows.append((visit.offered_per_s, math.log(latency), is_over, requests))
    load, log_latency, is_bound, requests_made = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return Points(load, log_latency, is_bound > 0, requests_made, _variance(goal.figure) / requests_made)


def _variance(figure: LatencyFigure) -> float:
    """Of the log of a figure of one exponential latency: 1 for the mean, else q / ((1 - q) ln(1 - q)^2)."""
    if figure.share is None:
        return 1.0
    return figure.share / ((1 - figure.share) * math.log(1 - figure.share) ** 2)
