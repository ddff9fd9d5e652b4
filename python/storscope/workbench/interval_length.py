"""How long the intervals of a simulated run are: so many that a warm-up shows, and so that none is of two loads."""

from __future__ import annotations

import math
from collections.abc import Sequence

from storscope.domain.units import NS_PER_MS, NS_PER_US

_INTERVALS = 200
"""Of a run with a duration: enough to find a warm-up in."""
_MOST_TO_CUT = 4096
"""So many are taken from the core to cut a run where its load changes; more take longer than they are worth."""
_LEAST_INTERVAL_NS = NS_PER_MS
"""The least that the load generator takes (crates/storscope-load/src/plan.rs)."""


def interval_ns_for(length_ns: int | None) -> int:
    """The length of an interval of a run that takes about so long: 200 of them, at least 1 ms each.

    In whole microseconds, as is the start where none is given: Python's own times have no ns.
    """
    return max(_LEAST_INTERVAL_NS, -(-(length_ns or 0) // (_INTERVALS * NS_PER_US)) * NS_PER_US)


def has_many_intervals(length_ns: int) -> bool:
    """Whether a run that takes about so long has as many as it needs."""
    return length_ns >= _INTERVALS * _LEAST_INTERVAL_NS


def cut_interval_ns(length_ns: int, changes_ns: Sequence[int]) -> int:
    """The same, or a length of which all instants at which the load changes are multiples, if there is one near."""
    plain_ns, step_ns = interval_ns_for(length_ns), math.gcd(*changes_ns)
    least = -(-step_ns // plain_ns)
    for parts in range(max(1, least), least * 5 // 2 + 1):
        if step_ns % (parts * NS_PER_US) == 0:
            found_ns = step_ns // parts
            is_sound = found_ns >= _LEAST_INTERVAL_NS and length_ns <= _MOST_TO_CUT * found_ns
            return found_ns if is_sound else plain_ns
    return plain_ns
