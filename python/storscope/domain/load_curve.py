"""Latency against load: the points that were visited, and the loads at which the curve crosses something.

Loads are arrivals per second. Latency is response time: from the instant a request should have started to its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from storscope.domain.objective import LatencyFigure, Objective

SERVICE = "service "
"""Before the name of a figure that is of service time."""


class PointKind(StrEnum):
    """What a visit is good for."""

    VALID = "valid"
    OVERLOADED = "overloaded"
    """More arrived than was served: its latency is a lower bound of what a longer visit would have found."""
    INVALID = "invalid"
    """The generator, not the storage, was measured; or something failed."""


@dataclass(frozen=True)
class Visit:
    """One measurement at one load. Visits start on an empty queue, and their first part is left out of the figures."""

    offered_per_s: float
    """Arrivals asked for."""
    achieved_per_s: float | None
    """Requests completed, in arrivals: a reply or the write of a copy does not count again."""
    kind: PointKind
    reason: str
    """Why it is not valid; empty otherwise."""
    figures_ns: Mapping[str, float | None]
    """Figure's name -> response time; None where the visit does not tell it."""
    duration_ns: int
    """Of what the figures rest on."""
    cost_ns: int
    """Time that the visit took, with opening, filling and draining the queue."""
    run: str | None = None
    """Its run in the store."""
    intervals_ns: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    """Figure's name -> ends of its 95 % interval within this visit; an end that cannot be told is None."""
    requests: float | None = None
    """What the objective's figure is of, where that is reads, writes or flushes alone: how many of them; else None."""
    above_limit: Mapping[str, float] = field(default_factory=dict)
    """Name of the objective's figure -> share of the requests it rests on that took longer than its limit."""

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Visit:
        """What `LoadCurve.to_json` wrote."""
        intervals_ns = {name: (low, high) for name, (low, high) in form.get("intervals_ns", {}).items()}
        return cls(**{**form, "kind": PointKind(form["kind"]), "intervals_ns": intervals_ns})

    def figure_ns(self, name: str) -> float | None:
        """The response time by that name; None where it is not to be trusted."""
        return None if self.kind is PointKind.INVALID else self.figures_ns.get(name)


@dataclass(frozen=True)
class Bounds:
    """An estimate with its 95 % interval."""

    estimate: float
    low: float
    high: float

    @property
    def half_width_ratio(self) -> float:
        """Half the interval's width over the estimate."""
        return (self.high - self.low) / (2 * self.estimate)


@dataclass(frozen=True)
class Crossing:
    """The load at which a figure reaches a limit; `load_per_s` is None when `reason` says why there is none."""

    figure: str
    limit_ns: float | None
    load_per_s: Bounds | None
    reason: str = ""
    left_out: tuple[tuple[int, str], ...] = ()
    """Visits that tell the figure but do not count for it: their places in `LoadCurve.visits`, and why."""

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Crossing:
        """What `LoadCurve.to_json` wrote."""
        left_out = tuple((int(place), str(why)) for place, why in form.get("left_out", ()))
        return cls(form["figure"], form["limit_ns"], _bounds(form["load_per_s"]), form["reason"], left_out)


@dataclass(frozen=True)
class LoadCurve:
    """What a search for the knee found."""

    visits: tuple[Visit, ...]
    knee: Crossing
    """Where mean response is twice that at light load."""
    objective: Objective | None
    within_objective: Crossing | None
    """The greatest load that meets the objective."""
    light_ns: Bounds | None
    """Mean response at light load."""
    capacity_per_s: Bounds | None
    """Where the fitted curve of the mean has its pole: beyond it the queue grows for ever."""
    fitted: tuple[tuple[float, float], ...] = ()
    """Load and mean response in ns of the fitted curve, for drawing."""
    fitted_objective: tuple[tuple[float, float], ...] = ()
    """The same of the objective's figure."""
    doubts: tuple[str, ...] = field(default=())
    ended: str = ""
    """Why the search ended."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values with units in their names."""
        form = asdict(self)
        form["objective"] = None if self.objective is None else str(self.objective)
        return form

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> LoadCurve:
        """What `to_json` wrote, also an earlier version, which did not tell intervals or what is left out."""
        within = None if form["within_objective"] is None else Crossing.from_json(form["within_objective"])
        return cls(
            visits=tuple(map(Visit.from_json, form["visits"])),
            knee=Crossing.from_json(form["knee"]),
            objective=_objective(within),
            within_objective=within,
            light_ns=_bounds(form["light_ns"]),
            capacity_per_s=_bounds(form["capacity_per_s"]),
            fitted=_line(form["fitted"]),
            fitted_objective=_line(form.get("fitted_objective", ())),
            doubts=tuple(form["doubts"]),
            ended=form["ended"],
        )


def _bounds(form: Mapping[str, float] | None) -> Bounds | None:
    return None if form is None else Bounds(**form)


def _line(form: Sequence[Sequence[float]]) -> tuple[tuple[float, float], ...]:
    return tuple((load, latency_ns) for load, latency_ns in form)


def _objective(within: Crossing | None) -> Objective | None:
    """From the crossing, which has its limit as it was given; in words it is rounded."""
    if within is None or within.limit_ns is None:
        return None
    return Objective(LatencyFigure.from_name(within.figure.removeprefix(SERVICE)), within.limit_ns)
