"""Delayed ACK, LRO and the login time-out: settings that a maker advises on."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.diagnose.rule import Rule
from storscope.diagnose.rules import iscsi_delayed_ack, iscsi_login_timeout, iscsi_lro
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import iscsi_host, needs, only_finding, statements
from tests.support.cases import judge, make_case

_ACK, _LRO, _LOGIN = iscsi_delayed_ack.RULE, iscsi_lro.RULE, iscsi_login_timeout.RULE


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        (_ACK, "esxcli iscsi adapter param get -A vmhba36"),
        (_LRO, "esxcli system settings advanced list -o /Net/TcpipDefLROEnabled"),
        (_LOGIN, "esxcli iscsi adapter param get -A vmhba36"),
    ],
)
def test_an_unknown_setting_names_the_command_that_would_tell(rule: Rule, command: str, tmp_path: Path) -> None:
    outcomes = judge(rule, make_case(tmp_path, iscsi_host()))
    assert [command in need for need in needs(outcomes)] == [True]
    assert len(outcomes) == 1


@pytest.mark.parametrize("value", [True, "true", "1"])
def test_delayed_ack_on_an_array_that_advises_off_is_found(value: str | bool, tmp_path: Path) -> None:
    finding = only_finding(judge(_ACK, make_case(tmp_path, iscsi_host(adapter_facts={"delayed_ack": value}))))
    assert "EqualLogic advises off" in finding.title


def test_delayed_ack_off_is_healthy(tmp_path: Path) -> None:
    outcomes = judge(_ACK, make_case(tmp_path, iscsi_host(adapter_facts={"delayed_ack": False})))
    assert statements(outcomes) == ["Delayed ACK is off on vmhba36, as EqualLogic advises."]


def test_the_array_decides_whether_delayed_ack_matters(tmp_path: Path) -> None:
    """The same setting in front of an array of unknown make is not called wrong."""

    def unknown_array(recorder: Recorder) -> None:
        recorder.fact(EntityRef("esx", "adapter", "vmhba36"), "delayed_ack", True)
        recorder.fact(EntityRef("esx", "device", "naa.6000eb3"), "array_type", "VMW_SATP_DEFAULT_AA")

    outcomes = judge(_ACK, make_case(tmp_path, unknown_array))
    assert "the maker of the array behind vmhba36" in needs(outcomes)[0]
    assert len(outcomes) == 1


def test_lro_follows_the_makers_advice(tmp_path: Path) -> None:
    on = make_case(tmp_path / "on", iscsi_host(host_facts={"lro_enabled": True}))
    off = make_case(tmp_path / "off", iscsi_host(host_facts={"lro_enabled": False}))
    assert "advises off" in only_finding(judge(_LRO, on)).title
    assert statements(judge(_LRO, off)) == ["Large receive offload is off on esx, as EqualLogic advises."]


def test_the_login_timeout_is_compared_with_the_advice(tmp_path: Path) -> None:
    short = make_case(tmp_path / "short", iscsi_host(adapter_facts={"login_timeout_s": 5}))
    good = make_case(tmp_path / "good", iscsi_host(adapter_facts={"login_timeout_s": 60}))
    assert only_finding(judge(_LOGIN, short)).title == "Login time-out of vmhba36 is 5 s; EqualLogic advises 60"
    assert len(statements(judge(_LOGIN, good))) == 1
