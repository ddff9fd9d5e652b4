"""A latency that nobody measured: mean queue by rate (Little's law), which is told as such and overrides none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storscope.diagnose.case import Case
from storscope.diagnose.engine import evaluate
from storscope.diagnose.rules import littles_law, rules
from storscope.diagnose.thresholds import load_thresholds
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Outcome, Severity
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S
from tests.diagnose.days import record
from tests.diagnose.evidence import needs
from tests.diagnose.limited_volume import FloatArray, Limits, Seen, serve, wandering_load
from tests.support.cases import judge, make_case

VOLUME = EntityRef("array", "vdisk", "v1")
_COUNT = 240
_STEP_S = 60.0


def columns_of(one: Seen) -> dict[str, FloatArray]:
    """What a source tells that has a mean queue and no latency."""
    return {
        "read_ops_per_s": one.ops_per_s * one.read_share, "write_ops_per_s": one.ops_per_s * (1 - one.read_share),
        "read_bytes_per_s": one.bytes_per_s * one.read_share,
        "write_bytes_per_s": one.bytes_per_s * (1 - one.read_share), "queue_depth_mean": one.in_flight,
    }  # fmt: skip


def case_of(folder: Path, columns: Mapping[str, FloatArray], step_s: float = _STEP_S) -> Case:
    def write(recorder: Recorder) -> None:
        record(recorder, {name: row[None, :] for name, row in columns.items()}, ["v1"], step_s=step_s, on=None)

    return make_case(folder, write)


def served(limits: Limits, high: float = 6_000) -> Seen:
    load = wandering_load(np.random.default_rng(1), _COUNT, 500, high)
    return serve(load, limits, np.random.default_rng(2), step_s=_STEP_S)


def judged(case: Case) -> list[Outcome]:
    return list(evaluate(case, rules(), load_thresholds(rules())))


def findings_of(outcomes: list[Outcome], rule: str) -> list[Finding]:
    return [one for one in outcomes if isinstance(one, Finding) and one.rule == rule]


def test_the_queue_by_the_rate_is_the_latency_that_was(tmp_path: Path) -> None:
    one = served(Limits(ops_per_s=3_000))
    series = case_of(tmp_path, columns_of(one)).all_series[VOLUME]
    assert series.has_derived_latency
    assert series["latency_ns_mean"] == pytest.approx(one.latency_s * NS_PER_S)
    assert not series.has("read_latency_ns_mean")


def test_rules_that_need_latency_judge_by_it_and_tell_where_it_is_from(tmp_path: Path) -> None:
    case = case_of(tmp_path, columns_of(served(Limits(ops_per_s=3_000))))
    outcomes = judged(case)
    [cap] = findings_of(outcomes, "throughput-cap")
    assert cap.numbers["limit_ops_per_s"] == pytest.approx(3_000, rel=0.005)
    assert findings_of(outcomes, "latency-above-tier")
    told = [rows for one in outcomes if isinstance(one, Finding) for rows in one.evidence]
    with_latency = [rows for rows in told if any("latency" in name for name in rows.columns)]
    assert with_latency
    assert all("Little's law" in rows.caption for rows in with_latency)
    assert all(rows.rows for rows in with_latency)
    assert not any("Little's law" in rows.caption for rows in told if rows not in with_latency)
    assert [note.words for note in case.notes if note.words.startswith("latency: nothing tells that of one thing of")]


def test_a_quick_volume_stays_healthy(tmp_path: Path) -> None:
    outcomes = judged(case_of(tmp_path, columns_of(served(Limits(), 900))))
    assert not [one for one in outcomes if isinstance(one, Finding) and one.severity > Severity.INFO]


def test_a_law_is_not_proved_by_what_follows_from_it(tmp_path: Path) -> None:
    case = case_of(tmp_path, columns_of(served(Limits(ops_per_s=3_000))))
    assert needs(judge(littles_law.RULE, case))


def test_a_measured_latency_is_never_replaced_nor_filled_up(tmp_path: Path) -> None:
    one = served(Limits(ops_per_s=3_000))
    measured = np.where(np.arange(_COUNT) % 3 == 0, np.nan, 5e6)
    case = case_of(tmp_path, columns_of(one) | {"latency_ns_mean": measured})
    series = case.all_series[VOLUME]
    assert not series.has_derived_latency
    np.testing.assert_array_equal(series["latency_ns_mean"], measured)
    assert not case.derived_latency
    assert not [note for note in case.notes if note.words.startswith("latency:")]


@pytest.mark.parametrize("told", ["read_latency_ns_mean", "write_latency_ns_mean", "device_latency_ns_mean"])
def test_a_latency_of_a_part_is_not_joined_with_one_that_is_derived(told: str, tmp_path: Path) -> None:
    columns = columns_of(served(Limits(ops_per_s=3_000))) | {told: np.full(_COUNT, 5e6)}
    assert not case_of(tmp_path, columns).all_series[VOLUME].has("latency_ns_mean")


def test_without_operations_there_is_no_latency(tmp_path: Path) -> None:
    ops = np.where(np.arange(20) % 2 == 0, 0.0, 100.0)
    series = case_of(tmp_path, {"ops_per_s": ops, "queue_depth_mean": np.full(20, 0.5)}).all_series[VOLUME]
    np.testing.assert_array_equal(series["latency_ns_mean"], np.where(ops > 0, 5e6, np.nan))


def test_a_queue_that_was_rounded_to_nothing_tells_no_latency_of_nothing(tmp_path: Path) -> None:
    columns = {"ops_per_s": np.full(20, 100.0), "queue_depth_mean": np.where(np.arange(20) < 5, 0.0, 0.5)}
    series = case_of(tmp_path, columns).all_series[VOLUME]
    assert np.isnan(series["latency_ns_mean"][:5]).all()


def test_a_queue_in_whole_numbers_is_a_count_and_no_mean(tmp_path: Path) -> None:
    columns = {"ops_per_s": np.full(20, 100.0), "queue_depth_mean": np.arange(20) % 3 + 1.0}
    assert not case_of(tmp_path, columns).all_series[VOLUME].has("latency_ns_mean")


def test_a_latency_longer_than_its_interval_is_none(tmp_path: Path) -> None:
    """32 in flight and one done in two intervals: what it waited for nobody knows."""
    columns = {"ops_per_s": np.where(np.arange(20) < 5, 0.05, 100.0), "queue_depth_mean": np.full(20, 32.5)}
    series = case_of(tmp_path, columns, step_s=10).all_series[VOLUME]
    assert np.isnan(series["latency_ns_mean"][:5]).all()
    assert series["latency_ns_mean"][5:] == pytest.approx(0.325e9)


def test_reads_alone_are_not_all_that_is_in_the_queue(tmp_path: Path) -> None:
    columns = {"read_ops_per_s": np.full(20, 100.0), "queue_depth_mean": np.full(20, 0.5)}
    assert not case_of(tmp_path, columns).all_series[VOLUME].has("latency_ns_mean")


def test_a_derived_latency_does_not_make_a_capture_the_fuller_one(tmp_path: Path) -> None:
    """Both tell as much; the longer one is taken, as it was."""
    ops = np.full(20, 100.0)

    def with_queue(recorder: Recorder) -> None:
        record(recorder, {"ops_per_s": ops[None, :19], "queue_depth_mean": ops[None, :19] / 80}, ["v1"], on=None)

    def with_latency(recorder: Recorder) -> None:
        record(recorder, {"ops_per_s": ops[None, :], "latency_ns_mean": 1e4 * ops[None, :]}, ["v1"], on=None)

    series = make_case(tmp_path, with_queue, with_latency).all_series[VOLUME]
    assert not series.has_derived_latency
    assert series["latency_ns_mean"] == pytest.approx(1e6)


@settings(max_examples=25, deadline=None)
@given(
    ops=st.floats(0.1, 1e5), latency_s=st.floats(1e-5, 1.0), step_s=st.sampled_from([10.0, 60.0, 300.0]),
)  # fmt: skip
def test_little_s_law_gives_back_the_latency(
    tmp_path_factory: pytest.TempPathFactory, ops: float, latency_s: float, step_s: float
) -> None:
    rates = ops * np.linspace(1, 2, 12)
    columns = {"ops_per_s": rates, "queue_depth_mean": rates * latency_s}
    series = case_of(tmp_path_factory.mktemp("law"), columns, step_s).all_series[VOLUME]
    assert series["latency_ns_mean"] == pytest.approx(latency_s * NS_PER_S)
