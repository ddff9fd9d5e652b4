"""Simulations from Python: one design or several side by side on all cores, as Arrow tables."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

import pyarrow as pa

from storscope.bench.workloads import load_workload
from storscope.bench.workloads.definition import Definition, Sweep
from storscope.domain.errors import UsageError
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Workload
from storscope.sim import design as design_files
from storscope.sim.assignment import Assignment, Attachment, assigned, sizes_of
from storscope.sim.design import Design
from storscope.sim.replay import TracePlan, TraceSource, described, packed, placed
from storscope.sim.schedule import load_schedule
from storscope.sim.simulation import SimulationPlan
from storscope.sim.traces import read_trace
from storscope.workbench.arguments import Duration, taken_duration_ns, taken_texts
from storscope.workbench.interval_length import has_many_intervals, interval_ns_for
from storscope.workbench.own_length import own_length
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate as run_plan
from storscope.workbench.simulating_sweep import Failure, SimulatedPoint, simulated_points
from storscope.workbench.simulation_arguments import (
    check_design,
    check_designs,
    check_schedule,
    check_traces,
    check_volumes,
    taken_numbers,
    taken_size,
)
from storscope.workbench.simulation_sweep import SimulationLengths, sweep_of_axes, sweep_of_file

_PLACING = 'a mapping of volumes to files, {"VOLUME": "FILE"}'
"""How callers send a trace to a volume."""

Workloads = str | Path | Workload | Mapping[str, str | Path | Workload]
"""A workload (built-in name, file, text or value) for all volumes, or one for each pattern of volumes."""

Traces = str | Path | Mapping[str, str | Path]
"""A trace for what it names itself, or one for each volume."""

Count = int | str
"""A number, or like '500k' or '5M'."""


_PATIENCE_S = 0.1
"""So often a wait is looked up from: Ctrl-C does not end one where a library takes signals its own way, as Polars."""


def plan_of(
    design: str | Path | Design, workload: Workloads, *, duration: Duration | None = None, ios: Count | None = None,
    seed: int = 1, schedule: str | Path | None = None,
) -> SimulationPlan:  # fmt: skip
    """A plan from what users write. Without `duration` and `ios` it is as long as the workload's own file says, or as
    its rate steps last; else '60s'.

    Raises UsageError and ConfigError as the parts do.
    """
    given = taken_numbers(seed=seed, ios=ios)
    design = load_design(design, schedule)
    assignments, sweeps = _assignments(workload, design.attachments)
    every = assigned(assignments, design.attachments)
    if duration is not None or ios is not None:
        return SimulationPlan(design, every, given.seed, duration_ns=taken_duration_ns(duration), ios=given.ios)
    own = own_length(every, design.lifetimes, sweeps)
    return SimulationPlan(design, every, given.seed, duration_ns=own.duration_ns, ramp_ns=own.ramp_ns)


def load_design(design: str | Path | Design, schedule: str | Path | None = None) -> Design:
    """A design from its file or text, read and checked once for many runs, with a schedule (its file or text) if one is
    given.

    Raises UsageError for a file that cannot be read, ConfigError (with line and key) for what is no design.
    """
    check_design(design)
    check_schedule(design, schedule)
    if isinstance(design, Design):
        return design
    return design_files.load_design(design, load_schedule(schedule) if schedule is not None else None)


def simulate(
    design: str | Path | Design, workload: Workloads, *, duration: Duration | None = None, ios: Count | None = None,
    seed: int = 1, schedule: str | Path | None = None, started_ns: int | None = None,
) -> dict[str, pa.Table]:  # fmt: skip
    """Simulates a design and returns what the store would keep: tables by name (observations, histograms, runs, ...).

    `design` is a file or its text, and so is `schedule`; `workload` is a built-in name, a file, or a mapping of volumes
    to workloads; of what a file repeats (`[sweep]`) the workload as it is written runs once. Without `duration` and
    `ios` it is as long as the file says, or as its rate steps last; else 60 s. `duration` is like '60s', '5m' or '1.5h'
    (a plain number is seconds), `ios` a number, or like '500k' or '5M', in powers of ten.

    The interpreter lock is free while the array works. The same arguments give the same figures on any machine; with
    `started_ns` (UTC since 1970, where the tables place the run; now, if absent) the same tables to the last byte.

    A run that lost data or whose latencies do not mean what they say returns, too: `runs` has its `status` and, among
    its `parameters`, the `doubts`. With `simulate_each` both are attributes.

    Raises UsageError for arguments, files that cannot be read and volumes that the design does not have; ConfigError
    for a design, schedule or workload that makes no sense; InputError for a workload file of no known form. All are
    StorscopeError.
    """
    given = taken_numbers(started_ns=started_ns)
    plan = plan_of(design, workload, duration=duration, ios=ios, seed=seed, schedule=schedule)
    return run_plan(plan, started_ns=given.started_ns).tables()


def trace_plan_of(
    design: Design, sources: Sequence[TraceSource], *, outstanding: int | None = None, speed_up: float = 1.0,
    duration_ns: int | None = None, seed: int = 1, slice_ns: int | None = None,
    placing: str = "--trace VOLUME=FILE",
) -> TracePlan:  # fmt: skip
    """A replay of traces side by side, each at its times, or as a closed loop that keeps `outstanding` in flight.

    A closed loop thinks as long as the trace says, or not at all. `speed_up` divides times and thought. `placing` is
    how the caller sends a trace to a volume, in words. Raises UsageError for places that the design does not have,
    InputError for requests that lie outside their volume.
    """
    if not sources:
        raise UsageError("at least one trace", "none")
    traces = tuple(source.trace for source in sources)
    for trace in traces:
        if not trace.has_times and outstanding is None:
            raise UsageError(
                "a number of requests in flight for a trace without times", "none", where=trace.where,
                hint="With --closed-loop 8 (from Python outstanding=8) each of its requests follows an answer.",
            )  # fmt: skip
    targets = placed(sources, design.attachments, placing)
    records = packed(traces, targets, speed_up)
    span_ns = max(round(trace.duration_ns / speed_up) for trace in traces)
    is_told = outstanding is None and has_many_intervals(span_ns)  # else the array tells how long it takes
    interval_ns = interval_ns_for(duration_ns or span_ns) if is_told else None
    return TracePlan(
        design, described(traces, targets, outstanding, speed_up), seed, duration_ns=duration_ns,
        interval_ns=interval_ns, slice_ns=slice_ns or NS_PER_S // 50, traces=traces, records=records,
        outstanding=(outstanding,) * len(traces),
    )  # fmt: skip


def simulate_trace(
    design: str | Path | Design, trace: Traces, *, outstanding: int | None = None, speed_up: float = 1.0,
    duration: Duration | None = None, seed: int = 1, schedule: str | Path | None = None, started_ns: int | None = None,
) -> dict[str, pa.Table]:  # fmt: skip
    """Replays a trace on a design and returns the tables of the run, as `simulate` does.

    `trace` is a file, or a mapping of volumes to files. Without `outstanding` requests come at their times, whatever
    the array does; with it, a closed loop keeps so many in flight and thinks as the trace says.

    Raises what `simulate` does, and InputError for a file that is no trace, with the line for a request that lies
    outside its volume.
    """
    check_traces(trace)
    given = taken_numbers(seed=seed, outstanding=outstanding, started_ns=started_ns, speed_up=speed_up)
    design = load_design(design, schedule)
    by_volume = trace if isinstance(trace, Mapping) else {None: trace}
    sources = [TraceSource(read_trace(path), pattern) for pattern, path in by_volume.items()]
    plan = trace_plan_of(
        design, sources, outstanding=given.outstanding, speed_up=given.speed_up,
        duration_ns=taken_duration_ns(duration), seed=given.seed, placing=_PLACING,
    )  # fmt: skip
    return run_plan(plan, started_ns=given.started_ns).tables()


def simulate_each(
    designs: Sequence[str | Path | Design], workload: Workloads, *, duration: Duration | None = None,
    ios: Count | None = None, seed: int = 1, schedule: str | Path | None = None, started_ns: int | None = None,
) -> list[Simulated]:  # fmt: skip
    """Simulates several designs under one workload, as many at a time as there are cores; results in their order.

    All get the same seed, so that the generator asks each for the same I/Os as far as their answers allow: what
    differs is the design. Look at `status` and `doubts` of each result first: a run that lost data returns, too. Then
    `judgement.estimates` has its figures and `measured` what hosts saw, both without the warm-up; `window` has what the
    array's components did in the same time, `array` what they did in the whole run, warm-up included; and `tables()`
    gives what `simulate` returns.

    Raises what `simulate` does, before any design is simulated if it can be told by then.
    """
    check_designs(designs)
    given = taken_numbers(started_ns=started_ns)
    plans = [plan_of(one, workload, duration=duration, ios=ios, seed=seed, schedule=schedule) for one in designs]
    return _side_by_side(plans, given.started_ns)


def _side_by_side(plans: Sequence[SimulationPlan], started_ns: int | None) -> list[Simulated]:
    """Each in its place. An error of one, or Ctrl-C, ends the others soon: nobody gets their results."""
    is_over = threading.Event()
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        running = [pool.submit(run_plan, plan, started_ns=started_ns, stop=is_over.is_set) for plan in plans]
        try:
            waiting = set(running)
            while waiting:
                ended, waiting = wait(waiting, _PATIENCE_S, FIRST_EXCEPTION)
                for one in ended:
                    one.result()  # what it raised comes before results that are waited for
            return [one.result() for one in running]
        finally:
            is_over.set()
            for one in running:
                one.cancel()


def simulate_sweep(
    design: str | Path | Design, axes: str | Sequence[str] = (),
    workload: str | Path | Workload | None = None, *,
    volumes: str | Sequence[str] = (), size: str | int | None = None, duration: Duration | None = None,
    ios: Count | None = None, seed: int = 1, schedule: str | Path | None = None, started_ns: int | None = None,
) -> list[SimulatedPoint]:  # fmt: skip
    """Simulates every combination of `axes`, as many at a time as there are cores; results in the order of the matrix.

    `axes` are in the words of `storscope bench --sweep`: 'sizes=4k,64k modes=randread,write jobs=1,8 depth=1,16'. With
    `workload` they are jobs and depth alone, for each workload of that file or built-in name; without them it is swept
    as its file says. Each point has a fresh array and the same seed. It runs on all volumes, or on those that fit a
    pattern of `volumes`; `size` ('100G', '10%') is how much of each is used, from its beginning.

    Each result has its `point` (`mode`, `block_bytes`, `jobs`, `depth`, `read_share`; None: as the workload says) and
    `simulated`, with everything that `simulate_each` gives of a design.

    Raises what `simulate` does; for a point that cannot be simulated before any is, if it can be told by then.
    """
    given = taken_numbers(seed=seed, ios=ios, started_ns=started_ns)
    lengths = SimulationLengths(given.seed, taken_duration_ns(duration), given.ios)
    words = [word for text in taken_texts("axes, as 'modes=randread depth=1,4'", axes) for word in text.split()]
    patterns = taken_texts("names or patterns of volumes", volumes)
    part, design = taken_size(size), load_design(design, schedule)
    if workload is None:
        sweep = sweep_of_axes(design, words, volumes=patterns, size=part, lengths=lengths)
    else:
        definition = _definition(workload, patterns, design)
        sweep = sweep_of_file(design, definition, words, volumes=patterns, size=part, lengths=lengths)
    sweep.check()
    found = dict(simulated_points(sweep, started_ns=given.started_ns))
    return [_made(found[number]) for number in sorted(found)]


def _definition(workload: str | Path | Workload, patterns: Sequence[str], design: Design) -> Definition:
    if isinstance(workload, Workload):
        return Definition("value", (workload,))
    if not isinstance(workload, str | Path):
        raise UsageError("a workload: a name, a file, its text or a Workload", repr(workload)[:80])
    return load_workload(workload, sizes_of(patterns, design.attachments))


def _made(found: SimulatedPoint | Failure) -> SimulatedPoint:
    if isinstance(found, Failure):
        raise found.error
    return found


def _assignments(workload: Workloads, attachments: Sequence[Attachment]) -> tuple[list[Assignment], list[Sweep]]:
    if not isinstance(workload, Mapping):
        found = [_assignment(workload, None, attachments)]
    else:
        check_volumes(workload)
        found = [_assignment(one, pattern, attachments) for pattern, one in workload.items()]
    return [assignment for assignment, _ in found], [sweep for _, sweep in found]


def _assignment(
    workload: str | Path | Workload, pattern: str | None, attachments: Sequence[Attachment]
) -> tuple[Assignment, Sweep]:  # fmt: skip
    if isinstance(workload, Workload):
        return Assignment(workload, pattern), Sweep()
    if not isinstance(workload, str | Path):
        raise UsageError("a workload: a name, a file or its text, or a mapping of volumes to them", repr(workload)[:80])
    definition = load_workload(workload, sizes_of([] if pattern is None else [pattern], attachments))
    only = (
        "Simulate each by itself with storscope.simulate_sweep, or write one to a file of its own: storscope workload "
        "convert FILE --only NAME --to toml -o one.toml."
    )
    return Assignment(definition.sole(str(workload)[:80], only), pattern, definition.targets), definition.sweep
