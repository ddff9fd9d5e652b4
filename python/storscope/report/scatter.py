"""Latency against load, with the knee where a finding gives one.

Every point is one interval that was observed, one run, or one stream of a run. Of points that would cover each other on
the screen one is kept, and always those with the least and the greatest load and latency.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from storscope.domain.arrays import BoolArray, FloatArray, IntArray
from storscope.domain.finding import Finding
from storscope.domain.units import format_count, format_duration, format_rate
from storscope.report.layers import Layer, Total, main_layers, total, track_total
from storscope.report.pack import Packer
from storscope.report.reading import LATENCY, OPS
from storscope.report.wording import entity_words, kind_word

KNEE_RULE = "load-at-limit"
CHARTS_MAX = 8
_GRID = (300, 160)
"""Cells in which one point stands for all: two to three pixels on a wide screen."""
_SLICES = 10


@dataclass(frozen=True)
class Scatter:
    """One chart: `chart` goes to the data island, the rest to the page."""

    title: str
    note: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    chart: Mapping[str, object]
    aria: str


@dataclass(frozen=True)
class Points:
    """What the points of a chart are."""

    title: str
    what: str = "intervals"
    each: str = "observed intervals"
    """With more words, of which each point is one."""
    names: Sequence[str] = ()
    """Of each point; none of intervals."""


@dataclass(frozen=True)
class _Knee:
    ops_per_s: float
    low: float | None
    high: float | None


def scatters(
    layers: Sequence[Layer],
    findings: Sequence[Finding],
    bad_windows: Mapping[str, Sequence[tuple[int, int]]],
    packer: Packer,
) -> list[Scatter]:
    """A chart for each entity with a knee; for systems without one, a chart of the system as a whole."""
    tracks = {track.entity: track for layer in layers for track in layer.tracks}
    found: list[Scatter] = []
    covered: set[str] = set()
    for finding in findings:
        knee = _knee(finding)
        for entity in finding.entities if knee else ():
            if entity in tracks and len(found) < CHARTS_MAX:
                title = entity_words(entity, tracks[entity].label)
                found += _scatter(title, track_total(tracks[entity]), knee, bad_windows.get(entity.system, ()), packer)
                covered.add(entity.system)
                break
    for layer in main_layers(layers):
        if layer.system not in covered and len(found) < CHARTS_MAX:
            title = (
                f"{layer.system}, all {kind_word(layer.kind, 2)}"
                if len(layer.tracks) > 1
                else f"{layer.system}, {layer.tracks[0].label}"
            )
            found += _scatter(title, total(layer), None, bad_windows.get(layer.system, ()), packer)
    return found


def run_scatter(points: Points, ops: FloatArray, latency_ns: FloatArray, packer: Packer) -> Scatter | None:
    """Runs, or parts of them, as points; None for fewer than three that have both numbers."""
    keep = np.isfinite(ops) & np.isfinite(latency_ns) & (ops > 0) & (latency_ns > 0)
    if keep.sum() < 3:
        return None
    kept = replace(points, names=[name for name, stays in zip(points.names, keep, strict=True) if stays])
    return _chart(kept, ops[keep], latency_ns[keep], np.zeros(int(keep.sum()), dtype=bool), None, packer)


def _knee(finding: Finding) -> _Knee | None:
    """The knee of a finding, read by key: other rules may know none, and an interval may be missing."""
    if finding.rule != KNEE_RULE:
        return None
    value = _number(finding, "knee_ops_per_s")
    if value is None:
        return None
    low = _number(finding, "knee_low_ops_per_s", "knee_ops_per_s_low", "knee_low")
    high = _number(finding, "knee_high_ops_per_s", "knee_ops_per_s_high", "knee_high")
    return _Knee(value, low, high)


def _number(finding: Finding, *names: str) -> float | None:
    for name in names:
        value = finding.numbers.get(name)
        if value is not None and np.isfinite(value) and value > 0:
            return float(value)
    return None


def _scatter(
    title: str, whole: Total, knee: _Knee | None, bad: Sequence[tuple[int, int]], packer: Packer
) -> list[Scatter]:
    if OPS not in whole.columns or LATENCY not in whole.columns:
        return []
    ops, latency = whole.columns[OPS], whole.columns[LATENCY]
    keep = np.isfinite(ops) & np.isfinite(latency) & (ops > 0)
    if keep.sum() < 3:
        return []
    return [_chart(Points(title), ops[keep], latency[keep], _inside(whole, bad)[keep], knee, packer)]


def _inside(whole: Total, bad: Sequence[tuple[int, int]]) -> BoolArray:
    inside = np.zeros(len(whole.time_ns), dtype=bool)
    for start, end in bad:
        inside |= (whole.time_ns < end) & (whole.end_ns > start)
    return inside


def _chart(
    points: Points, ops: FloatArray, latency: FloatArray, bad: BoolArray, knee: _Knee | None, packer: Packer
) -> Scatter:
    chosen = np.arange(len(ops)) if points.names else thinned(ops, latency, bad)
    chosen = chosen[np.argsort(ops[chosen], kind="stable")]
    return Scatter(
        title=points.title,
        note=_note(len(ops), len(chosen), bool(bad.any()), knee, points.each),
        heads=["Load up to", points.what.capitalize(), "Median latency", "Highest latency"],
        rows=_rows(ops, latency),
        chart={
            "kind": "scatter",
            "x": packer.add_values(ops[chosen]),
            "y": packer.add_values(latency[chosen]),
            "bad": packer.add_counts(bad[chosen]),
            "names": [points.names[index] for index in chosen] if points.names else [],
            "knee": None if knee is None else {"x": knee.ops_per_s, "low": knee.low, "high": knee.high},
        },
        aria=f"Latency against load, {points.title}: {format_count(len(ops))} {points.what}"
        + (f", knee at {format_rate(knee.ops_per_s)}." if knee else "."),
    )


def thinned(x: FloatArray, y: FloatArray, marked: BoolArray) -> IntArray:
    """Indices of one point per cell of a grid (marked and unmarked apart), and of all four extremes."""

    def cell(values: FloatArray, cells: int) -> IntArray:
        low, high = values.min(), values.max()
        return (
            np.floor((values - low) / (high - low) * (cells - 1)).astype(np.int64)
            if high > low
            else np.zeros(len(values), np.int64)
        )

    code = (cell(x, _GRID[0]) * _GRID[1] + cell(y, _GRID[1])) * 2 + marked
    _, first = np.unique(code, return_index=True)
    extremes = [x.argmin(), x.argmax(), y.argmin(), y.argmax()]
    return np.unique(np.concatenate([first, extremes])).astype(np.int64)


def _note(count: int, drawn: int, any_bad: bool, knee: _Knee | None, each: str) -> str:
    parts = [f"Each point is one of {format_count(count)} {each}."]
    if drawn < count:
        parts.append(f"{format_count(drawn)} are drawn; the others would cover each other.")
    if any_bad:
        parts.append("Filled points lie in bad windows.")
    if knee:
        interval = (
            f", interval {format_rate(knee.low, '').strip()} to {format_rate(knee.high)}"
            if knee.low and knee.high
            else ""
        )
        parts.append(
            f"The knee lies at {format_rate(knee.ops_per_s)}{interval}: beyond it latency rises steeply with load."
        )
    return " ".join(parts)


def _rows(ops: FloatArray, latency: FloatArray) -> list[list[str]]:
    """Latency by slices of load with equally many points."""
    slices = np.array_split(np.argsort(ops, kind="stable"), min(_SLICES, len(ops)))
    return [
        [
            format_rate(float(ops[part].max())), format_count(len(part)),
            format_duration(float(np.median(latency[part]))), format_duration(float(latency[part].max())),
        ]
        for part in slices
    ]  # fmt: skip
