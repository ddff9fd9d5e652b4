"""What evaperf's text and CSV share: rows become observations, one per entity and sample.

Each virtual disk has one row per controller. The row whose controller is not the one in 'Online To' is traffic that
came in at the wrong side and was forwarded (proxied). So a virtual disk's observation is the sum of its rows, with
latencies weighted by operations; `forwarded_per_s` is what the other controller's row counts; and every number of
every row is kept as a counter '<heading> via <controller>'.

A row may be missing: the file was copied while evaperf wrote it, or a cell was no number. What is left is not the load
of the virtual disk (or drive), so there is no observation where the samples around have a row of a controller that this
one lacks, or where the disk has one elsewhere in the file, or most disks have (`_evaperf_roster.py`).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Final

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._evaperf_columns import OBJECTS
from storscope.sources.importers._evaperf_roster import Roster, SampleBounds
from storscope.sources.importers._evaperf_row import Row, group_name, total, weighted
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._long_steps import LongSteps
from storscope.sources.importers._stamps import Stamps, has_date

DEFAULT_EVA_SYSTEM: Final = "eva"
"""System of an output that names no array; --system sets another."""

LATENCY_UNIT_GUESSED: Final = (
    "The headings name no unit for latency; milliseconds are assumed. Compare operations x latency with the queue "
    "depth (Little's law) before you trust them."
)

_PARTIAL: Final = "samples of a disk that lack the row of a controller (its rows are kept as counters)"


@dataclass
class _Track:
    """One object of one array: arrays, and objects, may each be sampled at times of their own."""

    end_ns: int
    """When the sample ends that was read last and waits for its length."""
    rows: list[Row]
    gap_ns: int | None = None
    """From the sample before to it; None for the first one."""
    gone: Set[str | None] = frozenset()
    """Controllers of which nothing is to come."""
    before: Mapping[str | None, Set[str | None]] = field(default_factory=dict)
    """Which controllers had a row of each name in the sample before."""


@dataclass
class Writer:
    """Gathers the rows of a sample and writes it when the next one of its array and object begins."""

    recorder: Recorder
    options: ImportOptions
    stamps: Stamps
    roster: Roster
    """Has learnt all rows of the file."""
    _rows: list[Row] = field(default_factory=list)
    _bounds: SampleBounds = field(default_factory=SampleBounds)
    _stamp: str | None = None
    _systems: dict[str, str] = field(default_factory=dict)
    _tracks: dict[tuple[str, str], _Track] = field(default_factory=dict)
    _last_end_ns: int | None = None
    _long_steps: LongSteps = field(default_factory=LongSteps)
    _states: dict[tuple[EntityRef, str], str] = field(default_factory=dict)
    _owner_unclear: set[str] = field(default_factory=set)
    _clock: LocalClock = field(init=False)

    def __post_init__(self) -> None:
        """The clock of times without a zone."""
        self._clock = LocalClock(self.options.zone())

    def add(self, row: Row) -> None:
        """One row."""
        if self._bounds.begins(row):
            self._complete()
        self._rows.append(row)
        self.roster.passed(row)
        self._stamp = self._bounds.stamp
        if any(not column.unit_is_stated for column in row.columns):
            self.recorder.warn(LATENCY_UNIT_GUESSED)

    def finish(self) -> None:
        """After the last row: what still waits, and the last state of every entity as its facts."""
        self._complete()
        for _, track in sorted(self._tracks.items()):
            self._write(track, {})
        for (entity, name), value in self._states.items():
            self.recorder.fact(entity, name, value)
            if name == "online_to":
                self.recorder.link(entity, "owned_by", EntityRef(entity.system, "controller", value))
        if self._owner_unclear:
            self.recorder.warn(
                f"{len(self._owner_unclear)} virtual disks: 'Online To' names no controller of the 'Ctlr' column, so "
                "forwarded operations are unknown."
            )
        self._long_steps.warn(self.recorder)
        if self.recorder.notes.clock:
            self.recorder.notes.clock += self._clock.words + self.stamps.order_words
        if doubt := self.stamps.doubt:
            self.recorder.warn(doubt)

    def _complete(self) -> None:
        if not self._rows:
            return
        end_ns = self._end()
        if end_ns is None:
            self.recorder.omit("rows whose time stamp is no date", len(self._rows))
            self._rows, self._stamp = [], None
            return
        self._last_end_ns = end_ns
        self._rows.sort(key=self._key)
        for key, rows in itertools.groupby(self._rows, key=self._key):
            self._follow(key, end_ns, list(rows))
        self._rows, self._stamp = [], None

    def _follow(self, key: tuple[str, str], end_ns: int, rows: list[Row]) -> None:
        """The next sample of a track: the one that waited is written."""
        track = self._tracks.get(key)
        gone = self.roster.gone(rows)
        if track is None:
            self._tracks[key] = _Track(end_ns, rows, gone=gone)
            return
        gap_ns = end_ns - track.end_ns
        if gap_ns <= 0:
            self.recorder.warn("The clock went back between two samples; their times overlap.")
        else:
            track.gap_ns = track.gap_ns or gap_ns
            self._long_steps.add(gap_ns, end_ns)
        self._write(track, _controllers(rows))
        track.gap_ns = gap_ns if gap_ns > 0 else track.gap_ns
        track.end_ns, track.rows, track.gone, track.before = end_ns, rows, gone, _controllers(track.rows)

    def _key(self, row: Row) -> tuple[str, str]:
        return self._system(row), row.object

    def _end(self) -> int | None:
        """When the sample ends; None where its stamp is damaged."""
        moment = self.stamps.moment(self._stamp, None) if self._stamp else None
        if moment is None and has_date(self._stamp or ""):
            return None
        if moment is not None:
            self.recorder.notes.clock = self.recorder.notes.clock or self.options.zone_words()
            return self._clock.instant(moment)
        step_s = self.options.interval_s or 1.0
        said = "--start" if self.options.start else "1970"
        steps = f"--interval {self.options.interval_s:g} s" if self.options.interval_s else "1 s steps, a guess"
        self.recorder.notes.clock = f"no times in the source; rebuilt from row order, {said}, {steps}"
        step_ns = round(step_s * units.NS_PER_S)
        if self._last_end_ns is not None:
            return self._last_end_ns + step_ns
        start = self.options.start
        if start is None:
            return step_ns
        return units.ns_from_datetime(start if start.tzinfo else start.replace(tzinfo=self.options.zone())) + step_ns

    def _write(self, track: _Track, after: Mapping[str | None, Set[str | None]]) -> None:
        said = self.options.interval_s
        duration_ns = round(said * units.NS_PER_S) if said else track.gap_ns
        start_ns = track.end_ns - (duration_ns or 0)
        order = sorted(track.rows, key=lambda row: row.name or "")
        for name, group in itertools.groupby(order, key=lambda row: row.name):
            rows = list(group)
            if name is None:
                self.recorder.omit("rows without a name or an ID", len(rows))
                continue
            system = self._system(rows[0])
            around = [frozenset(sample[name]) for sample in (track.before, after) if name in sample]
            wanted = self.roster.expected(rows[0]) - track.gone
            wanted |= frozenset.intersection(*around) if around else frozenset()
            is_whole = wanted <= {row.controller for row in rows}
            self.recorder.omit(_PARTIAL, not is_whole)
            entity = EntityRef(system, OBJECTS[rows[0].object], name or system)
            self._entity(entity, rows, start_ns, duration_ns, is_whole=is_whole)

    def _system(self, row: Row) -> str:
        """The array: --system for the first one in the file, else its node name."""
        node = row.words.get("node") or ("" if row.object != "as" else row.words.get("name") or "")
        if not node and self._systems:
            return next(iter(self._systems.values()))
        if node not in self._systems:
            chosen = self.options.system if not self._systems else None
            self._systems[node] = chosen or node or DEFAULT_EVA_SYSTEM
            self.recorder.notes.system = self.recorder.notes.system or self._systems[node]
        return self._systems[node]

    def _entity(
        self, entity: EntityRef, rows: list[Row], start_ns: int, duration_ns: int | None, *, is_whole: bool
    ) -> None:
        first = rows[0]
        self.recorder.entity(entity, label=entity.name.rpartition("\\")[2] or None)
        if first.object != "pdg" and is_whole:
            self.recorder.observe(entity, start_ns, duration_ns, self._canonical(entity, rows))
        for row in rows:
            if row.controller is not None:
                # One that owns nothing is there as well.
                self.recorder.entity(EntityRef(entity.system, "controller", row.controller))
            self._counters(entity, row, start_ns, duration_ns, named=len(rows) > 1 or first.object == "vd")
        self._links(entity, first)
        if first.object == "vd":
            self._changes(entity, rows, start_ns + (duration_ns or 0))

    def _canonical(self, entity: EntityRef, rows: list[Row]) -> dict[str, float | None]:
        if rows[0].object == "cs":
            return {"cpu_busy_ratio": rows[0].value("cpu_percent")}
        if rows[0].object == "as":
            return {"ops_per_s": rows[0].value("host_ops"), "bytes_per_s": rows[0].value("host_bytes")}
        values = _summed(rows)
        if rows[0].object == "vd":
            values["forwarded_per_s"] = self._forwarded(entity, rows)
        return values

    def _forwarded(self, entity: EntityRef, rows: list[Row]) -> float | None:
        """Operations per second at the controller that does not own the virtual disk."""
        owner = rows[0].owner
        controllers = {row.controller for row in rows}
        if owner is None or None in controllers:
            return None
        if owner not in controllers and len(rows) > 1:
            self._owner_unclear.add(entity.name)
            return None
        if controllers == {owner}:
            return None
        return total(row.operations() for row in rows if row.controller != owner)

    def _counters(self, entity: EntityRef, row: Row, start_ns: int, duration_ns: int | None, *, named: bool) -> None:
        via = f" via {row.controller}" if named and row.controller else ""
        prefix = "back end " if row.object == "pdg" else ""
        for column in row.columns:
            if column.is_measure and column.key:
                self.recorder.counter(
                    entity, start_ns, duration_ns, f"{prefix}{column.heading}{via}", column.unit,
                    row.numbers.get(column.key),
                )  # fmt: skip

    def _links(self, entity: EntityRef, row: Row) -> None:
        array = EntityRef(entity.system, "array", entity.system)
        if entity.kind in ("controller", "disk_group"):
            self.recorder.link(entity, "member_of", array)
        group = group_name(row.words.get("group"))
        if group and entity.kind in ("vdisk", "disk"):
            relation = "lives_on" if entity.kind == "vdisk" else "member_of"
            self.recorder.link(entity, relation, EntityRef(entity.system, "disk_group", group))
        for name in ("id", "lun", "mirrored", "enclosure", "bay", "serial"):
            if row.words.get(name):
                self._states[entity, name] = row.words[name]

    def _changes(self, entity: EntityRef, rows: list[Row], time_ns: int) -> None:
        """Owner and write mode are facts; when one differs from the sample before, that is an event too."""
        owner = rows[0].owner
        mode = rows[0].words.get("write_mode") or None
        for name, value, event, attribute in (
            ("online_to", owner, "ownership_changed", "owner"),
            ("write_mode", mode, "cache_policy_changed", "policy"),
        ):
            before = self._states.get((entity, name))
            if value is None:
                continue
            if before is not None and before != value:
                text = f"{name} of {entity.name} changed from {before} to {value} between two samples"
                self.recorder.event(entity, time_ns, event, text, attributes={attribute: value, "was": before})
            self._states[entity, name] = value


def _controllers(rows: Iterable[Row]) -> Mapping[str | None, Set[str | None]]:
    """Which controllers have a row of each name."""
    found: defaultdict[str | None, set[str | None]] = defaultdict(set)
    for row in rows:
        found[row.name].add(row.controller)
    return found


def _summed(rows: list[Row]) -> dict[str, float | None]:
    """One entity's rows as one: rates add up, latencies are weighted by operations."""
    hits = total(row.value("read_hit_ops") for row in rows)
    misses = total(row.value("read_miss_ops") for row in rows)
    reads = total(row.value(key) for row in rows for key in ("read_hit_ops", "read_miss_ops", "read_ops"))
    writes = total(row.value("write_ops") for row in rows)
    return {
        "read_ops_per_s": reads,
        "write_ops_per_s": writes,
        "read_bytes_per_s": total(
            row.value(key) for row in rows for key in ("read_hit_bytes", "read_miss_bytes", "read_bytes")
        ),
        "write_bytes_per_s": total(row.value("write_bytes") for row in rows),
        "read_latency_ns_mean": weighted(
            (row.value(f"{kind}_ops"), row.value(f"{kind}_latency"))
            for row in rows
            for kind in ("read_hit", "read_miss", "read")
        ),
        "write_latency_ns_mean": weighted((row.value("write_ops"), row.value("write_latency")) for row in rows),
        "latency_ns_mean": weighted((row.operations(), row.value("drive_latency")) for row in rows),
        "queue_depth_mean": total(row.value("queue_depth") for row in rows),
        "read_hit_ratio": hits / (hits + misses) if hits is not None and misses is not None and hits + misses else None,
    }
