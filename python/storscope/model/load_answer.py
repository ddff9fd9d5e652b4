"""What a search for the knee says in the end: the crossings, or why there is none, and what is to be doubted."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from storscope.domain.load_curve import SERVICE, Bounds, Crossing, PointKind, Visit
from storscope.domain.objective import MEAN, LatencyFigure
from storscope.domain.units import format_duration, format_rate, format_ratio, format_span
from storscope.model.load_credit import outlasted
from storscope.model.load_curve import VISITS_MIN, CurveFit
from storscope.model.load_figures import figure_of, requests_of
from storscope.model.load_goal import Goal
from storscope.model.load_visits import INTERRUPTED

_WHAT = {None: "requests", "read": "reads", "write": "writes", "flush": "flushes"}
_VARIED = "latency varied more from visit to visit than with the load"
_WIDE = 0.5
"""An estimate that may be wrong by so much is none."""
_DOUBTFUL = 0.07
_BEYOND_TOP = 1.05
_HIGH_SHARE = 0.9
_DRIFT_DEVIATIONS, _DRIFT_MIN = 3.0, 0.05
_DRIFT_VISITS_MIN = 8
_DRIFT_STEEP = 0.5
"""Where latency rises less than by this for one of load, it says nothing of the load."""
_NEAR_LOG = 0.8
_WALL_ELASTICITY = 18.0
"""Latency that rises by more per cent for one of load meets a limit, not a queue: 16 servers have 13 at their knee."""
_WALL_HALF_WIDTH = 0.03
"""No wall is known better. Visits tell only on which side they were, by chance and by what the limit had saved up: of
20 searches of a limit by tokens the intervals of resamples alone held it in 13, with this in 19."""


def crossing_of(goal: Goal, visits: Sequence[Visit], ended: str, left_out: Collection[int] = ()) -> Crossing:
    """The load, or the reason why none is given. `left_out` are places of visits that do not count for the figure."""
    basis = goal.basis + goal.figure.name
    limit_ns = goal.objective.limit_ns if goal.objective else None
    if goal.fit is None or goal.crossing is None:
        return Crossing(basis, limit_ns, None, _why_no_curve(goal, visits, ended))
    if limit_ns is None:
        limit_ns = float(np.exp(goal.target_log(goal.fit)[0]))
    reason = _why_none(goal, goal.crossing, visits, limit_ns, left_out)
    return Crossing(basis, limit_ns, None if reason else _widened(goal.fit, goal.crossing), reason)


def _widened(fit: CurveFit, found: Bounds) -> Bounds:
    """At least as wide as a limit that lets no more pass is known."""
    if fit.elasticity(np.array([found.estimate]))[0] < _WALL_ELASTICITY:
        return found
    least = _WALL_HALF_WIDTH * found.estimate
    return Bounds(found.estimate, min(found.low, found.estimate - least), max(found.high, found.estimate + least))


def capacity_of(fitted: Bounds, visits: Sequence[Visit], left_out: Collection[int]) -> Bounds:
    """The pole of the curve of the mean, known no better than that what was served can be served.

    Resamples of a curve know how its points scatter around it, and not that it is the wrong one: one that a disturbed
    visit bends ends below loads that other visits carried. `left_out` are places of visits that do not count.
    """
    served = (
        visit.achieved_per_s or 0.0
        for place, visit in enumerate(visits)
        if visit.kind is PointKind.VALID and place not in left_out
    )
    return replace(fitted, high=max([fitted.high, *served]))


def _why_no_curve(goal: Goal, visits: Sequence[Visit], ended: str) -> str:
    invalid = [visit for visit in visits if visit.kind is PointKind.INVALID]
    valid = [visit for visit in visits if visit.kind is PointKind.VALID]
    told = [visit for visit in valid if figure_of(visit, goal.figure, goal.basis) is not None]
    if 2 * len(invalid) > len(visits):
        return f"{len(invalid)} of {len(visits)} visits cannot be used; the last: {invalid[-1].reason}"
    if _is_never_met(goal, valid):
        return _not_even(valid, MEAN, goal.basis)
    if valid and 2 * len(told) < len(valid):
        why = _why_not_told(goal, valid, told, ended)
        return f"only {len(told)} of {len(valid)} visits tell the {goal.figure.name}{why}"
    if not valid:
        return f"every load was too much, down to {format_rate(min(v.offered_per_s for v in visits), '/s')}" if (
            visits) else "no visit was made"  # fmt: skip
    if len(told) >= VISITS_MIN:
        return (
            f"of {len(told)} visits too few agree: latency was often longer at a load than at a higher one, so "
            "something else than the load made it"
        )  # fmt: skip
    return f"only {len(told)} visits could be used before {ended or 'the end'}{_more_time(ended)}"


def _more_time(ended: str) -> str:
    """Of a search that somebody ended, who knows that it had less time than it would have taken, nothing."""
    return "" if ended == INTERRUPTED else "; allow more time (--max-duration)"


def _why_not_told(goal: Goal, valid: Sequence[Visit], told: Sequence[Visit], ended: str) -> str:
    """Too few requests is a matter of time; with enough of them, too many left late."""
    needed = goal.figure.requests_needed
    others = [visit for visit in valid if visit not in told]
    late = [visit for visit in others if visit.reason and requests_of(visit, goal.figure) >= needed]
    if 2 * len(late) > len(others):
        return f": in the others this machine submitted too late, the last {late[-1].reason}"
    return f", for which {needed:,} {_WHAT[goal.figure.direction]} in time are needed{_more_time(ended)}"


def _why_none(goal: Goal, found: Bounds, visits: Sequence[Visit], limit_ns: float, left_out: Collection[int]) -> str:
    """Why the crossing of the curve is no answer; empty if it is one. Only visits that tell the figure say anything."""
    telling = [visit for visit in visits if figure_of(visit, goal.figure, goal.basis) is not None]
    counting = [visit for place, visit in enumerate(visits) if place not in left_out and visit in telling] or telling
    top = max(counting, key=lambda visit: visit.offered_per_s)
    if found.estimate > _BEYOND_TOP * top.offered_per_s:
        return (
            f"up to {format_rate(top.offered_per_s, '/s')}, the highest load {_measured(goal, visits, top)}, the "
            f"{goal.figure.name} stays below {format_duration(limit_ns)}{_above_that(visits, top)}"
        )
    light = min(counting, key=lambda visit: visit.offered_per_s)
    if found.estimate <= 0 or found.estimate < light.offered_per_s / 2:
        return _met_by_some(goal, counting, limit_ns) or _not_even(counting, goal.figure, goal.basis)
    if found.half_width_ratio > _WIDE:
        return f"it is somewhere from {format_rate(found.low, '/s')} to {format_rate(found.high, '/s')}: {_VARIED}"
    return ""


def _measured(goal: Goal, visits: Sequence[Visit], top: Visit) -> str:
    """How the highest load that tells a figure is called: visits of higher ones may tell other figures."""
    others = (visit for visit in visits if visit.kind is not PointKind.INVALID)
    is_highest = all(visit.offered_per_s <= top.offered_per_s for visit in others)
    return "that could be measured" if is_highest else f"that tells the {goal.figure.name}"


def _met_by_some(goal: Goal, visits: Sequence[Visit], limit_ns: float) -> str:
    """Why a curve that is above the limit at any load is no answer; empty where no visit was below it."""
    valid = [visit for visit in visits if visit.kind is PointKind.VALID]
    met = [visit for visit in valid if (figure_of(visit, goal.figure, goal.basis) or math.inf) < limit_ns]
    if not met:
        return ""
    return (
        f"{len(met)} of {len(visits)} visits were below {format_duration(limit_ns)}, up to "
        f"{format_rate(max(visit.offered_per_s for visit in met), '/s')}, the others not: {_VARIED}"
    )


def _not_even(visits: Sequence[Visit], figure: LatencyFigure, basis: str) -> str:
    """What the lightest of the visits that tell a figure saw; lighter ones may have too few requests for it."""
    light = min((one for one in visits if figure_of(one, figure, basis) is not None), key=lambda one: one.offered_per_s)
    seen = format_duration(figure_of(light, figure, basis))
    words = "the mean" if figure == MEAN else figure.name
    return f"not even {format_rate(light.offered_per_s, '/s')} meet it: {words} was {seen} there"


def _is_never_met(goal: Goal, valid: Sequence[Visit]) -> bool:
    """Whether the mean alone was above the limit of a high percentile in all that tell it: no time would help.

    A percentile may be below a mean that stalls made, but hardly in every visit. That of one direction may well be.
    """
    if goal.objective is None or goal.figure.direction is not None or (goal.figure.share or 0.0) < _HIGH_SHARE:
        return False
    means = [mean for visit in valid if (mean := figure_of(visit, MEAN, goal.basis)) is not None]
    return len(means) >= VISITS_MIN and min(means) > goal.objective.limit_ns


def _above_that(visits: Sequence[Visit], top: Visit) -> str:
    """Why nothing higher was measured, if it was tried."""
    failed = [visit for visit in visits if visit.kind is PointKind.INVALID and visit.offered_per_s > top.offered_per_s]
    if not failed:
        return ""
    first = min(failed, key=lambda visit: visit.offered_per_s)
    return f"; at {format_rate(first.offered_per_s, '/s')} the limit is this machine, not the storage ({first.reason})"


# Doubts ---------------------------------------------------------------------------------------------------------------


def doubts_of(goals: Sequence[Goal], visits: Sequence[Visit]) -> Iterator[str]:
    """In sentences."""
    invalid = [visit for visit in visits if visit.kind is PointKind.INVALID]
    if invalid:
        which = "; the last" if len(invalid) > 1 else ""
        yield f"{len(invalid)} of {len(visits)} visits cannot be used{which}: {invalid[-1].reason}."
    by_service = [goal.figure.name for goal in goals if goal.basis == SERVICE]
    if by_service:
        yield (
            f"Latency ({' and '.join(dict.fromkeys(by_service))}) counts from the submission, not from the arrival: "
            "this machine submits too late, compared with how quick the target is, to tell them together."
        )  # fmt: skip
    yield from _credit_doubts(visits)
    for goal in goals:
        if goal.known is not None:
            yield from _goal_doubts(goal, *goal.known)


def _credit_doubts(visits: Sequence[Visit]) -> Iterator[str]:
    credit = outlasted(visits)
    if credit:
        most = max(credit, key=lambda visit: visit.offered_per_s)
        yield (
            f"For {format_span(most.duration_ns)} {format_rate(most.offered_per_s, '/s')} were served, but not for "
            "longer: the storage has something to spend (a cache, the allowance of a limit). The answer is what lasts."
        )  # fmt: skip


def _goal_doubts(goal: Goal, fit: CurveFit, crossing: Bounds) -> Iterator[str]:
    if crossing.half_width_ratio > _WIDE:
        return
    what = "knee" if goal.objective is None else "load that meets the objective"
    if crossing.half_width_ratio > _DOUBTFUL:
        yield (
            f"The {what} is known to ±{format_ratio(crossing.half_width_ratio)} only; a longer --max-duration or a "
            "quieter machine makes it narrower."
        )
    drift = _drift(fit, crossing.estimate)
    if abs(drift) > _DRIFT_MIN:
        yield (
            f"The {what} drifted by {'+' if drift > 0 else '−'}{format_ratio(abs(drift))} between the first and the "
            "second half of the search: the storage or the machine changed."
        )


def _drift(fit: CurveFit, load: float) -> float:
    """By how much the crossing moved from the first half of its visits to the second; 0 where that may be chance."""
    points = fit.points
    at = fit.log_latency(np.array([load]))[0, 0]
    predicted = fit.log_latency(points.load)[0]
    steep = fit.elasticity(points.load)
    near = (np.abs(predicted - at) < _NEAR_LOG) & (steep > _DRIFT_STEEP) & ~points.is_bound
    if near.sum() < _DRIFT_VISITS_MIN:
        return 0.0
    moved = -(points.log_latency - predicted)[near] / steep[near]
    first, second = np.array_split(moved, 2)
    deviation = math.hypot(first.std(ddof=1) / math.sqrt(len(first)), second.std(ddof=1) / math.sqrt(len(second)))
    change = float(np.median(second) - np.median(first))
    return change if abs(change) > _DRIFT_DEVIATIONS * deviation else 0.0
