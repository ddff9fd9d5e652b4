"""Tables and sentences on a terminal, wrapped to its width.

A table has a line of heads and columns two blanks apart; what is too wide is wrapped in its last column.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Collection, Sequence

import click

_INDENT, _GAP = "  ", "  "
_LEAST_WIDTH = 24
"""A last column that has less room is not wrapped."""
_UNLIMITED = 1 << 16
"""Where there is no terminal, lines are whole, for grep."""
_BEFORE_UNIT = re.compile(r"(?<=[0-9]) (?=[^ ])")


def table_lines(
    heads: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (0,), width: int | None = None
) -> list[str]:
    """The lines, that of the heads first; `left` are the columns that are set to the left, by number, -1 the last.

    With a width, a last column that is set to the left is wrapped to it.
    """
    rows = [[harmless(cell) for cell in row] for row in rows]
    columns = list(zip(heads, *rows, strict=True))
    lefts = {number % len(columns) for number in left}
    widths = [max(map(len, column)) for column in columns]
    before = len(_INDENT) + sum(widths[:-1]) + len(_GAP) * (len(columns) - 1)
    room = None if width is None or len(columns) - 1 not in lefts else width - before
    lines = []
    for row in (heads, *rows):
        cells = [
            cell.ljust(widths[number]) if number in lefts else cell.rjust(widths[number])
            for number, cell in enumerate(row[:-1])
        ]
        last = _wrapped(row[-1], room) if len(columns) - 1 in lefts else [row[-1].rjust(widths[-1])]
        lines.append((_INDENT + _GAP.join([*cells, last[0]])).rstrip())
        lines += [" " * before + more for more in last[1:]]
    return lines


def print_table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (0,), below: str = ""
) -> None:  # fmt: skip
    """With its title in bold, a sentence `below` and an empty line; nothing without rows. Empty heads are left out."""
    if not rows:
        return
    click.secho(title, bold=True)
    head, *lines = table_lines(heads, rows, left, terminal_width())
    if head:
        click.secho(head, dim=True)
    for line in lines:
        click.echo(line)
    if below:
        print_sentences(below, _INDENT)
    click.echo()


def print_sentences(text: str, indent: str = "", colour: str | None = None) -> None:
    """Wrapped; without an indent, lines after the first begin a little further in."""
    first, *others = _wrapped(harmless(text), terminal_width() - len(indent or _INDENT))
    for line in (indent + first, *((indent or _INDENT) + other for other in others)):
        click.secho(line, fg=colour)


def harmless(text: str) -> str:
    """Without control characters: text of a file is data, not commands to a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def harmless_lines(text: str) -> str:
    """The same, of a text that has lines on purpose."""
    return "\n".join(map(harmless, text.split("\n")))


def terminal_width() -> int:
    """In characters; very many where there is no terminal."""
    return shutil.get_terminal_size((_UNLIMITED, 0)).columns


def _wrapped(cell: str, room: int | None) -> list[str]:
    """At blanks, but for one between a number and its unit."""
    if room is None or room < _LEAST_WIDTH:
        return [cell]
    return lines_within(cell, room, _BEFORE_UNIT) or [""]


def lines_within(text: str, width: int, kept: re.Pattern[str], indent: str = "", further: str = "") -> list[str]:
    """At blanks, but for those that `kept` finds; the first line is indented by `indent`, the others by `further`.

    A word that is wider than `width`, in characters, stays whole.
    """
    lines = textwrap.wrap(
        kept.sub("\u00a0", text), width, initial_indent=indent, subsequent_indent=further, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return [line.replace("\u00a0", " ") for line in lines]
