"""Disk groups with what their drives did, on common instants; shared by the rules that compare drives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.store.series import Series, after_gaps, median_step


@dataclass(frozen=True)
class DriveGroup:
    """The drives of one group on common instants; arrays are (drives, instants), NaN where absent."""

    whole: EntityRef
    drives: Sequence[EntityRef]
    times_ns: np.ndarray
    anew: BoolArray
    """True for the instants before which nothing was measured."""
    columns: Mapping[str, FloatArray]
    is_guess: bool
    """True when no link names the group and all drives of the system are taken as one."""


def drive_groups(case: Case) -> list[DriveGroup]:
    series = {
        entity: found
        for entity, found in case.series("disk").items()
        if found.has("queue_depth_mean") or found.has("latency_ns_mean")
    }
    members: dict[EntityRef, list[EntityRef]] = defaultdict(list)
    loose: dict[str, list[EntityRef]] = defaultdict(list)
    for drive in sorted(series):
        groups = [whole for whole in case.linked(drive, "member_of") if whole.kind == "disk_group"]
        if groups:
            members[groups[0]].append(drive)
        else:
            loose[drive.system].append(drive)
    found = [_aligned(whole, [series[drive] for drive in drives], guess=False) for whole, drives in members.items()]
    grouped = {whole.system for whole in members}
    for system, drives in loose.items():
        if system not in grouped:
            found.append(_aligned(EntityRef(system, "array", system), [series[drive] for drive in drives], guess=True))
    return found


def _aligned(whole: EntityRef, series: Sequence[Series], *, guess: bool) -> DriveGroup:
    """The drives' series on the instants that any of them has."""
    times = np.unique(np.concatenate([one.time_ns for one in series]))
    durations = np.zeros(len(times), dtype=np.int64)
    for one in series:
        place = np.searchsorted(times, one.time_ns)
        durations[place] = np.maximum(durations[place], one.duration_ns)
    columns = {}
    for name in ("queue_depth_mean", "latency_ns_mean", "ops_per_s"):
        table = np.full((len(series), len(times)), np.nan)
        for row, one in enumerate(series):
            told = np.isfinite(one[name])  # another row that begins then may tell it
            table[row, np.searchsorted(times, one.time_ns[told])] = one[name][told]
        columns[name] = table
    step_ns = max(median_step(times), *(one.interval_ns for one in series))
    anew = after_gaps(times, durations, step_ns)
    return DriveGroup(whole, [one.entity for one in series], times, anew, columns, guess)
