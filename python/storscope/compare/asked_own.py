"""What our own runs were asked for, measured and simulated, with either engine: the workload that is stored with each.

Not told are targets, seeds and data; nor, of a visit of a search for the knee, its pace, which the search chose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from storscope.compare.active import ActiveStream, stream_load, streams_of
from storscope.compare.asked import Asked, Thing
from storscope.compare.asked_things import (
    ACTIVITY,
    ARRIVALS,
    BUFFERED,
    DIRECT,
    FLUSHES,
    NO_FLUSHES,
    NO_PAUSE,
    NO_RATE,
    OFFSETS,
    PATH,
    RATE,
    SIZE,
    START,
    THINK_TIME,
    UNIFORM,
    activity_thing,
    arrivals_thing,
    flush_thing,
    pause_thing,
    per_s,
    rate_thing,
    size_thing,
    start_thing,
    zipf_thing,
)
from storscope.domain.units import format_bytes, format_count, format_ratio, format_span
from storscope.domain.workload import (
    AccessSpec,
    Closed,
    HotSpot,
    Load,
    Mix,
    Offsets,
    Open,
    Process,
    Steps,
    Stream,
    Zipf,
)
from storscope.store import Store

_TOOL: Final = "storscope"
_USE: Final = "use of the target"
_SCRATCH: Final = "scratch"
_SIMULATED: Final = "simulated"
_MOST_STEPS: Final = 4
_PATHS: Final = {"true": {PATH: DIRECT}, "false": {PATH: BUFFERED}}
_SPREADS: Final = {Process.FIXED: "always the same", Process.POISSON: "exponential"}
_SCRATCH_BYTES_IN_SQL: Final = """
SELECT f.capture, r.run, f.number FROM facts f JOIN runs r ON f.capture = r.capture
WHERE f.name = 'prefill: write by the generator' AND list_contains($captures, f.capture)"""


def read_scratch_bytes(store: Store, captures: Sequence[str]) -> dict[tuple[str, str], float]:
    """(capture, run) -> size of the scratch file that was filled for it, which a workload that uses all of it lacks."""
    rows = store.query(_SCRATCH_BYTES_IN_SQL, {"captures": list(captures)}).to_pylist()
    return {(row["capture"], row["run"]): float(row["number"]) for row in rows if row["number"]}


def asked_of_own(parameters: Mapping[str, str], active: Sequence[ActiveStream], scratch_bytes: float | None) -> Asked:
    """Of a run with these parameters, whose `active` streams are meant; nothing where its workload is not known."""
    if not streams_of(parameters):
        return Asked()
    is_visit = parameters.get("knee_role") == "visit"
    is_scratch = parameters.get("target_kind") == _SCRATCH
    volumes = parameters.get("target", "") if parameters.get("target_kind") == _SIMULATED else ""
    streams = []
    for one in active:
        pace = {} if is_visit else dict(_pace(one.stream))
        places = dict(_places(one.stream, volumes, is_scratch, scratch_bytes))
        flushes = NO_FLUSHES if one.stream.flush is None else flush_thing(one.stream.flush)
        always = {ACTIVITY: activity_thing(one.share), FLUSHES: flushes}
        streams.append((one.stream.name, always | pace | places))
    path = _PATHS.get(parameters.get("direct", ""), {})
    loads = [stream_load(one.stream, parameters) for one in active] if len(active) > 1 else []
    has_pauses = any(one.share < 1 or _pauses(one.stream) for one in active)
    return Asked(_TOOL, path, streams, loads, has_pauses)


# Pace -----------------------------------------------------------------------------------------------------------------


def _pace(stream: Stream) -> Iterator[tuple[str, Thing]]:
    yield RATE, _rate(stream.load)
    if not isinstance(stream.load, Closed):
        yield ARRIVALS, arrivals_thing(stream.load.process)
        return
    think = stream.think_time
    yield THINK_TIME, NO_PAUSE if think is None else pause_thing(think.mean_ns)
    if think is not None and think.mean_ns:
        yield "spread of the think time", Thing(think.process.value, _SPREADS[think.process], is_usual=True)
    yield from _bursts(_lines(stream))


def _rate(load: Load) -> Thing:
    if isinstance(load, Open):
        return rate_thing(load.rate_per_s)
    if isinstance(load, Steps):
        said = [f"{per_s(step.rate_per_s)} for {format_span(step.duration_ns)}" for step in load.steps]
        more = [f"{len(said) - _MOST_STEPS} more steps"] if len(said) > _MOST_STEPS else []
        value = tuple((step.rate_per_s, float(step.duration_ns)) for step in load.steps)
        return Thing(value, " then ".join(said[:_MOST_STEPS] + more))
    return NO_RATE


def _bursts(lines: Sequence[AccessSpec]) -> Iterator[tuple[str, Thing]]:
    """The delays, and how many I/Os follow one: without a delay a burst only orders the lines."""
    delays = dict.fromkeys(line.delay_ns for line in lines)
    if not any(delays):
        yield "delay before bursts", NO_PAUSE
        return
    words = " and ".join(format_span(delay) if delay else "none" for delay in delays)
    yield "delay before bursts", Thing(tuple(map(float, sorted(delays))), words)
    bursts = dict.fromkeys(line.burst for line in lines)
    words = " and ".join(map(format_count, bursts))
    yield "I/Os of a burst", Thing(tuple(map(float, sorted(bursts))), words, is_usual=True)


def _lines(stream: Stream) -> Sequence[AccessSpec]:
    """Of a mix, those that are ever drawn."""
    return [line for line in stream.access.lines if line.share > 0] if isinstance(stream.access, Mix) else []


def _pauses(stream: Stream) -> bool:
    thinks = stream.think_time is not None and stream.think_time.mean_ns > 0
    return thinks or any(line.delay_ns for line in _lines(stream))


# Places ---------------------------------------------------------------------------------------------------------------


def _places(stream: Stream, volumes: str, is_scratch: bool, scratch_bytes: float | None) -> Iterator[tuple[str, Thing]]:
    """A scratch file has a size as a part of a target has; that it is used as a whole says nothing."""
    if _is_random(stream):
        yield OFFSETS, _offsets(stream.offsets)
    start_bytes, length_bytes = stream.region.start_bytes, stream.region.length_bytes
    yield START, start_thing(start_bytes, volumes)
    if length_bytes is not None:
        yield SIZE, size_thing(length_bytes)
    elif is_scratch and scratch_bytes is not None:
        yield SIZE, size_thing(scratch_bytes - start_bytes)
    if not is_scratch:
        is_whole = length_bytes is None
        words = "all of it" if is_whole else f"{format_bytes(length_bytes)} of it"
        yield _USE, Thing("all" if is_whole else "a part", words, is_usual=True)


def _is_random(stream: Stream) -> bool:
    if isinstance(stream.access, Mix):
        return any(line.random_share > 0 for line in _lines(stream))
    return stream.access.random_share > 0


def _offsets(offsets: Offsets) -> Thing:
    if isinstance(offsets, Zipf):
        return zipf_thing(offsets.exponent)
    if isinstance(offsets, HotSpot):
        start = f" from {format_ratio(offsets.start_share)} on" if offsets.start_share else ""
        words = f"{format_ratio(offsets.access_share)} to {format_ratio(offsets.space_share)} of the space{start}"
        return Thing(("hot spot", offsets.access_share, offsets.space_share, offsets.start_share), words)
    return UNIFORM
