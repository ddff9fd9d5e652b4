"""Where a percentile is at its limit, by how many requests take longer than that.

The percentile of a short visit is mostly too low: near the capacity it rests on few long queues, or on none. Of M/D/1
with 1,000 services per second, 885 arrivals and a p99 of 19.8 ms, the logarithms of what visits of 1.25 and 3.75 s tell
average to 14.8 and 17.2 ms, and a curve through them has the limit at too high a load. The share of the requests that
take longer than a limit is right on average, however short a visit is.

The logarithm of that share is a line over 1 - limit / percentile where times beyond the limit are exponential (as those
of a queue are: Asmussen 2003, "Applied Probability and Queues", XIII), and near the limit of anything. That line is
put through the visits near the crossing, with the percentiles of the curve: a regression of counts with a logarithmic
link (McCullagh and Nelder 1989, "Generalized Linear Models", 9.2). Requests beyond a limit come in clusters, which are
as large as the queue takes time to forget: with the square of its latency near the capacity (Whitt 1989, see
`model.load_curve`). So visits with higher latencies weigh less.
"""

from __future__ import annotations

import math

import numpy as np

from storscope.model.bootstrap import FloatArray

_NEAR = 0.35
"""Width, in log latency, of the weights of visits near the crossing; as in `model.load_curve`."""
_CLUSTERS = 2.0
"""A visit's weight falls with this power of its latency, as above."""
_OWN = 1.0
"""How many visits' weight the curve itself has (ours)."""
_SLOPE = 1.0
"""How much, over what the visits tell of it, the slope is held to that of an exponential tail from 0 on (ours)."""
_STEPS, _LEVEL_STEP, _SLOPE_STEP = 25, 0.5, 1.0
_SLOPES = (0.3, 3.0)
"""Of the usual slope."""
_FURTHEST = (-3.0, 0.2)
"""Where the line may cross (ours): at 0.25 to 1.25 times the limit by the curve, which is rather too low."""


def log_at_limit(log_excess: FloatArray, above: FloatArray, weight: FloatArray, share: float) -> FloatArray:
    """Log of each curve's percentile over the limit at the load at which the percentile is at the limit: (curves,).

    `log_excess` is that of the curves at the visits' loads (curves, visits), `above` the share of each visit's requests
    that took longer than the limit, `weight` their number, times that of the visit in a resample (curves, visits).
    """
    wanted, usual_slope = 1 - share, -math.log1p(-share)
    weight = weight * np.exp(-0.5 * (log_excess / _NEAR) ** 2 - _CLUSTERS * log_excess)
    over = -np.expm1(-log_excess)
    own = _OWN * np.median(weight, axis=1)
    level, slope = np.zeros(len(weight)), np.full(len(weight), usual_slope)
    for _ in range(_STEPS):
        expected = wanted * np.exp(np.clip(level[:, None] + slope[:, None] * over, -30.0, 4.0))
        by_itself = own * wanted * np.exp(np.clip(level, -30.0, 4.0))
        first = (weight * expected).sum(axis=1) + by_itself
        held = _SLOPE * first / usual_slope**2
        mixed = (weight * expected * over).sum(axis=1)
        second = (weight * expected * over**2).sum(axis=1) + held
        missing = weight * (above - expected)
        by_level = missing.sum(axis=1) + own * wanted - by_itself
        by_slope = (missing * over).sum(axis=1) - held * (slope - usual_slope)
        determinant = first * second - mixed**2
        level += np.clip((second * by_level - mixed * by_slope) / determinant, -_LEVEL_STEP, _LEVEL_STEP)
        slope += np.clip((first * by_slope - mixed * by_level) / determinant, -_SLOPE_STEP, _SLOPE_STEP)
        slope = np.clip(slope, _SLOPES[0] * usual_slope, _SLOPES[1] * usual_slope)
    result: FloatArray = -np.log1p(-np.clip(-level / slope, _FURTHEST[0], _FURTHEST[1]))
    return result
