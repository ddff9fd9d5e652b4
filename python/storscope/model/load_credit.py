"""What was served on credit only: by a write cache with room, the allowance of a limit, an empty queue.

A visit lived on credit if the same load or a lower one, visited for longer, was too much. Once there is credit, others
that were served more than lasts lived on it too. What lasts is what was served while more was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from storscope.domain.load_curve import PointKind, Visit
from storscope.domain.objective import MEAN
from storscope.model.load_figures import any_figure_of

KNEE_RATIO = 2.0
"""Mean latency at the knee over that at light load."""
_LONGER = 1.5
_SAME_LOAD = 1.01
_TOO_MUCH_RATIO = 3.0
"""A load is too much if it was overloaded, or if its mean is so many times that at the knee."""
_LASTING_ERROR = 1.01
"""What was served under overload may be wrong by so much: a limit lets requests through in slices."""


def light_guess_ns(visits: Sequence[Visit]) -> float | None:
    """The least mean of all visits."""
    means = [_mean_ns(visit) for visit in visits if visit.kind is PointKind.VALID]
    return min((mean for mean in means if mean is not None), default=None)


def outlasted(visits: Sequence[Visit]) -> list[Visit]:
    """Those that lived on credit."""
    direct, outlasting_ns = _direct(visits)
    if not direct:
        return []
    lasting, gone = lasting_per_s(visits), {id(visit) for visit in direct}
    return [
        visit
        for visit in visits
        if visit.kind is PointKind.VALID
        and (id(visit) in gone or (visit.offered_per_s > lasting and visit.duration_ns < outlasting_ns))
    ]


def lasting_per_s(visits: Sequence[Visit]) -> float:
    """What overloaded visits were served on average, with its error. Of long ones, where credit has the least share.

    A disturbance makes that less, so no less than another visit as long was served; without any, the highest load.
    """
    over = [visit for visit in visits if visit.kind is PointKind.OVERLOADED]
    if not over:
        return max(visit.offered_per_s for visit in visits)
    longest_ns = max(visit.duration_ns for visit in over)
    long = [visit for visit in over if 2 * visit.duration_ns >= longest_ns]
    mean = sum(_served(visit) * visit.duration_ns for visit in long) / sum(visit.duration_ns for visit in long)
    valid = [visit for visit in visits if visit.kind is PointKind.VALID and visit.duration_ns >= longest_ns]
    return _LASTING_ERROR * max(mean, *map(_served, valid), 0.0)


def _direct(visits: Sequence[Visit]) -> tuple[list[Visit], int]:
    """Those at whose load, or below, a longer visit was too much; and how long the longest of these was."""
    light_ns = light_guess_ns(visits)
    if light_ns is None:
        return [], 0
    knee_ns = KNEE_RATIO * light_ns
    valid = [visit for visit in visits if visit.kind is PointKind.VALID]
    quick = [visit for visit in valid if (_mean_ns(visit) or 0.0) < knee_ns]

    slow = [visit for visit in valid if (_mean_ns(visit) or 0.0) > _TOO_MUCH_RATIO * knee_ns]
    not_slow = [visit for visit in valid if visit not in slow]

    def is_gainsaid(over: Visit) -> bool:
        """Latency does not fall while load rises: what another visit took as long was not too much."""
        return any(
            visit.offered_per_s >= over.offered_per_s and _LONGER * visit.duration_ns >= over.duration_ns
            for visit in (valid if over.kind is PointKind.OVERLOADED else not_slow)
        )

    overloaded = [visit for visit in visits if visit.kind is PointKind.OVERLOADED]
    pairs = [
        (visit, longer)
        for served, too_much in ((valid, overloaded), (quick, slow))
        for longer in too_much
        if not is_gainsaid(longer)
        for visit in served
        if longer.offered_per_s < _SAME_LOAD * visit.offered_per_s and longer.duration_ns > _LONGER * visit.duration_ns
    ]
    return [visit for visit, _ in pairs], max((longer.duration_ns for _, longer in pairs), default=0)


def _mean_ns(visit: Visit) -> float | None:
    return any_figure_of(visit, MEAN)


def _served(visit: Visit) -> float:
    return visit.achieved_per_s or 0.0
