"""Whether two runs were driven alike, as far as they tell."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from storscope.compare.asked import asked_differences
from storscope.compare.asked_things import RATE
from storscope.compare.subjects import Subject
from storscope.domain.comparison import Load

_RATIO_TOLERANCE = 0.03
"""Some sources measure the share of reads instead of stating it (fio's text); a draw of 1,000 is within 0.03."""
_RELATIVE_TOLERANCE = 0.01
_FIELDS: Final = tuple(field.name for field in fields(Load))


def load_differences(one: Subject, other: Subject) -> list[tuple[str, float, float]]:
    """Fields of the load that both sides state, differently.

    Where a side does not tell how many I/Os were outstanding (tables of fio scripts do not), its number of jobs does,
    but not of arrivals at a rate, which are those of all workers together.
    """
    names = ["block_bytes", "read_ratio", "random_ratio", "outstanding"]
    tells_outstanding = None not in (one.load.outstanding, other.load.outstanding)
    if not tells_outstanding and not (_has_rate(one) or _has_rate(other)):
        names.append("workers")
    found = []
    for name in names:
        a, b = getattr(one.load, name), getattr(other.load, name)
        if a is not None and b is not None and not _are_equal(name, a, b):
            found.append((name, a, b))
    return found


def _are_equal(name: str, one: float, other: float) -> bool:
    tolerance = _RATIO_TOLERANCE if name.endswith("ratio") else _RELATIVE_TOLERANCE * max(one, other)
    return abs(one - other) <= tolerance


def _has_rate(subject: Subject) -> bool:
    things = [subject.asked.whole, *(own for _, own in subject.asked.streams)]
    return any(own[RATE].value is not None for own in things if RATE in own)


def have_one_load(one: Subject, other: Subject) -> bool:
    """Whether nothing that both state differs: enough for two of one name, and for no others."""
    return not load_differences(one, other) and not asked_differences(one.asked, other.asked)


def state_one_load(one: Subject, other: Subject) -> bool:
    """Whether both state the same of their load, and leave the same unsaid."""
    for name in _FIELDS:
        a, b = getattr(one.load, name), getattr(other.load, name)
        if (a is None) != (b is None) or (a is not None and not _are_equal(name, a, b)):
            return False
    return not asked_differences(one.asked, other.asked)


def has_stated_load(subject: Subject) -> bool:
    """Whether size, mix and how many I/Os were under way are all told, so that a load without a name can be known."""
    load = subject.load
    is_driven = load.outstanding is not None or load.workers is not None or _has_rate(subject)
    return is_driven and None not in (load.block_bytes, load.read_ratio, load.random_ratio)
