from __future__ import annotations

from pathlib import Path

from storscope.diagnose.rules.iscsi_subnet import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import iscsi_host, needs, only_finding, statements
from tests.support.cases import judge, make_case


def test_one_subnet_is_healthy_and_named(tmp_path: Path) -> None:
    outcomes = judge(RULE, make_case(tmp_path, iscsi_host()))
    assert statements(outcomes) == [
        "The bound ports vmk1 and vmk2 and the target portal 10.10.3.4 are in one subnet, 10.10.3.0/24."
    ]


def test_a_portal_in_another_subnet_is_found(tmp_path: Path) -> None:
    case = make_case(tmp_path, iscsi_host(portals=("10.10.3.4:3260", "10.20.0.9:3260")))
    finding = only_finding(judge(RULE, case))
    assert "10.20.0.9 of 2 target portals" in finding.summary
    assert finding.numbers == {"subnets": 1, "portals_not_reached": 1}


def test_bound_ports_in_two_subnets_are_found(tmp_path: Path) -> None:
    case = make_case(tmp_path, iscsi_host(addresses={"vmk1": "10.10.3.56", "vmk2": "10.10.4.57"}))
    finding = only_finding(judge(RULE, case))
    assert "vmk1 in 10.10.3.0/24; vmk2 in 10.10.4.0/24" in finding.summary


def test_without_portals_the_ports_alone_are_judged_and_it_says_so(tmp_path: Path) -> None:
    outcomes = judge(RULE, make_case(tmp_path, iscsi_host(portals=())))
    assert "target portals are not in the evidence" in statements(outcomes)[0]


def test_malformed_addresses_are_no_evidence(tmp_path: Path) -> None:
    case = make_case(tmp_path, iscsi_host(addresses={"vmk1": "10.10.3.999", "vmk2": "-"}))
    assert "esxcfg-vmknic" in needs(judge(RULE, case))[0]


def test_ports_that_are_not_bound_may_be_anywhere(tmp_path: Path) -> None:
    def vmotion(recorder: Recorder) -> None:
        recorder.fact(EntityRef("esx", "port", "vmk3"), "ip_address", "10.11.3.2")
        recorder.fact(EntityRef("esx", "port", "vmk3"), "netmask", "255.255.255.0")

    assert len(statements(judge(RULE, make_case(tmp_path, iscsi_host(), vmotion)))) == 1
