"""Cases made of synthetic evidence, for tests of rules and reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule
from storscope.domain.finding import Finding, Outcome
from storscope.domain.recorder import Recorder
from storscope.store import CaptureInfo, Store


def make_store(path: Path, *writers: Callable[[Recorder], None]) -> Store:
    """A store with one capture per writer; a writer records its evidence."""
    store = Store.open(path, create=True)
    for number, write in enumerate(writers):
        info = CaptureInfo(
            id=f"{number:016x}", path=f"synthetic-{number}", sha256=f"{number:064x}", size_bytes=0, format="synthetic",
            importer_version=1, imported_at_ns=number, imported_on="test", storscope_version="test", options={},
        )  # fmt: skip
        with store.writer(info) as writer:
            recorder = Recorder(writer.write)
            write(recorder)
            recorder.finish()
            writer.commit(recorder)
    return store


def make_case(path: Path, *writers: Callable[[Recorder], None]) -> Case:
    """A case over such a store."""
    return Case(make_store(path, *writers))


def judge(rule: Rule, case: Case, **thresholds: float) -> list[Outcome]:
    """The outcomes of one rule, with some thresholds changed."""
    return list(rule.evaluate(case, rule.defaults() | thresholds))


def findings(rule: Rule, case: Case, **thresholds: float) -> list[Finding]:
    """Only the findings of one rule."""
    return [outcome for outcome in judge(rule, case, **thresholds) if isinstance(outcome, Finding)]
