"""Peers: entities of one kind in one system that can be compared and added up, on one grid of time.

A whole never competes with its own parts. Where an entity rests on another of its kind (a partition's device-mapper
volume on its disk), either the parts or the whole take part: the parts when they account for at least half of the
whole's operations, else the whole. Devices of a kernel that no link ties together are peers by layer (block_layers).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from storscope.diagnose.block_layers import are_linked, carriers, layers
from storscope.diagnose.case import Case
from storscope.diagnose.directions import DIRECTIONS, directions
from storscope.diagnose.vm_luns import VM_KINDS, luns_of_vms
from storscope.domain.arrays import BoolArray, FloatArray, IntArray
from storscope.domain.entity import EntityRef
from storscope.store.series import Series, after_gaps

CLIENT_KINDS = ("process", "job", "vm", "vm_disk", "partition", "filesystem", "vdisk", "device", "datastore")
"""Kinds that bring load, nearest to its cause first. Disks, controllers and paths carry what these bring."""

LAYER_KINDS = ("vdisk", "device", "datastore", "vm_disk", "filesystem", "partition", "disk_group", "array", "vm",
               "disk", "job", "process")  # fmt: skip
"""Which kind stands for a system as a whole: first what serves volumes, then parts, then wholes."""


@dataclass(frozen=True)
class Grid:
    """Load and latency of peers on common intervals: arrays of shape (intervals, entities), NaN where absent."""

    entities: tuple[EntityRef, ...]
    time_ns: IntArray
    step_ns: int
    ops: FloatArray
    bytes: FloatArray
    latency_ns: FloatArray
    captures: tuple[str, ...]
    anew: BoolArray
    """True for the intervals that do not follow on the one before: time was not measured between them."""
    series: tuple[Series, ...]
    """What it was made of, one an entity."""

    @property
    def system(self) -> str:
        """The system all of them are in."""
        return self.entities[0].system

    @property
    def kind(self) -> str:
        """The kind all of them are of."""
        return self.entities[0].kind

    @cached_property
    def waiting(self) -> FloatArray:
        """Operations in flight by Little's law, ops x latency in seconds; 0 where either is absent."""
        result: FloatArray = np.nan_to_num(self.ops * self.latency_ns) / 1e9
        return result

    @cached_property
    def total_ops(self) -> FloatArray:
        """Operations per second of all; NaN where none is known."""
        return np.where(np.isfinite(self.ops).any(axis=1), np.nansum(self.ops, axis=1), np.nan)

    @cached_property
    def total_latency_ns(self) -> FloatArray:
        """Mean latency of all operations; NaN where there is none."""
        timed = np.where(np.isfinite(self.latency_ns), np.nan_to_num(self.ops), 0.0).sum(axis=1)
        return np.where(timed > 0, self.waiting.sum(axis=1) * 1e9 / np.where(timed > 0, timed, 1.0), np.nan)

    def inside(self, windows: Iterable[tuple[int, int]]) -> BoolArray:
        """True for the intervals whose middle lies in one of the windows."""
        middle = self.time_ns + self.step_ns // 2
        result = np.zeros(len(middle), dtype=bool)
        for start, end in windows:
            result |= (middle >= start) & (middle < end)
        return result


def peers(case: Case, system: str, kind: str, *needs: str) -> list[Series]:
    """The entities of a kind that compete in a system, parts and wholes never together; in order of name.

    Where they form layers without links, those of the layer that has all of the load.
    """
    return peer_layers(case, system, kind, *needs)[-1]


def peer_layers(case: Case, system: str, kind: str, *needs: str) -> list[list[Series]]:
    """The entities of a kind that compete in a system, by layer; the last has all of the load, each load once."""
    series = {
        entity: found
        for entity, found in case.series(kind, needs=("ops_per_s", *needs)).items()
        if entity.system == system
    }
    every = [series[entity] for entity in sorted(series)]
    if kind == "device" and len(every) > 1 and not are_linked(case, every):
        return layers(case, every)
    if kind not in {"device", "filesystem", "vdisk", "partition", "process", "datastore"}:
        return [every]
    return [_without_double(case, series)]


def _without_double(case: Case, series: Mapping[EntityRef, Series]) -> list[Series]:
    """Of a part and its whole only one; in order of name."""
    parts_of: dict[EntityRef, set[EntityRef]] = defaultdict(set)
    for entity in series:
        for whole in case.components(entity) & series.keys():
            parts_of[whole].add(entity)
    dropped: set[EntityRef] = set()
    for whole, parts in sorted(parts_of.items()):
        if whole in dropped or parts <= dropped:
            continue
        known = sum(_operations(series[part]) for part in parts)
        dropped |= {whole} if known >= 0.5 * _operations(series[whole]) else parts
    return [series[entity] for entity in sorted(series.keys() - dropped)]


def _operations(series: Series) -> float:
    return float(np.nansum(series["ops_per_s"]) * series.interval_ns)


def grid_of(case: Case, system: str, kind: str) -> Grid | None:
    """The grid of the peers of a kind in a system, made once; None when none has operations."""
    found = _layer_grids(case, system, kind)
    return found[-1] if found else None


def _layer_grids(case: Case, system: str, kind: str) -> list[Grid]:
    key = ("grids", system, kind)
    if key not in case.memo:
        made = (make_grid(layer) for layer in peer_layers(case, system, kind))
        case.memo[key] = [grid for grid in made if grid is not None]
    found: list[Grid] = case.memo[key]
    return found


def grids(case: Case, kinds: Sequence[str]) -> list[Grid]:
    """The grids of every system and kind with operations, in order of system, then of `kinds`, then of layers."""
    present = sorted({(entity.system, kinds.index(entity.kind)) for entity in case.all_series if entity.kind in kinds})
    return [grid for system, index in present for grid in _layer_grids(case, system, kinds[index])]


def system_grids(case: Case) -> dict[str, Grid]:
    """System -> the grid that stands for it: of the first kind in LAYER_KINDS with operations and latency."""
    if "system_grids" not in case.memo:
        found: dict[str, Grid] = {}
        systems = {(entity.system, entity.kind) for entity in case.series(needs=("ops_per_s", "latency_ns_mean"))}
        for system, kind in sorted(systems, key=lambda pair: (pair[0], _rank(pair[1]))):
            if system not in found and kind in LAYER_KINDS:
                grid = grid_of(case, system, kind)
                if grid is not None and np.isfinite(grid.total_latency_ns).any():
                    found[system] = grid
        case.memo["system_grids"] = found
    result: dict[str, Grid] = case.memo["system_grids"]
    return result


def _rank(kind: str) -> int:
    return LAYER_KINDS.index(kind) if kind in LAYER_KINDS else len(LAYER_KINDS)


def make_grid(series: Sequence[Series]) -> Grid | None:
    """Series on common intervals: as they are when they share them, else averaged into the longest one's steps."""
    series = [one for one in series if len(one)]
    if not series:
        return None
    captures = tuple(sorted({capture for one in series for capture in one.captures}))
    entities = tuple(one.entity for one in series)
    step = max([1, *(one.interval_ns for one in series)])
    first = series[0].time_ns
    if all(one.time_ns is first or np.array_equal(one.time_ns, first) for one in series):
        columns = [np.stack([one[name] for one in series], axis=1) for name in _COLUMNS]
        anew = after_gaps(first, series[0].duration_ns, step)
        return Grid(entities, first, step, columns[0], columns[1], columns[2], captures, anew, tuple(series))
    return _binned(series, entities, step, captures)


_COLUMNS = ("ops_per_s", "bytes_per_s", "latency_ns_mean")


def _binned(series: Sequence[Series], entities: tuple[EntityRef, ...], step: int, captures: tuple[str, ...]) -> Grid:
    """Means per step; latency is weighted by operations. Steps in which nobody was seen are left out."""
    origin = min(int(one.time_ns[0]) for one in series)
    places = [(one.time_ns + one.duration_ns // 2 - origin) // step for one in series]
    kept = np.unique(np.concatenate(places))
    ops, moved, latency = (np.full((len(kept), len(series)), np.nan) for _ in range(3))
    for column, (one, place) in enumerate(zip(series, places, strict=True)):
        index = np.searchsorted(kept, place)
        rate, timed = one["ops_per_s"], np.isfinite(one["latency_ns_mean"]) & (one["ops_per_s"] > 0)
        ops[:, column] = _mean_by(index, rate, np.isfinite(rate), len(kept))
        moved[:, column] = _mean_by(index, one["bytes_per_s"], np.isfinite(one["bytes_per_s"]), len(kept))
        latency[:, column] = _mean_by(index, one["latency_ns_mean"], timed, len(kept), rate)
        if one.entity.kind == "job":
            # A job's engine writes every interval of a run: where there is none it did not run, and brought no load.
            ops[:, column], moved[:, column] = np.nan_to_num(ops[:, column]), np.nan_to_num(moved[:, column])
    times: IntArray = origin + kept * step
    anew = after_gaps(times, np.full(len(times), step), step)
    return Grid(entities, times, step, ops, moved, latency, captures, anew, tuple(series))


def direction_grids(grid: Grid, share_min: float, share_of_all_min: float) -> dict[str, Grid]:
    """'reads' and 'writes' -> a grid of these, with the same intervals and entities; NaN of who does not part them.

    Left out is a direction with less than `share_min` of an entity's operations, or `share_of_all_min` of those of all.
    """
    parts = [directions(series, share_min) for series in grid.series]
    found = {}
    for of in DIRECTIONS:
        own = [part.get(of, replace(one, columns={})) for part, one in zip(parts, grid.series, strict=True)]
        made = make_grid(own) if any(of in part for part in parts) else None
        if made is not None and np.nansum(made.ops) >= share_of_all_min * np.nansum(grid.ops):
            found[of] = made
    return found


def _mean_by(
    index: IntArray, values: FloatArray, known: BoolArray, size: int, weights: FloatArray | None = None
) -> FloatArray:
    weight = known.astype(np.float64) if weights is None else np.where(known, weights, 0.0)
    total = np.bincount(index, np.where(known, values, 0.0) * weight, size)
    count = np.bincount(index, weight, size)
    return np.where(count > 0, total / np.where(count > 0, count, 1.0), np.nan)


def rests_on(case: Case, entity: EntityRef) -> frozenset[EntityRef]:
    """Everything an entity rests on, by links or, where none says it, by loads that add up (block_layers, vm_luns)."""
    below = case.components(entity)
    if entity.kind in VM_KINDS:
        return below | luns_of_vms(case, entity.system).get(entity, frozenset())
    return below | carriers(case, entity.system).get(entity, frozenset()) if entity.kind == "device" else below


def clusters(case: Case, chosen: Mapping[EntityRef, object]) -> list[list[EntityRef]]:
    """Entities that are parts or wholes of one another, put together: a VM with its disk and the device below it.

    Within a cluster, and between clusters, the one nearest to the cause of load comes first (CLIENT_KINDS); of one
    kind, in a cluster, what rests on the others.
    """
    order: Callable[[EntityRef], tuple[int, EntityRef]] = lambda entity: (  # noqa: E731
        CLIENT_KINDS.index(entity.kind) if entity.kind in CLIENT_KINDS else len(CLIENT_KINDS),
        entity,
    )
    found: list[list[EntityRef]] = []
    for entity in sorted(chosen, key=order):
        related = [
            cluster
            for cluster in found
            if any(entity in rests_on(case, other) or other in rests_on(case, entity) for other in cluster)
        ]
        joined = [entity for cluster in related for entity in cluster] + [entity]
        found = [cluster for cluster in found if cluster not in related] + [_uppermost_first(case, joined, order)]
    return sorted(found, key=lambda cluster: order(cluster[0]))


def _uppermost_first(
    case: Case, joined: Sequence[EntityRef], order: Callable[[EntityRef], tuple[int, EntityRef]]
) -> list[EntityRef]:
    below = {entity: len(rests_on(case, entity) & set(joined)) for entity in joined}
    return sorted(joined, key=lambda entity: (order(entity)[0], -below[entity], entity))
