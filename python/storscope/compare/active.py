"""Which streams were active in the time that is meant: only what they ask for was asked of the storage then.

A simulated run tells when its schedule lets a stream begin and end; the streams of any other run are active throughout.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storscope.domain.asked_load import asked_of, rate_of
from storscope.domain.comparison import Load
from storscope.domain.errors import ConfigError
from storscope.domain.workload import Stream, Workload


@dataclass(frozen=True, slots=True)
class ActiveStream:
    """A stream of a run, and the share of the time in which it was active; never 0."""

    stream: Stream
    share: float


def streams_of(parameters: Mapping[str, str]) -> Sequence[Stream]:
    """Of a run that storscope made; none where its workload is of a form that this version does not know."""
    try:
        return Workload.from_json(json.loads(parameters["workload"])).streams
    except (KeyError, ValueError, ConfigError):
        return ()


def active_streams(parameters: Mapping[str, str], from_ns: int, to_ns: int) -> list[ActiveStream]:
    """Those that were active between two instants since the run's start."""
    streams = streams_of(parameters)
    lifetimes = json.loads(parameters.get("lifetimes") or "{}")
    if not lifetimes:
        return [ActiveStream(stream, 1.0) for stream in streams]
    found = []
    for stream in streams:
        start_ns, end_ns = lifetimes.get(stream.name, (0, None))
        active_ns = (to_ns if end_ns is None else min(to_ns, end_ns)) - max(from_ns, start_ns)
        if active_ns > 0:
            found.append(ActiveStream(stream, active_ns / (to_ns - from_ns)))
    return found


def load_of(parameters: Mapping[str, str], active: Sequence[ActiveStream], whole: Load) -> Load:
    """What these streams ask for: of the run, as `whole` has it, unless some of its streams were silent or not meant.

    How many targets a stream uses that names none, only runs with a schedule tell; else the depth is not known then.
    """
    if len(active) == len(streams_of(parameters)):
        return whole
    return _load([one.stream for one in active], parameters)


def stream_load(stream: Stream, parameters: Mapping[str, str]) -> Load:
    """What one of a run's streams asks for."""
    return _load([stream], parameters)


def _load(streams: Sequence[Stream], parameters: Mapping[str, str]) -> Load:
    asked = asked_of(streams, int(parameters.get("target_count", 1)))
    if "target_count" not in parameters and not all(stream.targets for stream in streams):
        asked["outstanding"] = None
    return Load(**asked)


def has_fixed_rate(active: Sequence[ActiveStream]) -> bool:
    """Whether their operations are what was asked for, whatever the storage can do."""
    return bool(active and rate_of([one.stream for one in active]))
