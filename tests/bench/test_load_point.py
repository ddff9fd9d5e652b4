"""A visit to one load: which intervals count, which figure they tell, and when it is ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from storscope.bench.figures import Interval, Latencies, Outcome
from storscope.bench.load_point import INTERVAL_NS, PointWatch
from storscope.domain.load_curve import PointKind, Visit
from storscope.domain.objective import Objective
from storscope.domain.units import NS_PER_MS, NS_PER_S

_RATE_PER_S = 1000.0


@dataclass(frozen=True)
class _Served:
    """An interval whose requests were all alike."""

    service_ns: int
    lateness_ns: int = 0
    in_flight: float = 1.0
    requests: int = 50
    flushed: _Served | None = None


def _histogram(value_ns: int, count: int) -> dict[str, Any]:
    return {
        "count": count, "mean_ns": value_ns, "max_ns": value_ns, "bucket_low_ns": [value_ns],
        "bucket_high_ns": [value_ns], "bucket_count": [count],
    }  # fmt: skip


def _interval(served: _Served) -> Interval:
    none = {"ios": 0, "bytes": 0, **{name: {"count": 0} for name in ("service", "lateness", "response")}}
    others = {"writes": none, "flushes": None if served.flushed is None else _tally(served.flushed)}
    return Interval({
        "duration_ns": INTERVAL_NS, "outstanding_mean": served.in_flight,
        "cells": [{"reads": _tally(served), **others}],
    })  # fmt: skip


def _tally(served: _Served) -> dict[str, Any]:
    return {
        "ios": served.requests, "bytes": served.requests * 4096,
        "service": _histogram(served.service_ns, served.requests),
        "lateness": _histogram(served.lateness_ns, served.requests),
        "response": _histogram(served.service_ns + served.lateness_ns, served.requests),
    }  # fmt: skip


def _watched(
    *intervals: _Served, rate_per_s: float = _RATE_PER_S, cut_ns: float | None = None, objective: str | None = None
) -> PointWatch:
    wanted = None if objective is None else Objective.parse(objective)
    watch = PointWatch(rate_per_s, wanted, slots=1024, ios_per_arrival=1.0, cut_ns=cut_ns)
    for served in intervals:
        watch(_interval(served))
    return watch


def _visit(watch: PointWatch, unsent: int = 0) -> Visit:
    result = {"ending": {"unsent": unsent, "submitted": 1000}}
    return watch.visit(Outcome(result, (), None, False), NS_PER_S)


def test_requests_in_time_tell_the_response() -> None:
    figures = _visit(_watched(*[_Served(NS_PER_MS, 1000)] * 20)).figures_ns
    assert figures["mean"] == pytest.approx(NS_PER_MS + 1000)
    assert figures["service mean"] == pytest.approx(NS_PER_MS)


def test_the_first_part_is_left_out() -> None:
    figures = _visit(_watched(*[_Served(9 * NS_PER_MS)] * 4, *[_Served(NS_PER_MS)] * 16)).figures_ns
    assert figures["mean"] == pytest.approx(NS_PER_MS)


def test_late_requests_tell_service_only_and_the_visit_says_so() -> None:
    visit = _visit(_watched(*[_Served(NS_PER_MS, NS_PER_MS // 5)] * 20))
    assert visit.kind is PointKind.VALID
    assert visit.figures_ns["mean"] is None
    assert visit.figures_ns["service mean"] == pytest.approx(NS_PER_MS)
    assert "late by 200 µs" in visit.reason


def test_far_below_its_limit_a_percentile_may_be_late() -> None:
    late = [_Served(NS_PER_MS, NS_PER_MS // 5)] * 20
    assert _visit(_watched(*late, objective="p99<50ms")).figures_ns["p99"] == pytest.approx(1.2 * NS_PER_MS)
    assert _visit(_watched(*late, objective="p99<2ms")).figures_ns["p99"] is None


def test_the_mean_is_what_the_knee_is_told_by_and_may_not_be_late() -> None:
    late = [_Served(NS_PER_MS, NS_PER_MS // 5)] * 20
    assert _visit(_watched(*late, objective="mean<50ms")).figures_ns["mean"] is None


def test_a_percentile_is_told_by_all_intervals_where_those_in_time_are_too_few_for_it() -> None:
    """A third of them is in time, of fewer requests than p99 takes; the others are late by 1/20 of an arrival."""
    in_time, late = _Served(25_000), _Served(25_000, 50_000)
    figures = _visit(_watched(*[late, in_time, late] * 7)).figures_ns
    assert figures["service p99"] == pytest.approx(25_000)


def test_lateness_far_above_service_is_harmless_while_it_lumps_no_arrivals() -> None:
    """Late by twice the service, but by a twentieth of the time between arrivals."""
    figures = _visit(_watched(*[_Served(25_000, 50_000)] * 20)).figures_ns
    assert figures["service mean"] == pytest.approx(25_000)


def test_lateness_that_lumps_arrivals_makes_a_visit_invalid() -> None:
    visit = _visit(_watched(*[_Served(25_000, 50_000)] * 20, rate_per_s=10_000))
    assert visit.kind is PointKind.INVALID


def test_intervals_in_which_the_machine_paused_are_left_out() -> None:
    calm, paused = _Served(NS_PER_MS), _Served(8 * NS_PER_MS, 4 * NS_PER_MS)
    figures = _visit(_watched(*[calm, paused, calm] * 7)).figures_ns
    assert figures["service mean"] == pytest.approx(NS_PER_MS)


def test_a_visit_is_ended_when_latency_stays_above_the_cut() -> None:
    slow = _Served(20 * NS_PER_MS)
    watch = _watched(*[_Served(NS_PER_MS)] * 5, *[slow] * 4, cut_ns=10 * NS_PER_MS)
    assert not watch.is_hopeless
    watch(_interval(slow))
    assert watch.is_hopeless
    assert _visit(watch).kind is PointKind.OVERLOADED


def test_a_visit_is_ended_when_arrivals_wait_for_places_in_a_full_queue() -> None:
    later = [_Served(NS_PER_MS, late * 50 * NS_PER_MS, in_flight=1000) for late in range(1, 6)]
    watch = _watched(*[_Served(NS_PER_MS)] * 5, *later[:4])
    assert not watch.is_hopeless
    watch(_interval(later[4]))
    assert watch.is_hopeless
    assert _visit(watch).kind is PointKind.OVERLOADED


def test_a_full_queue_is_overload_and_not_the_generators_fault() -> None:
    visit = _visit(_watched(*[_Served(NS_PER_MS, in_flight=1000)] * 20), unsent=500)
    assert visit.kind is PointKind.OVERLOADED


def test_how_many_were_in_flight_is_written_as_other_counts_are() -> None:
    watch = PointWatch(_RATE_PER_S, slots=2048, ios_per_arrival=1.0, cut_ns=None)
    for _ in range(4):
        watch(_interval(_Served(NS_PER_MS, in_flight=2000)))
    assert _visit(watch, unsent=500).reason == "more than 1,843 requests were in flight at a time"


def test_arrivals_that_were_never_sent_without_a_full_queue_are_the_generators_fault() -> None:
    visit = _visit(_watched(*[_Served(NS_PER_MS)] * 20), unsent=500)
    assert visit.kind is PointKind.INVALID
    assert "the generator did not keep up" in visit.reason


def test_a_queue_that_grew_in_the_generator_is_not_the_storages() -> None:
    slow = _Served(20 * NS_PER_MS, 90 * NS_PER_MS)
    visit = _visit(_watched(*[slow] * 20, cut_ns=10 * NS_PER_MS))
    assert visit.kind is PointKind.INVALID
    assert "requests left 90.0 ms late" in visit.reason


def test_a_visit_that_failed_at_once_is_invalid() -> None:
    assert _visit(_watched()).kind is PointKind.INVALID


def test_a_percentile_of_too_few_requests_is_not_told() -> None:
    visit = _visit(_watched(*[_Served(NS_PER_MS, requests=10)] * 20))
    assert visit.figures_ns["mean"] == pytest.approx(NS_PER_MS)
    assert visit.figures_ns["p99"] is None


def test_a_figure_has_the_interval_of_the_parts_that_it_rests_on() -> None:
    calm = [_Served(NS_PER_MS + 20_000 * (number % 5)) for number in range(25)]
    visit = _visit(_watched(*calm))
    low, high = visit.intervals_ns["mean"]
    assert low is not None
    assert high is not None
    assert low < (visit.figures_ns["mean"] or 0.0) < high
    assert high - low < 80_000, "narrower than what it varies by"
    paused = _visit(_watched(*(part for one in calm for part in (one, _Served(8 * NS_PER_MS, 4 * NS_PER_MS)))))
    assert paused.figures_ns["mean"] == visit.figures_ns["mean"]
    assert (paused.intervals_ns["mean"][1] or 0.0) < 2 * NS_PER_MS, "what the figure leaves out widens no interval"


def test_the_interval_of_service_is_not_that_of_response() -> None:
    late = [_Served(NS_PER_MS + 20_000 * (number % 5), 30_000) for number in range(25)]
    intervals = _visit(_watched(*late)).intervals_ns
    assert (intervals["service mean"][0] or 0.0) + 30_000 == pytest.approx(intervals["mean"][0])


def test_a_lower_bound_and_an_invalid_visit_have_no_interval() -> None:
    assert _visit(_watched(*[_Served(NS_PER_MS, in_flight=1000)] * 20), unsent=500).intervals_ns == {}
    assert _visit(_watched(*[_Served(NS_PER_MS)] * 20), unsent=500).intervals_ns == {}


def test_an_objective_of_flushes_is_told_by_them_alone() -> None:
    flushes = _Served(7 * NS_PER_MS, requests=25)
    visit = _visit(_watched(*[_Served(NS_PER_MS, flushed=flushes)] * 20, objective="flush-p99<9ms"))
    assert visit.figures_ns["flush-p99"] == visit.figures_ns["service flush-p99"] == 7 * NS_PER_MS
    assert visit.figures_ns["p99"] == NS_PER_MS
    assert visit.requests == 25 * 16
    assert visit.achieved_per_s == pytest.approx(1000.0), "a flush is no arrival"


def test_flushes_too_few_for_a_percentile_do_not_tell_it() -> None:
    few = [_Served(NS_PER_MS, flushed=_Served(7 * NS_PER_MS, requests=10))] * 20
    assert _visit(_watched(*few, objective="flush-p99<9ms")).figures_ns["flush-p99"] is None
    assert _visit(_watched(*few, objective="flush-p50<9ms")).figures_ns["flush-p50"] == 7 * NS_PER_MS


def test_an_objective_of_reads_is_told_by_them_alone() -> None:
    reads = [_Served(NS_PER_MS)] * 20
    assert _visit(_watched(*reads, objective="read-p99<9ms")).figures_ns["read-p99"] == NS_PER_MS
    assert _visit(_watched(*reads, objective="write-p99<9ms")).figures_ns["write-p99"] is None


def test_the_share_above_a_limit_is_of_the_values_beyond_it() -> None:
    """A bucket has whole nanoseconds, both of its ends included."""
    parts = {"count": 30, "mean_ns": 20, "max_ns": 29, "bucket_low_ns": [10, 20], "bucket_high_ns": [19, 29],
             "bucket_count": [10, 20]}  # fmt: skip
    latencies = Latencies.merged([parts])
    told = [latencies.share_above(limit_ns) for limit_ns in (5, 9, 14, 19, 24, 29, 99)]
    assert told == pytest.approx([1, 1, 25 / 30, 20 / 30, 10 / 30, 0, 0])
    assert Latencies().share_above(1) is None


def test_a_visit_tells_how_many_requests_took_longer_than_the_limit_of_a_percentile() -> None:
    quick, slow = _Served(NS_PER_MS), _Served(9 * NS_PER_MS)
    intervals = [slow] * 4 + [quick, quick, quick, slow] * 4
    assert _visit(_watched(*intervals, objective="p99<5ms")).above_limit == {"p99": 0.25, "service p99": 0.25}
    assert _visit(_watched(*intervals, objective="mean<5ms")).above_limit == {}
    assert _visit(_watched(*intervals)).above_limit == {}
