"""What an import did, for a person and for a machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from storscope.cli.text_table import harmless, harmless_lines
from storscope.domain.units import format_count
from storscope.workbench.import_summary import Imported, ImportSummary, Skipped

_ROWS_WORTH_NAMING = ("observations", "series", "histograms", "events", "facts", "runs")


def print_import(summary: ImportSummary, store: Path | None) -> None:
    """What was read, what was there already, what was skipped and why, with counts; failures go to standard error."""
    for item in summary.imported:
        click.echo(f"read     {harmless(item.name)}  {click.style(item.format, bold=True)}: {_rows(item)}")
        if item.clock:
            click.echo(harmless(f"         clock: {item.clock}"))
        for reason, count in sorted(item.omitted.items()):
            click.echo(harmless(f"         left out {format_count(count)}: {reason}"))
        for warning in item.warnings:
            click.secho(harmless(f"         note: {warning}"), fg="yellow")
    for known in summary.known:
        click.echo(f"known    {harmless(known.name)}: the store has this content as capture {known.capture}")
        if known.read_otherwise:
            click.secho("         note: it was imported with other options; --replace reads it anew", fg="yellow")
    for skipped in summary.skipped:
        if skipped.is_error:
            click.secho(f"FAILED   {_name_and_reason(skipped)}", fg="red", err=True)
        else:
            click.echo(f"skipped  {_name_and_reason(skipped)}")
    failed = len(summary.failures)
    counts = f"{len(summary.imported)} read, {len(summary.known)} known, {len(summary.skipped) - failed} skipped"
    click.echo(counts + (f", {failed} FAILED" if failed else "") + (f"; store: {store}" if store else ""))


def summary_to_json(summary: ImportSummary) -> dict[str, Any]:
    """The summary as plain JSON values."""
    return {
        "imported": [
            {
                "name": item.name,
                "capture": item.capture,
                "format": item.format,
                "rows": dict(item.rows),
                "left_out": dict(item.omitted),
                "warnings": list(item.warnings),
                "clock": item.clock,
            }
            for item in summary.imported
        ],
        "known": [
            {"name": item.name, "capture": item.capture, "read_otherwise": item.read_otherwise}
            for item in summary.known
        ],
        "skipped": [{"name": item.name, "reason": item.reason, "is_error": item.is_error} for item in summary.skipped],
    }


def _rows(item: Imported) -> str:
    return ", ".join(f"{format_count(item.rows[name])} {name}" for name in _ROWS_WORTH_NAMING if item.rows[name])


def _without_name(reason: str, name: str) -> str:
    """The reason beside its file's name, which errors begin with: 'NAME: ...' and 'NAME, line 3: ...'."""
    return reason.removeprefix(f"{name}: ").removeprefix(f"{name}, ")


def _name_and_reason(skipped: Skipped) -> str:
    """A name may hold ends of lines, which would make lines of their own; a reason has lines on purpose."""
    return f"{harmless(skipped.name)}: {harmless_lines(_without_name(skipped.reason, skipped.name))}"


def print_problems(summary: ImportSummary, *, verbose: bool) -> None:
    """What a diagnosis should not pass over: failures always, what was skipped or doubted when asked; all on stderr."""
    for skipped in summary.skipped:
        if skipped.is_error or verbose:
            word = click.style("FAILED", fg="red") if skipped.is_error else "skipped"
            click.echo(f"{word} {_name_and_reason(skipped)}", err=True)
    if not verbose:
        _print_unrecognised(summary)
    for warning, names in _by_warning(summary).items():
        where = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        click.secho(harmless(f"note: {where}: {warning}"), fg="yellow", err=True)


_NAMED = 3


def _print_unrecognised(summary: ImportSummary) -> None:
    """Which files, where they are few; and why, where nothing else was read."""
    quiet = [skipped for skipped in summary.skipped if not skipped.is_error]
    if not quiet:
        return
    if not summary.imported and not summary.known:
        reasons: dict[str, list[str]] = {}
        for skipped in quiet:
            reasons.setdefault(_without_name(skipped.reason, skipped.name), []).append(skipped.name)
        for reason, names in reasons.items():
            more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
            click.echo(harmless(f"skipped {names[0]}{more}: {reason}"), err=True)
        return
    were = "1 file was" if len(quiet) == 1 else f"{len(quiet)} files were"
    if len(quiet) <= _NAMED:
        found = harmless(", ".join(skipped.name for skipped in quiet))
        click.echo(f"{were} not recognised as evidence (--verbose says why): {found}", err=True)
    else:
        click.echo(f"{were} not recognised as evidence (--verbose names them)", err=True)


def _by_warning(summary: ImportSummary) -> dict[str, list[str]]:
    """Warning -> the files it is about."""
    found: dict[str, list[str]] = {}
    for item in summary.imported:
        for warning in item.warnings:
            found.setdefault(warning, []).append(item.name)
    return found
