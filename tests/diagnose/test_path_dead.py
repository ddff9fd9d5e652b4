from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from storscope.diagnose.rules.path_dead import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S
from tests.diagnose.evidence import START_NS, Writer, only_finding, statements
from tests.support.cases import judge, make_case


def _paths(counts: Mapping[str, int], *, dead: tuple[str, ...] = (), system: str = "esx") -> Writer:
    """Devices with that many paths each over alternating adapters."""

    def write(recorder: Recorder) -> None:
        for lun, (name, count) in enumerate(counts.items()):
            device = EntityRef(system, "device", name)
            recorder.fact(device, "array_type", "VMW_SATP_ALUA")
            for number in range(count):
                path = EntityRef(system, "path", f"vmhba{1 + number % 2}:C0:T{number // 2}:L{lun}")
                recorder.link(path, "leads_to", device)
                recorder.link(path, "uses", EntityRef(system, "adapter", f"vmhba{1 + number % 2}"))
                recorder.fact(path, "state", "dead" if path.name in dead else "active")

    return write


_DEVICE = EntityRef("esx", "device", "naa.1")
_EQUAL = {"naa.1": 4, "naa.2": 4, "naa.3": 4}


def test_equal_and_alive_is_healthy(tmp_path: Path) -> None:
    outcomes = judge(RULE, make_case(tmp_path, _paths(_EQUAL)))
    assert statements(outcomes) == ["None of 12 paths is dead; 3 devices with 4 paths."]


def test_dead_paths_are_one_finding_that_names_what_they_share(tmp_path: Path) -> None:
    dead = ("vmhba2:C0:T0:L0", "vmhba2:C0:T0:L1", "vmhba2:C0:T0:L2")
    finding = only_finding(judge(RULE, make_case(tmp_path, _paths(_EQUAL, dead=dead))))
    assert finding.title == "3 paths of esx are dead"
    assert finding.severity is Severity.CRITICAL
    assert "By adapter: vmhba2 (3)." in finding.summary


def test_a_device_with_fewer_paths_than_its_like(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _paths(_EQUAL | {"naa.4": 2}))))
    assert list(finding.entities) == [EntityRef("esx", "device", "naa.4")]
    assert "2 of 4 paths" in finding.summary


def test_the_same_device_with_fewer_paths_on_another_host(tmp_path: Path) -> None:
    case = make_case(tmp_path, _paths({"naa.1": 4}, system="esx1"), _paths({"naa.1": 2}, system="esx2"))
    finding = only_finding(judge(RULE, case))
    assert finding.title == "1 device of esx2 has fewer paths than their like"


def test_a_local_disk_has_one_path_by_design(tmp_path: Path) -> None:
    def local(recorder: Recorder) -> None:
        device = EntityRef("esx", "device", "t10.ATA")
        recorder.fact(device, "array_type", "VMW_SATP_LOCAL")
        path = EntityRef("esx", "path", "vmhba0:C0:T0:L0")
        recorder.link(path, "leads_to", device)
        recorder.fact(path, "state", "active")

    assert len(statements(judge(RULE, make_case(tmp_path, _paths(_EQUAL), local)))) == 1


def test_down_and_back_is_a_warning_and_down_for_good_critical(tmp_path: Path) -> None:
    path = EntityRef("esx", "path", "vmhba1:C0:T0:L0")

    def back(recorder: Recorder) -> None:
        recorder.event(path, START_NS, "path_dead", "down")
        recorder.event(path, START_NS + 60, "path_up", "up")

    def gone(recorder: Recorder) -> None:
        recorder.event(path, START_NS, "path_up", "up")
        recorder.event(path, START_NS + 60, "path_dead", "down")

    returned = only_finding(judge(RULE, make_case(tmp_path / "a", back)))
    lost = only_finding(judge(RULE, make_case(tmp_path / "b", gone)))
    assert returned.severity is Severity.WARNING
    assert returned.title == "1 path of esx went down and came back"
    assert lost.severity is Severity.CRITICAL
    assert lost.title == "1 path of esx is dead"


def test_a_device_that_lost_every_path(tmp_path: Path) -> None:
    def lost(recorder: Recorder) -> None:
        recorder.event(EntityRef("esx", "device", "naa.1"), START_NS, "apd_start", "All Paths Down")
        recorder.event(EntityRef("esx", "device", "naa.1"), START_NS + 9, "apd_end", "exited")

    finding = only_finding(judge(RULE, make_case(tmp_path, lost)))
    assert finding.title == "1 device of esx lost every path"
    assert "all came back" in finding.summary


def test_paths_that_only_a_log_names_are_not_counted_per_device(tmp_path: Path) -> None:
    """A log names the paths it has something to say about: their number says nothing."""

    def log(recorder: Recorder) -> None:
        for lun, targets in enumerate((1, 4, 4)):
            device = EntityRef("esx", "device", f"naa.{lun}")
            recorder.fact(device, "array_type", "VMW_SATP_ALUA")
            for target in range(targets):
                recorder.link(EntityRef("esx", "path", f"vmhba1:C0:T{target}:L{lun}"), "leads_to", device)

    assert not statements(judge(RULE, make_case(tmp_path, log)))


def test_dm_numbers_of_two_hosts_are_not_one_device(tmp_path: Path) -> None:
    case = make_case(tmp_path, _paths({"dm-0": 4}, system="db1"), _paths({"dm-0": 2}, system="db2"))
    assert len(statements(judge(RULE, case))) == 1


@pytest.mark.parametrize("timed", [True, False])
def test_an_apd_timeout_alone_is_a_device_gone(timed: bool, tmp_path: Path) -> None:
    """The start may be in another file, and the end still to come."""

    def given_up(recorder: Recorder) -> None:
        recorder.event(_DEVICE, START_NS if timed else None, "apd_timeout", "All Paths Down Timeout")

    finding = only_finding(judge(RULE, make_case(tmp_path, given_up)))
    assert finding.title == "1 device of esx lost every path"
    assert finding.severity is Severity.CRITICAL
    assert "naa.1 did not come back" in finding.summary
    assert "the host gave up" in finding.summary


@pytest.mark.parametrize("timed", [True, False])
def test_start_timeout_and_end_of_one_outage_are_a_device_that_came_back(timed: bool, tmp_path: Path) -> None:
    def outage(recorder: Recorder) -> None:
        for second, type_ in ((0, "apd_start"), (140, "apd_timeout"), (600, "apd_end")):
            recorder.event(_DEVICE, START_NS + second * NS_PER_S if timed else None, type_, type_)

    finding = only_finding(judge(RULE, make_case(tmp_path, outage)))
    assert "all came back" in finding.summary
    assert finding.numbers["devices_given_up"] == 1
