"""Visits of a generator that pauses, as where processors are taken away: the storage is told, not the pauses.

The queue is M/D/1, whose mean response is service x (1 + use / (2 (1 - use))) (Pollaczek and Khinchine).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from storscope.bench.figures import Interval, Outcome
from storscope.bench.load_point import INTERVAL_NS, PointWatch
from storscope.domain.arrays import FloatArray
from storscope.domain.load_curve import LoadCurve, PointKind, Visit
from storscope.domain.objective import Objective
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.model.load_search import search
from storscope.model.load_visits import SearchPlan

_SERVICE_NS = NS_PER_MS
_LIMIT_PER_S = NS_PER_S / _SERVICE_NS
_KNEE_PER_S = _LIMIT_PER_S * 2 / 3
"""Where the mean response is two services."""
_BUCKET = 0.008
_NONE = {"ios": 0, "bytes": 0, "service": {"count": 0}, "lateness": {"count": 0}, "response": {"count": 0}}


class _Pausing:
    """M/D/1 behind a generator that pauses for `pause_ns` (0.3 to 1.7 of it), at random, `every_ns` on average."""

    def __init__(self, seed: int, pause_ns: int, every_ns: int, objective: str | None = None) -> None:
        self._random = np.random.default_rng(seed)
        self._pause_ns, self._every_ns = pause_ns, every_ns
        self._objective = None if objective is None else Objective.parse(objective)

    def visit(self, rate_per_s: float, duration_ns: int, cut_ns: float | None) -> Visit:
        """In virtual time, ended as the watch wants it."""
        watch = PointWatch(rate_per_s, self._objective, slots=4096, ios_per_arrival=1.0, cut_ns=cut_ns)
        arrived = self._arrivals(rate_per_s, duration_ns)
        sent = self._sent(arrived, duration_ns)
        turn = np.arange(len(sent)) * _SERVICE_NS
        done = np.maximum.accumulate(sent - turn) + turn + _SERVICE_NS  # Lindley's recursion
        lasted_ns = 0
        while lasted_ns < duration_ns and not watch.is_hopeless:
            watch(_interval(arrived, sent, done, lasted_ns))
            lasted_ns += INTERVAL_NS
        return watch.visit(Outcome({"ending": {"unsent": 0, "submitted": len(sent)}}, (), None, False), lasted_ns)

    def search(self, seed: int) -> LoadCurve:
        """For the knee, in a bit more than a minute."""
        spent_ns = 0

        def measure(rate_per_s: float, duration_ns: int, cut_ns: float | None) -> Visit:
            nonlocal spent_ns
            visit = self.visit(rate_per_s, duration_ns, cut_ns)
            spent_ns += visit.cost_ns
            return visit

        return search(measure, SearchPlan(3000, 75 * NS_PER_S, self._objective, seed), clock_ns=lambda: spent_ns)

    def _arrivals(self, rate_per_s: float, duration_ns: int) -> FloatArray:
        count = self._random.poisson(rate_per_s * duration_ns / NS_PER_S)
        return np.sort(self._random.uniform(0, duration_ns, count))

    def _sent(self, arrived: FloatArray, duration_ns: int) -> FloatArray:
        sent, now_ns = arrived.copy(), 0.0
        while (now_ns := now_ns + self._random.exponential(self._every_ns)) < duration_ns:
            end_ns = now_ns + self._pause_ns * self._random.uniform(0.3, 1.7)
            sent[(sent >= now_ns) & (sent < end_ns)] = end_ns
            now_ns = end_ns
        return sent


def _interval(arrived: FloatArray, sent: FloatArray, done: FloatArray, from_ns: int) -> Interval:
    to_ns = from_ns + INTERVAL_NS
    completed = slice(*np.searchsorted(done, (from_ns, to_ns)))
    there = slice(completed.start, int(np.searchsorted(sent, to_ns)))
    in_flight_ns = np.minimum(done[there], to_ns) - np.maximum(sent[there], from_ns)
    reads = {
        "ios": completed.stop - completed.start, "bytes": 0,
        "service": _histogram(done[completed] - sent[completed]),
        "lateness": _histogram(sent[completed] - arrived[completed]),
        "response": _histogram(done[completed] - arrived[completed]),
    }  # fmt: skip
    return Interval({
        "duration_ns": INTERVAL_NS, "outstanding_mean": float(in_flight_ns.sum()) / INTERVAL_NS,
        "cells": [{"reads": reads, "writes": _NONE, "flushes": None}],
    })  # fmt: skip


def _histogram(values_ns: FloatArray) -> dict[str, Any]:
    if not len(values_ns):
        return {"count": 0}
    buckets, counts = np.unique(np.round(np.log(np.maximum(values_ns, 1)) / _BUCKET), return_counts=True)
    low, high = (np.exp((buckets + side) * _BUCKET).astype(int).tolist() for side in (-0.5, 0.5))
    return {
        "count": len(values_ns), "mean_ns": float(values_ns.mean()), "max_ns": int(values_ns.max()),
        "bucket_low_ns": low, "bucket_high_ns": high, "bucket_count": counts.tolist(),
    }  # fmt: skip


def _mean_ns(use: float) -> float:
    return _SERVICE_NS * (1 + use / (2 * (1 - use)))


@pytest.mark.parametrize("use", [0.3, 0.6, 0.8])
@pytest.mark.parametrize(("pause_ns", "every_ns"), [(50 * NS_PER_MS, 2 * NS_PER_S), (200 * NS_PER_MS, 3 * NS_PER_S)])
def test_the_mean_is_that_of_the_queue_and_not_of_what_waits_behind_pauses(
    use: float, pause_ns: int, every_ns: int
) -> None:
    """Of twelve visits of six seconds; with the queues that pauses leave it is up to seven times as much."""
    queue = _Pausing(1, pause_ns, every_ns)
    visits = [queue.visit(use * _LIMIT_PER_S, 6 * NS_PER_S, None) for _ in range(12)]
    told = [mean for visit in visits if (mean := visit.figures_ns["mean"]) is not None]
    assert len(told) >= 10
    assert np.mean(told) == pytest.approx(_mean_ns(use), rel=0.05)


def test_a_load_that_is_served_is_not_taken_for_too_much_because_of_pauses() -> None:
    """The cut is five times the mean at the knee, as in a search without an objective."""
    queue = _Pausing(2, 200 * NS_PER_MS, 3 * NS_PER_S)
    visits = [queue.visit(0.7 * _LIMIT_PER_S, 2 * NS_PER_S, 10 * NS_PER_MS) for _ in range(50)]
    assert sum(visit.kind is PointKind.OVERLOADED for visit in visits) <= 2


def test_a_load_that_is_too_much_is_found_out_beside_pauses() -> None:
    queue = _Pausing(3, 200 * NS_PER_MS, 3 * NS_PER_S)
    visits = [queue.visit(1.2 * _LIMIT_PER_S, 3 * NS_PER_S, 10 * NS_PER_MS) for _ in range(20)]
    assert all(visit.kind is PointKind.OVERLOADED for visit in visits)
    assert np.median([visit.cost_ns for visit in visits]) < NS_PER_S


def test_the_knee_is_that_of_the_queue_although_the_generator_pauses() -> None:
    found = [_Pausing(seed, 100 * NS_PER_MS, 2 * NS_PER_S).search(seed).knee.load_per_s for seed in (1, 2, 3)]
    knees = [bounds.estimate for bounds in found if bounds is not None]
    assert len(knees) == len(found)
    assert knees == pytest.approx([_KNEE_PER_S] * len(knees), rel=0.06)
