"""The times of a part of a run in which a component is used to the full and nearly all waiting happens.

What is used to the full for a third of the time is used to a third on average, and to the full for everybody who was
there. Bursts of a closed loop, of a trace, and what a rate step left undone are not cut by changes; the marks of the
array (marks.rs) are as fine as the intervals of a run, and tell them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from storscope.domain.arrays import BoolArray, FloatArray
from storscope.sim.used import FULL, works
from storscope.sim.window import Report, together

_MOSTLY = 0.5
"""Share of the time of I/Os that these times have at least (ours)."""
_CONTRAST = 4.0
"""I/Os that are there at a time then, over those at other times, at least (ours). Where arrivals are even, a component
that is used to 75 % is used more between some marks by chance, with two to three times as many I/Os as at others."""
_LEAST_DONE = 100
"""What a component has to do between two marks, for how much it is used to be no chance: of so many exponential
services the time deviates by a tenth (ours)."""
_USED_OF_DRIVE, _DONE_OF_DRIVE = 1, 3
_BUSY_OF_STATION, _DONE_OF_STATION = 0, 2
"""Columns of what marks have of drives and of all else (marks.rs)."""


def crowded_times(report: Report, part: Report) -> tuple[Report, float] | None:
    """The times in which a component is used to the full, put together, and which share of the time of I/Os they have.

    Of several it is the component with the greatest share. None where it is used so always or never, or where about as
    many I/Os are there at other times.
    """
    start_ns, end_ns = part["start_ns"], part["start_ns"] + part["duration_ns"]
    marks = [mark for mark in report["marks"] if start_ns <= mark["time_ns"] <= end_ns]
    pieces = [(early, late) for early, late in pairwise(marks) if late["time_ns"] > early["time_ns"]]
    if len(pieces) < 2:
        return None
    lengths = np.array([late["time_ns"] - early["time_ns"] for early, late in pieces], dtype=np.float64)
    there = np.array([_there_ns(early, late) for early, late in pieces], dtype=np.float64)
    full = max(_full(part, pieces, lengths), key=lambda one: float(there[one].sum()), default=None)
    if full is None or full.all() or not _is_crowded(there, lengths, full):
        return None
    chosen = [piece for piece, is_full in zip(pieces, full, strict=True) if is_full]
    return together(report, chosen), float(there[full].sum() / there.sum())


def _is_crowded(there: FloatArray, lengths: FloatArray, full: BoolArray) -> bool:
    within, without = (float(there[one].sum()) for one in (full, ~full))
    if within < _MOSTLY * (within + without) or not within:
        return False
    return bool(within / lengths[full].sum() >= _CONTRAST * without / lengths[~full].sum())


def _there_ns(early: Report, late: Report) -> int:
    """The time that I/Os spent between two marks."""
    return sum(
        sum(map(sum, after["spent"])) - sum(map(sum, before["spent"]))
        for before, after in zip(early["targets"], late["targets"], strict=True)
    )


def _full(part: Report, pieces: Sequence[tuple[Report, Report]], lengths: FloatArray) -> list[BoolArray]:
    """Of each component, and of the drives of each group together, between which marks it is used to the full."""
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, one in enumerate(part["components"]):
        if works(one):
            members[one["kind"], one["group"] or one["name"]].append(index)
    used = _counted(pieces, _USED_OF_DRIVE, _BUSY_OF_STATION)
    done = _counted(pieces, _DONE_OF_DRIVE, _DONE_OF_STATION)
    servers = np.array([1 if one["kind"] == "drive" else one["servers"] for one in part["components"]])
    found = []
    for places in members.values():
        ratio = (used[:, places] / servers[places]).mean(axis=1) / lengths
        found.append((ratio >= FULL) & (done[:, places].sum(axis=1) >= _LEAST_DONE))
    return found


def _counted(pieces: Sequence[tuple[Report, Report]], of_drives: int, of_stations: int) -> FloatArray:
    """What the components, in the order of the report, counted in a column between two marks: a row for each two."""
    columns = of_drives, of_stations
    return np.array([_row(late, *columns) - _row(early, *columns) for early, late in pieces])


def _row(mark: Report, of_drives: int, of_stations: int) -> FloatArray:
    columns = [mark[name][:, column] for name, column in (("drives", of_drives), ("stations", of_stations))
               if len(mark[name])]  # fmt: skip
    return np.concatenate(columns).astype(np.float64)
