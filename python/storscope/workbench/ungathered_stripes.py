"""Sequential writes that fill stripes with parity only together, where nothing in the design puts them together.

Without a write cache each write of a part of a stripe reads what it needs for the parity, one by one. Linux md keeps
stripes for a while (`stripe_cache_size`) and joins what arrives for one meanwhile; so do controllers with a cache of
their own, which a design says as `[cache.write]`. Eight 7,200 rpm drives in RAID 5, eight writes of 64 KiB outstanding:
79 MB/s by parts, 804 MB/s in whole stripes (simulated), and what gathers comes out between the two. Of writes that are
longer than a stripe, or as long and begin within one, the ends are parts: one and a half stripes each make 230 MB/s.

One write at a time is not doubted: md does not wait for the next of direct ones (`REQ_SYNC` in drivers/md/raid5.c,
recalled).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from storscope.domain.access import AccessSpec, Copy, Mix
from storscope.domain.load import Closed
from storscope.domain.units import format_bytes
from storscope.domain.workload import Stream
from storscope.sim.group_space import GroupSpace
from storscope.sim.simulation import SimulationPlan

_MOST_RANDOM: Final = 0.1
"""From this share of random offsets on, runs are too short to fill stripes (choice of ours)."""
_LONG_STRIPES: Final = 16
"""Of so many stripes on, whole ones bring a third at most (five and eight 7,200 rpm drives, simulated)."""


@dataclass(frozen=True)
class _Writes:
    """What a stream writes in order to a target."""

    target: int
    start_bytes: int
    """Where in the target the first one goes."""
    size_bytes: int
    step_bytes: int
    """From where one begins to where the next one does."""


def doubts_of_ungathered_stripes(plan: SimulationPlan) -> tuple[str, ...]:
    """A sentence for each group with parity and no write cache that several sequential writes at a time go to."""
    form, attachments = plan.design.form, plan.design.attachments
    caches = (form["cache"] or {}).get("write") is not None
    volumes = {one["name"]: one for one in form["volumes"]}
    starts = _starts(form["volumes"])
    said = []
    for group, space in zip(form["groups"], plan.design.spaces, strict=True):
        stripe_bytes = group["segment_bytes"] * space.data
        named: dict[str, None] = {}
        for stream in plan.workload.streams:
            for writes in _written(stream, len(attachments)):
                volume = volumes[attachments[writes.target].volume]
                if not _is_ungathered(volume, group["name"], caches=caches):
                    continue
                begins_within = (starts[volume["name"]] + writes.start_bytes) % stripe_bytes > 0
                if _leaves_parts(writes, stripe_bytes, begins_within=begins_within):
                    named[_name(stream, writes, begins_within=begins_within)] = None
        if space.parity and named:
            said.append(_sentence(space, stripe_bytes, tuple(named)))
    return tuple(said)


def _starts(volumes: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Where in its group's space each volume begins: after the one before, unless it says where."""
    ends: dict[str, int] = {}
    starts = {}
    for volume in volumes:
        start = volume["start_bytes"]
        starts[volume["name"]] = ends.get(volume["group"], 0) if start is None else start
        ends[volume["group"]] = starts[volume["name"]] + volume["size_bytes"]
    return starts


def _leaves_parts(writes: _Writes, stripe_bytes: int, *, begins_within: bool) -> bool:
    """Whether writes begin or end within stripes, and what is so written is much of them."""
    in_parts = begins_within or writes.size_bytes % stripe_bytes > 0 or writes.step_bytes % stripe_bytes > 0
    return in_parts and writes.size_bytes < _LONG_STRIPES * stripe_bytes


def _name(stream: Stream, writes: _Writes, *, begins_within: bool) -> str:
    first = ", the first within a stripe" if begins_within else ""
    return f"{stream.name or 'the stream'} of {format_bytes(writes.size_bytes)}{first}"


def _sentence(space: GroupSpace, stripe_bytes: int, streams: tuple[str, ...]) -> str:
    stripe = format_bytes(stripe_bytes)
    return (
        f"Sequential writes ({'; '.join(streams)}) go to {space.name} without a write cache, and what of each is a "
        f"part of a stripe of {stripe} is read, changed and written for itself. What joins such parts to whole stripes"
        f", as Linux md does, writes up to several times as much: writes of {stripe}, from where a stripe begins, show "
        "the most that can be, and [cache.write] what a controller with a cache makes of them."
    )


def _is_ungathered(volume: dict[str, Any], group: str, *, caches: bool) -> bool:
    return bool(volume["group"] == group and not (caches and volume["write_back"]))


def _written(stream: Stream, targets: int) -> Iterator[_Writes]:
    """What a stream writes in order to its targets, several writes at a time."""
    if isinstance(stream.load, Closed) and stream.load.outstanding == 1:
        return
    access = stream.access
    if isinstance(access, Copy):
        if access.random_share < _MOST_RANDOM:
            size = access.size_bytes
            yield _Writes(access.destination, access.destination_start_bytes, size, size)
        return
    assert isinstance(access, Mix)
    for target in stream.targets or range(targets):
        for line in filter(_writes_in_order, access.lines):
            size, align = line.size_bytes, line.effective_align_bytes
            yield _Writes(target, stream.region.start_bytes, size, -(-size // align) * align)


def _writes_in_order(line: AccessSpec) -> bool:
    return line.share > 0 and line.read_share < 1 and line.random_share < _MOST_RANDOM
