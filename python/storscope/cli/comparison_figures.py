"""The figures of a comparison as text: the heads, and for each pair its lines. For a terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Line:
    """A figure as text."""

    metric: str
    cells: Sequence[str]
    verdict: str | None
    """None where no figure of the grid has one."""
    outcome: Outcome | None


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


def grid_of_judged(pairs: Sequence[PairResult], of_runs: bool) -> Grid:
    """What is better or worse, with how likely chance alone gives as much."""
    is_told = _has_interval(pairs)

    def line(_: PairResult, row: MetricRow) -> Line:
        more = [interval(row), chance(row.p_value)] if is_told else []
        return Line(row.metric, [*values(row), change(row.change), *more], verdict(row), row.outcome)

    return _grid(pairs, of_runs, ["before", "after", "change", *(["interval", "by chance"] if is_told else [])], line)


def grid_of_predictions(pairs: Sequence[PairResult], of_runs: bool) -> Grid:
    """Nothing here is better or worse: a model is near or far."""
    is_told, is_marked = _has_interval(pairs), has_barred(pairs)

    def line(pair: PairResult, row: MetricRow) -> Line:
        cells = [*predicted_and_measured(pair, row), change(row.off_by), *([interval_off_by(row)] if is_told else [])]
        return Line(row.metric, cells, verdict_of_prediction(row) if is_marked else None, row.outcome)

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
