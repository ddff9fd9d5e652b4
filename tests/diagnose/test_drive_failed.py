from __future__ import annotations

from pathlib import Path

import pytest

from storscope.diagnose.rules import latency_above_tier, uneven_drives
from storscope.diagnose.rules.drive_failed import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import HOUR_NS, START_NS, Writer, needs, only_finding, statements, write_series
from tests.support.cases import findings, judge, make_case

_D14, _D15 = EntityRef("eva", "disk", "014"), EntityRef("eva", "disk", "015")
_G1, _G2 = EntityRef("eva", "disk_group", "DG 1"), EntityRef("eva", "disk_group", "DG 2")


def _log(*lines: tuple[float | None, str, EntityRef]) -> Writer:
    """Events: (hour, type, entity)."""

    def write(recorder: Recorder) -> None:
        for hour, type_, entity in lines:
            recorder.event(entity, None if hour is None else START_NS + int(hour * HOUR_NS), type_, f"{type_} {entity}")

    return write


def _states(**states: str) -> Writer:
    def write(recorder: Recorder) -> None:
        for name, state in states.items():
            recorder.fact(EntityRef("eva", "disk", name.strip("d")), "state", state)

    return write


def test_a_failed_drive_without_a_rebuild_is_found(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _log((0, "disk_failed", _D14)))))
    assert finding.severity is Severity.WARNING
    assert finding.title == "1 failed drive of eva not rebuilt"
    assert finding.entities == (_D14,)


def test_two_of_them_are_critical(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _log((0, "disk_failed", _D14), (1, "disk_failed", _D15)))))
    assert finding.severity is Severity.CRITICAL


def test_a_rebuild_that_runs_only_informs(tmp_path: Path) -> None:
    case = make_case(tmp_path, _log((0, "disk_failed", _D14), (0.1, "rebuild_started", _G1)))
    finding = only_finding(judge(RULE, case))
    assert finding.severity is Severity.INFO
    assert "expected slow-down" in finding.summary
    assert set(finding.entities) == {_D14, _G1}


def test_a_rebuild_of_one_group_does_not_speak_for_the_drive_of_another(tmp_path: Path) -> None:
    def members(recorder: Recorder) -> None:
        recorder.link(_D14, "member_of", _G1)
        recorder.link(_D15, "member_of", _G2)

    log = _log((0, "disk_failed", _D14), (0.1, "rebuild_started", _G1), (0.2, "disk_failed", _D15))
    running, bare = findings(RULE, make_case(tmp_path, members, log))
    assert (running.severity, set(running.entities)) == (Severity.INFO, {_D14, _G1})
    assert (bare.severity, bare.title, bare.entities) == (
        Severity.WARNING, "1 failed drive of eva not rebuilt", (_D15,),
    )  # fmt: skip
    # Of a drive whose group is not known the rebuild may be.
    only_finding(judge(RULE, make_case(tmp_path / "2", log)))


def test_a_rebuild_that_ended_is_healthy_and_says_which_drive(tmp_path: Path) -> None:
    case = make_case(
        tmp_path, _log((0, "disk_failed", _D14), (0.1, "rebuild_started", _G1), (2, "rebuild_finished", _G1))
    )
    (statement,) = statements(judge(RULE, case))
    assert statement.startswith("1 drive of eva failed (014) and the data was rebuilt since")


def test_a_rebuild_that_ended_before_the_failure_does_not_count(tmp_path: Path) -> None:
    case = make_case(tmp_path, _log((0, "rebuild_finished", _G1), (1, "disk_failed", _D14)))
    assert only_finding(judge(RULE, case)).severity is Severity.WARNING


def test_the_rebuild_of_another_group_does_not_count(tmp_path: Path) -> None:
    log = _log((0, "disk_failed", _D14), (2, "rebuild_finished", _G2))
    assert findings(RULE, make_case(tmp_path / "1", log, lambda recorder: recorder.link(_D14, "member_of", _G1)))
    assert not findings(RULE, make_case(tmp_path / "2", log, lambda recorder: recorder.link(_D14, "member_of", _G2)))


def test_without_times_every_failure_needs_an_end(tmp_path: Path) -> None:
    failed, ended = (None, "disk_failed", _D14), (None, "rebuild_finished", _G1)
    assert findings(RULE, make_case(tmp_path / "1", _log(failed)))
    assert not findings(RULE, make_case(tmp_path / "2", _log(failed, ended)))


@pytest.mark.parametrize("state", ["failed", "Predictive failure", "missing"])
def test_the_state_of_a_drive_is_the_same_evidence(state: str, tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _states(d014=state, d015="normal"))))
    assert finding.entities == (_D14,)
    assert finding.severity is Severity.WARNING


def test_a_state_of_rebuilding_informs(tmp_path: Path) -> None:
    assert only_finding(judge(RULE, make_case(tmp_path, _states(d014="Rebuilding")))).severity is Severity.INFO


def test_good_states_are_healthy(tmp_path: Path) -> None:
    outcomes = judge(RULE, make_case(tmp_path, _states(d014="normal", d015="ok")))
    assert statements(outcomes) == ["None of 2 drives of eva has failed."]


def test_a_good_state_after_a_failure_only_informs(tmp_path: Path) -> None:
    case = make_case(tmp_path, _log((0, "disk_failed", _D14)), _states(d014="normal"))
    finding = only_finding(judge(RULE, case))
    assert finding.severity is Severity.INFO
    assert "may have been replaced" in finding.summary


def test_an_array_log_without_a_failure_is_healthy(tmp_path: Path) -> None:
    case = make_case(tmp_path, _log((0, "array_event", EntityRef("eva", "vdisk", "v1"))))
    assert statements(judge(RULE, case)) == ["No drive failed in the events of eva."]


def test_host_logs_and_unknown_words_say_nothing_of_drives(tmp_path: Path) -> None:
    log = _log((0, "path_dead", EntityRef("eva", "path", "p")))
    assert needs(judge(RULE, make_case(tmp_path, log, _states(d014="n/a"))))


def test_a_volume_that_moved_between_two_samples_is_no_log_of_failures(tmp_path: Path) -> None:
    assert needs(judge(RULE, make_case(tmp_path, _log((0, "ownership_changed", EntityRef("eva", "vdisk", "v1"))))))


def _restripe(*, ended: bool = False) -> Writer:
    def write(recorder: Recorder) -> None:
        for hour, type_ in ((0.1, "rebuild_started"), *(((2, "rebuild_finished"),) if ended else ())):
            at_ns = START_NS + int(hour * HOUR_NS)
            recorder.event(_G1, at_ns, type_, "levelling", attributes={"work": "restripe"})

    return write


def test_a_restripe_is_no_rebuild_and_names_no_failed_drive(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _restripe())))
    assert finding.severity is Severity.INFO
    assert finding.title == "A restripe is running on eva: expect a slow-down"
    assert "replace" not in finding.remedy
    assert not findings(RULE, make_case(tmp_path / "ended", _restripe(ended=True)))


@pytest.mark.parametrize("ended", [False, True])
def test_a_restripe_does_not_speak_for_a_failed_drive(ended: bool, tmp_path: Path) -> None:
    found = findings(RULE, make_case(tmp_path, _log((0, "disk_failed", _D14)), _restripe(ended=ended)))
    assert found[0].severity is Severity.WARNING
    assert found[0].title == "1 failed drive of eva not rebuilt"
    assert len(found) == (1 if ended else 2)


def _scrub(*, ended: bool = False) -> Writer:
    def write(recorder: Recorder) -> None:
        for hour, state in ((0.1, "running"), *(((2, "ended"),) if ended else ())):
            at_ns = START_NS + int(hour * HOUR_NS)
            recorder.event(_G1, at_ns, "array_event", "scrub", attributes={"work": "scrub", "state": state})

    return write


def test_a_scrub_that_runs_is_named_with_what_helps(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _scrub())))
    assert finding.severity is Severity.INFO
    assert finding.title == "A scrub is running on eva: expect a slow-down"
    assert finding.entities == (_G1,)
    assert finding.remedy.startswith("Throttle it, or give it another time")
    assert not findings(RULE, make_case(tmp_path / "ended", _scrub(ended=True)))


def test_a_scrub_does_not_speak_for_a_failed_drive(tmp_path: Path) -> None:
    failed, scrub = findings(RULE, make_case(tmp_path, _log((0, "disk_failed", _D14)), _scrub()))
    assert failed.title == "1 failed drive of eva not rebuilt"
    assert scrub.title == "A scrub is running on eva: expect a slow-down"


def test_latency_and_deep_queues_name_the_scrub_that_runs_below_them(tmp_path: Path) -> None:
    def slow(recorder: Recorder) -> None:
        volume = EntityRef("eva", "vdisk", "v1")
        recorder.link(volume, "lives_on", _G1)
        write_series(recorder, volume, ops_per_s=500, latency_ns_mean=40e6)
        for number in range(4):
            drive = EntityRef("eva", "disk", f"{number}")
            recorder.link(drive, "member_of", _G1)
            write_series(recorder, drive, queue_depth_mean=9)

    case = make_case(tmp_path, slow, _scrub())
    for rule in (latency_above_tier.RULE, uneven_drives.RULE):
        summary = only_finding(judge(rule, case)).summary
        assert summary.endswith("Meanwhile a scrub runs on DG 1: throttle it, or give it another time.")
    ended = make_case(tmp_path / "ended", slow, _scrub(ended=True))
    assert "scrub" not in only_finding(judge(latency_above_tier.RULE, ended)).summary
