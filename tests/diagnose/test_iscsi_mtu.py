from __future__ import annotations

from pathlib import Path

from storscope.diagnose.rules.iscsi_mtu import RULE
from storscope.domain.finding import Severity
from tests.diagnose.evidence import iscsi_host, only_finding, statements
from tests.support.cases import judge, make_case


def test_equal_values_are_healthy_and_named(tmp_path: Path) -> None:
    (statement,) = statements(judge(RULE, make_case(tmp_path, iscsi_host())))
    assert statement.startswith("MTU 9000 on both bound ports (vmk1 and vmk2) and vSwitch1; the NICs' own MTU is not")
    assert "vmkping -d -s 8972" in statement


def test_the_nics_are_named_when_known(tmp_path: Path) -> None:
    (statement,) = statements(judge(RULE, make_case(tmp_path, iscsi_host(nic_mtu=9000))))
    assert statement.startswith("MTU 9000 on both bound ports (vmk1 and vmk2), vSwitch1, vmnic11 and vmnic7.")


def test_a_switch_with_small_frames_behind_jumbo_ports_is_critical(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, iscsi_host(switch_mtu=1500))))
    assert finding.severity is Severity.CRITICAL
    assert "9000 on vmk1" in finding.summary
    assert "1500 on vSwitch1" in finding.summary


def test_a_nic_with_small_frames_is_critical(tmp_path: Path) -> None:
    assert only_finding(judge(RULE, make_case(tmp_path, iscsi_host(nic_mtu=1500)))).severity is Severity.CRITICAL


def test_ports_that_differ_are_a_warning(tmp_path: Path) -> None:
    case = make_case(tmp_path, iscsi_host(port_mtu={"vmk1": 1500}))
    assert only_finding(judge(RULE, case)).severity is Severity.WARNING


def test_a_switch_larger_than_its_ports_only_informs(tmp_path: Path) -> None:
    case = make_case(tmp_path, iscsi_host(port_mtu={"vmk1": 1500, "vmk2": 1500}))
    finding = only_finding(judge(RULE, case))
    assert finding.severity is Severity.INFO
    assert "harmless" in finding.innocent
