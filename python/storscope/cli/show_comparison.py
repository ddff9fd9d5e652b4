"""A comparison on a terminal: the answer first, then the table before / after, then what to beware of."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import click

from storscope.cli.text_table import harmless
from storscope.domain.comparison import Comparison, Outcome, PairResult
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
    reasons_told,
)
from storscope.domain.comparison_words import (
    basis,
    chance,
    change,
    has_barred,
    interval,
    interval_off_by,
    name_of,
    predicted_and_measured,
    side_names,
    side_words,
    values,
    verdict,
    verdict_of_prediction,
)
from storscope.domain.units import format_count

if TYPE_CHECKING:
    from rich.table import Table

_COLOURS: Final = {Outcome.BETTER: "green", Outcome.WORSE: "red", Outcome.SAME: "cyan", Outcome.UNDECIDED: "yellow"}
_MAX_WIDTH = 118
_NAME_WIDTH = 22
_UNMATCHED_SHOWN = 8
_NAMES_SHOWN = 3


def print_comparison(comparison: Comparison, *, verbose: bool) -> None:
    """Headline, sides, table, what made each row undecided, warnings, what has no partner."""
    _print_headline(comparison)
    sides = side_words(comparison)
    width = max(7, *map(len, sides))
    for word, side in zip(sides, (comparison.before, comparison.after), strict=True):
        counted = _counted(side.subjects, "run" if comparison.of_runs else "entity", comparison.of_runs)
        click.echo(f"{word:<{width}} {harmless(side.source)}: {counted}")
        for name in _shown_names(side_names(side)):
            _wrapped(name, None, " " * 8)
    if comparison.pairs:
        click.echo()
        _print_table(comparison)
        _print_reasons(comparison)
        for words in advice(comparison):
            _wrapped(words)
    _print_said("warning", ((warning, pair.name) for pair in comparison.pairs for warning in pair.warnings), "red")
    told = [pair for pair in comparison.pairs if verbose or not pair.rows]  # notes say why nothing was compared
    always = [(*pair.pairing, *pair.missing) for pair in comparison.pairs]
    notes = [
        (note, pair)
        for pair, own in zip(comparison.pairs, always, strict=True)
        for note in (pair.notes if pair in told else own)
    ]
    _print_said("note", ((note, pair.name) for note, pair in notes), None)
    if verbose:
        for words in (*distributions_told(comparison.pairs), *methods_told(comparison)):
            _wrapped(words)
    _print_unmatched(comparison, verbose=verbose)
    for note in comparison.notes:
        _wrapped(f"note: {note}")
    if any(len(pair.notes) > len(own) for pair, own in zip(comparison.pairs, always, strict=True) if pair not in told):
        click.echo("More: --verbose shows all notes and how each interval came about.")


def _shown_names(names: Sequence[str]) -> list[str]:
    rest = [f"and {format_count(len(names) - _NAMES_SHOWN)} more"] if len(names) > _NAMES_SHOWN else []
    return [*names[:_NAMES_SHOWN], *rest]


def _counted(count: int, one: str, is_regular: bool) -> str:
    plural = f"{one}s" if is_regular else "entities"
    return f"{format_count(count)} {one if count == 1 else plural}"


# Headline -------------------------------------------------------------------------------------------------------------


def _print_headline(comparison: Comparison) -> None:
    if is_judged(comparison):
        word, outcome = answer(comparison)
        click.secho(harmless(word), fg=_COLOURS[outcome], bold=True)
    if counts := counted_outcomes(comparison):
        click.echo(counts)
    if said := predictions_off_by(comparison):
        click.secho(f"PREDICTION: {harmless(said)}", bold=True)
        _wrapped(OFF_BY)


# Table ----------------------------------------------------------------------------------------------------------------


def _print_table(comparison: Comparison) -> None:
    from rich.console import Console

    width = min(_MAX_WIDTH, shutil.get_terminal_size((_MAX_WIDTH, 24)).columns)
    judged = [pair for pair in comparison.pairs if not pair.predicted]
    predicted = [pair for pair in comparison.pairs if pair.predicted]
    for pairs, table in ((judged, _table), (predicted, _table_of_predictions)):
        if pairs:
            console = Console(width=width, highlight=False)
            with console.capture() as captured:  # rich would end the program where a reader has had enough
                console.print(table(pairs, comparison.of_runs))
            click.echo(captured.get(), nl=False)


def _table(pairs: Sequence[PairResult], of_runs: bool) -> Table:
    from rich.text import Text

    has_interval = any(row.p_value is not None for pair in pairs for row in pair.rows)
    heads = ("before", "after", "change", *(("interval", "by chance") if has_interval else ()))
    table = _empty_table(pairs, of_runs, heads)
    table.add_column("verdict", no_wrap=True)
    for pair in pairs:
        for about, row in zip(_beside(_about(pair), len(pair.rows)), pair.rows, strict=True):
            cells = [about, row.metric, *values(row), change(row.change)]
            cells += [interval(row), chance(row.p_value)] if has_interval else []
            colour = _COLOURS[row.outcome] if row.outcome else "dim"
            table.add_row(*(Text(cell) for cell in cells), Text(verdict(row), style=colour))
        table.add_section()
    return table


def _table_of_predictions(pairs: Sequence[PairResult], of_runs: bool) -> Table:
    """Nothing here is better or worse: a model is near or far."""
    from rich.text import Text

    has_interval = any(row.p_value is not None for pair in pairs for row in pair.rows)
    heads = ("predicted", "measured", "off by", *(("interval",) if has_interval else ()))
    table = _empty_table(pairs, of_runs, heads)
    is_marked = has_barred(pairs)
    if is_marked:
        table.add_column("verdict", no_wrap=True)
    for pair in pairs:
        for about, row in zip(_beside(_about(pair), len(pair.rows)), pair.rows, strict=True):
            cells = [about, row.metric, *predicted_and_measured(pair, row), change(row.off_by)]
            cells += [interval_off_by(row)] if has_interval else []
            colour = _COLOURS[row.outcome] if row.outcome else "dim"
            marks = [Text(verdict_of_prediction(row), style=colour)] if is_marked else []
            table.add_row(*(Text(cell) for cell in cells), *marks)
        table.add_section()
    return table


def _empty_table(pairs: Sequence[PairResult], of_runs: bool, heads: Sequence[str]) -> Table:
    from rich.table import Table

    table = Table(show_edge=False, header_style="bold", pad_edge=False, box=None, padding=(0, 2, 0, 0))
    names = max(len(line) for pair in pairs for line in _about(pair))
    first = "access specification" if of_runs else "entity"
    table.add_column(first, overflow="fold", min_width=min(_NAME_WIDTH, names), ratio=1)
    table.add_column("metric", no_wrap=True)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _about(pair: PairResult) -> list[str]:
    """Its name, and what its rows rest on."""
    return [harmless(name_of(pair)), *dict.fromkeys(f"  {basis(row)}" for row in pair.rows)]


def _beside(lines: Sequence[str], rows: int) -> list[str]:
    """The lines as cells of so many rows; what is left over goes into the last."""
    cells = [*lines[:rows], *[""] * (rows - len(lines))]
    return [*cells[:-1], "\n".join([cells[-1], *lines[rows:]])] if cells else []


# Beneath the table ----------------------------------------------------------------------------------------------------


def _print_reasons(comparison: Comparison) -> None:
    reasons = reasons_told(comparison)
    if reasons:
        click.echo()
    for words in reasons:
        _wrapped(words)


def _print_said(word: str, said: Iterable[tuple[str, str]], colour: str | None) -> None:
    for words in about_pairs(said):
        _wrapped(f"{word}: {words}", colour)


def _print_unmatched(comparison: Comparison, *, verbose: bool) -> None:
    if not comparison.unmatched:
        return
    click.echo()
    click.secho("Without a partner", bold=True)
    shown = comparison.unmatched if verbose else comparison.unmatched[:_UNMATCHED_SHOWN]
    for item in shown:
        _wrapped(f"– {item.name} ({item.side} only): {item.reason}", None, "  ")
    if len(shown) < len(comparison.unmatched):
        click.echo(f"  and {len(comparison.unmatched) - len(shown)} more (--verbose names them)")


def _wrapped(text: str, colour: str | None = None, indent: str = "") -> None:
    width = min(_MAX_WIDTH, shutil.get_terminal_size((_MAX_WIDTH, 24)).columns)
    lines = textwrap.wrap(
        harmless(text), width, initial_indent=indent, subsequent_indent=indent + "  ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    click.secho("\n".join(lines), fg=colour)
