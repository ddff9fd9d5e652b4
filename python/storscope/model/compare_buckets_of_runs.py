"""Percentiles of repeated runs that agree to the bucket: how far apart they are, as sure as the buckets allow.

Steady storage has its percentile in one bucket run after run, and the middles of buckets then show no spread at all.
Each run is somewhere in its bucket: runs are taken to spread as values anywhere in it do, by its width over the root of
12, and the mean may be at either edge. So the interval is Welch's between the nearer edges, and between the farther
ones. It holds the truth more often than its level says: runs hardly are all at one edge and spread.

Beware: of runs whose percentiles differ the middles are compared (compare.py), which spread by more than this.
"""

from __future__ import annotations

import math

import numpy as np

from storscope.domain.arrays import FloatArray
from storscope.model.bootstrap import Interval
from storscope.model.compare import LEVEL, Difference, Method, by_student, only_values, welch_freedom

_UNIFORM = 1.0 / 12.0
"""Variance of a value that may be anywhere in a bucket, over its width squared."""


def compare_buckets_of_runs(
    before: FloatArray, after: FloatArray, *, is_paired: bool = False, level: float = LEVEL
) -> Difference:
    """Of runs, a row each, the lower and the upper edge of the bucket; several on one side at least.

    The difference of the middles alone where a bucket has no upper edge.
    """
    sides = [np.maximum(side, 0.0) for side in (before, after)]
    counts = (len(before), len(after))
    (low_a, high_a), (low_b, high_b) = ((float(side[:, 0].mean()), float(side[:, 1].mean())) for side in sides)
    if not math.isfinite(high_a + high_b):
        return only_values(low_a, low_b, counts)
    a, b = (low_a + high_a) / 2.0, (low_b + high_b) / 2.0
    widths = [float(np.mean((side[:, 1] - side[:, 0]) ** 2)) for side in sides]
    of_means = [_UNIFORM * width / count for width, count in zip(widths, counts, strict=True)]
    freedom = counts[0] - 1.0 if is_paired else _freedom(of_means, counts)
    spread, method = (of_means[0], of_means[1], 0.0), Method.COUPLES if is_paired else Method.RUNS
    nearer = by_student((high_a, low_b), spread, freedom, counts, method, level)
    farther = by_student((low_a, high_b), spread, freedom, counts, method, level)
    assert nearer.difference is not None and farther.difference is not None
    return Difference(
        a,
        b,
        method,
        Interval(b - a, nearer.difference.low, farther.difference.high, level),
        Interval(b / a, nearer.ratio.low, farther.ratio.high if farther.ratio else math.inf, level)
        if nearer.ratio
        else None,
        _chance(nearer, farther),
        *counts,
        float(min(counts)),
    )


def _freedom(of_means: list[float], counts: tuple[int, int]) -> float:
    if min(counts) == 1:
        return float(max(counts) - 1)
    return welch_freedom(of_means, [count - 1.0 for count in counts])


def _chance(nearer: Difference, farther: Difference) -> float:
    """By the edges that are nearer to each other, whichever side is higher; 1 where the buckets overlap or touch."""
    for edges, sign in ((nearer, 1.0), (farther, -1.0)):
        if sign * (edges.after - edges.before) > 0:
            return edges.p_value or 0.0
    return 1.0
