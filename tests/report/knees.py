"""Searches for the knee as a page gets them: an M/M/1 queue of 1 ms, where every number is known."""

from __future__ import annotations

import math
from dataclasses import replace

from storscope.domain.knee_result import KneeResult
from storscope.domain.load_curve import Bounds, Crossing, LoadCurve, PointKind, Visit
from storscope.domain.objective import P99, Objective
from storscope.domain.units import NS_PER_MS, NS_PER_S

LIMIT_NS = 20.0 * NS_PER_MS
WITHIN_PER_S = 1000 - math.log(100) / 0.02
"""Response of M/M/1 is exponential: its p99 is ln(100) of its mean."""
LATE = "late by 7.19 ms on average, 9.60 ms at p99"
OVERLOAD = "more arrived than was served; ended early"
DISTURBED, ON_CREDIT = (
    "disturbed: a higher load was served much quicker",
    "served on credit: for longer, such a load was too much",
)


def mean_ns(load_per_s: float) -> float:
    """Of M/M/1."""
    return NS_PER_MS / (1 - load_per_s / 1000)


def visit(load_per_s: float, *, spread: float = 0.04, seconds: float = 2.0) -> Visit:
    """With figures as they should be, and intervals of so much to either side."""
    figures = {"mean": mean_ns(load_per_s), "p99": math.log(100) * mean_ns(load_per_s)}
    ends: dict[str, tuple[float | None, float | None]] = {
        name: (value * (1 - spread), value * (1 + 2 * spread)) for name, value in figures.items()
    }
    duration_ns = round(seconds * NS_PER_S)
    return Visit(load_per_s, load_per_s, PointKind.VALID, "", figures, duration_ns, duration_ns, "bench-1", ends)


def overloaded(load_per_s: float, latency_ms: float) -> Visit:
    """Its latencies are lower bounds."""
    figures = {"mean": latency_ms * NS_PER_MS, "p99": 3 * latency_ms * NS_PER_MS}
    return Visit(load_per_s, 990.0, PointKind.OVERLOADED, OVERLOAD, figures, NS_PER_S // 4, NS_PER_S)


def invalid(load_per_s: float) -> Visit:
    """One that the generator made too late."""
    figures = {"mean": None, "p99": None}
    return Visit(load_per_s, load_per_s, PointKind.INVALID, LATE, figures, NS_PER_S, NS_PER_S)


def curve() -> LoadCurve:
    """Of 21 visits three are overloaded, one of them far away, one is invalid, one was disturbed, one on credit."""
    calm = [visit(load) for load in (75, 148, 152, 170, 349, 351, 440, 495, 503, 560, 640, 720, 762, 768, 775, 850)]
    odd = [
        replace(visit(300), figures_ns={"mean": 4.0 * NS_PER_MS, "p99": 18.0 * NS_PER_MS}, intervals_ns={}),
        replace(visit(960), figures_ns={"mean": 2.0 * NS_PER_MS, "p99": 9.0 * NS_PER_MS}, intervals_ns={}),
    ]
    visits = (*calm, *odd, overloaded(1010, 30), overloaded(1100, 400), overloaded(5000, 900), invalid(610))
    left_out = ((16, DISTURBED), (17, ON_CREDIT))
    loads = [10.0 * step for step in range(1, 99)]
    return LoadCurve(
        visits,
        Crossing("mean", 2.0 * NS_PER_MS, Bounds(500.0, 480.0, 525.0), "", left_out),
        Objective(P99, LIMIT_NS),
        Crossing("p99", LIMIT_NS, Bounds(WITHIN_PER_S, 755.0, 785.0), "", left_out[1:]),
        Bounds(1.0 * NS_PER_MS, 0.97 * NS_PER_MS, 1.02 * NS_PER_MS),
        Bounds(1000.0, 970.0, 1040.0),
        fitted=tuple((load, mean_ns(load)) for load in loads),
        fitted_objective=tuple((load, math.log(100) * mean_ns(load)) for load in loads),
        ended="its intervals were narrow enough",
    )


def unanswered() -> LoadCurve:
    """Every visit was late."""
    reason = f"3 of 3 visits cannot be used; the last: {LATE}"
    visits = tuple(invalid(load) for load in (100.0, 170.0, 290.0))
    return LoadCurve(visits, Crossing("mean", None, None, reason), None, None, None, None, ended="its time was up")


def result(found: LoadCurve | None = None, *, target: str = "/dev/sdx") -> KneeResult:
    """A search on a host of that curve."""
    return KneeResult(
        id="knee-18ea", capture="0123456789abcdef", curve=curve() if found is None else found,
        workload={"name": "oltp"}, target=target, target_kind="device", direct=True, seed=7, duration_ns=75 * NS_PER_S,
        stream_shares=(1.0,), max_outstanding=(1024,), load_words=("Requests arrive at random (Poisson).",),
        doubts=("The knee is known to ±9 % only.",), paths=target, host="esx07", started_ns=1_795_132_800 * NS_PER_S,
        budget_ns=75 * NS_PER_S, size_bytes=49 * 2**30, engines="io_uring", version="0.1.0",
    )  # fmt: skip
