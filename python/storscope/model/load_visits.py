"""Visits to loads within a given time: how long each lasts, and what they showed so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from storscope.domain.load_curve import PointKind, Visit
from storscope.domain.objective import MEAN, LatencyFigure, Objective
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.model.load_credit import KNEE_RATIO, light_guess_ns, outlasted
from storscope.model.load_figures import requests_of

HALF_WIDTH_RATIO = 0.02
"""Intervals are narrow enough when half their width is at most this share of the estimate."""
INTERRUPTED = "it was interrupted"
"""How a search ends that somebody ends."""
_RAMP_NS = NS_PER_S // 2
_RAMP_REQUESTS = 300
_RAMP_SHARE = 1 / 30
_CUT = 8.0
"""A visit is hopeless at so many times the greatest latency that matters..."""
_CUT_LEAST_NS = 20 * NS_PER_MS
"""...but not at what a pause of the machine does. A queue that grows gets there soon."""
_VISIT_NS = 1_200_000_000
_VISIT_SERVICES = 400
"""A visit lasts so many times the latency at light load, for a queue to come and go."""
_VISIT_REQUESTS = 1.5
"""...and long enough for so many times the requests that a figure needs: a fifth of them is left out."""
_VISITS_IN_BUDGET, _LONGEST_SHARE = 48, 1 / 16
_LONG_VISIT_SHARE = 1 / 16
"""Of the time, for a visit of a long round..."""
_LONGER_ON_CREDIT = 1.5
"""...each longer than the last by this factor where there is credit: its share of what is served is the less."""
_RESERVE_SHARE = 1 / 30
"""Of the time, for what comes after the last visit."""


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


class TimeIsUp(Exception):
    """Neither more visits nor more rounds."""


@dataclass
class Visits:
    """Those that were made, and how the next one is made."""

    measure: Measure
    plan: SearchPlan
    clock_ns: Callable[[], int]
    stop: Callable[[], bool]
    made: list[Visit] = field(default_factory=list)
    ended: str = ""
    """Why there are no more."""
    overhead_ns: int = 0
    """A visit takes so much longer than it lasts, at most."""
    long_visit_share: float = _LONG_VISIT_SHARE

    def __post_init__(self) -> None:
        self.started_ns = self.clock_ns()

    def visit(self, rate_per_s: float, duration_ns: int) -> Visit:
        """Of that length, or shorter by what is left. Raises TimeIsUp if that is less than half."""
        left_ns = self.left_ns() - self.overhead_ns
        if self.stop():
            self.ended = INTERRUPTED
            raise TimeIsUp
        if duration_ns > 2 * left_ns:
            self.ended = "its time was up"
            raise TimeIsUp
        planned_ns = min(duration_ns, left_ns)
        visit = self.measure(rate_per_s, planned_ns, self.cut_ns())
        self.overhead_ns = max(self.overhead_ns, visit.cost_ns - planned_ns)
        self.made.append(visit)
        return visit

    def visit_near(self, rate_per_s: float) -> Visit:
        """Near a crossing: a long visit, where short ones live on credit."""
        return self.visit(rate_per_s, self.long_ns(rate_per_s) if self.has_credit() else self.short_ns(rate_per_s))

    # How long --------------------------------------------------------------------------------------------------------

    def left_ns(self) -> int:
        """Time for visits."""
        return round((1 - _RESERVE_SHARE) * self.plan.budget_ns) - (self.clock_ns() - self.started_ns)

    def ramp_ns(self, rate_per_s: float) -> int:
        """How long a visit of the ramp lasts."""
        wanted_ns = max(_RAMP_NS, _RAMP_REQUESTS / rate_per_s * NS_PER_S)
        return round(min(wanted_ns, self.plan.budget_ns * _RAMP_SHARE))

    def short_ns(self, rate_per_s: float) -> int:
        """How long a visit of a short round lasts."""
        objective = self.plan.objective
        needed = max(MEAN.requests_needed, objective.figure.requests_needed / self._share_of(objective.figure)
                     if objective else 0)  # fmt: skip
        services_ns = _VISIT_SERVICES * (self.light_guess_ns() or 0.0)
        requests_ns = _VISIT_REQUESTS * needed / rate_per_s * NS_PER_S
        wanted_ns = max(_VISIT_NS, services_ns, requests_ns, self.plan.budget_ns / _VISITS_IN_BUDGET)
        return round(min(wanted_ns, self.plan.budget_ns * _LONGEST_SHARE))

    def _share_of(self, figure: LatencyFigure) -> float:
        """How many of what the figure is of there are for each request, by the visits made."""
        there, every = (sum(requests_of(visit, one) for visit in self.made) for one in (figure, MEAN))
        return there / every if there and every else 1.0

    def long_ns(self, rate_per_s: float) -> int:
        """How long a visit of a long round lasts."""
        return max(self.short_ns(rate_per_s), round(self.plan.budget_ns * self.long_visit_share))

    def lengthen_on_credit(self) -> None:
        """After a long round."""
        self.long_visit_share *= _LONGER_ON_CREDIT if self.has_credit() else 1.0

    def cut_ns(self) -> float | None:
        """The mean at which a visit is hopeless; None while nothing is known."""
        light = self.light_guess_ns()
        if light is None:
            return None
        objective = self.plan.objective
        return max(_CUT_LEAST_NS, _CUT * max(KNEE_RATIO * light, objective.limit_ns if objective else 0.0))

    # What they showed ------------------------------------------------------------------------------------------------

    def light_guess_ns(self) -> float | None:
        """The least mean."""
        return light_guess_ns(self.made)

    def has_credit(self) -> bool:
        """Whether short visits were served what long ones were not."""
        return bool(outlasted(self.made))

    def lowest_overload(self) -> float | None:
        """The least load that was too much."""
        over = [visit.offered_per_s for visit in self.made if visit.kind is PointKind.OVERLOADED]
        return min(over, default=None)

    def highest_served(self) -> float | None:
        """The highest load that was not too much."""
        served = [visit.offered_per_s for visit in self.made if visit.kind is PointKind.VALID]
        return max(served, default=None)

    def is_generator_limit(self) -> bool:
        """Whether the last ones all failed for this machine."""
        last = self.made[-3:]
        return len(last) == 3 and all(visit.kind is PointKind.INVALID for visit in last)
