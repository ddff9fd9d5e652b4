"""The charts of a sweep: for each mode four panels, one line for each load, over the axis with the most values.

A series over time has time as that axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from storscope.domain.sweep import FIGURES, Cell, SweepResult
from storscope.domain.units import (
    NS_PER_S,
    format_bandwidth,
    format_bytes,
    format_count,
    format_duration,
    format_rate,
    format_span,
)
from storscope.report.pack import Packer

_LOG_FROM = 30.0
"""The greatest value over the least at which a scale from zero hides the rest."""

PANELS = {
    "ops_per_s": "Operations per second (IOPS)",
    "bytes_per_s": "Throughput",
    "latency_ns_mean": "Mean latency",
    "latency_ns_p99": "Latency, 99th percentile",
}
_OF_FLUSHES = {
    "flush_latency_ns_mean": "Mean latency of flushes",
    "flush_latency_ns_p99": "Latency of flushes, 99th percentile",
}
_TITLES = PANELS | _OF_FLUSHES
_WORDS: Mapping[str, Callable[[float | None], str]] = {
    "ops_per_s": format_rate,
    "bytes_per_s": format_bandwidth,
    "latency_ns_mean": format_duration,
    "latency_ns_p99": format_duration,
    **dict.fromkeys(_OF_FLUSHES, format_duration),
}


@dataclass(frozen=True)
class _Axis:
    """What an axis of the matrix is called, and how its values are."""

    title: str
    of: Callable[[Cell], float | None]
    words: Callable[[float], str]


_TIME = _Axis(
    "Time since the start",
    lambda cell: None if cell.elapsed_ns is None else cell.elapsed_ns / NS_PER_S,
    lambda value: format_span(value * NS_PER_S),
)
_AXES = (
    _Axis("Block size", lambda cell: cell.point.block_bytes, format_bytes),
    _Axis("Jobs", lambda cell: cell.point.jobs, lambda value: f"{value:g} job{'' if value == 1 else 's'}"),
    _Axis("Outstanding I/Os per job", lambda cell: cell.point.depth, lambda value: f"depth {value:g}"),
)


@dataclass(frozen=True)
class SweepChart:
    """One mode: `chart` goes to the data island (None: nothing varies), the rest to the page."""

    title: str
    note: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    chart: Mapping[str, object] | None
    aria: str


def sweep_charts(result: SweepResult, packer: Packer) -> list[SweepChart]:
    """A chart for each mode."""
    charts = []
    for mode in result.modes:
        cells = [cell for cell in result.cells if cell.point.title == mode]
        charts.append(_chart(mode, cells, result.is_series, packer))
    return charts


def _chart(mode: str, cells: Sequence[Cell], is_series: bool, packer: Packer) -> SweepChart:
    axis = _TIME if is_series else max(_AXES, key=lambda one: len(_values(one, cells)))
    values = _values(axis, cells)
    lines = _lines(cells, axis)
    panels = [_TITLES[name] for name in _TITLES if any(cell.get(name) for cell in cells)]
    flushes = ["Mean of flushes", "p99 of flushes"] if _has_flushes(cells) else []
    return SweepChart(
        title=mode,
        note=_note(axis, lines, cells),
        heads=[*(["After"] if is_series else []), "Block size", "Jobs", "Depth", "Operations", "Throughput",
               "Mean latency", "p99", *flushes, "Bound by" if any(cell.bounds for cell in cells) else "Runs"],
        rows=[_row(cell, is_series, flushes=bool(flushes)) for cell in cells],
        chart=_drawn(axis, values, lines, is_series, packer) if len(values) > 1 else None,
        aria=f"{mode}: {', '.join(panels)} against {_inside(axis.title)}; {len(lines)} lines.",
    )  # fmt: skip


def _values(axis: _Axis, cells: Sequence[Cell]) -> list[float]:
    return sorted({value for cell in cells if (value := axis.of(cell)) is not None})


def _lines(cells: Sequence[Cell], axis: _Axis) -> dict[str, list[Cell]]:
    """Label -> the cells of a line along the axis; a label has what tells the lines apart."""
    others = [other for other in _AXES if other is not axis]
    varying = [other for other in others if len(_values(other, cells)) > 1]
    grouped: dict[Hashable, list[Cell]] = {}
    for cell in cells:
        grouped.setdefault(tuple(other.of(cell) or 0 for other in others), []).append(cell)
    lines = {}
    for key in sorted(grouped, key=lambda one: one if isinstance(one, tuple) else ()):
        own = sorted(grouped[key], key=lambda cell: axis.of(cell) or 0)
        words = [other.words(value) for other in varying if (value := other.of(own[0])) is not None]
        lines[", ".join(words) or own[0].point.load_words or own[0].point.mode] = own
    return lines


def _drawn(
    axis: _Axis, values: Sequence[float], lines: Mapping[str, Sequence[Cell]], is_series: bool, packer: Packer
) -> dict[str, object]:
    aligned = [_aligned(cells, axis, values, is_series) for cells in lines.values()]
    panels = [
        {
            "name": name,
            "title": _TITLES[name],
            "log": _spans(name, lines),
            "lines": [_columns(name, cells, packer) for cells in aligned],
        }
        for name in _TITLES
        if any(cell.get(name) for cells in lines.values() for cell in cells)
    ]
    return {
        "kind": "sweep",
        "axis": {
            "title": axis.title,
            "is_time": is_series,
            "values": list(values),
            "labels": [_tick(axis, value) for value in values],
        },
        "labels": list(lines),
        "x": [packer.add_values([_or_nan(axis.of(cell) if cell else None) for cell in cells]) for cells in aligned],
        "invalid": [packer.add_counts([cell.invalid_runs if cell else 0 for cell in cells]) for cells in aligned],
        "panels": panels,
    }


def _aligned(cells: Sequence[Cell], axis: _Axis, values: Sequence[float], is_series: bool) -> list[Cell | None]:
    """A cell for each place of the axis, or of the schedule; None leaves a gap in the line."""
    if is_series:
        slots = {cell.slot: cell for cell in cells}
        return [slots.get(slot) for slot in range(1 + max(slot or 0 for slot in slots))]
    places = {axis.of(cell): cell for cell in cells}
    return [places.get(value) for value in values]


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _tick(axis: _Axis, value: float) -> str:
    return f"{value:g}" if axis in _AXES[1:] else axis.words(value)


def _spans(name: str, lines: Mapping[str, Sequence[Cell]]) -> bool:
    """Whether values are so far apart that a scale from zero would hide the small ones."""
    values = [found.value for cells in lines.values() for cell in cells if (found := cell.get(name)) and found.value]
    return bool(values) and max(values) > _LOG_FROM * min(values)


def _columns(name: str, cells: Sequence[Cell | None], packer: Packer) -> list[int]:
    """Value, low and high of a line; without intervals only its values."""
    found = [one.shown if cell and (one := cell.get(name)) else None for cell in cells]
    columns = [packer.add_values([_or_nan(one.value if one else None) for one in found])]
    if any(one is not None and one.low is not None for one in found):
        columns.append(packer.add_values([_or_nan(one.low if one else None) for one in found]))
        columns.append(packer.add_values([_or_nan(one.high if one else None) for one in found]))
    return columns


def _note(axis: _Axis, lines: Mapping[str, Sequence[Cell]], cells: Sequence[Cell]) -> str:
    each = f", a line for each of {len(lines)} loads" if len(lines) > 1 else ""
    parts = [f"Against {_inside(axis.title)}{each}."]
    if any((found := cell.get("ops_per_s")) and found.low is not None for cell in cells):
        over = "of the mean over repetitions" if any(cell.runs > 1 for cell in cells) else "within the one run of each"
        parts.append(f"Bars are 95 % intervals {over}; those with an arrow go on beyond the chart.")
        if any(one.shown.half_width is None for cell in cells for name in FIGURES if (one := cell.get(name))):
            parts.append("A figure without one has too little data for it: measured for longer it has one.")
    if any(cell.invalid_runs for cell in cells):
        parts.append("Hollow points have invalid runs: their latencies do not mean what they say.")
    return " ".join(parts)


def _inside(title: str) -> str:
    """Inside a sentence; I/Os stay capital."""
    return title[:1].lower() + title[1:]


def _has_flushes(cells: Sequence[Cell]) -> bool:
    return any(cell.get(name) for cell in cells for name in _OF_FLUSHES)


def _row(cell: Cell, is_series: bool, *, flushes: bool) -> list[str]:
    mark = f", {cell.invalid_runs} INVALID" if cell.invalid_runs else ", doubt" if cell.doubts else ""
    runs = (cell.bounds or f"{cell.runs}") + mark
    point = cell.point
    return [
        *([cell.after] if is_series else []),
        format_bytes(point.block_bytes), format_count(point.jobs), format_count(point.depth),
        *(figure_words(cell, name) for name in (*FIGURES, *(_OF_FLUSHES if flushes else ()))), runs,
    ]  # fmt: skip


def figure_words(cell: Cell, name: str) -> str:
    """'3,193 IOPS ± 40.1 IOPS'; a dash for what was not measured."""
    found, words = cell.get(name), _WORDS[name]
    if found is None:
        return "–"
    return found.shown.words(words)
