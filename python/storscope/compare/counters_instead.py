"""What to type where one side is runs with counters beside them and the other counters alone: their counters."""

from __future__ import annotations

from collections.abc import Sequence

from storscope.compare.selection import Selector, Side
from storscope.compare.subjects import Subject


def counters_instead(runs: Side, beside: Sequence[Subject], counters: Sequence[Subject]) -> str:
    """The side of runs as what its counters are called: of an entity that the other side has, else of the busiest.

    Both are in the order of how busy they are. Empty where there are no counters beside the runs.
    """
    if not beside:
        return ""
    theirs = {subject.name: subject for subject in beside}
    shared = next((subject for subject in counters if subject.name in theirs), None)
    kind, _, name = (shared or beside[0]).name.partition(" ")
    mark = "#" if runs.selector == Selector() else ","
    side = f"'{runs.text}{mark}entity={kind}/{name}'"
    if shared is not None:
        return f"Counters compare with counters: {side} instead of {runs.text}."
    return f"Counters compare with counters: entity=KIND/NAME chooses them, as {side} instead of {runs.text}."
