"""Balances of credits beside the rates that they let pass: the token bucket that gives both is the truth."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.rules.burst_credits_spent import RULE
from storscope.domain import burst_credits
from storscope.domain.finding import Severity
from storscope.domain.units import KIB
from tests.diagnose.cloud_volumes import COUNT, GP2, MACHINE, STEP_S, cloud, fallen
from tests.diagnose.evidence import needs, only_finding, statements
from tests.diagnose.limited_volume import FloatArray, Limits, Seen, serve, serve_together, steady, wandering_load
from tests.support.cases import findings, judge


def rng(seed: int = 2) -> np.random.Generator:
    return np.random.default_rng(seed)


def full() -> FloatArray:
    return np.ones(COUNT)


# It decides --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("period", [1, 5])
def test_a_balance_that_came_to_nothing_when_the_rate_fell_decides(period: int, tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, cloud(tmp_path, {"vol-1": fallen()}, period=period)))
    assert finding.title == "Volume vol-1 spent credits: 3,000 to 300 IOPS"
    assert finding.confidence == 0.95
    assert finding.severity is Severity.CRITICAL
    assert "they were spent" in finding.summary
    assert "if these were credits" not in finding.summary
    assert finding.numbers["left_ratio_after"] <= 0.02
    assert finding.numbers["left_ratio_before"] >= 0.9
    assert [row[2] for row in finding.evidence[1].rows] == ["credits_left_ratio"]


def test_rates_that_no_provider_documents_are_credits_where_the_balance_says_so(tmp_path: Path) -> None:
    """Without it they are information: a rebuild may do the same."""
    seen = fallen(Limits(ops_per_s=1_700, burst_ops_per_s=2_700, credits=4e6))
    alone = only_finding(judge(RULE, cloud(tmp_path / "alone", {"vol-1": seen}, {})))
    assert alone.severity is Severity.INFO
    finding = only_finding(judge(RULE, cloud(tmp_path / "both", {"vol-1": seen})))
    assert finding.title == "Volume vol-1 spent credits: 2,700 to 1,700 IOPS"
    assert finding.severity >= Severity.WARNING


def test_writes_that_fell_are_no_full_cache_where_the_balance_says_so(tmp_path: Path) -> None:
    seen = fallen(Limits(ops_per_s=1_510, burst_ops_per_s=2_500, credits=5e6), reads=0.0)
    assert "cache" in only_finding(judge(RULE, cloud(tmp_path / "alone", {"vol-1": seen}, {}))).innocent
    finding = only_finding(judge(RULE, cloud(tmp_path / "both", {"vol-1": seen})))
    assert "cache" not in f"{finding.innocent} {finding.summary} {finding.remedy} {finding.check}"
    assert finding.severity >= Severity.WARNING


def test_an_uneven_rate_with_a_queue_all_the_time_is_no_doubt_where_the_balance_tells(tmp_path: Path) -> None:
    ops = np.where(np.arange(COUNT) < 100, 3_500, 2_300) * rng().normal(1, 0.04, COUNT)
    in_flight, ones = np.full(COUNT, 32.0), np.ones(COUNT)
    left = np.maximum(1 - np.arange(COUNT) / 100, 0)
    seen = Seen(ops, 8 * KIB * ops, 0.7 * ones, in_flight / ops, in_flight, ones, left)
    assert needs(judge(RULE, cloud(tmp_path / "alone", {"vol-1": seen}, {})))
    finding = only_finding(judge(RULE, cloud(tmp_path / "both", {"vol-1": seen})))
    assert "spent" in finding.title
    full_outcomes = judge(RULE, cloud(tmp_path / "full", {"vol-1": seen}, {("vol-1", burst_credits.LEFT): full()}))
    assert statements(full_outcomes) == ["Of the burst credits of 1 volume of array never less than 100 % was left."]
    assert len(full_outcomes) == 1


def test_the_balance_of_a_machine_decides_for_its_volumes_together(tmp_path: Path) -> None:
    loads = [steady(COUNT, 1_500, most=32) for _ in range(2)]
    for one, load in enumerate(loads):
        load.ops_per_s[:] = 500 + 2_000 * ((np.arange(COUNT) // 7 + one) % 2)
    one, two = serve_together(loads, dataclasses.replace(GP2, ops_per_s=900), rng(), step_s=STEP_S)
    left = {(MACHINE, burst_credits.LEFT_OPS): one.credits_left, (MACHINE, burst_credits.LEFT_BYTES): full()}
    finding = only_finding(judge(RULE, cloud(tmp_path, {"vol-1": one, "vol-2": two}, left, period=5)))
    assert finding.title.startswith("2 volumes of array together spent credits: ")
    assert "burst credits for operations of VM machine" in finding.summary
    assert finding.numbers["ops_per_s_after"] == pytest.approx(900, rel=0.02)


def test_a_volume_with_credits_whose_machine_has_spent_its_own_fell_for_those(tmp_path: Path) -> None:
    seen = fallen()
    left = {("vol-1", burst_credits.LEFT): full(), (MACHINE, burst_credits.LEFT_OPS): seen.credits_left}
    finding = only_finding(judge(RULE, cloud(tmp_path, {"vol-1": seen}, left)))
    assert "of VM machine" in finding.summary


# It rules out ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [1.0, 0.5, 0.11])
def test_a_rate_that_falls_while_credits_are_left_spent_none(share: float, tmp_path: Path) -> None:
    left = {("vol-1", burst_credits.LEFT): share * full()}
    outcomes = judge(RULE, cloud(tmp_path, {"vol-1": fallen()}, left, period=5))
    assert not [one for one in outcomes if type(one).__name__ == "Finding"]
    [balance, fall] = statements(outcomes)
    assert f"never less than {100 * share:.0f} % was left" in balance
    assert fall.startswith("Credits are not why the rate of volume vol-1 fell from 3,000 IOPS to 300 IOPS")


def test_what_fell_with_credits_left_did_not_spend_them_together_with_another_volume(tmp_path: Path) -> None:
    idle = serve(steady(COUNT, 40), Limits(ops_per_s=3_000), rng(), step_s=STEP_S)
    left = {(name, burst_credits.LEFT): full() for name in ("vol-1", "vol-2")}
    outcomes = judge(RULE, cloud(tmp_path, {"vol-1": fallen(), "vol-2": idle}, left))
    assert len(statements(outcomes)) == len(outcomes)
    assert any(statement.startswith("Credits are not why") for statement in statements(outcomes))


def test_credits_for_operations_do_not_speak_for_those_for_bytes(tmp_path: Path) -> None:
    """Large reads, whose bytes are limited: the balance of operations stays full, that of bytes does not."""
    limits = Limits(ops_per_s=320, burst_ops_per_s=2_000, credits=3e6)
    load = steady(COUNT, 3_000, 256 * KIB, most=32, reads=0.9)
    seen = serve(load, limits, rng(), step_s=STEP_S, alone_s=0.004)
    ops, moved = ("vol-1", burst_credits.LEFT_OPS), ("vol-1", burst_credits.LEFT_BYTES)
    finding = only_finding(judge(RULE, cloud(tmp_path / "a", {"vol-1": seen}, {ops: full(), moved: seen.credits_left})))
    assert "burst credits for bytes of volume vol-1" in finding.summary
    assert finding.title == "Volume vol-1 spent credits: 524 MB/s to 83.9 MB/s"
    assert only_finding(judge(RULE, cloud(tmp_path / "b", {"vol-1": seen}, {ops: full()}))).confidence < 0.95
    assert not findings(RULE, cloud(tmp_path / "c", {"vol-1": seen}, {ops: full(), moved: full()}))


def test_a_balance_that_was_at_nothing_long_before_did_not_fall_then(tmp_path: Path) -> None:
    left = {("vol-1", burst_credits.LEFT): np.zeros(COUNT)}
    found = findings(RULE, cloud(tmp_path, {"vol-1": fallen()}, left))
    assert sorted(one.confidence for one in found) == [0.85, 0.9]
    assert {one.title for one in found} == {
        "Volume vol-1 spent credits: 3,000 to 300 IOPS", "Volume vol-1 has spent its burst credits"
    }  # fmt: skip


def test_a_balance_that_ends_before_the_rate_falls_says_nothing_of_it(tmp_path: Path) -> None:
    seen = fallen()
    short = {("vol-1", burst_credits.LEFT): full()[:20]}
    outcomes = judge(RULE, cloud(tmp_path, {"vol-1": seen}, short))
    assert only_finding(outcomes).confidence == 0.85


def test_the_balance_of_another_volume_says_nothing(tmp_path: Path) -> None:
    left = {("vol-2", burst_credits.LEFT): full()}
    assert only_finding(judge(RULE, cloud(tmp_path, {"vol-1": fallen()}, left))).confidence == 0.85


def test_a_healthy_volume_with_a_full_balance_is_healthy(tmp_path: Path) -> None:
    seen = serve(wandering_load(rng(), COUNT, 100, 900), Limits(ops_per_s=3_000), rng(), step_s=STEP_S)
    case = cloud(tmp_path, {"vol-1": seen}, {("vol-1", burst_credits.LEFT): full()})
    assert statements(judge(RULE, case)) == [
        "Of the burst credits of 1 volume of array never less than 100 % was left.",
        "No rate of 1 volume of array fell while as much was asked.",
    ]


# By itself ---------------------------------------------------------------------------------------------------------


def test_a_balance_at_nothing_all_the_time_is_told_without_a_fall(tmp_path: Path) -> None:
    """The evidence begins when the credits were spent."""
    seen = serve(wandering_load(rng(), COUNT, 200, 900), Limits(ops_per_s=300), rng(), step_s=STEP_S)
    left = {("vol-1", burst_credits.LEFT): np.full(COUNT, 0.004)}
    finding = only_finding(judge(RULE, cloud(tmp_path, {"vol-1": seen}, left, period=5)))
    assert finding.title == "Volume vol-1 has spent its burst credits"
    assert finding.severity is Severity.CRITICAL
    assert finding.numbers["spent_s"] == COUNT * STEP_S


def test_balances_alone_are_judged_without_rates(tmp_path: Path) -> None:
    shares = np.concatenate([np.linspace(1, 0, 60), np.zeros(60), np.linspace(0, 0.3, 120)])
    case = cloud(tmp_path, {}, {(MACHINE, burst_credits.LEFT_BYTES): shares})
    finding = only_finding(judge(RULE, case))
    assert finding.title == "VM machine has spent its burst credits"
    assert finding.severity is Severity.WARNING
    assert "at the end 30 % were left" in finding.summary


def test_one_sample_of_nothing_is_no_time_without_credits(tmp_path: Path) -> None:
    shares = full()
    shares[100] = 0.0
    assert not findings(RULE, cloud(tmp_path, {}, {("vol-1", burst_credits.LEFT): shares}))
