"""Any workload as an open loop at a chosen rate: the same requests in the same mix, arriving at random (Poisson).

Requests of several streams keep the proportions that they have in the workload as it is: those of its rates, or, where
a stream is a closed loop, those that were measured. What cannot be kept is said: a queue depth only bounds what may be
in flight, pauses and the workload's own pace go.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from storscope.bench.figures import DIRECTIONS, Interval
from storscope.domain.load import MOST_OUTSTANDING, Closed, Load, Open, Process, Steps
from storscope.domain.units import MIB, format_count, format_rate, format_ratio
from storscope.domain.workload import AccessSpec, Copy, Mix, Stream, Workload

_ENOUGH_IN_FLIGHT = 1024
_BUFFERS_BYTES = 256 * MIB
"""Room for what is in flight in all workers together; a closed loop's own depth is always granted."""


@dataclass(frozen=True)
class OpenLoop:
    """A workload that can be run at any rate."""

    closed: Workload
    """As it is."""
    shares: tuple[float, ...]
    """Of each stream in the arrivals."""
    bounds: tuple[int, ...]
    """I/Os in flight of each worker of each stream, at most."""

    @property
    def slots(self) -> int:
        """I/Os in flight of all workers, at most."""
        return sum(bound * stream.workers for bound, stream in zip(self.bounds, self.closed.streams, strict=True))

    @property
    def ios_per_arrival(self) -> float:
        """More than one where a request is followed by a reply, or by the write of a copy."""
        pairs = zip(self.shares, self.closed.streams, strict=True)
        return math.fsum(share * ios_per_arrival(stream) for share, stream in pairs)

    def at(self, rate_per_s: float) -> Workload:
        """The workload with so many arrivals per second in all."""
        streams = tuple(
            _opened(stream, rate_per_s * share, bound)
            for stream, share, bound in zip(self.closed.streams, self.shares, self.bounds, strict=True)
            if share > 0
        )
        return replace(self.closed, streams=streams)

    def explain(self) -> Iterator[str]:
        """What is kept, and what is not, in sentences."""
        yield "Requests arrive at random (Poisson) at the rates of the search, whatever the storage does (open loop)."
        for stream, share, bound in zip(self.closed.streams, self.shares, self.bounds, strict=True):
            whose = "" if len(self.shares) == 1 else f"Stream {stream.name!r} gets {format_ratio(share)} of them. "
            yield f"{whose}{_load_words(stream.load)} {_bound_words(bound, stream)}"
            if stream.think_time is not None:
                yield "Its think time is left out: arrivals do not wait."
            if isinstance(stream.access, Mix) and any(line.delay_ns for line in stream.access.lines):
                yield "Its delays between bursts are left out: arrivals set the pace."


def known_rates(workload: Workload) -> tuple[float, ...] | None:
    """Arrivals per second of each stream as the workload says; None if a stream's rate is the storage's."""
    rates = [_rate_of(stream.load) for stream in workload.streams]
    return tuple(rate for rate in rates if rate is not None) if None not in rates else None


def measured_rates(workload: Workload, run: Interval) -> tuple[float, ...]:
    """Arrivals per second of each stream, from a run of the workload as it is."""
    ios = [0] * len(workload.streams)
    for cell in run.form["cells"]:
        ios[cell["stream"]] += sum(cell[name]["ios"] for name in DIRECTIONS)
    return tuple(
        (run.per_s(count) or 0.0) / ios_per_arrival(stream) for count, stream in zip(ios, workload.streams, strict=True)
    )


def open_loop(workload: Workload, rates_per_s: Sequence[float], targets: int = 1) -> OpenLoop:
    """The workload as an open loop whose streams have rates in these proportions, on so many targets."""
    total = math.fsum(rates_per_s)
    workers = sum(stream.workers for stream in workload.streams)
    bounds = tuple(_bound(stream, workers, targets) for stream in workload.streams)
    return OpenLoop(workload, tuple(rate / total for rate in rates_per_s), bounds)


def ios_per_arrival(stream: Stream) -> float:
    """Two for a copy, and for a line with a reply."""
    if isinstance(stream.access, Copy):
        return 2.0
    lines = stream.access.lines
    weight = math.fsum(line.transfer_weight for line in lines)
    return 1.0 + math.fsum(line.transfer_weight for line in lines if line.reply_bytes) / weight


def _opened(stream: Stream, rate_per_s: float, bound: int) -> Stream:
    access = stream.access
    if isinstance(access, Mix):
        access = Mix(tuple(replace(line, delay_ns=0) for line in access.lines))
    return replace(stream, access=access, load=Open(rate_per_s, Process.POISSON, bound), think_time=None)


def _rate_of(load: Load) -> float | None:
    if isinstance(load, Open):
        return load.rate_per_s
    if isinstance(load, Steps):
        duration_ns = sum(step.duration_ns for step in load.steps)
        return math.fsum(step.rate_per_s * step.duration_ns for step in load.steps) / duration_ns
    return None


def _bound(stream: Stream, workers: int, targets: int) -> int:
    own = stream.load.outstanding * targets if isinstance(stream.load, Closed) else stream.load.max_outstanding
    room = _BUFFERS_BYTES // (workers * _largest_bytes(stream))
    return min(MOST_OUTSTANDING, max(own, min(_ENOUGH_IN_FLIGHT, room)))


def _largest_bytes(stream: Stream) -> int:
    if isinstance(stream.access, Copy):
        return stream.access.size_bytes
    return max(_line_bytes(line) for line in stream.access.lines)


def _line_bytes(line: AccessSpec) -> int:
    return max(line.size_bytes, line.reply_bytes)


def _load_words(load: Load) -> str:
    if isinstance(load, Closed):
        return f"Its depth of {format_count(load.outstanding)} keeps no pace any more, it only bounds the queue:"
    rate = _rate_of(load)
    return f"Its own rate, {format_rate(rate, '/s')}, gives only its share:"


def _bound_words(bound: int, stream: Stream) -> str:
    each = "" if stream.workers == 1 else " in each worker"
    return f"at most {format_count(bound)} requests are in flight{each}, the rest waits, and its waiting counts."
