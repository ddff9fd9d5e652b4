"""What the chart of a search for the knee is given: points, their kinds, the curves, the answers, and its axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from storscope.domain.load_curve import Bounds, Crossing, LoadCurve, PointKind
from storscope.domain.objective import Objective
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.report.knee_chart import KneeChart, State, knee_chart, latency_range
from storscope.report.pack import Packer
from tests.report.knees import (
    DISTURBED,
    LATE,
    LIMIT_NS,
    ON_CREDIT,
    OVERLOAD,
    WITHIN_PER_S,
    curve,
    invalid,
    overloaded,
    unanswered,
    visit,
)  # fmt: skip

_NAMES = ("mean", "p99")


class _Kept(Packer):
    """Keeps the columns as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[list[float]] = []

    def add_values(self, values: Any) -> int:
        self.kept.append(list(values))
        return super().add_values(values)

    def add_counts(self, counts: Any) -> int:
        self.kept.append(list(counts))
        return super().add_counts(counts)


def _drawn(found: LoadCurve) -> tuple[Mapping[str, Any], list[list[float]], KneeChart]:
    packer = _Kept()
    page = knee_chart(found, packer)
    assert page.chart is not None
    return page.chart, packer.kept, page


def test_every_visit_within_the_axis_is_a_point_by_load() -> None:
    chart, columns, _ = _drawn(curve())
    offered = columns[chart["offered"]]
    assert offered == sorted(offered)
    assert len(offered) == len(curve().visits) - 1, "one is far to the right"
    mean, p99 = chart["lines"]
    assert (mean["label"], p99["label"]) == ("mean response time", "p99 response time")
    at = offered.index(495)
    value, low, high = (columns[mean[name]][at] for name in ("values", "low", "high"))
    assert value == pytest.approx(NS_PER_MS / (1 - 0.495))
    assert (low, high) == (pytest.approx(0.96 * value), pytest.approx(1.08 * value))


def test_bounds_left_out_and_untold_visits_are_told_apart() -> None:
    chart, columns, _ = _drawn(curve())
    offered, (mean, p99) = columns[chart["offered"]], chart["lines"]
    states = {load: columns[mean["states"]][at] for at, load in enumerate(offered)}
    assert states[300] == states[960] == State.LEFT_OUT
    assert states[1010] == states[1100] == State.BOUND
    assert states[495] == State.COUNTS
    assert columns[p99["states"]][offered.index(300)] == State.COUNTS, "the objective's curve has it"
    assert [offered[at] for at in chart["unused"]] == [610]


def test_why_a_visit_does_not_simply_count_is_told_with_its_figures() -> None:
    chart, columns, page = _drawn(curve())
    why = dict(zip(columns[chart["offered"]], chart["why"], strict=True))
    assert why[610] == f"invalid: {LATE}"
    assert why[1010] == f"overloaded: {OVERLOAD}"
    assert why[300] == f"left out of the curve of the mean ({DISTURBED})"
    assert why[960] == f"left out of the curve of the mean and the p99 ({ON_CREDIT})"
    assert why[495] == ""
    assert [row[-1] for row in page.rows].count("counts") == 16


def test_a_valid_visit_that_was_late_for_one_figure_says_which() -> None:
    late = replace(visit(300), figures_ns={"mean": 2.0 * NS_PER_MS, "p99": None}, reason=LATE)
    chart, columns, _ = _drawn(replace(curve(), visits=(visit(200), late)))
    assert dict(zip(columns[chart["offered"]], chart["why"], strict=True)) == {
        200: "", 300: f"{LATE}: no p99 response time",
    }  # fmt: skip


def test_answers_are_bands_in_the_colour_of_their_figure() -> None:
    chart, _, _ = _drawn(curve())
    knee, within = chart["answers"]
    assert (knee["x"], knee["low"], knee["high"], knee["tone"]) == (500.0, 480.0, 525.0, 0)
    assert (knee["label"], knee["interval"]) == ("Knee 500 requests/s", "95 %: 480 to 525")
    assert (within["x"], within["tone"]) == (WITHIN_PER_S, 1)
    assert within["label"] == "p99 < 20.0 ms up to 770 requests/s"


def test_an_objective_of_the_mean_has_a_colour_of_its_own() -> None:
    mean = replace(
        curve(), objective=Objective.parse("mean<4ms"),
        within_objective=Crossing("mean", 4.0 * NS_PER_MS, Bounds(750.0, 740.0, 760.0)),
    )  # fmt: skip
    chart, _, _ = _drawn(mean)
    assert [answer["tone"] for answer in chart["answers"]] == [0, 2]
    assert len(chart["lines"]) == 2


def test_the_flat_part_ends_at_the_knee_where_latency_is_twice_that() -> None:
    light = _drawn(curve())[0]["light"]
    assert (light["ns"], light["low"], light["high"]) == (1.0 * NS_PER_MS, 0.97 * NS_PER_MS, 1.02 * NS_PER_MS)
    assert (light["end"], light["twice_ns"], light["twice_label"]) == (500.0, 2.0 * NS_PER_MS, "twice that: 2.00 ms")
    without = replace(curve(), knee=Crossing("mean", 2.0 * NS_PER_MS, None, "not found"))
    light = _drawn(without)[0]["light"]
    assert (light["end"], light["twice_ns"], light["twice_label"]) == (None, None, "")


def test_the_curves_are_those_that_were_fitted_and_no_others() -> None:
    chart, columns, _ = _drawn(curve())
    mean, p99 = chart["lines"]
    assert tuple(zip(*(columns[number] for number in mean["fitted"]), strict=True)) == curve().fitted
    assert tuple(zip(*(columns[number] for number in p99["fitted"]), strict=True)) == curve().fitted_objective
    without = replace(curve(), objective=None, within_objective=None, fitted_objective=())
    assert [bool(line["fitted"]) for line in _drawn(without)[0]["lines"]] == [True, False]


def test_service_time_is_called_so() -> None:
    by_service = replace(visit(300), figures_ns={"service mean": 2.0 * NS_PER_MS, "p99": 5.0 * NS_PER_MS})
    found = replace(curve(), visits=(by_service,), knee=replace(curve().knee, figure="service mean", left_out=()))
    assert [line["label"] for line in _drawn(found)[0]["lines"]] == ["mean service time", "p99 response time"]


# Axes -----------------------------------------------------------------------------------------------------------------


def test_the_axis_of_load_begins_at_nothing_and_ends_a_little_right_of_what_tells_something() -> None:
    chart, columns, page = _drawn(curve())
    assert max(columns[chart["offered"]]) == 1100
    assert 1100 < chart["right"] < 1200
    assert "1 visit at loads up to 5,000 requests/s" in page.note


def test_the_interval_of_an_answer_is_on_the_axis() -> None:
    wide = replace(curve(), visits=(visit(300),), knee=replace(curve().knee, load_per_s=Bounds(900.0, 500.0, 1500.0)))
    assert _drawn(wide)[0]["right"] > 1500


def test_the_axis_of_latency_has_room_for_what_was_measured_and_for_the_limit() -> None:
    low, high = latency_range(curve(), curve().visits, _NAMES)
    assert 0.5 * NS_PER_MS < low < NS_PER_MS
    assert high > max(LIMIT_NS, 4.6 * NS_PER_MS / 0.15)


def test_light_load_is_on_the_axis_although_no_visit_was_that_quick() -> None:
    low, _ = latency_range(curve(), [visit(500)], _NAMES)
    assert low < curve().light_ns.low  # type: ignore[union-attr]


def test_a_third_figure_is_not_marked_like_a_lower_bound() -> None:
    """Lower bounds are triangles, which is the third marker of lines."""
    three = replace(
        curve(), objective=Objective.parse("p99.9<30ms"), within_objective=Crossing("p99.9", 3e7, None, "none")
    )
    assert [line["tone"] for line in _drawn(three)[0]["lines"]] == [0, 1, 3]


def test_lower_bounds_far_above_everything_do_not_flatten_the_curve() -> None:
    _, without = latency_range(curve(), [visit(300)], _NAMES)
    _, high = latency_range(curve(), [visit(300), overloaded(1100, 60_000)], _NAMES)
    assert high < 4 * without
    assert latency_range(curve(), [overloaded(1100, 60_000)], _NAMES)[1] > 60_000 * NS_PER_MS


@pytest.mark.parametrize(("limit_ns", "where"), [(NS_PER_S * 60, "above"), (10.0, "below"), (LIMIT_NS, "inside")])
def test_a_limit_far_from_what_was_measured_is_said_to_be_so(limit_ns: float, where: str) -> None:
    within = Crossing("p99", float(limit_ns), None, "nothing meets it")
    chart, _, _ = _drawn(replace(curve(), within_objective=within))
    assert chart["limit"]["where"] == where
    assert chart["limit"]["ns"] == limit_ns
    assert [answer["label"] for answer in chart["answers"]] == ["Knee 500 requests/s"]


# The table ------------------------------------------------------------------------------------------------------------


def test_the_table_has_every_visit_with_units_intervals_and_what_became_of_it() -> None:
    _, _, page = _drawn(curve())
    assert list(page.heads[:2]) == ["Offered, requests/s", "Done, requests/s"]
    rows = {row[0]: row for row in page.rows}
    assert len(page.rows) == len(curve().visits)
    assert rows["495"][2] == "1.98 ms ± 119 µs"
    assert rows["1,100"][1:4] == ["990", "> 400 ms", "> 1.20 s"]
    assert rows["610"][2:4] == ["–", "–"]
    assert rows["495"][4] == "2.00 s"


def test_an_end_of_an_interval_that_is_not_known_is_not_made_up() -> None:
    half = replace(visit(300), intervals_ns={"p99": (5.0 * NS_PER_MS, None)})
    chart, columns, page = _drawn(replace(curve(), visits=(half,)))
    p99 = chart["lines"][1]
    assert columns[p99["low"]] == [5.0 * NS_PER_MS]
    assert columns[p99["high"]][0] != columns[p99["high"]][0]
    assert page.rows[0][3] == "6.58 ms (from 5.00 ms)"


def test_visits_that_tell_nothing_are_a_table_without_a_chart() -> None:
    page = knee_chart(unanswered(), Packer())
    assert page.chart is None
    assert len(page.rows) == 3
    assert knee_chart(replace(unanswered(), visits=()), Packer()).rows == []


def test_invalid_visits_do_not_stretch_the_axis() -> None:
    chart, columns, page = _drawn(replace(curve(), visits=(visit(300), invalid(90_000))))
    assert columns[chart["offered"]] == [300]
    assert chart["right"] < 1000
    assert PointKind.INVALID.value in page.rows[1][-1]
