"""Writes workloads as a fio job file, and says what fio cannot ask for, or asks for differently.

The file's head is made here, its jobs in `_fio_jobs`. Percentages are integers in fio; what is rounded is said.
Checked with fio 3.33: `rw`, `bssplit` for each direction, `percentage_random`, `flow` and `rate_iops` give the shares
asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from storscope.bench.workloads._fio_jobs import FioJob, JobWriter
from storscope.bench.workloads._fio_text import LONGEST_LINE_BYTES, time_text
from storscope.bench.workloads.definition import Definition, unused_workloads
from storscope.bench.workloads.loss import Loss, LossList
from storscope.domain.errors import ConfigError
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Steps, Workload

DEFAULT_RUNTIME_S = 60


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
    options: tuple[str, ...] = ()
    """More options for all jobs."""


@dataclass(frozen=True)
class FioFile:
    """A job file: its text, its jobs in the order that fio reports them, and what it could not keep."""

    text: str
    jobs: tuple[FioJob, ...]
    losses: tuple[Loss, ...]


def write_fio(definition: Definition, run: FioRun | None = None) -> tuple[str, tuple[Loss, ...]]:
    """The text of a job file and what it could not keep."""
    file = fio_file(definition, run or FioRun())
    return file.text, file.losses


def fio_file(definition: Definition, run: FioRun) -> FioFile:
    """A job file. Each job is a reporting group of its own: fio's result has one entry for each, in order.

    Raises ConfigError for a line that fio would not read as one.
    """
    writer = JobWriter(definition, run.targets, _ramp_s(definition, run))
    parts, begin_ns = [], 0
    for workload in definition.workloads:
        parts.append(writer.workload(workload, begin_ns))
        begin_ns += _span_ns(workload, definition, run)
    _note_definition(definition, writer.losses)
    lines = [*_head(definition, run)]
    for number, jobs in enumerate(parts):
        for index, job in enumerate(jobs):
            barrier = ["stonewall"] if number and not index else []
            lines += ["", f"[{job.name}]", *barrier, "new_group", *job.options]
    _check_lines(lines)
    losses = (*writer.losses, *unused_workloads(definition))
    return FioFile("\n".join(lines) + "\n", tuple(job for jobs in parts for job in jobs), losses)


def _check_lines(lines: Sequence[str]) -> None:
    for line in lines:
        if len(line.encode()) > LONGEST_LINE_BYTES:
            raise ConfigError(
                f"lines of at most {LONGEST_LINE_BYTES:,} bytes in a fio job, which takes the rest for another option",
                f"{len(line.encode()):,} in one that begins {line[:40]!r}",
                hint="Have fewer targets or lines in a stream, or shorter names of targets.",
            )  # fmt: skip


def _head(definition: Definition, run: FioRun) -> list[str]:
    ramp_s = _ramp_s(definition, run)
    names = ", ".join(workload.name for workload in definition.workloads)
    lines = [f"; Written by storscope for fio 3: {_one_line(names)}"]
    if not run.targets:
        lines.append("; Say where: TARGET=/dev/... fio FILE (TARGET0, TARGET1, ... for several targets)")
    if any(workload.writes for workload in definition.workloads):
        lines.append("; It WRITES to its targets.")
    lines += ["[global]", f"ioengine={run.ioengine}", f"direct={int(run.direct)}", "time_based"]
    lines.append(f"runtime={time_text(_runtime_s(definition, run))}")
    if ramp_s:
        lines.append(f"ramp_time={time_text(ramp_s)}")
    return [*lines, "group_reporting", "lat_percentiles=1", "randrepeat=0", *run.options]


def _span_ns(workload: Workload, definition: Definition, run: FioRun) -> int:
    """How long its jobs take, one beside the other."""
    whole_ns = round((_ramp_s(definition, run) + _runtime_s(definition, run)) * NS_PER_S)
    loads = [stream.load for stream in workload.streams]
    return max(sum(one.duration_ns for one in load.steps) if isinstance(load, Steps) else whole_ns for load in loads)


def _runtime_s(definition: Definition, run: FioRun) -> float:
    return run.runtime_s or (definition.sweep.duration_ns or 0) / NS_PER_S or DEFAULT_RUNTIME_S


def _ramp_s(definition: Definition, run: FioRun) -> float:
    return run.ramp_s if run.ramp_s is not None else (definition.sweep.ramp_up_ns or 0) / NS_PER_S


def _note_definition(definition: Definition, losses: LossList) -> None:
    for name in ("outstanding", "workers", "targets"):
        values = getattr(definition.sweep, name)
        if values:
            losses.lost(f"sweep.{name}", str(list(values))[:80], "a job file has one value; run it once for each")
    if definition.description:
        losses.elsewhere("description", repr(definition.description[:60]), "a job file has no place for it")


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)[:200]
