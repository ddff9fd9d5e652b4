"""Whether what fio measured is what was asked for. fio itself does not compare its rates with those asked for."""

from __future__ import annotations

import math

from storscope.bench.figures import DIRECTIONS, Interval
from storscope.domain.load import Open, Steps
from storscope.domain.units import NS_PER_S, format_rate
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
