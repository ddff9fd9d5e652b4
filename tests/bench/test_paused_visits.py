"""Visits of a generator that pauses, as where processors are taken away: the storage is told, not the pauses.

The queue is M/D/1, whose mean response is service x (1 + use / (2 (1 - use))) (Pollaczek and Khinchine).
"""

from __future__ import annotations

import numpy as np
import pytest

from storscope.domain.load_curve import PointKind
from storscope.domain.units import NS_PER_MS, NS_PER_S
from tests.support.pausing_queue import LIMIT_PER_S, SERVICE_NS, PausingQueue

_KNEE_PER_S = LIMIT_PER_S * 2 / 3
"""Where the mean response is two services."""


def _mean_ns(use: float) -> float:
    return SERVICE_NS * (1 + use / (2 * (1 - use)))


@pytest.mark.parametrize("use", [0.3, 0.6, 0.8])
@pytest.mark.parametrize(("pause_ns", "every_ns"), [(50 * NS_PER_MS, 2 * NS_PER_S), (200 * NS_PER_MS, 3 * NS_PER_S)])
def test_the_mean_is_that_of_the_queue_and_not_of_what_waits_behind_pauses(
    use: float, pause_ns: int, every_ns: int
) -> None:
    """Of twelve visits of six seconds; with the queues that pauses leave it is up to five times as much."""
    queue = PausingQueue(1, pause_ns, every_ns)
    visits = [queue.visit(use * LIMIT_PER_S, 6 * NS_PER_S, None) for _ in range(12)]
    told = [mean for visit in visits if (mean := visit.figures_ns["mean"]) is not None]
    assert len(told) >= 10
    assert np.mean(told) == pytest.approx(_mean_ns(use), rel=0.05)


def test_a_load_that_is_served_is_not_taken_for_too_much_because_of_pauses() -> None:
    """The cut is five times the mean at the knee, as in a search without an objective."""
    queue = PausingQueue(2, 200 * NS_PER_MS, 3 * NS_PER_S)
    visits = [queue.visit(0.7 * LIMIT_PER_S, 2 * NS_PER_S, 10 * NS_PER_MS) for _ in range(50)]
    assert sum(visit.kind is PointKind.OVERLOADED for visit in visits) <= 2


def test_a_load_that_is_too_much_is_found_out_beside_pauses() -> None:
    queue = PausingQueue(3, 200 * NS_PER_MS, 3 * NS_PER_S)
    visits = [queue.visit(1.2 * LIMIT_PER_S, 3 * NS_PER_S, 10 * NS_PER_MS) for _ in range(20)]
    assert all(visit.kind is PointKind.OVERLOADED for visit in visits)
    assert np.median([visit.cost_ns for visit in visits]) < NS_PER_S


def test_the_knee_is_that_of_the_queue_although_the_generator_pauses() -> None:
    found = [PausingQueue(seed, 100 * NS_PER_MS, 2 * NS_PER_S).search(seed).knee.load_per_s for seed in (1, 2, 3)]
    knees = [bounds.estimate for bounds in found if bounds is not None]
    assert len(knees) == len(found)
    assert np.mean(knees) == pytest.approx(_KNEE_PER_S, rel=0.06)
