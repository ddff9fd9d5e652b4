"""Writes workloads as a fio job file, and says what fio cannot ask for, or asks for differently.

fio draws the direction of each I/O, then its size from that direction's split. So one job is enough for lines that
differ in size and share of reads; lines that differ in randomness, delay or burst become several jobs that are held
in proportion by `flow` (closed loop) or by their rates (open loop). A copy becomes a reading and a writing job.

Percentages are integers in fio; what is rounded is said. Checked with fio 3.33: `rw`, `bssplit` for each direction,
`percentage_random`, `flow` and `rate_iops` give the shares asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from storscope.bench.workloads.definition import Definition, unused_workloads
from storscope.bench.workloads.loss import Loss, LossList
from storscope.bench.workloads.percent import percents
from storscope.domain.units import NS_PER_S, NS_PER_US
from storscope.domain.workload import (
    AccessSpec,
    Closed,
    Copy,
    HotSpot,
    Load,
    Mix,
    Open,
    Process,
    Region,
    Steps,
    Stream,
    Verification,
    Workload,
    Zipf,
)

DEFAULT_RUNTIME_S = 60
_MOST_SPLITS = 64
"""BSSPLIT_MAX of fio's thread_options.h."""
_MOST_FLOW = 1000
_FAST_POISSON_PER_S = 1000
"""Below this rate fio's Poisson arrivals are less than 0.1 % too fast (usec_for_io of io_u.c)."""


@dataclass(frozen=True)
class FioRun:
    """What a job file needs beside the workload.

    Without `targets` the file names the variables TARGET, or TARGET0, TARGET1 and so on, which fio takes from the
    environment; it refuses to start while they are not set. `runtime_s` None: the definition's, else 60 s.
    """

    targets: tuple[str, ...] = ()
    ioengine: str = "io_uring"
    direct: bool = True
    runtime_s: float | None = None
    ramp_s: float | None = None


def write_fio(definition: Definition, run: FioRun | None = None) -> tuple[str, tuple[Loss, ...]]:
    """The text of a job file and what it could not keep."""
    run = run or FioRun()
    writer = _Writer(definition, run)
    parts = [writer.workload(workload) for workload in definition.workloads]
    _note_definition(definition, writer.losses)
    lines = [*_head(definition, run)]
    for number, jobs in enumerate(parts):
        for index, job in enumerate(jobs):
            barrier = ["stonewall"] if number and not index else []
            lines += ["", f"[{job.name}]", *barrier, "new_group", *job.options]
    return "\n".join(lines) + "\n", (*writer.losses, *unused_workloads(definition))


def _head(definition: Definition, run: FioRun) -> list[str]:
    sweep = definition.sweep
    runtime_s = run.runtime_s or (sweep.duration_ns or 0) / NS_PER_S or DEFAULT_RUNTIME_S
    ramp_s = run.ramp_s if run.ramp_s is not None else (sweep.ramp_up_ns or 0) / NS_PER_S
    names = ", ".join(workload.name for workload in definition.workloads)
    lines = [f"; Written by storscope for fio 3: {_one_line(names)}"]
    if not run.targets:
        lines.append("; Say where: TARGET=/dev/... fio FILE (TARGET0, TARGET1, ... for several targets)")
    if any(workload.writes for workload in definition.workloads):
        lines.append("; It WRITES to its targets.")
    lines += ["[global]", f"ioengine={run.ioengine}", f"direct={int(run.direct)}", "time_based"]
    lines.append(f"runtime={_fio_time(runtime_s)}")
    if ramp_s:
        lines.append(f"ramp_time={_fio_time(ramp_s)}")
    return [*lines, "group_reporting", "lat_percentiles=1", "randrepeat=0"]


def _note_definition(definition: Definition, losses: LossList) -> None:
    for name in ("outstanding", "workers", "targets"):
        values = getattr(definition.sweep, name)
        if values:
            losses.lost(f"sweep.{name}", str(list(values))[:80], "a job file has one value; run it once for each")
    if definition.description:
        losses.elsewhere("description", repr(definition.description[:60]), "a job file has no place for it")


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)[:200]


def _fio_time(seconds: float) -> str:
    return f"{seconds:.0f}s" if seconds == round(seconds) else f"{round(seconds * 1e6)}us"


@dataclass(frozen=True)
class _FioJob:
    name: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class _Part:
    """Lines that one fio job can stand for, with their weight among the stream's transfers."""

    lines: tuple[AccessSpec, ...]
    weight: float

    @property
    def reads(self) -> float:
        """The share of reads among its transfers."""
        return math.fsum(line.transfer_weight * line.read_share for line in self.lines) / self.weight


class _Writer:
    def __init__(self, definition: Definition, run: FioRun) -> None:
        self.definition = definition
        self.run = run
        self.losses = LossList()
        self.flows = 0
        streams = [stream for workload in definition.workloads for stream in workload.streams]
        used = [at for stream in streams for at in (*stream.targets, _copied(stream))]
        self.count = 1 + max(used, default=0)
        self.count = max(self.count, len(run.targets), len(definition.targets))

    def workload(self, workload: Workload) -> list[_FioJob]:
        """The jobs of a workload, which run together."""
        workload.check()
        jobs: list[_FioJob] = []
        for index, stream in enumerate(workload.streams):
            where = f"{workload.name}: streams[{index}]"
            name = workload.name if len(workload.streams) == 1 else stream.name or f"{workload.name} {index + 1}"
            options = self.data_options(workload, stream)
            found = self.stream(stream, name, where)
            jobs += [_FioJob(_job_name(job.name), (*job.options, *options)) for job in found]
        if workload.source:
            self.losses.elsewhere(workload.name, f"source {workload.source[:60]!r}", "a job file has no place for it")
        return jobs

    def stream(self, stream: Stream, name: str, where: str) -> list[_FioJob]:
        if stream.think_time is not None:
            stream = self.without_think_time(stream, where)
        if isinstance(stream.load, Steps):
            return self.steps(stream, stream.load, name, where)
        if isinstance(stream.access, Copy):
            return self.copy(stream, stream.access, name, where)
        return self.mix(stream, stream.access, name, where)

    def without_think_time(self, stream: Stream, where: str) -> Stream:
        """A constant think time of one place in the queue is a delay; fio has no other."""
        think = stream.think_time
        assert think is not None
        what = f"{think.mean_ns / 1e6:g} ms, {think.process}"
        alone = stream.load == Closed(1) and isinstance(stream.access, Mix)
        if alone and isinstance(stream.access, Mix) and not any(line.delay_ns for line in stream.access.lines):
            if think.process is Process.POISSON:
                self.losses.approximated(f"{where}.think_time", what, "fio's thinktime is constant")
            lines = tuple(replace(line, delay_ns=think.mean_ns, burst=1) for line in stream.access.lines)
            if any(line.burst > 1 for line in stream.access.lines):
                self.losses.approximated(f"{where}.access", "burst", "transfers are paced one by one by the think time")
            return replace(stream, access=Mix(lines), think_time=None)
        self.losses.lost(f"{where}.think_time", what, "fio pauses a job, not a place in its queue")
        return replace(stream, think_time=None)

    def steps(self, stream: Stream, load: Steps, name: str, where: str) -> list[_FioJob]:
        """A job for each step, which starts when the one before is over."""
        self.losses.approximated(
            f"{where}.load", f"{len(load.steps)} steps", "jobs with startdelay; queues start empty"
        )
        jobs: list[_FioJob] = []
        start_ns = 0
        for number, step in enumerate(load.steps, 1):
            one = replace(stream, load=Open(step.rate_per_s, load.process, load.max_outstanding))
            for job in self.stream(one, f"{name} step {number}", where):
                time = (
                    f"startdelay={_fio_time(start_ns / NS_PER_S)}",
                    f"runtime={_fio_time(step.duration_ns / NS_PER_S)}",
                )
                jobs.append(_FioJob(job.name, (*job.options, *time)))
            start_ns += step.duration_ns
        return jobs

    def copy(self, stream: Stream, copy: Copy, name: str, where: str) -> list[_FioJob]:
        """A reading and a writing job in step; which write follows which read is lost."""
        reason = "fio's writes do not wait for the reads they copy; two jobs in equal proportion are written"
        self.losses.lost(f"{where}.access", f"a copy to target {copy.destination}", reason)
        line = AccessSpec(copy.size_bytes, random_share=copy.random_share)
        source = self.mix(replace(stream, access=Mix((line,)), load=_half(stream.load)), Mix((line,)), "", where)
        written = replace(line, read_share=0.0)
        there = replace(
            stream,
            access=Mix((written,)),
            load=_half(stream.load),
            targets=(copy.destination,),
            region=Region(copy.destination_start_bytes, stream.region.length_bytes),
        )
        target = self.mix(there, Mix((written,)), "", where)
        tie = self.tie(1) if not stream.load.is_open else ()
        return [
            _FioJob(f"{name} (1/2)", (*source[0].options, *tie)),
            _FioJob(f"{name} (2/2)", (*target[0].options, *tie)),
        ]

    def tie(self, weight: int) -> tuple[str, ...]:
        return (f"flow={weight}", f"flow_id={self.flows}")

    # A mix ----------------------------------------------------------------------------------------------------------

    def mix(self, stream: Stream, mix: Mix, name: str, where: str) -> list[_FioJob]:
        for at, line in enumerate(mix.lines):
            if line.reply_bytes:
                reason = "fio has no replies; the first transfer of each pair is kept"
                self.losses.lost(f"{where}.access.lines[{at}]", f"reply of {line.reply_bytes} bytes", reason)
        parts = _parts([line for line in mix.lines if line.share > 0])
        self.flows += 1
        if len(parts) == 1:
            return [
                _FioJob(
                    name, (*self.part(parts[0], stream, where), *self.load(stream, stream.load, parts[0], 1.0, where))
                )
            ]
        return self.several(parts, stream, name, where)

    def several(self, parts: Sequence[_Part], stream: Stream, name: str, where: str) -> list[_FioJob]:
        """Jobs in proportion: by flow in a closed loop, by rate in an open one."""
        total = math.fsum(part.weight for part in parts)
        weights = _flow_weights([part.weight for part in parts])
        loads = [stream.load] * len(parts)
        if isinstance(stream.load, Closed):
            depth = max(stream.load.outstanding, len(parts))
            depths = [1 + extra for extra in percents([part.weight for part in parts], depth - len(parts))]
            loads = [Closed(share) for share in depths]
            reason = f"lines differ in randomness or pauses: {len(parts)} jobs tied by flow, their depths {depths}"
            self.losses.approximated(f"{where}.access", f"{stream.load.outstanding} outstanding in one queue", reason)
        jobs = []
        for number, (part, load, weight) in enumerate(zip(parts, loads, weights, strict=True), 1):
            share = part.weight / total
            tie = () if load.is_open else self.tie(weight)
            options = (*self.part(part, stream, where), *self.load(stream, load, part, share, where), *tie)
            jobs.append(_FioJob(f"{name} ({number}/{len(parts)})", options))
        return jobs

    def part(self, part: _Part, stream: Stream, where: str) -> list[str]:
        """What a transfer looks like."""
        reads = part.reads
        random = [_random_of(part.lines, reading=True), _random_of(part.lines, reading=False)]
        is_random = any(share for share in random if share)
        kind = "read" if reads >= 1 else "write" if reads <= 0 else "rw"
        options = [f"rw={'rand' if is_random else ''}{kind}"]
        if kind == "rw":
            options.append(f"rwmixread={self.percent(reads, where, 'reads')}")
            if any((share or 0) < 1 for share in random):
                self.losses.approximated(where, "sequential position", "fio keeps one for reads and one for writes")
        options += self.sizes(part, kind, where)
        if is_random:
            options += [*self.randomness(random, where), *self.offsets(stream, where), *self.alignment(part, where)]
        return [*options, *self.pause(part.lines, where), *self.place(stream, where)]

    def percent(self, share: float, where: str, what: str) -> int:
        percent = round(100 * share)
        if abs(percent - 100 * share) > 1e-6:
            self.losses.approximated(where, f"{100 * share:.4g} % {what}", f"rounded to {percent} %")
        return percent

    def sizes(self, part: _Part, kind: str, where: str) -> list[str]:
        splits = []
        for used, reading in ((kind != "write", True), (kind != "read", False)):
            weights: dict[int, float] = {}
            for line in part.lines:
                share = line.read_share if reading else 1 - line.read_share
                weights[line.size_bytes] = weights.get(line.size_bytes, 0.0) + line.transfer_weight * share
            splits.append(self.split(weights, where) if used else [])
        if kind != "rw" or splits[0] == splits[1]:
            return [_sizes_option(splits[0] or splits[1])]
        return ["bssplit=" + ",".join(_split_text(split) for split in splits)]

    def split(self, weights: dict[int, float], where: str) -> list[tuple[int, int]]:
        """Sizes with whole per cent; what rounds to nothing is listed."""
        found = {size: weight for size, weight in weights.items() if weight > 0}
        kept = sorted(found, key=lambda size: -found[size])[:_MOST_SPLITS]
        sizes = [size for size in found if size in kept]
        shares = percents([found[size] for size in sizes])
        total = math.fsum(found.values())
        for size, weight in found.items():
            share = shares[sizes.index(size)] if size in sizes else 0
            exact = 100 * weight / total
            if share == 0:
                self.losses.lost(where, f"{size} bytes, {exact:.3g} %", "fio's splits have 64 sizes of whole per cent")
            elif abs(share - exact) > 1e-6:
                self.losses.approximated(where, f"{size} bytes, {exact:.4g} %", f"rounded to {share} %")
        return [(size, share) for size, share in zip(sizes, shares, strict=True) if share]

    def randomness(self, random: Sequence[float | None], where: str) -> list[str]:
        found = [100 if share is None else self.percent(share, where, "random") for share in random]
        if found[0] == found[1] or None in random:
            share = found[1] if random[0] is None else found[0]
            return [f"percentage_random={share}"] if share < 100 else []
        return [f"percentage_random={found[0]},{found[1]}"]

    def offsets(self, stream: Stream, where: str) -> list[str]:
        offsets = stream.offsets
        if isinstance(offsets, Zipf):
            exponent = offsets.exponent
            if exponent == 1:
                self.losses.approximated(f"{where}.offsets", "exponent 1", "fio refuses exactly 1; 1.0001 is written")
                exponent = 1.0001
            return ["norandommap", f"random_distribution=zipf:{exponent:g}"]
        if isinstance(offsets, HotSpot):
            return ["norandommap", f"random_distribution=zoned:{self.zones(offsets, where)}"]
        return ["norandommap"]

    def zones(self, spot: HotSpot, where: str) -> str:
        """Before, in and after the hot spot, as access/space in whole per cent."""
        before, after = spot.start_share, 1 - spot.start_share - spot.space_share
        cold = max(before + after, 1e-12)
        rest = 1 - spot.access_share if before + after > 1e-9 else 0.0
        exact = [(rest * before / cold, before), (1 - rest, spot.space_share), (rest * after / cold, after)]
        access, space = percents([share for share, _ in exact]), percents([share for _, share in exact])
        shown = ":".join(f"{share}/{size}" for share, size in zip(access, space, strict=True) if size)
        off = max(
            abs(value / 100 - wanted)
            for pair, values in zip(exact, zip(access, space, strict=True), strict=True)
            for wanted, value in zip(pair, values, strict=True)
        )
        if off > 1e-8:
            self.losses.approximated(f"{where}.offsets", "hot spot", f"rounded to whole per cent: {shown}")
        return shown

    def alignment(self, part: _Part, where: str) -> list[str]:
        aligns = {line.effective_align_bytes for line in part.lines}
        align = math.gcd(*aligns)
        if len(aligns) > 1:
            reason = f"fio has one alignment for all sizes; {align} is written"
            self.losses.approximated(where, f"alignments {sorted(aligns)}"[:120], reason)
        smallest = min(line.size_bytes for line in part.lines)
        return [] if align == smallest and len(part.lines) == 1 else [f"blockalign={align}"]

    def pause(self, lines: Sequence[AccessSpec], where: str) -> list[str]:
        delay_ns, burst = lines[0].delay_ns, lines[0].burst
        if not delay_ns:
            if burst > 1 and len(lines) > 1:
                self.losses.approximated(where, f"bursts of {burst}", "fio draws the size of each transfer anew")
            return []
        delay_us = round(delay_ns / NS_PER_US)
        if delay_us * NS_PER_US != delay_ns:
            self.losses.approximated(where, f"delay of {delay_ns} ns", f"rounded to {delay_us} us")
        if burst > 1 and len(lines) > 1:
            self.losses.approximated(where, f"bursts of {burst}", "fio draws the size of each transfer anew")
        return [f"thinktime={max(1, delay_us)}", *([f"thinktime_blocks={burst}"] if burst > 1 else [])]

    def place(self, stream: Stream, where: str) -> list[str]:
        options = [f"filename={':'.join(self.filename(at) for at in self.indices(stream))}"]
        if stream.region.start_bytes:
            options.append(f"offset={stream.region.start_bytes}")
        if stream.region.length_bytes:
            options.append(f"size={stream.region.length_bytes}")
        return options

    def indices(self, stream: Stream) -> Sequence[int]:
        return stream.targets or range(self.count)

    def filename(self, index: int) -> str:
        """A given name, else one of the file's if it is a path here, else a variable."""
        names = self.run.targets or tuple(self.definition.targets)
        if index < len(names) and (self.run.targets or names[index].startswith(("/", "${"))):
            return names[index].replace(":", "\\:")
        if index < len(names):
            self.losses.elsewhere("targets", names[index][:60], "no path of this system; set TARGET when fio runs")
        return "${TARGET}" if self.count == 1 else f"${{TARGET{index}}}"

    # Load -----------------------------------------------------------------------------------------------------------

    def load(self, stream: Stream, load: Load, part: _Part, share: float, where: str) -> list[str]:
        workers = [f"numjobs={stream.workers}"] if stream.workers > 1 else []
        if isinstance(load, Closed):
            targets = len(self.indices(stream))
            if targets > 1:
                reason = f"fio keeps {load.outstanding * targets} over all {targets} targets together"
                self.losses.approximated(f"{where}.load", f"{load.outstanding} outstanding per target", reason)
            return [f"iodepth={load.outstanding * targets}", *workers]
        assert isinstance(load, Open)
        return [f"iodepth={load.max_outstanding}", *workers, *self.rate(load, part, share / stream.workers, where)]

    def rate(self, load: Open, part: _Part, share: float, where: str) -> list[str]:
        """fio's rate is of each job and direction, an integer, and waits for completions."""
        per_job = load.rate_per_s * share
        reason = "fio's rate waits for completions and counts latency from then, not from the arrival"
        self.losses.approximated(f"{where}.load", f"{load.rate_per_s:g} arrivals/s", reason)
        reads = part.reads
        rates = [max(1, round(per_job * part)) if part else 0 for part in (reads, 1 - reads)]
        if abs(sum(rates) - per_job) > 1e-3 * per_job:
            what = f"{per_job:g}/s for each job"
            self.losses.approximated(f"{where}.load", what, f"rounded to {sum(rates)}/s: fio's rates are integers")
        options = ["rate_iops=" + (str(max(rates)) if 0 in rates else f"{rates[0]},{rates[1]}")]
        if load.process is Process.POISSON:
            options.append("rate_process=poisson")
            self.note_poisson(max(rates), where)
        return options

    def note_poisson(self, rate: int, where: str) -> None:
        """Mean gap of fio's arrivals: 1 / (e^(1/m) - 1) us with m = floor(1e6 / rate); it cuts each gap to whole us."""
        whole_us = 10**6 // rate
        real = 1e6 * math.expm1(1 / whole_us) if whole_us else math.inf
        if rate > _FAST_POISSON_PER_S and real > rate * 1.001:
            reason = f"fio's Poisson arrivals are cut to whole microseconds: expect {real:.0f}/s"
            self.losses.approximated(f"{where}.load", f"{rate} Poisson arrivals/s", reason)

    # Data -----------------------------------------------------------------------------------------------------------

    def data_options(self, workload: Workload, stream: Stream) -> list[str]:
        if not stream.access.writes:
            if workload.verification is Verification.STAMPS:
                reason = "fio checks only what the same job wrote with its own headers"
                self.losses.lost(f"{workload.name}: verification", "stamps", reason)
            return []
        data, where, options = workload.data, f"{workload.name}: data", []
        if data.compressible_ratio:
            share = self.percent(data.compressible_ratio, where, "compressible")
            options.append(f"buffer_compress_percentage={share}")
        if data.duplicate_ratio:
            options.append(f"dedupe_percentage={self.percent(data.duplicate_ratio, where, 'duplicates')}")
            what = f"{data.duplicate_contents} contents"
            self.losses.approximated(f"{where}.duplicate_contents", what, "fio repeats earlier buffers of any number")
        if data.seed:
            self.losses.lost(f"{where}.seed", str(data.seed), "fio's buffers have no seed of their own")
        return [*options, *self.verify(workload, stream)]

    def verify(self, workload: Workload, stream: Stream) -> list[str]:
        if workload.verification is Verification.NONE:
            return []
        where = f"{workload.name}: verification"
        if stream.access.reads:
            self.losses.lost(where, "stamps", "fio does not check the reads of a mixed job")
            return []
        self.losses.approximated(where, "stamps", "fio reads back and checks what it wrote after writing")
        return ["verify=crc32c"]


# Parts ----------------------------------------------------------------------------------------------------------------


def _copied(stream: Stream) -> int:
    return stream.access.destination if isinstance(stream.access, Copy) else 0


def _flow_weights(weights: Sequence[float]) -> list[int]:
    """Integers from 1 to 1000 in proportion, the smallest there are."""
    found = [max(1, weight) for weight in percents(weights, _MOST_FLOW)]
    divisor = math.gcd(*found)
    return [weight // divisor for weight in found]


def _half(load: Load) -> Load:
    return Closed(max(1, load.outstanding // 2)) if isinstance(load, Closed) else load


def _random_of(lines: Sequence[AccessSpec], *, reading: bool) -> float | None:
    """The random share of the reads, or of the writes; None where there are none."""
    found = [line for line in lines if (line.read_share > 0 if reading else line.read_share < 1)]
    return found[0].random_share if found else None


def _parts(lines: Sequence[AccessSpec]) -> list[_Part]:
    """As few groups as fio needs jobs: by pauses, then by randomness where sizes and directions differ in it."""
    groups: dict[tuple[int, int], list[AccessSpec]] = {}
    for line in lines:
        if line.transfer_weight > 0:
            key = (line.delay_ns, line.burst if line.delay_ns else 1)
            groups.setdefault(key, []).append(line)
    parts: list[list[AccessSpec]] = []
    for group in groups.values():
        parts += [group] if _one_job(group) else _by_randomness(group)
    return [_Part(tuple(part), math.fsum(line.transfer_weight for line in part)) for part in parts]


def _one_job(lines: Sequence[AccessSpec]) -> bool:
    """Whether all reads, and all writes, are equally random."""
    reads = {line.random_share for line in lines if line.read_share > 0}
    writes = {line.random_share for line in lines if line.read_share < 1}
    return len(reads) <= 1 and len(writes) <= 1


def _by_randomness(lines: Sequence[AccessSpec]) -> list[list[AccessSpec]]:
    groups: dict[float, list[AccessSpec]] = {}
    for line in lines:
        groups.setdefault(line.random_share, []).append(line)
    return list(groups.values())


def _sizes_option(split: Sequence[tuple[int, int]]) -> str:
    return f"bs={split[0][0]}" if len(split) == 1 else f"bssplit={_split_text(split)}"


def _split_text(split: Sequence[tuple[int, int]]) -> str:
    return ":".join(f"{size}/{share}" for size, share in split)


def _job_name(name: str) -> str:
    """A section's name: one line without brackets and comment signs, and not 'global'."""
    clean = "".join(" " if not letter.isprintable() else letter for letter in name)
    clean = clean.replace("[", "(").replace("]", ")").replace(";", ",").replace("#", "No. ").strip()
    return f"job {clean}".strip() if clean.lower() in {"global", ""} else clean
