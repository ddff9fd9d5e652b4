"""fio as the engine of a run: the same workload as a job, on the same open target, read back into the same values.

fio opens files by name. It gets the name `/proc/self/fd/N` of a descriptor that it inherits, the one that
`bench.safety` checked: whatever happens to the path meanwhile, that name leads to the same file or device. It may not
create or extend anything, runs with --readonly if the workload only reads, and the claim or lock on the target is held
until it has ended.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Final

from storscope.bench.engine import DescriptorTarget, RunPlan
from storscope.bench.figures import Interval, Outcome
from storscope.bench.fio_judging import doubts_of_fio
from storscope.bench.fio_process import FioProcess
from storscope.bench.fio_program import FioProgram, find_fio, ioengine_of
from storscope.bench.fio_result import State, state_of
from storscope.bench.targets import check_fits
from storscope.bench.workloads.definition import Definition
from storscope.bench.workloads.fio_write import FioFile, FioRun, fio_file
from storscope.bench.workloads.loss import LossKind
from storscope.domain.errors import ConfigError, StorscopeError
from storscope.domain.load import Load, Open, Region, Starts, Steps
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.domain.workload import Stream, Workload

_GREATEST_SEED: Final = 2**63
"""fio's option parser takes signed 64-bit numbers."""
_LONGEST_EXTRA_S: Final = 60.0
_ANY_SIZE_BYTES: Final = 2**60
"""Of targets whose size does not matter."""
_LEAST_INTERVAL_NS: Final = 100 * NS_PER_MS
_OPTIONS = (
    "thread", "slat_percentiles=1", "clat_percentiles=1", "invalidate=0", "allow_file_create=0", "exitall_on_error",
    "verify_state_save=0",
)  # fmt: skip
"""Jobs as threads; buckets for all three times; the page cache left as it is (fio's default drops the target's)."""


@dataclass(frozen=True)
class FioPlan:
    """What is run with fio, and what its job could not say."""

    program: FioProgram
    file: FioFile
    ioengine: str
    reason: str | None
    """Why it is not io_uring."""
    run: RunPlan
    descriptors: tuple[int, ...]

    @property
    def losses(self) -> tuple[str, ...]:
        """Sentences on what fio is asked differently than our own engine."""
        asked = [loss for loss in self.file.losses if loss.kind is not LossKind.ELSEWHERE]
        return tuple(f"fio, {loss}." for loss in asked)

    @property
    def keeps_depth(self) -> bool:
        """Whether its I/O engine has more than one I/O in flight. The kernel's AIO waits unless it is direct."""
        return self.ioengine == "io_uring" or (self.ioengine == "libaio" and "\ndirect=1\n" in self.file.text)

    @property
    def command(self) -> list[str]:
        """How it is called."""
        report_ms = max(self.run.interval_ns, _LEAST_INTERVAL_NS) // NS_PER_MS
        readonly = [] if self.run.workload.writes else ["--readonly"]
        return [self.program.path, "--output-format=json+", f"--status-interval={report_ms}ms", *readonly, "-"]


def fio_plan(plan: RunPlan, *, direct: bool) -> FioPlan:
    """The job for a plan on open targets. Raises MissingTool without fio, ConfigError for what does not fit."""
    descriptors = tuple(target.descriptor for target in plan.targets if isinstance(target, DescriptorTarget))
    sizes = [os.lseek(descriptor, 0, os.SEEK_END) for descriptor in descriptors]
    check_fits(plan.workload, *sizes)
    fio = find_fio()
    ioengine, reason = ioengine_of(fio)
    run = FioRun(
        targets=tuple(f"/proc/self/fd/{descriptor}" for descriptor in descriptors),
        ioengine=ioengine,
        direct=direct,
        runtime_s=plan.duration_ns / NS_PER_S,
        options=(*_OPTIONS, f"randseed={plan.seed % _GREATEST_SEED}"),
    )
    divided, origins = by_target(shortened(plan.workload, plan.duration_ns), sizes)
    file = fio_file(Definition("bench", (divided,)), run)
    _check_pauses(file)
    jobs = tuple(replace(job, stream=origins[job.stream]) for job in file.jobs)
    return FioPlan(fio, replace(file, jobs=jobs), ioengine, reason, plan, descriptors)


def check_load_of_fio(workload: Workload, targets: int) -> None:
    """Raises what `fio_plan` does of a load that fio cannot make, before there is a target."""
    names = tuple(f"/proc/self/fd/{number}" for number in range(targets))
    divided, _ = by_target(workload, [_ANY_SIZE_BYTES] * targets)
    _check_pauses(fio_file(Definition("bench", (divided,)), FioRun(targets=names)))


def _check_pauses(file: FioFile) -> None:
    """Raises ConfigError for think times that fio cannot make: what it measured would be another load by far."""
    for loss in file.losses:
        if loss.kind is LossKind.LOST and loss.where.endswith(".think_time"):
            raise ConfigError(
                "pauses that fio can make", loss.what, where=loss.where,
                hint=f"It would run without: {loss.reason}. Use our own engine, or one outstanding I/O.",
            )  # fmt: skip


def by_target(workload: Workload, sizes_bytes: Sequence[int]) -> tuple[Workload, tuple[int, ...]]:
    """The workload with a stream for each target, and which stream each one comes from.

    Outstanding I/Os are of each target anyway, and so each has its figures; arrivals are divided evenly. Where workers
    begin apart the region gets its length.
    """
    streams, origins = [], []
    for index, stream in enumerate(workload.streams):
        used = stream.targets or tuple(range(len(sizes_bytes)))
        load = _divided(stream.load, len(used))
        streams += [
            replace(stream, targets=(target,), load=load, region=_region(stream, sizes_bytes[target]))
            for target in used
        ]
        origins += [index] * len(used)
    return replace(workload, streams=tuple(streams)), tuple(origins)


def _region(stream: Stream, size_bytes: int) -> Region:
    region = stream.region
    if stream.starts is Starts.TOGETHER or region.length_bytes is not None:
        return region
    return replace(region, length_bytes=size_bytes - region.start_bytes)


def _divided(load: Load, parts: int) -> Load:
    if isinstance(load, Open):
        return replace(load, rate_per_s=load.rate_per_s / parts)
    if isinstance(load, Steps):
        return replace(load, steps=tuple(replace(step, rate_per_s=step.rate_per_s / parts) for step in load.steps))
    return load


def shortened(workload: Workload, duration_ns: int) -> Workload:
    """The workload with rate steps that end when the run does."""
    return replace(workload, streams=tuple(_shortened(stream, duration_ns) for stream in workload.streams))


def _shortened(stream: Stream, duration_ns: int) -> Stream:
    if not isinstance(stream.load, Steps):
        return stream
    steps, left_ns = [], duration_ns
    for step in stream.load.steps:
        if left_ns > 0:
            steps.append(replace(step, duration_ns=min(step.duration_ns, left_ns)))
        left_ns -= step.duration_ns
    return replace(stream, load=replace(stream.load, steps=tuple(steps)))


class FioEngineRun:
    """A run under way, in the manner of `EngineRun`: iterate over it, then ask for its `outcome`. A context."""

    def __init__(self, plan: FioPlan) -> None:
        self._plan = plan
        self._process = FioProcess(plan.command, plan.file.text, plan.descriptors)
        self._state = State()
        self._started_ns = 0
        self._stopped = False
        self._ended = False

    def __enter__(self) -> FioEngineRun:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.__exit__(kind, error, trace)

    def hold(self) -> bool:
        """fio begins at once, and makes no I/O that does not count."""
        return False

    def begin(self) -> None:
        """It has begun."""

    def intervals(self, stop: Callable[[], bool] = lambda: False) -> Iterator[Interval]:
        """Each interval as soon as fio reports it. Ends early, with what was measured, when `stop` says so."""

        def wants_end() -> bool:
            self._stopped = self._stopped or stop()
            return self._stopped or self._ended

        index = 0
        longest_s = self._plan.run.duration_ns / NS_PER_S + _LONGEST_EXTRA_S
        for document in self._process.documents(wants_end, longest_s):
            before, self._state = self._state, state_of(document, self._plan.file.jobs)
            if not self._started_ns:
                self._started_ns = round(document["timestamp_ms"] * NS_PER_MS) - self._state.reached_ns
            if self._state.reached_ns > before.reached_ns:
                yield self._state.since(before, index)
                index += 1
            else:
                self._state = self._state if self._state.failures else before

    def end(self) -> None:
        """Ends the run because enough was measured, which is no interruption. Take the rest of the intervals."""
        self._ended = True

    def outcome(self) -> Outcome:
        """How it ended. Raises what fio complained of if it measured nothing."""
        code = self._process.wait()
        words = self._process.words()
        total = self._state.since(State(), 0)
        error = None
        if self._process.was_killed:
            error = ("failed", "fio did not end when it was told to, and was killed")
        elif self._state.failures or (code != 0 and not (self._stopped or self._ended)):
            error = ("failed", _complaint(words) or f"fio ended with exit code {code}")
        if error is not None and not total.all.ios:
            raise _error(error[1], self._plan.program)
        doubts, is_valid = doubts_of_fio(self._plan.run.workload, total)
        return Outcome(self._result(total, is_valid), (*self._reasons(), *doubts), error, self._stopped)

    def _reasons(self) -> tuple[str, ...]:
        plan = self._plan
        if plan.reason is None:
            return ()
        alone = "" if plan.keeps_depth else " It keeps one I/O in flight a worker, whatever the workload asks."
        return (f"fio uses {plan.ioengine}, not io_uring: {plan.reason}.{alone}",)

    def _result(self, total: Interval, is_valid: bool) -> dict[str, Any]:
        completed = total.all.ios + total.flushes.ios
        name = f"fio {self._plan.program.version} {self._plan.ioengine}"
        ending: Mapping[str, Any] = {
            "completed": completed, "drained": None, "elapsed_ns": total.duration_ns, "failed": total.failed,
            "oldest_unsent_ns": None, "submitted": self._state.issued, "unsent": None,
        }  # fmt: skip
        return {
            "started_unix_ns": self._started_ns, "total": total.form, "ending": ending, "clock": "fio",
            "engines": [{"stream": 0, "engine": name, "reason": self._plan.reason, "registered_buffers": False}],
            "doubts": [], "valid": is_valid, "latency_bound": None,
            "drain": {**total.form, "cells": [], "drain": True},
        }  # fmt: skip


def _complaint(words: list[str]) -> str:
    """What fio says went wrong, in its own words."""
    said = [line for line in words if not line.startswith("fio: terminating on signal")]
    return "; ".join(line.removeprefix("fio: ") for line in said[:3])[:500]


def _error(said: str, fio: FioProgram) -> StorscopeError:
    if "parsing" in said or "bad option" in said.lower():
        return ConfigError(
            f"a job that fio {fio.version} accepts", said, hint="See its job: storscope workload convert ... --to fio."
        )
    return StorscopeError("a fio that measures", said, where=fio.path, hint="Look at the kernel's log, too.")
