"""fio's JSON results as values: what each job of a document did, and which documents belong to one fio process.

Field names and units as in fio's `stat.c` (show_thread_status_json) of 2.1 to 3.42; see fio_json.py for the traps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from storscope.domain import units
from storscope.domain.fio_buckets import value_from_index
from storscope.sources.importers import _fio
from storscope.sources.importers._fio import Direction, number

_MOST_COUNTS = 2**62
ALL_CLIENTS = "All clients"
_NO_GROUP = 2**32 - 1
"""-1, as fio prints it."""
TIMED = ("slat", "clat", "lat")
"""Times of an I/O: submission, completion, and both together."""
_SAME_PROCESS_CLOCK_S = 1.6
"""`elapsed` is cut to whole seconds; two documents of one process agree within this."""


# A job as it stands in a document --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """One entry of jobs[] or client_stats[], with what its document says."""

    raw: Mapping[str, Any]
    name: str
    """With a number when numjobs made several of the name."""
    document: Document

    @cached_property
    def options(self) -> dict[str, str]:
        """Global options overlaid with the job's own; both as text."""
        own = self.raw.get("job options")
        merged = {**mapping(self.document.raw.get("global options")), **mapping(own)}
        return {str(key): str(value) for key, value in merged.items()}

    @cached_property
    def group(self) -> int:
        return int(number(self.raw.get("groupid")) or 0)

    @cached_property
    def host(self) -> str | None:
        host = self.raw.get("hostname")
        return host if isinstance(host, str) and host else None

    @cached_property
    def unit(self) -> str:
        """Unit of its times: names end in _ns since 3.0."""
        sections = [self.raw[name] for name in _fio.DIRECTIONS if isinstance(self.raw.get(name), dict)]
        return "ns" if any(f"{measure}_ns" in section for section in sections for measure in TIMED) else "us"

    @cached_property
    def ns_of_unit(self) -> float:
        return 1.0 if self.unit == "ns" else float(units.NS_PER_US)

    @cached_property
    def directions(self) -> dict[str, Direction]:
        found = {name: self._direction(section) for name, section in self.sections().items()}
        if "sync" in found:
            found["sync"] = all_syncs(found["sync"])
        if "mixed" in found and {"read", "write"} & set(found):
            del found["mixed"]  # unified_rw_reporting=both: the sum of what is there already
        return found

    @cached_property
    def runtime_ms(self) -> float:
        return _fio.runtime_ms(self.directions)

    def sections(self) -> dict[str, Mapping[str, Any]]:
        """Its directions as they stand in the document."""
        return {name: self.raw[name] for name in _fio.DIRECTIONS if isinstance(self.raw.get(name), dict)}

    def timed(self, section: Mapping[str, Any], measure: str) -> Mapping[str, Any]:
        """The statistics of slat, clat or lat under either name."""
        return mapping(section.get(f"{measure}_ns", section.get(measure)))

    def bins(self, name: str, measure: str) -> Counter[int]:
        """Counts by the bin's value (3.0 and later) or, where the list says its own layout, by index (2.14 to 2.21)."""
        raw = mapping(self.timed(self.sections()[name], measure).get("bins"))
        of_key = value_from_index if "FIO_IO_U_PLAT_BITS" in raw else int
        counts = {of_key(int(key)): number(count) for key, count in raw.items() if key.isdecimal() and len(key) < 20}
        return Counter({value: int(count) for value, count in counts.items() if count and 0 < count < _MOST_COUNTS})

    def _direction(self, section: Mapping[str, Any]) -> Direction:
        runtime = _fio.bounded_ms(section.get("runtime"))
        iops = number(section.get("iops"))
        ops = number(section.get("total_ios"))
        if ops is None and iops is not None and runtime is not None:
            ops = iops * runtime / 1000  # before 2.2 only the rate, in whole I/Os per second, is printed
        timed = self.timed(section, "lat")
        if not has_times(timed):
            timed = self.timed(section, "clat")
        is_timed = has_times(timed)
        mean, greatest, count = number(timed.get("mean")), number(timed.get("max")), number(timed.get("N"))
        return Direction(
            ops=ops,
            size_bytes=self._size_bytes(section),
            runtime_ms=runtime,
            latency_ns_mean=mean * self.ns_of_unit if is_timed and mean is not None else None,
            latency_ns_max=greatest * self.ns_of_unit if is_timed and greatest is not None else None,
            timed=ops if count is None else count,
        )

    def _size_bytes(self, section: Mapping[str, Any]) -> float | None:
        """Bytes moved. `io_bytes` counts KiB up to 2.20; `io_kbytes` came with the correction in 2.21."""
        value = number(section.get("io_bytes"))
        if value is None:
            return None
        is_kib = "io_kbytes" not in section and _fio.version_below(self.document.version, 2, 21) is not False
        return units.bytes_from_kib(value) if is_kib else value


def all_syncs(found: Direction) -> Direction:
    """Those that were timed: `total_ios` counts the calls of fsync alone, and none of fdatasync (fio 3.33)."""
    return replace(found, ops=max((count for count in (found.ops, found.timed) if count is not None), default=None))


def has_times(timed: Mapping[str, Any]) -> bool:
    """False where nothing was timed: no I/O, gtod_reduce, or the time switched off. Then fio prints zeros."""
    count = number(timed.get("N"))
    return bool(count) if count is not None else bool(number(timed.get("mean")))


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


# A document ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Document:
    """One JSON document: the state of all jobs of one fio process at one instant."""

    raw: Mapping[str, Any]

    @cached_property
    def version(self) -> str | None:
        version = self.raw.get("fio version")
        return version.removeprefix("fio-") if isinstance(version, str) else None

    @cached_property
    def end_ms(self) -> float | None:
        """When it was written, in ms since 1970; None before 2.2.5."""
        exact, whole = _fio.epoch_ms(self.raw.get("timestamp_ms")), number(self.raw.get("timestamp"))
        return exact if exact is not None or whole is None else _fio.epoch_ms(whole * 1000)

    @cached_property
    def elapsed_s(self) -> float | None:
        found = [number(job.raw.get("elapsed")) for job in self.jobs]
        return max((value for value in found if value is not None), default=None)

    @cached_property
    def all_entries(self) -> list[dict[str, Any]]:
        entries = self.raw["jobs"] if "jobs" in self.raw else self.raw["client_stats"]
        return [entry for entry in entries if isinstance(entry, dict)]

    @cached_property
    def empty_entries(self) -> int:
        """How many entries have neither a job nor a group.

        fio leaves a place for each job and merges some of them (group_reporting in one section and not in another of
        its group; measured with 3.33).
        """
        return sum(map(_is_empty, self.all_entries))

    @cached_property
    def jobs(self) -> list[Job]:
        """Its jobs, without the sum over all clients unless that is all there is, and without empty entries."""
        filled = [entry for entry in self.all_entries if not _is_empty(entry)]
        entries = [entry for entry in filled if entry.get("jobname") != ALL_CLIENTS] or filled
        keys = [(entry.get("hostname"), str(entry.get("jobname") or "unnamed job")) for entry in entries]
        names = dict.fromkeys(key[0] for key in keys)
        numbered = {host: iter(_fio.clone_names(name for where, name in keys if where == host)) for host in names}
        return [Job(entry, next(numbered[key[0]]), self) for entry, key in zip(entries, keys, strict=True)]

    def continues(self, before: Document) -> bool:
        """Whether it is a later state of the same fio process."""
        return (
            self.version == before.version
            and [_identity(job) for job in self.jobs] == [_identity(job) for job in before.jobs]
            and all(_fio.grew(job.directions, old.directions) for job, old in zip(self.jobs, before.jobs, strict=True))
            and self._clock_agrees(before)
        )

    def _clock_agrees(self, before: Document) -> bool:
        if self.end_ms is None or before.end_ms is None or self.elapsed_s is None or before.elapsed_s is None:
            return any(job.runtime_ms > earlier.runtime_ms for job, earlier in zip(self.jobs, before.jobs, strict=True))
        passed_s = (self.end_ms - before.end_ms) / 1000
        return abs(passed_s - (self.elapsed_s - before.elapsed_s)) <= _SAME_PROCESS_CLOCK_S


def _is_empty(entry: Mapping[str, Any]) -> bool:
    return "jobname" not in entry and number(entry.get("groupid")) == _NO_GROUP


def _identity(job: Job) -> tuple[object, ...]:
    return job.host, job.name, job.group, tuple(job.options.items())


def busy_ms(document: Document) -> float:
    """How long its groups ran one after the other."""
    longest = {job.group: 0.0 for job in document.jobs}
    for job in document.jobs:
        longest[job.group] = max(longest[job.group], job.runtime_ms)
    return sum(longest.values())


def processes(documents: Sequence[Document]) -> list[list[Document]]:
    """The documents by the fio process that wrote them, in order."""
    processes: list[list[Document]] = []
    for document in documents:
        if processes and document.continues(processes[-1][-1]):
            processes[-1].append(document)
        else:
            processes.append([document])
    return processes
