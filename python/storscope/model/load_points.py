"""Visits to loads as points of a curve: which figure, which visits count, and how exact each is.

Two kinds of visits are left out, for latency does not fall while load rises:

- *Disturbed*: a higher load, visited for at least half as long, was served much quicker. Something else was in the way,
  and what is in the way only ever makes latency longer.
- *Outlasted*: a lower load, visited for longer, was more than could be served. The shorter visit lived on credit: a
  write cache, the allowance of a limit, an empty queue.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from storscope.domain.load_curve import PointKind, Visit
from storscope.domain.objective import LatencyFigure
from storscope.domain.units import NS_PER_S
from storscope.model.load_curve import Points

SERVICE = "service "
"""Before the name of a figure that is of service time."""
_IN_TIME_SHARE = 0.7
_DISTURBED_LOG, _DISTURBED_CHANCE = 0.3, 6.0
"""A visit was disturbed if its log latency is above that of a higher load by more than the first, and the second over
the root of the requests: three deviations of both means in M/M/1 at half its capacity (see `model.load_curve`)."""
_ITS_ERROR = 1.02
_DISTURBING_TIME = 0.5
_OUTLASTING_TIME = 1.5


def figure_of(visit: Visit, figure: LatencyFigure, basis: str) -> float | None:
    """By one way to count: SERVICE, or nothing for response."""
    return visit.figure_ns(basis + figure.name)


def any_figure_of(visit: Visit, figure: LatencyFigure) -> float | None:
    """Of response time if the visit tells it, else of service time."""
    value = figure_of(visit, figure, "")
    return figure_of(visit, figure, SERVICE) if value is None else value


def basis_of(visits: Sequence[Visit], figure: LatencyFigure) -> str:
    """Response if most visits tell it, else service."""
    valid = [visit for visit in visits if visit.kind is PointKind.VALID]
    told = {basis: sum(figure_of(visit, figure, basis) is not None for visit in valid) for basis in ("", SERVICE)}
    return SERVICE if told[""] < _IN_TIME_SHARE * told[SERVICE] else ""


def points_of(visits: Sequence[Visit], figure: LatencyFigure, basis: str, bound_ns: float) -> Points:
    """What counts for a figure.

    Of an overloaded visit only this counts: that latency was above `bound_ns`. By how much is chance. Another visit
    above that counts twice: as it is, and as saying the same of a load that is higher by its own error.
    """
    told = [visit for visit in visits if (figure_of(visit, figure, basis) or 0.0) > 0.0]
    gone = {id(visit) for visit in outlasted(told)}
    lasting = [visit for visit in told if id(visit) not in gone]

    def latency(visit: Visit) -> float:
        return bound_ns if visit.kind is PointKind.OVERLOADED else figure_of(visit, figure, basis) or 0.0

    gone |= {id(visit) for visit in disturbed(lasting, latency)}
    kept = [visit for visit in lasting if id(visit) not in gone]
    rows = [
        (visit.offered_per_s, latency(visit), visit.kind is PointKind.OVERLOADED, _requests(visit)) for visit in kept
    ]
    rows += [
        (visit.offered_per_s * _ITS_ERROR, bound_ns, True, _requests(visit))
        for visit in kept
        if visit.kind is PointKind.VALID and latency(visit) > bound_ns
    ]
    load, latency_ns, is_bound, requests = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return Points(load, np.log(latency_ns), is_bound > 0, requests, _variance(figure) / requests)


def outlasted(visits: Sequence[Visit]) -> list[Visit]:
    """Those that were served what a longer visit shows to be too much."""
    valid = [visit for visit in visits if visit.kind is PointKind.VALID]

    def is_gainsaid(over: Visit) -> bool:
        return any(
            visit.offered_per_s >= over.offered_per_s and _OUTLASTING_TIME * visit.duration_ns >= over.duration_ns
            for visit in valid
        )

    over = [visit for visit in visits if visit.kind is PointKind.OVERLOADED and not is_gainsaid(visit)]

    def is_outlasted(visit: Visit) -> bool:
        return any(
            longer.offered_per_s < visit.offered_per_s and longer.duration_ns > _OUTLASTING_TIME * visit.duration_ns
            for longer in over
        )

    return [visit for visit in valid if is_outlasted(visit)]


def disturbed(visits: Sequence[Visit], latency_ns: Callable[[Visit], float]) -> list[Visit]:
    """Those with a latency that a higher load did not have."""
    calm = [visit for visit in visits if visit.kind is PointKind.VALID]

    def is_disturbed(visit: Visit) -> bool:
        return any(
            other.offered_per_s >= visit.offered_per_s
            and other.duration_ns >= _DISTURBING_TIME * visit.duration_ns
            and math.log(latency_ns(visit) / latency_ns(other)) > _tolerance(visit, other)
            for other in calm
        )

    return [visit for visit in visits if is_disturbed(visit)]


def _tolerance(one: Visit, other: Visit) -> float:
    return _DISTURBED_LOG + _DISTURBED_CHANCE / math.sqrt(min(_requests(one), _requests(other)))


def _requests(visit: Visit) -> float:
    return max(1.0, (visit.achieved_per_s or 0.0) * visit.duration_ns / NS_PER_S)


def _variance(figure: LatencyFigure) -> float:
    """Of the log of a figure of one exponential latency: 1 for the mean, else q / ((1 - q) ln(1 - q)^2)."""
    if figure.share is None:
        return 1.0
    return figure.share / ((1 - figure.share) * math.log(1 - figure.share) ** 2)
