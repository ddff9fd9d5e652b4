from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from storscope.diagnose.rules.path_idle import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import Writer, needs, only_finding, statements, write_series
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
