"""A queue with closed forms, M/D/1 of 1,000 services per second, behind a generator that pauses, in virtual time."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from storscope.bench.figures import Interval, Outcome
from storscope.bench.load_point import INTERVAL_NS, PointWatch
from storscope.domain.arrays import FloatArray
from storscope.domain.load_curve import LoadCurve, Visit
from storscope.domain.objective import Objective
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.model.load_search import search
from storscope.model.load_visits import SearchPlan

SERVICE_NS: Final = NS_PER_MS
LIMIT_PER_S: Final = NS_PER_S / SERVICE_NS
_BUCKET = 0.008
_NONE = {"ios": 0, "bytes": 0, "service": {"count": 0}, "lateness": {"count": 0}, "response": {"count": 0}}


class PausingQueue:
    """The generator pauses for `pause_ns` (0.3 to 1.7 of it), at random, `every_ns` on average; or never."""

    def __init__(
        self, seed: int, pause_ns: int = 0, every_ns: float = float("inf"), objective: str | None = None
    ) -> None:
        self._random = np.random.default_rng(seed)
        self._pause_ns, self._every_ns = pause_ns, every_ns
        self._objective = None if objective is None else Objective.parse(objective)

    def visit(self, rate_per_s: float, duration_ns: int, cut_ns: float | None) -> Visit:
        """In virtual time, ended as the watch wants it."""
        watch = PointWatch(rate_per_s, self._objective, slots=4096, ios_per_arrival=1.0, cut_ns=cut_ns)
        arrived = self._arrivals(rate_per_s, duration_ns)
        sent = self._sent(arrived, duration_ns)
        turn = np.arange(len(sent)) * SERVICE_NS
        done = np.maximum.accumulate(sent - turn) + turn + SERVICE_NS  # Lindley's recursion
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
        if not self._pause_ns:
            return sent
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
