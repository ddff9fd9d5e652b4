"""What the text and the JSON form of iostat share: fields, times, and which report is data.

Field meanings: iostat(1) of sysstat 12.6 and 10.0. Of the two generations the older has `avgrq-sz` in sectors of 512
bytes, `avgqu-sz`, `await` and `svctm` (withdrawn by its author as meaningless); the newer has per-direction sizes.

What is canonical is of reads and writes alone, since discards (fstrim) are no load of an application: the time of
discards and flushes is taken out of `aqu-sz` (`-x`), and where `tps` and `await` count discards that cannot be taken
out, they are counters. `-s` does not show discards at all; where its operations are too large, that is said. `%util`
counts them, and cannot be parted.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from storscope.domain import units
from storscope.domain.diskstats import disk_of_partition
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._local_clock import LocalClock, passes
from storscope.sources.importers._long_steps import LongSteps
from storscope.sources.importers._stamps import Stamps, has_date

_CANONICAL = {
    "r/s": ("read_ops_per_s", 1.0),
    "w/s": ("write_ops_per_s", 1.0),
    "tps": ("ops_per_s", 1.0),
    "rkB/s": ("read_bytes_per_s", units.KIB),
    "wkB/s": ("write_bytes_per_s", units.KIB),
    "kB/s": ("bytes_per_s", units.KIB),
    "kB_read/s": ("read_bytes_per_s", units.KIB),
    "kB_wrtn/s": ("write_bytes_per_s", units.KIB),
    "rMB/s": ("read_bytes_per_s", units.MIB),
    "wMB/s": ("write_bytes_per_s", units.MIB),
    "MB/s": ("bytes_per_s", units.MIB),
    "MB_read/s": ("read_bytes_per_s", units.MIB),
    "MB_wrtn/s": ("write_bytes_per_s", units.MIB),
    "rsec/s": ("read_bytes_per_s", units.SECTOR_BYTES),
    "wsec/s": ("write_bytes_per_s", units.SECTOR_BYTES),
    "sec/s": ("bytes_per_s", units.SECTOR_BYTES),
    "Blk_read/s": ("read_bytes_per_s", units.SECTOR_BYTES),
    "Blk_wrtn/s": ("write_bytes_per_s", units.SECTOR_BYTES),
    "r_await": ("read_latency_ns_mean", units.NS_PER_MS),
    "w_await": ("write_latency_ns_mean", units.NS_PER_MS),
    "await": ("latency_ns_mean", units.NS_PER_MS),
    "aqu-sz": ("queue_depth_mean", 1.0),
    "avgqu-sz": ("queue_depth_mean", 1.0),
    "%util": ("busy_ratio", 0.01),
}
"""iostat field -> canonical column and factor."""

_DERIVED = {"rareq-sz", "wareq-sz", "areq-sz", "avgrq-sz", "dareq-sz", "%rrqm", "%wrqm", "%drqm", "svctm",
            "rrqm", "wrqm", "drqm"}  # fmt: skip
"""Follow from other fields, or are withdrawn (svctm); left out and counted."""

_TOTALS = {f"{unit}_{what}" for unit in ("kB", "MB", "Blk") for what in ("read", "wrtn", "dscd")}
"""Amounts of the interval: rate times interval; left out and counted."""

_COUNTER_UNITS = {"rrqm/s": "1/s", "wrqm/s": "1/s", "drqm/s": "1/s", "rqm/s": "1/s", "d/s": "1/s", "f/s": "1/s",
                  "dkB/s": "KiB/s", "dMB/s": "MiB/s", "dsec/s": "sectors/s", "kB_dscd/s": "KiB/s",
                  "MB_dscd/s": "MiB/s", "Blk_dscd/s": "sectors/s", "d_await": "ms", "f_await": "ms"}  # fmt: skip

FIELDS = frozenset(_CANONICAL) | _DERIVED | _TOTALS | frozenset(_COUNTER_UNITS)
"""Every field this module knows; a line of these is a heading of iostat."""

_DISCARDED_KIB: Final = {"kB_dscd/s": 1.0, "MB_dscd/s": 1024.0, "Blk_dscd/s": 0.5, "dkB/s": 1.0, "dMB/s": 1024.0,
                         "dsec/s": 0.5}  # fmt: skip
_LEAST_DISCARD_KIB: Final = 4.0
"""A block of a file system: so many discards at most are of so many KiB."""
_FEW: Final = 0.05
"""Up to this share of the operations discards are taken for reads and writes, which is then the error."""
_WITH_DISCARDS: Final = {"tps": "1/s", "await": "ms", "aqu-sz": ""}
"""What one figure for operations of every kind counts discards in (iostat.c of sysstat 12: `dc_ios`), and its unit."""
_LARGE_KIB: Final = 2048.0
"""Few devices take larger requests; a discard may be of GiB."""
_TOO_LARGE: Final = (
    "Operations of more than 2 MiB: iostat -s counts discards (fstrim) among operations, bytes and await, and does not "
    "say how many. Capture again without -s: iostat -x -y -t 10"
)

_DROPPED: Final = "fields that follow from others or are withdrawn (sizes, totals, merge ratios, svctm)"
_MIXED: Final = (
    "device lines whose operations are not known, as discards (fstrim) are counted in tps; kept as counters (-x parts "
    "them)"
)

_TIMED = (
    ("r_await", ("r/s",)), ("w_await", ("w/s",)), ("d_await", ("d/s",)), ("f_await", ("f/s",)),
    ("await", ("tps",)), ("await", ("r/s", "w/s")),
)  # fmt: skip
"""A latency and the rates it is the mean over: without an operation iostat prints 0.00 where nothing was timed."""


_FIRST = (
    "first reports: they may cover the time since boot (iostat does not say whether -y was used; if it was: "
    "--keep-first)"
)
_ALONE: Final = "reports that are alone under their header"
_HALF_A_DAY_NS: Final = 12 * 3600 * units.NS_PER_S
_EXACT_RATE, _EXACT_TOTAL = 0.5, 50.0
"""From here on two decimals of a rate and the whole units of an amount are known to 1 %."""


@dataclass(frozen=True)
class Report:
    """One block of iostat output: fields per device, as printed. A name with a leading blank is a group (-g)."""

    timestamp: str | None
    devices: Mapping[str, Mapping[str, float]]
    cpu: Mapping[str, float]


@dataclass
class ReportWriter:
    """Writes the reports that are data. A report covers the interval that ends at its time stamp.

    The first one after a header is held until the step to the second is known: it is data if --keep-first says so, or
    if its amounts over its rates (plain tables) are that step and so not the time since boot. What an earlier header
    of the file has to the last figure and the time is read once: the file was joined with a copy of itself.
    """

    recorder: Recorder
    options: ImportOptions
    stamps: Stamps
    _system: str = ""
    _date: dt.date | None = None
    _header_has_date: bool = False
    _previous_ns: int | None = None
    _gap_ns: int = 0
    _reports: int = 0
    _first: tuple[int, Report] | None = None
    _long_steps: LongSteps = field(default_factory=LongSteps)
    _seen: dict[str, EntityRef] = field(default_factory=dict)
    _clock: LocalClock = field(init=False)
    _of_earlier_headers: set[int] = field(default_factory=set)
    _of_this_header: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        """The clock of times without a zone."""
        self._clock = LocalClock(self.options.zone())

    def begin(self, system: str, date: str | None) -> None:
        """A new header: the report that follows may cover the time since boot."""
        self._end_of_capture()
        self._of_earlier_headers |= self._of_this_header
        self._of_this_header.clear()
        if system != self._system:
            self._seen.clear()
            self._previous_ns = None
        self._system, self._reports = system, 0
        found = self.stamps.date(date)
        self._header_has_date, self._date = found is not None, found or self._date

    def add(self, report: Report) -> None:
        """One report of the current header."""
        end_ns = self._end(report)
        if end_ns is None:
            self.recorder.omit("reports whose time stamp is no date")
            return
        if self._is_known(end_ns, report):
            self.recorder.omit("reports that are in the file twice")
            self._previous_ns = end_ns
            self._reports += 1
            return
        duration_ns = self._duration(end_ns)
        self._previous_ns = end_ns
        self._reports += 1
        if self._reports == 1:
            self._first = end_ns, report
            return
        if self._first is not None:
            is_data = self.options.keep_first or _covers(self._first[1], duration_ns)
            self._write_first(duration_ns if is_data else None, _FIRST)
        if duration_ns:
            self._write(report, end_ns, duration_ns)
        else:
            self.recorder.omit("reports of unknown length: the clock stood still or went back")

    def _is_known(self, end_ns: int, report: Report) -> bool:
        """Whether a report of an earlier header is the same; without a time it may be one of another quiet hour."""
        if not report.timestamp:
            return False
        rows = tuple((name, *fields.items()) for name, fields in report.devices.items())
        key = hash((self._system, end_ns, rows, *report.cpu.items()))
        self._of_this_header.add(key)
        return key in self._of_earlier_headers

    def finish(self) -> None:
        """After the last report."""
        self._end_of_capture()
        self._long_steps.warn(self.recorder)
        notes = self.recorder.notes
        if not notes.clock:
            return
        notes.clock += self._clock.words + self.stamps.order_words
        if doubt := self.stamps.doubt:
            self.recorder.warn(doubt)

    def _end_of_capture(self) -> None:
        """A report that stayed alone is data if --keep-first says so and --interval how long it is."""
        if self._first is None:
            return
        keep, interval_s = self.options.keep_first, self.options.interval_s
        self._write_first(round(interval_s * units.NS_PER_S) if keep and interval_s else None, _ALONE)
        if keep and not interval_s:
            self.recorder.warn("A header with only one report: the file does not tell its length. Say it: --interval")
        elif not keep:
            self.recorder.warn(
                "A header with only one report: it may cover the time since boot, as iostat does not say whether -y "
                "was used. If it was, say --keep-first and --interval; else capture again with: iostat -x -y -t 10"
            )

    def _write_first(self, duration_ns: int | None, without_length: str) -> None:
        """Writes the report that was held, or counts it as left out if it has no length, for this reason."""
        held, self._first = self._first, None
        if held is not None and duration_ns:
            self._write(held[1], held[0], duration_ns)
        elif held is not None:
            self.recorder.omit(without_length)

    def _write(self, report: Report, end_ns: int, duration_ns: int) -> None:
        host = EntityRef(self._system, "host", self._system)
        start_ns = end_ns - duration_ns
        for name, fields in self._members(report.devices).items():
            device = self._seen.get(name) or self._meet(name, host)
            record_device(self.recorder, device, start_ns, duration_ns, fields)
        record_cpu(self.recorder, host, start_ns, duration_ns, report.cpu)

    def _members(self, devices: Mapping[str, Mapping[str, float]]) -> Mapping[str, Mapping[str, float]]:
        """Devices without group totals, which would be counted twice; of a report with nothing but totals, these."""
        groups = [name for name in devices if name.startswith(" ")]
        if not groups or len(groups) == len(devices):
            return devices
        self.recorder.omit("group totals (-g): sums of the devices above them", len(groups))
        return {name: fields for name, fields in devices.items() if not name.startswith(" ")}

    def _meet(self, name: str, host: EntityRef) -> EntityRef:
        disk = disk_of_partition(name, self._seen)
        device = EntityRef(self._system, "device" if disk is None else "partition", name.strip())
        if disk is not None:
            self.recorder.link(device, "lives_on", self._seen[disk])
        self.recorder.link(device, "member_of", host)
        self._seen[name] = device
        return device

    def _end(self, report: Report) -> int | None:
        """When the report ends; None where its stamp is damaged and no step is known yet."""
        moment = self.stamps.moment(report.timestamp, self._date) if report.timestamp else None
        if moment is None and has_date(report.timestamp or ""):
            if self._previous_ns is None or not self._gap_ns:
                return None
            self.recorder.omit("time stamps that are no date; the report follows the one before")
            return self._previous_ns + self._gap_ns
        if moment is None:
            return self._rebuilt_end()
        zoned = moment.tzinfo is not None
        self.recorder.notes.clock = self.recorder.notes.clock or (
            "zone in the file" if zoned else self.options.zone_words()
        )
        if zoned:
            return units.ns_from_datetime(moment)
        return self._placed(moment, has_own_date=has_date(report.timestamp or ""))

    def _placed(self, moment: dt.datetime, *, has_own_date: bool) -> int:
        """A naive time on the local clock."""
        follows = not has_own_date and (self._reports or not self._header_has_date)
        if follows and self._previous_ns is not None:
            first_ns, _ = passes(moment, self._clock.zone)
            if self._previous_ns - first_ns > _HALF_A_DAY_NS:
                # sysstat before 9.1 stamps the time only; it has passed midnight.
                self._date = moment.date() + dt.timedelta(days=1)
                moment = dt.datetime.combine(self._date, moment.time())
        self._clock.previous_ns = self._previous_ns
        return self._clock.instant(moment)

    def _rebuilt_end(self) -> int:
        step_s = self.options.interval_s or 1.0
        said = "--start" if self.options.start else "the date in the header, midnight"
        steps = f"--interval {self.options.interval_s:g} s" if self.options.interval_s else "1 s steps, a guess"
        self.recorder.notes.clock = self.recorder.notes.clock or (
            f"no times in the source; rebuilt from row order, {said}, {steps}"
        )
        step_ns = round(step_s * units.NS_PER_S)
        first_ns = self._first_instant() + step_ns * self._reports
        if self._previous_ns is None:
            return first_ns
        # A second capture of the same day in one file follows the first.
        return self._previous_ns + step_ns if self._reports else max(first_ns, self._previous_ns + step_ns)

    def _first_instant(self) -> int:
        start = self.options.start or dt.datetime.combine(self._date or dt.date(1970, 1, 1), dt.time())
        return units.ns_from_datetime(start if start.tzinfo else start.replace(tzinfo=self.options.zone()))

    def _duration(self, end_ns: int) -> int:
        if self.options.interval_s:
            return round(self.options.interval_s * units.NS_PER_S)
        if self._previous_ns is not None and self._reports:
            gap_ns = end_ns - self._previous_ns
            if gap_ns <= 0:
                self.recorder.warn("The clock went back between two reports; their times overlap.")
            else:
                self._gap_ns = gap_ns
                self._long_steps.add(gap_ns, end_ns)
        return self._gap_ns


def _covers(report: Report, step_ns: int) -> bool:
    """Whether amounts over rates are as long as the step to the next report, to 5 %; only plain tables have amounts."""
    pairs = [
        (fields[f"{total}/s"], fields[total])
        for fields in report.devices.values()
        for total in _TOTALS
        if fields.get(f"{total}/s", 0.0) >= _EXACT_RATE and fields.get(total, 0.0) >= _EXACT_TOTAL
    ]
    if not pairs or not step_ns:
        return False
    rate, total = max(pairs)
    return abs(total / rate * units.NS_PER_S / step_ns - 1) < 0.05


def record_device(
    recorder: Recorder, device: EntityRef, start_ns: int, duration_ns: int, fields: Mapping[str, float]
) -> None:
    """One device line: canonical columns as an observation, the rest as counters.

    A rate below zero shows that the counters were reset or wrapped, so the line says nothing; a time below zero comes
    of old kernels and is left out alone.
    """
    plan = _plan(tuple(fields))
    if plan is not None and min(fields.values()) >= 0 and not _other_in_flight(fields):
        _record_planned(recorder, device, start_ns, duration_ns, fields, plan)
        return
    negative = {name for name, value in fields.items() if value < 0}
    if any("/s" in name for name in negative):
        recorder.omit("device lines with a negative rate: a counter was reset or wrapped")
        return
    recorder.omit("negative times, shares or queues (old kernels do this)", len(negative))
    if fields.get("kB/s", 0.0) > _LARGE_KIB * fields.get("tps", math.inf):
        recorder.warn(_TOO_LARGE)
    untimed = _latencies_of_nothing(fields) | negative
    mixed = _mixed(fields)
    recorder.omit(_MIXED, "tps" in mixed)
    for name, value in mixed.items():
        if name not in untimed:
            recorder.counter(device, start_ns, duration_ns, name, _WITH_DISCARDS[name], value)
    fields = _of_reads_and_writes(fields)
    values: dict[str, float | None] = {}
    dropped = 0
    for name, value in fields.items():
        if name in untimed:
            continue
        if name in _CANONICAL:
            column, factor = _CANONICAL[name]
            values[column] = value * factor
        elif name in _DERIVED or name in _TOTALS:
            dropped += 1
        else:
            recorder.counter(device, start_ns, duration_ns, name, _COUNTER_UNITS.get(name, ""), value)
    recorder.omit(_DROPPED, dropped)
    recorder.observe(device, start_ns, duration_ns, values)


@dataclass(frozen=True)
class _Plan:
    """What becomes of the fields of a line in which nothing is negative and nothing but reads and writes is counted."""

    canonical: Sequence[tuple[str, str, float]]
    """Field, column, factor."""
    counters: Sequence[tuple[str, tuple[str, str]]]
    """Field, and the counter's name and unit."""
    dropped: int


@lru_cache(maxsize=64)
def _plan(names: tuple[str, ...]) -> _Plan | None:
    """The plan for lines with these fields; None where it depends on the values. Thousands of lines share a heading."""
    if not names or "tps" in names or "kB/s" in names:
        return None
    canonical = [(name, *_CANONICAL[name]) for name in names if name in _CANONICAL]
    left = [name for name in names if name not in _CANONICAL]
    counters = [(name, (name, _COUNTER_UNITS.get(name, ""))) for name in left if name not in _DERIVED | _TOTALS]
    return _Plan(canonical, counters, len(left) - len(counters))


def _record_planned(
    recorder: Recorder,
    device: EntityRef,
    start_ns: int,
    duration_ns: int,
    fields: Mapping[str, float],
    plan: _Plan,
) -> None:
    untimed = _latencies_of_nothing(fields)
    recorder.counters(
        device, start_ns, duration_ns, [(key, fields[name]) for name, key in plan.counters if name not in untimed]
    )
    recorder.omit(_DROPPED, plan.dropped)
    values = {column: fields[name] * factor for name, column, factor in plan.canonical if name not in untimed}
    recorder.observe(device, start_ns, duration_ns, values)


def _mixed(fields: Mapping[str, float]) -> Mapping[str, float]:
    """The figures of a line in which discards or flushes are counted, as printed; none in a line without any."""
    if "tps" in fields:
        discarded_kib = sum(fields.get(name, 0.0) * kib for name, kib in _DISCARDED_KIB.items())
        are_few = discarded_kib <= _FEW * _LEAST_DISCARD_KIB * fields["tps"]
        kinds: tuple[str, ...] = () if are_few else tuple(_WITH_DISCARDS)
    else:
        kinds = ("aqu-sz",) if _other_in_flight(fields) > 0 else ()
    return {name: fields[name] for name in kinds if name in fields}


def _of_reads_and_writes(fields: Mapping[str, float]) -> Mapping[str, float]:
    """The line without them: what can be parted is, what cannot is left out."""
    mixed = _mixed(fields)
    kept = {name: value for name, value in fields.items() if name not in mixed}
    if mixed and "tps" not in fields:
        kept["aqu-sz"] = max(0.0, fields["aqu-sz"] - _other_in_flight(fields))
    return kept


def _other_in_flight(fields: Mapping[str, float]) -> float:
    """Discards and flushes in flight, by Little's law, to 0.005 ms of each; kernels before 5.5 count no flushes."""
    pairs = (("d/s", "d_await"), ("f/s", "f_await"))
    return sum(max(0.0, fields.get(rate, 0.0) * fields.get(wait, 0.0)) for rate, wait in pairs) / 1000


def _latencies_of_nothing(fields: Mapping[str, float]) -> set[str]:
    found = set()
    for latency, rates in _TIMED:
        if fields.get(latency) == 0 and all(fields.get(rate) == 0 for rate in rates):
            found.add(latency)
    return found


def record_cpu(recorder: Recorder, host: EntityRef, start_ns: int, duration_ns: int, cpu: Mapping[str, float]) -> None:
    """What the processors did, in per cent. Waiting for I/O is idle time of one: busy is what is neither."""
    if "idle" not in cpu:
        return
    busy = 1 - (cpu["idle"] + cpu.get("iowait", 0.0)) / 100
    recorder.observe(host, start_ns, duration_ns, {"cpu_busy_ratio": max(0.0, busy)})
    for name, percent in cpu.items():
        recorder.counter(host, start_ns, duration_ns, f"cpu {name}", "%", float(percent))
