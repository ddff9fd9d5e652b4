"""Do many comparisons agree? The sign test, and the interval of the median that belongs to it.

Signs alone count, so that neither the shape of the differences nor a few that are far off matter; what is even to the
last digit counts for neither side. Conover, Practical Nonparametric Statistics (3rd ed.), 3.4 (test) and 3.2 (interval
of a quantile). Takes the comparisons as independent: a drift that all of them share has one sign as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Signs:
    """How many values lie above 0 and below, and their median with its interval."""

    above: int
    below: int
    median: float
    low: float | None
    high: float | None
    """None where they are too few for an interval at the level."""
    p_value: float
    """Probability of signs that are at least as one-sided, where either sign is as likely."""


def signs(values: Sequence[float], level: float) -> Signs:
    """The signs of some values, none of them NaN. Raises ValueError for none."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    above, below = sum(value > 0 for value in values), sum(value < 0 for value in values)
    rank = _rank(len(ordered), level)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return Signs(
        above,
        below,
        median,
        ordered[rank - 1] if rank else None,
        ordered[-rank] if rank else None,
        min(1.0, 2 * _at_most(min(above, below), above + below)),
    )


def _rank(count: int, level: float) -> int:
    """The greatest rank from either end between which the median lies with at least this probability; 0 for none."""
    rank, ways = 0, 1
    while 2 * ways / (1 << count) <= 1 - level:
        rank += 1
        ways += math.comb(count, rank)
    return rank


def _at_most(successes: int, trials: int) -> float:
    """Probability of so many heads at most of a fair coin."""
    return sum(math.comb(trials, k) for k in range(successes + 1)) / (1 << trials)
