"""What a search for the knee says where it has no answer."""

from __future__ import annotations

from storscope.domain.load_curve import PointKind, Visit
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.model.load_answer import crossing_of
from storscope.model.load_goal import Goal

_LATE = "late by 400 us on average, 4 ms at p99"


def _visit(requests: int, *, is_told: bool = False) -> Visit:
    figures, reason = {"mean": float(NS_PER_MS) if is_told else None}, "" if is_told else _LATE
    return Visit(requests, requests, PointKind.VALID, reason, figures, NS_PER_S, NS_PER_S)


def _reason(*visits: Visit) -> str:
    return crossing_of(Goal(), visits, "").reason


def test_too_few_requests_are_a_matter_of_time() -> None:
    reason = _reason(_visit(50), _visit(60), _visit(5000, is_told=True))
    assert reason.startswith("only 1 of 3 visits tell the mean, for which 100 requests in time are needed")


def test_too_late_a_machine_is_not_a_matter_of_time() -> None:
    reason = _reason(_visit(4000), _visit(5000), _visit(60), _visit(5000, is_told=True))
    assert (
        reason == f"only 1 of 4 visits tell the mean: in the others this machine submitted too late, the last {_LATE}"
    )
