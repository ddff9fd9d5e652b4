from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from storscope.diagnose.rules.cache_policy_flood import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import HOUR_NS, START_NS, Writer, only_finding, statements
from tests.support.cases import findings, judge, make_case

_A = EntityRef("EVA", "controller", "A")


def _events(count: int, step_s: int = 5) -> Writer:
    def write(recorder: Recorder) -> None:
        for number in range(count):
            time_ns = START_NS + number * step_s * 1_000_000_000
            recorder.event(_A, time_ns, "cache_policy_changed", "Controller A changed Battery Cache policy")

    return write


def _volumes(modes: Mapping[str, str], owner: str = "B") -> Writer:
    def write(recorder: Recorder) -> None:
        for name, mode in modes.items():
            volume = EntityRef("EVA", "vdisk", name)
            recorder.fact(volume, "write_mode", mode)
            recorder.fact(volume, "online_to", owner)

    return write


def test_a_flood_is_found(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _events(400))))
    assert finding.severity is Severity.WARNING
    assert finding.numbers["events_per_h_max"] == 400


def test_a_flood_of_a_controller_that_owns_nothing_any_more_is_critical(tmp_path: Path) -> None:
    volumes = _volumes(dict.fromkeys(["v1", "v2", "v3", "v4"], "write-back"))
    finding = only_finding(judge(RULE, make_case(tmp_path, _events(400), volumes)))
    assert finding.severity is Severity.CRITICAL
    assert finding.title == "Flood of cache events on EVA; controller A gave up its volumes"


def test_the_moves_in_the_log_show_it_too(tmp_path: Path) -> None:
    def moves(recorder: Recorder) -> None:
        for number in range(5):
            volume = EntityRef("EVA", "vdisk", f"v{number}")
            recorder.event(volume, START_NS, "ownership_changed", "moved", attributes={"owner": "B"})

    finding = only_finding(judge(RULE, make_case(tmp_path, _events(40), moves)))
    assert "controller A gave up its volumes" in finding.title


def test_a_battery_test_once_a_quarter_is_no_flood(tmp_path: Path) -> None:
    case = make_case(tmp_path, _events(4))
    assert statements(judge(RULE, case)) == ["4 cache or battery events on EVA, at most 4 within one hour."]
    assert findings(RULE, case, events_per_h_max=3)


def test_events_spread_over_a_week_are_no_flood(tmp_path: Path) -> None:
    assert not findings(RULE, make_case(tmp_path, _events(40, step_s=4 * 3600)))


@pytest.mark.parametrize("mode", ["write-through", "WT", "Thru", "writethrough", "disabled"])
def test_write_through_is_found_however_it_is_spelt(mode: str, tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _volumes({"v1": mode, "v2": "WB"}))))
    assert finding.title == "1 volume of EVA without write-back cache"
    assert [entity.name for entity in finding.entities] == ["v1"]


@pytest.mark.parametrize("mode", ["write-back", "WB", "Back", "writeback", "write-back mirrored"])
def test_write_back_is_healthy_however_it_is_spelt(mode: str, tmp_path: Path) -> None:
    (statement,) = statements(judge(RULE, make_case(tmp_path, _volumes({"v1": mode}))))
    assert statement.startswith("EVA: 1 volume or controller in write-back mode")


def test_an_unknown_word_is_not_called_write_through(tmp_path: Path) -> None:
    assert not findings(RULE, make_case(tmp_path, _volumes({"v1": "auto"})))


def test_a_failed_battery_and_write_through_are_one_critical_finding(tmp_path: Path) -> None:
    def battery(recorder: Recorder) -> None:
        recorder.fact(_A, "cache_battery", "failed")

    finding = only_finding(judge(RULE, make_case(tmp_path, _volumes({"v1": "WT"}), battery)))
    assert finding.severity is Severity.CRITICAL
    assert "Batteries: A failed." in finding.summary


# The last known state ----------------------------------------------------------------------------------------------


def _log(*lines: tuple[int | None, str, str], text: str = "said") -> Writer:
    """Events of controller A: (minute, type, policy or state)."""

    def write(recorder: Recorder) -> None:
        for minute, type_, word in lines:
            time_ns = None if minute is None else START_NS + minute * 60_000_000_000
            key = "policy" if type_ == "cache_policy_changed" else "state"
            recorder.event(_A, time_ns, type_, text, attributes={key: word})

    return write


_POLICY, _BATTERY = "cache_policy_changed", "battery_changed"


@pytest.mark.parametrize("word", ["write-through", "disabled"])
def test_write_through_that_never_went_back_is_critical(word: str, tmp_path: Path) -> None:
    case = make_case(tmp_path, _log((0, _POLICY, word), (1, _POLICY, "write-back"), (2, _POLICY, word),
                                    (90, _BATTERY, "good")))  # fmt: skip
    finding = only_finding(judge(RULE, case))
    assert finding.severity is Severity.CRITICAL
    assert finding.title == "1 controller of EVA without write-back cache"
    assert finding.start_ns == START_NS + 120_000_000_000
    assert "not changed back" in finding.summary


def test_write_through_that_went_back_is_healthy(tmp_path: Path) -> None:
    outcomes = judge(RULE, make_case(tmp_path, _log((0, _POLICY, "write-through"), (1, _POLICY, "write-back"))))
    (statement,) = statements(outcomes)
    assert "in write-back mode" in statement
    assert "Before that controller A wrote through for 60 s from " in statement
    assert not findings(RULE, make_case(tmp_path / "2", _log((0, _BATTERY, "degraded"), (1, _BATTERY, "good"))))


def test_times_of_write_through_are_told_once_each_and_only_when_over(tmp_path: Path) -> None:
    log = [(0, "back"), (1, "through"), (2, "disabled"), (5, "back"), (90, "through"), (91, "back")]
    log += [(180, "through"), (181, "back"), (270, "through"), (271, "back")]
    case = make_case(tmp_path, _log(*((minute, _POLICY, word) for minute, word in log)))
    (statement,) = statements(judge(RULE, case))
    assert statement.count("wrote through") == 3
    assert "controller A wrote through for 4 min from" in statement
    assert statement.endswith(", and 1 more.")
    (quiet,) = statements(judge(RULE, make_case(tmp_path / "2", _log((0, _POLICY, "write-back")))))
    assert "wrote through" not in quiet


def test_a_degraded_battery_is_a_warning(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _log((0, _BATTERY, "good"), (5, _BATTERY, "degraded")))))
    assert finding.severity is Severity.WARNING
    assert "Batteries: A degraded." in finding.summary


def test_a_good_battery_does_not_speak_for_its_neighbour(tmp_path: Path) -> None:
    one = _log((0, _BATTERY, "degraded"), text="battery assembly 1 has changed")
    two = _log((5, _BATTERY, "good"), text="battery assembly 2 has changed")
    assert "A degraded" in only_finding(judge(RULE, make_case(tmp_path, one, two))).summary


def test_one_controller_does_not_speak_for_the_other(tmp_path: Path) -> None:
    def other(recorder: Recorder) -> None:
        b = EntityRef("EVA", "controller", "B")
        recorder.event(b, START_NS + HOUR_NS, _POLICY, "x", attributes={"policy": "write-back"})

    finding = only_finding(judge(RULE, make_case(tmp_path, _log((0, _POLICY, "write-through")), other)))
    assert finding.entities == (_A,)


def test_without_times_the_more_frequent_word_counts(tmp_path: Path) -> None:
    through, back = (None, _POLICY, "write-through"), (None, _POLICY, "write-back")
    assert findings(RULE, make_case(tmp_path / "1", _log(through, back, through)))
    assert not findings(RULE, make_case(tmp_path / "2", _log(through, back)))


def test_a_flood_with_write_through_is_one_critical_finding(tmp_path: Path) -> None:
    case = make_case(tmp_path, _events(400), _log((60, _POLICY, "write-through")))
    finding = only_finding(judge(RULE, case))
    assert finding.severity is Severity.CRITICAL
    assert finding.title == "Flood of cache events on EVA"
    assert "Controller A writes through" in finding.summary


def test_a_disabled_cache_by_its_settings_is_critical(tmp_path: Path) -> None:
    case = make_case(tmp_path, lambda recorder: recorder.fact(_A, "write_cache", "disabled"))
    assert only_finding(judge(RULE, case)).severity is Severity.CRITICAL


def test_settings_that_contradict_the_events_make_it_a_warning(tmp_path: Path) -> None:
    case = make_case(tmp_path, _log((0, _POLICY, "write-through")), lambda r: r.fact(_A, "write_cache", "enabled"))
    finding = only_finding(judge(RULE, case))
    assert finding.severity is Severity.WARNING
    assert "say otherwise" in finding.summary


def test_a_battery_test_may_explain_write_through_at_the_end_of_the_log(tmp_path: Path) -> None:
    short = _log((0, _POLICY, "write-through"), (5, _BATTERY, "good"))
    long = _log((0, _POLICY, "write-through"), (500, _BATTERY, "good"))
    confidence = [
        only_finding(judge(RULE, make_case(tmp_path / str(number), log))).confidence
        for number, log in enumerate((short, long))
    ]
    assert confidence[0] < confidence[1]
