"""The figures of a comparison as rows: the table before / after, and the forest, a bar for each interval around zero.

The forest has one scale for all rows, of ratios: half and twice lie equally far from no change. It is drawn with shares
of its width, so that it needs no script and fits any page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from storscope.domain.comparison import Comparison, MetricRow, Outcome, PairResult
from storscope.domain.comparison_words import (
    basis,
    chance,
    change,
    difference,
    has_barred,
    interval,
    interval_off_by,
    name_of,
    predicted_and_measured,
    values,
    verdict,
    verdict_of_prediction,
)
from storscope.domain.units import format_ratio

PREDICTED: Final = "predicted"
_TONES: Final = {
    Outcome.BETTER: "better",
    Outcome.WORSE: "worse",
    Outcome.SAME: "same",
    Outcome.UNDECIDED: "undecided",
    None: "load",
}
_LEAST_REACH: Final = math.log(1.1)
_FAR: Final = 3.0
"""Intervals that reach so many times farther than any figure are cut, with an arrow: they would squeeze the rest."""
_ROOM: Final = 1.06
_FINE: Final = (0.01, 0.02, 0.05, 0.1, 0.2)
_COARSE: Final = (-0.99, -0.9, -0.75, -0.5, -0.25, 0.0, 0.5, 1.0, 3.0, 9.0, 99.0)
_APART: Final = 0.14
"""Labels of the scale are at least this share of its width apart."""


@dataclass(frozen=True)
class TableRow:
    """A figure's cells."""

    metric: str
    cells: Sequence[str]
    verdict: str
    """Empty of a prediction, which has none."""
    tone: str


@dataclass(frozen=True)
class TablePart:
    """What belongs to one access specification or entity."""

    name: str
    basis: Sequence[str]
    rows: Sequence[TableRow]


@dataclass(frozen=True)
class Table:
    """The figures of what is judged, or of what is predicted."""

    title: str
    first: str
    heads: Sequence[str]
    parts: Sequence[TablePart]
    has_verdicts: bool


@dataclass(frozen=True)
class Bar:
    """A row of the forest; places are shares of its width, from 0 to 1."""

    name: str
    metric: str
    middle: float | None
    """None where the figure itself lies beyond the scale."""
    low: float | None
    high: float | None
    """Ends of the interval; None: there is none."""
    is_cut_low: bool
    is_cut_high: bool
    words: str
    """The change with its interval."""
    verdict: str
    tone: str

    @property
    def aria(self) -> str:
        """All of it, for who does not see it."""
        return f"{self.metric} of {self.name}: {self.words}, {self.verdict}"


@dataclass(frozen=True)
class Forest:
    """The bars, and the scale that they share."""

    bars: Sequence[Bar]
    ticks: Sequence[tuple[float, str]]
    band: tuple[float, float]
    """Of changes that are too small to count."""
    of_predictions: bool

    @property
    def zero(self) -> float:
        """Where nothing differs."""
        return 0.5

    @property
    def tones(self) -> list[tuple[str, str]]:
        """Tones with their words, as they occur."""
        return list(dict.fromkeys((bar.tone, bar.verdict) for bar in self.bars))


def tables_of(comparison: Comparison) -> list[Table]:
    """The judged pairs, then the predictions; pairs without rows are told among the notes."""
    told = [pair for pair in comparison.pairs if pair.rows]
    first = "Access specification" if comparison.of_runs else "Entity"
    groups = ([pair for pair in told if not pair.predicted], [pair for pair in told if pair.predicted])
    return [
        _table(pairs, first, comparison.level, is_predicted=number == 1) for number, pairs in enumerate(groups) if pairs
    ]  # fmt: skip


def _table(pairs: Sequence[PairResult], first: str, level: float, *, is_predicted: bool) -> Table:
    sure = f"{format_ratio(level)} interval"
    has_interval = any(row.p_value is not None for pair in pairs for row in pair.rows)
    if is_predicted:
        heads = ["Predicted", "Measured", "Difference", "Off by", *([sure] if has_interval else [])]
    else:
        heads = ["Before", "After", "Difference", "Change", *([sure, "By chance"] if has_interval else [])]
    parts = [
        TablePart(
            name_of(pair),
            list(dict.fromkeys(basis(row) for row in pair.rows)),
            [_row(pair, row, has_interval=has_interval) for row in pair.rows],
        )
        for pair in pairs
    ]
    title = "Predicted and measured" if is_predicted else "Before and after"
    return Table(title, first, heads, parts, not is_predicted or has_barred(pairs))


def _row(pair: PairResult, row: MetricRow, *, has_interval: bool) -> TableRow:
    if pair.predicted:
        cells = [*predicted_and_measured(pair, row), difference(row, pair.predicted), change(row.off_by)]
        cells += [interval_off_by(row)] if has_interval else []
        return TableRow(row.metric, cells, verdict_of_prediction(row), tone_of(row, pair))
    cells = [*values(row), difference(row), change(row.change)]
    cells += [interval(row), chance(row.p_value)] if has_interval else []
    return TableRow(row.metric, cells, verdict(row), tone_of(row, pair))


def tone_of(row: MetricRow, pair: PairResult) -> str:
    """The class of its colour and sign."""
    return PREDICTED if pair.predicted and row.outcome is None else _TONES[row.outcome]


# The forest -----------------------------------------------------------------------------------------------------------


def forests_of(comparison: Comparison) -> list[Forest]:
    """Of what is judged, and of predictions."""
    groups = [[pair for pair in comparison.pairs if bool(pair.predicted) is which] for which in (False, True)]
    return [found for pairs in groups if (found := _forest(pairs, comparison.threshold)) is not None]


def _forest(pairs: Sequence[PairResult], threshold: float) -> Forest | None:
    rows = [(pair, row) for pair in pairs for row in pair.rows if _ends(pair, row)[0] is not None]
    if not rows:
        return None
    told = [(pair, row) for pair, row in rows if pair.predicted or row.outcome] or rows  # load alone squeezes nothing
    reach = _reach([_ends(pair, row) for pair, row in told])
    band = (max(0.0, _at(-threshold, reach)), min(1.0, _at(threshold, reach)))
    ticks = [(_at(tick, reach), _tick_words(tick)) for tick in _ticks(reach)]
    bars = [_bar(pair, row, reach) for pair, row in rows]
    return Forest(bars, ticks, band, bool(pairs[0].predicted))


Ends = tuple[float | None, float | None, float | None]


def _ends(pair: PairResult, row: MetricRow) -> Ends:
    """The difference as a ratio, and its bounds."""
    if pair.predicted:
        return row.off_by, row.off_by_low, row.off_by_high
    return row.change, row.change_low, row.change_high


def _log(ratio: float) -> float:
    return math.log1p(ratio) if ratio > -1.0 else -math.inf


def _reach(ends: Sequence[Ends]) -> float:
    """How far the scale goes on either side, as a logarithm."""
    middles = [abs(_log(one[0])) for one in ends if one[0] is not None]
    bounds = [abs(_log(bound)) for one in ends for bound in one[1:] if bound is not None]
    most = max([middle for middle in middles if math.isfinite(middle)], default=_LEAST_REACH)
    most = max(most, _LEAST_REACH)
    wide = max([bound for bound in bounds if math.isfinite(bound)], default=0.0)
    return _ROOM * max(most, min(wide, _FAR * most))


def _ticks(reach: float) -> Iterator[float]:
    """Round changes on either side of none, as many as have room."""
    half = 2 * reach * _APART
    if reach < math.log(1.6):
        step = next((step for step in _FINE if math.log1p(step) >= half), _FINE[-1])
        count = int(math.expm1(reach) / step)
        yield from (number * step for number in range(-count, count + 1) if abs(_log(number * step)) <= reach)
        return
    kept = [0.0]
    for tick in sorted(_COARSE, key=lambda tick: abs(_log(tick))):
        if abs(_log(tick)) <= reach and all(abs(_log(tick) - _log(other)) >= half for other in kept):
            kept.append(tick)
    yield from sorted(kept)


def _tick_words(tick: float) -> str:
    return change(tick).replace(".0 %", " %") if tick else "0 %"


def _bar(pair: PairResult, row: MetricRow, reach: float) -> Bar:
    middle, low, high = _ends(pair, row)
    has_interval = row.p_value is not None
    at = _place(middle, reach)
    is_open_low, is_open_high = (has_interval and bound is None for bound in (low, high))
    start = 0.0 if is_open_low else _place(low, reach)
    end = 1.0 if is_open_high else _place(high, reach)
    words = interval_off_by(row) if pair.predicted else interval(row)
    said = change(middle) + (f" ({words})" if has_interval else ", no interval")
    return Bar(
        name=name_of(pair),
        metric=row.metric,
        middle=at if at is not None and 0.0 <= at <= 1.0 else None,
        low=None if start is None else min(max(start, 0.0), 1.0),
        high=None if end is None else min(max(end, 0.0), 1.0),
        is_cut_low=is_open_low or (start is not None and start < 0.0) or (at is not None and at < 0.0),
        is_cut_high=is_open_high or (end is not None and end > 1.0) or (at is not None and at > 1.0),
        words=said,
        verdict=(verdict_of_prediction if pair.predicted else verdict)(row).strip("()"),
        tone=tone_of(row, pair),
    )


def _place(ratio: float | None, reach: float) -> float | None:
    return None if ratio is None else _at(ratio, reach)


def _at(ratio: float, reach: float) -> float:
    """Where a change lies; below 0 or above 1 beyond the scale."""
    log = _log(ratio)
    return -1.0 if log == -math.inf else 0.5 + 0.5 * log / reach
