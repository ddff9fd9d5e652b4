"""Repetitions that were taken in turn (A B A B A B): which run of one side makes a couple with which of the other.

A slow drift of the storage is the same for both of a couple, so that it falls out of their difference. One run more on
one side than on the other, as A B A B A has, is in no couple: it is left out of what is compared, and that is said.
What goes to and fro and makes no such couples, having two runs more on a side say, is compared as runs, which is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from storscope.compare.matching import Pair
from storscope.compare.subjects import Subject

_COUPLES_MIN = 3
_CHANGES_MIN = 4
"""Of side, in the order of time, from which on runs look as if they were meant to be in turn: A A B A B B A is."""
_SHOWN = 12
"""Of their order, so that a sentence remains one."""

_Dated = tuple[int, int, int]
"""When a run began, its side (0, 1), its place among the runs of its side."""


def in_couples(pair: Pair) -> tuple[list[int], list[int]] | None:
    """The runs of both sides in the order of their couples, next to each other in time; None of runs not in turn.

    Where one side has one run more, that one is left out which leaves the runs of the couples nearest to each other.
    """
    dated = _dated(pair)
    if dated is None or min(len(pair.before), len(pair.after)) < _COUPLES_MIN:
        return None
    ordered = _couples_of(dated)
    if ordered is None:
        return None
    return [index for _, side, index in ordered if side == 0], [index for _, side, index in ordered if side == 1]


def about_couples(pair: Pair) -> list[str]:
    """Which run is in no couple, or why runs that look as if they were taken in turn are not compared so; sentences."""
    dated = _dated(pair)
    groups = (pair.before, pair.after)
    if dated is None or min(map(len, groups)) < _COUPLES_MIN:
        return []
    couples = in_couples(pair)
    if couples is None:
        return _why_not(dated, groups)
    for side, group, coupled in zip(("before", "after"), groups, couples, strict=True):
        if left := set(range(len(group))) - set(coupled):
            counts = f"{len(group)} runs {side} and {len(coupled)} on the other side"
            alone = f"'{group[left.pop()].key}' has no partner and is left out of the figures"
            return [f"Taken in turn, {counts}: couples are compared; {alone}."]
    return []


def _why_not(dated: Sequence[_Dated], groups: tuple[list[Subject], list[Subject]]) -> list[str]:
    sides = [side for _, side, _ in sorted(dated)]
    is_simulated = any(run.is_simulated for group in groups for run in group)  # a simulated array does not drift
    if is_simulated or sum(one != other for one, other in pairwise(sides)) < _CHANGES_MIN:
        return []
    order = " ".join("AB"[side] for side in sides[:_SHOWN]) + (" ..." if len(sides) > _SHOWN else "")
    counts = f"({order}; A is before), {len(groups[0])} before and {len(groups[1])} after"
    how = "are compared as if in any order, so that a slow drift counts as chance"
    return [f"The runs went to and fro {counts}, but make no couples of one of each side: they {how}."]


def _dated(pair: Pair) -> list[_Dated] | None:
    """All runs of both sides; None where a time is not known."""
    found = []
    for side, group in enumerate((pair.before, pair.after)):
        for index, run in enumerate(group):
            if run.time_ns is None:
                return None
            found.append((run.time_ns, side, index))
    return found


def _couples_of(dated: Sequence[_Dated]) -> list[_Dated] | None:
    """The runs in the order of time, one of each side in every couple; one too many of a side is left out."""
    ordered = sorted(dated, key=lambda run: run[0])
    if len(ordered) % 2 == 0:
        return ordered if _are_couples(ordered) else None
    if abs(2 * sum(side for _, side, _ in ordered) - len(ordered)) > 1:
        return None
    without = ([*ordered[:place], *ordered[place + 1 :]] for place in reversed(range(len(ordered))))
    fitting = (runs for runs in without if _are_couples(runs))
    return min(fitting, key=_apart_ns, default=None)


def _are_couples(ordered: Sequence[_Dated]) -> bool:
    return all(one[1] != other[1] for one, other in zip(ordered[::2], ordered[1::2], strict=True))


def _apart_ns(ordered: Sequence[_Dated]) -> int:
    """How far the runs of its couples are from each other, all together."""
    return sum(other[0] - one[0] for one, other in zip(ordered[::2], ordered[1::2], strict=True))
