"""Rates at which nobody was held, though operations waited: as much was done while nobody waited.

Who asks for the same all the time is done the same all the time, on storage that got slow as well: the rate stands
still because it is what is asked for. A limiter shows only where more is asked than it lets through. So where the calm
intervals, in which no operation waited, have the rate at which others waited, nothing was asked beyond it.

A load that comes near a limit without reaching it has calm intervals near it, too; but none above it, and rates that
differ more there than at the limit, which cuts them off. That is told apart.
"""

from __future__ import annotations

import numpy as np

from storscope.diagnose.rules._asked import WAITING_FACTOR, Asked
from storscope.domain.arrays import BoolArray
from storscope.model.plateau import Plateau

_CALM_SHARE = 0.25
"""Part of the calm intervals near the rate from which it is one that is asked for (ours): a load that wanders between
nothing and a limit has a tenth or so within 12 % of it."""
_ABOVE_SHARE = 0.25
"""Part of those near the rate that must lie above it (ours): half of an even load, hardly any of one below a limit."""
_CALM_MOST = 0.5
"""Part of the calm intervals near the rate from which how they differ tells as well (ours)."""
_AS_UNEVEN = 0.8
"""Deviation at the rate over that of the calm intervals near it, from which nothing cut it off (ours)."""
_SLOW_SHARE = 1 / 3
"""Part of the intervals in which operations take long that must be at the rate (ours)."""


def is_chosen_by_queue(asked: Asked, plateau: Plateau) -> bool:
    """Whether most of the slow time had no queue: the intervals with one are those with the most load, and so alike."""
    return plateau.count < _SLOW_SHARE * int((asked.at_work & ~_calm(asked)).sum())


def is_as_when_calm(asked: Asked, measure: str, plateau: Plateau, width: float) -> bool:
    """Whether as much was done while no operation waited, so that nothing shows more to have been asked for.

    False where nothing was ever calm: of what always has a queue the latency tells no waiting.
    """
    if asked.is_never_alone:
        return False
    rate, calm = asked.rates[measure], _calm(asked)
    near = calm & (np.abs(rate - plateau.level) <= width * plateau.level)
    if not near.any():
        return False
    share = near.sum() / calm.sum()
    if share >= _CALM_SHARE and (rate[near] > plateau.level).mean() >= _ABOVE_SHARE:
        return True
    return bool(share >= _CALM_MOST and plateau.spread >= _AS_UNEVEN * rate[near].std() / rate[near].mean())


def _calm(asked: Asked) -> BoolArray:
    """The intervals at work in which operations took about as long as they take alone."""
    with np.errstate(invalid="ignore"):
        quick = asked.series["latency_ns_mean"] < WAITING_FACTOR * asked.alone_ns
    result: BoolArray = asked.at_work & quick & ~asked.waits
    return result
