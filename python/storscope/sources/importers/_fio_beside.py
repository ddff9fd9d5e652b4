"""fio's logs beside its JSON: which log is of which job, and whether it is of the same run.

A job's options name its logs: `write_lat_log=NAME` makes NAME_lat.N.log and the like, of the job's name where none is
given. N counts the processes of all jobs from 1, in the order of the jobs (tried with fio 3.33). Logs know no options
and no date, the JSON no intervals: together they are one run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._fio_log_averages import Stretch
from storscope.sources.importers._fio_log_jobs import LoggedJob
from storscope.sources.importers._fio_log_rows import HISTOGRAM, LogName, log_name
from storscope.sources.importers._fio_log_runs import omit_rests, read_log, record_intervals, width_ms
from storscope.sources.importers._fio_results import Job

_OPTION_OF: Final = {"lat": "lat", "clat": "lat", "slat": "lat", "iops": "iops", "bw": "bw", HISTOGRAM: "hist"}
_NAMED: Final = re.compile(r'"write_(?:lat|iops|bw|hist)_log"\s*:\s*"((?:[^"\\]|\\.)*)"')
_JOB_NAMED: Final = re.compile(r'"jobname"\s*:\s*"((?:[^"\\]|\\.)*)"')
_SECTION: Final = re.compile(r"^# (.*\.log(?:\.[^/\n]+)?)$", re.MULTILINE)
_MOST_JSON_BYTES: Final = 256 * 1024**2
_COUNTED: Final = 0.05
"""Share of a job's I/Os by which its logs may tell another number (ours): averaged rates are whole numbers."""
_SURGE: Final = 3.0
"""How many times the mean rate may have been done in what the logs do not cover, the last interval (ours)."""
_CLOCK_MS: Final = 1500.0
"""When a job began is told by its end in whole seconds, at worst (ours)."""


@dataclass(frozen=True)
class Log:
    """One log: as its file was called, what that says, and its text."""

    path: str
    named: LogName
    text: str


@dataclass(frozen=True)
class Namer:
    """What names logs: the options of one entry of the JSON, and how many processes it sums up, if that is known."""

    name: str
    options: Mapping[str, str]
    processes: float | None


def logs_named_by(evidence: Evidence) -> Callable[[str], bool] | None:
    """Whether a file of this name was named as a log by the options in a JSON; None of one that names none.

    A log may stand beside it, or in a folder below as the option says.
    """
    if evidence.size_bytes > _MOST_JSON_BYTES or (found := set(_NAMED.findall(text := evidence.text()))) == set():
        return None
    paths = [*(found - {""}), *(_JOB_NAMED.findall(text) if "" in found else ())]
    wanted = {(_folder_of(path), path.rpartition("/")[2]) for path in paths}

    def is_named(name: str) -> bool:
        folder, said = _folder_of(name), log_name(name)
        return said is not None and any(
            said.test == prefix and (not folder or f"/{named}".endswith(f"/{folder}")) for named, prefix in wanted
        )

    return is_named


def _folder_of(path: str) -> str:
    folder = path.rpartition("/")[0]
    return f"{folder}/" if folder else ""


def parted(text: str) -> tuple[str, list[Log]]:
    """What stands before the logs that were put behind a JSON, and these."""
    heads = [(found, named) for found in _SECTION.finditer(text) if (named := log_name(found[1])) is not None]
    ends = [*(found.start() for found, _ in heads[1:]), len(text)][: len(heads)]
    logs = [Log(found[1], named, text[found.end() + 1 : end]) for (found, named), end in zip(heads, ends, strict=True)]
    return text[: heads[0][0].start()] if heads else text, logs


def shared_out(namers: Sequence[Namer], logs: Sequence[Log]) -> tuple[list[list[Log]], list[Log]]:
    """The logs of each entry, and those that are of none, or may be of several."""
    of_each: list[list[Log]] = [[] for _ in namers]
    rest = []
    for log in logs:
        able = [place for place in range(len(namers)) if _may_name(namers, place, log.named)]
        if len(able) == 1:
            of_each[able[0]].append(log)
        else:
            rest.append(log)
    return of_each, rest


def _may_name(namers: Sequence[Namer], place: int, named: LogName) -> bool:
    namer = namers[place]
    option = namer.options.get(f"write_{_OPTION_OF[named.kind]}_log")
    if option is None or named.host is not None or (option or namer.name).rpartition("/")[2] != named.test:
        return False
    if named.job is None:
        return True
    widths = [one.processes for one in namers[: place + 1]]
    least_before = sum(width or 1 for width in widths[:-1])
    return least_before < named.job and (None in widths or named.job <= sum(width or 0 for width in widths))


# Whether they are of one run ------------------------------------------------------------------------------------------


def record_beside(
    recorder: Recorder,
    options: ImportOptions,
    entity: EntityRef,
    job: Job,
    logs: Sequence[Log],
    start_ns: int,
    run: str,
) -> set[tuple[str, str]] | None:
    """Records the intervals that logs tell of a job, in its run.

    Returns the (direction, measure) of which they have distributions; None, and says why, where they cannot stand for
    it: then nothing was recorded.
    """
    logged = LoggedJob(width_ms(options))
    for log in logs:
        read_log(log.named, iter(log.text.splitlines()), logged, recorder)
    stretches = _shared(logged) if logged.first_ms is not None else []
    begin_ms = start_ns / units.NS_PER_MS if logged.is_moment else 0.0
    why = _why_not_one(job, begin_ms, stretches)
    if why is not None:
        recorder.warn(f"{job.name}: its logs are taken as a run of their own: {why}.")
        return None
    omit_rests(recorder, logged)
    first_ns = 0 if logged.is_moment else start_ns
    record_intervals(recorder, entity, logged, stretches, first_ns, job.ns_of_unit, run)
    return {(name, kind) for _, _, name, kind, _ in logged.distributions()}


def _shared(logged: LoggedJob) -> list[Stretch]:
    """The intervals of which all processes of a job tell what they did; of the last fio logs those of some alone."""
    stretches = logged.stretches()
    if logged.sharing < 2 or logged.shared_until_ms is None:
        return stretches
    until_ms = logged.shared_until_ms
    return [one for one in stretches if (one.begin_ms + one.end_ms) / 2 < until_ms]


def _why_not_one(job: Job, begin_ms: float, stretches: Sequence[Stretch]) -> str | None:
    """Why the intervals of logs cannot stand for a job that began at a time; None if they can.

    They can if they are of its time, and tell how many reads and writes there were, about as many as it did, and how
    long these took.
    """
    if job.options.get("log_max_value", "0") != "0" or job.options.get("log_window_value", "avg") == "max":
        return "their latencies are the greatest of each interval (log_max_value)"
    if not stretches or not job.runtime_ms:
        return "they have no interval" if job.runtime_ms else "it did not run"
    runtime_ms, slack_ms = job.runtime_ms, _CLOCK_MS + stretches[0].end_ms - stretches[0].begin_ms
    if stretches[0].begin_ms < begin_ms - slack_ms or stretches[-1].end_ms > begin_ms + runtime_ms + slack_ms:
        return "they are not of its time"
    unlogged = _SURGE * max(0.0, 1.0 - sum(stretch.end_ms - stretch.begin_ms for stretch in stretches) / runtime_ms)
    for name, done in job.directions.items():
        parts = [stretch.done[name] for stretch in stretches if name in stretch.done]
        logged = sum(part.ops or 0.0 for part in parts)
        if not done.ops:
            continue
        if not logged or not any(part.latency_ns_mean for part in parts):
            return f"they do not tell rate and latency of every {name}"
        if not (1 - _COUNTED - unlogged) * done.ops <= logged <= (1 + _COUNTED) * done.ops:
            return f"they tell {logged:,.0f} {name}s, and it did {done.ops:,.0f}"
    return None
