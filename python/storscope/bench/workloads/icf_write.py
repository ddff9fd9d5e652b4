"""Writes workloads as an Iometer configuration of version 1.1.0, and says what Iometer cannot ask for.

Several workloads become the steps of one test: every worker has a list of specifications and is idle in the steps
that do not need it. Numbers that Iometer keeps as integers (per cent, milliseconds, sectors) are rounded, and said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from storscope.bench.workloads._icf_text import MOST_LINES, Cycling, IcfLine, IcfSpec, IcfWorker
from storscope.bench.workloads.definition import Definition, Sweep
from storscope.bench.workloads.gaps import alignment_bytes
from storscope.bench.workloads.icf import IDLE, cycling_of
from storscope.bench.workloads.loss import Loss, LossList
from storscope.bench.workloads.percent import percents
from storscope.domain.errors import UsageError
from storscope.domain.units import NS_PER_MS, NS_PER_S, SECTOR_BYTES
from storscope.domain.workload import (
    AccessSpec,
    Closed,
    DataPool,
    Mix,
    Process,
    Starts,
    Stream,
    Uniform,
    Verification,
    Workload,
)

_VERSION = "Version 1.1.0 "
_RULE = "=" * 79
_FULL_RANDOM = 2
"""The data pattern whose bytes cannot be compressed."""
_LONGEST_NAME = 79
"""MAX_NAME of Iometer is 80 with the end of the string."""
_BAR_CHARTS = (
    "Total I/Os per Second",
    "Total MBs per Second (Decimal)",
    "Average I/O Response Time (ms)",
    "Maximum I/O Response Time (ms)",
    "% CPU Utilization (total)",
    "Total Error Count",
)


def write_icf(definition: Definition) -> tuple[str, tuple[Loss, ...]]:
    """The text of an .icf and what it could not keep."""
    plan = _Plan(definition)
    for step, workload in enumerate(definition.workloads):
        plan.add_step(step, workload)
    for workload in definition.others:
        plan.add_unused(workload)
    plan.note_targets(definition)
    _note_sources(definition, plan.losses)
    lines = [
        _VERSION,
        *_setup_lines(definition, plan),
        *_display_lines(),
        *_spec_lines(plan.specs),
        *_manager_lines(plan),
        _VERSION,
    ]
    return "\n".join(lines) + "\n", plan.losses.as_tuple()


def _note_sources(definition: Definition, losses: LossList) -> None:
    for workload in definition.workloads:
        if workload.source and not workload.source.startswith("Iometer configuration"):
            losses.elsewhere(workload.name, f"source {workload.source[:60]!r}", "an .icf has no place for it")


@dataclass
class _Slot:
    """A worker of the file: its settings, and its specification in each step."""

    worker: IcfWorker
    specs: dict[int, str] = field(default_factory=dict)


class _Plan:
    """Which specifications and workers the file gets."""

    def __init__(self, definition: Definition) -> None:
        self.targets = tuple(_one_line(name) for name in definition.targets)
        # A worker without any does nothing beside workers that have some: all is written as all names.
        every = [stream for workload in definition.workloads for stream in workload.streams]
        self.target_count = max(len(self.targets), *(at + 1 for stream in every for at in stream.targets), 0)
        writing = [workload for workload in (*definition.workloads, *definition.others) if workload.writes]
        # Workers that only read have the pattern of those that write, so that one worker serves several steps.
        self.idle_pattern = _pattern(writing[0], LossList()) if writing else _FULL_RANDOM
        self.specs: dict[str, IcfSpec] = {}
        self.slots: list[_Slot] = []
        self.losses = LossList()

    def add_step(self, step: int, workload: Workload) -> None:
        """A slot for each worker of the workload, in their order, so that reading gives the streams back in order."""
        workload.check()
        _note_unknown(workload, self.losses)
        after = 0
        for index, stream in enumerate(workload.streams):
            where = _where(workload, index)
            spec = self.spec(workload, index, where)
            if stream.starts is Starts.APART and stream.workers > 1:
                self.losses.lost(f"{where}.starts", "apart", "the places would depend on the size of the target")
            for _ in range(stream.workers):
                after = self.place(step, self.worker(workload, stream, where), spec, after)

    def add_unused(self, workload: Workload) -> None:
        """Specifications without a worker."""
        for index in range(len(workload.streams)):
            self.spec(workload, index, _where(workload, index))

    def place(self, step: int, worker: IcfWorker, spec: str, after: int) -> int:
        for number, slot in enumerate(self.slots[after:], after):
            if slot.worker == worker and step not in slot.specs:
                slot.specs[step] = spec
                return number + 1
        self.slots.append(_Slot(worker, {step: spec}))
        return len(self.slots)

    def worker(self, workload: Workload, stream: Stream, where: str) -> IcfWorker:
        start, length = stream.region.start_bytes, stream.region.length_bytes
        for name, size in (("start", start), ("length", length or 0)):
            if size % SECTOR_BYTES:
                self.losses.approximated(f"{where}.region", f"{name} of {size} bytes", "cut to sectors of 512 bytes")
        if isinstance(stream.access, Mix) and start % (align := alignment_bytes(stream.access.lines)):
            what, reason = (
                f"start of {start} bytes",
                f"Iometer counts the alignment of {align} from byte 0 of the target",
            )
            self.losses.approximated(f"{where}.region", what, reason)
        if length is not None and length < SECTOR_BYTES:
            raise UsageError("a region of at least 512 bytes", f"{length} bytes", where=f"{where}.region")
        return IcfWorker(
            name="",
            outstanding=self.outstanding(stream, where),
            max_sectors=(length or 0) // SECTOR_BYTES,
            start_sector=start // SECTOR_BYTES,
            pattern=_pattern(workload, self.losses) if workload.writes else self.idle_pattern,
            targets=self.names(stream),
        )

    def note_targets(self, definition: Definition) -> None:
        """Says which targets are called otherwise in the file."""
        for name, written in zip(definition.targets, self.targets, strict=True):
            if name != written:
                self.losses.elsewhere("targets", repr(name[:80]), f"called {written[:80]!r} in the file")

    def names(self, stream: Stream) -> tuple[str, ...]:
        indices = stream.targets or range(self.target_count)
        return tuple((*self.targets[at : at + 1], "")[0] or f"TARGET {at}" for at in indices)

    def outstanding(self, stream: Stream, where: str) -> int:
        if isinstance(stream.load, Closed):
            return stream.load.outstanding
        what = "a rate of arrivals" if stream.load.kind == "open" else "steps of rates"
        self.losses.lost(f"{where}.load", what, "Iometer has no open loop; written as a closed loop of depth 1")
        return 1

    def spec(self, workload: Workload, index: int, where: str) -> str:
        """The name of the specification with the stream's lines, which is added when it is new."""
        stream = workload.streams[index]
        lines = self.lines(stream, where)
        wanted = workload.name if len(workload.streams) == 1 else stream.name or f"{workload.name} {index + 1}"
        name = self.free_name(_icf_name(wanted), lines)
        if name != wanted:
            self.losses.elsewhere(f"{where}.name", repr(wanted[:80]), f"called {name!r} in the file")
        if len(workload.streams) == 1 and stream.name:
            self.losses.elsewhere(
                f"{where}.name", repr(stream.name), "a workload of one stream has one name in an .icf"
            )
        self.specs[name] = IcfSpec(name, "NONE", lines)
        return name

    def free_name(self, name: str, lines: tuple[IcfLine, ...]) -> str:
        taken = {known.lower(): spec.lines for known, spec in self.specs.items()} | {IDLE.lower(): ()}
        candidates = [name, *(f"{name} ({number})" for number in range(2, len(taken) + 3))]
        return next(found for found in candidates if taken.get(found.lower(), lines) == lines)

    def lines(self, stream: Stream, where: str) -> tuple[IcfLine, ...]:
        specs = self.access_lines(stream, where)
        if len(specs) > MOST_LINES:
            raise UsageError(f"at most {MOST_LINES} lines", str(len(specs)), where=f"{where}.access.lines")
        shares = percents([spec.share for spec in specs])
        exact = [100 * spec.share / sum(spec.share for spec in specs) for spec in specs]
        if any(abs(share - part) > 1e-6 for share, part in zip(shares, exact, strict=True)):
            self.losses.approximated(f"{where}.access", "shares of the lines", "rounded to whole per cent")
        found = [self.line(spec, share, f"{where}.access.lines[{at}]") for at, (spec, share)
                 in enumerate(zip(specs, shares, strict=True))]  # fmt: skip
        return tuple(found)

    def access_lines(self, stream: Stream, where: str) -> tuple[AccessSpec, ...]:
        if isinstance(stream.access, Mix):
            return stream.access.lines
        copy = stream.access
        self.losses.lost(
            f"{where}.access",
            f"a copy to target {copy.destination} at {copy.destination_start_bytes}",
            "written as reads with replies of the same size, which go to the target they were read from",
        )
        return (AccessSpec(copy.size_bytes, random_share=copy.random_share, reply_bytes=copy.size_bytes),)

    def line(self, spec: AccessSpec, share: int, where: str) -> IcfLine:
        reads, random = self.percent(spec.read_share, where, "reads"), self.percent(spec.random_share, where, "random")
        delay_ms = round(spec.delay_ns / NS_PER_MS)
        if delay_ms * NS_PER_MS != spec.delay_ns:
            self.losses.approximated(where, f"delay of {spec.delay_ns} ns", f"rounded to {delay_ms} ms")
        if share == 0 and spec.share > 0:
            self.losses.lost(where, f"{spec.size_bytes} bytes", "its share is below half a per cent")
        align = spec.effective_align_bytes
        # 0 stands for the sector, as in most files; a sector of 4 KiB needs a multiple of it as alignment.
        align = 0 if align == SECTOR_BYTES else align
        return IcfLine(spec.size_bytes, share, reads, random, delay_ms, spec.burst, align, spec.reply_bytes)

    def percent(self, ratio: float, where: str, what: str) -> int:
        percent = round(100 * ratio)
        if abs(percent - 100 * ratio) > 1e-6:
            self.losses.approximated(where, f"{100 * ratio:g} % {what}", f"rounded to {percent} %")
        return percent


def _where(workload: Workload, index: int) -> str:
    return f"{workload.name}: streams[{index}]"


def _note_unknown(workload: Workload, losses: LossList) -> None:
    """What Iometer has no field for."""
    for index, stream in enumerate(workload.streams):
        where = _where(workload, index)
        if not isinstance(stream.offsets, Uniform):
            losses.lost(f"{where}.offsets", stream.offsets.kind, "Iometer's random offsets are uniform")
        if stream.think_time is not None:
            process = "" if stream.think_time.process is Process.FIXED else " with exponential spread"
            what = f"{stream.think_time.mean_ns / NS_PER_MS:g} ms{process}"
            losses.lost(f"{where}.think_time", what, "Iometer's delay is per worker, not per place in the queue")
        if stream.flush is not None:
            what = f"{stream.flush.kind} after {_writes_words(stream.flush.every)}"
            losses.lost(f"{where}.flush", what, "Iometer has no flushes: a write is done when the device has taken it")
    if workload.verification is not Verification.NONE:
        losses.lost(f"{workload.name}: verification", workload.verification, "Iometer does not check what it reads")
    joined = " + ".join(dict.fromkeys(stream.name for stream in workload.streams))
    if len(workload.streams) > 1 and joined != workload.name:
        losses.elsewhere(f"{workload.name}: name", repr(workload.name), "a step of Iometer has its workers' names only")


def _writes_words(every: int) -> str:
    return "each write" if every == 1 else f"every {every} writes"


def _pattern(workload: Workload, losses: LossList) -> int:
    """0 repeating bytes, 2 full random."""
    data, where = workload.data, f"{workload.name}: data"
    if data.duplicate_ratio:
        losses.lost(f"{where}.duplicate_ratio", f"{data.duplicate_ratio:g}", "Iometer has three fixed patterns")
    if data.compressible_ratio not in {0.0, 1.0}:
        losses.lost(f"{where}.compressible_ratio", f"{data.compressible_ratio:g}", "Iometer has three fixed patterns")
    default = DataPool()
    if replace(data, compressible_ratio=0.0, duplicate_ratio=0.0) != default:
        losses.lost(where, "pool size, seed, number or size of contents", "Iometer has three fixed patterns")
    return 0 if data.compressible_ratio == 1 else _FULL_RANDOM


def _icf_name(name: str) -> str:
    """A name Iometer can hold: without commas and apostrophes at its start, of at most 79 characters."""
    return _one_line(name).replace(",", ";")[:_LONGEST_NAME].strip() or "Unnamed"


def _one_line(name: str) -> str:
    """What stands on a line of its own: an end of a line in it, or an apostrophe, would bring lines of its own."""
    return "".join(" " if not letter.isprintable() else letter for letter in name).lstrip("' ").strip()


# Text -----------------------------------------------------------------------------------------------------------------


def _setup_lines(definition: Definition, plan: _Plan) -> list[str]:
    sweep = definition.sweep
    seconds = _seconds(sweep.duration_ns, "duration", plan.losses)
    cycled = {
        "workers": _cycling(sweep.workers, "workers", len(plan.slots), plan.losses),
        "targets": _cycling(sweep.targets, "targets", max(1, len(definition.targets)), plan.losses),
        "outstanding": _cycling(sweep.outstanding, "outstanding", None, plan.losses),
    }
    description = _icf_name(definition.description) if definition.description else ""
    if description != definition.description:
        plan.losses.elsewhere("description", repr(definition.description[:60]), f"written as {description!r}")
    rows = {name: found or Cycling(1, 32, 1, "LINEAR") for name, found in cycled.items()}
    queue = rows["outstanding"]
    return [
        f"'TEST SETUP {_RULE[12:]}",
        "'Test Description", f"\t{description}",
        "'Run Time", "'\thours      minutes    seconds",
        f"\t{seconds // 3600:<10} {seconds // 60 % 60:<10} {seconds % 60}",
        "'Ramp Up Time (s)", f"\t{_seconds(sweep.ramp_up_ns, 'ramp-up', plan.losses)}",
        "'Default Disk Workers to Spawn", "\tNUMBER_OF_CPUS",
        "'Default Network Workers to Spawn", "\t0",
        "'Record Results", "\tALL",
        "'Worker Cycling", *_cycling_lines(rows["workers"]),
        "'Disk Cycling", *_cycling_lines(rows["targets"]),
        "'Queue Depth Cycling", "'\tstart      end        step       step type",
        f"\t{queue.start:<10} {queue.end:<10} {queue.step:<10} {queue.step_type}",
        "'Test Type", f"\t{_test_type(cycled, sweep, plan.losses)}",
        "'END test setup",
    ]  # fmt: skip


def _cycling_lines(found: Cycling) -> list[str]:
    return ["'\tstart      step       step type", f"\t{found.start:<10} {found.step:<10} {found.step_type}"]


def _seconds(duration_ns: int | None, what: str, losses: LossList) -> int:
    seconds = round((duration_ns or 0) / NS_PER_S)
    if seconds * NS_PER_S != (duration_ns or 0):
        losses.approximated("sweep", f"{what} of {duration_ns} ns", f"rounded to {seconds} s")
    return seconds


def _cycling(values: Sequence[int], what: str, end: int | None, losses: LossList) -> Cycling | None:
    """The cycling for the values of a sweep. That of workers and targets ends with their number."""
    if not values:
        return None
    found = cycling_of(values)
    if found is None:
        losses.lost(f"sweep.{what}", str(list(values))[:80], "neither evenly spaced nor a power series")
    elif end is not None and values[-1] != end:
        losses.approximated(f"sweep.{what}", f"up to {values[-1]}", f"Iometer goes on to all {end} of the file")
    return found


def _test_type(cycled: dict[str, Cycling | None], sweep: Sweep, losses: LossList) -> str:
    workers, targets, outstanding = (cycled[name] is not None for name in ("workers", "targets", "outstanding"))
    if workers and outstanding:
        losses.lost("sweep.workers", str(list(sweep.workers))[:80], "Iometer cycles workers or depth, not both")
        workers = False
    names = {
        (False, False, False): "NORMAL",
        (False, True, False): "CYCLE_TARGETS",
        (True, False, False): "CYCLE_WORKERS",
        (True, True, False): "CYCLE_WORKERS_AND_TARGETS",
        (False, False, True): "CYCLE_OUTSTANDING_IOS",
        (False, True, True): "CYCLE_OUTSTANDING_IOS_AND_TARGETS",
    }
    return names[workers, targets, outstanding]


def _display_lines() -> list[str]:
    charts = [
        line for number, name in enumerate(_BAR_CHARTS, 1) for line in (f"'Bar chart {number} statistic", f"\t{name}")
    ]
    head = [f"'RESULTS DISPLAY {_RULE[17:]}", "'Record Last Update Results,Update Frequency,Update Type"]
    return [*head, "\tDISABLED,1,LAST_UPDATE", *charts, "'END results display"]


def _spec_lines(specs: dict[str, IcfSpec]) -> list[str]:
    lines = [f"'ACCESS SPECIFICATIONS {_RULE[23:]}"]
    for spec in specs.values():
        lines += ["'Access specification name,default assignment", f"\t{spec.name},{spec.assignment}",
                  "'size,% of size,% reads,% random,delay,burst,align,reply"]  # fmt: skip
        for line in spec.lines:
            values = (line.size, line.share, line.reads, line.random, line.delay_ms, line.burst, line.align, line.reply)
            lines.append("\t" + ",".join(map(str, values)))
    return [*lines, "'END access specifications"]


def _manager_lines(plan: _Plan) -> list[str]:
    lines = [f"'MANAGER LIST {_RULE[14:]}"]
    if plan.slots:
        lines += ["'Manager ID, manager name", "\t1,storscope", "'Manager network address", "\t"]
        for number, slot in enumerate(plan.slots, 1):
            lines += _worker_lines(number, slot)
        lines.append("'End manager")
    return [*lines, "'END manager list"]


def _worker_lines(number: int, slot: _Slot) -> list[str]:
    worker = slot.worker
    specs = [slot.specs.get(step, IDLE) for step in range(max(slot.specs) + 1)]
    targets = [line for name in worker.targets for line in
               ("'Target", f"\t{name}", "'Target type", "\tDISK", "'End target")]  # fmt: skip
    return [
        "'Worker", f"\tWorker {number}",
        "'Worker type", "\tDISK",
        "'Default target settings for worker",
        "'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value",
        f"\t{worker.outstanding},DISABLED,1,DISABLED,0",
        "'Disk maximum size,starting sector,Data pattern",
        f"\t{worker.max_sectors},{worker.start_sector},{worker.pattern}",
        "'End default target settings for worker",
        "'Assigned access specs", *(f"\t{name}" for name in specs), "'End assigned access specs",
        "'Target assignments", *targets, "'End target assignments",
        "'End worker",
    ]  # fmt: skip
