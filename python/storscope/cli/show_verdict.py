"""The verdict on a terminal: what matters most first, readable in ten seconds."""

from __future__ import annotations

import shutil
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import click

from storscope.cli.evidence_table import print_evidence
from storscope.cli.text_table import harmless
from storscope.domain.finding import Finding, NotEvaluated, Severity
from storscope.domain.units import format_ratio, format_time
from storscope.domain.verdict import NotePlace, Verdict
from storscope.domain.verdict_answer import answer, counted_outcomes

_COLOURS = {Severity.CRITICAL: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_MAX_WIDTH = 110


def print_verdict(
    verdict: Verdict, least: Severity, *, verbose: bool, is_kept: bool, has_load: bool = False
) -> None:  # fmt: skip
    """Headline, findings, what was healthy, what could not be evaluated; each note at its place.

    `has_load`: what was asked of volumes was measured, so that a design can be asked for the same.
    """
    shown = [finding for finding in verdict.findings if finding.severity >= least]
    _print_headline(verdict)
    _print_notes(verdict, NotePlace.FIRST)
    for number, finding in enumerate(shown, 1):
        print_finding(number, finding, verbose=verbose, zero_ns=verdict.zero_ns)
    hidden = len(verdict.findings) - len(shown)
    if hidden:
        said = "1 finding below --min-severity is" if hidden == 1 else f"{hidden} findings below --min-severity are"
        click.echo(f"\n{said} not shown.")
    _print_healthy(verdict)
    _print_not_evaluated(verdict.not_evaluated, verbose=verbose)
    _print_notes(verdict, NotePlace.LAST, *([NotePlace.DETAILS] if verbose else []))
    if not verbose and shown:
        click.echo(
            "\nMore: --verbose shows why, the innocent explanation and the evidence; --report FILE.html draws it."
        )
        if has_load:
            click.echo("Next: storscope workload derive makes a workload of what was measured, for storscope simulate.")
    if not is_kept:
        click.echo("The evidence was not kept; add --store DIR to query it afterwards.")


def _print_notes(verdict: Verdict, *places: NotePlace) -> None:
    for note in verdict.provenance.notes:
        if note.place in places:
            _wrapped(f"note: {note.words}", indent="")


def _print_headline(verdict: Verdict) -> None:
    captures = len(verdict.provenance.captures)
    worst = verdict.findings[0].severity if verdict.findings else None
    colour = _COLOURS[worst] if worst else "green" if verdict.is_healthy else "yellow"
    click.secho(harmless(answer(verdict)), fg=colour, bold=True)
    if verdict.healthy and not verdict.findings and not verdict.is_healthy:
        _print_latency_needs(verdict)
    said = counted_outcomes(verdict)
    period = _period(verdict.start_ns, verdict.end_ns, verdict.zero_ns) if verdict.start_ns else "no times"
    click.echo(f"{said}; {captures} capture{'' if captures == 1 else 's'}, {period}")
    runs = sum(_rows_of("runs", capture) for capture in verdict.provenance.captures)
    if runs and not verdict.findings and not verdict.healthy:
        _wrapped(
            f"It holds {runs:,} benchmark run{'' if runs == 1 else 's'}: the rules ask what storage does for its "
            "users, a benchmark what it can do. How two of them differ says: storscope compare BEFORE AFTER; --report "
            "FILE.html draws them.",
            indent="",
        )


def _print_latency_needs(verdict: Verdict) -> None:
    if verdict.latency_needs:
        _wrapped(f"To judge it takes {verdict.latency_needs.removeprefix('needs ')}.", indent="")


def _rows_of(table: str, capture: Mapping[str, object]) -> int:
    counts: Any = capture.get("row_counts") or ()
    return int(dict(counts).get(table, 0))


def _period(start_ns: int | None, end_ns: int | None, zero_ns: int | None) -> str:
    """From when to when; what is no longer than its words can tell is an instant."""
    start, end = format_time(start_ns, zero_ns), format_time(end_ns, zero_ns)
    return start if start == end else f"{start} to {end}"


def print_finding(number: int, finding: Finding, *, verbose: bool, zero_ns: int | None = None) -> None:
    """One finding as a numbered paragraph. Times are told since `zero_ns`, where a virtual clock began."""
    click.echo()
    word = click.style(finding.severity.word.upper(), fg=_COLOURS[finding.severity], bold=True)
    title = click.style(harmless(finding.title), bold=True)
    click.echo(f"{number}. {word}  {title}  ({finding.rule}, confidence {format_ratio(finding.confidence)})")
    if finding.start_ns is not None:
        click.echo(f"   {_period(finding.start_ns, finding.end_ns, zero_ns)}")
    _wrapped(finding.summary)
    if verbose:
        _labelled("Why", finding.why)
        _labelled("Innocent if", finding.innocent)
    _labelled("Decide by", finding.check)
    _labelled("Remedy", finding.remedy)
    if verbose:
        _labelled("Threshold", finding.source)
        for rows in finding.evidence:
            print_evidence(rows, zero_ns)


def _print_healthy(verdict: Verdict) -> None:
    if verdict.healthy:
        click.echo()
        click.secho("Healthy", fg="green", bold=True)
        for item in verdict.healthy:
            _wrapped(f"✓ {item.statement}", indent="  ", following="    ")


def _print_not_evaluated(items: Sequence[NotEvaluated], *, verbose: bool) -> None:
    if not items:
        return
    click.echo()
    click.secho("Not evaluated", bold=True)
    needs: dict[str, list[str]] = defaultdict(list)
    for item in items:
        needs[item.needs].append(item.rule)
    if not verbose and len(needs) > 4:
        names = ", ".join(dict.fromkeys(item.rule for item in items))
        _wrapped(f"– {names} (--verbose says what each needs)", indent="  ", following="    ")
        return
    for need, rules in needs.items():
        _wrapped(f"– {', '.join(dict.fromkeys(rules))}: needs {need.removeprefix('needs ')}", indent="  ",
                 following="    ")  # fmt: skip


def _labelled(label: str, text: str) -> None:
    head = f"   {label}: "
    _wrapped(text, indent=head, following=" " * 6)


def _wrapped(text: str, indent: str = "   ", following: str | None = None) -> None:
    width = min(_MAX_WIDTH, shutil.get_terminal_size((100, 24)).columns)
    lines = textwrap.wrap(
        harmless(text), width, initial_indent=indent, subsequent_indent=indent if following is None else following,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    click.echo("\n".join(lines))
