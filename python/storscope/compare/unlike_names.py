"""What to type where no entity of one side has the name of one of the other, as of two tools or of two arrays."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from storscope.compare.selection import Selector, Side
from storscope.compare.subjects import Subject

_PATTERN_SIGNS = "*?|"
"""Of a name that has one, others may be meant, too."""


def one_by_one(sides: tuple[Side, Side], before: Sequence[Subject], after: Sequence[Subject]) -> str:
    """How to compare one with one: the busiest of a kind that both sides have, else the busiest. Busiest first."""
    said = "No entity of one side was found on the other. Two of unlike names are compared where each side names one"
    chosen = list(zip(sides, _busiest(before, after), strict=True))
    if any(side.selector.entity or set(_PATTERN_SIGNS) & set(subject.name) for side, subject in chosen):
        return f"{said}: entity=KIND/NAME."
    words = " ".join(_chosen(side, subject) for side, subject in chosen)
    return f"{said}, as in: storscope compare {words}"


def _busiest(before: Sequence[Subject], after: Sequence[Subject]) -> tuple[Subject, Subject]:
    for one in before:
        for other in after:
            if _kind(one) == _kind(other) != "host":
                return one, other
    return before[0], after[0]


def _kind(subject: Subject) -> str:
    return subject.name.partition(" ")[0]


def _chosen(side: Side, subject: Subject) -> str:
    mark = "#" if side.selector == Selector() else ","
    return shlex.quote(f"{side.text}{mark}entity={subject.name.replace(' ', '/', 1)}")
