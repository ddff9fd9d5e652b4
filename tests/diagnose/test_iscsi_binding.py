from __future__ import annotations

from pathlib import Path

from storscope.diagnose.rules.iscsi_binding import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import iscsi_host, needs, only_finding, statements
from tests.support.cases import judge, make_case


def test_one_uplink_each_is_healthy_and_says_which(tmp_path: Path) -> None:
    outcomes = judge(RULE, make_case(tmp_path, iscsi_host()))
    assert statements(outcomes) == [
        "Each port bound to vmhba36 has one active uplink of its own: vmk1 vmnic7, vmk2 vmnic11."
    ]


def test_two_active_uplinks_are_found(tmp_path: Path) -> None:
    case = make_case(tmp_path, iscsi_host(uplinks={"vmk1": "vmnic7,vmnic11", "vmk2": "vmnic11"}))
    finding = only_finding(judge(RULE, case))
    assert "vmk1 has 2 active uplinks (vmnic7 and vmnic11)" in finding.summary
    assert EntityRef("esx", "port", "vmk1") in finding.entities


def test_a_standby_uplink_is_found(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, iscsi_host(standby={"vmk2": "vmnic7"}))))
    assert "vmk2 has vmnic7 as standby uplink" in finding.summary


def test_two_ports_on_one_uplink_are_found(tmp_path: Path) -> None:
    case = make_case(tmp_path, iscsi_host(uplinks={"vmk1": "vmnic7", "vmk2": "vmnic7"}))
    assert "shares vmnic7" in only_finding(judge(RULE, case)).summary


def test_the_hosts_own_verdict_counts(tmp_path: Path) -> None:
    def not_compliant(recorder: Recorder) -> None:
        recorder.fact(EntityRef("esx", "port", "vmk2"), "compliant", "non-compliant")

    finding = only_finding(judge(RULE, make_case(tmp_path, iscsi_host(), not_compliant)))
    assert "vmk2" in finding.summary


def test_unknown_uplinks_are_not_evaluated(tmp_path: Path) -> None:
    def bound(recorder: Recorder) -> None:
        port = EntityRef("esx", "port", "vmk1")
        recorder.fact(port, "iscsi_bound", True)
        recorder.link(port, "uses", EntityRef("esx", "adapter", "vmhba36"))

    outcomes = judge(RULE, make_case(tmp_path, bound))
    assert len(outcomes) == 1
    assert "esxcfg-vswitch -l" in needs(outcomes)[0]


def test_a_port_that_is_not_bound_may_have_two_uplinks(tmp_path: Path) -> None:
    def heartbeat(recorder: Recorder) -> None:
        port, group = EntityRef("esx", "port", "vmk4"), EntityRef("esx", "portgroup", "iSCSI-heartbeat")
        recorder.link(port, "member_of", group)
        recorder.fact(group, "active_uplinks", "vmnic11,vmnic7")

    assert len(statements(judge(RULE, make_case(tmp_path, iscsi_host(), heartbeat)))) == 1
