from __future__ import annotations

from pathlib import Path

import numpy as np

from storscope.diagnose.rules.latency_above_tier import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Healthy, NotEvaluated, Severity
from storscope.domain.recorder import Recorder
from storscope.domain.vocabulary import SIMULATED_FACT
from tests.diagnose.days import MS, FloatArray, day, entity
from tests.support.cases import findings, judge, make_case


def test_a_tenth_of_the_operations_above_the_limit_is_too_slow(tmp_path: Path) -> None:
    def slow(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency[[2, 4], :100] = 40 * MS

    [finding] = findings(RULE, make_case(tmp_path, day(slow)))
    assert finding.severity is Severity.CRITICAL
    assert {one.name for one in finding.entities} == {"v02", "v04"}
    assert 0.12 < finding.numbers["share_of_operations"] < 0.16
    assert "assumed" in finding.summary
    assert finding.evidence[0].rows[0][3] == 100


def test_between_the_limits_is_a_warning(tmp_path: Path) -> None:
    [finding] = findings(RULE, make_case(tmp_path, day(latency_ms=20)))
    assert finding.severity is Severity.WARNING
    assert len(finding.entities) == 6


def test_the_title_counts_what_is_above_the_limit_that_it_names(tmp_path: Path) -> None:
    def slow(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency[[0, 1]] = 40 * MS
        latency[2] = 20 * MS

    [finding] = findings(RULE, make_case(tmp_path, day(slow)))
    assert finding.title.startswith("2 volumes above 25.0 ms")
    assert "Above a limit of their own: " in finding.summary
    assert {one.name for one in finding.entities} == {"v00", "v01", "v02"}


def test_nobody_is_asked_who_waits_in_a_simulation(tmp_path: Path) -> None:
    measured = day(latency_ms=20)

    def simulated(recorder: Recorder) -> None:
        measured(recorder)
        system = entity(0).system
        recorder.fact(EntityRef(system, "array", system), SIMULATED_FACT, 5)

    [finding] = findings(RULE, make_case(tmp_path / "simulated", simulated))
    assert "change that part of the design" in finding.check
    [finding] = findings(RULE, make_case(tmp_path / "measured", measured))
    assert "Ask who waits" in finding.check


def test_a_steady_good_day_is_healthy_with_its_number(tmp_path: Path) -> None:
    [healthy] = judge(RULE, make_case(tmp_path, day()))
    assert isinstance(healthy, Healthy)
    assert "4." in healthy.statement or "3." in healthy.statement
    assert "disk, assumed" in healthy.statement


def test_the_innocent_idle_disk_and_rare_spikes_are_healthy(tmp_path: Path) -> None:
    def idle(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[0] = 0.5
        latency[0] = 80 * MS
        latency[1, ::50] = 300 * MS

    assert findings(RULE, make_case(tmp_path, day(idle))) == []


def test_a_few_slow_seconds_are_information_at_most(tmp_path: Path) -> None:
    def slow(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        latency[0, 3] = 90 * MS
        ops[0, 3] *= 20

    case = make_case(tmp_path, day(slow, count=10, step_s=1, volumes=1))
    [finding] = findings(RULE, case)
    assert finding.severity is Severity.INFO
    assert "only 1.00 s" in finding.title
    assert "too little to judge" in finding.summary
    [judged] = findings(RULE, case, above_min_s=1)
    assert judged.severity is Severity.CRITICAL


def test_a_few_slow_operations_are_information_at_most(tmp_path: Path) -> None:
    def few(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[:] = 6
        latency[0, :1] = 90 * MS

    case = make_case(tmp_path, day(few, count=8, step_s=30, volumes=1))
    assert findings(RULE, case)[0].severity is Severity.INFO
    assert findings(RULE, case, above_min_operations=100)[0].severity is Severity.CRITICAL


def test_a_time_that_two_captures_saw_is_counted_once(tmp_path: Path) -> None:
    [finding] = findings(RULE, make_case(tmp_path, day(latency_ms=50), day(latency_ms=50), day(latency_ms=50)))
    assert {row[2] for row in finding.evidence[0].rows} == {720}


def test_large_backup_reads_have_wider_limits(tmp_path: Path) -> None:
    large = make_case(tmp_path / "large", day(latency_ms=16, size_bytes=256 * 1024))
    small = make_case(tmp_path / "small", day(latency_ms=16))
    assert findings(RULE, large) == []
    assert len(findings(RULE, small)) == 1


def test_flash_has_its_own_limits(tmp_path: Path) -> None:
    def flash(recorder: Recorder) -> None:
        day()(recorder)
        recorder.fact(entity("shared", "disk_group"), "media", "ssd")

    [finding] = findings(RULE, make_case(tmp_path, flash))
    assert finding.severity is Severity.CRITICAL
    assert "flash" in finding.title


def test_thresholds_take_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, day())
    assert findings(RULE, case) == []
    assert len(findings(RULE, case, latency_ns_warning_disk=2 * MS)) == 1
    assert findings(RULE, case, latency_ns_critical_disk=2 * MS)[0].severity is Severity.CRITICAL
    assert isinstance(judge(RULE, case, idle_ops_per_s=1e6)[0], NotEvaluated)


def test_one_slow_thing_seen_at_several_heights_is_one_finding(tmp_path: Path) -> None:
    case = make_case(tmp_path, day(latency_ms=50, system="h", kind="device"), day(latency_ms=50, system="h", kind="vm"))
    [finding] = findings(RULE, case)
    assert {one.kind for one in finding.entities} == {"device"}
    assert "VMs" in finding.summary


def test_without_latency_it_names_what_it_needs(tmp_path: Path) -> None:
    def rates(recorder: Recorder) -> None:
        recorder.observe(entity("v00"), 0, 1, {"ops_per_s": 5.0})

    [outcome] = judge(RULE, make_case(tmp_path, rates))
    assert isinstance(outcome, NotEvaluated)
    assert "latency" in outcome.needs
