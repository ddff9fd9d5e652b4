"""The notes of a verdict on a terminal: where each stands is told by the note itself, never by its words."""

from __future__ import annotations

import pytest

from storscope.cli.show_verdict import print_verdict
from storscope.diagnose.rules import rules
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Severity
from storscope.domain.verdict import LATENCY_RULE, OF_THE_DATA, Note, NotePlace, Provenance, Verdict
from storscope.domain.verdict_json import verdict_to_json

_FINDING = Finding("path-dead", Severity.WARNING, 0.9, "A path is dead", "It is.", "w", "i", "c", "r", "s")
_NOTES = (
    Note("clocks that agree were left alone."),
    Note("times of two captures overlap.", NotePlace.LAST),
    Note("only the latest run was judged.", NotePlace.FIRST),
)


def _verdict(*notes: Note) -> Verdict:
    provenance = Provenance("0", "host", 0, "store", captures=(), thresholds={}, notes=notes)
    return Verdict([_FINDING], [], [], None, None, provenance)


def _shown(capsys: pytest.CaptureFixture[str], *, verbose: bool) -> str:
    print_verdict(_verdict(*_NOTES), Severity.INFO, verbose=verbose, is_kept=True)
    return capsys.readouterr().out


def test_what_was_judged_stands_before_the_findings_and_cautions_after_them(capsys: pytest.CaptureFixture[str]) -> None:
    said = _shown(capsys, verbose=False)
    assert said.index("note: only the latest") < said.index("1. WARNING") < said.index("note: times of two captures")
    assert "clocks that agree" not in said


def test_everything_is_told_once_to_who_asks_for_all(capsys: pytest.CaptureFixture[str]) -> None:
    said = _shown(capsys, verbose=True)
    assert [said.count(f"note: {note.words}") for note in _NOTES] == [1, 1, 1]


def test_programs_get_every_note_as_a_sentence() -> None:
    assert verdict_to_json(_verdict(*_NOTES))["provenance"]["notes"] == [note.words for note in _NOTES]


def test_numbers_that_fit_together_make_no_storage_healthy(capsys: pytest.CaptureFixture[str]) -> None:
    def headed(*names: str) -> str:
        healthy = [Healthy(name, "It fits.") for name in names]
        verdict = Verdict([], healthy, [], None, None, _verdict().provenance)
        print_verdict(verdict, Severity.INFO, verbose=False, is_kept=True)
        return capsys.readouterr().out.splitlines()[0]

    assert headed(*OF_THE_DATA).startswith("UNDECIDED: the numbers fit together; of the storage itself nothing")
    assert headed(*OF_THE_DATA, LATENCY_RULE).startswith("HEALTHY in what could be judged: 5 of 5 rules")
    assert set(rules()) > {*OF_THE_DATA, LATENCY_RULE}


def test_no_storage_is_healthy_whose_latency_was_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    """A table without any latency was healthy, as no volume of it took most of the load."""
    healthy = [Healthy("heavy-hitter", "Nobody takes most."), Healthy("flush-bound", "Flushes are quick.")]
    lacking = [NotEvaluated("path-idle", "needs paths"), NotEvaluated(LATENCY_RULE, "latency per interval (sar -d)")]
    verdict = Verdict([], healthy, lacking, None, None, _verdict().provenance)
    print_verdict(verdict, Severity.INFO, verbose=False, is_kept=True)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "UNDECIDED: how long I/Os take was not judged; what else was looked at is in order."
    assert said[1] == "To judge it takes latency per interval (sar -d)."
    assert not verdict.is_healthy
    assert Verdict([], [*healthy, Healthy(LATENCY_RULE, "ok")], [], None, None, verdict.provenance).is_healthy
