"""Reads fio job files: the common options become streams, everything else is listed with a reason.

A job becomes a stream with `numjobs` workers; jobs between two `stonewall`s run together and become one workload; jobs
that share a queue by `flow` become one stream. fio draws the direction of each I/O and then its size from that
direction's split, so a line is made for each size, with the share of reads that follows.

Beware where fio asks something else than it seems to: `iodepth` with a synchronous engine is 1, random I/O without
`norandommap` visits each block once, a rate waits for completions. Each of these is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from storscope.bench.workloads._fio_options import THROUGH_CACHE
from storscope.bench.workloads._fio_stream import JobReader
from storscope.bench.workloads._fio_targets import JobTargets
from storscope.bench.workloads._fio_text import parse_jobs
from storscope.bench.workloads.definition import Definition, Sweep
from storscope.bench.workloads.loss import LossList
from storscope.domain.errors import ConfigError, MalformedInput
from storscope.domain.units import format_instant
from storscope.domain.workload import AccessSpec, Closed, DataPool, Mix, Stream, Verification, Workload

_Value = TypeVar("_Value")
_PART = re.compile(r" \(\d+/\d+\)$")
"""How our writer marks the jobs of one stream."""


def read_fio(
    text: str,
    where: str = "the job file",
    target_sizes: Sequence[int] = (),
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Definition:
    """The workloads of a job file and what could not be kept. Raises MalformedInput with section and line.

    A share of a target, like `size=10%`, is one of `target_sizes` (bytes), which have to be alike; without any it is
    lost. `${NAME}` is what `environment` has.
    """
    losses = LossList()
    jobs = [JobReader(section, where, losses, target_sizes) for section in parse_jobs(text, where, environment)]
    targets = JobTargets([job for job in jobs if job.is_supported], losses)
    groups: list[list[JobReader]] = [[]]
    for job in jobs:
        if job.flag("stonewall") or job.flag("wait_for_previous"):
            groups.append([])
        groups[-1].append(job)
    asked = [(group, asking) for group in groups if (asking := [job for job in group if job.is_supported])]
    workloads = tuple(_workload(asking, targets, losses, where) for _, asking in asked)
    if not workloads:
        hint = "Jobs that trim or only verify, or whose engine does other things than read and write, are left out."
        raise MalformedInput("a job that reads or writes", "none", where=where, hint=hint)
    for job in jobs:
        if job.is_supported:
            job.note_rest()
    if any(job.is_supported and job.is_direct is None for job in jobs):
        losses.elsewhere("jobs", "direct not given", THROUGH_CACHE)
    sweep = Sweep(
        duration_ns=_length([job.duration_ns for job in jobs], "runtime", losses),
        ramp_up_ns=_length([job.ramp_ns for job in jobs], "ramp_time", losses),
    )
    sections = tuple(tuple(f"[{job.name}]" for job in group) for group, _ in asked)
    return Definition("fio", workloads, sweep=sweep, targets=targets.names, losses=losses.as_tuple(), sections=sections)


def _workload(jobs: Sequence[JobReader], targets: JobTargets, losses: LossList, where: str) -> Workload:
    flows: dict[str, list[JobReader]] = {}
    for index, job in enumerate(jobs):
        flows.setdefault(job.flow_key or f"job {index}", []).append(job)
    streams = [stream for members in flows.values() for stream in _streams(members, targets, losses)]
    name = " + ".join(dict.fromkeys(stream.name for stream in streams))
    if len(streams) == 1:
        streams = [replace(streams[0], name="")]
    workload = Workload(
        name=name,
        streams=tuple(streams),
        source=f"fio job file {where}",
        data=_common([job.data() for job in jobs if job.writes], DataPool(), "data of its own", losses),
        verification=_verification(jobs, losses),
    )
    _check(workload, jobs, where)
    return workload


_SAID_BY = {
    "outstanding": ("iodepth",), "rate_per_s": ("rate_iops", "rate"), "workers": ("numjobs",),
    "verification": ("verify", "verify_pattern"),
}  # fmt: skip
"""Which options say what a field of a workload becomes."""


def _check(checked: Stream | Workload, jobs: Sequence[JobReader], where: str) -> None:
    """Raises MalformedInput, with section and line, for what is read from these jobs and cannot be run."""
    try:
        if isinstance(checked, Stream):
            checked.check("the job", None)
        else:
            checked.check()
    except ConfigError as error:
        path = error.where.rpartition(".")[2]
        names = next((names for part, names in _SAID_BY.items() if path.endswith(part)), ())
        found = [job.options[name] for job in jobs for name in names if name in job.options]
        expected = f"{error.expected} for {found[0].name}" if found else error.expected
        place = found[0].where if found else f"[{jobs[0].name}], {error.where}"
        raise MalformedInput(expected, error.found, where=f"{where}, {place}", hint=error.hint) from error


def _common(values: Sequence[_Value], default: _Value, what: str, losses: LossList) -> _Value:
    """The value that jobs share; the first, said, when they differ."""
    if len(set(values)) > 1:
        losses.approximated("jobs", what, "there is one for all; the first job's is taken")
    return values[0] if values else default


def _length(values: Sequence[int | None], what: str, losses: LossList) -> int | None:
    """The length that jobs share; the first that is given, said, when they differ or some have none."""
    given = next((value for value in values if value is not None), None)
    if given is not None and len(set(values)) > 1:
        reason = f"there is one for all; the first that is given, {format_instant(given)}, is taken"
        losses.approximated("jobs", f"{what} of its own", reason)
    return given


def _verification(jobs: Sequence[JobReader], losses: LossList) -> Verification:
    """Stamps if all jobs that read ask for a check: one of other reads would end the run at what another tool wrote."""
    asking = [job for job in jobs if job.verifies]
    unchecked = next((job for job in jobs if job.reads and not job.verifies), None)
    for job in asking:
        if unchecked is None:
            job.note_verification()
        else:
            option = job.options[job.verified_by]
            reason = f"reads are checked in all jobs that run together or in none, and [{unchecked.name}] asks for none"
            losses.lost(option.where, option.text, reason)
    return Verification.STAMPS if asking and unchecked is None else Verification.NONE


def _checked(job: JobReader, targets: JobTargets) -> list[Stream]:
    streams = job.streams(targets.of(job))
    for stream in streams:
        _check(stream, [job], job.where)
    return streams


def _streams(jobs: Sequence[JobReader], targets: JobTargets, losses: LossList) -> list[Stream]:
    """One stream a job, or one for all jobs that are tied by flow and differ only in their lines."""
    streams = [stream for job in jobs for stream in _checked(job, targets)]
    if len(jobs) == 1:
        return streams
    first = streams[0]
    depth = sum(stream.load.outstanding for stream in streams if isinstance(stream.load, Closed))
    flushes = {stream.flush for stream in streams if stream.access.writes}
    flush = next(iter(flushes), None)
    alike = len(flushes) <= 1 and all(
        isinstance(stream.load, Closed) and replace(stream, name="", access=first.access, load=first.load, flush=flush)
        == replace(first, name="", flush=flush)
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
    return [replace(first, name=_PART.sub("", first.name), access=Mix(tuple(lines)), load=Closed(depth), flush=flush)]
