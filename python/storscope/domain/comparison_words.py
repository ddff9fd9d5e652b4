"""The cells of a compared figure as text, for terminals, for tables that are pasted elsewhere and for pages.

Names stay as captures have them: who prints them makes them harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from storscope.domain.comparison import (
    BEFORE,
    PART_OF_COMMITS,
    PREDICTION,
    ComparedSide,
    Comparison,
    MetricRow,
    PairResult,
    Side,
)
from storscope.domain.interval_words import digits_of_percent, signed_percent
from storscope.domain.units import format_bandwidth, format_duration, format_rate, format_ratio, format_time

_FORMATS: Final[dict[str, Callable[[float | None], str]]] = {
    "ns": format_duration,
    "1/s": lambda value: format_rate(value, "/s"),
    "B/s": format_bandwidth,
    "ratio": format_ratio,
}
_BASES: Final = {
    "series": "intervals", "runs": "runs", "couples": "runs in turn", "buckets": "I/Os", "bucket-series": "I/Os",
    "own": "runs",
}  # fmt: skip


def side_words(comparison: Comparison) -> tuple[str, str]:
    """What the sides are called: by what they are, where all that is compared are predictions."""
    predicted = {pair.predicted for pair in comparison.pairs}
    if len(predicted) != 1 or None in predicted:
        return "before", "after"
    return ("predicted", "measured") if predicted == {BEFORE} else ("measured", "predicted")


def side_names(side: ComparedSide) -> list[str]:
    """What a side is called; of a measured run also when it began, as ids and scratch files are digits."""
    began = "" if side.began_ns is None else f", begun {format_time(side.began_ns)}"
    return [f"{name}{began}" for name in side.names]


def name_of(pair: PairResult) -> str:
    """What is compared, and loudly if it is no comparison."""
    return pair.name + ("" if pair.is_comparable else "  [NOT THE SAME LOAD]")


def values(row: MetricRow) -> tuple[str, str]:
    """The figures before and after."""
    form = _FORMATS.get(row.unit, _plain)
    return form(row.before), form(row.after)


def predicted_and_measured(pair: PairResult, row: MetricRow) -> tuple[str, str]:
    """The figures in this order, whichever side is which."""
    before, after = values(row)
    return (before, after) if pair.predicted == BEFORE else (after, before)


def difference(row: MetricRow, predicted: Side | None = None) -> str:
    """'+2.42 ms': after - before, or predicted - measured, with its unit."""
    value = row.before - row.after if predicted == BEFORE else row.after - row.before
    form = _FORMATS.get(row.unit, _plain)
    words = form(abs(value))
    return words if words == form(0.0) else f"{'+' if value > 0 else '−'}{words}"


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"


def change(ratio: float | None) -> str:
    """'+8.1 %'; what rounds to nothing has no sign: '0.0 %'."""
    return "–" if ratio is None else signed_percent(ratio)


def interval(row: MetricRow) -> str:
    """The interval of the change; a side without a bound is left open."""
    return "none" if row.p_value is None else _range(row.change_low, row.change_high)


def interval_off_by(row: MetricRow) -> str:
    """That of how far a prediction is off."""
    return "none" if row.p_value is None else _range(row.off_by_low, row.off_by_high)


def _range(low: float | None, high: float | None) -> str:
    """With as many digits as keep a narrow interval from looking like none."""
    digits = digits_of_percent(*(abs(bound) for bound in (low, high) if bound is not None))
    from_words, to_words = ("…" if bound is None else signed_percent(bound, digits) for bound in (low, high))
    return f"{from_words.removesuffix(' %')} to {to_words}"


def chance(p_value: float | None) -> str:
    """The probability that chance alone gives as much."""
    if p_value is None:
        return "–"
    if p_value < 0.001:
        return "< 0.1 %"
    return f"{100 * p_value:.{1 if p_value < 0.1 else 0}f} %"


def verdict(row: MetricRow) -> str:
    """Its outcome; '(load)' of what is not judged, '(part)' of writes that flushes follow."""
    if row.outcome:
        return row.outcome.value
    return "(part)" if row.reason == PART_OF_COMMITS else "(load)"


def has_barred(pairs: Sequence[PairResult]) -> bool:
    """Whether a prediction stands beside a run that did something else: then a column has to say which is which."""
    return any(pair.predicted and row.outcome for pair in pairs for row in pair.rows)


def verdict_of_prediction(row: MetricRow) -> str:
    """'prediction'; where the runs were not alike or one failed it is none: 'cannot tell', '(load)'."""
    return "prediction" if row.reason == PREDICTION else verdict(row)


def basis(row: MetricRow) -> str:
    """What it rests on: 'one value each', '150 + 150 intervals'."""
    if row.method == "none":
        return "one value each" if row.values_before == row.values_after == 1 else _both(row, "values")
    return _both(row, _BASES[row.method])


def _both(row: MetricRow, what: str) -> str:
    return f"{_short(row.values_before)} + {_short(row.values_after)} {what}"


def _short(count: int) -> str:
    for factor, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= 10 * factor:
            return f"{count / factor:.0f}{unit}"
    return str(count)
