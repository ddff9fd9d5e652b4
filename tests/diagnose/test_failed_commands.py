"""What a target says of a failed command: thin-pool-full, media-errors, array-queue-full. All from log lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule
from storscope.diagnose.rules.array_queue_full import RULE as QUEUE_FULL
from storscope.diagnose.rules.media_errors import RULE as MEDIA_ERRORS
from storscope.diagnose.rules.thin_pool_full import RULE as POOL_FULL
from storscope.domain.finding import Healthy, Severity
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence
from storscope.sources.importer import ImportOptions
from storscope.sources.importers.vmware_log import IMPORTER
from tests.diagnose.evidence import only_finding, statements
from tests.support.cases import judge, make_case

_FULL, _NEARLY = (
    "H:0x0 D:0x2 P:0x0 Valid sense data: 0x7 0x27 0x7.",
    "H:0x0 D:0x2 P:0x0 Valid sense data: 0x6 0x38 0x7.",
)
_MEDIUM, _HARDWARE = "D:0x2 P:0x0 Valid sense data: 0x3 0x11 0x0.", "D:0x2 P:0x0 Valid sense data: 0x4 0x44 0x0."
_HARMLESS = (
    "H:0x0 D:0x2 P:0x0 Valid sense data: 0x1 0x17 0x1.",
    "H:0x0 D:0x2 P:0x0 Valid sense data: 0x5 0x20 0x0.",
    "H:0x0 D:0x2 P:0x0 Valid sense data: 0x6 0x29 0x0.",
)


def _case(tmp_path: Path, *statuses: str, step_s: int = 7, device: str = "naa.60") -> Case:
    """A vmkernel.log in which commands failed with these statuses, read by its importer."""
    lines = [
        f"2026-11-20T{10 + number * step_s // 3600:02}:{number * step_s // 60 % 60:02}:{number * step_s % 60:02}.000Z "
        f"cpu7:2097222)ScsiDeviceIO: 3483: Cmd({0x459A40000 + number:#x}) 0x2a, CmdSN 0x8000000 from world 2099000 to "
        f'dev "{device}" failed {status if status.startswith("H:") else "H:0x0 " + status}\n'
        for number, status in enumerate(statuses)
    ]
    log = tmp_path / "vmkernel.log"
    tmp_path.mkdir(exist_ok=True)
    log.write_text("".join(lines))

    def read(recorder: Recorder) -> None:
        IMPORTER.read(Evidence(log, "vmkernel.log"), recorder, ImportOptions(system="esx"))

    return make_case(tmp_path / "store", read)


def test_one_write_refused_for_want_of_space_is_critical(tmp_path: Path) -> None:
    finding = only_finding(judge(POOL_FULL, _case(tmp_path, _FULL)))
    assert finding.severity is Severity.CRITICAL
    assert finding.title == "No space left behind 1 device of esx"
    assert list(finding.evidence[0].rows[0])[1:4] == ["naa.60", "0x7 0x27 0x7", 1]


def test_the_array_s_warning_comes_before_the_end(tmp_path: Path) -> None:
    soon = only_finding(judge(POOL_FULL, _case(tmp_path / "a", _NEARLY)))
    both = only_finding(judge(POOL_FULL, _case(tmp_path / "b", _NEARLY, *[_FULL] * 60)))
    assert soon.severity is Severity.WARNING
    assert soon.title == "Space behind 1 device of esx runs out"
    assert both.numbers == {"writes_refused": 60, "warnings": 1}
    assert "60 commands failed with DATA PROTECT" in both.summary
    assert "naa.60 (60)" in both.summary


@pytest.mark.parametrize("rule", [POOL_FULL, MEDIA_ERRORS, QUEUE_FULL], ids=lambda rule: rule.name)
def test_recovered_illegal_and_unit_attention_are_no_finding(rule: Rule, tmp_path: Path) -> None:
    (outcome,) = judge(rule, _case(tmp_path, *_HARMLESS * 40))
    assert isinstance(outcome, Healthy)
    assert "in 1 host log" in outcome.statement


def test_sense_data_without_a_check_condition_mean_nothing(tmp_path: Path) -> None:
    case = _case(tmp_path, *["H:0x1 D:0x0 P:0x0 Possible sense data: 0x3 0x11 0x0."] * 20)
    assert statements(judge(MEDIA_ERRORS, case))


def test_a_medium_error_is_a_warning_and_many_are_critical(tmp_path: Path) -> None:
    one = only_finding(judge(MEDIA_ERRORS, _case(tmp_path / "a", _MEDIUM)))
    many = only_finding(judge(MEDIA_ERRORS, _case(tmp_path / "b", *[_MEDIUM] * 20, _HARDWARE)))
    assert one.severity is Severity.WARNING
    assert many.severity is Severity.CRITICAL
    assert many.numbers == {"medium_errors": 20, "hardware_errors": 1, "errors_of_worst": 21}
    assert "MEDIUM ERROR 0x3 0x11 0x0, unrecovered read error (20)" in many.summary


def test_hardware_errors_count_from_three(tmp_path: Path) -> None:
    assert statements(judge(MEDIA_ERRORS, _case(tmp_path / "a", *[_HARDWARE] * 2)))
    found = only_finding(judge(MEDIA_ERRORS, _case(tmp_path / "b", *[_HARDWARE] * 3)))
    assert found.title == "Hardware errors on 1 device of esx"


def test_thresholds_of_media_errors_take_effect(tmp_path: Path) -> None:
    case = _case(tmp_path, *[_MEDIUM] * 4, *[_HARDWARE] * 4)
    assert only_finding(judge(MEDIA_ERRORS, case, errors_severe_count=9)).severity is Severity.WARNING
    assert statements(judge(MEDIA_ERRORS, case, medium_min_count=5, hardware_min_count=5))


@pytest.mark.parametrize(
    ("status", "title"),
    [
        ("D:0x28 P:0x0 Invalid sense data: 0x0 0x0 0x0.", "Storage queue full for 1 device of esx"),
        ("D:0x8 P:0x0 Invalid sense data: 0x0 0x0 0x0.", "Storage busy for 1 device of esx"),
    ],
)
def test_refused_commands_in_number_are_a_finding_and_few_are_not(status: str, title: str, tmp_path: Path) -> None:
    few = _case(tmp_path / "a", *[status] * 3)
    spread = _case(tmp_path / "b", *[status] * 40, step_s=600)
    many = only_finding(judge(QUEUE_FULL, _case(tmp_path / "c", *[status] * 100, step_s=3)))
    assert statements(judge(QUEUE_FULL, few))[0].startswith("3 commands refused")
    assert statements(judge(QUEUE_FULL, spread)), "40 over seven hours"
    assert many.title == title
    assert many.numbers["refused_per_h_max"] == 100
    assert only_finding(judge(QUEUE_FULL, few, refused_per_h_max=3))


def test_refused_commands_without_times_count_together(tmp_path: Path) -> None:
    def untimed(recorder: Recorder) -> None:
        text = (
            'cpu7:2)ScsiDeviceIO: 1: Cmd(0x4) 0x2a, CmdSN 0x8 from world 2 to dev "naa.60" failed H:0x0 D:0x28 P:0x0\n'
        )
        log = tmp_path / "ticket.txt"
        log.write_text(text * 30)
        IMPORTER.read(Evidence(log, "ticket.txt"), recorder, ImportOptions(system="esx"))

    finding = only_finding(judge(QUEUE_FULL, make_case(tmp_path / "store", untimed)))
    assert "at times that the lines do not tell" in finding.summary
