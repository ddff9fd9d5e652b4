"""From a difference to a word: better, worse, no difference shown, cannot tell."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from storscope.compare.differences import Found
from storscope.compare.metrics import Metric
from storscope.compare.prediction import off_by
from storscope.compare.wording import percent
from storscope.domain.comparison import AFTER, NOT_THE_SAME_LOAD, PART_OF_COMMITS, PREDICTION, MetricRow, Outcome, Side
from storscope.model.bootstrap import Interval
from storscope.model.compare import INDEPENDENT_MIN, Difference, Method


@dataclass(frozen=True)
class Circumstances:
    """What counts beside the figure itself."""

    is_comparable: bool
    rates_are_load: bool
    """Operations are what was asked for, not what the storage could do."""
    threshold: float
    level: float
    comparisons: int = 1
    """How many access specifications this metric is compared for."""
    allow_failed: bool = False
    """Judge also figures that are barred by how their runs ended."""
    flushes: bool = False
    """Whether both sides flush what they write."""
    sure: Outcome | None = None
    """Of a running system the outcome of a latency that another load cannot have made."""
    predicted: Side | None = None
    """The side that is simulated where the other one was measured: then nothing is better or worse."""


Said = tuple[Outcome | None, str]


def _is_of_writes(metric: Metric) -> bool:
    """Whether it is a latency that writes are in."""
    return metric.unit == "ns" and not metric.name.startswith(("read_", "flush_"))


def row_of(found: Found, circumstances: Circumstances, p_adjusted: float | None) -> MetricRow:
    """The figure as a row, with its outcome."""
    metric, difference = found.metric, found.difference
    judged = metric.better is not None and not (metric.is_demand and circumstances.rates_are_load)
    outcome, reason = _judged(found, circumstances, p_adjusted) if judged else (None, "load, not judged")
    if judged and circumstances.flushes and _is_of_writes(metric):
        judged, outcome, reason = False, None, PART_OF_COMMITS
    if circumstances.predicted and not _barred(found, circumstances):
        judged, outcome, reason = False, None, PREDICTION
    ratio, absolute = difference.ratio, difference.difference
    row = MetricRow(
        metric=metric.name,
        unit=metric.unit,
        better=metric.better if judged else None,
        before=difference.before,
        after=difference.after,
        change=difference.change,
        change_low=_finite(ratio.low - 1.0) if ratio else None,
        change_high=_finite(ratio.high - 1.0) if ratio else None,
        difference_low=_finite(absolute.low) if absolute else None,
        difference_high=_finite(absolute.high) if absolute else None,
        p_value=difference.p_value,
        p_value_adjusted=p_adjusted,
        method=difference.method.value,
        values_before=difference.values_before,
        values_after=difference.values_after,
        independent=difference.independent,
        outcome=outcome,
        reason=reason,
    )
    return _as_prediction(row, circumstances.predicted) if circumstances.predicted else row


def _as_prediction(row: MetricRow, predicted: Side) -> MetricRow:
    """How far off it is; where it is before, its bounds change places."""
    bounds = (row.change_low, row.change_high) if predicted == AFTER else (row.change_high, row.change_low)
    off, low, high = (None if one is None else off_by(predicted, one) for one in (row.change, *bounds))
    return replace(row, off_by=off, off_by_low=low, off_by_high=high)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _judged(found: Found, circumstances: Circumstances, p_adjusted: float | None) -> Said:
    difference = found.difference
    if not circumstances.is_comparable and circumstances.sure and found.metric.unit == "ns":
        return _in_spite_of_load(_judged(found, replace(circumstances, is_comparable=True), p_adjusted), circumstances)
    if _barred(found, circumstances) and circumstances.is_comparable and found.sure:
        said = _judged(found, replace(circumstances, allow_failed=True), p_adjusted)
        if reason := found.sure.get(said[0] or Outcome.UNDECIDED):
            return said[0], reason
    doubt = _doubt(found, circumstances, p_adjusted)
    if doubt:
        return Outcome.UNDECIDED, doubt
    chance = 1.0 - circumstances.level
    is_real = p_adjusted is not None and p_adjusted < chance and not _covers_none(difference)
    if is_real:
        return _of_real(found, circumstances)
    if difference.p_value is not None and difference.p_value < chance <= (p_adjusted or 0.0):
        return (
            Outcome.UNDECIDED,
            f"would count alone, but not as one of {circumstances.comparisons} comparisons (p {p_adjusted:.2g})",
        )
    return _of_unproven(difference.ratio, circumstances)


def _in_spite_of_load(said: Said, circumstances: Circumstances) -> Said:
    """What was said as if the load were the same, where the other load would have moved it the other way."""
    if said[0] is not circumstances.sure:
        return Outcome.UNDECIDED, NOT_THE_SAME_LOAD
    return said[0], f"though the load {'rose' if said[0] is Outcome.BETTER else 'fell'}"


def _barred(found: Found, circumstances: Circumstances) -> str:
    """Why the two sides did not do the same, or one does not tell; empty when they may be held against each other."""
    if not circumstances.is_comparable:
        return NOT_THE_SAME_LOAD
    return "" if circumstances.allow_failed else found.barred


def _doubt(found: Found, circumstances: Circumstances, p_adjusted: float | None) -> str:
    """Why nothing can be said, whatever the numbers are; empty when something can."""
    difference = found.difference
    if barred := _barred(found, circumstances):
        return barred
    if found.doubt or p_adjusted is None:
        return found.doubt or "no interval"
    if difference.method is Method.BUCKETS:
        return "one histogram each: its interval takes I/Os as independent, but slow ones come together"
    is_series = difference.method in (Method.SERIES, Method.BUCKET_SERIES, Method.OWN)
    if is_series and (difference.independent or 0.0) < INDEPENDENT_MIN:
        return (
            f"the intervals amount to {_too_few(difference.independent or 0.0):.1f} independent values only "
            f"({INDEPENDENT_MIN:.0f} are needed): measure longer"
        )
    return ""


def _too_few(independent: float) -> float:
    """To a tenth, and less than what is needed even where it rounds to that."""
    return min(round(independent, 1), INDEPENDENT_MIN - 0.1)


def _covers_none(difference: Difference) -> bool:
    """Whether no difference at all lies within the interval."""
    if difference.ratio is not None:
        return difference.ratio.covers(1.0)
    return difference.difference is None or difference.difference.covers(0.0)


def _of_real(found: Found, circumstances: Circumstances) -> Said:
    change = found.difference.change
    if change is not None and abs(change) < circumstances.threshold:
        small = f"{percent(change)} is beyond chance, but below the threshold of {_plain(circumstances.threshold)}"
        return Outcome.SAME, small
    is_higher = found.difference.after > found.difference.before
    return (Outcome.BETTER if is_higher == (found.metric.better == "higher") else Outcome.WORSE), ""


def _of_unproven(ratio: Interval | None, circumstances: Circumstances) -> Said:
    """Not beyond chance: either any difference is small, or the interval is too wide to say."""
    if ratio is None:
        return Outcome.UNDECIDED, "before is 0"
    low, high = ratio.low - 1.0, ratio.high - 1.0
    largest = max(abs(low), abs(high))
    if largest <= circumstances.threshold:
        return Outcome.SAME, f"at most {_plain(largest)} either way"
    if not math.isfinite(largest):
        return Outcome.UNDECIDED, "the interval has no bound"
    return Outcome.UNDECIDED, f"could be anything from {percent(low)} to {percent(high)}"


def _plain(share: float) -> str:
    return f"{100 * share:.2g} %"
