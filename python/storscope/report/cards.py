"""Findings as cards, and the sentence at the top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storscope.domain.entity import EntityRef
from storscope.domain.finding import Cell, EvidenceRows, Finding, NotEvaluated, Severity
from storscope.domain.units import format_count, format_ratio
from storscope.domain.verdict import Verdict
from storscope.report.wording import cell_words, column_words, confidence_words, counted, entity_words, time_range

_SHORT = 28
"""Characters up to which a cell is kept on one line."""
_LINE = 72
"""Characters beyond which a cell is a line of its own beneath its row: beside others it would be a tall and narrow
column, and often out of sight."""

OPEN_CARDS = 6
"""Cards shown in full; further ones open on a click, and in print."""


@dataclass(frozen=True)
class EvidenceTable:
    """Evidence rows in words. A column's class is 'number' (flush right), 'short' (never broken) or 'long'."""

    caption: str
    heads: Sequence[tuple[str, str]]
    """(words, the column's own name)."""
    classes: Sequence[str]
    rows: Sequence[Sequence[str]]
    query: str
    notes: Sequence[str]
    """What is not shown."""
    beneath: int | None = None
    """The column that stands beneath each row, over its whole width: what a log said."""


@dataclass(frozen=True)
class Card:
    """One finding, ready to lay out."""

    anchor: str
    severity: str
    finding: Finding
    confidence: str
    confidence_ratio: str
    entities: Sequence[str]
    system: str
    """That all of several entities are of; "" where each names its own."""
    window: str
    window_s: tuple[float, float] | None
    """For the button that shows it in the timeline."""
    evidence: Sequence[EvidenceTable]
    open: bool


@dataclass(frozen=True)
class Headline:
    """The verdict in ten seconds."""

    severity: str
    """A severity's word, 'healthy' or 'unknown'."""
    word: str
    sentence: str
    summary: str
    counts: Sequence[tuple[str, int, str]]
    """(severity word, how many, the word beside the number); empty where nothing was judged."""


def cards(findings: Sequence[Finding], labels: Mapping[EntityRef, str], zero_ns: int | None = None) -> list[Card]:
    """A card per finding, in the order of the verdict. Times are told since `zero_ns`."""
    return [_card(number, finding, labels, zero_ns) for number, finding in enumerate(findings, 1)]


def headline(verdict: Verdict) -> Headline:
    """The finding that matters most, or what its absence means."""
    counts = [
        (severity.word, number, _counted_word(severity, number))
        for severity in sorted(Severity, reverse=True)
        if (number := sum(finding.severity == severity for finding in verdict.findings)) or severity > Severity.INFO
    ]
    if verdict.findings:
        first = verdict.findings[0]
        return Headline(
            first.severity.word, first.severity.word.capitalize(), _sentence(first.title), first.summary, counts
        )
    needs = verdict.latency_needs
    lacking = f"To judge it takes {needs}." if needs else "What each rule needs is listed below."
    if verdict.healthy and not verdict.is_of_storage:
        return Headline(
            "unknown", "Not judged", "The numbers fit together; of the storage itself nothing could be judged.",
            lacking, counts,
        )  # fmt: skip
    if verdict.healthy and not verdict.is_healthy:
        return Headline(
            "unknown", "Not judged", "How long I/Os take was not judged; what else was looked at is in order.",
            lacking, counts,
        )  # fmt: skip
    if verdict.healthy:
        looked = counted(len(verdict.healthy), "condition was", "conditions were")
        missing = len(verdict.not_evaluated)
        rest = f" {counted(missing, 'rule')} had no evidence to judge." if missing else ""
        return Headline(
            "healthy", "Healthy", "Nothing wrong was found.", f"{looked} looked for and found healthy.{rest}", counts
        )
    return Headline(
        "unknown", "Not judged", "There is not enough evidence to judge.",
        "No rule had what it needs. What each one needs is listed below.", counts,
    )  # fmt: skip


def benchmark_headline(runs: int, targets: Sequence[str], best: Sequence[str]) -> Headline:
    """Of results of benchmarks alone: what they say, as nothing of them is judged."""
    of = f" of {targets[0]}" if len(targets) == 1 else f" of {len(targets)} targets" if targets else ""
    return Headline(
        "info", "Measured", f"{counted(runs, 'benchmark run')}{of}.",
        " ".join([*best, "Rules judge what storage does for its users; benchmarks say what it can do."]), (),
    )  # fmt: skip


def _counted_word(severity: Severity, number: int) -> str:
    return "warnings" if severity is Severity.WARNING and number != 1 else severity.word


def missing_evidence(not_evaluated: Sequence[NotEvaluated]) -> list[tuple[str, list[str]]]:
    """What evidence would do -> the rules it would serve, the evidence that serves most first."""
    found: dict[str, list[str]] = {}
    for outcome in not_evaluated:
        found.setdefault(outcome.needs, []).append(outcome.rule)
    return sorted(found.items(), key=lambda item: -len(item[1]))


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else text + "."


def _card(number: int, finding: Finding, labels: Mapping[EntityRef, str], zero_ns: int | None) -> Card:
    start, end = finding.start_ns, finding.end_ns
    named = [(entity_words(entity, labels.get(entity)), entity) for entity in finding.entities]
    systems = {entity.system for entity in finding.entities}
    system = systems.pop() if len(systems) == 1 and len(named) > 1 else ""
    return Card(
        anchor=f"finding-{number}",
        severity=finding.severity.word,
        finding=finding,
        confidence=confidence_words(finding.confidence),
        confidence_ratio=format_ratio(finding.confidence),
        entities=[words if system else f"{words} · {entity.system}" for words, entity in named],
        system=system,
        window=time_range(start, end, zero_ns) if start is not None or end is not None else "",
        window_s=(start / 1e9, end / 1e9) if start is not None and end is not None and end > start else None,
        evidence=[_evidence(rows, zero_ns) for rows in finding.evidence],
        open=number <= OPEN_CARDS,
    )


def _evidence(every: EvidenceRows, zero_ns: int | None) -> EvidenceTable:
    rows = every.without_unknown()
    words = [
        [cell_words(column, value, zero_ns) for column, value in zip(rows.columns, row, strict=True)]
        for row in rows.rows
    ]
    widths = [max((len(row[index]) for row in words), default=0) for index in range(len(rows.columns))]
    widest = max(range(len(widths)), key=widths.__getitem__) if len(widths) > 1 else None
    return EvidenceTable(
        caption=rows.caption,
        heads=[(_capital(column_words(column)), column) for column in rows.columns],
        classes=[
            _class([row[index] for row in rows.rows], [row[index] for row in words])
            for index in range(len(rows.columns))
        ],
        rows=words,
        query=rows.query,
        notes=_notes(every),
        beneath=widest if widest is not None and widths[widest] > _LINE else None,
    )


def _notes(rows: EvidenceRows) -> list[str]:
    count, unknown = len(rows.rows), rows.unknown_columns
    total = rows.total_rows if rows.total_rows is not None else count
    cut = f"{format_count(count)} of {format_count(total)} rows are shown; the query gives all."
    not_known = f"Not known of these: {', '.join(column_words(column) for column in unknown)}."
    return [*([cut] if total > count else ()), *([not_known] if unknown else ())]


def _class(values: Sequence[Cell], words: Sequence[str]) -> str:
    if _is_numeric(values):
        return "number"
    return "short" if max(map(len, words), default=0) <= _SHORT else "long"


def _is_numeric(values: Sequence[object]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
