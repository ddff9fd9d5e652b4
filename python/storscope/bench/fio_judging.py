"""Whether what fio measured is what was asked for. fio itself does not compare its rates with those asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from storscope.bench.figures import DIRECTIONS, FLUSHES, Interval
from storscope.domain.load import Open, Steps
from storscope.domain.units import NS_PER_S, format_count, format_rate
from storscope.domain.workload import Stream, Workload

_TOLERATED_RATE = 0.02
"""A rate that is off by more than this share, and by more than chance, is not the one that was asked for."""
_SIGMAS = 4


def doubts_of_fio(workload: Workload, total: Interval) -> tuple[tuple[str, ...], bool]:
    """Why the figures may mean less than they seem to, and whether their latencies mean what they say."""
    if not total.all.ios:
        return ("no I/O completed",), False
    doubts, is_valid = [], True
    for index, stream in enumerate(workload.streams):
        doubts += _doubt_of_flushes(stream, [cell for cell in total.form["cells"] if cell["stream"] == index])
        asked = asked_ios(stream, total.duration_ns)
        if asked is None:
            continue
        made = sum(cell[name]["ios"] for cell in total.form["cells"] if cell["stream"] == index for name in DIRECTIONS)
        if abs(made - asked) <= max(_TOLERATED_RATE * asked, _SIGMAS * math.sqrt(asked)):
            continue
        rates = f"{format_rate(total.per_s(made))} of {format_rate(total.per_s(asked))} that were asked for"
        if made < asked:
            doubts.append(f"fio made {rates}: the load is above what the storage does, and no latency tells the wait.")
            is_valid = False
        else:
            doubts.append(f"fio made {rates}: its arrivals came too fast.")
    return tuple(doubts), is_valid


def _doubt_of_flushes(stream: Stream, cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """fio flushes by what it has sent: in a queue more often than after every n-th write."""
    if stream.flush is None:
        return []
    writes, flushes = (sum(cell[name]["ios"] for cell in cells if cell.get(name)) for name in ("writes", FLUSHES))
    asked = writes / stream.flush.every
    # Of each process and file the last writes have none yet, or no longer.
    if abs(flushes - asked) <= max(_TOLERATED_RATE * asked, 1 + stream.workers * max(1, len(cells))):
        return []
    made = f"{format_count(flushes)} flushes in {format_count(writes)} writes"
    much = "more" if flushes > asked else "less"
    return [f"fio made {made}, {much} than the one after every {format_count(stream.flush.every)} that was asked for"]


def asked_ios(stream: Stream, duration_ns: int) -> float | None:
    """Arrivals that an open loop asks for in that time; None of a closed loop."""
    if isinstance(stream.load, Open):
        return stream.load.rate_per_s * duration_ns / NS_PER_S
    if not isinstance(stream.load, Steps):
        return None
    asked, left_ns = 0.0, duration_ns
    for step in stream.load.steps:
        asked += step.rate_per_s * min(step.duration_ns, max(0, left_ns)) / NS_PER_S
        left_ns -= step.duration_ns
    return asked
