"""fio's JSON and json+ output (--output-format=json, json+), fio 2.1 to 3.42.

Supports several documents in one file, text before and between them, client/server results, trims, syncs, unified
reporting, steady state and latency targets. Each job (or group of jobs, with group_reporting) becomes a run with one
observation. The documents of --status-interval are cumulative: they are differenced, so that each becomes the
observation of its interval and the run as a whole is the last one's. A document continues the one before it when it is
of the same fio process: same jobs and options, no counter smaller, and its clock as far on as its elapsed time. Logs
that its options name and that stand behind it tell the intervals of a run (see `_fio_beside.py`).

Beware: `io_bytes` is in KiB up to 2.20; times are in µs before 3.0; the entry 'All clients' repeats the others and its
latencies are wrong before 3.39 (issues #1918 and #1881 of fio), so it is left out. Before 2.2.5 there is no time.
Trims and syncs count among the operations and their mean latency; what is trimmed is no data moved, and a counter. With
unified reporting fio's bytes contain it, and cannot be told from the rest.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.fio_buckets import bucket_from_value
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers import _fio
from storscope.sources.importers._fio import number
from storscope.sources.importers._fio_beside import Log, Namer, logs_named_by, parted, record_beside, shared_out
from storscope.sources.importers._fio_documents import Documents, find_documents
from storscope.sources.importers._fio_json_counters import record_direction, record_job_counters
from storscope.sources.importers._fio_log_runs import jobs_of, record_jobs, width_ms
from storscope.sources.importers._fio_results import (
    ALL_CLIENTS,
    TIMED,
    Document,
    Job,
    busy_ms,
    mapping,
    processes,
)

_MOST_COMPLAINTS = 5
_FIO_KEYS = re.compile(r'"fio version"\s*:\s*"fio-|"iodepth_level"\s*:\s*\{')
"""What only fio calls so; the second for a head that ends before the version."""


# Reading ---------------------------------------------------------------------------------------------------------


def _recognise(head: Head) -> float:
    text = head.text
    if re.search(r'(?:^|\A\s*\[\s*)\{\s*"fio version"\s*:', text, re.MULTILINE):
        return 0.97
    if re.match(r"\s*(?:\[\s*)?\{", text) and _FIO_KEYS.search(text):
        return 0.96  # written anew with its keys sorted (jq -S), so that the version stands further down
    if re.search(r"^\{", text, re.MULTILINE) is None and "groupid=" not in text:
        # fio failed before any result; only so is the failure itself shown to the user.
        return (
            0.6
            if re.search(r"^(?:fio: (?:pid=|failed|.*\berr=)|.*\bverify(?:: bad| failed at file))", text, re.MULTILINE)
            else 0.0
        )
    return 0.0


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    text, logs = parted(evidence.text())
    found = find_documents(evidence, text)
    documents = [_checked(evidence, Document(raw)) for raw in found.values]
    _note(recorder, options, documents, found)
    names = _fio.Names()
    ends_ms = _ends(recorder, options, documents)
    by_process = processes(documents)
    of_each, rest = _shared_out(recorder, by_process, logs)
    for states in by_process:
        timed = [(document, ends_ms[id(document)]) for document in states]
        rest += _record_process(recorder, options, names, timed, of_each)
    if rest:
        jobs, _ = jobs_of(((log.path, iter(log.text.splitlines())) for log in rest), width_ms(options), recorder)
        record_jobs(recorder, options, names, jobs)


def _shared_out(
    recorder: Recorder, by_process: Sequence[Sequence[Document]], logs: Sequence[Log]
) -> tuple[list[list[Log]], list[Log]]:
    """The logs of each job of the one process there is, and those that are of none."""
    if logs and len(by_process) > 1:
        recorder.warn(f"{len(by_process)} results are in the JSON. Its logs may be of any: they are runs of their own.")
    if not logs or len(by_process) > 1:
        return [], list(logs)
    last = by_process[0][-1]
    are_known = not last.empty_entries
    namers = [
        Namer(str(job.raw.get("jobname") or ""), job.options, _workers(recorder, job) if are_known else None)
        for job in last.jobs
    ]
    return shared_out(namers, logs)


def _checked(evidence: Evidence, document: Document) -> Document:
    key = "jobs" if "jobs" in document.raw else "client_stats"
    entries = document.raw.get(key)
    if not isinstance(entries, list):
        raise broken(evidence, f"{key}[] in the document of fio", f"{type(entries).__name__}")
    return document


def _note(recorder: Recorder, options: ImportOptions, documents: Sequence[Document], found: Documents) -> None:
    recorder.notes.tool, recorder.notes.tool_version = "fio", documents[0].version
    recorder.notes.system = _fio.system_of(options, documents[0].jobs[0].host if documents[0].jobs else None)
    for complaint in found.complaints[:_MOST_COMPLAINTS]:
        recorder.warn(f"fio said: {complaint[:200]}")
    recorder.omit("lines of text beside the JSON", found.other_lines)
    recorder.omit("complaints of fio beyond the first five", max(0, len(found.complaints) - _MOST_COMPLAINTS))
    recorder.omit("values printed as nan or inf", found.not_numbers)
    if found.cut:
        count = "A JSON document is" if found.cut == 1 else f"{found.cut} JSON documents are"
        recorder.warn(f"{count} unfinished or damaged (fio was interrupted or still running); not read.")
        recorder.omit("unfinished documents", found.cut)
    for document in documents:
        entries = len(document.all_entries) - document.empty_entries
        recorder.omit("'All clients', the sum of the other entries", entries - len(document.jobs))
        recorder.omit("entries without a job, whose place fio merged into another", document.empty_entries)
        if any(entry.get("jobname") == ALL_CLIENTS for entry in map(_raw, document.jobs)):
            recorder.warn("Only 'All clients' is there; before fio 3.39 its latencies were wrong or missing.")


def _raw(job: Job) -> Mapping[str, Any]:
    return job.raw


def _ends(recorder: Recorder, options: ImportOptions, documents: Sequence[Document]) -> dict[int, float]:
    """When each document was written, in ms since 1970. Documents without a time follow one another from --start."""
    if all(document.end_ms is not None for document in documents):
        recorder.notes.clock = "UTC in the file (timestamp minus runtime)"
        return {id(document): document.end_ms or 0.0 for document in documents}
    start = options.start or dt.datetime(1970, 1, 1)
    placed = start if start.tzinfo else start.replace(tzinfo=options.zone())
    first_ms = units.ns_from_datetime(placed) / units.NS_PER_MS
    recorder.notes.has_times = options.start is not None
    placed_by = "runs follow one another from --start" if options.start else "set --start to place them"
    recorder.notes.clock = f"no times in the source (fio before 2.2.5); {placed_by}"
    ends: dict[int, float] = {}
    for states in processes(documents):
        for document in states:
            ends[id(document)] = first_ms + busy_ms(document)
        first_ms += busy_ms(states[-1])
    return ends


def _record_process(
    recorder: Recorder,
    options: ImportOptions,
    names: _fio.Names,
    states: Sequence[tuple[Document, float]],
    logs: Sequence[Sequence[Log]],
) -> list[Log]:
    """Records the jobs of a process, with the logs of each; returns those that cannot stand for theirs."""
    last, end_ms = states[-1]
    group_ends = _fio.phase_ends_ms(end_ms, [(job.group, job.runtime_ms) for job in last.jobs], last.elapsed_s)
    starts: list[float] = []
    unused: list[Log] = []
    for index, job in enumerate(last.jobs):
        started = _fio.epoch_ms(job.raw.get("job_start"))
        start_ms = started if started is not None else group_ends[job.group] - job.runtime_ms
        starts.append(start_ms)
        history = [document.jobs[index] for document, _ in states]
        of_job = logs[index] if logs else ()
        if not _record_job(recorder, options, names, history, _fio.instant_ns(start_ms), of_job):
            unused += of_job
    _record_disks(recorder, options, last, _fio.instant_ns(min(starts, default=end_ms)), end_ms)
    recorder.omit("disk_util of earlier status documents", sum(len(_disks(document)) for document, _ in states[:-1]))
    return unused


# Writing ---------------------------------------------------------------------------------------------------------


def _record_job(
    recorder: Recorder,
    options: ImportOptions,
    names: _fio.Names,
    history: Sequence[Job],
    start_ns: int,
    logs: Sequence[Log],
) -> bool:
    """Records what a job did, by its logs if it has some; False where these cannot stand for it."""
    job = history[-1]
    system = _fio.system_of(options, job.host)
    entity = EntityRef(system, "job", job.name)
    asked, workers = _fio.configured(job.options, job.directions), _workers(recorder, job)
    _note_other_mix(recorder, job, asked)
    if workers is None:
        asked = _fio.Configured()  # the options, if any, are those of one section among several
    depth = _depth(job, asked)
    duration_ns = round(job.runtime_ms * units.NS_PER_MS)
    run = recorder.run(
        names.run(job.name), engine="fio", engine_version=job.document.version, name=job.name, system=system,
        time_ns=start_ns, duration_ns=duration_ns, block_bytes=asked.block_bytes, read_ratio=asked.read_ratio,
        random_ratio=asked.random_ratio, workers=workers,
        outstanding=None if depth is None or workers is None else depth * workers,
        seed=job.options.get("randseed"), status=_fio.status_words(number(job.raw.get("error"))),
        parameters=job.options,
    )  # fmt: skip
    little = _fio.little_done(job.name, job.directions.values(), job.runtime_ms, job.options)
    if little and not number(job.raw.get("error")):
        recorder.warn(little)
    told = record_beside(recorder, options, entity, job, logs, start_ns, run) if logs else None
    if told is None:
        _record_intervals(recorder, entity, history, start_ns, run)
    else:
        _record_distributions(recorder, entity, job, (start_ns, duration_ns), run, told)
    for name, section in job.sections().items():
        record_direction(recorder, entity, job, name, section, (start_ns, duration_ns), run)
    record_job_counters(recorder, entity, job, (start_ns, duration_ns), run)
    return told is not None


def _note_other_mix(recorder: Recorder, job: Job, asked: _fio.Configured) -> None:
    option = _fio.configured(job.options).read_ratio
    if option is not None and asked.read_ratio is not None and asked.read_ratio != option:
        done, wanted = units.format_ratio(asked.read_ratio), units.format_ratio(option)
        recorder.warn(
            f"{job.raw.get('jobname') or job.name}: {done} of its I/Os were reads, and {wanted} were asked for "
            "(rwmixread); a rate for each direction does this. The run is taken by what was done."
        )


def _workers(recorder: Recorder, job: Job) -> float | None:
    """How many processes the entry sums over: numjobs when it stands for all of them, 1 when each has its own.

    `job_runtime` (3.8 and later) is the sum of their runtimes; where it is too great for numjobs, group_reporting
    merged jobs of different sections, of which only one's options are shown.
    """
    if not job.options:
        return None
    jobs = _fio.configured(job.options).jobs
    siblings = [other for other in job.document.jobs if _same_section(other, job)]
    expected = jobs if len(siblings) < jobs else 1
    together = number(job.raw.get("job_runtime"))
    if together and job.runtime_ms and together / job.runtime_ms > expected + 0.5:
        recorder.warn(
            f"{job.name}: the result sums over about {together / job.runtime_ms:.0f} processes but the options shown "
            f"ask for {expected}; group_reporting merged several jobs, so the I/Os in flight are unknown."
        )
        return None
    return float(expected)


def _same_section(one: Job, other: Job) -> bool:
    return (one.host, one.group, one.raw.get("jobname")) == (other.host, other.group, other.raw.get("jobname"))


def _depth(job: Job, asked: _fio.Configured) -> float | None:
    """I/Os in flight a process: `latency_depth` (the depth that met a latency target, else iodepth), or the option."""
    if job.options.get("ioengine", "").split(":")[0] in _fio.SYNCHRONOUS_ENGINES:
        return 1.0
    if "ioengine" not in job.options and job.options and _never_queued(job):
        return 1.0  # the default engine is a synchronous one, but not on every system
    return number(job.raw.get("latency_depth")) or asked.depth


def _never_queued(job: Job) -> bool:
    levels = {key: number(value) for key, value in mapping(job.raw.get("iodepth_level")).items()}
    return bool(levels.get("1")) and not any(value for key, value in levels.items() if key != "1")


def _record_intervals(recorder: Recorder, entity: EntityRef, history: Sequence[Job], start_ns: int, run: str) -> None:
    """One observation, and histograms where there are bins, for each state that got further than the one before."""
    before: Job | None = None
    for index, begin_ns, length_ns, added in _fio.intervals([job.directions for job in history], start_ns):
        job = history[index]
        _fio.observe_directions(recorder, entity, begin_ns, length_ns, added, run=run)
        for name, measure in itertools.product(job.directions, TIMED):
            buckets = _added_buckets(job, before, name, measure)
            recorder.histogram(entity, begin_ns, length_ns, name, measure, buckets, run=run)
        before = job


def _record_distributions(
    recorder: Recorder, entity: EntityRef, job: Job, when: tuple[int, int], run: str, told: Collection[tuple[str, str]]
) -> None:
    """Those of the whole run, where its intervals have none (`told`: direction and measure of those that have)."""
    for name, measure in itertools.product(job.directions, TIMED):
        if (name, measure) not in told:
            recorder.histogram(entity, *when, name, measure, _added_buckets(job, None, name, measure), run=run)


def _added_buckets(job: Job, before: Job | None, name: str, measure: str) -> list[tuple[float, float, int]]:
    """The bins that grew after `before`, by how much."""
    counts = job.bins(name, measure)
    if before is not None:
        counts.subtract(before.bins(name, measure))
    greatest = number(job.timed(job.sections()[name], measure).get("max"))
    greatest_ns = None if greatest is None else greatest * job.ns_of_unit
    return [
        (*bucket_from_value(value, job.unit, greatest_ns), count)
        for value, count in sorted(counts.items())
        if count > 0
    ]


def _disks(document: Document) -> list[Mapping[str, Any]]:
    listed = document.raw.get("disk_util")
    return [disk for disk in listed if isinstance(disk, dict)] if isinstance(listed, list) else []


def _record_disks(
    recorder: Recorder,
    options: ImportOptions,
    document: Document,
    start_ns: int,
    end_ms: float,
) -> None:
    """Totals of the block devices beneath, over all jobs."""
    duration_ns = max(0, _fio.instant_ns(end_ms) - start_ns)
    devices: list[EntityRef] = []
    for disk in _disks(document):
        host = disk.get("hostname")
        system = _fio.system_of(options, host if isinstance(host, str) else None)
        devices.append(EntityRef(system, "device", str(disk.get("name") or "unnamed")))
        totals = {name: number(disk.get(name)) for name in _fio.DISK_TOTALS}
        _fio.record_disk(recorder, devices[-1], start_ns, duration_ns, totals)
    for job in document.jobs:
        entity = EntityRef(_fio.system_of(options, job.host), "job", job.name)
        _fio.link_to_disks(recorder, entity, devices, job.options.get("filename"))


IMPORTER = Importer(
    name="fio_json",
    title="fio JSON and json+ results",
    supports="fio 2.1 to 3.42, client/server and --status-interval included; captured with 3.33",
    how_to_capture="fio --output-format=json+ --output=result.json job.fio",
    recognise=_recognise,
    read=_read,
    beside=logs_named_by,
    version=2,
    carries=(
        "runs with outstanding, block size, read and random ratio", "read_ops_per_s", "write_ops_per_s",
        "read_bytes_per_s", "write_bytes_per_s", "read_latency_ns_mean", "write_latency_ns_mean", "latency_ns_max",
        "histograms from json+ bins", "percentiles, CPU, depth shares, steady state as counters",
        "busy_ratio and latency of the block devices",
    ),
    not_yet={
        "prios": "statistics by I/O priority; none of our jobs sets one",
        "rates of disk_util": "fio does not print how long it watched the devices; totals are kept as counters",
    },
    never={
        "single intervals without --status-interval": "a result is one sum; import the folder with its logs too "
        "(--write_lat_log=NAME --write_iops_log=NAME --log_avg_msec=1000)",
    },
)  # fmt: skip
