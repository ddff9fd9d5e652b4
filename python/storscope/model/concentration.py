"""How far requests gather at one queue out of many at a time, beyond what chance does.

A queue that is deep all the time shows in its mean. One that is deep in its turn does not: it shows only in the share
of all requests that the fullest queue of each slice holds.

The yardstick of chance is that all ways to spread S like requests over N queues are equally likely, which is exact for
a closed network of N like exponential servers (product form: Gordon and Newell, 1967) and bunches more than
independent queues do; its fullest queue holds about (ln N + 0.58) / N of many requests. Means over slices bunch less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from storscope.domain.arrays import FloatArray

_MOST_REQUESTS = 256
"""More are taken as so many: the share of the fullest hardly falls any more, and never rises."""


@dataclass(frozen=True)
class Concentration:
    """Shares are of all requests, weighted by how many there are."""

    fullest_share: float
    """What the fullest queue of each slice holds."""
    chance_share: float
    """What it would hold by chance."""
    steady_share: float
    """What the queue with the highest mean holds: as much as the above when it is always the same one."""
    requests_mean: float
    """At all queues together, in the slices that count."""
    slices: int
    """Those that count: with enough requests."""
    leaders: int
    """How many queues were the fullest at some time, in slices that were beyond chance."""

    @property
    def excess(self) -> float:
        """Of what chance leaves, how much the fullest queue holds: 0 is chance, 1 is all."""
        return (self.fullest_share - self.chance_share) / (1 - self.chance_share) if self.chance_share < 1 else 0.0

    @property
    def moves(self) -> float:
        """How many times its steady share the fullest queue holds: 1 when it is always the same one."""
        return self.fullest_share / self.steady_share if self.steady_share else 1.0


def concentration(queues: FloatArray, requests_min: float) -> Concentration | None:
    """Of shape (queues, slices), NaN absent. None if no slice counts, or there are not two queues.

    A slice counts if it has `requests_min` requests and all queues, but for those that are absent from every slice:
    a missing queue may be the fullest. Slices should be shorter than a queue stays the fullest: what moves within a
    slice looks even.
    """
    filled = queues[np.isfinite(queues).any(axis=1)][:, slices_with_all(queues)]
    totals = filled.sum(axis=0)
    counts = totals >= requests_min
    if len(filled) < 2 or not counts.any():
        return None
    filled, totals = filled[:, counts], totals[counts]
    fullest = filled.max(axis=0)
    mean = float(totals.mean())
    chance = chance_share(len(filled), round(mean))
    beyond = fullest > chance * totals
    return Concentration(
        fullest_share=float(fullest.sum() / totals.sum()),
        chance_share=chance,
        steady_share=float(filled.sum(axis=1).max() / totals.sum()),
        requests_mean=mean,
        slices=len(totals),
        leaders=len(np.unique(filled.argmax(axis=0)[beyond])),
    )


def slices_with_all(queues: FloatArray) -> npt.NDArray[np.bool_]:
    """Which slices have all queues but those that are absent from every slice."""
    is_there = np.isfinite(queues)
    present = int(is_there.any(axis=1).sum())
    whole: npt.NDArray[np.bool_] = np.logical_and(is_there.sum(axis=0) == present, present > 0)
    return whole


@lru_cache(maxsize=64)
def chance_share(queues: int, requests: int) -> float:
    """The expected share of the fullest of `queues` queues when each way to spread `requests` is equally likely.

    Exact, from the number of ways without a queue above k, by inclusion and exclusion.
    """
    requests = min(requests, _MOST_REQUESTS)
    if requests < 1 or queues < 1:
        return 1.0
    ways = math.comb(requests + queues - 1, queues - 1)
    expected = sum(ways - _ways_within(queues, requests, most) for most in range(requests))
    return expected / ways / requests


def _ways_within(queues: int, requests: int, most: int) -> int:
    """In how many ways no queue holds more than `most`."""
    return sum(
        (-1) ** full * math.comb(queues, full) * math.comb(requests - full * (most + 1) + queues - 1, queues - 1)
        for full in range(min(queues, requests // (most + 1)) + 1)
    )
