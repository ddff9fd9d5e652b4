"""Heat maps: how slow operations were over time, and which entity was slow when.

The first counts operations by time and latency. Where the store has distributions over time they are used; else every
operation counts at the mean latency of its interval and entity, which the page says. The second has a row per entity
and shows its greatest interval mean, so a short peak is not averaged away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storscope.domain.arrays import FloatArray, IntArray
from storscope.domain.units import NS_PER_S, format_count, format_duration, format_ratio, format_span
from storscope.report.layers import Layer, detail_layers, main_layers
from storscope.report.pack import Packer
from storscope.report.reading import LATENCY, OPS, Judged, Track
from storscope.report.simulations import simulated_captures
from storscope.report.wording import counted, kind_word
from storscope.store.events import read_events

COLUMNS_MAX = 200
BUCKETS_PER_DECADE = 8
"""Latency buckets: a factor of 1.33 each, finer than anyone judges a latency."""
LATENCY_MIN_NS = 1e3
"""What takes less is drawn here. A simulated write into a cache without controllers takes no time, of which there is no
logarithm, and decades in which nothing is would only flatten what is worth seeing."""
ROWS_MAX = 40
EVENT_ROWS_MAX = 12


@dataclass(frozen=True)
class HeatMap:
    """One heat map: `chart` goes to the data island, the rest to the page."""

    title: str
    system: str
    note: str
    legend: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    chart: Mapping[str, object]
    aria: str


@dataclass(frozen=True)
class _Weights:
    """Operations at instants and latencies."""

    time_ns: IntArray
    latency_ns: FloatArray
    operations: FloatArray
    source: str
    """A sentence on where they come from."""


def heat_maps(
    layers: Sequence[Layer],
    systems: Sequence[str],
    bad_windows: Mapping[str, Sequence[tuple[int, int]]],
    judged: Judged,
    packer: Packer,
) -> list[HeatMap]:
    """The heat maps of these systems, in their order."""
    mains = {layer.system: layer for layer in main_layers(layers)}
    details = detail_layers(layers)
    distributions = _distributions(judged)
    found = []
    for system in systems:
        layer = mains[system]
        columns = _columns(layer.tracks, bad_windows.get(system, ()))
        by_latency = _by_latency(layer, columns, distributions.get(system), packer)
        found += [by_latency] if by_latency else []
        detail = details.get(system, layer)
        slow = [track for track in detail.tracks if np.isfinite(_latency_of_operations(track)).any()]
        if len(slow) > 1 and any(np.isfinite(track[LATENCY]).sum() > 1 for track in slow):
            found.append(_by_entity(detail, slow, _columns(slow, columns.bad), packer))
    return found


@dataclass(frozen=True)
class Columns:
    """Equal slices of time."""

    start_ns: int
    width_ns: int
    count: int
    bad: Sequence[tuple[int, int]] = ()
    """Bad windows, marked above them."""

    def of(self, time_ns: IntArray) -> IntArray:
        """The slice of each instant."""
        return np.clip((time_ns - self.start_ns) // self.width_ns, 0, self.count - 1)

    def chart(self) -> dict[str, object]:
        """For the page, in seconds."""
        return {
            "columns": {"start": self.start_ns / 1e9, "width": self.width_ns / 1e9, "count": self.count},
            "bad": [[start / 1e9, end / 1e9] for start, end in self.bad],
        }


def _columns(tracks: Sequence[Track], bad: Sequence[tuple[int, int]]) -> Columns:
    """At most COLUMNS_MAX slices, none shorter than the longest usual interval, so that none is empty by chance."""
    start = min(int(track.time_ns[0]) for track in tracks)
    end = max(int(track.end_ns[-1]) for track in tracks)
    interval = max(int(np.median(track.end_ns - track.time_ns)) for track in tracks)
    steps = math.ceil(max(1, math.ceil((end - start) / max(1, interval))) / COLUMNS_MAX)
    width = max(1, steps * max(1, interval))
    return Columns(start, width, max(1, math.ceil((end - start) / width)), bad)


def _by_latency(layer: Layer, columns: Columns, distribution: _Weights | None, packer: Packer) -> HeatMap | None:
    weights = distribution or _from_means(layer)
    if weights is None or not weights.operations.sum():
        return None
    latency_ns = np.maximum(weights.latency_ns, LATENCY_MIN_NS)
    edges = _edges(latency_ns)
    row = np.clip(np.searchsorted(edges, latency_ns, side="left") - 1, 0, len(edges) - 2)
    cells = np.zeros((len(edges) - 1, columns.count))
    np.add.at(cells, (row, columns.of(weights.time_ns)), weights.operations)
    seen = np.zeros(columns.count, dtype=bool)
    for track in layer.tracks:
        seen[columns.of(track.time_ns)] = True
    cells[:, ~seen & (cells.sum(axis=0) == 0)] = np.nan
    floor = format_duration(LATENCY_MIN_NS)
    raised = f" What took less than {floor} counts as {floor}." if (weights.latency_ns < LATENCY_MIN_NS).any() else ""
    return HeatMap(
        title="How slow were the operations?",
        system=layer.system,
        note=f"Stronger colour means more operations at that time and latency. {weights.source}{raised} "
        f"One column is {format_span(columns.width_ns)}.",
        legend="operations",
        heads=["Latency", "Operations", "Share"],
        rows=_latency_rows(edges, cells),
        chart={
            "kind": "matrix", **columns.chart(), "edges": edges.tolist(), "rows": len(edges) - 1,
            "cells": packer.add_values(cells.ravel()), "unit": "operations", "scale": "log",
        },
        aria=f"Heat map of {layer.system}: operations by time and latency, {_slowest_words(edges, cells)}.",
    )  # fmt: skip


def _from_means(layer: Layer) -> _Weights | None:
    parts = []
    for track in layer.summed:
        operations = track.operations
        keep = np.isfinite(operations) & (operations > 0) & (track[LATENCY] > 0)
        parts.append((track.time_ns[keep], track[LATENCY][keep], operations[keep]))
    times, latencies, operations = (np.concatenate(part) for part in zip(*parts, strict=True))
    source = (
        "The evidence has means only: each operation counts at the mean latency of its interval and "
        f"{kind_word(layer.kind)}."
    )
    return _Weights(times, latencies, operations, source) if len(times) else None


def _edges(latency_ns: FloatArray) -> FloatArray:
    low = math.floor(math.log10(latency_ns.min()) * BUCKETS_PER_DECADE - 1e-9)
    high = max(low + 4, math.ceil(math.log10(latency_ns.max()) * BUCKETS_PER_DECADE))
    return np.asarray(10.0 ** (np.arange(low, high + 1) / BUCKETS_PER_DECADE), dtype=np.float64)


def _latency_rows(edges: FloatArray, cells: npt.NDArray[np.float64]) -> list[list[str]]:
    sums = np.nansum(cells, axis=1)
    return [
        [
            f"{format_duration(edges[row])} to {format_duration(edges[row + 1])}",
            format_count(round(sums[row])),
            format_ratio(sums[row] / sums.sum()),
        ]
        for row in range(len(sums) - 1, -1, -1)
        if sums[row]
    ]


def _slowest_words(edges: FloatArray, cells: npt.NDArray[np.float64]) -> str:
    sums = np.nansum(cells, axis=1)
    rank = np.cumsum(sums) / sums.sum()
    half, tail = int(np.searchsorted(rank, 0.5)), int(np.searchsorted(rank, 0.99))
    middle, slow = edges[half + 1], edges[min(tail, len(sums) - 1) + 1]
    return f"half of them below {format_duration(middle)}, 99 % below {format_duration(slow)}"


_DISTRIBUTIONS = """
SELECT system, capture, measure, time_ns, low, high, sum(count)::DOUBLE AS operations FROM (
    SELECT system, capture, measure, {instant} AS time_ns, unnest(bucket_low_ns) AS low,
           unnest(bucket_high_ns) AS high, unnest(counts) AS count
    FROM histograms WHERE run IS NULL AND time IS NOT NULL AND {condition}
) WHERE count > 0 GROUP BY system, capture, measure, time_ns, low, high
ORDER BY system, measure = 'lat' DESC, measure, time_ns, low, high
"""
"""Entities are added up here: each has its own buckets in each interval, which may be tens of millions."""


def _distributions(judged: Judged) -> dict[str, _Weights]:
    """System -> its distributions over time, of one measure: 'lat' where there is one."""
    table = judged.store.query(
        _DISTRIBUTIONS.format(instant=judged.frame.instant(), condition=judged.frame.condition())
    )
    systems, measures, captures = (
        table.column(name).to_numpy(zero_copy_only=False).astype(str) for name in ("system", "measure", "capture")
    )
    times = table.column("time_ns").to_numpy().astype(np.int64)
    low, high, operations = (table.column(name).to_numpy().astype(np.float64) for name in ("low", "high", "operations"))
    middles, simulated = np.sqrt(np.maximum(low, 1.0) * high), simulated_captures(judged.store)
    found = {}
    for system in np.unique(systems):
        own = systems == system
        source = "simulated" if set(captures[own]) <= simulated else "measured"
        chosen = own & (measures == measures[own][0])
        if len(np.unique(times[chosen])) > 1:
            kept = chosen & np.isfinite(middles)
            said = f"From {source} distributions."
            found[str(system)] = _Weights(times[kept], middles[kept], operations[kept], said)
    return found


def _by_entity(layer: Layer, tracks: Sequence[Track], columns: Columns, packer: Packer) -> HeatMap:
    drawn = tracks[:ROWS_MAX]
    cells = np.full((len(drawn), columns.count), np.nan)
    for number, track in enumerate(drawn):
        np.fmax.at(cells[number], columns.of(track.time_ns), _latency_of_operations(track))
    words = kind_word(layer.kind, 2)
    left = f" {len(tracks) - len(drawn)} with less queue time are left out." if len(tracks) > len(drawn) else ""
    return HeatMap(
        title=f"Which {kind_word(layer.kind)} was slow, and when?",
        system=layer.system,
        note=f"Stronger colour means slower: the greatest interval mean in each {format_span(columns.width_ns)}. "
        f"The {words} with the most queue time come first.{left}",
        legend="latency",
        heads=[kind_word(layer.kind).capitalize(), "Median", "Highest"],
        rows=[[track.label, *_median_and_peak(cells[number])] for number, track in enumerate(drawn)],
        chart={
            "kind": "matrix", **columns.chart(), "names": [track.label for track in drawn], "rows": len(drawn),
            "cells": packer.add_values(cells.ravel()), "unit": "latency", "scale": "log",
        },
        aria=f"Heat map of {layer.system}: latency of {counted(len(drawn), kind_word(layer.kind), words)} over time.",
    )  # fmt: skip


def _latency_of_operations(track: Track) -> FloatArray:
    """NaN where none was done: tools print 0 there."""
    return np.where(track[OPS] == 0, np.nan, track[LATENCY])


def _median_and_peak(values: FloatArray) -> list[str]:
    if not np.isfinite(values).any():
        return ["–", "–"]
    return [format_duration(float(np.nanmedian(values))), format_duration(float(np.nanmax(values)))]


def event_map(judged: Judged, packer: Packer, layers: Sequence[Layer] = ()) -> HeatMap | None:
    """What logs said over time, a row per type of event; None when there is no stretch of time. The axis holds what is
    drawn of `layers`, too: it is that of the other charts, unless logs go further."""
    events = [(one.time_ns, one.type) for one in read_events(judged.store, judged.frame) if one.time_ns is not None]
    times = np.array([time_ns for time_ns, _ in events], dtype=np.int64)
    if not len(times) or times[-1] - times[0] < NS_PER_S:
        return None
    types = np.array([type_ for _, type_ in events])
    names, number, counts = np.unique(types, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:EVENT_ROWS_MAX]
    tracks = [track for layer in layers for track in layer.tracks]
    start = min([int(times[0]), *(int(track.time_ns[0]) for track in tracks)])
    end = max([int(times[-1]) + 1, *(int(track.end_ns[-1]) for track in tracks)])
    width = max(NS_PER_S, -(-(end - start) // 120))
    columns = Columns(start, width, max(1, math.ceil((end - start) / width)))
    cells = np.zeros((len(names), columns.count))
    np.add.at(cells, (number, columns.of(times)), 1.0)
    labels = [str(names[index]).replace("_", " ") for index in order]
    left = f" {len(names) - len(order)} rarer types are left out." if len(names) > len(order) else ""
    return HeatMap(
        title="What did the logs say, and when?",
        system="",
        note=f"Stronger colour means more events in {format_span(width)}.{left}",
        legend="events",
        heads=["Event", "Count"],
        rows=[[label, format_count(int(counts[index]))] for label, index in zip(labels, order, strict=True)],
        chart={
            "kind": "matrix", **columns.chart(), "names": labels, "rows": len(order),
            "cells": packer.add_values(cells[order].ravel()), "unit": "events", "scale": "log",
        },
        aria=f"Events over time: {counted(len(times), 'event')} of {counted(len(names), 'type')}.",
    )  # fmt: skip
