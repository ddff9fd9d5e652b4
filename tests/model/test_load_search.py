"""The search for the knee on queues whose answer is known in closed form."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from storscope import _core
from storscope.bench.figures import Interval
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Open
from storscope.domain.load_curve import LoadCurve, PointKind, Visit
from storscope.domain.objective import Objective
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.model.load_points import ON_CREDIT
from storscope.model.load_search import search
from storscope.model.load_visits import Measure, SearchPlan
from tests.model.throttled_queue import ThrottledQueue

_SERVICE_NS = NS_PER_MS


class Queue:
    """M/M/c in virtual time, asked as storage is: by the load generator itself."""

    def __init__(self, servers: int, seed: int) -> None:
        self._servers, self._seed = servers, seed

    def visit(self, rate_per_s: float, duration_ns: int, cut_ns: float | None) -> Visit:
        self._seed += 1
        stream = Stream(Mix((AccessSpec(4096),)), Open(rate_per_s, max_outstanding=4096))
        plan = {
            "workload": Workload("queue", (stream,)).to_json(), "targets": [{"kind": "null", "size_bytes": 1 << 30}],
            "duration_ns": duration_ns, "seed": self._seed,
        }  # fmt: skip
        form = json.loads(
            _core.queue_run(json.dumps(plan), servers=self._servers, service_mean_ns=_SERVICE_NS, seed=self._seed)
        )
        whole = Interval(form["result"]["total"]).all
        mean_ns = whole.response.mean_ns
        is_over = rate_per_s > 0.995 * self._servers * 1000 or (cut_ns is not None and (mean_ns or 0) > cut_ns)
        kind = PointKind.OVERLOADED if is_over else PointKind.VALID
        figures = {"mean": mean_ns, "p99": whole.response.quantile_ns(0.99)}
        return Visit(
            rate_per_s, whole.ios / duration_ns * NS_PER_S, kind, "more arrived than was served" if is_over else "",
            figures, duration_ns, duration_ns, mean_ns,
        )  # fmt: skip


def _erlang_c_response(use: float, servers: int) -> float:
    """Mean response in service times (Gross and Harris, Fundamentals of Queueing Theory, 2.3)."""
    load = use * servers
    term, total = 1.0, 0.0
    for number in range(servers):
        total += term
        term *= load / (number + 1)
    waits = term / (1 - use) / (total + term / (1 - use))
    return 1 + waits / (servers * (1 - use))


def _knee_per_s(servers: int) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _erlang_c_response(middle, servers) < 2 else (low, middle)
    return low * servers * 1000


def _found(queue: Queue, servers: int, seed: int, objective: str | None = None) -> LoadCurve:
    return _search(queue.visit, servers * 1000.0, 600, seed, objective)[0]


def _search(
    visited: Measure, start_per_s: float, budget_s: int, seed: int, objective: str | None = None
) -> tuple[LoadCurve, int]:
    """The curve, and the time that it took."""
    spent_ns = 0

    def measure(rate_per_s: float, duration_ns: int, cut_ns: float | None) -> Visit:
        nonlocal spent_ns
        visit = visited(rate_per_s, duration_ns, cut_ns)
        spent_ns += visit.cost_ns
        return visit

    wanted = None if objective is None else Objective.parse(objective)
    plan = SearchPlan(start_per_s, budget_s * NS_PER_S, wanted, seed)
    return search(measure, plan, clock_ns=lambda: spent_ns), spent_ns


@pytest.mark.parametrize(("servers", "seed"), [(1, 1), (4, 200), (16, 400)])
def test_the_knee_of_a_queue_is_found_within_five_per_cent(servers: int, seed: int) -> None:
    found = _found(Queue(servers, seed), servers, seed)
    assert found.knee.load_per_s is not None
    assert found.knee.load_per_s.estimate == pytest.approx(_knee_per_s(servers), rel=0.05)


def test_the_load_that_meets_an_objective_is_that_of_mm1() -> None:
    """Response of M/M/1 is exponential: its p99 is ln(100) of its mean, so 20 ms are met up to 1000 - ln(100)/0.02."""
    found = _found(Queue(1, 900), 1, 5, "p99<20ms")
    assert found.within_objective is not None
    assert found.within_objective.load_per_s is not None
    assert found.within_objective.load_per_s.estimate == pytest.approx(1000 - math.log(100) / 0.02, rel=0.05)


def test_a_curve_is_drawn_through_each_crossing_and_survives_json() -> None:
    found = _found(Queue(1, 900), 1, 5, "p99<20ms")
    for crossing, line in ((found.knee, found.fitted), (found.within_objective, found.fitted_objective)):
        assert crossing is not None
        assert crossing.load_per_s is not None
        assert crossing.limit_ns is not None
        loads, latencies = zip(*line, strict=True)
        assert list(latencies) == sorted(latencies)
        assert np.interp(crossing.limit_ns, latencies, loads) == pytest.approx(crossing.load_per_s.estimate, rel=0.03)
    assert LoadCurve.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_visits_on_credit_are_named_as_such() -> None:
    found, _ = _search(ThrottledQueue(1000, 1, noise=0.15).visit, 3000, 75, 1)
    left_out = {found.visits[place].offered_per_s: why for place, why in found.knee.left_out}
    assert max(left_out) > 1000
    assert left_out[max(left_out)] == ON_CREDIT
    assert any("something to spend" in doubt for doubt in found.doubts)


def test_ten_runs_agree_within_seven_per_cent() -> None:
    found = [_found(Queue(4, 10_000 * run), 4, run).knee.load_per_s for run in range(1, 11)]
    knees = [bounds.estimate for bounds in found if bounds is not None]
    assert len(knees) == 10
    assert max(knees) / min(knees) < 1.07


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_knee_of_a_throttled_device_is_its_limit_although_short_visits_live_on_credit(seed: int) -> None:
    found, spent_ns = _search(ThrottledQueue(1000, seed, noise=0.15).visit, 3000, 75, seed, "p99<20ms")
    assert found.within_objective is not None
    for crossing in (found.knee, found.within_objective):
        assert crossing.load_per_s is not None
        assert crossing.load_per_s.estimate == pytest.approx(1000, rel=0.05)
        assert 0.0299 < crossing.load_per_s.half_width_ratio < 0.05  # a wall is not known better
    assert spent_ns <= 75 * NS_PER_S


def test_visits_cost_more_than_they_last_and_still_the_search_keeps_its_time() -> None:
    queue = ThrottledQueue(1000, 1, noise=0.15)

    def slow_to_open(rate_per_s: float, duration_ns: int, cut_ns: float | None) -> Visit:
        return replace(queue.visit(rate_per_s, duration_ns, cut_ns), cost_ns=duration_ns + NS_PER_S)

    found, spent_ns = _search(slow_to_open, 3000, 60, 1)
    assert spent_ns <= 60 * NS_PER_S
    assert found.ended == "its time was up"


def test_what_the_generator_cannot_make_is_said_to_be_its_limit() -> None:
    """A device without a knee, and a machine that makes 4,000 requests a second at most."""

    def visit(rate_per_s: float, duration_ns: int, cut_ns: float | None) -> Visit:
        is_made = rate_per_s < 4000
        kind = PointKind.VALID if is_made else PointKind.INVALID
        figures = {"mean": 1e5 if is_made else None}
        return Visit(rate_per_s, rate_per_s, kind, "" if is_made else "too slow", figures, duration_ns, duration_ns)

    found, _ = _search(visit, 1000, 60, 1)
    assert found.knee.load_per_s is None
    assert "the limit is this machine, not the storage (too slow)" in found.knee.reason


def test_a_first_guess_that_the_generator_cannot_make_is_lowered() -> None:
    queue = ThrottledQueue(1000, 1, noise=0.15)

    def visit(rate_per_s: float, duration_ns: int, cut_ns: float | None) -> Visit:
        made = queue.visit(rate_per_s, duration_ns, cut_ns)
        return made if rate_per_s < 5000 else replace(made, kind=PointKind.INVALID, reason="too slow", figures_ns={})

    found, _ = _search(visit, 100_000, 75, 1)
    assert found.knee.load_per_s is not None
    assert found.knee.load_per_s.estimate == pytest.approx(1000, rel=0.05)


def test_a_machine_that_pauses_for_a_while_is_tried_again_at_loads_that_tell_something() -> None:
    queue = ThrottledQueue(1000, 1, noise=0.15)
    requests: list[float] = []

    def visit(rate_per_s: float, duration_ns: int, cut_ns: float | None) -> Visit:
        requests.append(rate_per_s * duration_ns / NS_PER_S)
        made = queue.visit(rate_per_s, duration_ns, cut_ns)
        return made if len(requests) > 20 else replace(made, kind=PointKind.INVALID, reason="late", figures_ns={})

    found, _ = _search(visit, 1000, 120, 1)
    assert min(requests) >= 3
    assert found.knee.load_per_s is not None
    assert found.knee.load_per_s.estimate == pytest.approx(1000, rel=0.05)


def test_latency_that_varies_without_regard_to_load_gives_no_knee_but_says_so() -> None:
    found, _ = _search(ThrottledQueue(1000, 5, noise=2.5).visit, 3000, 20, 5)
    bounds = found.knee.load_per_s
    assert bounds is None or bounds.half_width_ratio > 0.07
    assert found.knee.reason or any("only" in doubt for doubt in found.doubts)
