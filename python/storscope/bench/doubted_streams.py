"""Which streams a doubt is about, where a workload has arrivals as well as closed loops.

The engine judges the two apart (crates/storscope-load/src/result.rs): what it says of one kind would contradict the
figures of all I/Os together, if nobody said whose it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from storscope.bench.figures import Outcome
from storscope.domain.load import Closed
from storscope.domain.workload import Workload

_OF_OPEN: Final = frozenset({"generator_late", "overloaded", "unanswered"})
_OF_CLOSED: Final = frozenset({"places_empty", "mean_late", "tail_late"})
_MOST_NAMED: Final = 4


def with_streams(kind: str, said: str, workload: Workload) -> str:
    """The sentence of a doubt, behind the names of the streams that it is about if that is not all of them."""
    if kind not in _OF_OPEN | _OF_CLOSED:
        return said
    wanted = kind in _OF_CLOSED
    numbers = [at for at, one in enumerate(workload.streams) if isinstance(one.load, Closed) == wanted]
    if not numbers or len(numbers) == len(workload.streams):
        return said
    loop = "closed loop" if wanted else "open loop"
    return f"of {_named(workload, numbers)} ({loop}) alone: {said}"


def of_stream(number: int, said: str, workload: Workload) -> str:
    """The sentence of a doubt about one of several streams, behind its name."""
    return f"of stream {_quoted(workload, number)} alone: {said}"


def valid_streams(workload: Workload, outcome: Outcome) -> str:
    """ "stream 'copy'", of a run that is invalid: those whose own latencies mean what they say; empty where none do."""
    numbers = [number for number in range(len(workload.streams)) if outcome.is_valid_of(number)]
    return _named(workload, numbers) if numbers else ""


def stream_words(workload: Workload, number: int) -> str:
    """The name of a stream, with its number where several have it; its number where it has no name."""
    name = workload.streams[number].name
    is_unique = name and [stream.name for stream in workload.streams].count(name) == 1
    return name if is_unique else f"{name or 'stream'} {number + 1}"


def _named(workload: Workload, numbers: Sequence[int]) -> str:
    names = [_quoted(workload, number) for number in numbers[:_MOST_NAMED]]
    names += ["..."] if len(numbers) > _MOST_NAMED else []
    return f"{'streams' if len(numbers) > 1 else 'stream'} {', '.join(names)}"


def _quoted(workload: Workload, number: int) -> str:
    return repr(stream_words(workload, number)) if workload.streams[number].name else str(number + 1)
