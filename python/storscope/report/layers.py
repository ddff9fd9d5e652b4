"""Layers: which entities of a system are counted together.

A host is seen at several heights (VM disks, devices, adapters); summing over heights would count every operation more
than once. A layer holds the entities of one kind in one system. Within it, an entity that lies on another one of the
layer (an LVM volume on its disk) is shown but not summed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from storscope.domain.arrays import BoolArray, FloatArray, IntArray
from storscope.domain.entity import EntityRef
from storscope.report.reading import BYTES, LATENCY, OPS, Evidence, Track

_PREFERENCE = (
    "vdisk", "device", "datastore", "vm_disk", "filesystem", "disk_group", "disk", "job", "adapter", "path", "port",
    "controller", "array", "host", "vm",
)  # fmt: skip
"""Which kind stands for a system: first what serves volumes, then parts, then wholes."""


@dataclass(frozen=True)
class Layer:
    """The entities of one kind in one system."""

    system: str
    kind: str
    tracks: Sequence[Track]
    """All of them, the one with the most queue time first."""
    summed: Sequence[Track]
    """Those whose operations are added up: none lies on another."""
    lies_on: Mapping[EntityRef, str]
    """Entity that is not summed -> names of what it lies on."""


@dataclass(frozen=True)
class Total:
    """A layer added up. Load is a sum; latency the mean of all operations, NaN at instants without any."""

    time_ns: IntArray
    end_ns: IntArray
    columns: Mapping[str, FloatArray]
    weighted: bool
    """False when no operations are known and latency is the plain mean over entities."""


def layers_of(evidence: Evidence) -> list[Layer]:
    """Every layer, grouped by system, the one that stands for its system first."""
    groups: dict[tuple[str, str], list[Track]] = {}
    for track in evidence.tracks:
        groups.setdefault((track.entity.system, track.entity.kind), []).append(track)
    layers = [_layer(system, kind, tracks, evidence) for (system, kind), tracks in groups.items()]
    return sorted(layers, key=lambda layer: (layer.system, *_rank(layer)))


def main_layers(layers: Sequence[Layer]) -> list[Layer]:
    """The layer that stands for each system: the first one of it that has a load or a latency."""
    found: dict[str, Layer] = {}
    for layer in layers:
        if any(track.has(OPS) or track.has(LATENCY) or track.has(BYTES) for track in layer.tracks):
            found.setdefault(layer.system, layer)
    return list(found.values())


def detail_layers(layers: Sequence[Layer]) -> dict[str, Layer]:
    """System -> the first layer in which several entities can be told apart: partitions where there is one device."""
    found: dict[str, Layer] = {}
    for layer in layers:
        if sum(track.has(LATENCY) or track.has(OPS) for track in layer.tracks) > 1:
            found.setdefault(layer.system, layer)
    return found


def queue_seconds(track: Track) -> float:
    """Operations x latency over the whole track, in seconds of waiting; 0 when either is unknown."""
    return float(np.nansum(track.operations * track[LATENCY]) / 1e9)


def total(layer: Layer) -> Total:
    """The layer added up at every instant at which one of its entities begins an interval."""
    tracks = layer.summed
    times = np.unique(np.concatenate([track.time_ns for track in tracks]))
    ends = times.copy()
    weighted = any(track.has(OPS) for track in tracks)
    ops, moved, weight, waiting = (np.full(len(times), np.nan) for _ in range(4))
    for track in tracks:
        index, covered = _covering(track, times)
        ends = np.where(covered, np.maximum(ends, track.end_ns[index]), ends)
        _add(ops, track[OPS][index], covered)
        _add(moved, track[BYTES][index], covered)
        latency = track[LATENCY][index]
        share = track[OPS][index] if weighted else np.ones(len(times))
        timed = covered & np.isfinite(latency) & (share > 0)
        _add(weight, share, timed)
        _add(waiting, share * latency, timed)
    columns = {OPS: ops, BYTES: moved, LATENCY: waiting / weight}
    return Total(times, ends, {name: values for name, values in columns.items() if np.isfinite(values).any()}, weighted)


def track_total(track: Track) -> Total:
    """One entity in the shape of a total."""
    columns = dict(track.columns)
    if LATENCY in columns and OPS in columns:
        columns[LATENCY] = np.where(columns[OPS] == 0, np.nan, columns[LATENCY])
    return Total(track.time_ns, track.end_ns, columns, track.has(OPS))


def _layer(system: str, kind: str, tracks: list[Track], evidence: Evidence) -> Layer:
    here = {track.entity for track in tracks}
    lies_on = {
        track.entity: ", ".join(lower.name for lower in evidence.above.get(track.entity, ()) if lower in here)
        for track in tracks
    }
    lies_on = {entity: names for entity, names in lies_on.items() if names}
    ordered = sorted(tracks, key=lambda track: (-queue_seconds(track), track.entity))
    if len(lies_on) == len(tracks):
        lies_on = {}  # a circle of links: no one is the lowest
    return Layer(system, kind, ordered, [track for track in ordered if track.entity not in lies_on], lies_on)


def _rank(layer: Layer) -> tuple[int, int]:
    complete = any(track.has(OPS, LATENCY) for track in layer.tracks)
    known = layer.kind in _PREFERENCE
    return (0 if complete else 1, _PREFERENCE.index(layer.kind) if known else len(_PREFERENCE))


def _covering(track: Track, times: IntArray) -> tuple[IntArray, BoolArray]:
    """For each instant the interval of the track that covers it, and whether one does.

    Intervals of real tools end a little early or late; a quarter of an interval is forgiven.
    """
    index = np.clip(np.searchsorted(track.time_ns, times, side="right") - 1, 0, None)
    slack = np.int64(np.median(track.end_ns - track.time_ns) // 4)
    covered = (track.time_ns[index] <= times) & (times < track.end_ns[index] + slack)
    return index.astype(np.int64), covered


def _add(target: FloatArray, values: FloatArray, where: BoolArray) -> None:
    """Adds in place; absent values add nothing, and nothing plus nothing stays absent."""
    known = where & np.isfinite(values)
    target[known] = np.where(np.isnan(target[known]), 0.0, target[known]) + values[known]
