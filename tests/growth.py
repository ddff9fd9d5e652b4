"""How the work for a text grows with its length, told by processor time: other programs make it no longer."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

TIMES_LONGER = 8


def growth(work: Callable[[str], object], text_of: Callable[[int], str], parts: int) -> float:
    """How many times as long `parts` of a text take as an eighth of them: 8 if each takes the same, 64 if all see all.

    Each is done three times and the shortest counts.
    """
    short, long = text_of(parts // TIMES_LONGER), text_of(parts)
    return _shortest_s(work, long) / _shortest_s(work, short)


def _shortest_s(work: Callable[[str], object], text: str) -> float:
    took = []
    for _ in range(3):
        began = process_time()
        work(text)
        took.append(process_time() - began)
    return min(took)
