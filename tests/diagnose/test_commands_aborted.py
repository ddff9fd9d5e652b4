from __future__ import annotations

from pathlib import Path

from storscope.diagnose.rules.commands_aborted import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import START_NS, Writer, needs, only_finding, statements, write_series
from tests.support.cases import judge, make_case

_DEVICE = EntityRef("esx", "device", "naa.6")


def _rates(*rates: float) -> Writer:
    return lambda recorder: write_series(recorder, _DEVICE, len(rates), aborts_per_s=rates)


def test_none_is_healthy(tmp_path: Path) -> None:
    assert statements(judge(RULE, make_case(tmp_path, _rates(0, 0, 0)))) == ["No command was aborted on 1 entity."]


def test_any_is_notable_and_more_than_one_a_second_is_trouble(tmp_path: Path) -> None:
    some = only_finding(judge(RULE, make_case(tmp_path / "a", _rates(0, 0.05, 0, 0))))
    many = only_finding(judge(RULE, make_case(tmp_path / "b", _rates(0, 2.5, 3.0, 0))))
    assert some.severity is Severity.WARNING
    assert many.severity is Severity.CRITICAL
    assert some.numbers["aborts"] == 1.0, "0.05 per second over 20 s"
    assert (some.start_ns, some.end_ns) == (START_NS + 20_000_000_000, START_NS + 40_000_000_000)


def test_the_threshold_takes_effect(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _rates(0, 2.5)), aborts_per_s_max=5))
    assert finding.severity is Severity.WARNING


def test_aborts_of_a_device_and_its_path_count_once(tmp_path: Path) -> None:
    def both(recorder: Recorder) -> None:
        _rates(0, 0.1)(recorder)
        write_series(recorder, EntityRef("esx", "path", "vmhba1:C0:T0:L0"), 2, aborts_per_s=[0, 0.1])

    finding = only_finding(judge(RULE, make_case(tmp_path, both)))
    assert list(finding.entities) == [_DEVICE]
    assert finding.numbers["aborts"] == 2.0


def test_log_lines_count_too_and_join_the_same_finding(tmp_path: Path) -> None:
    def lines(recorder: Recorder) -> None:
        for number in range(12):
            recorder.event(_DEVICE, START_NS + number, "command_aborted", f'Cmd 0x2a to dev "naa.6" H:0x5 {number}')
        recorder.event(_DEVICE, None, "bus_reset", "reset")

    finding = only_finding(judge(RULE, make_case(tmp_path, _rates(0, 0.05), lines)))
    assert "12 aborts and 1 reset, at most 12 within one hour" in finding.summary
    assert finding.severity is Severity.CRITICAL
    assert len(finding.evidence) == 2


def test_absent_is_not_zero(tmp_path: Path) -> None:
    case = make_case(tmp_path, lambda recorder: write_series(recorder, _DEVICE, ops_per_s=5))
    assert needs(judge(RULE, case))
