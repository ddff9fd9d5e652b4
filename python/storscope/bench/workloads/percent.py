"""Shares as whole per cent that add up to 100, which Iometer and fio want."""

from __future__ import annotations

import math
from collections.abc import Sequence

from storscope.bench.workloads.loss import LossList


def percents(shares: Sequence[float], total: int = 100) -> list[int]:
    """Integers in proportion to `shares` that add up to `total`, by largest remainders; each is off by less than 1."""
    whole = math.fsum(shares)
    # What is an integer but for rounding errors is one, so that equal shares stay equal.
    exact = [round(total * share / whole, 9) for share in shares]
    found = [math.floor(part) for part in exact]
    order = sorted(range(len(exact)), key=lambda at: (found[at] - exact[at], at))
    for at in order[: total - sum(found)]:
        found[at] += 1
    return found


def whole_percent(share: float, where: str, what: str, losses: LossList) -> int:
    """A share as whole per cent; what is rounded is a loss."""
    percent = round(100 * share)
    if abs(percent - 100 * share) > 1e-6:
        losses.approximated(where, f"{100 * share:.4g} % {what}", f"rounded to {percent} %")
    return percent
