"""Shows the queue of every drive over time: a line for a slice of time, a column for a drive or some neighbours."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from storscope.cli.standard_streams import is_terminal
from storscope.domain.units import NS_PER_MS, NS_PER_S, format_duration

if TYPE_CHECKING:
    from storscope.workbench.simulated import Simulated

_SHADES = " ·▁▂▃▄▅▆▇█"
_LINES, _STRETCH = 60, 10
"""Lines in all; of a long run in stretches of neighbours spread over it, so that what moves can be seen to move."""
_WATCHED_S = 8.0
"""How long it takes on a terminal."""
_MARGIN = 24
"""Columns beside the drives: the time and the sum."""
_LEAST_COLUMNS = 8
_BLANK = 0.005
"""So few requests are none, unless drives have so few that half a shade is less."""


@dataclass(frozen=True)
class Fold:
    """Which drives stand in each column; groups are apart."""

    columns: tuple[tuple[int, ...], ...]
    per_column: int
    groups: tuple[tuple[str, int, int], ...]
    """Name, drives, columns."""


def folded(groups: Sequence[tuple[str, int]], width: int) -> Fold:
    """As few drives a column as fit into `width`, for all groups alike. `groups` has their names and sizes.

    More groups than have room for a column each stand side by side as if they were one.
    """
    room = max(_LEAST_COLUMNS, width - len(groups) + 1)
    if len(groups) > room:
        groups, room = [(f"all {len(groups)} in a row", sum(count for _, count in groups))], max(_LEAST_COLUMNS, width)
    per_column = 1
    while sum(-(-count // per_column) for _, count in groups) > room and per_column < max(n for _, n in groups):
        per_column += 1
    columns: list[tuple[int, ...]] = []
    named = []
    first = 0
    for name, count in groups:
        own = [tuple(range(first + at, first + min(at + per_column, count))) for at in range(0, count, per_column)]
        columns += own
        named.append((name, count, len(own)))
        first += count
    return Fold(tuple(columns), per_column, tuple(named))


def chosen_slices(count: int) -> list[list[int]]:
    """Stretches of slices to show: all of few, else stretches of ten that begin at even distances over the run."""
    if count <= _LINES:
        return [list(range(count))] if count else []
    stretches = _LINES // _STRETCH
    last = count - _STRETCH
    starts = [round(number * last / (stretches - 1)) for number in range(stretches)]
    return [list(range(start, start + _STRETCH)) for start in starts]


def animate(simulated: Simulated, *, err: bool = False, width: int | None = None) -> None:
    """The whole run, or parts spread over it; in motion on a terminal. `err` writes to standard error."""
    queue = simulated.array["queue"]
    slices = list(zip(*queue["mean"], strict=True))
    stretches = chosen_slices(len(slices))
    if not stretches:
        click.echo("The run is shorter than a slice: there is nothing to animate. See --slice.", err=err)
        return
    fold = folded(_groups(simulated), (width or shutil.get_terminal_size().columns) - _MARGIN)
    rows = {place: _row(slices[place], fold) for stretch in stretches for place in stretch}
    top = max(max(values) for values in rows.values())
    spares = sum(one["is_spare"] for one in simulated.array["components"])
    for line in _legend(fold, top, _line_words(simulated), spares):
        click.echo(line, err=err)
    decimals = decimals_of(queue["slice_ns"])
    is_watched = is_terminal(sys.stderr if err else sys.stdout)
    pause_s = _WATCHED_S / len(rows) if is_watched else 0.0
    for number, stretch in enumerate(stretches):
        if number:
            click.echo(f"{'...':>10}", err=err)
        for place in stretch:
            at_s = (queue["start_ns"] + place * queue["slice_ns"]) / NS_PER_S
            click.echo(f"{at_s:9.{decimals}f} s {_bars(rows[place], fold, top)} {sum(slices[place]):.0f}", err=err)
            time.sleep(pause_s)
    rest_ns = simulated.judgement.to_ns - queue["start_ns"] - len(slices) * queue["slice_ns"]
    if rest_ns > 0:
        click.echo(f"The last {_length(rest_ns)} of the run are less than a line, and not shown.", err=err)


def decimals_of(slice_ns: int) -> int:
    """How many decimals of a second tell neighbouring slices apart: two, more for slices of less than 10 ms."""
    needed = math.ceil(math.log10(NS_PER_S / slice_ns))
    is_whole = slice_ns * 10 ** max(0, needed) % NS_PER_S == 0
    return max(2, needed if is_whole else needed + 1)


def _groups(simulated: Simulated) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for component in simulated.array["components"]:
        if component["kind"] == "drive":
            found[component["group"]] = found.get(component["group"], 0) + 1
    return list(found.items())


def _row(slice_: Sequence[float], fold: Fold) -> list[float]:
    """The fullest drive of each column: a mean would hide it."""
    return [max(slice_[drive] for drive in column) for column in fold.columns]


def _line_words(simulated: Simulated) -> str:
    """How long a line is, and why it is longer than a slice was to be."""
    plan, slice_ns = simulated.plan, simulated.array["queue"]["slice_ns"]
    if plan.slice_ns is None or slice_ns == plan.slice_ns:
        return _length(slice_ns)
    return f"{_length(slice_ns)}, joined from {_length(plan.slice_ns)}: a run keeps at most {plan.slices:,} slices"


def _length(ns: int) -> str:
    """A length, exactly where it is not short."""
    if ns >= NS_PER_S:
        return f"{ns / NS_PER_S:g} s"
    return f"{ns / NS_PER_MS:g} ms" if ns >= NS_PER_MS else format_duration(ns)


def _legend(fold: Fold, top: float, line: str, spares: int) -> list[str]:
    column = "a drive" if fold.per_column == 1 else f"{fold.per_column} drives, of which the fullest is shown"
    groups = ", ".join(f"{name} {count}" for name, count, _ in fold.groups) + (f" ({spares} spare)" if spares else "")
    steps = len(_SHADES) - 1
    marks = "  ".join(f"{_SHADES[step]} {_amount(top * step / steps)}" for step in range(1, steps + 1))
    return [
        click.style("\nrequests at each drive over time", bold=True),
        f"a column is {column}; a line is {line}; drives by group: {groups}; last in a line: all requests at drives",
        f"about so many at a drive: blank 0  {marks}",
    ]


def _amount(value: float) -> str:
    """Of hardly used drives with as many digits as tell one shade from the next."""
    if value < 1:
        return f"{value:.2g}"
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def _bars(values: Sequence[float], fold: Fold, top: float) -> str:
    shades = [_shade(value, top) for value in values]
    parts, first = [], 0
    for _, _, columns in fold.groups:
        parts.append("".join(shades[first : first + columns]))
        first += columns
    return f"│{'│'.join(parts)}│"


def _shade(value: float, top: float) -> str:
    steps = len(_SHADES) - 1
    if value <= min(_BLANK, top / steps / 2):
        return _SHADES[0]
    return _SHADES[max(1, round(value / top * steps))]
