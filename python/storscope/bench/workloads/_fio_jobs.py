"""From the streams of a definition to fio jobs.

A stream becomes one job if `_fio_parts` finds that one is enough; else several, held in proportion by `flow` (closed
loop) or by their rates (open loop). A copy becomes a reading and a writing job; rate steps become jobs that start one
after the other. Each job knows which stream it stands for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from storscope.bench.workloads._fio_data import data_options
from storscope.bench.workloads._fio_flush import flush_options
from storscope.bench.workloads._fio_load import load_options, rate_options
from storscope.bench.workloads._fio_parts import Part, parts_of
from storscope.bench.workloads._fio_text import LONGEST_NAME_BYTES, is_plain_name, time_text
from storscope.bench.workloads._fio_transfer import transfer_options
from storscope.bench.workloads.definition import Definition
from storscope.bench.workloads.loss import LossList
from storscope.bench.workloads.percent import percents
from storscope.domain.errors import UsageError
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import (
    MOST_WORKERS,
    AccessSpec,
    Closed,
    Copy,
    Load,
    Mix,
    Open,
    Process,
    Region,
    Starts,
    Steps,
    Stream,
    Uniform,
    Workload,
)

_PART_BYTES = 4096
"""What the parts of jobs that begin apart are multiples of."""
_MOST_FLOW = 1000
_FLOW_SLEEP_US = 20
"""Without it a job that is ahead waits busily: 400 instead of 30,000 IOPS on a virtual disk with two processors."""


_VARIABLE = re.compile(r"\$\{\w+\}")


@dataclass(frozen=True)
class FioJob:
    """A section of a job file. `stream` is the index of what it stands for; it starts `start_ns` into the run."""

    name: str
    options: tuple[str, ...]
    targets: tuple[int, ...] = (0,)
    stream: int = 0
    start_ns: int = 0

    def with_options(self, *options: str) -> FioJob:
        """The same with more of them."""
        return replace(self, options=(*self.options, *options))


class JobWriter:
    """Writes the workloads of a definition, and collects what is lost. `targets` take the place of its own names.

    `ramp_s` is what stands in the file as the ramp-up of all jobs.
    """

    def __init__(self, definition: Definition, targets: Sequence[str], ramp_s: float = 0) -> None:
        self.losses = LossList()
        self._ramp_s = ramp_s
        self._begin_ns = 0
        self._given = tuple(targets)
        _check_names(self._given)
        self._names = self._given or definition.targets
        self._flows = 0
        streams = [stream for workload in definition.workloads for stream in workload.streams]
        used = [at for stream in streams for at in (*stream.targets, _copied(stream))]
        self._count = max(1 + max(used, default=0), len(self._given), len(definition.targets))

    def workload(self, workload: Workload, begin_ns: int = 0) -> list[FioJob]:
        """The jobs of a workload, which run together from `begin_ns` after the start of the file on."""
        workload.check()
        self._begin_ns = begin_ns
        jobs: list[FioJob] = []
        for index, stream in enumerate(workload.streams):
            where = f"{workload.name}: streams[{index}]"
            name = workload.name if len(workload.streams) == 1 else stream.name or f"{workload.name} {index + 1}"
            options = data_options(workload, stream, self.losses)
            found = self._stream(stream, name, where)
            jobs += [replace(job.with_options(*options), name=_job_name(job.name), stream=index) for job in found]
        if workload.source:
            self.losses.elsewhere(workload.name, f"source {workload.source[:60]!r}", "a job file has no place for it")
        return jobs

    def _stream(self, stream: Stream, name: str, where: str) -> list[FioJob]:
        if isinstance(stream.access, Mix) and any(line.delay_ns for line in stream.access.lines):
            reason = "fio lets what is in flight end before it pauses; here a pause begins when that was sent"
            self.losses.approximated(f"{where}.access", "delay", reason)
        if stream.think_time is not None:
            stream = self._without_think_time(stream, where)
        if isinstance(stream.load, Steps):
            return self._steps(stream, stream.load, name, where)
        if isinstance(stream.access, Copy):
            return self._copy(stream, stream.access, name, where)
        return self._mix(stream, stream.access, name, where)

    def _without_think_time(self, stream: Stream, where: str) -> Stream:
        """A constant think time of one place in the queue is a delay; fio has no other. So places become jobs."""
        think = stream.think_time
        assert think is not None
        what = f"{think.mean_ns / 1e6:g} ms, {think.process}"
        alone = stream.load == Closed(1) and isinstance(stream.access, Mix) and len(self._indices(stream)) == 1
        if not alone and (apart := self._places_apart(stream)) is not None:
            reason = f"{apart.workers} jobs of one each, since fio pauses a job, not a place in its queue"
            self.losses.approximated(f"{where}.load", f"{apart.workers} places that think", reason)
            return self._without_think_time(apart, where)
        if alone and isinstance(stream.access, Mix) and not any(line.delay_ns for line in stream.access.lines):
            if think.process is Process.POISSON:
                self.losses.approximated(f"{where}.think_time", what, "fio's thinktime is constant")
            lines = tuple(replace(line, delay_ns=think.mean_ns, burst=1) for line in stream.access.lines)
            if any(line.burst > 1 for line in stream.access.lines):
                self.losses.approximated(f"{where}.access", "burst", "transfers are paced one by one by the think time")
            return replace(stream, access=Mix(lines), think_time=None)
        self.losses.lost(f"{where}.think_time", what, "fio pauses a job, not a place in its queue")
        return replace(stream, think_time=None)

    def _places_apart(self, stream: Stream) -> Stream | None:
        """Each place of the queue as a worker of its own: the same load where no request follows on another."""
        if not isinstance(stream.access, Mix) or not isinstance(stream.load, Closed) or len(self._indices(stream)) > 1:
            return None
        lines = [line for line in stream.access.lines if line.share > 0]
        places = stream.workers * stream.load.outstanding
        if any(line.random_share < 1 or line.delay_ns or line.reply_bytes for line in lines) or places > MOST_WORKERS:
            return None
        return replace(stream, load=Closed(1), workers=places)

    def _steps(self, stream: Stream, load: Steps, name: str, where: str) -> list[FioJob]:
        """A job for each step, which starts when the one before is over. None has a ramp-up, which would prolong it."""
        if self._ramp_s:
            reason = "fio would add it to each step, which would run beside the next one; steps are written without"
            self.losses.approximated(f"{where}.load", f"ramp-up of {time_text(self._ramp_s)}", reason)
        reason = "jobs with startdelay; queues start empty"
        if self._begin_ns:
            reason += ", and each step overlaps the one before by as long as the workloads before begin and end late"
        self.losses.approximated(f"{where}.load", f"{len(load.steps)} steps", reason)
        jobs: list[FioJob] = []
        start_ns = 0
        for number, step in enumerate(load.steps, 1):
            one = replace(stream, load=Open(step.rate_per_s, load.process, load.max_outstanding))
            time = (
                # Behind a stonewall, too, fio counts it from its own start.
                f"startdelay={time_text((self._begin_ns + start_ns) / NS_PER_S)}",
                f"runtime={time_text(step.duration_ns / NS_PER_S)}",
                *(("ramp_time=0",) if self._ramp_s else ()),
            )
            found = self._stream(one, f"{name} step {number}", where)
            jobs += [replace(job.with_options(*time), start_ns=start_ns) for job in found]
            start_ns += step.duration_ns
        return jobs

    def _copy(self, stream: Stream, copy: Copy, name: str, where: str) -> list[FioJob]:
        """A reading and a writing job in step; which write follows which read is lost."""
        reason = "fio's writes do not wait for the reads they copy; two jobs in equal proportion are written"
        self.losses.lost(f"{where}.access", f"a copy to target {copy.destination}", reason)
        half = _half(stream.load)
        if isinstance(stream.load, Closed) and isinstance(half, Closed):
            what, each = f"{stream.load.outstanding} outstanding", half.outstanding
            reason = f"two jobs of {each} tied by flow; the one that is ahead drains its queue and sleeps"
            self.losses.approximated(f"{where}.load", what, reason)
        line = AccessSpec(copy.size_bytes, random_share=copy.random_share)
        source = self._mix(replace(stream, access=Mix((line,)), load=half), Mix((line,)), "", where)
        written = replace(line, read_share=0.0)
        there = replace(
            stream,
            access=Mix((written,)),
            load=half,
            targets=(copy.destination,),
            region=Region(copy.destination_start_bytes, stream.region.length_bytes),
        )
        target = self._mix(there, Mix((written,)), "", where)
        tie = self._tie(1) if not stream.load.is_open else ()
        return [
            replace(source[0].with_options(*tie), name=f"{name} (1/2)"),
            replace(target[0].with_options(*tie), name=f"{name} (2/2)"),
        ]

    def _tie(self, weight: int) -> tuple[str, ...]:
        return (f"flow={weight}", f"flow_id={self._flows}", f"flow_sleep={_FLOW_SLEEP_US}")

    # A mix ------------------------------------------------------------------------------------------------------------

    def _mix(self, stream: Stream, mix: Mix, name: str, where: str) -> list[FioJob]:
        for at, line in enumerate(mix.lines):
            if line.reply_bytes:
                reason = "fio has no replies; the first transfer of each pair is kept"
                self.losses.lost(f"{where}.access.lines[{at}]", f"reply of {line.reply_bytes} bytes", reason)
        used = [line for line in mix.lines if line.share > 0]
        only_replies_write = any(line.reply_bytes for line in used) and all(line.read_share >= 1 for line in used)
        if stream.flush is not None and only_replies_write:
            reason = "the replies whose writes it follows are lost"
            self.losses.lost(f"{where}.flush", str(stream.flush.kind), reason)
        parts = parts_of(used, by_randomness=stream.load.is_open)
        self._flows += 1
        if len(parts) == 1:
            options = self._part(parts[0], stream, stream.load, 1.0, where)
            return [FioJob(name, options, self._indices(stream))]
        return self._several(parts, stream, name, where)

    def _several(self, parts: Sequence[Part], stream: Stream, name: str, where: str) -> list[FioJob]:
        """Jobs in proportion: by flow in a closed loop, by rate in an open one."""
        total = math.fsum(part.weight for part in parts)
        weights = _flow_weights([part.weight for part in parts])
        loads = [stream.load] * len(parts)
        if isinstance(stream.load, Closed):
            depth = max(stream.load.outstanding, len(parts))
            depths = [1 + extra for extra in percents([part.weight for part in parts], depth - len(parts))]
            loads = [Closed(share) for share in depths]
            reason = (
                f"lines differ in pauses: {len(parts)} jobs tied by flow, their depths {depths}; "
                "the one that is ahead drains its queue and sleeps"
            )
            self.losses.approximated(f"{where}.access", f"{stream.load.outstanding} outstanding in one queue", reason)
        jobs = []
        for number, (part, load, weight) in enumerate(zip(parts, loads, weights, strict=True), 1):
            tie = () if load.is_open else self._tie(weight)
            options = (*self._part(part, stream, load, part.weight / total, where), *tie)
            jobs.append(FioJob(f"{name} ({number}/{len(parts)})", options, self._indices(stream)))
        return jobs

    def _part(self, part: Part, stream: Stream, load: Load, share: float, where: str) -> tuple[str, ...]:
        """All options of a job but its data."""
        options = transfer_options(part, stream.offsets, where, self.losses)
        options += self._place(stream, where)
        options += load_options(load, len(self._indices(stream)), where, self.losses)
        if part.reads < 1:
            options += flush_options(stream, load, len(self._indices(stream)), where, self.losses)
        if stream.workers > 1:
            options.append(f"numjobs={stream.workers}")
        if isinstance(load, Open):
            options += rate_options(load, part, share / stream.workers, where, self.losses)
        return tuple(options)

    # Targets ----------------------------------------------------------------------------------------------------------

    def _place(self, stream: Stream, where: str) -> list[str]:
        options = [f"filename={':'.join(self._filename(at) for at in self._indices(stream))}"]
        if stream.region.start_bytes:
            options.append(f"offset={stream.region.start_bytes}")
        apart = self._apart(stream, where)
        if stream.region.length_bytes and not apart:
            options.append(f"size={stream.region.length_bytes * len(self._indices(stream))}")
        return options + apart

    def _apart(self, stream: Stream, where: str) -> list[str]:
        """A part of the region for each of a stream's jobs, which begin apart; nothing if they begin together.

        At the end of its part a job begins it again, where ours goes on: they stay apart all the same. fio divides a
        size, if it is no share, among the job's files.
        """
        if stream.starts is Starts.TOGETHER or stream.workers == 1:
            return []
        if stream.offsets != Uniform() and (random := _random_shares(stream)) != {0.0}:
            if random != {1.0}:
                reason = "fio would have the busy places in the part of each job; all begin at the same place"
                self.losses.lost(f"{where}.starts", "apart", reason)
            return []
        length = stream.region.length_bytes
        part = None if length is None else length // stream.workers // _PART_BYTES * _PART_BYTES
        share = 100 // stream.workers
        largest = (
            stream.access.size_bytes
            if isinstance(stream.access, Copy)
            else max(line.size_bytes for line in stream.access.lines)
        )
        if (part is not None and part < largest) or (part is None and (stream.region.start_bytes or not share)):
            self.losses.lost(f"{where}.starts", "apart", "fio has no part for each job; all begin at the same place")
            return []
        if part is None:
            return [f"offset_increment={share}%", f"size={share}%"]
        return [f"offset_increment={part}", f"size={part * len(self._indices(stream))}"]

    def _indices(self, stream: Stream) -> tuple[int, ...]:
        return stream.targets or tuple(range(self._count))

    def _filename(self, index: int) -> str:
        """A given name, else one of the file's if it is a path here or a variable, else a variable."""
        variable = "${TARGET}" if self._count == 1 else f"${{TARGET{index}}}"
        if index >= len(self._names):
            return variable
        name = self._names[index]
        is_variable = name.startswith("${") and is_plain_name(_VARIABLE.sub("x", name))
        if is_variable or (is_plain_name(name) and (self._given or name.startswith("/"))):
            return name.replace(":", "\\:")
        what = "no path of this system" if is_plain_name(name) else "a name that fio would read as another one"
        self.losses.elsewhere("targets", name[:60], f"{what}; set {variable[2:-1]} when fio runs")
        return variable


def _check_names(names: Sequence[str]) -> None:
    """Raises UsageError for a name that fio would read as another one: it would write there."""
    for name in names:
        if not is_plain_name(name):
            raise UsageError(
                "a target whose name a fio job can hold", repr(name)[:80],
                hint="fio ends a value at ; and #, expands $ and strips blanks. "
                "Give the target another name, for example by a symbolic link.",
            )  # fmt: skip


def _copied(stream: Stream) -> int:
    return stream.access.destination if isinstance(stream.access, Copy) else 0


def _flow_weights(weights: Sequence[float]) -> list[int]:
    """Integers from 1 to 1000 in proportion, the smallest there are."""
    found = [max(1, weight) for weight in percents(weights, _MOST_FLOW)]
    divisor = math.gcd(*found)
    return [weight // divisor for weight in found]


def _random_shares(stream: Stream) -> set[float]:
    lines = (stream.access,) if isinstance(stream.access, Copy) else stream.access.lines
    return {line.random_share for line in lines}


def _half(load: Load) -> Load:
    return Closed(max(1, load.outstanding // 2)) if isinstance(load, Closed) else load


def _job_name(name: str) -> str:
    """A section's name: one line that fio reads whole, without brackets and comment signs, and not 'global'."""
    clean = "".join(" " if not letter.isprintable() else letter for letter in name)
    clean = clean.replace("[", "(").replace("]", ")").replace(";", ",").replace("#", "No. ")
    clean = clean.strip().encode()[:LONGEST_NAME_BYTES].decode(errors="ignore").strip()
    return f"job {clean}".strip() if clean.lower() in {"global", ""} else clean
