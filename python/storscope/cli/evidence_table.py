"""The rows that a finding rests on, as a table that loses no column: what is too wide goes on below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from storscope.cli.text_table import harmless

if TYPE_CHECKING:
    from storscope.domain.finding import EvidenceRows

_ROWS_SHOWN = 8
_GAP = 2
_FOUR_DIGITS = 9999.5
"""From here on four digits would need an exponent."""
_REPEATED = 0.4
"""Share of the width that the columns may take which name a row and stand before each part of a table."""


def print_evidence(every: EvidenceRows, zero_ns: int | None = None) -> None:
    """The first rows, and the query that gives all. Instants are told since `zero_ns`, where a virtual clock began."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console, rows = Console(), every.without_unknown()
    shown = [[harmless(_words(cell, zero_ns)) for cell in row] for row in rows.rows[:_ROWS_SHOWN]]
    numeric = [
        all(isinstance(row[number], int | float | None) for row in rows.rows) for number in range(len(rows.columns))
    ]
    widths = [max(map(len, column)) for column in zip(rows.columns, *shown, strict=True)]
    click.echo()
    for part, numbers in enumerate(column_sets(widths, numeric, console.width)):
        title = Text(harmless(rows.caption)) if part == 0 else None
        table = Table(title=title, title_justify="left", show_edge=False, header_style="bold", pad_edge=False)
        for number in numbers:
            fits = widths[number] <= console.width
            justify = "right" if numeric[number] else "left"
            table.add_column(Text(rows.columns[number]), overflow="fold", no_wrap=fits, justify=justify)  # type: ignore[arg-type]
        for row in shown:
            table.add_row(*(Text(row[number]) for number in numbers))
        console.print(table)
    total = rows.total_rows or len(rows.rows)
    if total > _ROWS_SHOWN:
        click.echo(f"   {_ROWS_SHOWN} of {total:,} rows")
    if every.unknown_columns:
        click.echo(f"   not known of these: {', '.join(every.unknown_columns)}")
    click.echo(harmless(f"   SQL: {rows.query}"))


def column_sets(widths: Sequence[int], numeric: Sequence[bool], room: int) -> list[list[int]]:
    """Columns by number that stand side by side within `room`, every one whole; a column wider than that stands alone.

    The first columns of text, which name a row, are repeated in each part if they leave most of the room.
    """
    if _taken(widths) <= room:
        return [list(range(len(widths)))]
    leading = next((number for number, is_number in enumerate(numeric) if is_number), len(numeric))
    keys = list(range(min(leading, len(widths) - 1)))
    while keys and _taken([widths[key] for key in keys]) > _REPEATED * room:
        keys.pop()
    sets = [list(keys)]
    for number in range(len(keys), len(widths)):
        if len(sets[-1]) > len(keys) and _taken([widths[one] for one in (*sets[-1], number)]) > room:
            sets.append(list(keys))
        sets[-1].append(number)
    return sets


def _taken(widths: Sequence[int]) -> int:
    """With the rules between columns, and a blank on each side of them."""
    return sum(widths) + (_GAP + 1) * (len(widths) - 1)


def _words(cell: object, zero_ns: int | None) -> str:
    from storscope.domain.units import utc_text

    if isinstance(cell, str):
        return cell if zero_ns is None else utc_text(cell, zero_ns)
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:,.4g}" if abs(cell) < _FOUR_DIGITS else f"{cell:,.0f}"
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f"{cell:,}"
    return str(cell)
