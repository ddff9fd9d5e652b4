"""What a search for the knee says where it has no answer."""

from __future__ import annotations

from typing import cast

import pytest

from storscope.domain.load_curve import Bounds, PointKind, Visit
from storscope.domain.objective import P99, Objective
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.model import load_answer
from storscope.model.load_answer import capacity_of, crossing_of, doubts_of
from storscope.model.load_curve import CurveFit
from storscope.model.load_goal import Goal
from storscope.model.load_visits import INTERRUPTED

_LATE = "late by 400 us on average, 4 ms at p99"


def _visit(requests: int, *, is_told: bool = False) -> Visit:
    figures, reason = {"mean": float(NS_PER_MS) if is_told else None}, "" if is_told else _LATE
    return Visit(requests, requests, PointKind.VALID, reason, figures, NS_PER_S, NS_PER_S)


def _unlike(rate: float, *, mean: float, p99: float | None) -> Visit:
    figures = {"mean": mean, "p99": p99}
    return Visit(rate, rate, PointKind.VALID, "", figures, NS_PER_S, NS_PER_S)


def test_a_limit_that_no_load_meets_is_told_with_the_lightest_load_that_tells_it() -> None:
    visits = [_unlike(10, mean=2e4, p99=None), _unlike(500, mean=2e4, p99=6e4), _unlike(900, mean=4e4, p99=2e5)]
    goal = Goal(Objective(P99, 1e4), crossing=Bounds(0.0, 0.0, 0.0), fit=cast(CurveFit, object()))
    assert crossing_of(goal, visits, "").reason == "not even 500 /s meet it: p99 was 60.0 µs there"


def test_a_limit_that_is_not_reached_is_told_up_to_the_highest_load_that_tells_the_figure() -> None:
    """It has been told of the highest visit, which had too few requests in time for a p99."""
    visits = [_unlike(500, mean=2e4, p99=6e4), _unlike(900, mean=4e4, p99=2e5), _unlike(1400, mean=9e4, p99=None)]
    goal = Goal(Objective(P99, 5e6), crossing=Bounds(2000.0, 1900.0, 2100.0), fit=cast(CurveFit, object()))
    said = crossing_of(goal, visits, "").reason
    assert said == "up to 900 /s, the highest load that tells the p99, the p99 stays below 5.00 ms"
    said = crossing_of(goal, visits[:2], "").reason
    assert said == "up to 900 /s, the highest load that could be measured, the p99 stays below 5.00 ms"


def test_a_limit_that_no_load_meets_is_not_told_with_a_visit_that_was_disturbed() -> None:
    visits = [_unlike(100, mean=8e5, p99=1.34e8), _unlike(500, mean=2e4, p99=6e4), _unlike(900, mean=4e4, p99=2e5)]
    goal = Goal(Objective(P99, 1e4), crossing=Bounds(0.0, 0.0, 0.0), fit=cast(CurveFit, object()))
    assert crossing_of(goal, visits, "", [0]).reason == "not even 500 /s meet it: p99 was 60.0 µs there"


def test_a_limit_that_some_visits_meet_is_not_said_to_be_met_by_none() -> None:
    """'flush-p99 < 10 ms: not even 1,181 /s meet it: flush-p99 was 3.85 ms there', of a busy machine."""
    p99s_ns = {1181: 3.85e6, 3413: 3.2e6, 7186: 7.2e7, 7565: 6.1e6, 9177: 5.6e7}
    visits = [_unlike(rate, mean=1e5, p99=p99_ns) for rate, p99_ns in p99s_ns.items()]
    goal = Goal(Objective(P99, 1e7), crossing=Bounds(0.0, 0.0, 0.0), fit=cast(CurveFit, object()))
    assert crossing_of(goal, visits, "").reason == (
        "3 of 5 visits were below 10.0 ms, up to 7,565 /s, the others not: "
        "latency varied more from visit to visit than with the load"
    )


def test_no_time_is_asked_for_where_even_the_means_are_above_the_limit() -> None:
    visits = [_unlike(rate, mean=2e4, p99=6e4 if rate > 50 else None) for rate in range(10, 70, 5)]
    found = crossing_of(Goal(Objective(P99, 1.0)), visits, "").reason
    assert found == "not even 10.0 /s meet it: the mean was 20.0 µs there"
    assert "allow more time" in crossing_of(Goal(Objective(P99, 1e6)), visits, "").reason


def _reason(*visits: Visit) -> str:
    return crossing_of(Goal(), visits, "").reason


def test_too_few_requests_are_a_matter_of_time() -> None:
    reason = _reason(_visit(50), _visit(60), _visit(5000, is_told=True))
    assert reason.startswith("only 1 of 3 visits tell the mean, for which 100 requests in time are needed")


@pytest.mark.parametrize(
    "visits", [(_visit(50), _visit(60), _visit(5000, is_told=True)), (_visit(5000, is_told=True),)]
)
def test_who_interrupts_a_search_is_not_told_to_allow_it_more_time(visits: tuple[Visit, ...]) -> None:
    assert crossing_of(Goal(), visits, "its time was up").reason.endswith("; allow more time (--max-duration)")
    interrupted = crossing_of(Goal(), visits, INTERRUPTED).reason
    assert "allow more time" not in interrupted
    assert interrupted.endswith(("are needed", "could be used before it was interrupted"))


def test_too_late_a_machine_is_not_a_matter_of_time() -> None:
    reason = _reason(_visit(4000), _visit(5000), _visit(60), _visit(5000, is_told=True))
    assert (
        reason == f"only 1 of 4 visits tell the mean: in the others this machine submitted too late, the last {_LATE}"
    )


def test_what_was_served_is_not_beyond_the_capacity() -> None:
    """A busy machine made a wall of a few visits at 790 /s, and 1,028 /s were served all the same."""
    visits = [_unlike(787, mean=1.1e7, p99=1e8), _unlike(1028, mean=2.2e7, p99=1.2e8), _unlike(640, mean=4e5, p99=8e6)]
    fitted = Bounds(860.0, 841.0, 871.0)
    assert capacity_of(fitted, visits, []) == Bounds(860.0, 841.0, 1028.0)
    assert capacity_of(fitted, visits, [1]) == fitted, "what lived on credit does not count"
    assert capacity_of(Bounds(1050.0, 1000.0, 1100.0), visits, []) == Bounds(1050.0, 1000.0, 1100.0)


def test_doubts_of_an_answer_write_per_cent_as_everything_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_answer, "_drift", lambda fit, load: -0.3)
    goal = Goal(crossing=Bounds(1000.0, 700.0, 1300.0), fit=cast(CurveFit, object()))
    said = " ".join(doubts_of([goal], []))
    assert "known to ±30 % only" in said
    assert "drifted by −30 % between" in said


def test_visits_that_tell_nothing_are_not_said_to_be_left_out_of_the_curve() -> None:
    """'1 of 35 visits are left out' stood above a table that says 'left out of the curve' of ten others."""
    unusable = [Visit(9, 9, PointKind.INVALID, f"too late {at}", {}, NS_PER_S, NS_PER_S) for at in range(2)]
    good = _visit(5000, is_told=True)
    assert [*doubts_of([], [unusable[0], good])] == ["1 of 2 visits cannot be used: too late 0."]
    assert [*doubts_of([], [*unusable, good])] == ["2 of 3 visits cannot be used; the last: too late 1."]
