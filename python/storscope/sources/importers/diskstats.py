"""Snapshots of Linux /proc/diskstats, as a loop in a shell takes them.

Expected shape: a line with the time, then the file as the kernel prints it, again and again:

    while true; do date -u +%FT%T.%NZ; cat /proc/diskstats; sleep 1; done > diskstats.txt

The time is ISO 8601 (`date -u +%FT%TZ`, `date -Is`, `date -Ins`), seconds since 1970 with or without a fraction
(`date +%s.%N`), or what `date` prints by itself. Without time lines --interval must be given, since rates need it.

Fields, wraps and resets are those of domain/diskstats.py; an interval with a reset is left out. Rates are differences
over the time between the time lines; latency is the difference of the time over that of the operations.

Beware: a time line in whole seconds makes the rates of a 1 s loop uncertain by half; take it with %N.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field

from storscope.domain import diskstats, units
from storscope.domain.diskstats import Counters
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._linux_block import DEFAULT_LINUX_SYSTEM
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._whole_lines import whole_lines
from storscope.sources.importers._zone_names import zone_called

_LINE = re.compile(r"\s*\d+\s+\d+\s+\S+(?:\s+\d+){4,}\s*")
_EPOCH = re.compile(r"(\d{9,11})(?:[.,](\d{1,9}))?|(\d{9,11})(\d{9})")
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s*(Z|UTC|[+-]\d\d:?\d\d)?")
_DATE_COMMAND = re.compile(
    r"[A-Z][a-z]{2} +(?:(?P<month>[A-Z][a-z]{2}) +(?P<day>\d\d?)|(?P<first_day>\d\d?) +(?P<second_month>[A-Z][a-z]{2}))"
    r"(?: (?P<year>\d{4}))? (?P<clock>\d\d:\d\d:\d\d)(?: (?P<half>[AP]M))? (?P<zone>[A-Za-z]{2,5}|[+-]\d\d(?:\d\d)?)"
    r"(?: (?P<last_year>\d{4}))?"
)
"""glibc 2.36: C `Fri Nov 20 10:00:00 UTC 2026`, en_US the same with AM; en_GB `Fri 20 Nov ...`; en_US of 2.31 has the
year before the time."""


@dataclass(frozen=True)
class _Time:
    ns: int
    zoned: bool
    whole_seconds: bool
    word: str | None = None
    """The zone's abbreviation where it does not place the time: several zones are called CST, or --timezone is said."""


def _recognise(head: Head) -> float:
    lines = [line for line in head.lines if line.strip()][:4000]
    disks = sum(_is_disk_line(line) for line in lines)
    if disks == 0 or disks < len(lines) / 2:
        return 0.0
    names = [line.split()[2] for line in lines if _is_disk_line(line)]
    return 0.9 if len(set(names)) < len(names) or disks < len(lines) else 0.6


def _is_disk_line(line: str) -> bool:
    return bool(_LINE.fullmatch(line)) and len(line.split()) - 3 in diskstats.FIELD_COUNTS


def _time(line: str, clock: LocalClock) -> _Time | None:
    """The instant a time line names; None for any other line."""
    text = line.strip()
    found = _any_time(text, clock)
    return found if found is not None and units.datetime_from_ns(found.ns).year in units.YEARS else None


def _any_time(text: str, clock: LocalClock) -> _Time | None:
    if match := _EPOCH.fullmatch(text):
        seconds, fraction = (match[1], match[2]) if match[1] else (match[3], match[4])
        return _Time(int(seconds) * units.NS_PER_S + _fraction_ns(fraction), True, fraction is None)
    try:
        if match := _ISO.fullmatch(text):
            return _iso_time(match, clock)
        if match := _DATE_COMMAND.fullmatch(text):
            return _date_command_time(match, clock)
    except ValueError:
        return None
    return None


def _iso_time(match: re.Match[str], clock: LocalClock) -> _Time:
    zone = "+0000" if match[4] in ("Z", "UTC") else match[4]
    moment = dt.datetime.fromisoformat(f"{match[1]}T{match[2]}{zone or ''}")
    return _Time(clock.instant(moment) + _fraction_ns(match[3]), bool(zone), match[3] is None)


def _date_command_time(match: re.Match[str], clock: LocalClock) -> _Time | None:
    if (match["year"] is None) == (match["last_year"] is None):
        return None
    date = f"{match['month'] or match['second_month']} {match['day'] or match['first_day']}"
    form = "%b %d %Y %I:%M:%S %p" if match["half"] else "%b %d %Y %H:%M:%S"
    text = f"{date} {match['year'] or match['last_year']} {match['clock']} {match['half'] or ''}".strip()
    moment, word = dt.datetime.strptime(text, form), match["zone"]
    if word in ("UTC", "GMT"):
        return _Time(clock.instant(moment.replace(tzinfo=dt.UTC)), True, True)
    if word[0] in "+-":
        return _Time(clock.instant(dt.datetime.strptime(f"{moment} {word:0<5}", "%Y-%m-%d %H:%M:%S %z")), True, True)
    zone = zone_called(word, moment)
    if zone is not None and clock.zone is dt.UTC:
        return _Time(clock.instant(moment.replace(tzinfo=zone)), True, True)
    return _Time(clock.instant(moment, word), False, True, word)


def _fraction_ns(digits: str | None) -> int:
    """To the microsecond: `date` and `cat` run a millisecond apart, so what is finer says nothing."""
    return int((digits or "0").ljust(9, "0")[:6]) * units.NS_PER_US


@dataclass
class _Reader:
    """Collects snapshots and writes what happened between two of them."""

    evidence: Evidence
    recorder: Recorder
    options: ImportOptions
    _system: str = ""
    _time: _Time | None = None
    _now: dict[str, Counters] = field(default_factory=dict)
    _before_time: _Time | None = None
    _before: dict[str, Counters] = field(default_factory=dict)
    _entities: dict[str, EntityRef] = field(default_factory=dict)
    _snapshots: int = 0
    _clock: LocalClock = field(init=False)
    _asleep: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Intervals of devices that have done nothing since boot; written once they do something."""

    def __post_init__(self) -> None:
        """The clock of times without a zone."""
        self._clock = LocalClock(self.options.zone())

    def line(self, line: str) -> None:
        """Any line of the file."""
        words = line.split()
        if not words:
            return
        if len(words) >= 7 and _LINE.fullmatch(line):
            self._disk(words[2], [int(word) for word in words[3:]])
        elif moment := _time(line, self._clock):
            self._complete()
            self._time = moment
            self._doubt_zone(moment.word)
        else:
            self.recorder.omit("lines that are neither a time nor a disk")

    def finish(self) -> None:
        """After the last line."""
        self._complete()
        idle = sum(len(intervals) for intervals in self._asleep.values())
        self.recorder.omit("intervals of devices that never did an operation", idle)
        if self._snapshots == 0:
            raise broken(
                self.evidence, "lines of /proc/diskstats after a time line", "none",
                hint="Capture with: while true; do date -u +%FT%T.%NZ; cat /proc/diskstats; sleep 1; done",
            )  # fmt: skip
        if self.recorder.notes.clock:
            self.recorder.notes.clock += self._clock.words
        if self._snapshots == 1:
            self.recorder.warn("Only one snapshot: rates need two. Let the loop run longer.")

    def _doubt_zone(self, word: str | None) -> None:
        if word is None or word in self._clock.abbreviations:
            return
        zone = self.options.timezone
        taken = f"which is not {zone.key}; its times were taken as {zone.key}" if zone else "taken as UTC"
        why = "" if zone else " Several zones are called so, or none: name it with --timezone."
        self.recorder.warn(f"The time lines say {word}, {taken}.{why}")

    def _disk(self, name: str, values: list[int]) -> None:
        counters = diskstats.counters_of(values)
        if counters is None:
            self.recorder.omit("disk lines with a field count no kernel prints (cut or damaged)")
            return
        if name in self._now:
            self._complete()
        self.recorder.omit("fields after the 17th, of a kernel later than this importer", max(0, len(values) - 17))
        self._now[name] = counters

    def _complete(self) -> None:
        """The snapshot is whole: compare it with the one before."""
        if not self._now:
            return
        time = self._time or self._rebuilt_time()
        self._snapshots += 1
        if self._before_time is not None:
            self._compare(self._before_time, time)
        self.recorder.notes.clock = self.recorder.notes.clock or (
            "zone in the file" if time.zoned else self.options.zone_words()
        )
        self._before_time, self._before = time, self._now
        self._time, self._now = None, {}

    def _rebuilt_time(self) -> _Time:
        if not self.options.interval_s:
            raise broken(
                self.evidence, "a line with the time before each snapshot of /proc/diskstats", "none",
                hint="Give --interval (and --start), or capture with 'date -u +%FT%T.%NZ' before each 'cat'.",
            )  # fmt: skip
        self.recorder.notes.clock = (
            f"no times in the source; rebuilt from row order, {'--start' if self.options.start else '1970'}, "
            f"--interval {self.options.interval_s:g} s"
        )
        step_ns = round(self.options.interval_s * units.NS_PER_S)
        if self._before_time is not None:
            return _Time(self._before_time.ns + step_ns, True, False)
        start = self.options.start or dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
        placed = start if start.tzinfo else start.replace(tzinfo=self.options.zone())
        return _Time(units.ns_from_datetime(placed), True, False)

    def _compare(self, before: _Time, now: _Time) -> None:
        span_ns = now.ns - before.ns
        if span_ns <= 0:
            self.recorder.omit("snapshots whose clock did not advance")
            if span_ns < 0:
                self.recorder.warn(
                    "The clock went back between two snapshots; their times overlap. The end of summer time looks like "
                    "that: say the zone with --timezone."
                )
            return
        if before.whole_seconds and span_ns < 20 * units.NS_PER_S:
            self.recorder.warn(
                f"The time lines are in whole seconds, so rates over {span_ns / units.NS_PER_S:g} s may be wrong by "
                f"{units.NS_PER_S / span_ns:.0%}. Capture with: date -u +%FT%T.%NZ"
            )
        for name, counters in self._now.items():
            if name not in self._before:
                self.recorder.omit("first snapshot of a device that appeared later")
            elif name not in self._entities and not any((*counters.values(), *self._before[name].values())):
                self._asleep.setdefault(name, []).append((before.ns, span_ns))
            else:
                for start_ns, length_ns in self._asleep.pop(name, ()):
                    self._device(name, start_ns, length_ns, self._before[name], self._before[name])
                self._device(name, before.ns, span_ns, self._before[name], counters)

    def _device(self, name: str, start_ns: int, span_ns: int, before: Counters, now: Counters) -> None:
        change = diskstats.change(before, now)
        if change is None:
            self.recorder.omit("intervals with a counter reset")
            return
        self.recorder.omit("times that went back without a wrap (old kernels do this)", change.times_back)
        entity = self._entities.get(name) or self._meet(name)
        seconds = span_ns / units.NS_PER_S
        columns = diskstats.canonical(change.deltas, seconds)
        self.recorder.omit(
            "busy shares above 1 cut to 1 (the time line and the counters are not read at once)", int(columns.busy_cut)
        )
        self.recorder.observe(entity, start_ns, span_ns, columns.values)
        for counter, unit, value in diskstats.other_counters(change.deltas, now, seconds):
            self.recorder.counter(entity, start_ns, span_ns, counter, unit, value)

    def _meet(self, name: str) -> EntityRef:
        self._system = self.options.system or DEFAULT_LINUX_SYSTEM
        self.recorder.notes.system = self._system
        disk = diskstats.disk_of_partition(name, self._now)
        entity = EntityRef(self._system, "device" if disk is None else "partition", name)
        if disk is not None:
            self.recorder.link(entity, "lives_on", EntityRef(self._system, "device", disk))
        self.recorder.link(entity, "member_of", EntityRef(self._system, "host", self._system))
        self._entities[name] = entity
        return entity


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    recorder.notes.tool = "/proc/diskstats"
    reader = _Reader(evidence, recorder, options)
    for line in whole_lines(evidence, recorder):
        reader.line(line)
    reader.finish()


IMPORTER = Importer(
    name="diskstats",
    title="Linux /proc/diskstats, snapshots with times",
    supports="Linux 2.6 to 6.x: 4 (old partitions), 11, 15 and 17 fields; seen 6.18",
    how_to_capture="while true; do date -u +%FT%T.%NZ; cat /proc/diskstats; sleep 1; done > diskstats.txt",
    recognise=_recognise,
    read=_read,
    version=2,
    carries=(
        "read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "read_latency_ns_mean",
        "write_latency_ns_mean", "queue_depth_mean", "busy_ratio", "partitions and the disk they live on",
        "merges, discards, flushes and operations in flight as counters",
    ),
    never={
        "latency percentiles": "the kernel's disk statistics keep sums only",
        "the host's name": "it is not in the file; set --system",
    },
)  # fmt: skip
