"""The case: the evidence as the rules see it.

It reads the store once per kind of question, keeps what it read, and hands out plain arrays. Benchmark results are
kept apart from counters of running systems. Where two captures of one entity overlap in time, the fuller one is used
and the other set aside, so that nothing is counted twice; `notes` says so.
"""

from __future__ import annotations

import fnmatch
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from storscope.diagnose.holes import holes
from storscope.domain.entity import SHARING_RELATIONS, EntityRef, Link
from storscope.domain.finding import Cell, EvidenceRows
from storscope.domain.rows import plain_rows
from storscope.domain.schema import CANONICAL
from storscope.domain.units import format_span, format_time
from storscope.domain.verdict import Note, NotePlace
from storscope.store import Store
from storscope.store.competing import running_condition
from storscope.store.events import Event, read_events
from storscope.store.series import Series, clashes, floats, fuller, groups, ints, joined, read_pieces
from storscope.store.time_frame import TimeFrame

_CLASHES_PASSED = 2
"""Intervals of a series that may begin before the one before is over: the last slice of a queue is cut short."""
EVIDENCE_ROWS = 20
"""Rows an evidence table shows; the query beside it gives all."""

FLASH_READ_LATENCY_NS = 500_000
"""Quicker mean reads come from flash or a cache: half a revolution of a 15,000 rpm drive alone takes 2 ms."""


_NVME_NAME = re.compile(r"(/dev/)?nvme\d+(c\d+)?(n\d+(p\d+)?)?|t10\.NVMe_.*")
"""What Linux (drivers/nvme/host/core.c, multipath.c) and ESXi call NVMe devices; hardly any holds a rotating disk."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A row of `facts`."""

    capture: str
    entity: EntityRef
    name: str
    value: str
    number: float | None
    unit: str | None


@dataclass(frozen=True, slots=True)
class Tier:
    """Which thresholds suit an entity, and how we know."""

    name: str
    """'flash' or 'disk'."""
    known_from: str
    """'your settings', 'a fact in the evidence', 'its name', 'its read latency', or 'assumed'."""

    @property
    def is_assumed(self) -> bool:
        """True when nobody says what it is: names and quick reads only suggest it."""
        return self.known_from in {"assumed", "its name", "its read latency"}


@dataclass
class Case:
    """The evidence of a store, between `since_ns` and `until_ns` when given."""

    store: Store
    since_ns: int | None = None
    until_ns: int | None = None
    tier_patterns: Sequence[tuple[str, str]] = ()
    """(pattern over entity names, 'flash' | 'disk'), first match wins."""
    seed: int = 0
    """For bootstrap intervals."""
    notes: list[Note] = field(default_factory=list)
    clock_offsets_ns: Mapping[str, int] = field(default_factory=dict)
    """Capture -> what is added to its times so that clocks agree. Set before anything is read."""
    zero_ns: int | None = None
    """Where a virtual clock began that all of it was timed by; None for real clocks."""
    settings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Rule -> its thresholds in force, for what several rules share (bad windows)."""
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)
    """What rules derive from the case and share with each other."""

    @cached_property
    def running(self) -> str:
        """An SQL condition for rows of running systems, jobs that compete with others among them."""
        return running_condition(self.store)

    # Counters over time --------------------------------------------------------------------------------------------

    @property
    def time_frame(self) -> TimeFrame:
        """The time range of the case, by clocks that agree."""
        return TimeFrame(self.since_ns, self.until_ns, self.clock_offsets_ns)

    @cached_property
    def _chosen(self) -> tuple[dict[EntityRef, Series], dict[EntityRef, frozenset[str]]]:
        """Every entity's series, and the captures set aside for it."""
        found, set_aside = {}, {}
        recorded: dict[tuple[str, str], list[Series]] = defaultdict(list)
        for entity, pieces in read_pieces(self.store, self.running, self.time_frame, CANONICAL).items():
            kept, aside = fuller(pieces)
            found[entity] = joined(kept)
            for piece in pieces:
                recorded[entity.system, ", ".join(piece.captures)].append(piece)
            for capture, other in aside:
                self._note_set_aside(capture, other)
            if aside:
                set_aside[entity] = frozenset(capture for capture, _ in aside)
        self._note_clashes(found.values())
        self._note_holes(recorded)
        self._note_derived([entity for entity, series in found.items() if series.has_derived_latency])
        return found, set_aside

    @property
    def all_series(self) -> dict[EntityRef, Series]:
        """Every entity's observations; of benchmarks only those that ran beside others on the same storage."""
        return self._chosen[0]

    @property
    def set_aside(self) -> dict[EntityRef, frozenset[str]]:
        """Entity -> captures that are not used for it, as fuller ones cover the same time."""
        return self._chosen[1]

    @cached_property
    def derived_latency(self) -> frozenset[EntityRef]:
        """Entities whose latency was derived from their queue, as nothing told it."""
        return frozenset(entity for entity, series in self.all_series.items() if series.has_derived_latency)

    def series(self, *kinds: str, needs: Sequence[str] = ()) -> dict[EntityRef, Series]:
        """The series of entities of these kinds (all when none is named) that have every needed column."""
        return {
            entity: series
            for entity, series in self.all_series.items()
            if (not kinds or entity.kind in kinds) and series.has(*needs)
        }

    def counters(self, names: Sequence[str], *kinds: str) -> dict[EntityRef, dict[str, Series]]:
        """Counters without a canonical column: entity -> counter name -> series with the one column 'value'."""
        table = self.store.query(
            f"SELECT capture, system, kind, entity, name, {self.instant()} AS time_ns, "
            "coalesce(duration_ns, 0) AS duration_ns, value FROM counters "
            f"WHERE {self.running} AND time IS NOT NULL AND list_contains($names, name) AND {self.time_condition()} "
            "ORDER BY system, kind, entity, name, time_ns",
            {"names": list(names)},
        )
        found: dict[EntityRef, dict[str, Series]] = defaultdict(dict)
        for (system, kind, entity, name), rows in groups(table, ["system", "kind", "entity", "name"]):
            if kinds and kind not in kinds:
                continue
            reference = EntityRef(system, kind, entity)
            found[reference][name] = Series(
                reference, ints(rows, "time_ns"), ints(rows, "duration_ns"), {"value": floats(rows, "value")}
            )
        return dict(found)

    # Things said, configured, linked -------------------------------------------------------------------------------

    @cached_property
    def events(self) -> list[Event]:
        """Every event in time order; those without a time come last."""
        return read_events(self.store, self.time_frame)

    def events_of(self, *types: str) -> list[Event]:
        """The events of these types."""
        return [event for event in self.events if event.type in types]

    @cached_property
    def facts(self) -> list[Fact]:
        """Every fact."""
        table = self.store.query("SELECT capture, system, kind, entity, name, value, number, unit FROM facts")
        return [
            Fact(
                row["capture"], EntityRef(row["system"], row["kind"], row["entity"]), row["name"], row["value"],
                row["number"], row["unit"],
            )
            for row in table.to_pylist()
        ]  # fmt: skip

    @cached_property
    def facts_by_entity(self) -> dict[EntityRef, dict[str, Fact]]:
        """Entity -> fact name -> fact; the last one where several captures say it."""
        found: dict[EntityRef, dict[str, Fact]] = defaultdict(dict)
        for fact in self.facts:
            found[fact.entity][fact.name] = fact
        return dict(found)

    def fact(self, entity: EntityRef, name: str) -> Fact | None:
        """One fact of one entity."""
        return self.facts_by_entity.get(entity, {}).get(name)

    @cached_property
    def entities(self) -> dict[EntityRef, str | None]:
        """Every entity and its label."""
        rows = self.store.query("SELECT DISTINCT system, kind, entity, label FROM entities").to_pylist()
        return {EntityRef(row["system"], row["kind"], row["entity"]): row["label"] for row in rows}

    @cached_property
    def links(self) -> list[Link]:
        """Every link once."""
        rows = self.store.query(
            "SELECT DISTINCT system, kind, entity, relation, target_kind, target FROM links ORDER BY ALL"
        ).to_pylist()
        return [
            Link(EntityRef(row["system"], row["kind"], row["entity"]), row["relation"],
                 EntityRef(row["system"], row["target_kind"], row["target"]))
            for row in rows
        ]  # fmt: skip

    @cached_property
    def runs(self) -> list[dict[str, Any]]:
        """Rows of `runs` as dictionaries, one for each run that was under way at some time of the case.

        Parameters may be long, a whole design for example.
        """
        table = self.store.query(
            f"SELECT * FROM runs r WHERE r.time IS NULL OR "
            f"({self.time_frame.overlap_condition('r.time', 'r.duration_ns')}) ORDER BY r.capture, r.time, r.run"
        )
        return plain_rows(table)

    @cached_property
    def _targets(self) -> dict[tuple[EntityRef, str], list[EntityRef]]:
        found: dict[tuple[EntityRef, str], list[EntityRef]] = defaultdict(list)
        for link in self.links:
            found[link.source, link.relation].append(link.target)
        return found

    @cached_property
    def _sources(self) -> dict[tuple[EntityRef, str], list[EntityRef]]:
        found: dict[tuple[EntityRef, str], list[EntityRef]] = defaultdict(list)
        for link in self.links:
            found[link.target, link.relation].append(link.source)
        return found

    def linked(self, entity: EntityRef, relation: str) -> list[EntityRef]:
        """The targets of `entity` along one relation."""
        return list(self._targets.get((entity, relation), ()))

    def linked_from(self, entity: EntityRef, relation: str) -> list[EntityRef]:
        """The sources that stand in `relation` to `entity`."""
        return list(self._sources.get((entity, relation), ()))

    @cached_property
    def _upward(self) -> dict[EntityRef, set[EntityRef]]:
        found: dict[EntityRef, set[EntityRef]] = defaultdict(set)
        for link in self.links:
            if link.relation in SHARING_RELATIONS:
                found[link.source].add(link.target)
        return found

    def components(self, entity: EntityRef) -> frozenset[EntityRef]:
        """Everything `entity` rests on, directly or through others; itself left out."""
        seen: set[EntityRef] = set()
        front = [entity]
        while front:
            for target in self._upward.get(front.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    front.append(target)
        return frozenset(seen - {entity})

    def shared_components(self, one: EntityRef, other: EntityRef) -> frozenset[EntityRef]:
        """What both rest on."""
        return self.components(one) & self.components(other)

    # Words and evidence --------------------------------------------------------------------------------------------

    def label(self, entity: EntityRef) -> str:
        """The entity's friendliest name; with its own, or its system, where others of its kind are called the same."""
        label = self.entities.get(entity)
        name = entity.name
        if label:
            name = label if self._bearers[entity.system, entity.kind, label] == 1 else f"{label} ({entity.name})"
        return f"{name} of {entity.system}" if len(self._systems_with[entity.kind, label or entity.name]) > 1 else name

    @cached_property
    def _systems_with(self) -> dict[tuple[str, str], set[str]]:
        """In which systems something of a kind is called so."""
        found: dict[tuple[str, str], set[str]] = defaultdict(set)
        for entity, label in self.entities.items():
            found[entity.kind, label or entity.name].add(entity.system)
        return found

    @cached_property
    def _bearers(self) -> Counter[tuple[str, str, str | None]]:
        """How many entities of a kind of a system bear a label."""
        return Counter((entity.system, entity.kind, label) for entity, label in self.entities.items())

    def tier(self, entity: EntityRef) -> Tier:
        """Flash or disk: from the user's settings, a fact `media` or `rotational`, a name of NVMe, or quick reads.

        Facts, names and reads of what it rests on count too. Else disk is assumed, whose limits are wider.
        """
        for pattern, tier in self.tier_patterns:
            if fnmatch.fnmatchcase(entity.name, pattern):
                return Tier(tier, "your settings")
        for candidate in (entity, *sorted(self.components(entity))):
            facts = self.facts_by_entity.get(candidate, {})
            media = facts.get("media") or facts.get("rotational")
            if media is not None:
                flash = re.fullmatch(r"(?i)(.*ssd.*|.*flash.*|.*nvme.*|0|false)", media.value) is not None
                return Tier("flash" if flash else "disk", "a fact in the evidence")
        if any(_NVME_NAME.fullmatch(candidate.name) for candidate in (entity, *self.components(entity))):
            return Tier("flash", "its name")
        if any(self._reads_like_flash(candidate) for candidate in (entity, *self.components(entity))):
            return Tier("flash", "its read latency")
        return Tier("disk", "assumed")

    def _reads_like_flash(self, entity: EntityRef) -> bool:
        """True when the quicker quarter of its intervals reads faster than a mechanical drive can position.

        Where reads and writes are not told apart, as by sar, their mean counts while most bytes are read.
        """
        series = self.all_series.get(entity)
        if series is None:
            return False
        if series.has("read_latency_ns_mean"):
            reading, latencies = series["read_ops_per_s"] >= 1, series["read_latency_ns_mean"]
        else:
            reading = (series["ops_per_s"] >= 1) & (series["read_bytes_per_s"] > series["write_bytes_per_s"])
            latencies = series["latency_ns_mean"]
        latencies = latencies[reading]
        latencies = latencies[np.isfinite(latencies)]
        return len(latencies) > 0 and float(np.quantile(latencies, 0.25)) < FLASH_READ_LATENCY_NS

    def time_words(self, time_ns: int | None) -> str:
        """An instant for a reader: in UTC, or since the start of a virtual clock."""
        return format_time(time_ns, self.zero_ns)

    def evidence(self, caption: str, sql: str) -> EvidenceRows:
        """Rows for a finding, by a query the user can repeat with `storscope store query`."""
        table = self.store.query(sql)
        rows = [[_cell(value) for value in row.values()] for row in plain_rows(table.slice(0, EVIDENCE_ROWS))]
        query = " ".join(self.store.repeatable(sql).split())
        return EvidenceRows(caption, table.column_names, rows, query, table.num_rows)

    def time_condition(self, column: str = "time") -> str:
        """An SQL condition for the time range of the case."""
        return self.time_frame.condition(column)

    def instant(self, column: str = "time") -> str:
        """The SQL expression of a row's time in ns, its capture's clock offset applied."""
        return self.time_frame.instant(column)

    def _note_clashes(self, found: Iterable[Series]) -> None:
        """Of each system the entity whose intervals overlap most is told: rules take them for one after the other."""
        worst: dict[str, tuple[int, Series]] = {}
        for series in found:
            count = clashes(series)
            if count > worst.get(series.entity.system, (_CLASHES_PASSED, series))[0]:
                worst[series.entity.system] = (count, series)
        for system, (count, series) in sorted(worst.items()):
            words = (
                f"clocks: times of {system} overlap; {count:,} of {len(series):,} intervals of {series.entity.name} "
                "begin before the one before is over. The clock was set back, or unlike captures are joined in one "
                "file: what rests on the order of times cannot be trusted there. Import the parts as files of their own"
            )
            self.notes.append(Note(words, NotePlace.LAST))

    def _note_holes(self, recorded: Mapping[tuple[str, str], Sequence[Series]]) -> None:
        """Of each system and capture the time in which nothing was recorded of it: the longest stretch, and all."""
        for (system, _), series in sorted(recorded.items()):
            found = holes(series)
            if not found:
                continue
            longest = max(found, key=lambda hole: hole.end_ns - hole.start_ns)
            total_ns = sum(hole.end_ns - hole.start_ns for hole in found)
            more = f"; {len(found):,} such times, {format_span(total_ns)} in all" if len(found) > 1 else ""
            longest_words = format_span(longest.end_ns - longest.start_ns)
            when = f"from {self.time_words(longest.start_ns)} to {self.time_words(longest.end_ns)}"
            words = (
                f"not recorded: nothing of {system} for {longest_words}, {when}{more}. What happened then is not "
                "judged, and a host that hangs records nothing"
            )
            self.notes.append(Note(words, NotePlace.LAST))

    def _note_derived(self, entities: Sequence[EntityRef]) -> None:
        """Of each system how much of it has a latency that nobody measured."""
        for system, count in sorted(Counter(entity.system for entity in entities).items()):
            things = "one thing" if count == 1 else f"{count:,} things"
            words = (
                f"latency: nothing tells that of {things} of {system}; it was taken as the mean queue by the rate of "
                "operations (Little's law), of reads and writes together"
            )
            self.notes.append(Note(words, NotePlace.LAST))

    def _note_set_aside(self, aside: str, kept: str) -> None:
        files = {str(row["capture"]): str(row["path"]) for row in self._capture_rows}
        note = Note(
            f"{files.get(aside, aside)} covers the same time of the same entities as {files.get(kept, kept)}, with "
            "fewer columns or rows; there it was set aside so that nothing counts twice"
        )
        if note not in self.notes:
            self.notes.append(note)

    @cached_property
    def _capture_rows(self) -> list[dict[str, Any]]:
        return self.store.captures()


def _cell(value: Any) -> Cell:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
