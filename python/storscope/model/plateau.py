"""A rate that stands at one value while work waits, as a limiter makes it, told from one that only varies little.

A limiter lets through the same in every interval, whatever is asked for. So the rates of the intervals in which work
waits gather at one value, hardly any is above it, and they do not go with what they would go with on storage that
does what it can: the size of operations, the part of reads, the length of the queue. How they go with it is told by
the elasticity, of a rate x and a quantity q the exponent e of x ~ q^e (Marshall 1890): 0 of a limiter, -1 for the size
where bytes are what is limited.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from storscope.domain.arrays import BoolArray, FloatArray


@dataclass(frozen=True)
class Plateau:
    """Where rates gather."""

    level: float
    """The median of its intervals."""
    members: BoolArray
    """The intervals whose rates are within the width of the level, among those that were asked about."""
    spread: float
    """Deviation over mean of these."""
    above: BoolArray
    """The intervals asked about that have more than that."""

    @property
    def count(self) -> int:
        """How many intervals are at it."""
        return int(self.members.sum())


def densest_plateau(rate: FloatArray, asked: BoolArray, width: float) -> Plateau | None:
    """The value within whose `width` (a part of it, to both sides) most of the intervals `asked` about lie.

    Of values with as many the one with the least spread. None where none of the intervals has a rate above 0.
    """
    known = asked & np.isfinite(rate) & (np.nan_to_num(rate) > 0)
    if not known.any():
        return None
    values = np.sort(rate[known])
    last = np.searchsorted(values, values * (1 + width) / (1 - width), side="right") - 1
    held = last - np.arange(len(values)) + 1
    span = values[last] / values
    first = min(np.flatnonzero(held == held.max()), key=lambda index: float(span[index]))
    level = float(np.median(values[first : last[first] + 1]))
    members = known & (np.abs(rate - level) <= width * level)
    inside = rate[members]
    return Plateau(level, members, float(inside.std() / inside.mean()), known & (rate > (1 + width) * level))


def elasticity(rate: FloatArray, quantity: FloatArray) -> float:
    """The exponent e of rate ~ quantity^e by least squares of the logarithms; NaN of fewer than three pairs above 0, or
    where the quantity does not vary."""
    known = np.isfinite(rate) & np.isfinite(quantity) & (np.nan_to_num(rate) > 0) & (np.nan_to_num(quantity) > 0)
    if known.sum() < 3:
        return float("nan")
    return _slope(np.log(rate[known]), np.log(quantity[known]))


def swing(rate: FloatArray, share: FloatArray) -> float:
    """By how much, of its mean, the rate differs between a share of 1 and of 0, by least squares; NaN as above."""
    known = np.isfinite(rate) & np.isfinite(share)
    if known.sum() < 3 or not rate[known].any():
        return float("nan")
    return _slope(rate[known], share[known]) / float(rate[known].mean())


def _slope(values: FloatArray, over: FloatArray) -> float:
    apart = over - over.mean()
    square = float(apart @ apart)
    return float(apart @ (values - values.mean())) / square if square > 1e-12 else float("nan")


def spread_factor(quantity: FloatArray) -> float:
    """How many times the tenth with the least the tenth with the most has at least; NaN of nothing above 0."""
    known = quantity[np.isfinite(quantity) & (np.nan_to_num(quantity) > 0)]
    if not len(known):
        return float("nan")
    low, high = np.quantile(known, (0.1, 0.9))
    return float(high / low)
