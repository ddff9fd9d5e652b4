"""The page of a comparison: whether the change helped, by how much, how sure that is, and what was compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from storscope.domain.comparison import (
    AFTER,
    BEFORE,
    ComparedSide,
    ComparedSubject,
    Comparison,
    MetricRow,
    Outcome,
    PairResult,
)
from storscope.domain.comparison_answer import (
    OFF_BY,
    about_pairs,
    advice,
    answer,
    counted_outcomes,
    distributions_told,
    is_judged,
    methods_told,
    predictions_off_by,
    predictions_told,
    reasons_told,
)
from storscope.domain.comparison_words import (
    chance,
    change,
    interval,
    interval_off_by,
    predicted_and_measured,
    side_words,
    values,
)
from storscope.domain.entity import said_of
from storscope.domain.units import format_count, format_ratio, format_span
from storscope.report.assembly import write_page
from storscope.report.comparison_courses import courses_of
from storscope.report.comparison_rows import forests_of, tables_of
from storscope.report.measured_page import render_measured
from storscope.report.pack import Packer
from storscope.report.wording import counted, listed, tight, time_range

_LEADING: Final = 3
"""Rows that are told as sentences, the decided ones first."""
_ORDER: Final = (Outcome.WORSE, Outcome.BETTER, Outcome.UNDECIDED, Outcome.SAME)
_TONES: Final = {
    Outcome.WORSE: "critical",
    Outcome.BETTER: "healthy",
    Outcome.SAME: "info",
    Outcome.UNDECIDED: "unknown",
}
_SUBJECT_HEADS: Final = ("Side", "What", "On", "By", "From", "For", "Load", "Ended", "Files")


@dataclass(frozen=True)
class Doubts:
    """What to beware of, as the command tells it."""

    warnings: Sequence[str]
    notes: Sequence[str]
    unmatched: Sequence[str]

    def __bool__(self) -> bool:
        return bool(self.warnings or self.notes or self.unmatched)


def write_comparison_report(comparison: Comparison, path: Path, command: str = "") -> None:
    """Writes the page to `path`: whole, or not at all. `command` is what compares again.

    Raises UsageError when the file cannot be written there.
    """
    write_page(path, render_comparison(comparison, command))


def render_comparison(comparison: Comparison, command: str = "", made_at_ns: int | None = None) -> str:
    """The page as text."""
    packer = Packer()
    courses, undrawn = courses_of(comparison, packer)
    title, tone = _title(comparison)
    return render_measured(
        "compare.html.j2", "js/sweep.js", packer, kind="comparison", title=title, tone=tone,
        summary=_summary(comparison), facts=_facts(comparison), made_at_ns=made_at_ns, comparison=comparison,
        tables=tables_of(comparison), forests=forests_of(comparison), courses=courses, undrawn=undrawn,
        reasons=reasons_told(comparison), advice=advice(comparison), doubts=_doubts(comparison),
        subject_heads=_SUBJECT_HEADS, subjects=list(_subjects(comparison)), methods=_methods(comparison),
        level=format_ratio(comparison.level), threshold=format_ratio(comparison.threshold), command=command,
    )  # fmt: skip


def _title(comparison: Comparison) -> tuple[str, str]:
    """The answer as the command prints it, and its severity."""
    said = predictions_off_by(comparison)
    if not is_judged(comparison):
        return tight(f"PREDICTION: {said}"), "info"
    words, outcome = answer(comparison)
    return tight(words), _TONES[outcome]


def _summary(comparison: Comparison) -> list[str]:
    """The leading figures as sentences, then what was counted."""
    rows = [(pair, row) for pair in comparison.pairs for row in pair.rows]
    judged = [one for outcome in _ORDER for one in rows if one[1].outcome is outcome]
    predicted = [(pair, row) for pair, row in rows if row.outcome is None and pair.predicted]
    places = {id(pair): place for place, (pair, *_) in enumerate(predictions_told(comparison))}
    predicted.sort(key=lambda one: places.get(id(one[0]), len(places)))
    leading = [*judged[:_LEADING], *predicted[:_LEADING]]
    told = [(_sentence_off_by if pair.predicted else _sentence)(pair, row, comparison.level) for pair, row in leading]
    if is_judged(comparison) and (said := predictions_off_by(comparison)):
        told.append(f"PREDICTION: {said}.")
    if counts := counted_outcomes(comparison):
        told.append(f"In all: {counts}.")
    told = [tight(words) for words in told]
    return told + ([f"{OFF_BY[:1].upper()}{OFF_BY[1:]}."] if predicted else [])


def _sentence(pair: PairResult, row: MetricRow, level: float) -> str:
    """'latency of a: 8.00 ms before, 4.00 ms after, −50.0 % (95 %: −52.0 to −48.0 %), by chance < 0.1 %: better.'"""
    before, after = values(row)
    sure = "no interval, so chance is not known"
    if row.p_value is not None:
        sure = f"{format_ratio(level)} interval {interval(row)}; as much by chance alone: {chance(row.p_value)}"
    outcome = row.outcome.value if row.outcome else "load"
    if row.outcome in (Outcome.BETTER, Outcome.WORSE) and row.reason:
        outcome += f", {row.reason}"
    said = f"{before} before, {after} after, {change(row.change)} ({sure}): {outcome}."
    return said_of(f"{row.metric} of {pair.name}", said)


def _sentence_off_by(pair: PairResult, row: MetricRow, level: float) -> str:
    predicted, measured = predicted_and_measured(pair, row)
    sure = "" if row.p_value is None else f" ({format_ratio(level)} interval {interval_off_by(row)})"
    outcome = f": {row.outcome.value}, {row.reason}" if row.outcome else ""
    said = f"{predicted} predicted, {measured} measured, off by {change(row.off_by)}{sure}{outcome}"
    return said_of(f"{row.metric} of {pair.name}", f"{said}.")


def _facts(comparison: Comparison) -> list[tuple[str, str]]:
    words = side_words(comparison)
    facts = []
    for word, side, which in zip(words, (comparison.before, comparison.after), (BEFORE, AFTER), strict=True):
        own = [one for pair in comparison.pairs for one in pair.subjects if one.side == which]
        facts.append((word.capitalize(), _side(side, own, of_runs=comparison.of_runs)))
    return facts


def _side(side: ComparedSide, subjects: Sequence[ComparedSubject], *, of_runs: bool) -> str:
    """'lab#run=a: 3 runs: oltp on EVA 4400; 2026-11-20 21:00:00Z to 21:10:00Z (10 min)'."""
    what = counted(side.subjects, "run") if of_runs else counted(side.subjects, "entity", "entities")
    some = f", {format_count(side.simulated)} of them simulated" if side.simulated else ""
    simulated = ", simulated" if side.simulated == side.subjects else some
    named = f": {listed(side.names)}" if side.names else ""
    begins = [one.began_ns for one in subjects if one.began_ns is not None]
    ends = [one.began_ns + (one.duration_ns or 0) for one in subjects if one.began_ns is not None]
    when = f"; {time_range(min(begins), max(ends))}" if begins else ""
    return f"{side.source}: {what}{simulated}{named}{when}"


def _doubts(comparison: Comparison) -> Doubts:
    pairs = comparison.pairs
    return Doubts(
        warnings=list(about_pairs((words, pair.name) for pair in pairs for words in pair.warnings)),
        notes=[*about_pairs((words, pair.name) for pair in pairs for words in pair.notes), *comparison.notes],
        unmatched=[f"{one.name} ({one.side} only): {one.reason}" for one in comparison.unmatched],
    )


def _subjects(comparison: Comparison) -> Iterator[list[str]]:
    words = dict(zip((BEFORE, AFTER), side_words(comparison), strict=True))
    for pair in comparison.pairs:
        for one in pair.subjects:
            name = one.name if one.key == one.name or not comparison.of_runs else f"{one.name} ({one.key})"
            began = "–" if one.began_ns is None else time_range(one.began_ns, one.began_ns)
            length = "–" if one.duration_ns is None else format_span(one.duration_ns)
            told = (one.place, one.engine, began, length, one.load, one.status, "; ".join(one.captures))
            yield [words[one.side], name, *(words_of or "–" for words_of in told)]


def _methods(comparison: Comparison) -> list[str]:
    told = [*methods_told(comparison), *distributions_told(comparison.pairs)]
    return [f"{words[:1].upper()}{words[1:]}" for words in told]
