"""When the counters of both sides were recorded: sides that changed places turn every verdict round.

Of running systems alone. Runs of benchmarks are compared in any order, and a simulated run has a clock of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from storscope.compare.matching import Pair
from storscope.compare.subjects import Subject
from storscope.domain.units import NS_PER_S, PLACEHOLDER_BEFORE_NS, format_count, format_time

_Span = tuple[int, int]
"""From when to when, in nanoseconds since 1970."""


def notes_on_times(pairs: Sequence[Pair]) -> list[str]:
    """Where the side after is the earlier one, or captures of both sides have the same times."""
    timed = [(pair, found) for pair in pairs if (found := _spans(pair))]
    if not timed:
        return []
    begins_ns = min(before[0][0] for _, (before, _) in timed)
    ends_ns = max(end for _, (_, after) in timed for _, end in after)
    if ends_ns <= begins_ns:
        when = f"it ends {format_time(ends_ns)}, the side before begins {format_time(begins_ns)}"
        return [f"The side after is the earlier one: {when}. If they changed places, so did better and worse."]
    shared = [both for pair, (one, other) in timed if _are_apart(pair) and (both := _common(one, other))]
    if not shared:
        return []
    counted = "1 entity is" if len(shared) == 1 else f"{format_count(len(shared))} entities are"
    when = f"{format_time(min(begin for begin, _ in shared))} to {format_time(max(end for _, end in shared))}"
    return [f"{counted} in captures of both sides from {when}: what is in both makes them alike, or a clock is wrong."]


def _are_apart(pair: Pair) -> bool:
    """Whether the sides are not the same captures: of those it is told already."""
    return pair.before[0].capture != pair.after[0].capture


def _spans(pair: Pair) -> tuple[list[_Span], list[_Span]] | None:
    """The intervals of one entity on either side, where both have times; else None."""
    before, after = pair.before[0], pair.after[0]
    if before.is_run or before.is_simulated or after.is_simulated or before.key != after.key:
        return None
    one, other = _intervals(before), _intervals(after)
    return (one, other) if one and other else None


def _intervals(subject: Subject) -> list[_Span]:
    """In the order of time. None where the source has no times: those from 1970 only keep its order."""
    found = subject.measured().intervals
    if found is None:
        return []
    spans = [
        (time, time + int(length_s * NS_PER_S))
        for time, length_s in zip(found.time_ns, found.duration_s, strict=True)
        if time is not None and time >= PLACEHOLDER_BEFORE_NS
    ]
    return sorted(spans)


def _common(one: Sequence[_Span], other: Sequence[_Span]) -> _Span | None:
    """From the first instant that lies in an interval of both to the last; None where none does."""
    found: list[_Span] = []
    number = 0
    for begin, end in one:
        while number < len(other) and other[number][1] <= begin:
            number += 1
        if number < len(other) and other[number][0] < end:
            found.append((max(begin, other[number][0]), min(end, other[number][1])))
    return (found[0][0], max(end for _, end in found)) if found else None
