"""What a search for the knee says: a sentence for each question, and the figures that its visits are shown by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from storscope.domain.load_curve import SERVICE, Bounds, Crossing, LoadCurve
from storscope.domain.units import format_duration, format_rate

_WIDE = 0.5
"""A capacity that may be wrong by so much is not worth a sentence."""


def answers(curve: LoadCurve) -> Iterator[str]:
    """A sentence for each question."""
    knee = curve.knee
    if knee.load_per_s is None:
        yield f"Knee: not found, {knee.reason}."
    else:
        light = "" if curve.light_ns is None else f" ({format_duration(curve.light_ns.estimate)})"
        yield f"Knee: at {_shown(knee.load_per_s)} mean {latency_words(knee)} is twice that at light load{light}."
    if curve.objective is not None and curve.within_objective is not None:
        within = curve.within_objective
        if within.load_per_s is None:
            yield f"{curve.objective}: no load found, {within.reason}."
        else:
            of = " (service time)" if within.figure.startswith(SERVICE) else ""
            yield f"{curve.objective}{of}: met up to {_shown(within.load_per_s)}."
    if (capacity := told_capacity(curve)) is not None:
        yield f"Capacity, where the fitted curve has its pole: {_shown(capacity)}."


def told_capacity(curve: LoadCurve) -> Bounds | None:
    """The capacity, if it is known well enough to speak of."""
    capacity = curve.capacity_per_s
    return capacity if capacity is not None and capacity.half_width_ratio < _WIDE else None


def interval_words(bounds: Bounds) -> str:
    """'2,700 to 2,990'."""
    return f"{format_rate(bounds.low, 'to')} {format_rate(bounds.high, '').strip()}"


def _shown(bounds: Bounds) -> str:
    return f"{format_rate(bounds.estimate, 'requests/s')} (95 %: {interval_words(bounds)})"


def latency_words(crossing: Crossing) -> str:
    """Which latency a crossing is of."""
    return "service time" if crossing.figure.startswith(SERVICE) else "response time"


def shown_figures(curve: LoadCurve) -> tuple[str, ...]:
    """Names of what each visit is shown by: the figure of the knee, the p99, and the figure of the objective."""
    crossing = curve.within_objective or curve.knee
    basis = SERVICE if crossing.figure.startswith(SERVICE) else ""
    names = dict.fromkeys((curve.knee.figure or "mean", basis + "p99"))
    if curve.within_objective is not None and curve.within_objective.figure.removeprefix(SERVICE) != "p99":
        names[curve.within_objective.figure] = None
    return tuple(names)


def crossings_of(curve: LoadCurve, names: Sequence[str]) -> list[Crossing | None]:
    """For each figure the crossing whose curve is fitted to it."""
    of = {curve.knee.figure: curve.knee}
    if curve.within_objective is not None:
        of.setdefault(curve.within_objective.figure, curve.within_objective)
    return [of.get(name) for name in names]


def left_out_words(curve: LoadCurve, place: int, names: Sequence[str]) -> list[str]:
    """Of which curves a visit is left out, and why; nothing where it counts for all of these figures."""
    reasons: dict[str, list[str]] = {}
    for name, crossing in zip(names, crossings_of(curve, names), strict=True):
        for left, reason in crossing.left_out if crossing is not None else ():
            if left == place:
                reasons.setdefault(reason, []).append(name.removeprefix(SERVICE))
    return [f"left out of the curve of the {' and the '.join(whose)} ({reason})" for reason, whose in reasons.items()]
