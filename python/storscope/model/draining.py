"""How long what is left of a stock lasts at the pace at which it was used up of late.

A stock is told as a level at instants. What matters is the time since it was fullest last: before that it was filled
again. The pace is what was lost since then by the time it took, with an interval from resampling of the steps
(`bootstrap`); what is left over it is how long it lasts, of a load that goes on as it was. By
simulation one of 95 % holds the truth in about nine cases of ten where the load of neighbouring steps hangs together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from storscope.domain.arrays import FloatArray
from storscope.model.bootstrap import Interval, ratio_interval
from storscope.model.student import two_sided_quantile

_STEPS_MIN = 5
"""Steps from which a pace can be told (ours)."""
_NEAR_FULL = 0.01
"""Part of a full stock below the fullest level that still is as full (ours): levels are told in per cent."""
_STILL = 0.5
"""Part of the whole pace that the later half must have kept, for the stock to be falling still (ours)."""


@dataclass(frozen=True)
class Draining:
    """A level that falls at its end."""

    first: int
    """The sample at which it was fullest last."""
    level: float
    """What is left."""
    lost: float
    """What was lost since the first sample."""
    lasts_s: Interval
    """How long what is left lasts."""


def draining(times_s: FloatArray, levels: FloatArray, *, seed: int = 0) -> Draining | None:
    """What is known of a level between 0 and 1 that falls at the end of its times; None of one that does not surely."""
    if not len(levels):
        return None
    first = int(np.flatnonzero(levels >= levels.max() - _NEAR_FULL)[-1])
    steps_s, lost = np.diff(times_s[first:]), -np.diff(levels[first:])
    if len(lost) < _STEPS_MIN or not levels[-1] > 0:
        return None
    pace = ratio_interval(lost, steps_s, seed=seed)
    late = len(lost) // 2
    if not pace.low > 0 or lost[late:].sum() < _STILL * pace.estimate * steps_s[late:].sum():
        return None
    level = float(levels[-1])
    return Draining(first, level, float(lost.sum()), _lasts_s(level, pace, float(steps_s.sum())))


def _lasts_s(level: float, pace: Interval, watched_s: float) -> Interval:
    """What is left over the pace. That of the time to come is a draw of its own, over as long as it lasts: its variance
    comes on top, as that of a mean goes with one over its time."""
    lasts_s = level / pace.estimate
    few = two_sided_quantile(pace.level, max(pace.blocks - 1, 1)) / NormalDist().inv_cdf((1.0 + pace.level) / 2.0)
    widen = few * math.sqrt(1.0 + watched_s / lasts_s)
    low, high = (lasts_s * (pace.estimate / bound) ** widen for bound in (pace.high, pace.low))
    return Interval(lasts_s, low, high, pace.level, pace.blocks)
