from __future__ import annotations

from pathlib import Path

import pytest

from storscope.diagnose.clocks import apply_offsets
from storscope.diagnose.rules.clocks_disagree import RULE
from storscope.domain.finding import Healthy, NotEvaluated, Severity
from tests.diagnose.test_clocks import GUESS, source
from tests.support.cases import findings, judge, make_case


def test_an_offset_is_shown_with_its_interval(tmp_path: Path) -> None:
    case = make_case(tmp_path, source(0, system="array", kind="vdisk"), source(97, step_s=10, clock="--timezone UTC"))
    [finding] = findings(RULE, case)
    assert finding.severity is Severity.INFO
    assert finding.numbers["offset_s"] == pytest.approx(-97, abs=5)
    assert finding.numbers["offset_s_low"] < -97 < finding.numbers["offset_s_high"]
    assert "ahead of" in finding.summary
    assert "left as they are" in finding.summary
    assert {entity.system for entity in finding.entities} == {"array", "host"}
    assert len(finding.evidence[0].rows) == 2


def test_an_hour_is_called_a_zone_and_said_to_be_applied(tmp_path: Path) -> None:
    case = make_case(tmp_path, source(0, system="array", kind="vdisk"), source(7_200, clock="--timezone UTC"))
    apply_offsets(case)
    [finding] = findings(RULE, case)
    assert "time zone" in finding.title
    assert "Its times were moved" in finding.summary


def test_clocks_that_agree_are_healthy_with_the_bound(tmp_path: Path) -> None:
    [healthy] = judge(RULE, make_case(tmp_path, source(0, system="array", kind="vdisk"), source(1)))
    assert isinstance(healthy, Healthy)
    assert "2 captures agree to within" in healthy.statement


def test_the_innocent_other_load_is_no_clock(tmp_path: Path) -> None:
    [outcome] = judge(RULE, make_case(tmp_path, source(0, system="array"), source(97, seed=9)))
    assert isinstance(outcome, NotEvaluated)


def test_thresholds_take_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, source(0, system="array", kind="vdisk"), source(97))
    assert findings(RULE, case, offset_s=200.0) == []
    assert len(findings(RULE, case, offset_s=50.0)) == 1


def test_a_guessed_clock_is_not_told_to_use_a_time_server(tmp_path: Path) -> None:
    case = make_case(tmp_path, source(0), source(-38_165, clock=GUESS))
    apply_offsets(case)
    [finding] = findings(RULE, case)
    assert finding.title == "Guessed times are 10 h 36 min off"
    assert "are a guess, as it has none" in finding.summary
    assert "Its times were moved" in finding.summary
    assert "NTP" not in finding.remedy
    assert "about 2026-11-21 00:00:0" in finding.remedy
    assert "--start" in finding.remedy
