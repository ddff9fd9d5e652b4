"""The figures of a comparison on a terminal: a table where it fits, else two lines a figure, so that nothing is cut."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from storscope.cli.text_table import harmless
from storscope.domain.comparison import MetricRow, Outcome, PairResult
from storscope.domain.comparison_words import (
    basis,
    chance,
    change,
    has_barred,
    interval,
    interval_off_by,
    name_of,
    predicted_and_measured,
    values,
    verdict,
    verdict_of_prediction,
)

if TYPE_CHECKING:
    from rich.table import Table

COLOURS: Final = {Outcome.BETTER: "green", Outcome.WORSE: "red", Outcome.SAME: "cyan", Outcome.UNDECIDED: "yellow"}
_NAME_WIDTH: Final = 22
"""In letters: longer names may be folded to this."""
_GAP: Final = 2
_FIGURES: Final = 3
"""Before, after and change, or their like; the other cells tell how sure the change is."""
_INSIDE_A_CELL: Final = re.compile(r"(?<=\S) (?=\S)")


@dataclass(frozen=True)
class Line:
    """A figure as text."""

    metric: str
    cells: Sequence[str]
    verdict: str | None
    """None where no figure of the grid has one."""
    colour: str


@dataclass(frozen=True)
class Grid:
    """Figures that have the same columns."""

    first: str
    """What the pairs are: 'entity'."""
    heads: Sequence[str]
    """Of the cells of a line."""
    pairs: Sequence[tuple[Sequence[str], Sequence[Line]]]
    """What a pair is called and rests on, with its figures; no pair is without one."""

    @property
    def lines(self) -> list[Line]:
        """Of all pairs."""
        return [line for _, lines in self.pairs for line in lines]

    @property
    def has_verdict(self) -> bool:
        """Whether there is a column for it."""
        return any(line.verdict is not None for line in self.lines)

    def names_width(self) -> int:
        """Letters that the first column needs at least."""
        names = max(len(name) for names, _ in self.pairs for name in names)
        return max(len(self.first), min(_NAME_WIDTH, names))

    def width(self) -> int:
        """Letters that the table needs at least."""
        columns = [["metric", *(line.metric for line in self.lines)]]
        columns += [[head, *(line.cells[number] for line in self.lines)] for number, head in enumerate(self.heads)]
        columns += [["verdict", *(line.verdict or "" for line in self.lines)]] if self.has_verdict else []
        return self.names_width() + sum(_GAP + max(map(len, column)) for column in columns)


def grid_of_judged(pairs: Sequence[PairResult], of_runs: bool) -> Grid:
    """What is better or worse, with how likely chance alone gives as much."""
    is_told = _has_interval(pairs)

    def line(_: PairResult, row: MetricRow) -> Line:
        more = [interval(row), chance(row.p_value)] if is_told else []
        return Line(row.metric, [*values(row), change(row.change), *more], verdict(row), _colour(row))

    return _grid(pairs, of_runs, ["before", "after", "change", *(["interval", "by chance"] if is_told else [])], line)


def grid_of_predictions(pairs: Sequence[PairResult], of_runs: bool) -> Grid:
    """Nothing here is better or worse: a model is near or far."""
    is_told, is_marked = _has_interval(pairs), has_barred(pairs)

    def line(pair: PairResult, row: MetricRow) -> Line:
        cells = [*predicted_and_measured(pair, row), change(row.off_by), *([interval_off_by(row)] if is_told else [])]
        return Line(row.metric, cells, verdict_of_prediction(row) if is_marked else None, _colour(row))

    return _grid(pairs, of_runs, ["predicted", "measured", "off by", *(["interval"] if is_told else [])], line)


def _grid(
    pairs: Sequence[PairResult], of_runs: bool, heads: Sequence[str], line: Callable[[PairResult, MetricRow], Line]
) -> Grid:
    first = "access specification" if of_runs else "entity"
    return Grid(first, heads, [(_about(pair), [line(pair, row) for row in pair.rows]) for pair in pairs if pair.rows])


def _has_interval(pairs: Sequence[PairResult]) -> bool:
    return any(row.p_value is not None for pair in pairs for row in pair.rows)


def _about(pair: PairResult) -> list[str]:
    """Its name, and what its rows rest on."""
    return [harmless(name_of(pair)), *dict.fromkeys(f"  {basis(row)}" for row in pair.rows)]


def _colour(row: MetricRow) -> str:
    return COLOURS[row.outcome] if row.outcome else "dim"


def print_grid(grid: Grid, width: int) -> None:
    """Within so many letters; nothing where there is no figure."""
    if not grid.pairs:
        return
    if grid.width() > width:
        _print_narrow(grid, width)
        return
    from rich.console import Console

    console = Console(width=width, highlight=False)
    with console.capture() as captured:  # rich would end the program where a reader has had enough
        console.print(_table(grid))
    click.echo(captured.get(), nl=False)


# Wide -----------------------------------------------------------------------------------------------------------------


def _table(grid: Grid) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_edge=False, header_style="bold", pad_edge=False, box=None, padding=(0, _GAP, 0, 0))
    table.add_column(grid.first, overflow="fold", min_width=grid.names_width(), ratio=1)
    table.add_column("metric", no_wrap=True)
    for head in grid.heads:
        table.add_column(head, justify="right", no_wrap=True)
    if grid.has_verdict:
        table.add_column("verdict", no_wrap=True)
    for names, lines in grid.pairs:
        for about, line in zip(_beside(names, len(lines)), lines, strict=True):
            marks = [] if line.verdict is None else [Text(line.verdict, style=line.colour)]
            table.add_row(*(Text(cell) for cell in (about, line.metric, *line.cells)), *marks)
        table.add_section()
    return table


def _beside(names: Sequence[str], rows: int) -> list[str]:
    """The names as cells of so many rows; what is left over goes into the last."""
    cells = [*names[:rows], *[""] * (rows - len(names))]
    return [*cells[:-1], "\n".join([cells[-1], *names[rows:]])]


# Narrow ---------------------------------------------------------------------------------------------------------------


def _print_narrow(grid: Grid, width: int) -> None:
    """What a pair is called on lines of its own; of each figure the numbers, beneath them what is to be held of it."""
    heads, more = ["metric", *grid.heads[:_FIGURES]], grid.heads[_FIGURES:]
    rows = [[line.metric, *line.cells[:_FIGURES]] for line in grid.lines]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for text in _wrapped(_aligned(heads, widths), "  ", width):
        click.secho(text, bold=True)
    for names, lines in grid.pairs:
        for name in names:
            click.echo("\n".join(textwrap.wrap(name, width, subsequent_indent="    ")))
        for line in lines:
            for text in _wrapped(_aligned([line.metric, *line.cells[:_FIGURES]], widths), "  ", width):
                click.echo(text)
            told = [f"{head} {cell}" for head, cell in zip(more, line.cells[_FIGURES:], strict=True)]
            for text in _wrapped("  ".join([*([line.verdict] if line.verdict else []), *told]), "      ", width):
                click.secho(text, fg=None if line.colour == "dim" else line.colour, dim=line.colour == "dim")


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return (" " * _GAP).join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    """Between cells, which are two blanks apart or more, and never inside of one."""
    joined = _INSIDE_A_CELL.sub("\u00a0", text)
    lines = textwrap.wrap(
        joined, width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return [line.replace("\u00a0", " ") for line in lines]
