"""Iometer configuration files (.icf): reads every version from 1998 to 1.1.0, writes that of 1.1.0.

A *step* of the test, in which every worker runs the specification at the same place of its list, becomes a workload;
each worker becomes a stream, equal neighbours one stream with several workers. Without assigned specifications each
specification is a workload under the first worker's settings, as when its default assignment hands it out.
Specifications that no worker runs are kept beside (`Definition.others`). Cycling of the test setup becomes the sweep.

What is kept: Iometer's semantics of a line (see `AccessSpec`), the sector as alignment when `align` is 0. What is not:
network workers, connection rates, which manager a worker runs on. See docs/workloads.md for the mapping.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from storscope.bench.workloads._icf_text import Cycling, IcfFile, IcfLine, IcfSpec, IcfWorker, Setup, parse_icf
from storscope.bench.workloads.definition import Definition, Sweep
from storscope.bench.workloads.gaps import alignment_bytes
from storscope.bench.workloads.loss import LossList
from storscope.domain.errors import MalformedInput
from storscope.domain.units import MIB, NS_PER_MS, NS_PER_S, SECTOR_BYTES
from storscope.domain.workload import AccessSpec, Closed, DataPool, Mix, Region, Stream, Workload

IDLE = "Idle"
"""The specification every Iometer has, and no file defines, under which a worker does nothing."""
_MOST_VALUES = 1000
_MOST_SKIPPED_BYTES = 16 * MIB
"""Of a region, for the sake of alignment."""


def read_icf(text: str, where: str = "the .icf") -> Definition:
    """The workloads of an .icf with the sweep and what could not be kept. Raises MalformedInput with the line."""
    losses = LossList()
    file = parse_icf(text, where, losses)
    workers = list(_disk_workers(file, losses))
    names = tuple(dict.fromkeys(target for worker in workers for target in worker.targets))
    steps = list(_steps(file, workers, losses))
    workloads = tuple(_workload(step, names, losses, where) for step in steps)
    used = [spec for step in steps for _, spec in step]
    unused = [spec for spec in file.specs if spec not in used]
    others = tuple(_workload([(_first(workers), spec)], names, LossList(), where) for spec in unused)
    if not file.specs:
        raise MalformedInput("an access specification", "none", where=where)
    for workload in (*workloads, *others):
        workload.check()
    return Definition(
        form="icf",
        workloads=workloads or others,
        others=others if workloads else (),
        sweep=_sweep(file.setup, workers, losses),
        targets=names,
        description=file.setup.description,
        losses=losses.as_tuple(),
    )


# Steps ----------------------------------------------------------------------------------------------------------------

_Step = list[tuple[IcfWorker, IcfSpec]]


def _disk_workers(file: IcfFile, losses: LossList) -> Iterator[IcfWorker]:
    managers = dict.fromkeys(worker.manager for worker in file.workers)
    if len(managers) > 1:
        losses.approximated("MANAGER LIST", f"{len(managers)} managers", "their workers become workers of one host")
        for name in _named_by_several(file.workers):
            reason = "taken as one: on another host it may be another device"
            losses.approximated("MANAGER LIST", f"target {name[:60]!r} of several managers", reason)
    have_targets = any(worker.targets for worker in file.workers)
    for worker in file.workers:
        if not worker.type.startswith("DISK"):
            losses.lost(f"worker {worker.name!r}", worker.type, "storscope loads storage, not networks")
        elif have_targets and not worker.targets:
            reason = "left out beside workers that have some: it would be given theirs"
            losses.lost(f"worker {worker.name!r}", "no targets", reason)
        else:
            yield worker


def _named_by_several(workers: Sequence[IcfWorker]) -> list[str]:
    """Targets whose name workers of more than one manager use."""
    users: dict[str, set[str]] = {}
    for worker in workers:
        for target in worker.targets:
            users.setdefault(target, set()).add(worker.manager)
    return [target for target, managers in users.items() if len(managers) > 1]


def _first(workers: Sequence[IcfWorker]) -> IcfWorker:
    return workers[0] if workers else IcfWorker("Worker 1")


def _steps(file: IcfFile, workers: Sequence[IcfWorker], losses: LossList) -> Iterator[_Step]:
    specs = {spec.name.lower(): spec for spec in file.specs}
    for name in _given_twice(file.specs):
        if any(name == assigned.lower() for worker in workers for assigned in worker.specs):
            losses.lost("ACCESS SPECIFICATIONS", f"several of the name {name!r}", "workers that name it have the last")
    assigned = [_known(worker, specs, losses) for worker in workers]
    if not any(assigned):
        yield from _default_steps(file, workers, losses)
        return
    for place in range(max(map(len, assigned))):
        step = [
            (worker, spec)
            for worker, found in zip(workers, assigned, strict=True)
            for spec in found[place : place + 1]
            if spec is not None
        ]
        if step:
            yield step


def _given_twice(specs: Sequence[IcfSpec]) -> list[str]:
    names = [spec.name.lower() for spec in specs]
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]


def _known(worker: IcfWorker, specs: dict[str, IcfSpec], losses: LossList) -> list[IcfSpec | None]:
    """A worker's specifications by step; None where it is idle."""
    found: list[IcfSpec | None] = []
    for name in worker.specs:
        if name.lower() in specs:
            found.append(specs[name.lower()])
        elif name.lower() == IDLE.lower():
            found.append(None)
        else:
            losses.lost(f"worker {worker.name!r}", f"assigned {name!r}", "the file does not define this specification")
    return found


def _default_steps(file: IcfFile, workers: Sequence[IcfWorker], losses: LossList) -> Iterator[_Step]:
    """No worker has a specification: those handed out by default, else all, one after another."""
    chosen = [spec for spec in file.specs if spec.assignment in {"ALL", "DISK"}] or file.specs
    count = file.setup.disk_workers
    if not workers and count not in {"NUMBER_OF_CPUS", "1"}:
        losses.approximated("Default Disk Workers to Spawn", count, "the file has no workers; one is taken")
    if not workers and count == "NUMBER_OF_CPUS":
        losses.approximated("Default Disk Workers to Spawn", count, "a property of the machine; one worker is taken")
    for spec in chosen:
        yield [(worker, spec) for worker in workers or [_first(workers)]]


def _workload(step: _Step, names: Sequence[str], losses: LossList, where: str) -> Workload:
    streams: list[Stream] = []
    for worker, spec in step:
        stream = _stream(worker, spec, names, losses)
        if streams and replace(streams[-1], workers=1) == stream:
            streams[-1] = replace(streams[-1], workers=streams[-1].workers + 1)
        else:
            streams.append(stream)
    name = " + ".join(dict.fromkeys(stream.name for stream in streams))
    if len(streams) == 1:
        streams = [replace(streams[0], name="")]
    workload = Workload(name=name, streams=tuple(streams), source=f"Iometer configuration {where}")
    return replace(workload, data=_data(step, losses)) if workload.writes else workload


def _stream(worker: IcfWorker, spec: IcfSpec, names: Sequence[str], losses: LossList) -> Stream:
    used = tuple(names.index(target) for target in dict.fromkeys(worker.targets))
    lines = tuple(_line(line) for line in spec.lines)
    return Stream(
        name=spec.name,
        access=Mix(lines),
        load=Closed(worker.outstanding),
        region=_region(worker, lines, losses),
        targets=() if len(used) == len(names) else used,
    )


def _region(worker: IcfWorker, lines: Sequence[AccessSpec], losses: LossList) -> Region:
    """From the first place that is aligned for all lines: Iometer counts it from byte 0 of the target, we from here."""
    start, length = worker.start_sector * SECTOR_BYTES, worker.max_sectors * SECTOR_BYTES
    align = alignment_bytes(lines)
    largest = max(max(line.size_bytes, line.reply_bytes) for line in lines)
    skipped = -start % align
    if not skipped:
        return Region(start, length or None)
    where, what = f"worker {worker.name!r}", f"from sector {worker.start_sector} on, aligned to {align} bytes"
    if skipped > _MOST_SKIPPED_BYTES or 0 < length < skipped + largest:
        losses.lost(where, what, "Iometer counts the alignment from byte 0 of the target, here from that sector")
        return Region(start, length or None)
    reason = f"begins {skipped} bytes later, at a multiple; Iometer goes to that sector from the end"
    losses.approximated(where, what, reason)
    return Region(start + skipped, length - skipped if length else None)


def _line(line: IcfLine) -> AccessSpec:
    return AccessSpec(
        size_bytes=line.size,
        share=line.share / 100,
        read_share=line.reads / 100,
        random_share=line.random / 100,
        delay_ns=line.delay_ms * NS_PER_MS,
        burst=line.burst,
        align_bytes=line.align or SECTOR_BYTES,
        reply_bytes=line.reply,
    )


def _data(step: _Step, losses: LossList) -> DataPool:
    """What is written, by the data pattern of 1.1.0: 0 repeating bytes, 1 pseudo random, 2 full random."""
    patterns = list(dict.fromkeys(worker.pattern for worker, _ in step))
    if len(patterns) > 1:
        losses.approximated("Data pattern", repr(patterns), "a workload has one pool of data; the first one is taken")
    if patterns[0] == 0:
        losses.approximated("Data pattern", "0, repeating bytes", "zeros with a stamp: as compressible, not equal")
        return DataPool(compressible_ratio=1.0)
    if patterns[0] == 1:
        losses.approximated("Data pattern", "1, pseudo random", "random data without Iometer's repetitions")
    if patterns[0] is None:
        losses.approximated("Data pattern", "none in the file", "versions before 1.1.0; random data is taken")
    return DataPool()


# Cycling --------------------------------------------------------------------------------------------------------------


def _sweep(setup: Setup, workers: Sequence[IcfWorker], losses: LossList) -> Sweep:
    kind = setup.test_type
    if kind.startswith("INCREMENT_TARGETS"):
        losses.approximated("Test Type", kind, "targets are added to all workers alike")
    most_targets = max((len(worker.targets) for worker in workers), default=0)
    return Sweep(
        outstanding=_values(setup.queue_cycling, None) if "OUTSTANDING" in kind else (),
        workers=_values(setup.worker_cycling, max(1, len(workers))) if "WORKERS" in kind else (),
        targets=_values(setup.disk_cycling, max(1, most_targets)) if "TARGETS" in kind else (),
        duration_ns=setup.run_time_s * NS_PER_S or None,
        ramp_up_ns=setup.ramp_up_s * NS_PER_S,
    )


def _values(cycling: Cycling | None, end: int | None) -> tuple[int, ...]:
    """start, then + step (linear, or a step of 1) or x step, up to the end."""
    if cycling is None:
        return ()
    last = cycling.end if end is None else end
    values: list[int] = []
    value = max(1, cycling.start)
    while last is not None and value <= last and len(values) < _MOST_VALUES:
        values.append(value)
        if cycling.step == 0:
            break
        linear = cycling.step_type == "LINEAR" or cycling.step == 1
        value = value + cycling.step if linear else value * cycling.step
    return tuple(values)


def cycling_of(values: Sequence[int]) -> Cycling | None:
    """The cycling that gives `values`; None when they are neither evenly spaced nor a power series."""
    if len(values) == 1:
        return Cycling(values[0], values[0], 1, "LINEAR")
    first, second, last = values[0], values[1], values[-1]
    candidates = [Cycling(first, last, second - first, "LINEAR")]
    if second % first == 0:
        candidates.append(Cycling(first, last, second // first, "EXPONENTIAL"))
    return next((found for found in candidates if found.step > 0 and _values(found, None) == tuple(values)), None)
