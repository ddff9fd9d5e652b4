from __future__ import annotations

from pathlib import Path

import pytest

from storscope.diagnose.rules.round_robin_limit import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import iscsi_host, needs, only_finding, statements
from tests.support.cases import findings, judge, make_case


def test_the_default_limit_on_equallogic_is_a_lesser_finding(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, iscsi_host())))
    assert finding.title == "Round robin switches paths every 1,000 I/Os; EqualLogic advises 3"
    assert finding.severity < Severity.CRITICAL
    assert finding.weight < 0.5
    assert "TR1091" in finding.source


def test_the_advised_limit_is_healthy(tmp_path: Path) -> None:
    outcomes = judge(RULE, make_case(tmp_path, iscsi_host(device_facts={"round_robin_iops": 3})))
    assert statements(outcomes) == ["Round robin takes the next path after 3 I/Os on 1 EqualLogic device, as advised."]


def test_the_threshold_takes_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, iscsi_host(device_facts={"round_robin_iops": 30}))
    assert findings(RULE, case)
    assert not findings(RULE, case, limit_factor_max=10)


@pytest.mark.parametrize(
    ("name", "label", "advised"),
    [
        ("naa.624a93701234", "PURE Fibre Channel Disk", 1),
        ("naa.600a09800001", "NETAPP Fibre Channel Disk", 1),
        ("naa.600507680001", "IBM Fibre Channel Disk", 1),
        ("eui.1234", "EQLOGIC iSCSI Disk", 3),
    ],
)
def test_the_maker_is_told_from_name_or_label(tmp_path: Path, name: str, label: str, advised: float) -> None:
    def write(recorder: Recorder) -> None:
        device = recorder.entity(EntityRef("esx", "device", name), label)
        recorder.fact(device, "array_type", "VMW_SATP_ALUA")
        recorder.fact(device, "path_policy", "VMW_PSP_RR")
        recorder.fact(device, "round_robin_iops", 1000)

    assert only_finding(judge(RULE, make_case(tmp_path, write))).numbers["advised_iops"] == advised


def test_many_devices_of_one_setting_are_one_finding(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        for number in range(40):
            device = EntityRef("esx", "device", f"naa.6090a0{number:04d}")
            recorder.fact(device, "path_policy", "VMW_PSP_RR")
            recorder.fact(device, "round_robin_iops", 1000)

    finding = only_finding(judge(RULE, make_case(tmp_path, write)))
    assert len(finding.entities) == 40
    assert "40 EqualLogic devices" in finding.summary
    assert "and 36 more" in finding.summary


def test_an_unknown_array_is_not_judged(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        device = EntityRef("esx", "device", "t10.ATA_____local")
        recorder.fact(device, "array_type", "VMW_SATP_LOCAL")
        recorder.fact(device, "path_policy", "VMW_PSP_FIXED")

    assert "advice is known" in needs(judge(RULE, make_case(tmp_path, write)))[0]


def test_a_fixed_path_on_an_active_active_array_is_found(tmp_path: Path) -> None:
    case = make_case(tmp_path, iscsi_host(device_facts={"path_policy": "VMW_PSP_FIXED"}))
    finding = only_finding(judge(RULE, case))
    assert finding.title == "1 EqualLogic device on one path only (VMW_PSP_FIXED)"
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(("paths", "found"), [(1, False), (2, True)])
def test_an_active_active_array_of_unknown_make_only_informs(paths: int, found: bool, tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        device = EntityRef("esx", "device", "naa.50060e80")
        recorder.fact(device, "array_type", "VMW_SATP_DEFAULT_AA")
        recorder.fact(device, "path_policy", "VMW_PSP_FIXED")
        for number in range(paths):
            recorder.link(EntityRef("esx", "path", f"vmhba{number}:C0:T0:L0"), "leads_to", device)

    outcomes = findings(RULE, make_case(tmp_path, write))
    assert [finding.severity for finding in outcomes] == [Severity.INFO] * found


def test_using_non_optimised_paths_is_found(tmp_path: Path) -> None:
    case = make_case(tmp_path, iscsi_host(device_facts={"use_ano": True, "round_robin_iops": 3}))
    assert "useANO=1" in only_finding(judge(RULE, case)).title
