from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from storscope.diagnose.rules.cache_policy_flood import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import START_NS, Writer, only_finding, statements
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
