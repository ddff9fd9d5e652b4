from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from storscope.diagnose.rules.path_idle import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import START_NS, STEP_NS, Writer, needs, only_finding, statements, write_series
from tests.support.cases import findings, judge, make_case


def _device(rates: Sequence[float], *, policy: str = "VMW_PSP_RR", groups: Sequence[str] = (), lun: int = 0) -> Writer:
    def write(recorder: Recorder) -> None:
        device = EntityRef("esx", "device", f"naa.{lun}")
        recorder.fact(device, "path_policy", policy)
        for number, rate in enumerate(rates):
            path = EntityRef("esx", "path", f"vmhba{number + 1}:C0:T0:L{lun}")
            recorder.link(path, "leads_to", device)
            recorder.fact(path, "group_state", groups[number] if groups else "active")
            write_series(recorder, path, ops_per_s=rate)

    return write


def test_shared_load_is_healthy(tmp_path: Path) -> None:
    (statement,) = statements(judge(RULE, make_case(tmp_path, _device([300, 280, 310, 290]))))
    assert "the largest share of one is 26 %" in statement


def test_a_path_without_load_is_found(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _device([300, 0, 310, 290]))))
    assert finding.entities[0].name == "vmhba2:C0:T0:L0"
    assert finding.numbers["operations_of_idle"] == 0


def test_idle_paths_over_one_adapter_are_one_finding(tmp_path: Path) -> None:
    case = make_case(tmp_path, *[_device([300, 0], lun=lun) for lun in range(10)])
    finding = only_finding(judge(RULE, case))
    assert finding.title == "10 paths of esx carry nothing while others do"
    assert "All of them use vmhba2." in finding.summary


def test_paths_that_rest_by_design_are_not_counted(tmp_path: Path) -> None:
    groups = ("active", "active", "active unoptimized", "standby")
    assert len(statements(judge(RULE, make_case(tmp_path, _device([300, 310, 0, 0], groups=groups))))) == 1


def test_a_fixed_path_policy_uses_one_path_by_design(tmp_path: Path) -> None:
    assert needs(judge(RULE, make_case(tmp_path, _device([300, 0], policy="VMW_PSP_FIXED"))))


def test_block_devices_under_multipath_count_for_their_paths(tmp_path: Path) -> None:
    def linux(recorder: Recorder) -> None:
        device = EntityRef("db1", "device", "dm-0")
        recorder.fact(device, "path_policy", "service-time 0")
        for number, rate in enumerate((500.0, 0.0)):
            path, disk = EntityRef("db1", "path", f"{number}:0:0:1"), EntityRef("db1", "device", f"sd{'ab'[number]}")
            recorder.link(path, "leads_to", device)
            recorder.link(path, "same_as", disk)
            recorder.fact(path, "state", "active")
            write_series(recorder, disk, ops_per_s=rate)

    assert only_finding(judge(RULE, make_case(tmp_path, linux))).entities[0].name == "1:0:0:1"


def test_host_ports_of_a_controller_are_compared(tmp_path: Path) -> None:
    def array(recorder: Recorder) -> None:
        for name, rate in (("FP1", 900.0), ("FP2", 0.0)):
            port = EntityRef("EVA", "port", name)
            recorder.link(port, "member_of", EntityRef("EVA", "controller", "A"))
            write_series(recorder, port, ops_per_s=rate)

    assert (
        only_finding(judge(RULE, make_case(tmp_path, array))).title == "1 port of EVA carries nothing while others do"
    )


def test_thresholds_take_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, _device([300, 40]))
    assert not findings(RULE, case)
    assert findings(RULE, case, even_share_min=0.5)
    assert needs(judge(RULE, case, ops_min_count=1e9))


def test_an_active_path_outside_the_working_paths_is_found_without_counters(tmp_path: Path) -> None:
    def config(recorder: Recorder) -> None:
        device = EntityRef("esx", "device", "naa.1")
        recorder.fact(device, "path_policy", "VMW_PSP_RR")
        recorder.fact(device, "working_paths", 1)
        for number in (1, 2):
            path = EntityRef("esx", "path", f"vmhba{number}:C0:T0:L0")
            recorder.link(path, "leads_to", device)
            recorder.fact(path, "state", "active")
            recorder.fact(path, "group_state", "active")

    finding = only_finding(judge(RULE, make_case(tmp_path, config)))
    assert "Round robin uses 1 of 2 active, optimised paths of naa.1" in finding.summary


_HALVES = [300.0] * 15 + [0.0] * 15


def _halves(*paths: Sequence[float]) -> Writer:
    """A device over paths with these rates, one for each of 30 intervals of 20 s."""

    def write(recorder: Recorder) -> None:
        device = EntityRef("esx", "device", "naa.0")
        recorder.fact(device, "path_policy", "VMW_PSP_RR")
        for number, rates in enumerate(paths):
            path = EntityRef("esx", "path", f"vmhba{1 + number % 2}:C0:T{number}:L0")
            recorder.link(path, "leads_to", device)
            recorder.fact(path, "group_state", "active")
            write_series(recorder, path, ops_per_s=rates)

    return write


def test_paths_that_stop_half_way_are_told_with_their_time(tmp_path: Path) -> None:
    twice = [300.0] * 15 + [600.0] * 15
    finding = only_finding(judge(RULE, make_case(tmp_path, _halves(twice, _HALVES, twice, _HALVES))))
    assert finding.title == "2 paths of esx stopped carrying while others go on"
    assert [entity.name for entity in finding.entities] == ["vmhba2:C0:T1:L0", "vmhba2:C0:T3:L0", "naa.0"]
    assert (finding.start_ns, finding.end_ns) == (START_NS + 15 * STEP_NS, START_NS + 30 * STEP_NS)
    assert finding.numbers["operations"] == 2 * 600 * 15 * 20
    assert "All of them use vmhba2." in finding.summary


def test_a_device_without_load_at_the_end_has_no_path_that_stopped(tmp_path: Path) -> None:
    assert statements(judge(RULE, make_case(tmp_path, _halves(_HALVES, _HALVES))))


def test_a_path_that_rests_for_an_interval_or_comes_back_did_not_stop(tmp_path: Path) -> None:
    back = [300.0] * 10 + [0.0] * 18 + [300.0] * 2
    short = [300.0] * 28 + [0.0] * 2
    for number, rates in enumerate((back, short)):
        assert statements(judge(RULE, make_case(tmp_path / str(number), _halves([300.0] * 30, rates))))


def test_a_round_robin_turn_of_a_quiet_device_is_no_end(tmp_path: Path) -> None:
    """10 operations a second over 300 s are three turns of 1,000: the other path may well rest."""
    quiet = [10.0] * 15 + [20.0] * 15
    stops = [10.0] * 15 + [0.0] * 15
    case = make_case(tmp_path, _halves(quiet, stops))
    assert statements(judge(RULE, case))
    assert findings(RULE, case, stretch_ops_min_count=1000)


def test_a_host_port_whose_user_ended_did_not_stop(tmp_path: Path) -> None:
    def array(recorder: Recorder) -> None:
        for name, rates in (("FP1", [900.0] * 30), ("FP2", [900.0] * 15 + [0.0] * 15)):
            port = EntityRef("EVA", "port", name)
            recorder.link(port, "member_of", EntityRef("EVA", "controller", "A"))
            write_series(recorder, port, ops_per_s=rates)

    assert statements(judge(RULE, make_case(tmp_path, array)))


def test_what_is_not_told_at_the_end_is_no_rest(tmp_path: Path) -> None:
    unknown = [300.0] * 15 + [float("nan")] * 15
    assert statements(judge(RULE, make_case(tmp_path, _halves([300.0] * 30, unknown))))
