"""What evaperf's text and CSV share: rows become observations, one per entity and sample.

Each virtual disk has one row per controller. The row whose controller is not the one in 'Online To' is traffic that
came in at the wrong side and was forwarded (proxied). So a virtual disk's observation is the sum of its rows, with
latencies weighted by operations; `forwarded_per_s` is what the other controller's row counts; and every number of
every row is kept as a counter '<heading> via <controller>'.

A row may be missing: the file was copied while evaperf wrote it, or a cell was no number. What is left is not the load
of the virtual disk (or drive), so there is no observation where the samples around have a row of a controller that this
one lacks. Beware: a row that is missing twice running, or in a file of one sample, is not noticed.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Final

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._evaperf_columns import OBJECTS, Column
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


@dataclass(frozen=True)
class Row:
    """One line of a table: which object, when it was printed, numbers in their printed unit, and words."""

    object: str
    stamp: str | None
    columns: Sequence[Column]
    numbers: Mapping[str, float | None]
    words: Mapping[str, str]
    printed: Sequence[str] = ()
    """The numbers as they stand in the line."""
    separator: str = " "
    """What separates the cells of the line."""

    @property
    def controller(self) -> str | None:
        """The controller the row counts for."""
        return controller_name(self.words.get("controller"))

    @property
    def name(self) -> str | None:
        """The friendly name without the folder all share, else the ID; '' for the array itself."""
        if self.object == "as":
            return ""
        if self.object == "cs":
            return self.controller or self.words.get("name") or self.words.get("serial")
        if self.object in ("vdg", "pdg"):
            return group_name(self.words.get("group") or self.words.get("name") or self.words.get("id"))
        return friendly(self.words.get("name") or self.words.get("id"))

    def value(self, key: str) -> float | None:
        """A measure in canonical units; None where the column is missing or empty."""
        number = self.numbers.get(key)
        column = next((column for column in self.columns if column.key == key), None)
        return None if number is None or column is None else number * column.factor

    def operations(self) -> float | None:
        """All host operations per second of the row."""
        return total(self.value(key) for key in ("read_hit_ops", "read_miss_ops", "read_ops", "write_ops"))


def controller_name(text: str | None) -> str | None:
    """'A' for 'Controller A', 'Ctlr A' and 'A', so that 'Online To' and 'Ctlr' can be compared."""
    words = [word for word in (text or "").split() if word.lower() not in ("controller", "ctlr", "ctrl")]
    return " ".join(words) or None


def friendly(text: str | None) -> str | None:
    r"""'ESX\vmfs01' for '\Virtual Disks\ESX\vmfs01\ACTIVE'; other names as they are."""
    if not text or not text.startswith("\\"):
        return text or None
    parts = [part for part in text.split("\\") if part]
    if parts and parts[0].lower() in ("virtual disks", "disk groups", "hardware", "hosts"):
        parts = parts[1:]
    if len(parts) > 1 and parts[-1] == "ACTIVE":
        parts = parts[:-1]
    return "\\".join(parts) or None


def group_name(text: str | None) -> str | None:
    """The disk group as a name: 'Default Disk Group'."""
    return friendly(text)


def total(values: Iterable[float | None]) -> float | None:
    """The sum of what is there; None when nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def weighted(parts: Iterable[tuple[float | None, float | None]]) -> float | None:
    """Mean of (weight, value) pairs; None when nothing weighs, or when something that weighs has no value."""
    known = [(weight, value) for weight, value in parts if weight]
    if not known or any(value is None for _, value in known):
        return None
    return sum(weight * value for weight, value in known if value is not None) / sum(weight for weight, _ in known)


@dataclass
class _Track:
    """One object of one array: arrays, and objects, may each be sampled at times of their own."""

    end_ns: int
    """When the sample ends that was read last and waits for its length."""
    rows: list[Row]
    gap_ns: int | None = None
    """From the sample before to it; None for the first one."""
    before: Mapping[str | None, Set[str | None]] = field(default_factory=dict)
    """Which controllers had a row of each name in the sample before."""


@dataclass
class Writer:
    """Gathers the rows of a sample and writes it when the next one of its array and object begins."""

    recorder: Recorder
    options: ImportOptions
    stamps: Stamps
    _rows: list[Row] = field(default_factory=list)
    _keys: set[tuple[str | None, ...]] = field(default_factory=set)
    _systems: dict[str, str] = field(default_factory=dict)
    _stamp: str | None = None
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
        """One row. A new time, or a row that was already there, begins a new sample."""
        key = (row.words.get("node"), row.object, row.name, row.controller)
        if self._rows and (key in self._keys or (row.stamp != self._stamp and row.stamp is not None)):
            self._complete()
        self._rows.append(row)
        self._keys.add(key)
        self._stamp = row.stamp or self._stamp
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
            self._rows, self._keys, self._stamp = [], set(), None
            return
        self._last_end_ns = end_ns
        self._rows.sort(key=self._key)
        for key, rows in itertools.groupby(self._rows, key=self._key):
            self._follow(key, end_ns, list(rows))
        self._rows, self._keys, self._stamp = [], set(), None

    def _follow(self, key: tuple[str, str], end_ns: int, rows: list[Row]) -> None:
        """The next sample of a track: the one that waited is written."""
        track = self._tracks.get(key)
        if track is None:
            self._tracks[key] = _Track(end_ns, rows)
            return
        gap_ns = end_ns - track.end_ns
        if gap_ns <= 0:
            self.recorder.warn("The clock went back between two samples; their times overlap.")
        else:
            track.gap_ns = track.gap_ns or gap_ns
            self._long_steps.add(gap_ns, end_ns)
        self._write(track, _controllers(rows))
        track.gap_ns = gap_ns if gap_ns > 0 else track.gap_ns
        track.end_ns, track.rows, track.before = end_ns, rows, _controllers(track.rows)

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
            around = [sample[name] for sample in (track.before, after) if name in sample]
            is_whole = not around or frozenset.intersection(*map(frozenset, around)) <= {row.controller for row in rows}
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
        owner = controller_name(rows[0].words.get("online_to"))
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
        owner = controller_name(rows[0].words.get("online_to"))
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
