"""fio's human output as values: which lines there are, and what a job's block says.

Layout as in fio's `stat.c` (show_thread_status_normal, show_ddir_status) and `diskutil.c`: the old one to 2.16
(`io=..., bw=..., iops=..., runt=...`, K = 1,024), the new one since 2.17 (`IOPS=..., BW=...`, KiB and kB apart, times
in nsec, usec or msec as fits). Lines that no pattern knows are counted, and fio's complaints kept.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from storscope.domain import units
from storscope.domain.fio_buckets import NS_OF
from storscope.sources.importers._fio import Direction, bounded_ms, number, version_below
from storscope.sources.importers._fio import size_bytes as bytes_of_option
from storscope.sources.importers._fio_documents import COMPLAINT

HEADING = re.compile(
    r"^(?P<name>.*): \(groupid=(?P<group>\d{1,9}), jobs=(?P<jobs>\d{1,9})\): err=\s*(?P<error>\d{1,9})(?P<why>.*?): "
    r"pid=(?P<pid>\d{1,9})(?:: (?P<time>.*))?$"
)
_DEFINITION = re.compile(r"^(?P<name>.*): \(g=(?P<group>\d{1,9})\): rw=(?P<rw>[^,]+), (?P<rest>.*)$")
_NEW_DIRECTION = re.compile(
    r"^\s*(read|write|trim|mixed)\s*: IOPS=([^,]+), BW=.*\((?P<size>[\d.]+)(?P<unit>[A-Za-z]*)/(?P<run>\d+)msec\)"
)
_OLD_DIRECTION = re.compile(
    r"^\s*(read|write|trim|mixed)\s*: io=(?P<size>[\d.]+)(?P<unit>[A-Za-z]*), bw=.*?, iops=\s*([^,]+), "
    r"runt=\s*(?P<run>\d+)\s*msec"
)
_TIMES = re.compile(r"^\s*(slat|clat|lat|sync)\s*\((\w+)\)\s*: min=(.*)$")
_PERCENTILES = re.compile(r"^\s*(slat|clat|lat|sync) percentiles \((\w+)\)\s*:")
_PERCENTILE = re.compile(r"([\d.]+)th=\[\s*>?([\d.]+[kKMG]?)\s*\]")
_SAMPLES = re.compile(r"^\s*(?:bw \(\s*(?P<unit>[A-Za-z]+)\s*/s\)|iops)\s*:\s*(?P<pairs>min=.*)$")
_SHARES = re.compile(r"^\s*(lat \((?:nsec|usec|msec)\)|IO depths|submit|complete)\s*: (.*%.*)$")
_SHARE = re.compile(r"(>=\s*\d+|\d+)=\s*([\d.]+)%")
_CPU = re.compile(r"^\s*cpu\s*: (usr=.*)$")
_ISSUED = re.compile(
    r"^\s*issued[ a-z/]*: total=(?P<total>.*?),? short=(?P<short>.*?)(?:,? drop(?:ped)?=(?P<drop>.*))?$"
)
_LATENCY = re.compile(r"^\s*latency\s*: target=.*\bdepth=(\d+)")
_STEADY = re.compile(r"^\s*steadystate\s*: attained=(yes|no)")
_GROUP = re.compile(r"^Run status group \d+|^\s*(?:READ|WRITE|TRIM|MIXED): (?:bw|io)=")
_DISK = re.compile(r"^\s*(?P<name>\S[^:]*): ios=(?P<ios>\d+/\d+), (?P<rest>.*util=.*)$")
_VERSION = re.compile(r"^fio[- ](\d\S*)$")
_IDLE = re.compile(r"^\s*$|^\.\.\.$|^Starting |^Jobs: |^Disk stats|fsync/fdatasync|^hostname=")
_CTIME = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2})\s+(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})")
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()  # noqa: SIM905  as C's ctime() writes them
_CLIENT = re.compile(r"^<[^<>]*> ?")

LONGEST_LINE = 4096
"""fio's lines are shorter; a longer one is none and could make the patterns slow."""
_ALL_CLIENTS = "All clients"
_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SHARE_NAMES = {
    "lat (nsec)": "latency_ns", "lat (usec)": "latency_us", "lat (msec)": "latency_ms", "IO depths": "iodepth_level",
    "submit": "iodepth_submit", "complete": "iodepth_complete",
}  # fmt: skip
_SAMPLE_NAMES = {
    "bw": {"min": "min", "max": "max", "avg": "mean", "stdev": "dev", "per": "agg", "samples": "samples"},
    "iops": {"min": "min", "max": "max", "avg": "mean", "stdev": "stddev", "samples": "samples"},
}
_DISK_NAMES = {"ios": "ios", "sectors": "sectors", "merge": "merges", "ticks": "ticks"}


@dataclass(frozen=True)
class Definition:
    """A job as it is announced before the run: 'name: (g=0): rw=randread, bs=..., ioengine=..., iodepth=...'."""

    name: str
    group: int
    options: dict[str, str]


@dataclass
class TextDirection:
    """What is printed of one direction."""

    printed_iops: float | None = None
    printed_bytes: float | None = None
    runtime_ms: float | None = None
    times_ns: dict[str, dict[str, float]] = field(default_factory=dict)
    percentiles_ns: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    samples: list[tuple[str, str, float]] = field(default_factory=list)


@dataclass
class TextJob:
    """One result: a job, or all jobs of a group with group_reporting."""

    name: str
    group: int
    processes: int
    error: int
    pid: int
    ended: dt.datetime | None
    """When it was printed, to the second, in the host's own zone."""
    version: str | None
    announced: tuple[Definition, ...]
    """The definitions of its group."""
    parts: dict[str, TextDirection] = field(default_factory=dict)
    issued: tuple[float, ...] = ()
    incomplete: float = 0.0
    """Short and dropped I/Os together; after one, sizes cannot be told from counts."""
    depth: float | None = None
    counters: list[tuple[str, str, float]] = field(default_factory=list)

    @cached_property
    def definition(self) -> Definition | None:
        return next((found for found in self.announced if found.name == self.name), None)

    @cached_property
    def directions(self) -> dict[str, Direction]:
        """Counts and total latency. I/Os are taken from `issued`, since IOPS are printed with three digits."""
        found = {name: self._direction(name, part) for name, part in self.parts.items()}
        if found and not {"mixed", "read", "write"} <= set(found) and "mixed" not in found:
            for way in ("read", "write"):
                found.setdefault(way, Direction(ops=0.0, size_bytes=0.0))
        return found

    def _direction(self, name: str, part: TextDirection) -> Direction:
        ops = self.count_of(name)
        if ops is None and part.printed_iops is not None and part.runtime_ms is not None:
            ops = part.printed_iops * part.runtime_ms / 1000
        times = part.times_ns.get("lat") or part.times_ns.get("clat") or {}
        if name == "sync" and not ops and times:
            ops = None  # `issued` counts the calls of fsync alone, and none of fdatasync (fio 3.33)
        return Direction(
            ops=ops,
            size_bytes=self._size_bytes(name, part, ops),
            runtime_ms=part.runtime_ms,
            latency_ns_mean=times.get("mean") or None,
            latency_ns_max=times.get("max") or None,
            timed=ops,
        )

    def count_of(self, name: str) -> float | None:
        """The I/Os that `issued` gives for a direction; all of them stand first with unified reporting."""
        place = {"read": 0, "mixed": 0, "write": 1, "trim": 2, "sync": 3}[name]
        return self.issued[place] if place < len(self.issued) else None

    def _size_bytes(self, name: str, part: TextDirection, ops: float | None) -> float | None:
        """Count times block size where that agrees with the (rounded) size printed, else the size printed."""
        block = block_sizes(self.definition).get(name)
        if block is None or ops is None or self.incomplete or part.printed_bytes is None:
            return part.printed_bytes
        exact = ops * block
        return exact if abs(exact - part.printed_bytes) <= 0.006 * exact else part.printed_bytes


def block_sizes(definition: Definition | None) -> dict[str, float | None]:
    """Bytes an I/O by direction, None where a range is announced."""
    if definition is None:
        return {}
    ranges = [_range_bytes(part) for part in re.findall(r"[\d.]+[A-Za-z]*-[\d.]+[A-Za-z]*", definition.options["bs"])]
    sizes = dict(zip(("read", "write", "trim"), ranges, strict=False))
    if ranges and all(size == ranges[0] for size in ranges):
        sizes["mixed"] = ranges[0]
    return sizes


def _range_bytes(text: str) -> float | None:
    """The size of a range of one size. Decimal units (kb_base=1000: '65.5kB') are rounded, so they tell none."""
    low, high = text.split("-")
    if re.search(r"[kKMG]B$", low):
        return None
    return bytes_of_option(low) if low == high else None


@dataclass
class Disk:
    """One line of 'Disk stats', by the names that the JSON form uses."""

    name: str
    totals: dict[str, float | None]


@dataclass
class Block:
    """What fio prints at one time: the state of all jobs, and the devices beneath."""

    jobs: list[TextJob] = field(default_factory=list)
    disks: list[Disk] = field(default_factory=list)
    is_closed: bool = False
    """The summary of the groups has been reached; a further result belongs to the next block."""


class TextReader:
    """Collects blocks line by line."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.complaints: list[str] = []
        self.summary_lines = 0
        self.other_lines = 0
        self.all_clients = 0
        self.version: str | None = None
        self._announced: list[Definition] = []
        self._job: TextJob | None = None
        self._part: TextDirection | None = None
        self._percentiles: list[tuple[float, float]] = []
        self._percentile_ns = 1.0

    def read(self, lines: Iterable[str]) -> None:
        """Takes every line. Progress lines end in a carriage return and leave their rest before a line of substance."""
        for line in lines:
            text = _CLIENT.sub("", line.rsplit("\r", 1)[-1]).rstrip()
            if len(text) > LONGEST_LINE:
                self.other_lines += 1
            elif self._job is None or not self._of_job(self._job, text):
                self._beside(text)

    def _of_job(self, job: TextJob, line: str) -> bool:
        return any(take(job, line) for take in self._TAKERS)

    # Lines of a job ----------------------------------------------------------------------------------------------

    def _take_percentile(self, _: TextJob, line: str) -> bool:
        if "th=[" not in line:
            return False
        for percent, value in _PERCENTILE.findall(line):
            found, scaled = number(percent), scaled_number(value)
            if found is not None and scaled is not None:
                self._percentiles.append((found, scaled * self._percentile_ns))
        return True

    def _take_direction(self, job: TextJob, line: str) -> bool:
        is_new = True
        match = _NEW_DIRECTION.match(line)
        if match is None:
            match, is_new = _OLD_DIRECTION.match(line), False
        if match is None:
            return False
        iops = scaled_number(match[2] if is_new else match[4])
        size = size_of(match["size"], match["unit"], is_binary=not is_new)
        self._part = TextDirection(iops, size, bounded_ms(match["run"]))
        job.parts[match[1]] = self._part
        return True

    def _take_times(self, job: TextJob, line: str) -> bool:
        match = _TIMES.match(line)
        if match is None:
            return False
        pairs = dict(_pairs(f"min={match[3]}"))
        scale = NS_OF.get(match[2].removesuffix("ec"), 1.0)
        names = {"min": "min", "max": "max", "avg": "mean", "stdev": "stddev"}
        part, measure = self._place(job, match[1])
        part.times_ns[measure] = {names[key]: value * scale for key, value in pairs.items() if key in names}
        return True

    def _take_percentiles_heading(self, job: TextJob, line: str) -> bool:
        match = _PERCENTILES.match(line)
        if match is None:
            return False
        part, measure = self._place(job, match[1])
        self._percentiles = part.percentiles_ns.setdefault(measure, [])
        self._percentile_ns = NS_OF.get(match[2].removesuffix("ec"), 1.0)
        return True

    def _place(self, job: TextJob, measure: str) -> tuple[TextDirection, str]:
        """Where times belong: to the direction above them, or to the syncs, which have one time only."""
        if measure == "sync":
            return job.parts.setdefault("sync", TextDirection()), "lat"
        if self._part is None:
            self._part = TextDirection()
        return self._part, measure

    def _take_samples(self, _: TextJob, line: str) -> bool:
        match = _SAMPLES.match(line)
        if match is None or self._part is None:
            return False
        kind, factor = ("iops", 1.0) if match["unit"] is None else ("bw", self._kib_factor(match["unit"]))
        rate = "1/s" if kind == "iops" else "KiB/s"
        for key, value in _pairs(match["pairs"]):
            word = _SAMPLE_NAMES[kind].get(key)
            if word in ("agg", "samples"):
                self._part.samples.append((f"{kind}_{word}", "%" if word == "agg" else "", value))
            elif word is not None:
                self._part.samples.append((f"{kind}_{word}", rate, value * factor))
        return True

    def _kib_factor(self, unit: str) -> float:
        is_old = bool(version_below(self.version, 2, 17))
        return (size_of("1", unit, is_binary=is_old) or units.KIB) / units.KIB

    @staticmethod
    def _take_shares(job: TextJob, line: str) -> bool:
        match = _SHARES.match(line)
        if match is None:
            return False
        table = _SHARE_NAMES[match[1]]
        for key, share in _SHARE.findall(match[2]):
            if (percent := number(share)) is not None:
                job.counters.append((f"{table}.{key}", "%", percent))
        return True

    @staticmethod
    def _take_cpu(job: TextJob, line: str) -> bool:
        match = _CPU.match(line)
        if match is None:
            return False
        names = {"usr": "usr_cpu", "sys": "sys_cpu"}
        for key, value in _pairs(match[1]):
            job.counters.append((names.get(key, key), "%" if key in names else "", value))
        return True

    @staticmethod
    def _take_issued(job: TextJob, line: str) -> bool:
        match = _ISSUED.match(line)
        if match is None:
            return False
        job.issued = tuple(float(count) for count in re.findall(r"\d+", match["total"]))
        lost = re.findall(r"\d+", f"{match['short']} {match['drop'] or ''}")
        job.incomplete = sum(float(count) for count in lost)
        if job.incomplete:
            job.counters.append(("short_and_dropped_ios", "", job.incomplete))
        return True

    @staticmethod
    def _take_depth(job: TextJob, line: str) -> bool:
        match = _LATENCY.match(line)
        if match is not None:
            job.depth = number(match[1])
        return match is not None

    @staticmethod
    def _take_steady(job: TextJob, line: str) -> bool:
        match = _STEADY.match(line)
        if match is not None:
            job.counters.append(("steadystate.attained", "", float(match[1] == "yes")))
        return match is not None

    @cached_property
    def _TAKERS(self) -> tuple[Callable[[TextJob, str], bool], ...]:  # noqa: N802  a table
        return (
            self._take_percentile, self._take_direction, self._take_times, self._take_percentiles_heading,
            self._take_samples, self._take_shares, self._take_cpu, self._take_issued, self._take_depth,
            self._take_steady,
        )  # fmt: skip

    # Other lines -------------------------------------------------------------------------------------------------

    def _beside(self, line: str) -> None:
        if match := HEADING.match(line):
            self._start_job(match)
        elif match := _DEFINITION.match(line):
            self._announce(match)
        elif _GROUP.match(line):
            self.summary_lines += 1
            self._close()
        elif match := _DISK.match(line):
            self._disk(match)
        elif match := _VERSION.match(line.strip()):
            self.version = match[1]
        elif COMPLAINT.match(line):
            self.complaints.append(line.strip())
        elif not _IDLE.search(line):
            self.other_lines += 1

    def _start_job(self, match: re.Match[str]) -> None:
        self._part = None
        name = match["name"].strip() or "unnamed job"
        if name != _ALL_CLIENTS and (not self.blocks or self.blocks[-1].is_closed):
            self.blocks.append(Block())
        group = int(match["group"])
        self._job = TextJob(
            name=name,
            group=group,
            processes=int(match["jobs"]),
            error=int(match["error"]),
            pid=int(match["pid"]),
            ended=_ctime(match["time"]),
            version=self.version,
            announced=tuple(found for found in self._announced if found.group == group),
        )
        if name == _ALL_CLIENTS:
            self.all_clients += 1  # the sum of the others; read but kept nowhere
        else:
            self.blocks[-1].jobs.append(self._job)

    def _announce(self, match: re.Match[str]) -> None:
        if self._job is not None:
            self._announced, self._job = [], None  # another run of fio begins
            self._close()
        options = {"rw": match["rw"].strip(), "bs": ""}
        bs = re.search(r"\bbs=(.*?)(?:, [a-z_]+=|$)", match["rest"])
        options["bs"] = bs[1] if bs else ""
        for key, value in re.findall(r"\b(ioengine|iodepth)=([^,]+)", match["rest"]):
            options[key] = value.strip()
        self._announced.append(Definition(match["name"].strip() or "unnamed job", int(match["group"]), options))

    def _close(self) -> None:
        if self.blocks:
            self.blocks[-1].is_closed = True

    def _disk(self, match: re.Match[str]) -> None:
        if not self.blocks:
            self.other_lines += 1
            return
        self._close()
        self.blocks[-1].disks.append(Disk(match["name"].strip(), _disk_totals(f"ios={match['ios']}, {match['rest']}")))


def _pairs(text: str) -> Iterator[tuple[str, float]]:
    """'min= 1, max=4200.1k, per=99.5%' as names and numbers."""
    for part in text.split(","):
        key, _, value = part.partition("=")
        found = scaled_number(value.strip().rstrip("%"))
        if found is not None:
            yield key.strip(), found


def _disk_totals(text: str) -> dict[str, float | None]:
    """'ios=1/2, sectors=8/16, ..., aggrios=1/2, ...' by the names of the JSON form."""
    totals: dict[str, float | None] = {}
    for part in text.split(","):
        key, _, value = part.strip().partition("=")
        plain = key.removeprefix("aggr") if key.startswith("aggr") else key.removeprefix("agg")
        prefix = "aggr_" if plain != key else ""
        if plain in _DISK_NAMES:
            read, _, write = value.partition("/")
            totals[f"{prefix}read_{_DISK_NAMES[plain]}"] = number(read)
            totals[f"{prefix}write_{_DISK_NAMES[plain]}"] = number(write)
        elif plain in ("in_queue", "util"):
            totals[f"{prefix}{plain}"] = number(value.rstrip("%"))
    return totals


def scaled_number(text: str) -> float | None:
    """'28.1k', '4200.1k', '19826': thousands are decimal (num2str with pow2=0)."""
    match = re.fullmatch(r"\s*([\d.]+)([kKMGT]?)\s*", text)
    found = number(match[1]) if match else None
    return None if match is None or found is None else found * _DECIMAL[match[2]]


def size_of(text: str, unit: str, *, is_binary: bool) -> float | None:
    """'689' 'MiB' in bytes. Without an i, K is 1,024 to 2.16 (`is_binary`) and 1,000 after."""
    found = number(text)
    match = re.fullmatch(r"([kKMGTP]?)(i?)B?", unit)
    if found is None or match is None:
        return None
    power = " KMGTP".index(match[1].upper() or " ")
    return found * (1024.0 if match[2] or is_binary else 1000.0) ** power


def _ctime(text: str | None) -> dt.datetime | None:
    match = _CTIME.search(text or "")
    if match is None or match[1] not in _MONTHS:
        return None
    day, hour, minute, second, year = (int(match[place]) for place in range(2, 7))
    if not 1990 <= year < 2200:
        return None  # a clock that was not set, or damage; nanoseconds since 1970 end in 2262
    try:
        return dt.datetime(year, _MONTHS.index(match[1]) + 1, day, hour, minute, second)
    except ValueError:
        return None
