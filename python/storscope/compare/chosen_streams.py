"""Some streams of a run of several: their parts of what was recorded, as if they had run alone.

What storscope runs, measured or simulated, keeps a `process` for each stream on each target (bench/record.py), called
'RUN: STREAM on TARGET'; a copy's reads are on one target and its writes on another. Beside others a stream is not what
it would be alone: the others are part of what is compared.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from storscope.compare.active import ActiveStream, streams_of
from storscope.compare.selection import Selector
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Stream

Row = Mapping[str, Any]

_PLACES = ("targets", "region")
_PLACES_OF_A_COPY = ("destination", "destination_start_bytes")


def chosen_names(parameters: Mapping[str, str], selector: Selector) -> frozenset[str]:
    """What the streams that are meant are called in the names of their parts; none of a run that has no such stream."""
    names = _names(streams_of(parameters))
    return frozenset(name for name in names if selector.takes_stream(name))


def _names(streams: Sequence[Stream]) -> list[str]:
    """As `stream_words` of bench/doubted_streams.py: the name, with a number where it is not the only one."""
    known = [stream.name for stream in streams]
    return [
        name if name and known.count(name) == 1 else f"{name or 'stream'} {number}"
        for number, name in enumerate(known, 1)
    ]


def are_all(parameters: Mapping[str, str], names: frozenset[str]) -> bool:
    """Whether the run has no other streams, so that its whole is theirs."""
    return names >= set(_names(streams_of(parameters)))


def only_chosen(
    active: Sequence[ActiveStream], parameters: Mapping[str, str], names: frozenset[str]
) -> list[ActiveStream]:
    """Those of the active streams that are meant."""
    streams = streams_of(parameters)
    meant = [stream for stream, name in zip(streams, _names(streams), strict=True) if name in names]
    return [one for one in active if any(one.stream == stream for stream in meant)]


def rows_of(rows: Sequence[Row], run: str, parameters: Mapping[str, str], names: frozenset[str]) -> list[Row]:
    """The rows of the parts of these streams."""
    stream = _stream_finder(run, parameters)
    return [row for row in rows if row["kind"] == "process" and stream(row["entity"]) in names]


def ios_by_stream(rows: Sequence[Row], run: str, parameters: Mapping[str, str]) -> dict[str, float]:
    """How many I/Os each stream of a run of several did, or as many times as much of all; nothing of any other run."""
    if len(streams_of(parameters)) < 2:
        return {}
    stream = _stream_finder(run, parameters)
    done: dict[str, float] = defaultdict(float)
    for row in rows:
        name = stream(row["entity"]) if row["kind"] == "process" else None
        if name is not None and row["ops_per_s"] is not None:
            done[name] += row["ops_per_s"] * (row["duration_ns"] or NS_PER_S) / NS_PER_S
    return dict(done)


def _stream_finder(run: str, parameters: Mapping[str, str]) -> Callable[[str], str | None]:
    """Of which stream a part is, by its name; None of what is none."""
    every = sorted(_names(streams_of(parameters)), key=len, reverse=True)

    def stream(entity: str) -> str | None:
        part = entity.removeprefix(f"{run}: ")
        return next((name for name in every if part.startswith(f"{name} on ")), None)

    return stream


def without_places(stream: str) -> str:
    """A stream as text that is equal where it asks for the same, wherever: another design has other volumes."""
    form = {key: value for key, value in json.loads(stream).items() if key not in _PLACES}
    if isinstance(form.get("access"), dict):
        form["access"] = {key: value for key, value in form["access"].items() if key not in _PLACES_OF_A_COPY}
    return json.dumps(form, sort_keys=True)
