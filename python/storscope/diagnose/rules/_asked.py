"""What is asked of something that may be limited: rates, what waits, and how quick it is where nothing waits.

Somebody waits while operations take twice as long as they would alone and two or more are in flight all the time. How
long they would take alone is told by the quicker tenth of the intervals, of reads and of writes apart where the source
parts them, and by the size: what is larger may take the time that a slow link needs for it. So an hour of large I/O is
no queue, nor is a single stream that always has its next operation ready.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.directions import directions, size_bytes
from storscope.diagnose.peers import grids, rests_on
from storscope.diagnose.rules._intervals import median
from storscope.diagnose.tier_limits import ENTITY_OPS_MIN, LARGE_BYTES_PER_S
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.units import NS_PER_S
from storscope.model.plateau import elasticity, spread_factor
from storscope.store.series import Series

LIMITED_KINDS = ("device", "vdisk", "datastore", "vm_disk", "vm", "partition", "filesystem")
"""What limits are set on; disks as well where they are no drives of an array (`_limited`)."""
NEEDS = (
    "operations and latency of devices or volumes, not of an array's drives, over time (iostat -x -t, sar -d, "
    "esxtop -b, perfmon, a table)"
)
"""The evidence that all of this takes."""
_OF_ARRAYS = frozenset({"vdisk", "disk_group", "controller", "array"})
"""Kinds beside which a disk is a drive: nobody sets a limit on it, and what it does others asked for."""
WAITING_FACTOR = 2.0
"""Times the latency alone from which operations wait (ours; what defines the knee for load-at-limit)."""
IN_FLIGHT_MIN = 2.0
"""Operations in flight below which nothing stands behind another one."""
BUSY_MIN = 0.9
"""Share of the time with something in flight below which it had pauses: the load came in bursts of its own pace."""
QUICK_SHARE = 0.1
"""Part of the intervals, those with the least latency, that show how quick it is alone (ours)."""
QUICK_NS = 2_000_000.0
"""Reads that take less come from flash or a cache: half a revolution of a 15,000 rpm drive takes 2 ms."""
DISK_NS = 5_000_000.0
"""What an operation costs a disk at the least: with seeks, of a 15,000 rpm drive."""
_FULL = 0.95
"""Part of a queue limit that is taken from which the queue is what holds operations back (host-queue-full)."""


@dataclass(frozen=True)
class Asked:
    """One thing, or several added up, or the reads or the writes of one."""

    entities: tuple[EntityRef, ...]
    series: Series
    alone_ns: FloatArray
    """How long an operation would take alone, in each interval; NaN where nothing tells it."""
    of: str = ""
    """'reads' or 'writes'; empty of all operations."""
    parts: tuple[Series, ...] = ()
    """Of several added up what each did."""
    known_quick: bool = False
    """Whether a fact, a name or your settings say flash."""
    are_apart: bool = False
    """Whether several added up are devices of their own: quick, with nothing known that two rest on but their host."""
    cached_writes: bool = True
    """Whether writes may be answered by a cache: far quicker than reads, or not to be compared with them."""
    whole: Asked | None = None
    """Of reads or writes alone: what they are part of."""

    @cached_property
    def rates(self) -> dict[str, FloatArray]:
        """'ops' and 'bytes' per second."""
        return {"ops": self.series["ops_per_s"], "bytes": self.series["bytes_per_s"]}

    @cached_property
    def in_flight(self) -> FloatArray:
        """Operations in flight by Little's law."""
        result: FloatArray = self.series["ops_per_s"] * self.series["latency_ns_mean"] / NS_PER_S
        return result

    @cached_property
    def alone_in_flight(self) -> FloatArray:
        """Operations of all kinds that would be in flight if none waited: below 1 it would be idle at times."""
        every = self.whole or self
        result: FloatArray = every.series["ops_per_s"] * every.alone_ns / NS_PER_S
        return result

    @cached_property
    def parts_in_flight(self) -> FloatArray:
        """Of several added up the operations of each in flight, in arrays of (parts, intervals)."""
        rows = [one["ops_per_s"] * one["latency_ns_mean"] / NS_PER_S for one in self.parts]
        return np.nan_to_num(np.stack(rows)) if rows else np.zeros((0, len(self.series)))

    @cached_property
    def parts_alone_in_flight(self) -> FloatArray:
        """The same if none waited."""
        rows = [one["ops_per_s"] * _alone_of_all(one) / NS_PER_S for one in self.parts]
        return np.nan_to_num(np.stack(rows)) if rows else np.zeros((0, len(self.series)))

    @cached_property
    def size(self) -> FloatArray:
        """Bytes an operation."""
        return size_bytes(self.series)

    @cached_property
    def read_share(self) -> FloatArray:
        """Part of the operations that are reads, or else of the bytes; NaN where neither is told."""
        if self.of:
            return np.full(len(self.series), 1.0 if self.of == "reads" else 0.0)
        return _read_share(self.series)

    @cached_property
    def done_share(self) -> FloatArray:
        """Part of all operations that were done when they were answered: reads, and writes that no cache takes."""
        share = _read_share((self.whole or self).series)
        return share if self.cached_writes else np.ones(len(share))

    @cached_property
    def at_work(self) -> BoolArray:
        """Intervals with a rate and a latency that say something."""
        result: BoolArray = (np.nan_to_num(self.series["ops_per_s"]) >= ENTITY_OPS_MIN) & np.isfinite(self.in_flight)
        return result

    @cached_property
    def queues(self) -> BoolArray:
        """Intervals in which two or more (of several things two of each) are in flight all the time, whether they wait
        or the storage works on all of them at once."""
        return self._with_in_flight(IN_FLIGHT_MIN * max(1, len(self.parts)))

    @cached_property
    def waits(self) -> BoolArray:
        """Intervals in which operations wait all the time; where a queue of the host's is full, for a place in it."""
        with np.errstate(invalid="ignore"):
            slow = self.series["latency_ns_mean"] >= WAITING_FACTOR * self.alone_ns
        result: BoolArray = self._with_in_flight(IN_FLIGHT_MIN) & slow
        return result

    def _with_in_flight(self, least: float) -> BoolArray:
        with np.errstate(invalid="ignore"):
            pauses = self.series["busy_ratio"] < BUSY_MIN
            held = self.series["queue_depth_mean"] >= _FULL * self.series["queue_limit"]
        result: BoolArray = self.at_work & (self.in_flight >= least) & ~pauses & ~held
        return result

    @cached_property
    def is_never_alone(self) -> bool:
        """Whether two or more are in flight even in the quickest intervals, and the rate does not go with how many.

        Then nothing tells how long an operation takes alone, so nothing tells who waits: with a constant number in
        flight the latency is their number over the rate whatever the storage does (Little 1961). Where the rate goes
        with it, the storage takes more at once, and nobody waits.
        """
        quick = self.at_work & _are_quickest(self.series["latency_ns_mean"], self.at_work)
        if not quick.any() or not self.queues[quick].mean() > _MOST:
            return False
        in_flight = self.in_flight[self.queues]
        varies = spread_factor(in_flight) >= _DEPTHS_DIFFER
        return not (varies and elasticity(self.rates["ops"][self.queues], in_flight) >= _GOES_ALONG)

    def is_quick(self, when: BoolArray) -> bool:
        """Whether it is flash, or answers reads as quickly in times when nobody waits.

        Where one latency is told of all, reads alone take at most that over their part of the operations.
        """
        if self.known_quick:
            return True
        reads = None if self.of else directions(self.series).get("reads")
        if reads is not None:
            return median(alone_ns(reads)) < QUICK_NS
        share = median(self.read_share[when])
        return share > 0 and median(self.alone_ns[when]) / share < QUICK_NS


_MOST = 0.5
"""Part of the quickest intervals with a queue from which nobody was alone in them (ours)."""
_DEPTHS_DIFFER = 1.5
"""Operations in flight of the tenth with the most over those of the tenth with the least from which it can be told how
the rate goes with them (ours)."""
_GOES_ALONG = 0.5
"""Exponent by which the rate goes with what is in flight from which the storage takes more at once (ours): 1 while
nobody waits, 0 of a limit, about 0.25 of a disk that sorts."""
_CACHED = 0.5
"""Part of the time alone of a read below which a write is answered by a cache (ours)."""


def _read_share(series: Series) -> FloatArray:
    for what in ("ops", "bytes"):
        read, written = series[f"read_{what}_per_s"], series[f"write_{what}_per_s"]
        if np.isfinite(read + written).any():
            with np.errstate(divide="ignore", invalid="ignore"):
                return read / (read + written)
    return np.full(len(series), np.nan)


def _are_writes_cached(parts: Mapping[str, Series]) -> bool:
    """Whether writes alone take far less than reads alone; True where this is not known."""
    if len(parts) < 2:
        return True
    read, written = (median(alone_ns(parts[of])) for of in ("reads", "writes"))
    return not written >= _CACHED * read


def asked_of(case: Case, series: Series) -> list[Asked]:
    """All that is asked of one thing, then its reads and its writes where it has both; none without latency."""
    own = (series.entity,)
    quick = (tier := case.tier(series.entity)).name == "flash" and tier.known_from != "its read latency"
    both = directions(series)
    parts = both if len(both) > 1 else {}
    cached = _are_writes_cached(parts)
    found = [Asked(own, series, _alone_of_all(series), known_quick=quick, cached_writes=cached)]
    for of, part in parts.items():
        shared = {name: series[name] for name in ("busy_ratio",) if series.has(name)}
        told = Series(part.entity, part.time_ns, part.duration_ns, dict(part.columns) | shared, part.captures)
        found.append(Asked(own, told, alone_ns(part), of, known_quick=quick, cached_writes=cached, whole=found[0]))
    return found


def alone_ns(part: Series) -> FloatArray:
    """How long an operation of these sizes would take alone, by the quicker tenth of the intervals."""
    latency, size = part["latency_ns_mean"], size_bytes(part)
    with np.errstate(invalid="ignore"):
        at_work = (np.nan_to_num(part["ops_per_s"]) >= ENTITY_OPS_MIN) & (latency > 0)
    if not at_work.any():
        return np.full(len(part), np.nan)
    quick = at_work & _are_quickest(latency, at_work)
    sizes = size[quick & np.isfinite(size)]
    usual = float(np.median(sizes)) if len(sizes) else 0.0
    larger = np.maximum(np.nan_to_num(size) - usual, 0.0) if len(sizes) else np.zeros(len(part))
    result: FloatArray = float(np.median(latency[quick])) + larger * NS_PER_S / LARGE_BYTES_PER_S
    return result


def _are_quickest(latency: FloatArray, at_work: BoolArray) -> BoolArray:
    """Which latencies are no greater than that of the quickest tenth at work."""
    if not at_work.any():
        return at_work
    with np.errstate(invalid="ignore"):
        result: BoolArray = latency <= np.quantile(latency[at_work], QUICK_SHARE)
    return result


def _alone_of_all(series: Series) -> FloatArray:
    """The same of reads and writes together, each by its own where they are told apart."""
    parts = list(directions(series).values())
    if len(parts) < 2:
        return alone_ns(series)
    ops = np.nan_to_num(np.stack([part["ops_per_s"] for part in parts]))
    alone = np.stack([alone_ns(part) for part in parts])
    return _weighted(alone, ops)


def _weighted(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The mean along the first axis; NaN where there is no weight."""
    weights = np.where(np.isfinite(values), weights, 0.0)
    total = weights.sum(axis=0)
    result: FloatArray = (np.nan_to_num(values) * weights).sum(axis=0)
    return np.where(total > 0, result / np.where(total > 0, total, 1.0), np.nan)


def _limited(case: Case, system: str) -> tuple[str, ...]:
    """The kinds of a system that limits are set on: disks where nothing but disks is known, as cloud disks are called.

    Facts of a disk (its media, its speed, a state) are an array's.
    """
    beside = {entity.kind for entity in case.entities if entity.system == system}
    told = any(entity.kind == "disk" and entity.system == system for entity in case.facts_by_entity)
    grouped = any(link.source.kind == "disk" and link.source.system == system for link in case.links)
    return LIMITED_KINDS if beside & _OF_ARRAYS or told or grouped else (*LIMITED_KINDS, "disk")


def asked_by_system(case: Case) -> dict[str, dict[EntityRef, list[Asked]]]:
    """System -> thing -> what is asked of it; without what has no rate and latency."""
    if "asked" not in case.memo:
        found: dict[str, dict[EntityRef, list[Asked]]] = defaultdict(dict)
        kinds = {system: _limited(case, system) for system in {entity.system for entity in case.all_series}}
        for entity, series in sorted(
            case.series(*LIMITED_KINDS, "disk", needs=("ops_per_s", "latency_ns_mean")).items()
        ):
            if entity.kind in kinds[entity.system]:
                found[entity.system][entity] = asked_of(case, series)
        case.memo["asked"] = dict(found)
    result: dict[str, dict[EntityRef, list[Asked]]] = case.memo["asked"]
    return result


def asked_together(case: Case, system: str) -> list[Asked]:
    """What is asked of all peers of a kind together, such as the volumes of a machine."""
    key = ("asked together", system)
    if key not in case.memo:
        peers = [
            [one for one in grid.series if one.has("ops_per_s", "latency_ns_mean")]
            for grid in grids(case, _limited(case, system))
            if grid.system == system
        ]
        added = (_added_up(case, parts, EntityRef(system, "host", system)) for parts in peers if len(parts) > 1)
        case.memo[key] = [asked for asked in added if asked is not None]
    found: list[Asked] = case.memo[key]
    return found


_ADDED = ("ops_per_s", "bytes_per_s", "read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s")


def _added_up(case: Case, parts: Sequence[Series], whole: EntityRef) -> Asked | None:
    """What is asked of several things of one source together; None where their times differ."""
    first = parts[0]
    if any(not np.array_equal(one.time_ns, first.time_ns) for one in parts):
        return None
    ops = np.stack([np.nan_to_num(one["ops_per_s"]) for one in parts])
    columns = {
        name: np.sum([np.nan_to_num(one[name]) for one in parts], axis=0)
        for name in _ADDED
        if all(one.has(name) for one in parts)
    }
    columns["latency_ns_mean"] = _weighted(np.stack([one["latency_ns_mean"] for one in parts]), ops)
    alone = _weighted(np.stack([_alone_of_all(one) for one in parts]), ops)
    captures = tuple(sorted({capture for one in parts for capture in one.captures}))
    series = Series(whole, first.time_ns, first.duration_ns, columns, captures)
    quick = all(case.tier(one.entity).name == "flash" for one in parts)
    return Asked(
        tuple(one.entity for one in parts), series, alone, parts=tuple(parts), known_quick=quick,
        are_apart=quick and _are_apart(case, [one.entity for one in parts]),
        cached_writes=any(_are_writes_cached(directions(one)) for one in parts),
    )  # fmt: skip


def _are_apart(case: Case, entities: Sequence[EntityRef]) -> bool:
    """Whether no two of them are known to rest on one thing but their host, or on one another."""
    every = [{one, *(below for below in rests_on(case, one) if below.kind != "host")} for one in entities]
    return sum(map(len, every)) == len(set().union(*every))
