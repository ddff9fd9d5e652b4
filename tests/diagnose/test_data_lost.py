from __future__ import annotations

from pathlib import Path

from storscope.diagnose.rules import rules
from storscope.diagnose.rules.data_lost import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Severity
from storscope.domain.recorder import Recorder
from storscope.domain.verdict import ordered
from storscope.domain.vocabulary import SIMULATED_FACT
from tests.diagnose.evidence import START_NS, STEP_NS, Writer, needs, only_finding, statements
from tests.support.cases import judge, make_case


def _simulated(recorder: Recorder) -> None:
    recorder.fact(EntityRef("a", "array", "a"), SIMULATED_FACT, 12.0)
    recorder.event(EntityRef("a", "array", "a"), START_NS, "array_event", "the simulation begins")


def _loses(*volumes: str) -> Writer:
    def write(recorder: Recorder) -> None:
        for number in range(3):
            recorder.event(EntityRef("a", "disk", f"g/{number}"), START_NS + STEP_NS, "disk_failed", "a drive fails")
        for volume in volumes:
            text = f"data of volume {volume} is lost: drives failed"
            recorder.event(EntityRef("a", "vdisk", volume), START_NS + STEP_NS, "data_lost", text)

    return write


def test_lost_data_is_found_and_critical(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _simulated, _loses("v", "w"))))
    assert finding.severity is Severity.CRITICAL
    assert finding.title == "Data of 2 volumes of a is lost"
    assert finding.summary == ("Data of volume v is lost: drives failed. Data of volume w is lost: drives failed.")
    assert finding.start_ns == START_NS + STEP_NS
    assert {row[2] for row in finding.evidence[0].rows} == {"data_lost", "disk_failed"}


def test_many_volumes_are_counted(tmp_path: Path) -> None:
    case = make_case(tmp_path, _simulated, _loses(*(f"v{number}" for number in range(9))))
    assert only_finding(judge(RULE, case)).summary.endswith(" And 5 further events.")


def test_it_stands_before_the_drives_that_failed(tmp_path: Path) -> None:
    case = make_case(tmp_path, _simulated, _loses("v"))
    found, _, _ = ordered([one for name in ("drive-failed", "data-lost") for one in judge(rules()[name], case)])
    assert [finding.rule for finding in found if isinstance(finding, Finding)] == ["data-lost", "drive-failed"]
    assert found[1].severity is Severity.CRITICAL


def test_a_simulated_run_without_it_is_healthy(tmp_path: Path) -> None:
    assert statements(judge(RULE, make_case(tmp_path, _simulated))) == ["No data of a is lost."]


def test_a_log_of_an_array_does_not_tell(tmp_path: Path) -> None:
    def log(recorder: Recorder) -> None:
        recorder.event(EntityRef("eva", "disk", "1"), START_NS, "disk_failed", "drive 1 failed")

    assert needs(judge(RULE, make_case(tmp_path, log))) == [
        "events of lost data: a simulated run has them, and no importer reads them yet"
    ]


def test_what_was_lost_with_a_cache_is_no_matter_of_drives(tmp_path: Path) -> None:
    def lost(recorder: Recorder) -> None:
        volume, text = EntityRef("a", "vdisk", "v"), "data of volume v is lost: only controller A had 12 MiB"
        recorder.event(volume, START_NS + STEP_NS, "data_lost", text, attributes={"with": "cache"})

    finding = only_finding(judge(RULE, make_case(tmp_path, _simulated, lost)))
    assert "mirror the write cache" in finding.remedy
    assert "drives" not in finding.check
