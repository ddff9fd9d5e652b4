"""Recordings of nmon, on Linux and AIX: `nmon -f -s 10 -c 360`, as it wrote them or sorted (`sort file.nmon`).

Lines are a family, a snapshot (T0001) and a value for each thing that the family's heading names; AAA lines tell of the
host, ZZZZ lines when each snapshot was taken, on the host's clock. A snapshot covers the time since the one before, so
the first, which covers the start of nmon, is left out. KB are taken as 1024 bytes (two sectors), UNVERIFIED.

Families of disks are split where there are many (DISKBUSY, DISKBUSY1, ...). DISKXFER counts reads and writes together;
AIX parts them (DISKRXFER), and has times where it was asked to (nmon -d): DISKSERV, DISKWAIT, DISKREADSERV,
DISKWRITESERV, ms for each transfer. Those times are without the wait in the host's queue, except that DISKWAIT is added
to DISKSERV. Everything of AIX is UNVERIFIED: no recording was seen.

Beware: most recordings have no latency at all, which is said; nmon has no queue depth of disks. A recording joined with
others begins anew where an AAA line comes again.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from storscope.domain import units
from storscope.domain.diskstats import disk_of_partition
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._iostat import record_cpu
from storscope.sources.importers._linux_block import DEFAULT_LINUX_SYSTEM
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._long_steps import LongSteps
from storscope.sources.importers._whole_lines import whole_lines

_SNAPSHOT: Final = re.compile(r"T\d{4,9}")
_STAMP: Final = re.compile(r"ZZZZ,(T\d{4,9}),(\d\d:\d\d:\d\d),(\d\d-[A-Z]{3}-\d{4})\b.*", re.IGNORECASE)
_DISK: Final = re.compile(r"(DISK[A-Z]+)\d{0,4}")
_CPU: Final = "CPU_ALL"
_BUSY: Final = "DISKBUSY"

_FAMILIES: Final = {
    "DISKREAD": ("read_bytes_per_s", float(units.KIB)), "DISKWRITE": ("write_bytes_per_s", float(units.KIB)),
    "DISKXFER": ("ops_per_s", 1.0), "DISKRXFER": ("read_ops_per_s", 1.0), _BUSY: ("busy_ratio", 0.01),
    "DISKREADSERV": ("read_latency_ns_mean", float(units.NS_PER_MS)),
    "DISKWRITESERV": ("write_latency_ns_mean", float(units.NS_PER_MS)),
    "DISKSERV": ("device_latency_ns_mean", float(units.NS_PER_MS)),
}  # fmt: skip
"""Family without its number -> canonical column and factor."""
_WAIT: Final = "DISKWAIT"
_DERIVED: Final = frozenset(("DISKBSIZE",))
"""Follows from bytes and transfers."""
_TIMES: Final = ("DISKREADSERV", "DISKWRITESERV", "DISKSERV")
_PROCESSORS: Final = {"User%": "user", "Sys%": "system", "Wait%": "iowait", "Idle%": "idle", "Steal%": "steal"}
_UNNAMED: Final = "lines with more or fewer values than their heading names, or without one"
_GREATEST: Final = 1e15


def _recognise(head: Head) -> float:
    lines = [line for line in head.lines[:2000] if line[:4] in ("AAA,", "ZZZZ", "DISK", "CPU_")]
    about = sum(line.startswith("AAA,") for line in lines)
    if any(re.match(r"AAA,progname,.*nmon", line) for line in lines):
        return 0.95
    return 0.9 if about >= 3 and about < len(lines) else 0.0


@dataclass
class _Recording:
    """One run of nmon: when each of its snapshots was taken, and the host."""

    times_ns: dict[str, int] = field(default_factory=dict)
    host: str | None = None

    def intervals(self) -> Iterator[tuple[str, int, int]]:
        """Snapshot, start and length of what it covers; in their order, without the first."""
        ordered = sorted(self.times_ns.items(), key=lambda item: (int(item[0][1:]), item[1]))
        for (_, before_ns), (snapshot, now_ns) in itertools.pairwise(ordered):
            yield snapshot, before_ns, now_ns - before_ns


class _Parts:
    """Tells where a file that several recordings were joined to begins a new one."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._has_data = False

    def begins(self, line: str) -> bool:
        """True for the first line of another recording."""
        if not line.startswith("AAA,"):
            self._has_data |= line.startswith("ZZZZ,")
            return False
        key = line.split(",", 2)[1]
        is_new = self._has_data and key in self._told
        if is_new:
            self._told, self._has_data = set(), False
        self._told.add(key)
        return is_new


def _recordings(lines: Iterator[str], clock: LocalClock, recorder: Recorder) -> list[_Recording]:
    """The first reading: times and hosts, which may stand at the end of a sorted file."""
    found, parts = [_Recording()], _Parts()
    for line in lines:
        if parts.begins(line):
            found.append(_Recording())
        if line.startswith("AAA,host,"):
            found[-1].host = line.split(",")[2].strip() or None
        elif line.startswith("ZZZZ,"):
            time_ns = _instant(line, clock)
            if time_ns is None:
                recorder.omit("times that cannot be read")
            else:
                found[-1].times_ns.setdefault(line.split(",")[1].upper(), time_ns)
    return found


def _instant(line: str, clock: LocalClock) -> int | None:
    match = _STAMP.fullmatch(line.strip())
    if match is None:
        return None
    try:
        moment = dt.datetime.strptime(f"{match[3]} {match[2]}", "%d-%b-%Y %H:%M:%S")
    except ValueError:
        return None
    return clock.instant(moment) if moment.year in units.YEARS else None


@dataclass
class _Rows:
    """The lines of one recording, by family: its things, and their values by snapshot."""

    recorder: Recorder
    things: dict[str, list[str]] = field(default_factory=dict)
    values: dict[str, dict[str, tuple[list[str], array[float]]]] = field(default_factory=dict)
    _early: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    """Lines before their heading: sort(1) puts "T0001" before "Transfers from disk"."""

    def line(self, family: str, cells: Sequence[str]) -> None:
        """A heading or the values of a snapshot."""
        if not cells:
            return
        if _SNAPSHOT.fullmatch(cells[0]):
            if family in self.things:
                self._values(family, cells)
            else:
                self._early.setdefault(family, []).append(cells)
            return
        self.things[family] = [cell.strip() for cell in cells[1:]]
        for early in self._early.pop(family, ()):
            self._values(family, early)

    def finish(self) -> None:
        """After the last line."""
        self.recorder.omit(_UNNAMED, sum(map(len, self._early.values())))

    def _values(self, family: str, cells: Sequence[str]) -> None:
        things = self.things[family]
        values = array("d", map(_number, cells[1:]))
        while len(values) > len(things) and math.isnan(values[-1]):
            values.pop()
        if len(values) != len(things):
            self.recorder.omit(_UNNAMED)
        elif cells[0] in self.values.setdefault(family, {}):
            self.recorder.omit("lines that are in the file twice")
        else:
            self.values[family][cells[0]] = things, values

    def disks(self, snapshot: str) -> dict[str, dict[str, float]]:
        """Disk -> family without its number -> value."""
        found: dict[str, dict[str, float]] = {}
        for family, by_snapshot in self.values.items():
            if family != _CPU and snapshot in by_snapshot:
                stem = _stem(family)
                for name, value in zip(*by_snapshot[snapshot], strict=True):
                    if name and not math.isnan(value):
                        found.setdefault(name, {}).setdefault(stem, value)
        return found

    def processors(self, snapshot: str) -> dict[str, float]:
        """What all processors together did, in per cent."""
        row = self.values.get(_CPU, {}).get(snapshot)
        pairs = zip(*row, strict=True) if row else ()
        return {_PROCESSORS[name]: value for name, value in pairs if name in _PROCESSORS and 0 <= value <= 100}


def _stem(family: str) -> str:
    match = _DISK.fullmatch(family)
    return match[1] if match else family


def _number(cell: str) -> float:
    """NaN for what is no value; nmon writes -1 for what the kernel does not tell."""
    try:
        value = float(cell)
    except ValueError:
        return math.nan
    return value if 0 <= value < _GREATEST else math.nan


def _columns(values: Mapping[str, float]) -> dict[str, float | None]:
    """Canonical columns of a disk's interval."""
    found: dict[str, float | None] = {
        column: values[family] * factor for family, (column, factor) in _FAMILIES.items() if family in values
    }
    every, reads = found.get("ops_per_s"), found.get("read_ops_per_s")
    if every is not None and reads is not None:
        found["write_ops_per_s"] = max(0.0, every - reads)
    if (busy := found.get("busy_ratio")) is not None:
        found["busy_ratio"] = min(busy, 1.0)
    device = found.get("device_latency_ns_mean")
    if device is not None and _WAIT in values:
        found["latency_ns_mean"] = device + values[_WAIT] * units.NS_PER_MS
    _drop_untimed(found)
    return found


def _drop_untimed(found: dict[str, float | None]) -> None:
    """Where nothing was done, nothing was timed."""
    for prefix in ("read_", "write_"):
        done = found.get(f"{prefix}ops_per_s")
        if (done if done is not None else found.get(f"{prefix}bytes_per_s")) == 0:
            found[f"{prefix}latency_ns_mean"] = None
    if found.get("ops_per_s") == 0:
        for name in ("latency_ns_mean", "device_latency_ns_mean"):
            found[name] = None


@dataclass
class _Writer:
    """Writes recordings."""

    recorder: Recorder
    options: ImportOptions
    steps: LongSteps = field(default_factory=LongSteps)
    has_latency: bool = False
    has_disks: bool = False
    _met: set[EntityRef] = field(default_factory=set)

    def write(self, recording: _Recording, rows: _Rows) -> None:
        """One recording, snapshot by snapshot."""
        rows.finish()
        system = self.options.system or recording.host or DEFAULT_LINUX_SYSTEM
        names = {name for things in rows.things.values() for name in things}
        self.recorder.omit("first snapshots: they cover the start of nmon", int(bool(recording.times_ns)))
        for snapshot, start_ns, length_ns in recording.intervals():
            if length_ns <= 0:
                self.recorder.omit("snapshots whose clock did not advance")
                continue
            self.steps.add(length_ns, start_ns + length_ns)
            if cpu := rows.processors(snapshot):
                record_cpu(self.recorder, EntityRef(system, "host", system), start_ns, length_ns, cpu)
            for name, values in rows.disks(snapshot).items():
                self._disk(self._entity(system, name, names), start_ns, length_ns, values)
        self.recorder.notes.system = self.recorder.notes.system or system

    def _disk(self, entity: EntityRef, start_ns: int, length_ns: int, values: Mapping[str, float]) -> None:
        self.has_disks = True
        self.has_latency |= any(family in values for family in _TIMES)
        self.recorder.omit("busy shares above 100 % cut to it", int(values.get(_BUSY, 0) > 100))
        self.recorder.observe(entity, start_ns, length_ns, _columns(values))

    def _entity(self, system: str, name: str, names: set[str]) -> EntityRef:
        disk = disk_of_partition(name, names)
        entity = EntityRef(system, "device" if disk is None else "partition", name)
        if entity not in self._met:
            self._met.add(entity)
            if disk is not None:
                self.recorder.link(entity, "lives_on", EntityRef(system, "device", disk))
            self.recorder.link(entity, "member_of", EntityRef(system, "host", system))
        return entity


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    recorder.notes.tool = "nmon"
    clock = LocalClock(options.zone())
    silent = Recorder(lambda _table, _batch: None)
    recordings = _recordings(whole_lines(evidence, silent), clock, recorder)
    if not any(recording.times_ns for recording in recordings):
        raise broken(
            evidence, "lines ZZZZ with the times of nmon's snapshots", "none",
            hint="Record with: nmon -f -s 10 -c 360, and import the whole file.",
        )  # fmt: skip
    writer, parts, number = _Writer(recorder, options), _Parts(), 0
    rows = _Rows(recorder)
    for line in whole_lines(evidence, recorder):
        if parts.begins(line):
            writer.write(recordings[number], rows)
            number, rows = number + 1, _Rows(recorder)
        family, _, rest = line.partition(",")
        if family == _CPU or _stem(family) in (*_FAMILIES, _WAIT):
            rows.line(family, rest.split(","))
        elif family.startswith("DISK") and _stem(family) not in _DERIVED:
            recorder.omit("lines of other families of disks")
    writer.write(recordings[number], rows)
    _say(recorder, options, clock, writer)


def _say(recorder: Recorder, options: ImportOptions, clock: LocalClock, writer: _Writer) -> None:
    recorder.notes.clock = options.zone_words() + clock.words
    writer.steps.warn(recorder)
    if writer.has_disks and not writer.has_latency:
        recorder.warn(
            "The recording has no latency and no queue depth of disks, so little can be judged. Busy shares alone "
            f"do not tell a slow disk: record iostat beside it ({_IOSTAT})."
        )


_IOSTAT: Final = "S_TIME_FORMAT=ISO iostat -x -y -t -o JSON 10 > iostat.json"

IMPORTER = Importer(
    name="nmon",
    title="nmon recordings (Linux, AIX)",
    supports="Linux nmon, seen 16n; sorted files; several joined; families of AIX UNVERIFIED, none was seen",
    how_to_capture="nmon -f -s 10 -c 360",
    recognise=_recognise,
    read=_read,
    carries=(
        "ops_per_s, read_bytes_per_s, write_bytes_per_s, busy_ratio of disks and partitions",
        "AIX: read_ops_per_s, write_ops_per_s; read and write latency where recorded (nmon -d)",
        "cpu_busy_ratio of the host, and the shares of its processors as counters",
    ),
    not_yet={
        "groups of disks (DG families)": "the disks themselves are read; DG latencies are not",
        "network, memory, file systems, adapters, ESS and processes": "no rule needs them yet",
    },
    never={
        "queue depth of disks": "nmon does not record it",
        "latency on Linux without -g": "nmon's disk families have rates and busy shares only",
    },
)  # fmt: skip
