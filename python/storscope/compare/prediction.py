"""A simulated run beside a measured one is a prediction: how far off it is says nothing of whether a change helped."""

from __future__ import annotations

from collections.abc import Sequence

from storscope.compare.matching import Pair
from storscope.compare.subjects import Subject
from storscope.compare.wording import percent
from storscope.domain.comparison import AFTER, BEFORE, Side
from storscope.domain.units import format_count, format_span

_NEAR = 1.2
"""Numbers in flight that differ by more are told: 20 % more in flight is up to 20 % more latency."""


def predicted_side(pair: Pair) -> Side | None:
    """The side that is simulated, where the other one was measured."""
    before, after = ({subject.is_simulated for subject in group} for group in (pair.before, pair.after))
    if before == {True} and after == {False}:
        return BEFORE
    return AFTER if before == {False} and after == {True} else None


def off_by(predicted: Side, change: float) -> float | None:
    """Predicted / measured - 1, of after / before - 1; None where nothing was measured."""
    if predicted == AFTER:
        return change
    return 1.0 / (1.0 + change) - 1.0 if change > -1.0 else None


def sides(pair: Pair) -> tuple[tuple[str, list[Subject]], tuple[str, list[Subject]]]:
    """Either side with what it is called: 'before' and 'after', of a prediction 'predicted' and 'measured'."""
    predicted = predicted_side(pair)
    if predicted is None:
        return ("before", pair.before), ("after", pair.after)
    names = ("predicted", "measured") if predicted == BEFORE else ("measured", "predicted")
    return (names[0], pair.before), (names[1], pair.after)


def _measured_first(pair: Pair) -> tuple[list[Subject], list[Subject]]:
    return (pair.after, pair.before) if predicted_side(pair) == BEFORE else (pair.before, pair.after)


def about_depth(pair: Pair, before: float | None, after: float | None) -> list[str]:
    """What either side kept in flight by Little's law, where that is not what was configured, or not the same."""
    measured, _ = _measured_first(pair)
    kept, predicted = (after, before) if predicted_side(pair) == BEFORE else (before, after)
    configured = measured[0].load.outstanding
    if not kept or not predicted:
        return []
    is_as_configured = not configured or measured[0].asked.has_pauses or is_near(kept, configured)
    if is_as_configured and is_near(kept, predicted):
        return []
    of_these = f" of {format_count(configured)} configured outstanding I/Os" if configured else ""
    kept_words = f"{in_flight_words(kept)} in flight{of_these}"
    if is_near(kept, predicted):
        return [f"By Little's law (IOPS × latency) both sides kept about {kept_words}."]
    predicted_words = in_flight_words(predicted)
    sides = f"By Little's law (IOPS × latency) the measurement kept {kept_words}, the prediction {predicted_words}."
    cure = f"Predict with {max(1, round(kept))} outstanding, too, to tell what the depth explains and what the model."
    return [f"{sides} {cure}"]


def in_flight_words(number: float) -> str:
    """'31.9', and of less than one what tells it from none: '0.042'."""
    return f"{number:,.1f}" if number >= 1 else f"{number:.2g}"


def is_near(one: float, other: float) -> bool:
    """Whether two numbers of I/Os in flight are as good as one."""
    return 1 / _NEAR < one / other < _NEAR


def about_demand(pair: Pair, change: float) -> str:
    """Of counters: at another rate their latencies compare badly."""
    off = off_by(predicted_side(pair) or AFTER, change) or 0.0
    return f"Not the same load: the predicted operations are off by {percent(off)}, which moves latency by itself."


def about_lengths(before_ns: float, after_ns: float, names: tuple[str, str]) -> str:
    """How long a prediction is simulated is no load."""
    lengths = f"{format_span(before_ns)} {names[0]}, {format_span(after_ns)} {names[1]}"
    return f"The sides ran for unlike times: {lengths}."


def engine_words(pair: Pair) -> str:
    """'Predicted by the simulator, measured by iometer'."""
    measured, _ = _measured_first(pair)
    return f"Predicted by the simulator, measured by {_engines(measured)}"


def _engines(subjects: Sequence[Subject]) -> str:
    return " and ".join(sorted({subject.engine or "unknown" for subject in subjects}))
