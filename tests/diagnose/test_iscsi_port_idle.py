from __future__ import annotations

from pathlib import Path

import pytest

from storscope.diagnose.rule import Rule
from storscope.diagnose.rules import iscsi_binding, iscsi_delayed_ack, iscsi_mtu, iscsi_port_idle, iscsi_subnet
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import Writer, iscsi_host, needs, only_finding, statements
from tests.support.cases import judge, make_case

RULE = iscsi_port_idle.RULE
_SOFTWARE = {"iscsi_kind": "software"}


def _sent(vmk1: float = 400_000, vmk2: float = 52, driver: str | None = None) -> Writer:
    def write(recorder: Recorder) -> None:
        for name, packets in (("vmk1", vmk1), ("vmk2", vmk2)):
            port = EntityRef("esx", "port", name)
            recorder.fact(port, "tx_packets", packets)
            if driver is not None:
                recorder.fact(port, "nic_driver", driver)

    return write


def _second_adapter(recorder: Recorder) -> None:
    """The same ports bound to a second adapter, too."""
    for name in ("vmk1", "vmk2"):
        recorder.link(EntityRef("esx", "port", name), "uses", EntityRef("esx", "adapter", "vmhba37"))


def _dead_path(recorder: Recorder) -> None:
    recorder.fact(EntityRef("esx", "path", "vmhba36:C1:T0:L0"), "state", "dead")


def test_ports_that_share_are_healthy(tmp_path: Path) -> None:
    (statement,) = statements(judge(RULE, make_case(tmp_path, iscsi_host(), _sent(vmk2=390_000))))
    assert statement == "The iSCSI ports of vmhba36 share the packets sent: vmk1 51 %, vmk2 49 %."


def test_little_traffic_and_no_counters_are_not_evaluated(tmp_path: Path) -> None:
    assert "networkportal list" in needs(judge(RULE, make_case(tmp_path / "1", iscsi_host())))[0]
    assert "more traffic" in needs(judge(RULE, make_case(tmp_path / "2", iscsi_host(), _sent(900, 1))))[0]


def test_the_idle_port_is_found(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, iscsi_host(), _sent(driver="igb"))))
    assert finding.severity is Severity.CRITICAL
    assert finding.entities[0].name == "vmk2"


@pytest.mark.parametrize(
    ("kind", "driver", "offered"),
    [(None, "igb", False), ("software", None, False), (None, None, True), ("dependent", "bnx2", True)],
)
def test_the_innocent_explanation_is_not_one_that_was_ruled_out(
    kind: str | None, driver: str | None, offered: bool, tmp_path: Path
) -> None:
    host = iscsi_host(adapter_facts={"iscsi_kind": kind} if kind else {})
    finding = only_finding(judge(RULE, make_case(tmp_path, host, _sent(driver=driver))))
    assert ("the adapter offloads iSCSI" in finding.innocent) is offered
    assert ("is no explanation" in finding.innocent) is not offered


def test_working_paths_on_two_channels_are_mentioned_and_weighed(tmp_path: Path) -> None:
    both = only_finding(judge(RULE, make_case(tmp_path / "both", iscsi_host(), _sent(driver="igb"))))
    one = only_finding(judge(RULE, make_case(tmp_path / "one", iscsi_host(), _sent(driver="igb"), _dead_path)))
    assert "working paths exist on vmhba36:C0 and vmhba36:C1" in both.summary
    assert "working paths" not in one.summary
    assert both.confidence < one.confidence
    assert both.check.startswith("Look at which port each session is bound to: esxcli iscsi session connection list")
    assert "If no session is bound to vmk2" in both.remedy
    assert "Make the array accept a session through vmk2" in one.remedy


def test_ports_bound_to_two_adapters_are_one_finding(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, iscsi_host(), _second_adapter, _sent())))
    assert {entity.name for entity in finding.entities} == {"vmk1", "vmk2", "vmhba36", "vmhba37"}
    assert "bound to vmhba36 and vmhba37" in finding.summary


@pytest.mark.parametrize(
    ("rule", "host"),
    [
        (iscsi_binding.RULE, iscsi_host(uplinks={"vmk1": "vmnic7", "vmk2": "vmnic7"})),
        (iscsi_subnet.RULE, iscsi_host(addresses={"vmk2": "10.99.0.1"})),
        (iscsi_mtu.RULE, iscsi_host(switch_mtu=1500)),
        (iscsi_delayed_ack.RULE, iscsi_host(adapter_facts={"delayed_ack": True})),
    ],
    ids=lambda value: value.name if isinstance(value, Rule) else "",
)
def test_so_is_everything_else_about_them(rule: Rule, host: Writer, tmp_path: Path) -> None:
    def same_setting(recorder: Recorder) -> None:
        recorder.fact(EntityRef("esx", "adapter", "vmhba37"), "delayed_ack", True)

    writers = [host, _second_adapter, *([same_setting] if rule is iscsi_delayed_ack.RULE else [])]
    finding = only_finding(judge(rule, make_case(tmp_path, *writers)))
    assert {"vmhba36", "vmhba37"} <= {entity.name for entity in finding.entities}


def test_adapters_with_ports_of_their_own_are_judged_apart(tmp_path: Path) -> None:
    def apart(recorder: Recorder) -> None:
        for number, adapter in ((3, "vmhba38"), (4, "vmhba38")):
            port = EntityRef("esx", "port", f"vmk{number}")
            recorder.fact(port, "iscsi_bound", True)
            recorder.fact(port, "tx_packets", 100_000)
            recorder.link(port, "uses", EntityRef("esx", "adapter", adapter))

    outcomes = judge(RULE, make_case(tmp_path, iscsi_host(), _sent(), apart))
    assert only_finding(outcomes).entities[-1].name == "vmhba36"
    assert "vmhba38" in statements(outcomes)[0]


def test_thresholds_take_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, iscsi_host(adapter_facts=_SOFTWARE), _sent(vmk2=200_000))
    assert statements(judge(RULE, case))
    assert only_finding(judge(RULE, case, share_max=0.6)).severity is Severity.WARNING
