"""fio's logs (--write_lat_log, --write_bw_log, --write_iops_log, --write_hist_log), fio 2.x to 3.42.

What is measured stands in the name of a file alone, and each file has one thing: so the logs of a folder are read
together, and those of one name and number are one job, which becomes a run. With log_avg_msec the entries of a time are
an interval; logs of single I/Os are put into intervals of a second (--interval), with their distribution. The latency
is the total one (`lat`); where only `clat` was logged, that.

Seen in captures of fio 3.x and made by 3.33 and 3.42; log_window_value=both by the manual (unverified).

Beware: times are since the job's beginning, without a date, unless log_unix_epoch was set. With log_max_value averages
are maxima, and nothing in the log says so. Before 3.0 latencies are in us: told by the histograms, else taken as ns and
doubted where next to nothing would have been in flight. fio writes no rate of its last interval. A bandwidth log of
single I/Os has the size of each by its latency, which is no bandwidth: it is left out.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator, Mapping
from typing import Final

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers import _fio
from storscope.sources.importers._fio import Direction
from storscope.sources.importers._fio_log_averages import USUAL_MS, Stretch
from storscope.sources.importers._fio_log_jobs import LoggedJob
from storscope.sources.importers._fio_log_rows import (
    HISTOGRAM,
    LogName,
    bins_of,
    entries_of,
    is_histogram,
    is_log,
    log_name,
)
from storscope.sources.importers._whole_lines import whole_lines

_UNNAMED: Final = "fio"
_NAMES: Final = "a name as fio gives its logs: NAME_lat.1.log, _clat, _slat, _iops, _bw or _clat_hist"
_NAME_HINT: Final = "What a log measures stands in its name alone. Give it that name, or import the JSON of the run."
_LEAST_IN_FLIGHT: Final = 0.05
"""Fewer I/Os in flight than this, by the rate and a latency in ns, make a unit of us likelier (ours)."""
_LONGEST_MS: Final = 4e12

_Key = tuple[str, int | None, str | None]


# Reading ---------------------------------------------------------------------------------------------------------


def _recognise(head: Head) -> float:
    text = head.text
    if text.startswith("# "):  # logs that were put together, each behind its name
        name, _, text = text.partition("\n")
        if log_name(name.removeprefix("# ").strip()) is None:
            return 0.0
    return 0.9 if is_log(text) or is_histogram(text) else 0.0


def _is_part(head: Head) -> bool:
    return _recognise(head) > 0 and log_name(head.name) is not None


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    jobs: dict[_Key, LoggedJob] = {}
    nameless, width_ms = 0, options.interval_s * 1000 if options.interval_s else USUAL_MS
    for name, lines in _logs(evidence, recorder):
        named = log_name(name)
        if named is None:
            nameless += sum(1 for _ in lines)
            continue
        key = named.test or _UNNAMED, named.job, named.host
        _read_log(named, lines, jobs.setdefault(key, LoggedJob(width_ms)), recorder)
    recorder.omit("lines of logs whose name says not what they measure", nameless)
    kept = {key: job for key, job in jobs.items() if job.first_ms is not None and job.last_ms < _LONGEST_MS}
    if not kept:
        if nameless:
            raise broken(evidence, _NAMES, repr(evidence.name.rpartition("/")[2]), hint=_NAME_HINT)
        raise broken(evidence, "entries of a log of fio", "none that can be", hint="The log is cut or damaged.")
    _note(recorder, options, kept)
    _note_names(recorder, kept)
    names = _fio.Names()
    for key, label in zip(kept, _labels(list(kept)), strict=True):
        _record(recorder, options, names, kept[key], EntityRef(_fio.system_of(options, key[2]), "job", label))


def _logs(evidence: Evidence, recorder: Recorder) -> Iterator[tuple[str, Iterator[str]]]:
    """The name and the lines of each log: of the file itself, or of those that were put together in it."""
    name = evidence.name

    def begins(line: str) -> str:
        nonlocal name
        if line.startswith("# "):
            name = line.removeprefix("# ").strip()
        return name

    for found, lines in itertools.groupby(whole_lines(evidence, recorder), begins):
        yield found, (line for line in lines if line.strip() and not line.startswith("# "))


def _read_log(named: LogName, lines: Iterator[str], job: LoggedJob, recorder: Recorder) -> None:
    if named.kind == HISTOGRAM:
        for bins in bins_of(lines, recorder):
            job.add_bins(bins)
        return
    for entries in entries_of(lines, recorder):
        job.add(named.kind, entries)


def _labels(keys: list[_Key]) -> list[str]:
    """What each job is called: its name, with its number where there are several of that name."""
    several = {key: sum(key[0] == other[0] and key[2] == other[2] for other in keys) > 1 for key in keys}
    return [f"{test} #{job}" if job is not None and several[test, job, host] else test for test, job, host in keys]


def _note_names(recorder: Recorder, jobs: Mapping[_Key, LoggedJob]) -> None:
    """Says where logs of one number have unlike names and unlike things: fio numbers the jobs of one run."""
    numbered: dict[tuple[int | None, str | None], list[_Key]] = {}
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


def _note(recorder: Recorder, options: ImportOptions, jobs: dict[_Key, LoggedJob]) -> None:
    notes = recorder.notes
    notes.tool, notes.system = "fio", _fio.system_of(options, next(iter(jobs))[2])
    if all(job.is_moment for job in jobs.values()):
        notes.clock = "UTC in the logs (log_unix_epoch)"
        return
    notes.has_times = options.start is not None
    placed = "they begin at --start" if options.start else "set --start to place them"
    notes.clock = f"times since each job's beginning, without a date; {placed}"


# Writing ---------------------------------------------------------------------------------------------------------


def _record(recorder: Recorder, options: ImportOptions, names: _fio.Names, job: LoggedJob, entity: EntityRef) -> None:
    start = options.start or dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    placed = start if start.tzinfo else start.replace(tzinfo=options.zone())
    first_ns = 0 if job.is_moment else units.ns_from_datetime(placed)
    stretches = job.stretches()
    recorder.omit("bandwidths of single I/Os, which follow from size and latency", job.bandwidths)
    recorder.omit("latencies behind the last interval with a rate", job.unrated)
    recorder.omit("entries behind the last interval, of its instant", job.rests)
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
    for stretch in stretches:
        _observe(recorder, entity, stretch, first_ns, ns_of_unit, run)
    for begin_ms, end_ms, name, kind, buckets in job.distributions():
        begin = first_ns + _fio.instant_ns(begin_ms)
        recorder.histogram(entity, begin, first_ns + _fio.instant_ns(end_ms) - begin, name, kind, buckets, run=run)


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


IMPORTER = Importer(
    name="fio_log",
    title="fio's logs of latency, bandwidth, IOPS and histograms",
    supports="fio 3.x, averaged (log_avg_msec) or of single I/Os, histograms at any log_hist_coarseness; 2.x where "
    "histograms tell its unit",
    how_to_capture="fio --write_lat_log=NAME --write_bw_log=NAME --write_iops_log=NAME --write_hist_log=NAME "
    "--log_avg_msec=1000 --log_hist_msec=1000 job.fio, and import the folder with the logs",
    recognise=_recognise,
    read=_read,
    is_part=_is_part,
    carries=(
        "read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "read_latency_ns_mean",
        "write_latency_ns_mean", "latency_ns_max", "runs", "histograms",
    ),
    not_yet={
        "offsets, priorities and instants of issue": "no table has single I/Os",
        "log_store_compressed (.fz)": "fio --inflate-log=FILE makes text of it",
    },
    never={
        "options of the job": "logs do not have them; the JSON does",
        "a date": "only with log_unix_epoch (log_alternate_epoch)",
    },
)  # fmt: skip
