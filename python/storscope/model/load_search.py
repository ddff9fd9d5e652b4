"""Finds, by visiting loads, where latency leaves the flat part and the greatest load that meets an objective.

The knee is the load at which the mean is twice that at light load. That is where load over
latency ("power") is greatest for M/M/1 (Kleinrock 1979, "Power and deterministic rules of thumb"), half its capacity;
for M/M/c it is where Erlang's C equals c (1 - u), for a server without variation nearly its capacity.

1. Ramp: short visits, each load 1.7 times the last, until more arrives than is served; then halving the last step. The
   highest load that was served is visited once more before and after, for longer, as a short visit may live on credit.
2. Short rounds: each visits light load, and loads on either side of every crossing, in an order drawn anew, so that
   drift of the device or the machine is not taken for the curve. After each round the curve is fitted to all visits
   (`model.load_curve`) and the loads of the next one follow it. While a crossing is uncertain, a load between it and
   the lowest that was too much is visited too.
3. Long rounds: the same with visits several times as long, on either side of every crossing. They tell what lasts from
   what lives on credit: a limit by tokens, a write cache. Once credit is seen all visits near a crossing are long.
4. It ends when all intervals are narrow enough, or the time is up. Where there is credit it is used up: the longer the
   visits, the nearer to what lasts.

What is measured is a function that is passed in, so that the same search runs on storage and on a simulated queue.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from storscope.domain.load_curve import Crossing, LoadCurve, PointKind, Visit
from storscope.domain.objective import MEAN
from storscope.domain.units import NS_PER_S, format_rate, format_ratio
from storscope.model.load_answer import capacity_of, crossing_of, doubts_of
from storscope.model.load_curve import VISITS_MIN, CurveFit, bounds_of
from storscope.model.load_figures import any_figure_of
from storscope.model.load_goal import Goal
from storscope.model.load_visits import Measure, SearchPlan, TimeIsUp, Visits

SHORT_ROUNDS = 2
LONG_ROUNDS_MIN = 2
_UNCERTAIN = 0.1
_HALVINGS = 3
_RAMP_FACTOR = 1.7
_RAMP_START = 1 / 8
_RAMP_VISITS_MAX = 30
_RAMP_REQUESTS_MIN = 3
"""A visit of the ramp with fewer tells nothing."""
_BEYOND_KNEE, _BEYOND_OBJECTIVE = 6.0, 2.5
_SAME_LOAD = 0.01
_LIGHT_LOADS = (0.15, 0.35)
"""In units of the knee."""
_DITHER = 0.008
_AGAIN_PER_ROUND = 3
_REPLICATES, _LAST_REPLICATES = 60, 300
_DRAWN, _NEAR_POLE = 120, 0.9995


class _Search:
    def __init__(self, visits: Visits, told: Callable[[str], None]) -> None:
        self.visits, self.plan, self.told = visits, visits.plan, told
        self.random = np.random.default_rng(self.plan.seed)
        self.knee = Goal()
        self.goals = [self.knee]
        if self.plan.objective is not None:
            self.goals.append(Goal(self.plan.objective))

    # Ramp ------------------------------------------------------------------------------------------------------------

    def ramp(self) -> None:
        rate_per_s = self.plan.start_per_s * _RAMP_START
        for _ in range(_RAMP_VISITS_MAX):
            visit = self.visits.visit(rate_per_s, self.visits.ramp_ns(rate_per_s))
            is_too_much = visit.kind is PointKind.OVERLOADED or self.visits.is_generator_limit()
            if is_too_much and self.visits.light_guess_ns() is None:
                rate_per_s = self._lower(min(seen.offered_per_s for seen in self.visits.made))
            elif self._is_beyond(visit) or self.visits.is_generator_limit():
                return
            else:
                rate_per_s *= _RAMP_FACTOR

    def _lower(self, rate_per_s: float) -> float:
        """Far below a load; from the start again where that is nothing: a machine that pauses does so at any load."""
        lower_per_s = rate_per_s / (3 * _RAMP_FACTOR)
        requests = lower_per_s * self.visits.ramp_ns(lower_per_s) / NS_PER_S
        return lower_per_s if requests >= _RAMP_REQUESTS_MIN else self.plan.start_per_s * _RAMP_START

    def _is_beyond(self, visit: Visit) -> bool:
        if visit.kind is PointKind.OVERLOADED:
            return True
        light, mean = self.visits.light_guess_ns(), any_figure_of(visit, MEAN)
        if light is None or mean is None or mean < _BEYOND_KNEE * light:
            return False
        objective = self.plan.objective
        if objective is None:
            return True
        value = any_figure_of(visit, objective.figure)
        return value is not None and value > _BEYOND_OBJECTIVE * objective.limit_ns

    # Rounds ----------------------------------------------------------------------------------------------------------

    def fill_in(self) -> None:
        """Until a curve can be put through the visits."""
        for _ in range(3 * VISITS_MIN):
            if self.fit():
                return
            valid = [visit.offered_per_s for visit in self.visits.made if visit.kind is PointKind.VALID]
            if not valid:
                return
            top = self.visits.lowest_overload() or _RAMP_FACTOR * max(valid)
            share = self.random.uniform(0.0, 1.0)
            self.visits.visit_near(min(valid) ** (1 - share) * top**share)

    def narrow_gaps(self) -> None:
        """The ramp's visits are short and its steps wide: repeats what it was served, halves the last step per goal."""
        if (served := self.visits.highest_served()) is not None:
            self.visits.visit_near(served)
        for _ in range(_HALVINGS):
            light_ns = self.visits.light_guess_ns() or 1.0
            gaps = {goal.gap(self.visits.made, light_ns) for goal in self.goals} - {None}
            for low, high in (gap for gap in gaps if gap is not None):
                self.visits.visit_near(math.sqrt(low * high))
        if not self.visits.has_credit() and (served := self.visits.highest_served()) is not None:
            self.visits.visit(served, self.visits.long_ns(served))

    def short_round(self) -> None:
        """Light load, and around the crossings."""
        loads = [load for goal in self.goals for load in goal.loads(at_crossing=True)]
        self.round([(load, self.visits.short_ns(load)) for load in (*loads, *self.between(), *self.light())])

    def long_round(self) -> None:
        """The same with longer visits: light load, and below and above the crossings."""
        loads: list[float] = []
        for load in (*(load for goal in self.goals for load in goal.loads(at_crossing=False)), *self.between()):
            if all(abs(load / other - 1) > _SAME_LOAD for other in loads):
                loads.append(load)
        length_of_light = self.visits.short_ns if self.visits.has_credit() else self.visits.long_ns
        light = [(load, length_of_light(load)) for load in self.light()]
        self.round([*((load, self.visits.long_ns(load)) for load in loads), *light])

    def round(self, wanted: list[tuple[float, int]]) -> None:
        self.random.shuffle(wanted)
        again = []
        for load, duration_ns in wanted:
            dithered = load * (1 + self.random.uniform(-_DITHER, _DITHER))
            if self.visits.visit(dithered, duration_ns).kind is PointKind.INVALID:
                again.append(load)
        for load in again[:_AGAIN_PER_ROUND]:
            self.visits.visit_near(load)

    def light(self) -> list[float]:
        top = self.knee.known[1].estimate if self.knee.known else max(visit.offered_per_s for visit in self.visits.made)
        return [share * top for share in _LIGHT_LOADS]

    def between(self) -> list[float]:
        """The middle of each gap that a crossing is in; and a load between an uncertain knee and what was too much."""
        light_ns = self.visits.light_guess_ns() or 1.0
        gaps = [goal.gap(self.visits.made, light_ns) for goal in self.goals]
        loads = list({math.sqrt(gap[0] * gap[1]) for gap in gaps if gap is not None})
        over, known = self.visits.lowest_overload(), self.knee.known
        if known is not None and over is not None and known[1].half_width_ratio > _UNCERTAIN:
            share = self.random.uniform(0.0, 1.0)
            loads += [known[1].estimate ** (1 - share) * over**share] if known[1].estimate < over else []
        return loads

    def fit(self, replicates: int = _REPLICATES) -> bool:
        """Fits every goal that can be; whether the knee's can."""
        for goal in self.goals:
            goal.learn(
                self.visits.made, self.visits.light_guess_ns() or 1.0, replicates=replicates, seed=self.plan.seed
            )
        return self.knee.fit is not None

    def is_known(self) -> bool:
        if self.visits.has_credit():
            return False
        known = [goal.known[1] for goal in self.goals if goal.known is not None]
        return all(crossing.half_width_ratio <= self.plan.half_width_ratio for crossing in known)

    def say(self) -> None:
        """Where the search is."""
        if self.knee.known is None:
            return
        knee = self.knee.known[1]
        self.told(
            f"Knee near {format_rate(knee.estimate, '/s')}, known to ±{format_ratio(min(knee.half_width_ratio, 9.99))}."
        )

    def run(self) -> None:
        try:
            self.ramp()
            self.narrow_gaps()
            self.fill_in()
            for _ in range(SHORT_ROUNDS):
                if self.fit() and not self.visits.has_credit():
                    self.short_round()
            long_rounds = 0
            while self.fit() and not (long_rounds >= LONG_ROUNDS_MIN and self.is_known()):
                self.say()
                self.long_round()
                long_rounds += 1
                self.visits.lengthen_on_credit()
            self.visits.ended = "its intervals were narrow enough" if self.knee.fit else "too few visits could be used"
        except TimeIsUp:
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
    visits = Visits(measure, plan, clock_ns, stop)
    found = _Search(visits, told)
    found.run()
    fit = found.knee.fit
    objective = found.goals[1] if len(found.goals) > 1 else None
    light_guess_ns = visits.light_guess_ns() or 1.0

    def crossing(goal: Goal) -> Crossing:
        left_out = goal.left_out(visits.made, light_guess_ns)
        found = crossing_of(goal, visits.made, visits.ended, [place for place, _ in left_out])
        return replace(found, left_out=left_out)

    knee = crossing(found.knee)
    capacity = None if fit is None else bounds_of(fit.capacity, len(visits.made))
    return LoadCurve(
        visits=tuple(visits.made),
        knee=knee,
        objective=plan.objective,
        within_objective=None if objective is None else crossing(objective),
        light_ns=None if fit is None else bounds_of(np.exp(fit.light_log), len(visits.made)),
        capacity_per_s=capacity and capacity_of(capacity, visits.made, [place for place, _ in knee.left_out]),
        fitted=() if fit is None else _drawn(fit),
        fitted_objective=() if objective is None or objective.fit is None else _drawn(objective.fit),
        doubts=tuple(doubts_of(found.goals, visits.made)),
        ended=visits.ended,
    )


def _drawn(fit: CurveFit) -> tuple[tuple[float, float], ...]:
    top = min(float(fit.points.load.max()), _NEAR_POLE * float(fit.capacity[0]))
    loads = top * (1 - (1 - np.linspace(0.0, 1.0, _DRAWN + 1)[1:]) ** 2)  # closer together where it is steep
    latencies = np.exp(fit.log_latency(loads)[0])
    return tuple(zip(loads.tolist(), latencies.tolist(), strict=True))
