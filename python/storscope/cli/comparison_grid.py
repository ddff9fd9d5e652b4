"""The figures of a comparison on a terminal: a table where it fits, else two lines a figure, so that nothing is cut."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from storscope.cli.comparison_figures import Grid, Line
from storscope.cli.text_table import lines_within
from storscope.domain.comparison import Outcome

if TYPE_CHECKING:
    from rich.table import Table

COLOURS: Final = {Outcome.BETTER: "green", Outcome.WORSE: "red", Outcome.SAME: "cyan", Outcome.UNDECIDED: "yellow"}
_NAME_WIDTH: Final = 22
"""In letters: longer names may be folded to this."""
_GAP: Final = 2
_FIGURES: Final = 3
"""Before, after and change, or their like; the other cells tell how sure the change is."""
_INSIDE_A_CELL: Final = re.compile(r"(?<=\S) (?=\S)")


def print_grid(grid: Grid, width: int) -> None:
    """Within so many letters; nothing where there is no figure."""
    if not grid.pairs:
        return
    if _width(grid) > width:
        _print_narrow(grid, width)
        return
    from rich.console import Console

    console = Console(width=width, highlight=False)
    with console.capture() as captured:  # rich would end the program where a reader has had enough
        console.print(_table(grid))
    click.echo(captured.get(), nl=False)


def _names_width(grid: Grid) -> int:
    """Letters that the first column needs at least."""
    names = max(len(name) for names, _ in grid.pairs for name in names)
    return max(len(grid.first), min(_NAME_WIDTH, names))


def _width(grid: Grid) -> int:
    """Letters that the table needs at least."""
    columns = [["metric", *(line.metric for line in grid.lines)]]
    columns += [[head, *(line.cells[number] for line in grid.lines)] for number, head in enumerate(grid.heads)]
    columns += [["verdict", *(line.verdict or "" for line in grid.lines)]] if grid.has_verdict else []
    return _names_width(grid) + sum(_GAP + max(map(len, column)) for column in columns)


def _style(line: Line) -> str:
    return COLOURS[line.outcome] if line.outcome else "dim"


# Wide -----------------------------------------------------------------------------------------------------------------


def _table(grid: Grid) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_edge=False, header_style="bold", pad_edge=False, box=None, padding=(0, _GAP, 0, 0))
    table.add_column(grid.first, overflow="fold", min_width=_names_width(grid), ratio=1)
    table.add_column("metric", no_wrap=True)
    for head in grid.heads:
        table.add_column(head, justify="right", no_wrap=True)
    if grid.has_verdict:
        table.add_column("verdict", no_wrap=True)
    for names, lines in grid.pairs:
        for about, line in zip(_beside(names, len(lines)), lines, strict=True):
            marks = [] if line.verdict is None else [Text(line.verdict, style=_style(line))]
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
                click.secho(text, fg=COLOURS[line.outcome] if line.outcome else None, dim=line.outcome is None)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return (" " * _GAP).join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    """Between cells, which are two blanks apart or more, and never inside of one."""
    return lines_within(text, width, _INSIDE_A_CELL, indent, f"{indent}  ")
