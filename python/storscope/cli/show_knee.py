"""Shows a search for the knee: a live line, then the curve, the visits and the answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.live_line import LiveLine
from storscope.cli.text_table import harmless
from storscope.domain.load_curve import SERVICE, LoadCurve, PointKind, Visit
from storscope.domain.load_curve_words import answers, left_out_words, shown_figures
from storscope.domain.units import format_duration, format_rate, format_span, format_time

if TYPE_CHECKING:
    from storscope.domain.knee_result import KneeResult

_WIDTH, _HEIGHT = 64, 14
_MARKS = {PointKind.VALID: "o", PointKind.OVERLOADED: "^", PointKind.INVALID: "?"}
_LATENCIES = 3
"""Light load is that many octaves below the top of the plot at least."""


class KneeLine(LiveLine):
    """The live line of a search: what is visited, and the latest visits' outcome."""

    def __init__(self, budget_ns: int) -> None:
        super().__init__(budget_ns)
        self._count, self._last = 0, ""

    def __enter__(self) -> KneeLine:
        return self

    def begin(self, rate_per_s: float | None, left_ns: int) -> None:
        """A visit starts."""
        self._count += 1
        what = "the workload as it is" if rate_per_s is None else format_rate(rate_per_s, "/s")
        self._draw(f"visit {self._count}: {what}, {format_span(left_ns)} left at most{self._last}")

    def end(self, visit: Visit) -> None:
        """It ended."""
        response = visit.figures_ns.get("mean")
        mean = format_duration(visit.figures_ns.get(SERVICE + "mean") if response is None else response)
        words = visit.kind.value if visit.kind is not PointKind.VALID else f"{mean} mean"
        self._last = f"; {format_rate(visit.offered_per_s, '/s')}: {words}"


def print_knee(found: KneeResult, store: Path) -> None:
    """The curve, the visits, the answers, and every doubt."""
    curve = found.curve
    through = "" if found.direct else ", through the page cache"
    click.secho(harmless(f"{found.name} on {found.target} ({found.target_kind}{through})"), bold=True)
    where = f" on {found.host}" if found.host else ""
    when = f", begun {format_time(found.started_ns)}" if found.started_ns is not None else ""
    visits = f"{len(curve.visits)} visits in {format_span(found.duration_ns)}"
    click.echo(f"{visits}{where}{when}, seed {found.seed}; {curve.ended}")
    for line in found.load_words:
        click.echo(harmless(f"  {line}"))
    click.echo()
    for line in plot(curve):
        click.echo(line)
    click.echo()
    for line in table(curve):
        click.echo(line)
    click.echo()
    for sentence in answers(curve):
        click.secho(sentence, bold=True)
    for doubt in found.doubts:
        click.secho(harmless(f"doubt: {doubt}"), fg="yellow")
    click.echo(f"\nIn the store {store} as {found.id}, each visit a run.", err=True)


# The visits -----------------------------------------------------------------------------------------------------------


def table(curve: LoadCurve) -> Iterator[str]:
    """A line for each visit, by load. Each column counts in one way: a star marks those from the submission."""
    columns = shown_figures(curve)
    heads = "".join(f"{_head(name):>12}" for name in columns)
    starred = any(name.startswith(SERVICE) for name in columns)
    yield f"{'offered/s':>11}{'achieved/s':>12}{heads}{'  * from the submission on' if starred else ''}"
    for place, visit in sorted(enumerate(curve.visits), key=lambda one: one[1].offered_per_s):
        cells = "".join(f"{_cell(visit, name):>12}" for name in columns)
        parts = [] if visit.kind is PointKind.VALID else [f"{visit.kind}: {visit.reason}"]
        why = "".join(f"  {part}" for part in [*parts, *left_out_words(curve, place, columns)])
        achieved = format_rate(visit.achieved_per_s, "").strip()
        yield f"{format_rate(visit.offered_per_s, '').strip():>11}{achieved:>12}{cells}{why}".rstrip()


def _head(name: str) -> str:
    return f"{name.removeprefix(SERVICE)}*" if name.startswith(SERVICE) else name


def _cell(visit: Visit, name: str) -> str:
    return ("> " if visit.kind is PointKind.OVERLOADED else "") + format_duration(visit.figures_ns.get(name))


# The plot -------------------------------------------------------------------------------------------------------------


def plot(curve: LoadCurve) -> Iterator[str]:
    """Mean latency (logarithmic) against load; its last line tells the marks."""
    figure = shown_figures(curve)[0]
    points = [(visit, latency) for visit in curve.visits if (latency := visit.figure_ns(figure))]
    if not points:
        return
    right = max(visit.offered_per_s for visit, _ in points) * 1.02
    lows = [latency for _, latency in points]
    bottom = math.log(min(lows))
    top = max(min(math.log(max(lows)), bottom + math.log(60)), bottom + _LATENCIES * math.log(2))
    grid = [[" "] * _WIDTH for _ in range(_HEIGHT)]

    def put(load: float, latency: float, mark: str) -> None:
        column = min(_WIDTH - 1, int(load / right * _WIDTH))
        row = round((math.log(latency) - bottom) / (top - bottom) * (_HEIGHT - 1))
        grid[_HEIGHT - 1 - min(_HEIGHT - 1, max(0, row))][column] = mark

    for load in _marked(curve):
        for row in grid:
            row[min(_WIDTH - 1, int(load / right * _WIDTH))] = "|"
    for load, latency in curve.fitted:
        if bottom <= math.log(latency) <= top:
            put(load, latency, ".")
    left_out = {place for place, _ in curve.knee.left_out}
    for place, visit in enumerate(curve.visits):
        if latency := visit.figure_ns(figure):
            put(visit.offered_per_s, latency, "x" if place in left_out else _MARKS[visit.kind])
    yield from _framed(grid, bottom, top, right)


def _marked(curve: LoadCurve) -> list[float]:
    crossings = [curve.knee, *([curve.within_objective] if curve.within_objective else [])]
    return [crossing.load_per_s.estimate for crossing in crossings if crossing.load_per_s is not None]


def _framed(grid: Sequence[Sequence[str]], bottom: float, top: float, right: float) -> Iterator[str]:
    yield f"{'mean':>9}"
    for index, row in enumerate(grid):
        share = 1 - index / (_HEIGHT - 1)
        label = format_duration(math.exp(bottom + share * (top - bottom))) if index % 4 == 0 else ""
        yield f"{label:>9} │{''.join(row)}".rstrip()
    yield f"{'':>9} └{'─' * _WIDTH}"
    end = format_rate(right, "arrivals/s")
    yield f"{'':>11}0{end:>{_WIDTH - 1}}"
    yield f"{'':>11}o visit  x left out of the curve  ^ overloaded (latency is a lower bound)  . fitted  | answer"


def knee_to_json(found: KneeResult) -> dict[str, Any]:
    """The result as plain JSON values; docs/bench-json.md has the fields."""
    return {
        "format": 1, "search": found.id, "capture": found.capture,
        "target": found.target, "target_kind": found.target_kind, "direct": found.direct,
        "seed": str(found.seed), "duration_ns": found.duration_ns,
        "workload": found.workload, "stream_shares": list(found.stream_shares),
        "max_outstanding": list(found.max_outstanding),
        "answers": list(answers(found.curve)), **found.curve.to_json(), "doubts": list(found.doubts),
    }  # fmt: skip
