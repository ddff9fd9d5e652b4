"""Diagnosing: every rule on what a store holds."""

from __future__ import annotations

import platform
import time
from pathlib import Path

import storscope
from storscope.diagnose.engine import evaluate
from storscope.diagnose.rules import rules
from storscope.diagnose.thresholds import load_thresholds
from storscope.diagnose.windows import bad_windows
from storscope.domain.moment import Moment
from storscope.domain.verdict import JudgedPart, Note, NotePlace, Provenance, Verdict, ordered
from storscope.store import Store
from storscope.workbench.asked_case import asked_case
from storscope.workbench.guessed_zone_notes import guessed_zone_notes
from storscope.workbench.left_out_notes import left_out_notes


def diagnose(
    store: Store,
    *,
    thresholds_file: Path | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    seed: int = 0,
    run: str | None = None,
) -> Verdict:
    """Evaluates every rule on what the store holds, or on what `run` (a name, id or pattern) belongs to.

    Simulated runs are never judged together; without `run`, `workbench/judged_part.py` says what is. Raises ConfigError
    for a wrong thresholds file, UsageError for runs that are not there and for times that it cannot take.
    """
    thresholds = load_thresholds(rules(), thresholds_file)
    asked = asked_case(store, since=since, until=until, run=run, tier_patterns=thresholds.tier_patterns, seed=seed)
    case, store, part = asked.case, asked.case.store, asked.part
    captures = store.captures()
    findings, healthy, not_evaluated = ordered(evaluate(case, rules(), thresholds))
    return Verdict(
        findings=findings,
        healthy=healthy,
        not_evaluated=not_evaluated,
        start_ns=asked.start_ns,
        end_ns=asked.end_ns,
        provenance=Provenance(
            storscope_version=storscope.__version__,
            host=platform.node(),
            made_at_ns=time.time_ns(),
            store=str(store.path),
            captures=captures,
            thresholds=thresholds.values,
            overridden=thresholds.overridden,
            notes=list(
                dict.fromkeys(
                    [
                        *_part_notes(part),
                        *guessed_zone_notes(captures, case.clock_offsets_ns),
                        *left_out_notes(captures),
                        *case.notes,
                    ]
                )
            ),
            part=part,
            seed=seed,
        ),
        bad_windows=bad_windows(case),
        clock_offsets_ns=dict(case.clock_offsets_ns),
        until_ns=case.until_ns,
        set_aside=case.set_aside,
        zero_ns=case.zero_ns,
    )


def _part_notes(part: JudgedPart | None) -> list[Note]:
    return [] if part is None else [Note(part.words, NotePlace.FIRST)]
