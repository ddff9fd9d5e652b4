"""Sequential writes that fill stripes with parity only together, where nothing in the design puts them together.

Without a write cache each write of a part of a stripe reads what it needs for the parity, one by one. Linux md keeps
stripes for a while (`stripe_cache_size`) and joins what arrives for one meanwhile; so do controllers with a cache of
their own, which a design says as `[cache.write]`. Eight 7,200 rpm drives in RAID 5, eight writes of 64 KiB outstanding:
79 MB/s by parts, 804 MB/s in whole stripes (simulated), and what gathers comes out between the two. One write at a time
is not doubted: md does not wait for the next of direct ones (`REQ_SYNC` in drivers/md/raid5.c, recalled).
"""

from __future__ import annotations

from typing import Any, Final

from storscope.domain.access import AccessSpec, Copy, Mix
from storscope.domain.load import Closed
from storscope.domain.units import format_bytes
from storscope.domain.workload import Stream
from storscope.sim.group_space import GroupSpace
from storscope.sim.simulation import SimulationPlan

_MOST_RANDOM: Final = 0.1
"""From this share of random offsets on, runs are too short to fill stripes (choice of ours)."""


def doubts_of_ungathered_stripes(plan: SimulationPlan) -> tuple[str, ...]:
    """A sentence for each group with parity and no write cache that several sequential writes at a time go to."""
    form, attachments = plan.design.form, plan.design.attachments
    caches = (form["cache"] or {}).get("write") is not None
    volumes = {one["name"]: one for one in form["volumes"]}
    said = []
    for group, space in zip(form["groups"], plan.design.spaces, strict=True):
        stripe_bytes = group["segment_bytes"] * space.data
        named = {
            f"{stream.name or 'the stream'} of {format_bytes(size_bytes)}": None
            for stream in plan.workload.streams
            for target, size_bytes in _written(stream, len(attachments))
            if size_bytes < stripe_bytes
            and _is_ungathered(volumes[attachments[target].volume], group["name"], caches=caches)
        }
        if space.parity and named:
            said.append(_sentence(space, stripe_bytes, tuple(named)))
    return tuple(said)


def _sentence(space: GroupSpace, stripe_bytes: int, streams: tuple[str, ...]) -> str:
    stripe = format_bytes(stripe_bytes)
    return (
        f"Sequential writes ({', '.join(streams)}) go to {space.name} without a write cache, and each is a part of a "
        f"stripe of {stripe} read, changed and written for itself. What joins some of them to whole stripes, as "
        f"Linux md does, writes several times as much: writes of {stripe} show the most that can be, and [cache.write] "
        "what a controller with a cache makes of them."
    )


def _is_ungathered(volume: dict[str, Any], group: str, *, caches: bool) -> bool:
    return bool(volume["group"] == group and not (caches and volume["write_back"]))


def _written(stream: Stream, targets: int) -> list[tuple[int, int]]:
    """The targets a stream writes to in order, several writes at a time, and the size of each, in bytes."""
    if isinstance(stream.load, Closed) and stream.load.outstanding == 1:
        return []
    if isinstance(stream.access, Copy):
        in_order = stream.access.random_share < _MOST_RANDOM
        return [(stream.access.destination, stream.access.size_bytes)] if in_order else []
    assert isinstance(stream.access, Mix)
    sizes = [line.size_bytes for line in stream.access.lines if _writes_in_order(line)]
    return [(target, size) for target in stream.targets or range(targets) for size in sizes]


def _writes_in_order(line: AccessSpec) -> bool:
    return line.share > 0 and line.read_share < 1 and line.random_share < _MOST_RANDOM
