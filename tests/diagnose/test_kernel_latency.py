from __future__ import annotations

from pathlib import Path

from storscope.diagnose.rules.kernel_latency import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import START_NS, Values, Writer, only_finding, statements, write_series
from tests.support.cases import findings, judge, make_case

_DEVICE = EntityRef("esx", "device", "naa.1")


def _kernel(kavg_ms: list[float], ops: Values, **more: Values) -> Writer:
    kavg = [value * 1e6 for value in kavg_ms]
    return lambda recorder: write_series(
        recorder, _DEVICE, len(kavg), kernel_latency_ns_mean=kavg, ops_per_s=ops, **more
    )  # fmt: skip


def test_little_is_healthy(tmp_path: Path) -> None:
    (statement,) = statements(judge(RULE, make_case(tmp_path, _kernel([0.1, 3.0, 0.2, 0.1], 800))))
    assert "the highest single value was 3.00 ms on naa.1" in statement


def test_lasting_waits_with_load_are_queueing(tmp_path: Path) -> None:
    case = make_case(tmp_path, _kernel([0.1, 5, 6, 7, 0.1, 0.1], 2000, queued_mean=[0, 9, 9, 9, 0, 0]))
    finding = only_finding(judge(RULE, case))
    assert finding.title == "I/O waits in the kernel of esx on 1 device"
    assert finding.numbers["kernel_latency_ns"] == 6e6
    assert "Operations were queued on 1 of 1" in finding.summary
    assert not findings(RULE, case, kernel_latency_ns_max=10e6)


def test_with_almost_no_io_it_is_not_the_queue(tmp_path: Path) -> None:
    case = make_case(tmp_path, _kernel([40, 50, 60, 45], 0.4, conflicts_per_s=2))
    finding = only_finding(judge(RULE, case))
    assert finding.title == "High kernel latency with almost no I/O on 1 device"
    assert finding.severity is Severity.WARNING
    assert "do not touch queue depths" in finding.remedy


def test_without_conflicts_in_the_evidence_it_only_informs(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _kernel([40, 50, 60, 45], 0.4))))
    assert finding.severity is Severity.INFO
    assert "not in the evidence" in finding.summary


def test_paths_of_a_device_do_not_compete_with_it(tmp_path: Path) -> None:
    def both(recorder: Recorder) -> None:
        for kind, name in (("device", "naa.1"), ("path", "vmhba1:C0:T0:L0"), ("adapter", "vmhba1")):
            write_series(recorder, EntityRef("esx", kind, name), kernel_latency_ns_mean=9e6, ops_per_s=500)

    assert list(only_finding(judge(RULE, make_case(tmp_path, both))).entities) == [_DEVICE]


def _high_at(starts_s: list[float], length_s: float) -> Writer:
    def write(recorder: Recorder) -> None:
        for start_s in starts_s:
            values = {"kernel_latency_ns_mean": 9e6, "ops_per_s": 2000.0}
            recorder.observe(_DEVICE, START_NS + round(start_s * 1e9), round(length_s * 1e9), values)

    return write


def test_a_night_without_evidence_lies_between_two_short_waits(tmp_path: Path) -> None:
    evening = [0.0, 20.0]
    morning = [start_s + 36_000 for start_s in evening]
    assert not findings(RULE, make_case(tmp_path, _high_at([*evening, *morning], 20)))


def test_samples_of_a_longer_time_follow_on_each_other(tmp_path: Path) -> None:
    case = make_case(tmp_path, _high_at([index * 300.0 for index in range(4)], 20))
    assert only_finding(judge(RULE, case)).title == "I/O waits in the kernel of esx on 1 device"
