from __future__ import annotations

from pathlib import Path

from storscope.diagnose.rules import rules
from storscope.diagnose.rules.controller_failed import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import NotEvaluated, Severity
from storscope.domain.recorder import Recorder
from storscope.domain.vocabulary import SIMULATED_FACT
from tests.diagnose.evidence import START_NS, STEP_NS, Writer, only_finding, statements
from tests.support.cases import judge, make_case

_VOLUME = EntityRef("a", "vdisk", "v")


def _simulated(recorder: Recorder) -> None:
    recorder.fact(EntityRef("a", "array", "a"), SIMULATED_FACT, 12.0)
    for name in "AB":
        recorder.observe(EntityRef("a", "controller", name), START_NS, STEP_NS, {"cpu_busy_ratio": 0.5})


def _event(number: int, controller: str, kind: str, words: str) -> Writer:
    def write(recorder: Recorder) -> None:
        at_ns = START_NS + number * STEP_NS
        recorder.event(EntityRef("a", "controller", controller), at_ns, kind, f"controller {controller} {words}")
        owner = {"controller_failed": "B", "controller_returned": controller}[kind]
        recorder.event(_VOLUME, at_ns, "ownership_changed", "moved", attributes={"owner": owner})

    return write


_FAILS = _event(1, "A", "controller_failed", "fails")
_RETURNS = _event(5, "A", "controller_returned", "works again")


def test_a_controller_that_stays_away_is_critical(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _simulated, _FAILS)))
    assert (finding.severity, finding.title) == (Severity.CRITICAL, "Controller A of a has failed")
    assert finding.summary == "Controller A fails."
    assert {row[2] for row in finding.evidence[0].rows} == {"controller_failed", "ownership_changed"}
    assert finding.numbers == {"failures": 1, "failed_at_the_end": 1}


def test_one_that_came_back_is_told_as_past(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _simulated, _FAILS, _RETURNS)))
    assert (finding.severity, finding.title) == (Severity.WARNING, "Controller A of a failed for a time")
    assert (finding.start_ns, finding.end_ns) == (START_NS + STEP_NS, START_NS + 5 * STEP_NS)
    assert finding.remedy.startswith("Find out why it failed, before it does again. If one controller is too slow"), (
        "it is back"
    )
    assert "nobody to mirror writes to" in finding.why


def test_of_three_controllers_two_are_left_to_mirror(tmp_path: Path) -> None:
    def third(recorder: Recorder) -> None:
        recorder.observe(EntityRef("a", "controller", "C"), START_NS, STEP_NS, {"cpu_busy_ratio": 0.5})

    finding = only_finding(judge(RULE, make_case(tmp_path / "one", _simulated, third, _FAILS)))
    assert "nobody to mirror writes to" not in finding.why
    assert finding.remedy.startswith("Replace it or bring it back")
    both = make_case(tmp_path / "both", _simulated, third, _FAILS, _event(2, "B", "controller_failed", "fails"))
    finding = only_finding(judge(RULE, both))
    assert finding.title == "Controllers A and B of a have failed"
    assert "nobody to mirror writes to" in finding.why


def test_one_that_failed_again_is_away(tmp_path: Path) -> None:
    again = _event(9, "A", "controller_failed", "fails")
    finding = only_finding(judge(RULE, make_case(tmp_path, _simulated, _FAILS, _RETURNS, again)))
    assert finding.severity is Severity.CRITICAL
    assert finding.numbers["failures"] == 2


def test_a_simulated_run_without_it_is_healthy_and_other_evidence_does_not_tell(tmp_path: Path) -> None:
    assert statements(judge(RULE, make_case(tmp_path / "simulated", _simulated))) == ["No controller of a failed."]

    def measured(recorder: Recorder) -> None:
        recorder.observe(EntityRef("a", "controller", "A"), START_NS, STEP_NS, {"cpu_busy_ratio": 0.5})

    (outcome,) = judge(RULE, make_case(tmp_path / "measured", measured))
    assert isinstance(outcome, NotEvaluated)


def test_what_comes_of_it_is_neither_flapping_nor_imbalance(tmp_path: Path) -> None:
    case = make_case(tmp_path, _simulated, _FAILS, _RETURNS)
    (calm,) = statements(judge(rules()["ownership-flapping"], case))
    assert calm == (
        "Volumes of a changed their owner only with the failure or the return of a controller (controller-failed): "
        "2 changes."
    )
    (outcome,) = judge(rules()["controller-imbalance"], case)
    assert outcome == NotEvaluated("controller-imbalance", "a time in which all controllers of a work: A failed")


def test_moves_that_it_does_not_explain_are_flapping_as_ever(tmp_path: Path) -> None:
    def moves(recorder: Recorder) -> None:
        for number in range(4):
            at_ns = START_NS + (1_000 + 100 * number) * 10**9
            recorder.event(_VOLUME, at_ns, "ownership_changed", "moved", attributes={"owner": "AB"[number % 2]})

    finding = only_finding(judge(rules()["ownership-flapping"], make_case(tmp_path, _simulated, _FAILS, moves)))
    assert finding.numbers["changes"] == 4
