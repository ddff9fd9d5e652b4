"""Time within a capture in which nothing was recorded of a system: what happened then, nobody can judge.

A host that hangs records nothing, so that its worst minutes are those that are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storscope.domain.units import NS_PER_S
from storscope.store.series import Series

_STEPS_MIN = 5
"""Steps without a record from which it is a hole: a sample or two are lost by any tool (ours)."""
_HOLE_MIN_NS = 30 * NS_PER_S
"""Shorter ones are not told, however often was recorded (ours)."""


@dataclass(frozen=True)
class Hole:
    """A stretch of time without a record."""

    start_ns: int
    end_ns: int


def holes(series: Sequence[Series]) -> list[Hole]:
    """The stretches between the first and the last record of some entities in which none of them has one, in order."""
    distinct = {one.time_ns.tobytes(): one for one in series if len(one)}.values()
    if not distinct:
        return []
    step_ns = max(max(1, one.interval_ns) for one in distinct)
    starts = np.concatenate([one.time_ns for one in distinct])
    lengths = np.concatenate([np.where(one.duration_ns > 0, one.duration_ns, one.interval_ns) for one in distinct])
    order = np.argsort(starts, kind="stable")
    starts = starts[order]
    ends = np.maximum.accumulate(starts + lengths[order])
    gaps = np.flatnonzero(starts[1:] - ends[:-1] > max(_STEPS_MIN * step_ns, _HOLE_MIN_NS))
    return [Hole(int(ends[at]), int(starts[at + 1])) for at in gaps]
