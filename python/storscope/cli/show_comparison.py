"""A comparison on a terminal: the answer first, then the table before / after, then what to beware of."""

from __future__ import annotations

import shutil
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import click

from storscope.cli.comparison_cells import (
    basis,
    chance,
    change,
    interval,
    interval_off_by,
    name_of,
    predicted_and_measured,
    side_words,
    values,
    verdict,
)
from storscope.cli.text_table import harmless
from storscope.domain.comparison import NOT_THE_SAME_LOAD, PREDICTION, Comparison, Outcome, PairResult
from storscope.domain.units import format_count, format_ratio

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
    words = side_words(comparison)
    width = max(7, *map(len, words))
    for word, side in zip(words, (comparison.before, comparison.after), strict=True):
        counted = _counted(side.subjects, "run" if comparison.of_runs else "entity", comparison.of_runs)
        click.echo(f"{word:<{width}} {harmless(side.source)}: {counted}")
        for name in _shown_names(side.names):
            _wrapped(name, None, " " * 8)
    if comparison.pairs:
        click.echo()
        _print_table(comparison)
        _print_reasons(comparison)
        _print_advice(comparison)
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
        _print_distributions(comparison.pairs)
        _print_methods(comparison)
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
    judged = any(row.off_by is None or row.outcome for row in comparison.rows()) or not any(comparison.rows())
    if judged:
        word, colour = _verdict(comparison)
        click.secho(word, fg=colour, bold=True)
    counts = [f"{comparison.count(outcome)} {outcome.value}" for outcome in Outcome if comparison.count(outcome)]
    if counts:
        click.echo(
            f"{', '.join(counts)}; changes below {format_ratio(comparison.threshold)} do not count, intervals at "
            f"{format_ratio(comparison.level)}"
        )
    if said := _off_by(comparison):
        click.secho(f"PREDICTION: {said}", bold=True)
        _wrapped(
            "off by is predicted / measured − 1; a prediction is neither better nor worse, so --fail-on finds nothing "
            "in it"
        )


def _off_by(comparison: Comparison) -> str:
    """Of each prediction one figure: the rate where there is one, since latency then follows from it."""
    found = []
    for pair in comparison.pairs:
        rows = [row for row in pair.rows if row.off_by is not None and row.reason == PREDICTION]
        row = next((row for row in rows if row.metric == "iops"), rows[0] if rows else None)
        if row is not None:
            found.append(f"{row.metric} of {harmless(pair.name)} off by {change(row.off_by)}")
    rest = f" and {len(found) - _NAMES_SHOWN} more" if len(found) > _NAMES_SHOWN else ""
    return ", ".join(found[:_NAMES_SHOWN]) + rest


def _verdict(comparison: Comparison) -> tuple[str, str]:
    worse, better = (_named(comparison, outcome) for outcome in (Outcome.WORSE, Outcome.BETTER))
    if worse:
        return f"WORSE: {worse}", "red"
    if better:
        return f"BETTER: {better}", "green"
    if not comparison.pairs:
        return "CANNOT TELL: nothing on one side belongs to something on the other.", "yellow"
    if comparison.count(Outcome.SAME) and not comparison.count(Outcome.UNDECIDED):
        return "NO DIFFERENCE SHOWN.", "cyan"
    if comparison.count(Outcome.SAME):
        return "NO DIFFERENCE SHOWN where the evidence is enough; the rest cannot be told.", "yellow"
    reasons = {row.reason for row in comparison.rows() if row.outcome is Outcome.UNDECIDED}
    if not any(comparison.rows()):
        reasons = {"no figure that was looked for can be compared"}
    elif not reasons and comparison.pairs and all(row.better is None for row in comparison.rows()):
        reasons = {"only figures of the load were compared, which are neither better nor worse"}
    return f"CANNOT TELL{': ' + reasons.pop() if len(reasons) == 1 else ''}.", "yellow"


def _named(comparison: Comparison, outcome: Outcome) -> str:
    found = [
        f"{row.metric} of {harmless(pair.name)} {change(row.change)}"
        for pair in comparison.pairs
        for row in pair.rows
        if row.outcome is outcome
    ]
    rest = f" and {len(found) - _NAMES_SHOWN} more" if len(found) > _NAMES_SHOWN else ""
    return ", ".join(found[:_NAMES_SHOWN]) + rest


# Table ----------------------------------------------------------------------------------------------------------------


def _print_table(comparison: Comparison) -> None:
    from rich.console import Console

    width = min(_MAX_WIDTH, shutil.get_terminal_size((_MAX_WIDTH, 24)).columns)
    judged = [pair for pair in comparison.pairs if not pair.predicted]
    predicted = [pair for pair in comparison.pairs if pair.predicted]
    for pairs, table in ((judged, _table), (predicted, _table_of_predictions)):
        if pairs:
            Console(width=width, highlight=False).print(table(pairs, comparison.of_runs))


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
    for pair in pairs:
        for about, row in zip(_beside(_about(pair), len(pair.rows)), pair.rows, strict=True):
            cells = [about, row.metric, *predicted_and_measured(pair, row), change(row.off_by)]
            table.add_row(*(Text(cell) for cell in cells + ([interval_off_by(row)] if has_interval else [])))
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
    return [name_of(pair), *dict.fromkeys(f"  {basis(row)}" for row in pair.rows)]


def _beside(lines: Sequence[str], rows: int) -> list[str]:
    """The lines as cells of so many rows; what is left over goes into the last."""
    cells = [*lines[:rows], *[""] * (rows - len(lines))]
    return [*cells[:-1], "\n".join([cells[-1], *lines[rows:]])] if cells else []


_FOUND: Final = (Outcome.BETTER, Outcome.WORSE)
_WITHIN_A_RUN: Final = ("series", "own", "bucket-series")
"""Methods whose intervals are from within one run a side."""
# Beneath the table ----------------------------------------------------------------------------------------------------


def _print_reasons(comparison: Comparison) -> None:
    """Why rows are undecided or not shown to differ, rows of one reason together."""
    reasons: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for pair in comparison.pairs:
        for row in pair.rows:
            if row.outcome in (Outcome.UNDECIDED, Outcome.SAME) and row.reason:
                reasons[row.outcome.value, row.reason][harmless(pair.name)].append(row.metric)
    if reasons:
        click.echo()
    for (outcome, reason), rows in reasons.items():
        about = f" ({_rows(rows)})" if len(reasons) > 1 else ""
        _wrapped(f"{outcome}: {reason}{about}")


def _rows(rows: dict[str, list[str]]) -> str:
    """'latency, iops of A; p99 of B', cut after a few."""
    said = [f"{', '.join(metrics)} of {name}" for name, metrics in rows.items()]
    rest = f"; and {len(said) - _NAMES_SHOWN} more" if len(said) > _NAMES_SHOWN else ""
    return "; ".join(said[:_NAMES_SHOWN]) + rest


def _print_advice(comparison: Comparison) -> None:
    unknown = any(
        pair.is_comparable and row.outcome is Outcome.UNDECIDED and row.method in ("none", "buckets")
        for pair in comparison.pairs
        if len(pair.runs_before) == len(pair.runs_after) == 1  # more that agree to the last digit need no more of them
        for row in pair.rows
    )
    if not comparison.of_runs:
        return
    if any(row.reason == NOT_THE_SAME_LOAD for row in comparison.rows()):
        _wrapped("What was driven differently is not judged: --allow-different-load judges it as it is.")
    if unknown:
        _wrapped(
            "To know what chance can do: three or more runs a side, best taken in turn (A B A B A B), or results per "
            "interval (fio --status-interval=1)."
        )
    elif any(row.outcome in _FOUND and row.method in _WITHIN_A_RUN for row in comparison.rows()):
        _wrapped(
            "The intervals are from one run a side and do not know how much runs differ: before you rely on a change, "
            "three or more runs a side, best taken in turn (A B A B A B)."
        )


def _print_said(word: str, said: Iterable[tuple[str, str]], colour: str | None) -> None:
    """Sentences with the pairs they are about; one that is about several is printed once."""
    about: dict[str, list[str]] = {}
    for sentence, name in said:
        about.setdefault(sentence, []).append(harmless(name))
    for sentence, names in about.items():
        rest = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        between = "; " if any(", " in name for name in names) else ", "
        _wrapped(f"{word}: {between.join(names[:_NAMES_SHOWN])}{rest}: {sentence}", colour)


def _print_distributions(pairs: Sequence[PairResult]) -> None:
    for pair in pairs:
        if pair.distribution is not None:
            _wrapped(
                f"latencies of {harmless(pair.name)}: an I/O after takes longer than one before in "
                f"{format_ratio(pair.distribution.probability_slower)} of random pairs (Mann-Whitney, by chance "
                f"{chance(pair.distribution.p_value)} if I/Os were independent, which they are not)"
            )


_METHODS: Final = {
    "series": "intervals: blocks of neighbouring intervals are resampled, so that their correlation counts",
    "runs": "runs: Welch's test on the means of the runs",
    "own": "what each run says of itself, from samples of an eighth of a second; Welch's test",
    "couples": "runs in turn: the paired test on couples of runs next to each other",
    "buckets": "I/Os without order: counts resampled as if I/Os were independent; too narrow where they cluster",
    "bucket-series": "I/Os per interval: blocks of intervals are resampled; bounds are edges of buckets",
}


def _print_methods(comparison: Comparison) -> None:
    used = {row.method for row in comparison.rows()}
    for method, words in _METHODS.items():
        if method in used:
            _wrapped(f"interval from {words}.")
    if len(comparison.pairs) > 1 and any(row.p_value is not None for row in comparison.rows()):
        _wrapped(
            f"A verdict takes into account that each metric is compared {len(comparison.pairs)} times (Holm); the "
            "column 'by chance' is of the row alone."
        )


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
