"""Visits to loads as points of a curve: which figure, which visits count, and how exact each is.

Two kinds of visits are left out, for latency does not fall while load rises:

- *Disturbed*: a higher load, visited for at least half as long (where there is credit: longer by half), was served much
  quicker. Something else was in the way, and what is in the way only ever makes latency longer. Of what is far below
  the limit that is looked for it does not matter.
- *Outlasted*: it lived on credit, see `model.load_credit`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from storscope.domain.load_curve import SERVICE, PointKind, Visit
from storscope.domain.objective import MEAN, LatencyFigure
from storscope.model.load_credit import lasting_per_s, outlasted
from storscope.model.load_curve import Points
from storscope.model.load_figures import figure_of, requests_of

_IN_TIME_SHARE = 0.7
_DISTURBED_LOG, _DISTURBED_CHANCE = 0.3, 6.0
"""A visit was disturbed if its log latency is above that of a higher load by more than the first, and the second over
the root of the requests: three deviations of both means in M/M/1 at half its capacity (see `model.load_curve`)."""
_ITS_ERROR = 1.02
ON_CREDIT = "served on credit: for longer, such a load was too much"
DISTURBED = "disturbed: a higher load was served much quicker"
_DISTURBING_TIME, _DISTURBING_TIME_WITH_CREDIT = 0.5, 1.5


def basis_of(visits: Sequence[Visit], figure: LatencyFigure) -> str:
    """Response if most visits tell it, else service."""
    valid = [visit for visit in visits if visit.kind is PointKind.VALID]
    told = {basis: sum(figure_of(visit, figure, basis) is not None for visit in valid) for basis in ("", SERVICE)}
    return SERVICE if told[""] < _IN_TIME_SHARE * told[SERVICE] else ""


def points_of(
    visits: Sequence[Visit], figure: LatencyFigure, basis: str, bound_ns: float, least_ns: float = 0.0
) -> Points:
    """What counts for a figure, where latencies below `least_ns` do not matter.

    Of an overloaded visit only this counts: that latency was above `bound_ns`. By how much is chance. Another visit
    above that counts twice: as it is, and as saying the same of a load that is higher by its own error. Where there is
    credit, what lasts is such a bound too, if an overloaded visit tells it.
    """
    told, latency = _told(visits, figure, basis), _latency(figure, basis, bound_ns)
    credit, gone = _outlasted_and_disturbed(told, figure, latency, least_ns)
    unwanted = {id(visit) for visit in (*credit, *gone)}
    kept = [visit for visit in told if id(visit) not in unwanted]
    rows = [
        (visit.offered_per_s, latency(visit), visit.kind is PointKind.OVERLOADED, _requests(visit, figure))
        for visit in kept
    ]
    bounds = [
        (visit.offered_per_s * _ITS_ERROR, bound_ns, True, _requests(visit, figure))
        for visit in kept
        if visit.kind is PointKind.VALID and latency(visit) > bound_ns
    ]
    overloaded = [visit for visit in kept if visit.kind is PointKind.OVERLOADED]
    if credit and overloaded:
        bounds.append((lasting_per_s(told), bound_ns, True, sum(_requests(visit, figure) for visit in overloaded)))
    load, latency_ns, is_bound, requests = np.array(rows + bounds, dtype=np.float64).reshape(-1, 4).T
    above = np.array([_above(visit, figure, basis) for visit in kept] + [math.nan] * len(bounds))
    return Points(load, np.log(latency_ns), is_bound > 0, requests, _variance(figure) / requests, above)


def _above(visit: Visit, figure: LatencyFigure, basis: str) -> float:
    """Share of its requests above the limit; NaN of one that was overloaded, or does not tell it."""
    return visit.above_limit.get(basis + figure.name, math.nan) if visit.kind is PointKind.VALID else math.nan


def left_out(
    visits: Sequence[Visit], figure: LatencyFigure, basis: str, bound_ns: float, least_ns: float = 0.0
) -> tuple[tuple[int, str], ...]:
    """Which visits tell the figure and still do not count for it: their places, and why. See `points_of`."""
    latency = _latency(figure, basis, bound_ns)
    credit, gone = _outlasted_and_disturbed(_told(visits, figure, basis), figure, latency, least_ns)
    why = {id(visit): ON_CREDIT for visit in credit} | {id(visit): DISTURBED for visit in gone}
    return tuple((place, why[id(visit)]) for place, visit in enumerate(visits) if id(visit) in why)


def _told(visits: Sequence[Visit], figure: LatencyFigure, basis: str) -> list[Visit]:
    return [visit for visit in visits if (figure_of(visit, figure, basis) or 0.0) > 0.0]


def _latency(figure: LatencyFigure, basis: str, bound_ns: float) -> Callable[[Visit], float]:
    def latency(visit: Visit) -> float:
        return bound_ns if visit.kind is PointKind.OVERLOADED else figure_of(visit, figure, basis) or 0.0

    return latency


def _outlasted_and_disturbed(
    told: Sequence[Visit], figure: LatencyFigure, latency: Callable[[Visit], float], least_ns: float
) -> tuple[list[Visit], list[Visit]]:
    credit = outlasted(told)
    gone = {id(visit) for visit in credit}
    lasting = [visit for visit in told if id(visit) not in gone]
    disturbing_time = _DISTURBING_TIME_WITH_CREDIT if credit else _DISTURBING_TIME
    found = disturbed(lasting, latency, disturbing_time, figure)
    return credit, [visit for visit in found if latency(visit) > least_ns]


def disturbed(
    visits: Sequence[Visit],
    latency_ns: Callable[[Visit], float],
    time_share: float = _DISTURBING_TIME,
    figure: LatencyFigure = MEAN,
) -> list[Visit]:
    """Those with a latency that a higher load, visited for at least that share of the time, did not have.

    Of a short visit fewer may arrive than were asked for. A load above what the device does is told from that only by
    one that did more.
    """
    calm = [visit for visit in visits if visit.kind is PointKind.VALID]

    def is_disturbed(visit: Visit) -> bool:
        least_done_per_s = visit.achieved_per_s if visit.kind is PointKind.OVERLOADED else None
        return any(
            other.offered_per_s >= visit.offered_per_s
            and (other.achieved_per_s or 0.0) >= (least_done_per_s or 0.0)
            and other.duration_ns >= time_share * visit.duration_ns
            and math.log(latency_ns(visit) / latency_ns(other))
            > _tolerance(_requests(visit, figure), _requests(other, figure))
            for other in calm
        )

    return [visit for visit in visits if is_disturbed(visit)]


def _tolerance(*requests: float) -> float:
    return _DISTURBED_LOG + _DISTURBED_CHANCE / math.sqrt(min(requests))


def _requests(visit: Visit, figure: LatencyFigure) -> float:
    return max(1.0, requests_of(visit, figure))


def _variance(figure: LatencyFigure) -> float:
    """Of the log of a figure of one exponential latency: 1 for the mean, else q / ((1 - q) ln(1 - q)^2)."""
    if figure.share is None:
        return 1.0
    return figure.share / ((1 - figure.share) * math.log(1 - figure.share) ** 2)
