"""A comparison on a terminal: the answer first, then the table before / after, then what to beware of."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence

import click

from storscope.cli.comparison_figures import grid_of_judged, grid_of_predictions
from storscope.cli.comparison_grid import COLOURS, print_grid
from storscope.cli.text_table import harmless
from storscope.domain.comparison import Comparison
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
from storscope.domain.comparison_words import side_names, side_words
from storscope.domain.units import format_count

_MAX_WIDTH = 118
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
        _print_figures(comparison)
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
        click.secho(harmless(word), fg=COLOURS[outcome], bold=True)
    if counts := counted_outcomes(comparison):
        click.echo(counts)
    if said := predictions_off_by(comparison):
        click.secho(f"PREDICTION: {harmless(said)}", bold=True)
        _wrapped(OFF_BY)


# Figures ------------------------------------------------------------------------------------------------------------


def _print_figures(comparison: Comparison) -> None:
    judged = [pair for pair in comparison.pairs if not pair.predicted]
    predicted = [pair for pair in comparison.pairs if pair.predicted]
    for pairs, grid_of in ((judged, grid_of_judged), (predicted, grid_of_predictions)):
        print_grid(grid_of(pairs, comparison.of_runs), _width())


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


def _width() -> int:
    """In letters."""
    return min(_MAX_WIDTH, shutil.get_terminal_size((_MAX_WIDTH, 24)).columns)


def _wrapped(text: str, colour: str | None = None, indent: str = "") -> None:
    lines = textwrap.wrap(
        harmless(text), _width(), initial_indent=indent, subsequent_indent=indent + "  ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    click.secho("\n".join(lines), fg=colour)
