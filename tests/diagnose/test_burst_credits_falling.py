from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storscope.diagnose.rules import burst_credits_spent
from storscope.diagnose.rules.burst_credits_falling import RULE
from storscope.domain import burst_credits
from storscope.domain.finding import Severity
from tests.diagnose.cloud_volumes import COUNT, GP2, STEP_S, cloud, fallen
from tests.diagnose.evidence import needs, only_finding, statements
from tests.diagnose.limited_volume import FloatArray, Seen, serve, steady
from tests.support.cases import findings, judge


def rng(seed: int = 2) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_balance_that_falls_is_told_with_how_long_it_lasts(tmp_path: Path) -> None:
    """2,000 of them a second, of which 300 come back: 1,700 a second of 5.4 million are spent in 53 minutes."""
    seen = serve(steady(COUNT, 2_000, most=64), GP2, rng(), step_s=STEP_S)
    part = Seen(*(getattr(seen, field.name)[:30] for field in dataclasses.fields(seen)))
    case = cloud(tmp_path, {"vol-1": part})
    assert not findings(burst_credits_spent.RULE, case)
    finding = only_finding(judge(RULE, case))
    assert finding.severity is Severity.WARNING
    assert finding.title.startswith("Volume vol-1: burst credits last 23 min more")
    assert finding.numbers["lasts_s"] == pytest.approx(5.4e6 / 1_700 - 1_800 + STEP_S / 2, rel=0.01)
    assert finding.numbers["lasts_low_s"] <= finding.numbers["lasts_s"] <= finding.numbers["lasts_high_s"]
    assert "95 % interval" in finding.summary


@settings(max_examples=15, deadline=None)
@given(pace=st.floats(1.5, 6), seen_share=st.floats(0.3, 0.8), seed=st.integers(0, 999))
def test_the_rest_lasts_about_as_long_as_the_bucket_does(
    tmp_path_factory: pytest.TempPathFactory, pace: float, seen_share: float, seed: int
) -> None:
    lasts_s = 5.4e6 / (300 * (pace - 1))
    count = int(lasts_s / STEP_S)
    load = steady(count, 300 * pace, most=64)
    load.ops_per_s[:] *= np.random.default_rng(seed).gamma(20, 1 / 20, count)
    seen = serve(load, GP2, rng(seed + 1_000), step_s=STEP_S)
    end = int(seen_share * count)
    left = {("vol-1", burst_credits.LEFT): seen.credits_left[:end]}
    numbers = only_finding(judge(RULE, cloud(tmp_path_factory.mktemp("law"), {}, left))).numbers
    # Of the credits that are left then, which loads have drawn at random until then.
    off_s = numbers["lasts_s"] - seen.credits_left[end - 1] * lasts_s
    reach_s = numbers["lasts_s"] - numbers["lasts_low_s"] if off_s > 0 else numbers["lasts_high_s"] - numbers["lasts_s"]
    assert abs(off_s) < 2.5 * reach_s + 2 * STEP_S


def test_what_lasts_for_more_than_a_day_is_information(tmp_path: Path) -> None:
    shares = np.linspace(1, 0.9, COUNT)
    finding = only_finding(judge(RULE, cloud(tmp_path, {}, {("v", burst_credits.LEFT): shares})))
    assert finding.severity is Severity.INFO


_STILL = {
    "full": np.ones(120), "level": np.full(120, 0.4), "rising": np.linspace(0.2, 1, 120),
    "fell and stands": np.concatenate([np.linspace(1, 0.4, 60), np.full(60, 0.4)]),
    "came back": np.concatenate([np.linspace(1, 0.2, 60), np.linspace(0.2, 1, 60)]),
    "noise": 1 - 0.02 * np.random.default_rng(0).random(120), "hardly": np.linspace(1, 0.97, 120),
    "one": np.array([1.0]), "two": np.array([1.0, 0.5]),
}  # fmt: skip


@pytest.mark.parametrize("shares", _STILL.values(), ids=_STILL)
def test_a_balance_that_does_not_fall_at_its_end_is_not_told(shares: FloatArray, tmp_path: Path) -> None:
    outcomes = judge(RULE, cloud(tmp_path, {}, {("vol-1", burst_credits.LEFT): shares}))
    assert statements(outcomes)
    assert len(outcomes) == 1


def test_credits_that_are_spent_are_not_told_as_falling(tmp_path: Path) -> None:
    [needed] = needs(judge(RULE, cloud(tmp_path, {"vol-1": fallen()})))
    assert "burst-credits-spent" in needed


def test_without_balances_they_are_asked_for(tmp_path: Path) -> None:
    [needed] = needs(judge(RULE, cloud(tmp_path, {"vol-1": fallen()}, {})))
    assert "BurstBalance" in needed
