from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from storscope.diagnose.rules.ownership_flapping import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import HOUR_NS, START_NS, Writer, only_finding, statements
from tests.support.cases import findings, judge, make_case

_VOLUME = EntityRef("EVA", "vdisk", "vmfs01")
_MINUTE_NS = HOUR_NS // 60


def _moves(minutes: Sequence[float], volume: EntityRef = _VOLUME) -> Writer:
    def write(recorder: Recorder) -> None:
        for number, minute in enumerate(minutes):
            recorder.event(
                volume, START_NS + round(minute * _MINUTE_NS), "ownership_changed", "moved",
                attributes={"owner": "AB"[number % 2]},
            )  # fmt: skip

    return write


def _owner(owner: str) -> Writer:
    return lambda recorder: recorder.fact(_VOLUME, "online_to", owner)


def test_one_move_is_healthy(tmp_path: Path) -> None:
    outcomes = judge(RULE, make_case(tmp_path, _moves([5])))
    assert statements(outcomes) == ["1 change of ownership on EVA, at most 1 per volume within one hour."]


def test_two_moves_within_an_hour_are_found(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _moves([5, 40, 300]))))
    assert finding.severity is Severity.WARNING
    assert finding.numbers["changes_per_h_max"] == 2


def test_two_moves_in_two_hours_are_not(tmp_path: Path) -> None:
    case = make_case(tmp_path, _moves([5, 70]))
    assert not findings(RULE, case)


def test_a_storm_is_critical_and_maintenance_is_asked_for(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _moves(range(0, 55, 5)))))
    assert finding.severity is Severity.CRITICAL
    assert "maintenance" in finding.innocent


def test_a_fail_over_of_many_volumes_once_is_no_flapping(tmp_path: Path) -> None:
    writers = [_moves([5], EntityRef("EVA", "vdisk", f"v{number}")) for number in range(20)]
    assert not findings(RULE, make_case(tmp_path, *writers))


def test_the_same_move_told_by_log_and_samples_counts_once(tmp_path: Path) -> None:
    assert not findings(RULE, make_case(tmp_path, _moves([5]), _moves([6])))


def test_an_owner_that_differs_between_captures_informs(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _owner("A"), _owner("B"))))
    assert finding.severity is Severity.INFO
    assert len(finding.evidence[0].rows) == 2


def test_there_and_back_between_captures_is_a_warning(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _owner("A"), _owner("B"), _owner("A"))))
    assert finding.severity is Severity.WARNING


def test_the_same_owner_in_every_capture_is_healthy(tmp_path: Path) -> None:
    assert len(statements(judge(RULE, make_case(tmp_path, _owner("A"), _owner("A"))))) == 1


def test_moves_that_come_with_cache_events_are_put_down_to_the_cache(tmp_path: Path) -> None:
    def cache_events(minutes: Sequence[float]) -> Writer:
        def write(recorder: Recorder) -> None:
            for minute in minutes:
                controller = EntityRef("EVA", "controller", "B")
                at_ns = START_NS + round(minute * _MINUTE_NS)
                recorder.event(
                    controller, at_ns, "cache_policy_changed", "policy", attributes={"mode": "write-through"}
                )

        return write

    moves = _moves(range(0, 55, 5))
    (tmp_path / "with").mkdir()
    with_it = only_finding(
        judge(RULE, make_case(tmp_path / "with", moves, cache_events([m + 0.5 for m in range(0, 55, 5)])))
    )
    assert "11 of these 11 moves come within a minute of an event about the cache or a battery of B." in with_it.summary
    assert with_it.remedy.startswith("See to the cache and the battery first")
    (tmp_path / "apart").mkdir()
    apart = only_finding(judge(RULE, make_case(tmp_path / "apart", moves, cache_events([2.5, 200]))))
    assert "cache" not in apart.summary
    assert apart.remedy.startswith("Give every host the same ALUA policy")
