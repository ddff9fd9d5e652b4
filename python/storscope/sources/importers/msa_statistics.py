"""Statistics of an MSA array, as its CLI prints them again and again: HP(E) MSA P2000 to 2070, Dell ME4, ME5, and kin.

Expected shape: a line with the time, then what `show controller-statistics`, `volume-statistics`, `disk-statistics`,
`host-port-statistics`, `pool-statistics`, `vdisk-statistics` or `disk-group-statistics` print, as XML (`set
cli-parameters api`), JSON (`set cli-parameters json`) or tables of the console; how they are cut is told in
`_msa_text.py`, what their numbers are worth in `_msa_counters.py`.

A sighting is placed by the time line before it, else (or where an object comes again under one time line) by the
array's clock: the object's stop-sample-time-numeric, or the time that the answer's status says; else by --interval.
Rates are differences between two sightings of an object; an interval in which reset-time changed or a counter fell is
left out. `num-forwarded-cmds` of a controller becomes forwarded_per_s: commands that came to the controller which does
not own the volume.

Beware: latencies (ME4, ME5, MSA 2050 and later) cover the time since anyone asked last, so they are taken only where
start- and stop-sample-time say that it is the interval; queue-depth is that of the moment. Captures of ME4 and ME5, and
XML, JSON and console tables as a whole, are UNVERIFIED: names and values of properties are from a dump of an MSA 2040.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._msa_counters import Sighting, interval, is_reset, sighting
from storscope.sources.importers._msa_text import Answer, Cutter, Thing
from storscope.sources.importers._snapshot_clock import SnapshotClock
from storscope.sources.importers._time_lines import LineTime

DEFAULT_MSA_SYSTEM: Final = "msa-array"

_TYPES: Final = {
    "controller-statistics": ("controller", ("durable-id",), "controller_"),
    "volume-statistics": ("vdisk", ("volume-name", "name", "serial-number"), ""),
    "disk-statistics": ("disk", ("durable-id", "location"), "disk_"),
    "host-port-statistics": ("port", ("durable-id",), "hostport_"),
    "pool-statistics": ("disk_group", ("pool", "name", "serial-number"), ""),
    "vdisk-statistics": ("disk_group", ("name", "serial-number"), ""),
    "disk-group-statistics": ("disk_group", ("name", "serial-number"), ""),
}
"""Object -> kind of entity, where its name stands, and what stands before the name."""
_ANY: Final = "|".join(_TYPES)
_MARKUP: Final = re.compile(
    rf"<OBJECT[^>]{{0,300}}\b(?:base)?(?:type|name)=\"(?:{_ANY})\"|\"(?:{_ANY})\"\s{{0,20}}:\s{{0,20}}\["
)
_CONSOLE: Final = re.compile(rf"\bshow (?:{_ANY})\b")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d{9,10}")
_PORT: Final = re.compile(r"([AB])\d{1,2}")


def _recognise(head: Head) -> float:
    if _MARKUP.search(head.text):
        return 0.9
    return 0.9 if "Number of Reads" in head.text and _CONSOLE.search(head.text) else 0.0


@dataclass(frozen=True)
class _Seen:
    """A sighting of an object, by the clock of the time lines and by the array's, or by one of the two."""

    line: LineTime | None
    own: LineTime | None
    time: LineTime
    """By the time line where there is one."""
    numbers: Sighting


def _on_one_clock(before: _Seen, now: _Seen) -> tuple[LineTime, LineTime]:
    """The times of two sightings: by time lines, by the array's clock where both stand under one time line."""
    is_under_one = before.line is None or now.line is None or before.line is now.line
    if is_under_one and before.own is not None and now.own is not None:
        return before.own, now.own
    return before.time, now.time


@dataclass
class _Reader:
    """Writes an interval for each sighting of an object that follows another."""

    evidence: Evidence
    recorder: Recorder
    options: ImportOptions
    _line_time: LineTime | None = None
    _seen: dict[EntityRef, _Seen] = field(default_factory=dict)
    _system: str | None = None
    _objects: int = 0
    _intervals: int = 0
    _clock: SnapshotClock = field(init=False)
    _cutter: Cutter = field(init=False)

    def __post_init__(self) -> None:
        """The clock, and what cuts lines into answers."""
        self._clock = SnapshotClock(
            self.evidence, self.recorder, self.options, "MSA statistics", "ssh manage@ARRAY 'show volume-statistics'"
        )
        self._cutter = Cutter(self.recorder)

    def line(self, line: str) -> None:
        """Any line of the file."""
        if (time := self._clock.line(line)) is not None:
            self._answers_before()
            self._line_time = time
            return
        for answer in self._cutter.line(line):
            self._take(answer)

    def finish(self) -> None:
        """After the last line."""
        self._answers_before()
        if not self._objects:
            raise broken(
                self.evidence, "objects of MSA statistics (controller-statistics, volume-statistics, ...)", "none",
                hint=f"Capture with: {_CAPTURE}",
            )  # fmt: skip
        self._clock.finish(self._objects)
        if not self._intervals:
            self.recorder.warn("No object was seen twice without a reset between: rates need two. Capture in a loop.")

    def _answers_before(self) -> None:
        for answer in self._cutter.cut():
            self._take(answer)

    def _take(self, answer: Answer) -> None:
        for thing in answer.things:
            if thing.type == "system" and thing.properties.get("system-name"):
                self._system = self._system or thing.properties["system-name"]
            elif thing.type in _TYPES:
                self._thing(thing, answer.time)
            elif thing.type.endswith("-statistics"):
                self.recorder.omit(f"objects of type {thing.type[:60]}, which are not read")

    def _thing(self, thing: Thing, answer_time: str | None) -> None:
        entity = self._entity(thing)
        if entity is None:
            self.recorder.omit("objects without a name")
            return
        self._objects += 1
        if "data-read" in thing.properties and "data-read-numeric" not in thing.properties:
            self.recorder.warn(
                "Sizes of the console's tables are rounded, so bytes per second are not known. Capture with: "
                "set cli-parameters json"
            )
        numbers = sighting(thing.properties)
        for name in numbers.bad:
            self.recorder.omit(f"{name}: values out of range")
        before, own = self._seen.get(entity), self._own_time(thing, answer_time)
        time = self._line_time or own
        if time is None:
            if before is not None and not self.options.interval_s:
                self.recorder.omit("objects without a time, while earlier ones have one")
                return
            time = self._clock.rebuilt(before.time if before else None)
        now = self._seen[entity] = _Seen(self._line_time, own, time, numbers)
        self._clock.note(now.time)
        if before is not None:
            self._compare(entity, before, now)

    def _compare(self, entity: EntityRef, before: _Seen, now: _Seen) -> None:
        start, end = _on_one_clock(before, now)
        span_ns = self._clock.span_ns(start, end)
        if span_ns is None:
            return
        if is_reset(before.numbers, now.numbers):
            self.recorder.omit("intervals with a counter reset")
            return
        self._write(entity, start.ns, span_ns, before.numbers, now.numbers)

    def _write(self, entity: EntityRef, start_ns: int, span_ns: int, before: Sighting, now: Sighting) -> None:
        found = interval(before, now, span_ns / units.NS_PER_S)
        for reason in found.omitted:
            self.recorder.omit(reason)
        self._intervals += 1
        self.recorder.notes.system = entity.system
        self.recorder.observe(entity, start_ns, span_ns, found.columns)
        for name, unit, value in found.others:
            self.recorder.counter(entity, start_ns, span_ns, name, unit, value)
        self._links(entity)

    def _entity(self, thing: Thing) -> EntityRef | None:
        kind, names, prefix = _TYPES[thing.type]
        name = next((thing.properties[key] for key in names if thing.properties.get(key)), None)
        if name is None:
            return None
        system = self.options.system or self._system or DEFAULT_MSA_SYSTEM
        bare = name[len(prefix) :] if name.lower().startswith(prefix) else name
        return EntityRef(system, kind, bare.upper() if kind in ("controller", "port") else bare)

    def _links(self, entity: EntityRef) -> None:
        array = EntityRef(entity.system, "array", entity.system)
        if entity.kind == "port" and (match := _PORT.fullmatch(entity.name)):
            self.recorder.link(entity, "member_of", EntityRef(entity.system, "controller", match[1]))
        elif entity.kind != "vdisk":
            self.recorder.link(entity, "member_of", array)
        else:
            self.recorder.entity(entity)

    def _own_time(self, thing: Thing, answer_time: str | None) -> LineTime | None:
        """When the object was seen by the array's clock, which is in whole seconds."""
        for text in (thing.properties.get("stop-sample-time-numeric"), answer_time):
            if text and _TIME.fullmatch(text):
                return self._clock.line(text)
        return None


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    recorder.notes.tool = "MSA CLI"
    reader = _Reader(evidence, recorder, options)
    for line in evidence.lines():
        reader.line(line)
    reader.finish()


_CAPTURE: Final = (
    "while true; do date -u +%FT%T.%NZ; printf '%s\\n' 'set cli-parameters json' 'show controller-statistics' "
    "'show volume-statistics' 'show disk-statistics' exit | ssh -T manage@ARRAY; sleep 60; done > msa.txt"
)

IMPORTER = Importer(
    name="msa_statistics",
    title="MSA, P2000, ME4 and ME5: statistics of the CLI",
    supports="XML, JSON and console tables; values seen: MSA 2040 of 2015; layouts UNVERIFIED, no capture was seen",
    how_to_capture=_CAPTURE,
    recognise=_recognise,
    read=_read,
    carries=(
        "controller: cpu_busy_ratio, forwarded_per_s (num-forwarded-cmds), read_hit_ratio (share of blocks)",
        "controller, vdisk, disk, port, disk_group: ops_per_s, read and write ops and bytes per second",
        "latency_ns_mean, read_latency_ns_mean, write_latency_ns_mean where the firmware has them",
        "queue_depth_mean of disks and ports (of the moment)",
        "cache hits and misses in blocks, destages, read-ahead and the share of the write cache in use as counters",
    ),
    not_yet={"configuration (show volumes, show disks)": "which volume lies where and who owns it is not read"},
    never={
        "latencies of the P2000 and older firmware": "the array has none",
        "bytes from tables of the console": "sizes are rounded to a few digits; use XML or JSON",
    },
)  # fmt: skip
