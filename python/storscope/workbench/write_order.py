"""In which order a drive with a write cache writes it back: what curves over a whole drive do not tell.

A drive that takes what the arm reaches first of some 30 dirty extents, and one that goes through some 128 in the order
of their addresses, make as many writes over the whole drive. Within a part of it the second gains less, since it saves
seeks only and not the half turn: 16, 28 and 38 % fewer in RAID 10 within a half, a quarter and a tenth
(docs/arrays.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from storscope.domain.access import Mix
from storscope.domain.units import format_ratio
from storscope.domain.workload import Workload
from storscope.sim.fitting import FittedDrive
from storscope.sim.simulation import SimulationPlan

_MOST_OF_A_DRIVE = 0.6
"""With two thirds of the addresses or more the orders are less than a fifth apart."""
_LEAST_USED = 0.9
"""Drives with time to spare are not what bounds the writes."""
_LEAST_RANDOM = 0.1
"""Of the writes of a workload's line: sequential ones join in the cache, and their order is given."""
_KEY = "write_cache.window"


def order_of_cached_writes(fitted: FittedDrive) -> str | None:
    """The note on a drive whose window of the write cache was fitted to a grid; nothing of others."""
    if all(one["key"] != _KEY for one in fitted.numbers):
        return None
    return (
        "In which order the drive writes its cache back is not shown by writes over the whole drive: by what is "
        "nearest, as assumed, or by address (write_cache.order). By address it can make as many there, but up to 40 % "
        "fewer within a part of it; writes of a short stroke show which. Standard errors are of the measurements' "
        "chance, not of the model."
    )


def doubts_of_write_order(plan: SimulationPlan, shown: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence for each group whose drives are busy with cached random writes to a part of them.

    `shown` is a report of the run.
    """
    if not _writes_randomly(plan.workload):
        return ()
    said = []
    for group, space in zip(plan.design.form["groups"], plan.design.spaces, strict=True):
        cache = plan.design.form["drives"].get(group["drive"], {}).get("write_cache")
        share = space.volumes_bytes / space.usable_bytes if space.usable_bytes else 1.0
        if cache is None or cache["window"] == 1 or cache["order"] != "nearest" or share > _MOST_OF_A_DRIVE:
            continue
        if any(_is_busy_writing(one, group["name"]) for one in shown["components"]):
            said.append(
                f"The drives of {group['name']} are taken to write back by what is nearest, for which only whole "
                f"drives were measured, and the volumes use {format_ratio(share)} of them: if they go by address "
                "(write_cache.order), they may make up to 40 % fewer writes there. Simulate that, too (docs/drives.md)."
            )
    return tuple(said)


def _is_busy_writing(component: Mapping[str, Any], group: str) -> bool:
    if component["kind"] != "drive" or component["group"] != group or component["operations"] is None:
        return False
    return bool(component["operations"][1]) and component["used_ratio"] >= _LEAST_USED


def _writes_randomly(workload: Workload) -> bool:
    return any(
        line.read_share < 1 and line.random_share >= _LEAST_RANDOM
        for stream in workload.streams
        if isinstance(stream.access, Mix)
        for line in stream.access.lines
    )
