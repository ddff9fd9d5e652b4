from __future__ import annotations

from pathlib import Path

from storscope.diagnose.rules.reservation_conflicts import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import START_NS, only_finding, statements, write_series
from tests.support.cases import findings, judge, make_case

_DEVICE = EntityRef("esx", "device", "naa.6")


def test_lasting_conflicts_are_found(tmp_path: Path) -> None:
    case = make_case(tmp_path, lambda r: write_series(r, _DEVICE, 6, conflicts_per_s=[0, 2, 3, 2, 0, 0]))
    finding = only_finding(judge(RULE, case))
    assert finding.severity is Severity.WARNING
    assert "About 140 conflicts on 1 device, at most 3.00 per second" in finding.summary


def test_many_conflicts_are_critical(tmp_path: Path) -> None:
    case = make_case(tmp_path, lambda r: write_series(r, _DEVICE, 6, conflicts_per_s=25))
    assert only_finding(judge(RULE, case)).severity is Severity.CRITICAL


def test_a_single_interval_is_no_finding(tmp_path: Path) -> None:
    """Some conflicts while machines start are normal."""
    case = make_case(tmp_path, lambda r: write_series(r, _DEVICE, 6, conflicts_per_s=[0, 0, 4, 0, 0, 0]))
    assert statements(judge(RULE, case)) == ["No lasting reservation conflicts on 1 device."]
    assert findings(RULE, case, samples_min=1)


def test_conflicts_per_command_since_the_reset(tmp_path: Path) -> None:
    def counters(recorder: Recorder) -> None:
        recorder.fact(_DEVICE, "reservation_conflicts", 10_221)
        recorder.fact(_DEVICE, "commands", 30_000)
        quiet = EntityRef("esx", "device", "naa.7")
        recorder.fact(quiet, "reservation_conflicts", 12)
        recorder.fact(quiet, "commands", 3_000_000)

    finding = only_finding(judge(RULE, make_case(tmp_path, counters)))
    assert list(finding.entities) == [_DEVICE]
    assert "On naa.6 34 % of all commands ended in a conflict." in finding.summary


def test_reservations_held_in_the_log(tmp_path: Path) -> None:
    def lines(recorder: Recorder) -> None:
        volume = EntityRef("esx", "datastore", "vmfs1")
        for number in range(3):
            recorder.event(volume, START_NS + number, "reservation_held", "rsv time", value=6.441e9)

    finding = only_finding(judge(RULE, make_case(tmp_path, lines)))
    assert "one was held for 6.44 s" in finding.summary
