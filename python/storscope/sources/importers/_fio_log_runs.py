"""Jobs of fio's logs as runs: which logs are one job, and the intervals and distributions they tell."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.importer import ImportOptions
from storscope.sources.importers import _fio
from storscope.sources.importers._fio import Direction
from storscope.sources.importers._fio_log_averages import USUAL_MS, Stretch
from storscope.sources.importers._fio_log_jobs import LoggedJob
from storscope.sources.importers._fio_log_rows import HISTOGRAM, LogName, bins_of, entries_of, log_name

_UNNAMED: Final = "fio"
_LEAST_IN_FLIGHT: Final = 0.05
"""Fewer I/Os in flight than this, by the rate and a latency in ns, make a unit of us likelier (ours)."""
_LONGEST_MS: Final = 4e12

Key = tuple[str, int | None, str | None]
"""What the logs of one job have in common: its name, its number and its host."""


# Reading ---------------------------------------------------------------------------------------------------------


def width_ms(options: ImportOptions) -> float:
    """The interval into which single I/Os are put."""
    return options.interval_s * units.NS_PER_S / units.NS_PER_MS if options.interval_s else USUAL_MS


def logs_in(lines: Iterable[str], name: str) -> Iterator[tuple[str, Iterator[str]]]:
    """The name and the lines of each log: of a file itself, or of those that were put together in it."""

    def begins(line: str) -> str:
        nonlocal name
        if line.startswith("# "):
            name = line.removeprefix("# ").strip()
        return name

    for found, of_its in itertools.groupby(lines, begins):
        yield found, (line for line in of_its if line.strip() and not line.startswith("# "))


def jobs_of(
    logs: Iterable[tuple[str, Iterator[str]]], single_ms: float, recorder: Recorder
) -> tuple[dict[Key, LoggedJob], int]:
    """The jobs of some logs that say anything, and how many lines are of logs whose name says nothing.

    Single I/Os are put into intervals of `single_ms`.
    """
    jobs: dict[Key, LoggedJob] = {}
    nameless = 0
    for name, lines in logs:
        named = log_name(name)
        if named is None:
            nameless += sum(1 for _ in lines)
            continue
        key = named.test or _UNNAMED, named.job, named.host
        read_log(named, lines, jobs.setdefault(key, LoggedJob(single_ms)), recorder)
    recorder.omit("lines of logs whose name says not what they measure", nameless)
    return {key: job for key, job in jobs.items() if job.first_ms is not None and job.last_ms < _LONGEST_MS}, nameless


def read_log(named: LogName, lines: Iterator[str], job: LoggedJob, recorder: Recorder) -> None:
    """Adds what one log tells of a job."""
    if named.kind == HISTOGRAM:
        for bins in bins_of(lines, recorder):
            job.add_bins(bins)
        return
    for entries in entries_of(lines, recorder):
        job.add(named.kind, entries)


# Writing ---------------------------------------------------------------------------------------------------------


def record_jobs(recorder: Recorder, options: ImportOptions, names: _fio.Names, jobs: Mapping[Key, LoggedJob]) -> None:
    """A run of each job, with its intervals and distributions."""
    _note_names(recorder, jobs)
    for key, label in zip(jobs, _labels(list(jobs)), strict=True):
        _record(recorder, options, names, jobs[key], EntityRef(_fio.system_of(options, key[2]), "job", label))


def record_intervals(
    recorder: Recorder,
    entity: EntityRef,
    job: LoggedJob,
    stretches: Sequence[Stretch],
    first_ns: int,
    ns_of_unit: float,
    run: str,
) -> None:
    """The observations of a job's intervals, and its distributions, in a run; `first_ns` is when its times are 0."""
    for stretch in stretches:
        _observe(recorder, entity, stretch, first_ns, ns_of_unit, run)
    for begin_ms, end_ms, name, kind, buckets in job.distributions():
        begin = first_ns + _fio.instant_ns(begin_ms)
        recorder.histogram(entity, begin, first_ns + _fio.instant_ns(end_ms) - begin, name, kind, buckets, run=run)


def omit_rests(recorder: Recorder, job: LoggedJob) -> None:
    """Counts the entries that are in no interval."""
    recorder.omit("bandwidths of single I/Os, which follow from size and latency", job.bandwidths)
    recorder.omit("latencies behind the last interval with a rate", job.unrated)
    recorder.omit("entries behind the last interval, of its instant", job.rests)


def _labels(keys: list[Key]) -> list[str]:
    """What each job is called: its name, with its number where there are several of that name."""
    several = {key: sum(key[0] == other[0] and key[2] == other[2] for other in keys) > 1 for key in keys}
    return [f"{test} #{job}" if job is not None and several[test, job, host] else test for test, job, host in keys]


def _note_names(recorder: Recorder, jobs: Mapping[Key, LoggedJob]) -> None:
    """Says where logs of one number have unlike names and unlike things: fio numbers the jobs of one run."""
    numbered: dict[tuple[int | None, str | None], list[Key]] = {}
    for key in jobs:
        numbered.setdefault(key[1:], []).append(key)
    for (number, _), keys in numbered.items():
        kinds = [kind for key in keys for kind in jobs[key].kinds]
        if number is None or len(keys) < 2 or len(kinds) > len(set(kinds)):
            continue
        names = ", ".join(repr(name) for name, _, _ in keys)
        recorder.warn(
            f"Logs of number {number} have the names {names} and nothing in common. They are taken as jobs of their "
            "own; if one job wrote them, give the files one name (NAME_lat.1.log, NAME_iops.1.log), so that its "
            "latencies go with its rates."
        )


def _record(recorder: Recorder, options: ImportOptions, names: _fio.Names, job: LoggedJob, entity: EntityRef) -> None:
    start = options.start or dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    placed = start if start.tzinfo else start.replace(tzinfo=options.zone())
    first_ns = 0 if job.is_moment else units.ns_from_datetime(placed)
    stretches = job.stretches()
    omit_rests(recorder, job)
    if not stretches:
        return
    if job.sharing > 1:
        recorder.warn(f"{entity.name}: {job.sharing} jobs wrote into one log (per_job_logs=0). Their rates are added; "
                      "a mean latency is that of their means, each counted alike.")  # fmt: skip
    ns_of_unit = _ns_of_unit(recorder, job, stretches, entity.name)
    begin_ns = first_ns + _fio.instant_ns(stretches[0].begin_ms)
    reads, writes = (sum(_ops(stretch, name) for stretch in stretches) for name in ("read", "write"))
    run = recorder.run(
        names.run(entity.name), engine="fio", name=entity.name, system=entity.system, time_ns=begin_ns,
        duration_ns=first_ns + _fio.instant_ns(stretches[-1].end_ms) - begin_ns, block_bytes=job.block_bytes,
        read_ratio=reads / (reads + writes) if reads + writes else None, status="ok",
    )  # fmt: skip
    if (measure := job.measure()) is not None and measure != "lat":
        recorder.warn(f"{entity.name}: no log of the total latency (lat); that of completion (clat) is taken, without "
                      "the time of submission.")  # fmt: skip
    record_intervals(recorder, entity, job, stretches, first_ns, ns_of_unit, run)


def _ops(stretch: Stretch, name: str) -> float:
    return stretch.done[name].ops or 0.0 if name in stretch.done else 0.0


def _ns_of_unit(recorder: Recorder, job: LoggedJob, stretches: list[Stretch], label: str) -> float:
    """ns in the unit of latencies: since fio 3.0 ns, before us."""
    if job.unit == "us":
        return float(units.NS_PER_US)
    in_flight = [
        (part.ops or 0.0) * (part.latency_ns_mean or 0.0) / ((stretch.end_ms - stretch.begin_ms) * units.NS_PER_MS)
        for stretch in stretches
        for part in stretch.done.values()
        if part.ops and part.latency_ns_mean
    ]
    if in_flight and not job.has_offsets and max(in_flight) < _LEAST_IN_FLIGHT:
        recorder.warn(
            f"{label}: latencies are taken as ns. If they are of fio before 3.0, which wrote us, they are 1,000 times "
            f"as long: at most {max(in_flight):.2g} I/Os would have been in flight."
        )
    return 1.0


def _observe(
    recorder: Recorder, entity: EntityRef, stretch: Stretch, first_ns: int, ns_of_unit: float, run: str
) -> None:
    begin_ns = first_ns + _fio.instant_ns(stretch.begin_ms)
    length_ns = first_ns + _fio.instant_ns(stretch.end_ms) - begin_ns
    done = _with_idle({name: part.in_ns(ns_of_unit) for name, part in stretch.done.items()})
    _fio.observe_directions(recorder, entity, begin_ns, length_ns, done, run=run)
    means = (((f"{name}.{kind}.mean", "ns"), value * ns_of_unit) for (name, kind), value in stretch.means.items())
    recorder.counters(entity, begin_ns, length_ns, means, run=run)


def _with_idle(done: Mapping[str, Direction]) -> dict[str, Direction]:
    """With reads, or writes, without any entry as 0 of what the others tell: fio logs whatever it does.

    A job that only reads would otherwise have no total rate, and so neither IOPS nor a latency weighted by them.
    """
    idle = Direction(
        ops=0.0 if any(part.ops is not None for part in done.values()) else None,
        size_bytes=0.0 if any(part.size_bytes is not None for part in done.values()) else None,
    )
    return {"read": idle, "write": idle, **done}
