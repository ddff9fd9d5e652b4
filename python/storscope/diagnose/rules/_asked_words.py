"""Words for what is asked of something: whose it is, and how much a second."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rules._asked import Asked
from storscope.diagnose.rules._entities import counted
from storscope.diagnose.rules._intervals import median
from storscope.diagnose.rules._load import kind_word, named
from storscope.domain.entity import EntityRef
from storscope.domain.units import MIB, format_bandwidth, format_count, format_rate, format_rounded


def subject_words(case: Case, asked: Asked) -> str:
    """'device sdb', 'reads of volume v1', '3 devices of host together'."""
    if asked.parts:
        first = asked.entities[0]
        return f"{len(asked.entities):,} {kind_word(first.kind, 2)} of {first.system} together"
    name = named(case, asked.entities[0])
    return f"{asked.of} of {name}" if asked.of else name


def is_plural(asked: Asked) -> bool:
    """Whether these words are of several things."""
    return bool(asked.parts or asked.of)


def things_words(entities: Iterable[EntityRef]) -> str:
    """'2 devices', '5 entities' of several kinds."""
    listed = list(entities)
    kinds = {entity.kind for entity in listed}
    if len(kinds) > 1:
        return counted(len(listed), "entity", "entities")
    return f"{len(listed):,} {kind_word(kinds.pop(), len(listed))}"


def never_alone_words(case: Case, every: Sequence[Asked]) -> str:
    """'a time of light load of device sdb, which always has 32 or so in flight', and how many more are so."""
    first = every[0]
    number = flight_words(median(first.in_flight[first.queues]))
    also = f" (so have {len(every) - 1:,} more)" if len(every) > 1 else ""
    return f"a time of light load of {subject_words(case, first)}, which always has {number} or so in flight{also}"


def rate_words(measure: str, per_s: float) -> str:
    """A rate of 'ops' or 'bytes'; of bytes as links are sold, and as AWS sells it."""
    if measure == "ops":
        return format_rate(per_s)
    return (
        f"{format_bandwidth(per_s)} ({format_rounded(per_s / MIB)} MiB/s)" if per_s >= MIB else format_bandwidth(per_s)
    )


def flight_words(number: float) -> str:
    """Operations in flight."""
    return f"{number:.1f}" if number < 10 else format_count(round(number))
