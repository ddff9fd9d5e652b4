"""A crossing that is looked for on a load curve: the knee, or where an objective is just met."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storscope.domain.load_curve import Bounds, PointKind, Visit
from storscope.domain.objective import MEAN, LatencyFigure, Objective
from storscope.model.bootstrap import FloatArray
from storscope.model.load_credit import KNEE_RATIO, outlasted
from storscope.model.load_curve import CurveFit, bounds_of, fit_curve
from storscope.model.load_figures import figure_of
from storscope.model.load_points import basis_of, left_out, points_of

_BOUND_RATIO = 3.0
"""An overloaded visit would have reached so many times the limit at least."""
_MATTERS = 0.3
"""Below this share of an objective's limit a visit may have been disturbed."""
_GAP = 1.1
_KNEE_LEVELS = ((1.5, -0.2, -0.02), (2.0, 0.0, 0.0), (2.8, 0.02, 0.2))
"""Latency over that at light load, and how far the load may be from the crossing."""
_OBJECTIVE_LEVELS = ((0.7, -0.15, -0.015), (1.0, 0.0, 0.0), (1.45, 0.015, 0.15))


@dataclass
class Goal:
    """A crossing, and what is known of it by now. Without an objective it is the knee."""

    objective: Objective | None = None
    fit: CurveFit | None = None
    basis: str = ""
    """Nothing, or SERVICE: the way to count that most visits tell."""
    crossing: Bounds | None = None

    @property
    def figure(self) -> LatencyFigure:
        """What is watched."""
        return MEAN if self.objective is None else self.objective.figure

    @property
    def known(self) -> tuple[CurveFit, Bounds] | None:
        """The curve and the crossing; None if there is none (at no load is latency so low)."""
        if self.fit is None or self.crossing is None or self.crossing.estimate <= 0:
            return None
        return self.fit, self.crossing

    def learn(self, visits: Sequence[Visit], light_ns: float, *, replicates: int, seed: int) -> None:
        """Fits the curve to all visits."""
        self.basis = basis_of(visits, self.figure)
        points = points_of(visits, self.figure, self.basis, *self._levels_ns(light_ns))
        self.fit = fit_curve(points, replicates=replicates, seed=seed) if points.is_enough else None
        self.crossing = None
        if self.fit is not None:
            loads = self._crossing(self.fit)
            self.crossing = bounds_of(loads, self.fit.visits_near(float(loads[0])))
            self.crossing = _over_gap(self.crossing, self.gap(visits, light_ns))

    def _crossing(self, fit: CurveFit) -> FloatArray:
        if self.objective is None or self.objective.figure.share is None:
            return fit.crossing(self.target_log(fit))
        return fit.crossing_by_share(math.log(self.objective.limit_ns), self.objective.figure.share)

    def left_out(self, visits: Sequence[Visit], light_ns: float) -> tuple[tuple[int, str], ...]:
        """Which visits the curve is not put through, by their places, and why."""
        return left_out(visits, self.figure, basis_of(visits, self.figure), *self._levels_ns(light_ns))

    def _levels_ns(self, light_ns: float) -> tuple[float, float]:
        """What an overloaded visit would have reached at least, and below what a visit may have been disturbed."""
        if self.objective is None:
            return _BOUND_RATIO * KNEE_RATIO * light_ns, 0.0
        return _BOUND_RATIO * self.objective.limit_ns, _MATTERS * self.objective.limit_ns

    def gap(self, visits: Sequence[Visit], light_ns: float) -> tuple[float, float] | None:
        """Loads without a visit between them: the crossing is somewhere there. None if they are near each other.

        What was served on credit only (`model.load_credit`) was not served.
        """
        limit_ns = KNEE_RATIO * light_ns if self.objective is None else self.objective.limit_ns
        basis = basis_of(visits, self.figure)
        on_credit = {id(visit) for visit in outlasted(visits)}
        below, above = 0.0, math.inf
        for visit in visits:
            value = figure_of(visit, self.figure, basis)
            is_served = visit.kind is PointKind.VALID and id(visit) not in on_credit
            if is_served and value is not None and value < limit_ns:
                below = max(below, visit.offered_per_s)
        for visit in visits:
            value = figure_of(visit, self.figure, basis)
            is_over = visit.kind is PointKind.OVERLOADED or (value is not None and value >= limit_ns)
            if is_over and visit.offered_per_s > below:
                above = min(above, visit.offered_per_s)
        return (below, above) if below > 0 and _GAP * below < above < math.inf else None

    def target_log(self, fit: CurveFit) -> FloatArray:
        """Log latency that is looked for, for each curve of the fit."""
        if self.objective is None:
            return fit.light_log + math.log(KNEE_RATIO)
        return np.full(len(fit.capacity), math.log(self.objective.limit_ns))

    def loads(self, *, at_crossing: bool) -> list[float]:
        """Below the crossing, at it if wanted, and above it."""
        if self.known is None:
            return []
        fit, crossing = self.known
        target, at = self.target_log(fit), crossing.estimate
        by_curve = float(fit.crossing(target)[0]) or at
        loads = []
        for ratio, least, most in _KNEE_LEVELS if self.objective is None else _OBJECTIVE_LEVELS:
            if least == most and not at_crossing:
                continue
            relative = ratio if self.objective is not None else ratio / KNEE_RATIO
            found = float(fit.crossing(target + math.log(relative))[0])
            loads.append(at * (1 + min(max(found / by_curve - 1, least), most)))
        return loads


def _over_gap(found: Bounds, gap: tuple[float, float] | None) -> Bounds:
    """What is known is no better than the gap that it is in."""
    if gap is None or not gap[0] / _GAP <= found.estimate <= gap[1] * _GAP:
        return found
    return Bounds(found.estimate, min(found.low, gap[0]), max(found.high, gap[1]))
