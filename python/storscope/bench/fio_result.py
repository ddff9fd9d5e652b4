"""What fio reports while it runs and at its end, as intervals in the form of our own engine.

fio's documents (json+, of 3.x) are cumulative, so that an interval is the difference of two. How its times are mapped:

- `lat`, from when fio has prepared the I/O until it sees the completion, is our *service*: it holds the submission, as
  ours does. It is the sum of `slat` (until the kernel has taken the I/O) and `clat`, which are kept under these names.
- Response and lateness are absent: fio does not keep when an I/O should have started.
- Flushes are in the section `sync`, as many as were timed: its `total_ios` counts those of fsync alone (fio 3.33).

Beware: counts of a document under way are not of one instant; the last one's are exact. fio looks at its clock and its
bytes, then waits for each job to look at its own CPU time, then adds up the latencies (show_running_run_stats in fio's
stat.c): I/Os are counted later than bytes, by a tenth of a second and more where the device makes it wait. So bytes are
those of the I/Os wherever a job has one size; of jobs with several they are from an instant before.
What was in flight at the end is waited for and counted by fio. The greatest latency of an interval is known to 1.6 %,
unless it is the run's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from storscope.bench.figures import FLUSHES, Interval
from storscope.bench.workloads._fio_jobs import FioJob
from storscope.domain.errors import StorscopeError
from storscope.domain.fio_buckets import bucket_from_value
from storscope.domain.flush import FlushKind
from storscope.domain.units import NS_PER_MS

TIMES = {"lat": "service", "clat": "clat", "slat": "slat"}
"""fio's word and the name in our tallies."""
_DIRECTIONS = {"read": "reads", "write": "writes"}
_SYNC = "sync"
_FLUSHES = tuple(f"{kind}=" for kind in FlushKind)
"""What a job's options for them begin with."""
_NOTHING: Mapping[str, Any] = {
    "count": 0, "mean_ns": None, "min_ns": None, "max_ns": None,
    "bucket_low_ns": [], "bucket_high_ns": [], "bucket_count": [],
}  # fmt: skip


@dataclass(frozen=True)
class Histogram:
    """Latencies from the start of the run on: how many in each of fio's buckets, by the value that names it."""

    bins: Counter[int] = field(default_factory=Counter)
    sum_ns: float = 0.0
    max_ns: float = 0.0

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram(self.bins + other.bins, self.sum_ns + other.sum_ns, max(self.max_ns, other.max_ns))

    def since(self, before: Histogram) -> dict[str, Any]:
        """What came after `before`, in the form of our engine."""
        grown = {value: count - before.bins[value] for value, count in self.bins.items() if count > before.bins[value]}
        if not grown:
            return dict(_NOTHING)
        bounds = {value: _bounds(value, self.max_ns) for value in grown}
        values = sorted(grown, key=lambda value: bounds[value])
        count = sum(grown.values())
        low_ns, high_ns = bounds[values[0]][0], bounds[values[-1]][1]
        greatest = self.max_ns if self.max_ns > before.max_ns else min(high_ns, self.max_ns)
        return {
            "count": count, "mean_ns": max(0.0, self.sum_ns - before.sum_ns) / count, "min_ns": low_ns,
            "max_ns": round(greatest),
            "bucket_low_ns": [bounds[value][0] for value in values],
            "bucket_high_ns": [bounds[value][1] for value in values],
            "bucket_count": [grown[value] for value in values],
        }  # fmt: skip


def _bounds(value: int, greatest_ns: float) -> tuple[int, int]:
    """Both ends included, as our own buckets."""
    low, high = bucket_from_value(value, "ns", greatest_ns)
    return round(low) + 1, round(high)


@dataclass(frozen=True)
class Side:
    """One direction of a stream, or its flushes, from the start of the run on."""

    bytes: int = 0
    issued: int = 0
    times: Mapping[str, Histogram] = field(default_factory=lambda: {name: Histogram() for name in TIMES})

    def __add__(self, other: Side) -> Side:
        times = {name: self.times[name] + other.times[name] for name in TIMES}
        return Side(self.bytes + other.bytes, self.issued + other.issued, times)

    def since(self, before: Side) -> dict[str, Any]:
        """What was added, as a tally of our engine. I/Os are those that were timed: their completions."""
        timed = {ours: self.times[name].since(before.times[name]) for name, ours in TIMES.items()}
        return {
            "ios": timed["service"]["count"], "bytes": max(0, self.bytes - before.bytes),
            "response": dict(_NOTHING), "lateness": dict(_NOTHING), **timed,
        }  # fmt: skip


@dataclass(frozen=True)
class State:
    """All that a document says, from the start of the run on."""

    reached_ns: int = 0
    sides: Mapping[tuple[int, int, str], Side] = field(default_factory=dict)
    """By stream, target and fio's section."""
    user_ns: float = 0.0
    system_ns: float = 0.0
    switches: int = 0
    failures: Mapping[int, int] = field(default_factory=dict)
    """Jobs that an error ended, by its number."""

    @property
    def issued(self) -> int:
        """I/Os that were submitted."""
        return sum(side.issued for side in self.sides.values())

    def since(self, before: State, index: int) -> Interval:
        """What was added after `before`, as an interval of our engine. What fio does not say is None."""
        usage = {
            "user_ns": max(0, round(self.user_ns - before.user_ns)),
            "system_ns": max(0, round(self.system_ns - before.system_ns)),
            "voluntary_switches": max(0, self.switches - before.switches),  # of both kinds: fio adds them up
            "involuntary_switches": 0,
        }
        return Interval({
            "index": index, "start_ns": before.reached_ns, "duration_ns": self.reached_ns - before.reached_ns,
            "drain": False, "cells": self._cells(before), "submitted": max(0, self.issued - before.issued),
            "in_flight_at_end": None, "outstanding_mean": None, "offered_per_s": None,
            "failures": [{"errno": errno, "count": count} for errno, count in self.failures.items()
                         if errno not in before.failures],
            "usage": usage,
        })  # fmt: skip

    def _cells(self, before: State) -> list[dict[str, Any]]:
        return [
            {"stream": stream, "target": target}
            | {
                word: self.sides[stream, target, name].since(before.sides.get((stream, target, name), Side()))
                for name, word in _DIRECTIONS.items()
            }
            | {FLUSHES: self._flushes((stream, target, _SYNC), before)}
            for stream, target in sorted({(stream, target) for stream, target, _ in self.sides})
        ]

    def _flushes(self, key: tuple[int, int, str], before: State) -> dict[str, Any] | None:
        """Those of a stream on a target; None if it asks for none."""
        side = self.sides.get(key)
        return None if side is None else side.since(before.sides.get(key, Side()))


def state_of(document: Mapping[str, Any], jobs: Sequence[FioJob]) -> State:
    """What a document says of the jobs, which it has in their order. Raises StorscopeError for another shape."""
    entries = document.get("jobs")
    if not isinstance(entries, list) or len(entries) != len(jobs):
        found = f"{len(entries)}" if isinstance(entries, list) else "none"
        raise StorscopeError(f"a result of fio with {len(jobs)} entries, one for each job", found)
    state = State()
    for entry, job in zip(entries, jobs, strict=True):
        state = _with_job(state, entry, job)
    return state


def _with_job(state: State, entry: Mapping[str, Any], job: FioJob) -> State:
    runtime_ms = max(entry[name]["runtime"] for name in _DIRECTIONS)
    busy_ns = entry.get("job_runtime", runtime_ms) * NS_PER_MS
    sides = dict(state.sides)
    size_bytes = _one_size(job.options)
    for name in _DIRECTIONS:
        key = job.stream, job.targets[0], name
        sides[key] = sides.get(key, Side()) + _side(entry[name], size_bytes)
    if any(option.startswith(_FLUSHES) for option in job.options):
        key = job.stream, job.targets[0], _SYNC
        sides[key] = sides.get(key, Side()) + _flushes(entry.get(_SYNC) or {})
    errors = Counter(state.failures) + Counter([entry["error"]] if entry.get("error") else [])
    return State(
        reached_ns=max(state.reached_ns, job.start_ns + round(runtime_ms * NS_PER_MS) if runtime_ms else 0),
        sides=sides,
        user_ns=state.user_ns + entry["usr_cpu"] / 100 * busy_ns,
        system_ns=state.system_ns + entry["sys_cpu"] / 100 * busy_ns,
        switches=state.switches + entry["ctx"],
        failures=dict(errors),
    )


def _one_size(options: Sequence[str]) -> int | None:
    """That of all transfers of a job; None where there are several."""
    sizes = [option.removeprefix("bs=") for option in options if option.startswith("bs=")]
    return int(sizes[0]) if sizes else None


def _side(section: Mapping[str, Any], size_bytes: int | None) -> Side:
    times = {name: _histogram(section.get(f"{name}_ns") or {}, name) for name in TIMES}
    moved = int(section["io_bytes"])
    if size_bytes is not None and not section.get("short_ios"):
        moved = size_bytes * times["lat"].bins.total()
    return Side(moved, int(section["total_ios"]), times)


def _flushes(section: Mapping[str, Any]) -> Side:
    """They have one time, which is their service."""
    times = {name: Histogram() for name in TIMES}
    times["lat"] = _histogram(section.get("lat_ns") or {}, "lat")
    return Side(0, times["lat"].bins.total(), times)


def _histogram(timed: Mapping[str, Any], name: str) -> Histogram:
    count = int(timed.get("N", 0))
    bins = Counter({int(value): int(number) for value, number in (timed.get("bins") or {}).items()})
    if count and not bins and name == "lat":
        raise StorscopeError(
            "buckets of the total latency (lat_ns.bins) in fio's json+", "none", hint="Install fio 3.6 or later."
        )
    return Histogram(bins, timed.get("mean", 0.0) * bins.total(), timed.get("max", 0))
