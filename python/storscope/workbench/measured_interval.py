"""How long the recorded intervals of a measurement are, so that a long one does not fill the disk below the store.

An interval holds whole distributions: one of a second each would be gigabytes in a day.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from storscope.bench.goals import FixedTime, Goal, Precision, SteadyState
from storscope.domain.load import Steps
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Workload

_LENGTHS_S: Final = (1, 2, 5, 10, 20, 30)
"""Each divides a minute, as rounds last. What a killed run loses, and how long a live line stands, stays short."""
_MOST: Final = 600
"""So many are cut shorter than the longest."""
_EARLY: Final = 6
"""What ends when a figure is sure enough mostly takes less than so large a part of the time that it may take."""
_BYTES_OF_PART: Final = 40_000
"""Of a stream on a target in an interval of a second, while the run lasts. Measured on a virtual disk: 35 KB of each
stream of oltp at 52,000 IOPS, 42 KB of vdi-steady at 57,000 IOPS. Longer intervals have more buckets, up to twice."""


def measured_interval_ns(goal: Goal, workload: Workload) -> int:
    """A second up to ten minutes, and up to 30 s for what takes longer; rounds, ramps and rate steps are multiples."""
    length_ns = goal.longest_ns // _EARLY if isinstance(goal, Precision) else goal.longest_ns
    marks_ns = [mark for mark in _marks_ns(goal, workload) if mark]
    fitting = [one for one in _LENGTHS_S if not any(mark % (one * NS_PER_S) for mark in marks_ns)] or [1]
    enough = [one for one in fitting if length_ns <= _MOST * one * NS_PER_S]
    return (enough[0] if enough else fitting[-1]) * NS_PER_S


def room_bytes(goal: Goal, workload: Workload, interval_ns: int, targets: int) -> int:
    """About what the longest run takes beside the store while it lasts: right to a factor of two or three."""
    parts = sum(len(stream.targets) or targets for stream in workload.streams)
    return -(-goal.longest_ns // interval_ns) * parts * _BYTES_OF_PART


def _marks_ns(goal: Goal, workload: Workload) -> Iterator[int]:
    """Where intervals should end, too."""
    if isinstance(goal, SteadyState):
        yield goal.round_ns
    if isinstance(goal, FixedTime | Precision):
        yield goal.ramp_ns
    for stream in workload.streams:
        if isinstance(stream.load, Steps):
            yield from (step.duration_ns for step in stream.load.steps)
