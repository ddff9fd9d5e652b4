"""Saturation told apart from bursts.

A saturated entity stays beyond its knee: load runs along a plateau while latency and queue stay high. A burst goes
over for a few intervals and comes back, and latency with it. The two need different remedies (less load or more
hardware; or smoothing), so they are never reported as one.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from storscope.domain.arrays import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class Overload:
    """How the time beyond the knee is made up."""

    kind: str
    """'none', 'burst' or 'saturated'."""
    share: float
    """Share of the intervals beyond the knee."""
    longest_ns: int
    """Longest uninterrupted stay beyond it."""
    runs: int
    first: int
    """Index of the longest stay's first interval; -1 when there is none."""
    last: int
    plateau_spread: float
    """Deviation over mean of the load in the longest stay: small on a plateau; NaN when there is none."""


def judge_overload(
    load: FloatArray,
    latency_ns: FloatArray,
    *,
    knee: float,
    latency_limit_ns: float,
    step_ns: int,
    sustained_ns: int,
    intervals_min: int = 5,
    spread_max: float = 0.25,
    anew: BoolArray | None = None,
) -> Overload:
    """Sorts the intervals beyond the knee (load at least 0.95 knee, latency at least the limit) into stays.

    The longest stay is saturation when it lasts `sustained_ns` and `intervals_min` intervals with a load that varies by
    at most `spread_max` (deviation over mean); one interval below does not end a stay, time that was not measured does:
    `anew` is true for intervals that do not follow on the one before.
    """
    beyond = (np.nan_to_num(load) >= 0.95 * knee) & (np.nan_to_num(latency_ns) >= latency_limit_ns)
    stays = runs_of(bridged(beyond, 1, anew), anew)
    if not stays:
        return Overload("none", 0.0, 0, 0, -1, -1, np.nan)
    first, last = max(stays, key=lambda stay: stay[1] - stay[0])
    inside = load[first : last + 1]
    spread = float(np.nanstd(inside) / np.nanmean(inside))
    length = last - first + 1
    lasting = length * step_ns >= sustained_ns and length >= intervals_min
    kind = "saturated" if lasting and spread <= spread_max else "burst"
    return Overload(kind, float(beyond.mean()), length * step_ns, len(stays), first, last, spread)


def bridged(flags: BoolArray, gap: int, anew: BoolArray | None = None) -> BoolArray:
    """Flags with every gap of at most `gap` false values between true ones closed, but none over a row of `anew`."""
    result = flags.copy()
    stays = runs_of(flags, anew)
    for (_, end), (start, _) in itertools.pairwise(stays):
        measured = anew is None or not anew[end + 1 : start + 1].any()
        if start - end - 1 <= gap and measured:
            result[end + 1 : start] = True
    return result


def runs_of(flags: BoolArray, anew: BoolArray | None = None) -> list[tuple[int, int]]:
    """(first, last) index of every run of true values; a row of `anew` does not follow on the one before it in time."""
    starts, ends = flags.copy(), flags.copy()
    apart = np.zeros(max(len(flags) - 1, 0), dtype=bool) if anew is None else anew[1:]
    starts[1:] &= ~flags[:-1] | apart
    ends[:-1] &= ~flags[1:] | apart
    return list(zip(np.flatnonzero(starts).tolist(), np.flatnonzero(ends).tolist(), strict=True))
