"""What each stream did on each volume in each phase of a simulated run, as its host sees it.

Rates and latencies are of the whole intervals within a phase, since intervals are what streams are told apart in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from storscope.bench.figures import DIRECTIONS, FLUSHES
from storscope.workbench.simulation_figures import PhaseFigures

P99: Final = 0.99


@dataclass(frozen=True)
class CellFigures:
    """One phase of one stream on one volume, in one direction, or of its flushes."""

    rate_per_s: float | None
    mean_ns: float | None
    """Response; None without I/Os."""
    p99_ns: int | None


@dataclass(frozen=True)
class CellByPhase:
    """A stream on a volume in one direction, through all phases."""

    target: int
    """Index of the attachment."""
    stream: int
    direction: str
    ios: int
    phases: tuple[CellFigures | None, ...]
    """In the order of the phases; None of one that no whole interval lies in."""


def cells_by_phase(phases: Sequence[PhaseFigures]) -> list[CellByPhase]:
    """Those with I/Os in any phase, by volume, stream and direction. Nothing for a run without changes."""
    found: dict[tuple[int, int, str], tuple[int, dict[int, CellFigures]]] = {}
    for number, one in enumerate(phases):
        for cell in one.measured.cells if one.measured is not None else ():
            form = cell.form["cells"][0]
            for direction in (*DIRECTIONS, FLUSHES):
                own = cell.direction(direction)
                if not own.ios:
                    continue
                key = (form["target"], form["stream"], direction)
                ios, figures = found.get(key, (0, {}))
                shown = own.response
                figures[number] = CellFigures(cell.per_s(own.ios), shown.mean_ns, shown.quantile_ns(P99))
                found[key] = ios + own.ios, figures
    idle = [None if one.measured is None else CellFigures(0.0, None, None) for one in phases]
    return [
        CellByPhase(*key, ios, tuple(figures.get(number, idle[number]) for number in range(len(phases))))
        for key, (ios, figures) in sorted(found.items())
    ]


def busiest(cells: Sequence[CellByPhase], most: int) -> list[CellByPhase]:
    """As many as there are phases of at most `most` in, one at least; those with most I/Os, in their order."""
    if not cells:
        return []
    count = max(1, most // len(cells[0].phases))
    kept = {id(one) for one in sorted(cells, key=lambda one: -one.ios)[:count]}
    return [one for one in cells if id(one) in kept]
