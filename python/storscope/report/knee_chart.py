"""The chart of a search for the knee: latency against load, the visits, the fitted curves and the answers.

Every visit is a point of each figure that it tells, with its own 95 % interval. One that was overloaded is a lower
bound; one that a curve leaves out is drawn, but told apart; one that tells no figure has a place on the load axis only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from storscope.domain.load_curve import SERVICE, Crossing, LoadCurve, PointKind, Visit
from storscope.domain.load_curve_words import crossings_of, interval_words, left_out_words, shown_figures
from storscope.domain.sweep import Estimate
from storscope.domain.units import format_duration, format_rate, format_span
from storscope.report.pack import Packer

UNIT = "requests/s"
_FAR = 1.4
"""Visits at so many times the highest load that tells something are not drawn: they would squeeze the rest."""
_ROOM = 1.03
_BOUNDS_ABOVE = 3.0
"""So far above all that was measured there is room for lower bounds..."""
_LIMIT_AWAY = 30.0
"""...and so far from it for the limit of an objective, and for latency at light load."""
_MARGIN = 1.3
_TONES, _OWN_TONE = (0, 1, 3), 2
"""Colours and markers of the figures (the third marker is that of lower bounds), and the colour of an objective whose
figure is that of the knee."""


class State(IntEnum):
    """How a point is drawn."""

    COUNTS = 0
    LEFT_OUT = 1
    """Of the fitted curve."""
    BOUND = 2
    """Of an overloaded visit: the latency is at least that."""


@dataclass(frozen=True)
class KneeChart:
    """`chart` goes to the data island (None: no visit told a latency), the rest to the page."""

    note: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    chart: Mapping[str, object] | None
    aria: str

    @property
    def numbers(self) -> int:
        """How many columns are numbers; the last is words."""
        return len(self.heads) - 1


def knee_chart(curve: LoadCurve, packer: Packer) -> KneeChart:
    """The chart of a search, and the same as a table."""
    names = shown_figures(curve)
    order = sorted(range(len(curve.visits)), key=lambda place: curve.visits[place].offered_per_s)
    why = {place: _why(curve, place, names) for place in order}
    right, drawn = _drawn_loads(curve, order, names)
    is_drawn = any(_values(curve.visits[place], names) for place in drawn)
    return KneeChart(
        note=_note(curve, drawn, names),
        heads=[f"Offered, {UNIT}", f"Done, {UNIT}", *map(figure_words, names), "Measured for", "What became of it"],
        rows=[_row(curve.visits[place], names, why[place]) for place in order],
        chart=_chart(curve, drawn, names, why, right, packer) if is_drawn else None,
        aria=_aria(curve, names),
    )  # fmt: skip


def figure_words(name: str) -> str:
    """'p99 response time', 'mean service time'."""
    figure = name.removeprefix(SERVICE)
    return f"{figure} {'service' if name.startswith(SERVICE) else 'response'} time"


# What is drawn --------------------------------------------------------------------------------------------------------


def _drawn_loads(curve: LoadCurve, order: Sequence[int], names: Sequence[str]) -> tuple[float, list[int]]:
    """The right end of the axis, and the visits that lie before it, by load."""
    visits = [curve.visits[place] for place in order]
    telling = [visit.offered_per_s for visit in visits if visit.kind is PointKind.VALID and _values(visit, names)]
    core = max([*(telling or [visit.offered_per_s for visit in visits]), *_highs(curve)], default=1.0)
    drawn = [place for place in order if curve.visits[place].offered_per_s <= _FAR * core]
    return _ROOM * max([core, *(curve.visits[place].offered_per_s for place in drawn)]), drawn


def _highs(curve: LoadCurve) -> Iterator[float]:
    for crossing in (curve.knee, curve.within_objective):
        if crossing is not None and crossing.load_per_s is not None:
            yield crossing.load_per_s.high


def _values(visit: Visit, names: Sequence[str]) -> list[float]:
    return [value for name in names if (value := visit.figure_ns(name)) is not None and value > 0]


def _chart(
    curve: LoadCurve, drawn: Sequence[int], names: Sequence[str], why: Mapping[int, str], right: float, packer: Packer
) -> dict[str, object]:
    visits = [curve.visits[place] for place in drawn]
    low, high = latency_range(curve, visits, names)
    crossings = dict(zip(names, crossings_of(curve, names), strict=True))
    return {
        "kind": "knee",
        "right": right,
        "latency": [low, high],
        "offered": packer.add_values([visit.offered_per_s for visit in visits]),
        "done": packer.add_values([_or_nan(visit.achieved_per_s) for visit in visits]),
        "why": [why[place] for place in drawn],
        "took": [format_span(visit.duration_ns) for visit in visits],
        "unused": [at for at, visit in enumerate(visits) if not _values(visit, names)],
        "lines": [
            {"tone": tone, **_line(curve, drawn, name, crossings[name], packer)}
            for name, tone in zip(names, _TONES, strict=False)
        ],
        "light": _light(curve),
        "limit": _limit(curve, names, low, high),
        "answers": list(_answers(curve)),
    }  # fmt: skip


def _line(
    curve: LoadCurve, drawn: Sequence[int], name: str, crossing: Crossing | None, packer: Packer
) -> dict[str, object]:
    visits = [curve.visits[place] for place in drawn]
    left_out = dict(crossing.left_out) if crossing is not None else {}
    fitted = () if crossing is None else curve.fitted if crossing is curve.knee else curve.fitted_objective
    ends = [_ends(visit, name) for visit in visits]
    return {
        "label": figure_words(name),
        "values": packer.add_values([_or_nan(visit.figure_ns(name)) for visit in visits]),
        "low": packer.add_values([_or_nan(low) for low, _ in ends]),
        "high": packer.add_values([_or_nan(high) for _, high in ends]),
        "states": packer.add_counts([_state(curve.visits[place], place in left_out) for place in drawn]),
        "fitted": [packer.add_values(column) for column in zip(*fitted, strict=True)],
    }


def _state(visit: Visit, is_left_out: bool) -> State:
    if visit.kind is PointKind.OVERLOADED:
        return State.BOUND
    return State.LEFT_OUT if is_left_out else State.COUNTS


def latency_range(curve: LoadCurve, visits: Sequence[Visit], names: Sequence[str]) -> tuple[float, float]:
    """Ends of the axis of latency in ns: room for what was measured; near it also for limits, light load, bounds."""
    measured = [value for visit in visits if visit.kind is PointKind.VALID for value in _values(visit, names)]
    bounds = [value for visit in visits if visit.kind is PointKind.OVERLOADED for value in _values(visit, names)]
    shown = measured or bounds or [1.0]
    low, high = min(shown), max(shown)
    if measured and bounds:
        high = max(high, min(max(bounds), _BOUNDS_ABOVE * high))
    limits = [crossing.limit_ns for crossing in (curve.knee, curve.within_objective) if crossing is not None]
    limits += [] if curve.light_ns is None else [curve.light_ns.estimate]
    for limit_ns in (limit for limit in limits if limit is not None and low / _LIMIT_AWAY < limit < high * _LIMIT_AWAY):
        low, high = min(low, limit_ns), max(high, limit_ns)
    return low / _MARGIN, high * _MARGIN


def _light(curve: LoadCurve) -> dict[str, object] | None:
    """The flat part, with its interval; and where it ends: at the knee latency is twice that."""
    light, knee = curve.light_ns, curve.knee
    if light is None:
        return None
    found = knee.load_per_s is not None
    return {
        "ns": light.estimate,
        "low": light.low,
        "high": light.high,
        "label": f"{format_duration(light.estimate)} at light load",
        "twice_ns": knee.limit_ns if found else None,
        "twice_label": f"twice that: {format_duration(knee.limit_ns)}" if found else "",
        "end": knee.load_per_s.estimate if knee.load_per_s is not None else None,
    }


def _limit(curve: LoadCurve, names: Sequence[str], low: float, high: float) -> dict[str, object] | None:
    """The objective's, and where it is from the axis when it is not on it."""
    within = curve.within_objective
    if within is None or within.limit_ns is None:
        return None
    where = "above" if within.limit_ns > high else "below" if within.limit_ns < low else "inside"
    return {"ns": within.limit_ns, "label": f"SLO {curve.objective}", "line": _place(within, names), "where": where}


def _answers(curve: LoadCurve) -> Iterator[dict[str, object]]:
    within = curve.within_objective
    for load, words, tone in (
        (curve.knee.load_per_s, "Knee {}", 0),
        (None if within is None else within.load_per_s, f"{curve.objective} up to {{}}", tone_of(curve, within)),
    ):
        if load is not None:
            yield {
                "x": load.estimate, "low": load.low, "high": load.high, "tone": tone,
                "label": words.format(format_rate(load.estimate, UNIT)), "interval": f"95 %: {interval_words(load)}",
            }  # fmt: skip


def tone_of(curve: LoadCurve, within: Crossing | None) -> int:
    """Which colour the load of an objective has: that of its figure, or one of its own if that is the knee's."""
    place = 0 if within is None else _place(within, shown_figures(curve))
    return _TONES[place] if place else _OWN_TONE


def _place(crossing: Crossing, names: Sequence[str]) -> int:
    """The line of its figure."""
    return names.index(crossing.figure) if crossing.figure in names else 0


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


# Words ----------------------------------------------------------------------------------------------------------------


def _why(curve: LoadCurve, place: int, names: Sequence[str]) -> str:
    """What a reader should know of a visit; empty where it simply counts."""
    visit = curve.visits[place]
    if visit.kind is PointKind.INVALID:
        return f"invalid: {visit.reason}"
    parts = [f"overloaded: {visit.reason}"] if visit.kind is PointKind.OVERLOADED else []
    if visit.kind is PointKind.VALID and visit.reason:
        untold = [figure_words(name) for name in names if visit.figure_ns(name) is None]
        parts += [f"{visit.reason}: no {' and no '.join(untold)}"] if untold else []
    return "; ".join([*parts, *left_out_words(curve, place, names)])


def _note(curve: LoadCurve, drawn: Sequence[int], names: Sequence[str]) -> str:
    parts = ["Each point is a visit, a short measurement at one load; bars are 95 % intervals within the visit."]
    if curve.fitted:
        parts.append("Lines are fitted to all visits that count.")
    visits = [curve.visits[place] for place in drawn]
    if any(visit.kind is PointKind.OVERLOADED for visit in visits):
        parts.append("Hollow triangles: overloaded, latency is at least that.")
    if any(crossing is not None and crossing.left_out for crossing in crossings_of(curve, names)):
        parts.append("Other hollow points: left out of the curve.")
    if any(not _values(visit, names) for visit in visits):
        parts.append("Crosses on the axis: visits that tell no latency.")
    if any(_why(curve, place, names) for place in drawn):
        parts.append("Why is in the table, and at each point.")
    if any(_stands_alone(curve.visits[place], names) for place in drawn):
        parts.append("A point without a bar was visited too briefly for an interval that tells anything.")
    hidden = [visit.offered_per_s for at, visit in enumerate(curve.visits) if at not in set(drawn)]
    if hidden:
        count = f"{len(hidden)} visit{'' if len(hidden) == 1 else 's'}"
        parts.append(f"Not drawn, but in the table: {count} at loads up to {format_rate(max(hidden), UNIT)}.")
    return " ".join(parts)


def _row(visit: Visit, names: Sequence[str], why: str) -> list[str]:
    return [
        format_rate(visit.offered_per_s, "").strip(), format_rate(visit.achieved_per_s, "").strip(),
        *(_latency(visit, name) for name in names), format_span(visit.duration_ns), why or "counts",
    ]  # fmt: skip


def _latency(visit: Visit, name: str) -> str:
    value = visit.figure_ns(name)
    if value is None:
        return "–"
    if visit.kind is PointKind.OVERLOADED:
        return f"> {format_duration(value)}"
    low, high = _ends(visit, name)
    if low is not None and high is None:
        return f"{format_duration(value)} (from {format_duration(low)})"
    return Estimate(value, low, high).words(format_duration)


def _ends(visit: Visit, name: str) -> tuple[float | None, float | None]:
    """Of the interval of a figure; none of one that tells nothing, from 0 to more than twice the figure."""
    value, (low, high) = visit.figure_ns(name), visit.intervals_ns.get(name, (None, None))
    if value is None or high is None:
        return low, high
    shown = Estimate(value, low, high).shown
    return shown.low, shown.high


def _stands_alone(visit: Visit, names: Sequence[str]) -> bool:
    """Whether a figure of a visit that counts is shown without the interval that it has."""
    return any(
        visit.figure_ns(name) is not None and visit.intervals_ns.get(name, (None, None)) != _ends(visit, name)
        for name in names
    )


def _aria(curve: LoadCurve, names: Sequence[str]) -> str:
    told = [f"{answer['label']} ({answer['interval']})" for answer in _answers(curve)]
    figures = ", ".join(map(figure_words, names))
    return f"{figures} against load; {len(curve.visits)} visits. {'. '.join(told)}".strip() + "."
