"""The figures of a visit, by the two ways to count, response time and service time, and what they are of."""

from __future__ import annotations

from storscope.domain.load_curve import SERVICE, Visit
from storscope.domain.objective import LatencyFigure
from storscope.domain.units import NS_PER_S


def figure_of(visit: Visit, figure: LatencyFigure, basis: str) -> float | None:
    """By one way to count: SERVICE, or nothing for response."""
    return visit.figure_ns(basis + figure.name)


def any_figure_of(visit: Visit, figure: LatencyFigure) -> float | None:
    """Of response time if the visit tells it, else of service time."""
    value = figure_of(visit, figure, "")
    return figure_of(visit, figure, SERVICE) if value is None else value


def requests_of(visit: Visit, figure: LatencyFigure) -> float:
    """How many requests the figure is of: all of the visit, or the reads, writes or flushes among them."""
    if figure.direction is not None and visit.requests is not None:
        return visit.requests
    return (visit.achieved_per_s or 0.0) * visit.duration_ns / NS_PER_S
