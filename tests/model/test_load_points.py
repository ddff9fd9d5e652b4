"""Which visits count, when one gainsays another."""

from __future__ import annotations

import math
from dataclasses import replace

from storscope.domain.load_curve import PointKind, Visit
from storscope.domain.objective import MEAN
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.model.load_credit import outlasted
from storscope.model.load_points import DISTURBED, ON_CREDIT, left_out, points_of

_VALID, _OVERLOADED = PointKind.VALID, PointKind.OVERLOADED


def _visit(load_per_s: float, mean_ms: float, seconds: float = 2, kind: PointKind = _VALID) -> Visit:
    figures = {"mean": mean_ms * NS_PER_MS}
    duration_ns = round(seconds * NS_PER_S)
    return Visit(load_per_s, load_per_s, kind, "", figures, duration_ns, duration_ns)


def _loads(*visits: Visit, bound_ms: float = 30) -> list[float]:
    points = points_of(visits, MEAN, "", bound_ms * NS_PER_MS)
    return [load for load, is_bound in zip(points.load, points.is_bound, strict=True) if not is_bound]


def test_a_visit_that_a_higher_load_gainsays_was_disturbed() -> None:
    assert _loads(_visit(1000, 1), _visit(1500, 5), _visit(2000, 1.1)) == [1000, 2000]


def test_a_little_longer_than_at_a_higher_load_is_chance() -> None:
    assert _loads(_visit(1000, 1.2), _visit(2000, 1.0)) == [1000, 2000]


def test_a_visit_that_is_much_shorter_gainsays_nothing() -> None:
    assert _loads(_visit(1500, 5, seconds=5), _visit(2000, 1, seconds=1)) == [1500, 2000]


def test_an_overload_is_gainsaid_only_by_a_visit_that_did_more() -> None:
    over = replace(_visit(817, 6, seconds=1, kind=_OVERLOADED), achieved_per_s=816.0)
    quick = _visit(839, 0.45, seconds=1)
    few_came, more_came = (replace(quick, achieved_per_s=done_per_s) for done_per_s in (796.0, 836.0))
    visits = [_visit(400, 0.4), over]
    assert left_out([*visits, few_came], MEAN, "", 30 * NS_PER_MS) == ()
    assert left_out([*visits, more_came], MEAN, "", 30 * NS_PER_MS) == ((1, DISTURBED),)


def test_a_short_visit_above_a_long_one_that_was_overloaded_lived_on_credit() -> None:
    short, long = _visit(1100, 1, seconds=1), _visit(1050, 80, seconds=5, kind=_OVERLOADED)
    assert outlasted([short, long]) == [short]
    assert _loads(_visit(900, 1), short, long) == [900]


def test_a_long_visit_that_was_far_slower_tells_of_credit_although_its_queue_came_and_went() -> None:
    light, short, long = _visit(500, 1), _visit(1044, 1.1, seconds=0.4), _visit(1044, 90, seconds=6)
    assert outlasted([light, short, long]) == [short]
    assert outlasted([light, short, _visit(1044, 5, seconds=6)]) == []


def test_a_long_visit_that_was_disturbed_at_light_load_outlasts_nothing() -> None:
    """A pause of the machine, not spent credit: others as long, at more load, took a fifth of its time."""
    light, disturbed = _visit(10_800, 0.08, seconds=0.4), _visit(2_400, 1.6, seconds=0.95)
    others = [_visit(19_700, 0.25, seconds=0.95), _visit(35_700, 0.3, seconds=0.95)]
    assert outlasted([light, disturbed, *others]) == []
    assert left_out([light, disturbed, *others], MEAN, "", 30 * NS_PER_MS) == ((1, DISTURBED),)


def test_credit_without_an_overloaded_visit_tells_no_load_that_lasts() -> None:
    visits = [_visit(500, 1), _visit(1044, 1.1, seconds=0.4), _visit(1044, 90, seconds=6)]
    points = points_of(visits, MEAN, "", 3000 * NS_PER_MS)
    assert list(points.load) == [500, 1044]
    assert not points.is_bound.any()
    assert all(requests >= 1 for requests in points.requests)


def test_what_more_than_lasts_was_served_before_was_on_credit_too() -> None:
    """A longer visit at 1100 was served 1000: the one at 1080 lived on credit, those below 1020 may not have."""
    long = replace(_visit(1100, 80, seconds=5, kind=_OVERLOADED), achieved_per_s=1000.0)
    same, below, lasting = (_visit(load, 1, seconds=1) for load in (1100, 1080, 1010))
    assert outlasted([same, below, lasting, long]) == [same, below]


def test_a_visit_as_long_as_the_one_that_outlasts_others_is_as_good() -> None:
    long = replace(_visit(1100, 80, seconds=5, kind=_OVERLOADED), achieved_per_s=1000.0)
    short, as_long = _visit(1100, 1, seconds=1), _visit(1080, 1, seconds=5)
    assert outlasted([short, as_long, long]) == [short]


def test_an_overloaded_visit_below_a_valid_one_of_its_length_outlasts_nothing() -> None:
    over, calm = _visit(900, 80, seconds=5, kind=_OVERLOADED), _visit(1000, 1, seconds=4)
    assert outlasted([_visit(950, 1, seconds=1), over, calm]) == []


def test_an_overloaded_visit_is_a_bound_whatever_it_saw() -> None:
    points = points_of([_visit(1000, 1), _visit(2000, 900, kind=_OVERLOADED)], MEAN, "", 30 * NS_PER_MS)
    assert points.is_bound.tolist() == [False, True]
    assert points.log_latency[1] == math.log(30 * NS_PER_MS)


def test_far_above_what_is_looked_for_a_valid_visit_is_a_bound_too_a_little_higher() -> None:
    points = points_of([_visit(1000, 1), _visit(2000, 50)], MEAN, "", 30 * NS_PER_MS)
    assert points.is_bound.tolist() == [False, False, True]
    assert 2000 < points.load[2] < 2100


def test_visits_that_do_not_count_are_told_with_the_reason() -> None:
    long = replace(_visit(1100, 80, seconds=5, kind=_OVERLOADED), achieved_per_s=1000.0)
    visits = [_visit(700, 5), _visit(800, 1, seconds=4), _visit(1100, 1, seconds=1), long]
    assert left_out(visits, MEAN, "", 30 * NS_PER_MS) == ((0, DISTURBED), (2, ON_CREDIT))
    assert left_out(visits, MEAN, "", 30 * NS_PER_MS, least_ns=6.0 * NS_PER_MS) == ((2, ON_CREDIT),)
    assert left_out(visits, MEAN, "service ", 30 * NS_PER_MS) == ()
