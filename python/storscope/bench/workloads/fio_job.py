"""Reads fio job files: the common options become streams, everything else is listed with a reason.

A job becomes a stream with `numjobs` workers; jobs between two `stonewall`s run together and become one workload; jobs
that share a queue by `flow` become one stream. fio draws the direction of each I/O and then its size from that
direction's split, so a line is made for each size, with the share of reads that follows.

Beware where fio asks something else than it seems to: `iodepth` with a synchronous engine is 1, random I/O without
`norandommap` visits each block once, a rate waits for completions. Each of these is said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from storscope.bench.workloads._fio_options import DEFAULT_ENGINE, ELSEWHERE, LOST, SYNCHRONOUS
from storscope.bench.workloads._fio_text import Option, Section, integer_of, parse_jobs, size_of, time_of
from storscope.bench.workloads.definition import Definition, Sweep
from storscope.bench.workloads.loss import LossList
from storscope.domain.errors import MalformedInput
from storscope.domain.workload import (
    AccessSpec,
    Closed,
    DataPool,
    HotSpot,
    Load,
    Mix,
    Offsets,
    Open,
    Process,
    Region,
    Stream,
    Uniform,
    Verification,
    Workload,
    Zipf,
)

_DIRECTIONS = {
    "read": (True, False, False), "write": (False, True, False), "rw": (True, True, False),
    "readwrite": (True, True, False), "randread": (True, False, True), "randwrite": (False, True, True),
    "randrw": (True, True, True),
}  # fmt: skip
"""rw -> whether it reads, writes, is random."""
_DEFAULT_SIZE = 4096
_MOST_SIZES = 100
_Value = TypeVar("_Value")
_PART = re.compile(r" \(\d+/\d+\)$")
"""How our writer marks the jobs of one stream."""


def read_fio(text: str, where: str = "the job file") -> Definition:
    """The workloads of a job file and what could not be kept. Raises MalformedInput with section and line."""
    losses = LossList()
    jobs = [_Job(section, where, losses) for section in parse_jobs(text, where)]
    names = tuple(dict.fromkeys(name for job in jobs for name in job.filenames))
    groups: list[list[_Job]] = [[]]
    for job in jobs:
        if job.flag("stonewall") or job.flag("wait_for_previous"):
            groups.append([])
        if job.is_supported:
            groups[-1].append(job)
    workloads = tuple(_workload(group, names, losses, where) for group in groups if group)
    if not workloads:
        raise MalformedInput("a job that reads or writes", "none", where=where)
    for job in jobs:
        job.note_rest()
    sweep = Sweep(
        duration_ns=_common([job.duration_ns for job in jobs], None, "runtime of its own", losses),
        ramp_up_ns=_common([job.ramp_ns for job in jobs], None, "ramp_time of its own", losses),
    )
    return Definition("fio", workloads, sweep=sweep, targets=names, losses=losses.as_tuple())


def _workload(jobs: Sequence[_Job], names: Sequence[str], losses: LossList, where: str) -> Workload:
    flows: dict[str, list[_Job]] = {}
    for index, job in enumerate(jobs):
        flows.setdefault(job.flow_key or f"job {index}", []).append(job)
    streams = [stream for members in flows.values() for stream in _streams(members, names, losses)]
    name = " + ".join(dict.fromkeys(stream.name for stream in streams))
    if len(streams) == 1:
        streams = [replace(streams[0], name="")]
    workload = Workload(
        name=name,
        streams=tuple(streams),
        source=f"fio job file {where}",
        data=_common([job.data() for job in jobs if job.writes], DataPool(), "data of its own", losses),
        verification=_common([job.verification() for job in jobs], Verification.NONE, "verify of its own", losses),
    )
    workload.check()
    return workload


def _common(values: Sequence[_Value], default: _Value, what: str, losses: LossList) -> _Value:
    """The value that jobs share; the first, said, when they differ."""
    if len(set(values)) > 1:
        losses.approximated("jobs", what, "there is one for all; the first job's is taken")
    return values[0] if values else default


def _streams(jobs: Sequence[_Job], names: Sequence[str], losses: LossList) -> list[Stream]:
    """One stream a job, or one for all jobs that are tied by flow and differ only in their lines."""
    streams = [job.stream(names) for job in jobs]
    if len(jobs) == 1:
        return streams
    first = streams[0]
    depth = sum(stream.load.outstanding for stream in streams if isinstance(stream.load, Closed))
    alike = all(
        isinstance(stream.load, Closed) and replace(stream, name="", access=first.access, load=first.load)
        == replace(first, name="")
        for stream in streams
    )  # fmt: skip
    if not alike:
        losses.lost(f"[{jobs[0].name}]", "flow", "the jobs differ in more than their I/O and become separate streams")
        return streams
    losses.approximated(f"[{jobs[0].name}]", "flow", "the jobs' queues become one of their depths together")
    lines: list[AccessSpec] = []
    total = sum(job.flow for job in jobs)
    for job, stream in zip(jobs, streams, strict=True):
        assert isinstance(stream.access, Mix)
        lines += [replace(line, share=line.share * job.flow / total) for line in stream.access.lines]
    return [replace(first, name=_PART.sub("", first.name), access=Mix(tuple(lines)), load=Closed(depth))]


@dataclass(frozen=True)
class _Side:
    """What the reads, or the writes, of a job look like: sizes with shares, share of random ones, alignment."""

    sizes: tuple[tuple[int, float], ...]
    random_share: float
    align_bytes: int


class _Job:
    """A job with the options that were used so far; what is left is listed in the end."""

    def __init__(self, section: Section, where: str, losses: LossList) -> None:
        self.name = section.name
        self.options = section.options
        self.where = where
        self.losses = losses
        self.used: set[str] = {"rw", "filename", "stonewall", "wait_for_previous", "runtime", "ramp_time", "kb_base"}
        kind, _, self.modifier = self.text("rw", "read").partition(":")
        self.is_supported = kind in _DIRECTIONS
        if not self.is_supported:
            if not re.fullmatch("(rand)?trim(write)?|trimwrite|randtrimwrite", kind):
                self.fail(self.options["rw"], "one of " + ", ".join(_DIRECTIONS))
            self.losses.lost(self.options["rw"].where, f"rw={kind}", "the job is left out: a workload does not trim")
            kind = "read"
        self.reads, self.writes, self.random = _DIRECTIONS[kind]
        self.kb_base = self.number("kb_base", 1024)
        self.duration_ns = self.time("runtime", None, "s")
        self.ramp_ns = self.time("ramp_time", None, "s")
        self.numjobs = self.number("numjobs", 1)

    # Options --------------------------------------------------------------------------------------------------------

    def fail(self, option: Option, expected: str) -> None:
        raise MalformedInput(expected, repr(option.value[:60]), where=f"{self.where}, {option.where}")

    def take(self, name: str) -> Option | None:
        self.used.add(name)
        option = self.options.get(name)
        if option is not None and "$" in option.value:
            self.fail(option, f"a value for {name} without variables")
        return option

    def text(self, name: str, default: str) -> str:
        option = self.take(name)
        return option.value.strip().lower() if option else default

    def flag(self, name: str) -> bool:
        return self.text(name, "0") not in {"0", "false"}

    def number(self, name: str, default: int) -> int:
        option = self.take(name)
        return default if option is None else integer_of(option, option.value, self.where)

    def time(self, name: str, default: int | None, unit: str) -> int | None:
        option = self.take(name)
        return default if option is None else time_of(option, self.where, unit)

    def pair(self, name: str) -> tuple[Option | None, str, str]:
        """The parts for reads and writes, each empty where it is left to its default."""
        option = self.take(name)
        if option is None:
            return None, "", ""
        parts = [part.strip() for part in option.value.split(",")]
        return option, parts[0], parts[1] if len(parts) > 1 else parts[0]

    @property
    def filenames(self) -> tuple[str, ...]:
        option = self.options.get("filename")
        found = re.split(r"(?<!\\):", option.value) if option else []
        return tuple(name.replace("\\:", ":") for name in found if name)

    def note_rest(self) -> None:
        """Lists every option that no field of the workload came from."""
        for name, option in self.options.items():
            if name in LOST:
                self.losses.lost(option.where, option.text, LOST[name])
            elif name in ELSEWHERE:
                self.losses.elsewhere(option.where, option.text, ELSEWHERE[name])
            elif name not in self.used:
                self.losses.lost(option.where, option.text, "storscope does not know what this option asks for")

    def note(self, name: str, reason: str) -> None:
        """Says that an option means something else here."""
        option = self.options.get(name)
        where, what = (option.where, option.text) if option else (f"[{self.name}]", f"{name} not given")
        self.losses.approximated(where, what, reason)

    # The stream -----------------------------------------------------------------------------------------------------

    def stream(self, names: Sequence[str]) -> Stream:
        """The job as a stream."""
        used = tuple(names.index(name) for name in self.filenames)
        load, read_share = self.load()
        if not self.filenames and self.numjobs > 1:
            self.note("numjobs", "each fio job has a file of its own; workers share the targets")
        return Stream(
            name=self.name,
            access=Mix(self.lines(read_share, is_open=load.is_open)),
            load=load,
            offsets=self.offsets(),
            region=self.region(),
            targets=() if len(set(used)) == len(names) else used,
            workers=self.numjobs,
        )

    def read_share(self) -> float:
        if not (self.reads and self.writes):
            return 1.0 if self.reads else 0.0
        share = self.number("rwmixread", 50)
        if "rwmixwrite" in self.options:
            option, written = self.options["rwmixwrite"], 100 - self.number("rwmixwrite", 50)
            later = "rwmixread" not in self.options or option.line > self.options["rwmixread"].line
            share = written if later else share
        if not 0 <= share <= 100:
            self.fail(self.options.get("rwmixread") or self.options["rwmixwrite"], "0 to 100 per cent")
        return share / 100

    def lines(self, read_share: float, *, is_open: bool) -> tuple[AccessSpec, ...]:
        """A line for each size, randomness and alignment, with the share of reads among its transfers."""
        weights: dict[tuple[int, float, int], list[float]] = {}
        for direction, share in ((0, read_share), (1, 1 - read_share)):
            side = self.side(direction)
            for size, part in side.sizes:
                if part * share > 0:
                    key = (size, side.random_share, 0 if side.align_bytes == size else side.align_bytes)
                    weights.setdefault(key, [0.0, 0.0])[direction] += part * share
        if 0 < read_share < 1 and any(random_share < 1 for _, random_share, _ in weights):
            self.note("rw", "fio's reads and writes each have a sequential position; here they share one")
        delay_ns, burst = self.pause(is_open=is_open)
        return tuple(
            AccessSpec(
                size_bytes=size,
                share=round(reads + writes, 12),
                read_share=round(reads / (reads + writes), 12),
                random_share=random_share,
                delay_ns=delay_ns,
                burst=burst,
                align_bytes=align,
            )
            for (size, random_share, align), (reads, writes) in weights.items()
        )

    def side(self, direction: int) -> _Side:
        sizes = self.sizes(direction)
        option, *parts = self.pair("blockalign")
        align = size_of(option, parts[direction], self.where, self.kb_base) if option and parts[direction] else 0
        return _Side(sizes, self.random_share(direction), align or min(size for size, _ in sizes))

    def random_share(self, direction: int) -> float:
        if not self.random:
            if self.modifier:
                self.note("rw", "holes between sequential transfers are left out")
            if "percentage_random" in self.options:
                self.note("percentage_random", "without effect in fio too: rw is sequential")
            self.take("percentage_random")
            return 0.0
        option, *parts = self.pair("percentage_random")
        share = integer_of(option, parts[direction], self.where, 100) / 100 if option and parts[direction] else 1.0
        if self.modifier.isdigit() and int(self.modifier) > 1:
            self.note("rw", "a new random offset every n transfers; here with that probability")
            share /= int(self.modifier)
        if "norandommap" not in self.options and "random_distribution" not in self.options:
            self.note("norandommap", "fio visits each block once before any a second time; here offsets repeat")
        self.take("norandommap")
        return share

    # Sizes ----------------------------------------------------------------------------------------------------------

    def sizes(self, direction: int) -> tuple[tuple[int, float], ...]:
        plain, *sizes = self.pair("bs")
        ranged, *ranges = self.pair("bsrange")
        split, *splits = self.pair("bssplit")
        if split and splits[direction]:
            return self.split_sizes(split, splits[direction])
        if ranged and ranges[direction]:
            return self.range_sizes(ranged, ranges[direction])
        if plain and sizes[direction]:
            return ((self.size(plain, sizes[direction]), 1.0),)
        return ((_DEFAULT_SIZE, 1.0),)

    def size(self, option: Option, text: str) -> int:
        size = size_of(option, text, self.where, self.kb_base)
        if not 0 < size <= 2**30:
            self.fail(option, "sizes from 1 byte to 1 GiB")
        return size

    def split_sizes(self, option: Option, text: str) -> tuple[tuple[int, float], ...]:
        """4k/10:64k/50:32k/: what has no percentage shares the rest equally."""
        found: list[tuple[int, int | None]] = []
        for part in text.split(":"):
            size, _, percent = part.partition("/")
            share = integer_of(option, percent, self.where, 100) if percent.strip() else None
            found.append((self.size(option, size), share))
        given = sum(share for _, share in found if share is not None)
        open_parts = sum(1 for _, share in found if share is None)
        if given > 100 or (given < 100 and not open_parts) or len(found) > _MOST_SIZES:
            self.fail(option, f"percentages that add up to 100 (they give {given})")
        return tuple(
            (size, (share if share is not None else (100 - given) / open_parts) / 100) for size, share in found
        )

    def range_sizes(self, option: Option, text: str) -> tuple[tuple[int, float], ...]:
        """4k-16k: every multiple of the least with the same probability; measured with fio 3.33."""
        low, _, high = text.partition("-")
        least, greatest = self.size(option, low), self.size(option, high)
        count = greatest // least
        if greatest < least:
            self.fail(option, "a range like 4k-16k")
        if count > _MOST_SIZES or greatest % least:
            self.note("bsrange", f"{min(count, _MOST_SIZES)} sizes stand for the range")
            count = min(count, _MOST_SIZES)
        step = greatest // count // least * least
        return tuple((step * number, 1 / count) for number in range(1, count + 1))

    # Load -----------------------------------------------------------------------------------------------------------

    def depth(self) -> int:
        engine = self.options["ioengine"].value.strip() if "ioengine" in self.options else DEFAULT_ENGINE
        depth = max(1, self.number("iodepth", 1))
        if engine in SYNCHRONOUS and depth > 1:
            self.note("iodepth", f"{engine} keeps one I/O outstanding whatever iodepth says; taken as 1")
            depth = 1
        files = len(self.filenames)
        if files > 1:
            self.note(
                "iodepth",
                f"of all {files} files together; here of each target, so {depth} become "
                f"{max(1, depth // files) * files}",
            )
            depth = max(1, depth // files)
        return depth

    def load(self) -> tuple[Load, float]:
        """The load, and the share of reads that it leaves."""
        share, depth = self.read_share(), self.depth()
        process = Process.POISSON if self.text("rate_process", "linear") == "poisson" else Process.FIXED
        rates = [self.rate(direction) for direction in (0, 1)]
        wanted = [rate for rate, used in zip(rates, (share > 0, share < 1), strict=True) if used]
        if not any(wanted):
            return Closed(depth), share
        if None in wanted:
            given = rates[0] / share if rates[0] else (rates[1] or 0) / (1 - share)
            self.note("rwmixread", "only one direction has a rate; the other follows from the share of reads")
            total = given
        else:
            total = sum(rate for rate in wanted if rate)
            mixed = (rates[0] or 0) / total if 0 < share < 1 else share
            if abs(mixed - share) > 0.005:
                self.note("rate_iops", f"{100 * mixed:.0f} % reads by the rates, which is what fio does too")
            share = round(mixed, 12) if abs(mixed - share) > 0.005 else share
        self.losses.approximated(
            f"[{self.name}]", "rate", "fio's rate waits for completions and counts latency from then; arrivals do not"
        )
        return Open(total * self.numjobs, process, depth), share

    def rate(self, direction: int) -> float | None:
        option, *parts = self.pair("rate_iops")
        if option and parts[direction]:
            return integer_of(option, parts[direction], self.where) or None
        option, *parts = self.pair("rate")
        if option and parts[direction]:
            sizes = self.sizes(direction)
            self.note("rate", "bytes per second as I/Os of the mean size per second")
            mean = sum(size * part for size, part in sizes)
            return size_of(option, parts[direction], self.where, self.kb_base) / mean or None
        return None

    def pause(self, *, is_open: bool) -> tuple[int, int]:
        """Delay before a burst, and the burst: fio waits after each block of transfers, which gives the same order."""
        delay_ns = self.time("thinktime", 0, "us") or 0
        burst = max(1, self.number("thinktime_blocks", 1))
        self.take("thinktime_blocks_type")
        if delay_ns and is_open:
            self.note("thinktime", "left out: arrivals set the pace")
            delay_ns = 0
        return (delay_ns, burst) if delay_ns else (0, 1)

    # Places ---------------------------------------------------------------------------------------------------------

    def offsets(self) -> Offsets:
        option, text, _ = self.pair("random_distribution")
        kind, _, rest = text.partition(":")
        if option is None or kind == "random":
            return Uniform()
        if kind == "zipf":
            value, _, centre = rest.partition("/")
            if centre:
                self.note("random_distribution", "the centre of the distribution is left out")
            return Zipf(self.exponent(option, value or "1.1"))
        if kind == "zoned":
            return self.zones(option, rest)
        self.losses.lost(option.where, option.text, "no such distribution of offsets here; uniform is taken")
        return Uniform()

    def exponent(self, option: Option, text: str) -> float:
        if not re.fullmatch(r"\d{1,3}(\.\d{1,9})?", text.strip()) or not 0 < float(text) <= 10:
            self.fail(option, "an exponent above 0, at most 10")
        return float(text)

    def zones(self, option: Option, text: str) -> Offsets:
        """Two zones are a hot spot; so are three, when the outer ones are equally busy for their size."""
        pairs = [part.partition("/") for part in text.split(":")]
        zones = [(integer_of(option, access, self.where, 100) / 100, integer_of(option, space, self.where, 100) / 100)
                 for access, _, space in pairs]  # fmt: skip
        if abs(sum(space for _, space in zones) - 1) > 0.001 or any(space == 0 for _, space in zones):
            self.fail(option, "zones whose sizes add up to 100")
        hottest = max(range(len(zones)), key=lambda at: zones[at][0] / zones[at][1])
        cold = [access / space for at, (access, space) in enumerate(zones) if at != hottest]
        if len(zones) > 3 or (len(cold) > 1 and max(cold) - min(cold) > 0.05 * max(*cold, 0.01)):
            self.losses.approximated(option.where, option.text, "the busiest zone becomes a hot spot, the rest uniform")
        start = round(sum(space for _, space in zones[:hottest]), 9)
        return HotSpot(zones[hottest][0], zones[hottest][1], start)

    def region(self) -> Region:
        start, length = self.extent("offset"), self.extent("size")
        return Region(start or 0, length or None)

    def extent(self, name: str) -> int | None:
        option = self.take(name)
        if option is None:
            return None
        if option.value.strip().endswith("%"):
            if option.value.strip() not in {"0%", "100%"}:
                self.losses.lost(option.where, option.text, "a share of a target whose size is not known here")
            return None
        return size_of(option, option.value, self.where, self.kb_base)

    # Data -----------------------------------------------------------------------------------------------------------

    def data(self) -> DataPool:
        compressible = self.percent("buffer_compress_percentage")
        if self.flag("zero_buffers"):
            self.note("zero_buffers", "zeros with a stamp in each block: as compressible, not equal")
            compressible = 1.0
        return DataPool(compressible_ratio=compressible, duplicate_ratio=self.percent("dedupe_percentage"))

    def percent(self, name: str) -> float:
        option = self.take(name)
        return 0.0 if option is None else integer_of(option, option.value, self.where, 100) / 100

    def verification(self) -> Verification:
        kind = self.text("verify", "0")
        if kind in {"0", "null"}:
            return Verification.NONE
        self.note("verify", "fio reads back what it wrote; here each read checks the stamp of its blocks")
        return Verification.STAMPS

    @property
    def flow(self) -> int:
        return self.number("flow", 0)

    @property
    def flow_key(self) -> str:
        """Jobs with the same key share their progress; empty without flow."""
        key = f"flow {self.number('flow_id', 0)}" if self.flow else ""
        self.take("flow_sleep")
        return key
