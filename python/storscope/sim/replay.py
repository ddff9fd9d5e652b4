"""Replays traces on a simulated array: in an open loop at their times, or in a closed one, each after an answer.

A replay is a plan like that of a workload; each trace is a stream of its own.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from storscope import _core
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.errors import ConfigError, MalformedInput, UsageError
from storscope.domain.load import Closed, Open, ThinkTime
from storscope.domain.units import NS_PER_S, format_bytes
from storscope.domain.workload import Stream, Workload
from storscope.sim.assignment import Attachment, single
from storscope.sim.simulation import SimulationPlan, check_length, check_seed
from storscope.sim.traces import Trace

_RECORD = np.dtype([
    ("at", "<u8"), ("think", "<u8"), ("offset", "<u8"), ("length", "<u4"), ("target", "<u4"), ("stream", "<u4"),
    ("write", "<u4"),
])  # fmt: skip
"""As crates/storscope-py/src/replay.rs reads it."""
_DEPTH = 1 << 16
"""Most requests in flight; those of an open loop that find no place wait for one, and their waiting counts."""
_MOST_SPEED = 1e6
_LONGEST_NS = 10**9 * NS_PER_S
"""About 31 years, the end of other runs too: times are 64 bits."""


@dataclass(frozen=True)
class TraceSource:
    """A trace and where its requests go: `pattern` fits one attachment; None for what the trace itself names."""

    trace: Trace
    pattern: str | None = None


@dataclass(frozen=True)
class TracePlan(SimulationPlan):
    """A replay; `workload` says in short what the traces ask for.

    It ends with the last answer, or after `duration_ns`.
    """

    traces: tuple[Trace, ...] = ()
    records: bytes = b""
    outstanding: tuple[int | None, ...] = ()
    """For each trace what a closed loop keeps in flight; None of an open loop."""

    @property
    def outstanding_in_all(self) -> int | None:
        """Of closed loops; each keeps its number wherever its requests go."""
        kept = [number for number in self.outstanding if number is not None]
        return sum(kept) if kept and len(kept) == len(self.outstanding) else None

    def plan_json(self) -> dict[str, Any]:
        """What the record is told by, for the digest of a capture."""
        return {
            "workload": self.workload.to_json(), "trace_sha256": self.trace_sha256, "duration_ns": self.duration_ns,
            "seed": self.seed, "interval_ns": self.interval_ns,
        }  # fmt: skip

    @cached_property
    def arrivals_ns(self) -> npt.NDArray[np.uint64]:
        """When requests come, in order, whatever the array does; nothing of closed loops."""
        if any(number is not None for number in self.outstanding):
            return np.empty(0, np.uint64)
        return np.sort(np.frombuffer(self.records, _RECORD)["at"])

    def beginning(self, share: float) -> TracePlan:
        """The replay of the first requests of each trace."""
        records = np.frombuffer(self.records, _RECORD)
        each = [records[records["stream"] == number] for number in range(len(self.traces))]
        first = [one[: math.ceil(share * len(one))].tobytes() for one in each]
        return replace(self, records=b"".join(first))

    @cached_property
    def trace_sha256(self) -> str:
        """Of all requests as they are replayed."""
        return hashlib.sha256(self.records).hexdigest()

    def options_json(self, started_ns: int) -> dict[str, Any]:
        """What the core takes beside design and records."""
        return {
            "seed": self.seed, "started_unix_ns": started_ns, "duration_ns": self.duration_ns,
            "interval_ns": self.interval_ns, "slice_ns": self.slice_ns, "slices": self.slices, "depth": _DEPTH,
            "outstanding": self.outstanding,
        }  # fmt: skip

    def start(self, started_ns: int) -> _core.SimulationRun:
        """Starts it."""
        options = json.dumps(self.options_json(started_ns))
        return _core.replay_run(json.dumps(self.design.form), self.records, options)

    def check(self) -> None:
        """Raises UsageError or ConfigError for what cannot be replayed."""
        check_seed(self.seed)
        check_length(self.duration_ns)
        for lifetime in self.design.lifetimes.values():
            hint = "A trace has its times."
            raise ConfigError("a schedule without [[stream]]", "one", where=lifetime.where, hint=hint)


def placed(
    sources: Sequence[TraceSource], attachments: Sequence[Attachment], placing: str
) -> list[npt.NDArray[np.int64]]:
    """For each trace the attachment of each request. UsageError for a place that the design does not have.

    InputError names the line of a request that lies outside its volume. `placing` is how the caller sends a trace to a
    volume, in words.
    """
    return [_placed(source, attachments, placing) for source in sources]


def packed(traces: Sequence[Trace], targets: Sequence[npt.NDArray[np.int64]], speed_up: float) -> bytes:
    """All requests as the core reads them; times and thought are divided by `speed_up`."""
    if not 1 / _MOST_SPEED <= speed_up <= _MOST_SPEED:
        raise UsageError(f"a speed-up from {1 / _MOST_SPEED:g} to {_MOST_SPEED:g}", f"{speed_up:g}")
    if max((trace.duration_ns for trace in traces), default=0) / speed_up >= _LONGEST_NS:
        raise UsageError("a speed-up at which the trace takes less than 1,000,000,000 s", f"{speed_up:g}")
    parts = []
    for number, (trace, target) in enumerate(zip(traces, targets, strict=True)):
        records = np.zeros(len(trace), _RECORD)
        records["at"] = _faster(trace.at_ns - trace.at_ns[0], speed_up)
        records["think"] = 0 if trace.think_ns is None else _faster(trace.think_ns, speed_up)
        records["offset"], records["length"] = trace.offset_bytes, trace.length_bytes
        records["target"], records["stream"], records["write"] = target, number, trace.is_write
        parts.append(records.tobytes())
    return b"".join(parts)


def described(
    traces: Sequence[Trace], targets: Sequence[npt.NDArray[np.int64]], outstanding: int | None, speed_up: float
) -> Workload:
    """What the traces ask for in short: sizes, share of reads and of jumps, and the load, as means."""
    streams = []
    for trace, target in zip(traces, targets, strict=True):
        ends = trace.offset_bytes + trace.length_bytes
        jumps = float(np.mean(trace.offset_bytes[1:] != ends[:-1])) if len(trace) > 1 else 1.0
        spec = AccessSpec(
            max(1, round(float(trace.length_bytes.mean()))), read_share=float(np.mean(~trace.is_write)),
            random_share=jumps,
        )  # fmt: skip
        seconds = trace.duration_ns / speed_up / NS_PER_S
        load = Closed(outstanding) if outstanding else Open(len(trace) / seconds if seconds else float(len(trace)))
        names = tuple(int(one) for one in np.unique(target))
        think = _mean_think(trace, speed_up) if outstanding else None
        streams.append(Stream(Mix((spec,)), load, name=PurePath(trace.where).name, targets=names, think_time=think))
    how = f"closed loop of {outstanding}" if outstanding else "at its times"
    faster = "" if speed_up == 1 else f", {speed_up:g} times as fast"
    source = "; ".join(f"{trace.where} ({trace.format}, {len(trace)} requests)" for trace in traces)
    return Workload(f"trace {', '.join(stream.name for stream in streams)}", tuple(streams), f"{source}, {how}{faster}")


def _mean_think(trace: Trace, speed_up: float) -> ThinkTime | None:
    mean_ns = 0 if trace.think_ns is None or not len(trace) else round(float(trace.think_ns.mean()) / speed_up)
    return ThinkTime(mean_ns) if mean_ns else None


def _faster(times_ns: npt.NDArray[np.int64], speed_up: float) -> npt.NDArray[np.int64]:
    return times_ns if speed_up == 1 else np.rint(times_ns / speed_up).astype(np.int64)


def _placed(source: TraceSource, attachments: Sequence[Attachment], placing: str) -> npt.NDArray[np.int64]:
    trace = source.trace
    targets = np.zeros(len(trace), np.int64)
    if source.pattern is not None or trace.place is None:
        targets += _only(source, attachments, placing)
    else:
        _check_names(trace, trace.place, attachments, placing)
        targets = np.asarray([single(place, attachments) for place in trace.places], np.int64)[trace.place]
    sizes = np.asarray([one.size_bytes for one in attachments], np.int64)[targets]
    (outside,) = np.nonzero(trace.offset_bytes + trace.length_bytes > sizes)
    if len(outside):
        at = int(outside[0])
        end = int((trace.offset_bytes + trace.length_bytes).max())
        raise MalformedInput(
            f"a request within {attachments[int(targets[at])].name} of {sizes[at]} bytes",
            f"{trace.length_bytes[at]} bytes at {trace.offset_bytes[at]}",
            where=f"{trace.where}, line {trace.line[at]}",
            hint=f"The trace needs a volume of {format_bytes(end)} ({end} bytes).",
        )
    return targets


def _only(source: TraceSource, attachments: Sequence[Attachment], placing: str) -> int:
    trace = source.trace
    if len(trace.places) > 1:
        raise UsageError(
            "a trace of one volume or device for that", ", ".join(trace.places[:8]), where=trace.where,
            hint="Give each device a file of its own.",
        )  # fmt: skip
    if source.pattern is not None:
        return single(source.pattern, attachments)
    if len(attachments) > 1:
        names = ", ".join(one.name for one in attachments[:8])
        raise UsageError(f"{placing}, as the trace names no volume", trace.where, hint=f"The volumes are: {names}.")
    return 0


def _check_names(
    trace: Trace, place_of: npt.NDArray[np.int64], attachments: Sequence[Attachment], placing: str
) -> None:
    known = {name for one in attachments for name in (one.name, one.volume)}
    for number, place in enumerate(trace.places):
        if place not in known:
            line = int(trace.line[int(np.argmax(place_of == number))])
            raise UsageError(
                f"a volume of the design ({', '.join(one.name for one in attachments[:8])})", repr(place),
                where=f"{trace.where}, line {line}", hint=f"To send a whole trace to one: {placing}.",
            )  # fmt: skip
