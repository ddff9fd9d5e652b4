"""What a drive that is given as a curve does not know of disks: where a request goes, and which copy is nearer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from storscope.domain.units import format_ratio
from storscope.sim.simulation import SimulationPlan

_MOST_OF_A_DISK_PER_S: Final = 400.0
"""A curve that begins below is one of a disk: one request at a time the quickest do 200 random reads a second, and in a
short stroke half as many more; flash does thousands (choice of ours in between)."""
_ALL_OF_IT: Final = 0.8
"""From this share of the space on a short stroke makes reads less than some 5 % quicker (docs/drives.md)."""


def doubts_of_curves(plan: SimulationPlan) -> tuple[str, ...]:
    """Sentences for each group of disks that are given as a curve, where that makes a difference."""
    form = plan.design.form
    said: list[str] = []
    for group, space in zip(form["groups"], plan.design.spaces, strict=True):
        drive = form["drives"][group["drive"]]
        if not _is_disk(drive):
            continue
        used = space.volumes_bytes / space.usable_bytes
        head = f"The drives of group {group['name']} are given as a curve, which does not know"
        if used < _ALL_OF_IT:
            said.append(
                f"{head} where a request goes: volumes use {format_ratio(used)} of the group, and within so short a "
                "stroke disks are quicker. Fit a mechanical drive to the measurements (storscope fit drive)."
            )
        elif space.copies > 1:
            said.append(
                f"{head} which copy is nearer to its head: reads of mirrors are told up to a fifth too slow. Fit a "
                "mechanical drive to the measurements (storscope fit drive)."
            )
    return tuple(said)


def _is_disk(drive: Mapping[str, Any]) -> bool:
    if drive["kind"] != "curve":
        return False
    first = min(drive["reads"], key=lambda point: float(point["qd"]))
    return float(first["iops"]) / float(first["qd"]) < _MOST_OF_A_DISK_PER_S
