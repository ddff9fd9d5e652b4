"""Diagnosing: every rule on what a store holds."""

from __future__ import annotations

import platform
import time
from dataclasses import replace
from pathlib import Path

import storscope
from storscope.diagnose.case import Case
from storscope.diagnose.clocks import apply_offsets
from storscope.diagnose.engine import evaluate
from storscope.diagnose.rules import rules
from storscope.diagnose.thresholds import load_thresholds
from storscope.diagnose.windows import bad_windows
from storscope.domain.errors import StorscopeError, UsageError
from storscope.domain.moment import UTC_FORM, Moment, SinceStart
from storscope.domain.units import PLACEHOLDER_BEFORE_NS, format_time
from storscope.domain.verdict import JudgedPart, Note, NotePlace, Provenance, Verdict, ordered
from storscope.store import Store
from storscope.store.time_frame import TimeFrame
from storscope.workbench.judged_part import judged_part, virtual_zero_ns


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
    if not store.captures():
        raise StorscopeError(
            "evidence in the store", "none", where=str(store.path), hint="Import something: storscope import FILE..."
        )
    store, part = judged_part(store, run)
    zero_ns = virtual_zero_ns(store)
    since_ns, until_ns = (
        _instant(moment, option, store, part) for moment, option in ((since, "--since"), (until, "--until"))
    )
    if since_ns is not None and until_ns is not None and since_ns >= until_ns:
        found = " and ".join(format_time(instant, zero_ns) for instant in (since_ns, until_ns))
        raise UsageError("--since before --until", found)
    case = Case(store, since_ns, until_ns, thresholds.tier_patterns, seed, zero_ns=zero_ns)
    apply_offsets(case)
    start_ns, end_ns = _time_range(store, case.time_frame)
    if start_ns is None:
        _require_no_range(store, case.time_frame, part)
    findings, healthy, not_evaluated = ordered(evaluate(case, rules(), thresholds))
    return Verdict(
        findings=findings,
        healthy=healthy,
        not_evaluated=not_evaluated,
        start_ns=start_ns,
        end_ns=end_ns,
        provenance=Provenance(
            storscope_version=storscope.__version__,
            host=platform.node(),
            made_at_ns=time.time_ns(),
            store=str(store.path),
            captures=store.captures(),
            thresholds=thresholds.values,
            overridden=thresholds.overridden,
            notes=list(dict.fromkeys([*_part_notes(part), *case.notes])),
            part=part,
            seed=seed,
        ),
        bad_windows=bad_windows(case),
        clock_offsets_ns=dict(case.clock_offsets_ns),
        until_ns=until_ns,
        set_aside=case.set_aside,
        zero_ns=zero_ns,
    )


def _part_notes(part: JudgedPart | None) -> list[Note]:
    return [] if part is None else [Note(part.words, NotePlace.FIRST)]


def _instant(moment: Moment | None, option: str, store: Store, part: JudgedPart | None) -> int | None:
    """In ns since 1970. Raises UsageError for a time since the start where there is no one simulated run."""
    if not isinstance(moment, SinceStart):
        return moment
    zero_ns = virtual_zero_ns(store)
    if zero_ns is not None:
        return zero_ns + moment.ns
    hint = "The time since the start is taken for one simulated run alone."
    if part is not None:
        hint += f" {part.words}"
    raise UsageError(f"{UTC_FORM}, as this was timed by real clocks", repr(moment.text), where=option, hint=hint)


def _require_no_range(store: Store, frame: TimeFrame, part: JudgedPart | None) -> None:
    """Nothing in a range that was asked for is an error where there is something outside of it."""
    first_ns, last_ns = _time_range(store, replace(frame, since_ns=None, until_ns=None))
    if first_ns is not None and (frame.since_ns is not None or frame.until_ns is not None):
        raise UsageError(
            "evidence between --since and --until",
            f"none; there is some from {_range(first_ns, last_ns, virtual_zero_ns(store))}",
            where=str(store.path),
            hint="" if part is None else part.words,
        )


def _range(first_ns: int, last_ns: int | None, zero_ns: int | None) -> str:
    words = f"{format_time(first_ns, zero_ns)} to {format_time(last_ns, zero_ns)}"
    return words if zero_ns is not None else f"{words} (UTC)"


def _time_range(store: Store, frame: TimeFrame) -> tuple[int | None, int | None]:
    """Where the evidence in a time frame begins and ends, by its clocks."""
    instant, condition = frame.instant(), frame.condition()
    row = store.query(
        f"""SELECT min(first) AS first, max(last) AS last FROM (
            SELECT {instant} AS first, {instant} + coalesce(duration_ns, 0) AS last
            FROM observations WHERE {condition}
            UNION ALL SELECT {instant}, {instant} FROM events WHERE {condition})
            WHERE first >= {PLACEHOLDER_BEFORE_NS}"""
    ).to_pylist()[0]
    last_ns = row["last"]
    if last_ns is not None and frame.until_ns is not None:
        last_ns = min(last_ns, frame.until_ns)  # what begins before may last longer, and is judged until then
    return row["first"], last_ns
