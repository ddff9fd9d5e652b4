"""The order in which to measure the points of a matrix, so that a drift of the device falls on all alike.

Each repetition is a block in which every point comes once, at random, and of many random orders that one is taken in
which no value of an axis comes early or late on the whole (rerandomisation: Morgan and Rubin 2012, Annals of Statistics
40(2)). Every second repetition is the one before it backwards (ABBA), which takes a steady drift out of every point.
"""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Sequence
from typing import Final

from storscope.domain.sweep import Point

_CANDIDATES: Final = 200
_LEAST_CANDIDATES: Final = 20
_POSITIONS: Final = 200_000
"""How many positions the choice of an order may look at; large matrices balance themselves."""


def balanced_order(points: Sequence[Point], blocks: int, seed: int) -> list[list[int]]:
    """For each block the indices of the points in the order to measure them. The same seed gives the same order."""
    generator = random.Random(seed)
    factors = _factors(points)
    sums = [0] * len(points)
    order: list[list[int]] = []
    for block in range(blocks):
        if block % 2:
            chosen = order[-1][::-1]
        else:
            shuffles = _shuffles(len(points), generator)
            chosen = min(shuffles, key=lambda one: _imbalance(one, sums, factors, block + 1))
        for place, index in enumerate(chosen):
            sums[index] += place
        order.append(chosen)
    return order


def imbalance(points: Sequence[Point], order: Sequence[Sequence[int]]) -> float:
    """How early or late the worst value of an axis comes on the whole, in standard deviations of a random order."""
    sums = [0] * len(points)
    for block in order:
        for place, index in enumerate(block):
            sums[index] += place
    return _deviation(sums, _factors(points), len(order))


def _factors(points: Sequence[Point]) -> list[list[list[int]]]:
    """For each axis that varies, the indices of the points at each of its values."""
    columns: list[list[Hashable]] = [
        [point.title for point in points],
        [point.block_bytes for point in points],
        [point.jobs for point in points],
        [point.depth for point in points],
    ]
    factors = []
    for column in columns:
        groups: dict[Hashable, list[int]] = {}
        for index, value in enumerate(column):
            groups.setdefault(value, []).append(index)
        if len(groups) > 1:
            factors.append(list(groups.values()))
    return factors


def _shuffles(count: int, generator: random.Random) -> list[list[int]]:
    candidates = max(_LEAST_CANDIDATES, min(_CANDIDATES, _POSITIONS // max(1, count)))
    return [generator.sample(range(count), count) for _ in range(candidates)]


def _imbalance(order: Sequence[int], sums: Sequence[int], factors: list[list[list[int]]], blocks: int) -> float:
    totals = list(sums)
    for place, index in enumerate(order):
        totals[index] += place
    return _deviation(totals, factors, blocks)


def _deviation(sums: Sequence[int], factors: list[list[list[int]]], blocks: int) -> float:
    """Greatest |sum of places - its mean| over its standard deviation when m of n are drawn without replacement."""
    count = len(sums)
    worst = 0.0
    for groups in factors:
        for members in groups:
            size = len(members)
            if size == count:
                continue
            spread = math.sqrt(blocks * size * (count - size) * (count + 1) / 12)
            middle = blocks * size * (count - 1) / 2
            worst = max(worst, abs(sum(sums[index] for index in members) - middle) / spread)
    return worst
