from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from storscope.diagnose.rules.path_slow import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import START_NS, Writer, needs, only_finding, statements, write_series
from tests.support.cases import findings, judge, make_case


def _paths(latencies_ms: Sequence[float], groups: Sequence[str] = ()) -> Writer:
    def write(recorder: Recorder) -> None:
        device = EntityRef("esx", "device", "naa.1")
        for number, latency in enumerate(latencies_ms):
            path = EntityRef("esx", "path", f"vmhba{number + 1}:C0:T0:L0")
            recorder.link(path, "leads_to", device)
            if groups:
                recorder.fact(path, "group_state", groups[number])
            write_series(recorder, path, ops_per_s=200, device_latency_ns_mean=latency * 1e6)

    return write


def test_alike_paths_are_healthy(tmp_path: Path) -> None:
    (statement,) = statements(judge(RULE, make_case(tmp_path, _paths([5, 6, 5, 7]))))
    assert "1.4 times the median of the others" in statement


def test_one_path_of_five_times_the_latency_is_found(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _paths([5, 6, 60, 7]))))
    assert finding.entities[0].name == "vmhba3:C0:T0:L0"
    assert finding.numbers["latency_ns"] == 60e6
    assert finding.numbers["latency_ns_of_others"] == 6e6


def test_a_multiple_of_next_to_nothing_is_no_harm(tmp_path: Path) -> None:
    assert not findings(RULE, make_case(tmp_path, _paths([0.3, 0.3, 3.0])))


def test_a_non_optimised_path_is_slower_by_design(tmp_path: Path) -> None:
    case = make_case(tmp_path, _paths([5, 6, 60], ("active", "active", "active unoptimized")))
    assert len(statements(judge(RULE, case))) == 1


def test_thresholds_take_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, _paths([5, 6, 60, 7]))
    assert not findings(RULE, case, latency_factor_max=20)
    assert not findings(RULE, case, latency_ns_disk=100e6)


def _failures(counts: dict[str, int]) -> Writer:
    def write(recorder: Recorder) -> None:
        for path, count in counts.items():
            for number in range(count):
                device = EntityRef("esx", "device", f"naa.{number % 3}")
                recorder.event(device, START_NS + number, "path_failed_io", "x", attributes={"path": path})

    return write


def test_failures_that_keep_to_one_way_are_found_whatever_the_lun(tmp_path: Path) -> None:
    counts = {"vmhba2:C0:T0:L1": 20, "vmhba2:C0:T0:L2": 15, "vmhba2:C0:T1:L1": 1, "vmhba3:C0:T0:L1": 2}
    finding = only_finding(judge(RULE, make_case(tmp_path, _failures(counts))))
    assert finding.title == "Failures of esx keep to one path, vmhba2:C0:T0"
    assert finding.numbers["failures_on_path"] == 35


def test_failures_on_every_way_are_not_a_paths_fault(tmp_path: Path) -> None:
    counts = {"vmhba2:C0:T0:L1": 20, "vmhba2:C0:T1:L1": 18, "vmhba3:C0:T0:L1": 22}
    outcomes = judge(RULE, make_case(tmp_path, _failures(counts)))
    assert statements(outcomes) == ["60 failed commands in the logs did not keep to one path."]


def test_a_single_way_cannot_be_compared(tmp_path: Path) -> None:
    assert needs(judge(RULE, make_case(tmp_path, _failures({"vmhba2:C0:T0:L1": 20}))))
