"""Sequential readers on mirrors that may come to have a copy each for themselves, at a time that is chance.

With `read_choice = "nearest"` a deep reader takes whichever copy of a pair is idle, or was read nearest. As many
readers as there are copies, or fewer, then read all copies by turns, with a seek for most requests, until by chance
each has found copies of its own on every pair. That lasts, since from then on what is nearest is always its own, and
all go at the rate of the media. Two readers of 1 MiB, 16 outstanding each, on 24 drives of 7,200 rpm in segments of 64
KiB make 975 MB/s before and 2,760 after, which three of four seeds do not come to in five minutes, and the fourth after
30 s (simulated; `docs/arrays.md`). A single figure then stands for a state, not for the array. More readers than copies
cannot do it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from storscope.bench.samples import Sample
from storscope.domain.access import Mix
from storscope.domain.load import Closed
from storscope.domain.units import NS_PER_S, format_bandwidth
from storscope.domain.workload import Stream
from storscope.sim.simulation import SimulationPlan

_MOST_RANDOM: Final = 0.1
"""From this share of random offsets on a reader has no copy of its own to keep to (choice of ours)."""
_LEAST_USED: Final = 0.4
"""Drives used for less are waited for by few, as behind a link."""
_LEAST_OF_MEDIA: Final = 0.9
"""Of the rate of the inner zone: drives at which requests queue, and that read less, seek between readers."""
_MUCH: Final = 1.4
"""The rate after each reader has found its copies is more than so many times the one before."""
_ENDS: Final = 0.1
"""Share of the run at either end that is compared."""


def doubts_of_mirrored_readers(
    plan: SimulationPlan, samples: Sequence[Sample], shown: Mapping[str, Any]
) -> tuple[str, ...]:
    """A sentence for each group of mirrors whose readers had not found their copies, or did so during the run.

    `samples` are of the whole run, `shown` is a report of the part that counts.
    """
    readers, deep = _readers(plan)
    said = []
    for group in plan.design.form["groups"]:
        name, count, copies = group["name"], readers.get(group["name"], 0), group["copies"] or 2
        if not _is_of_mirrors(group) or not 2 <= count <= copies:
            continue
        begins = f"{count} sequential readers share the mirrors of {name}, whose nearest copy is read"
        if (rates := _rose(samples)) and not _has_read_cache(plan, shown):
            said.append(
                f"{begins}: the rate went from {rates[0]} to {rates[1]}, when each had found copies for itself. When "
                "that happens is chance, and a read a second of something else parts them again: the lower rate is "
                "what to count on."
            )
        elif count == deep.get(name) and _seek(plan, group, shown):
            said.append(
                f"{begins}, and its drives seek between them. By chance each may come to have copies for itself, after "
                "seconds, minutes or never, and all are several times as fast then, until other I/O parts them: other "
                "seeds may tell other rates."
            )
    return tuple(said)


def _is_of_mirrors(group: Mapping[str, Any]) -> bool:
    """Mirrors whose readers a rule keeps to their drives are none of these: RAID 1."""
    mirrors = group["layout"] == "raid10" or (group["layout"] == "pool" and group["redundancy"] == "raid1")
    return mirrors and group["read_choice"] in (None, "nearest")


def _readers(plan: SimulationPlan) -> tuple[dict[str, int], dict[str, int]]:
    """Group -> how many read it in order, where nothing else is asked of it; and how many of these are deep.

    A deep one keeps so much in flight that all pairs have something of it to do: a row of segments. Others are at few
    pairs at a time, and each pair at both copies.
    """
    attachments = plan.design.attachments
    groups = {one["name"]: one["group"] for one in plan.design.form["volumes"]}
    rows = {
        one["name"]: one["segment_bytes"] * (one["count"] // (one["copies"] or 2)) for one in plan.design.form["groups"]
    }
    found: dict[str, int] = {}
    deep: dict[str, int] = {}
    others: set[str] = set()
    for stream in plan.workload.streams:
        for target in stream.targets or range(len(attachments)):
            group = groups[attachments[target].volume]
            if _reads_in_order(stream):
                found[group] = found.get(group, 0) + stream.workers
                deep[group] = deep.get(group, 0) + stream.workers * (_in_flight_bytes(stream) >= rows[group])
            else:
                others.add(group)
    return {group: count for group, count in found.items() if group not in others}, deep


def _in_flight_bytes(stream: Stream) -> int:
    """Of each worker; of an open loop as much as it may keep in flight."""
    assert isinstance(stream.access, Mix)
    size_bytes = min(line.size_bytes for line in stream.access.lines if line.share > 0)
    return size_bytes * (stream.load.outstanding if isinstance(stream.load, Closed) else stream.load.max_outstanding)


def _reads_in_order(stream: Stream) -> bool:
    if not isinstance(stream.access, Mix):
        return False
    lines = [line for line in stream.access.lines if line.share > 0]
    return all(line.read_share == 1 and line.random_share < _MOST_RANDOM and not line.reply_bytes for line in lines)


def _has_read_cache(plan: SimulationPlan, shown: Mapping[str, Any]) -> bool:
    """Whether reads become faster for another reason, too: memory, or the flash of a host, that fills."""
    read = (plan.design.form["cache"] or {}).get("read") is not None
    return read or any(target["flash"] is not None for target in shown["targets"])


def _rose(samples: Sequence[Sample]) -> tuple[str, str] | None:
    """The rates at the run's beginning and its end, in words, if they are far apart."""
    whole = max(1, round(len(samples) * _ENDS))
    first, last = (Sample.merged(part) for part in (samples[:whole], samples[-whole:]))
    before, after = (one.part(None).bytes / one.duration_ns * NS_PER_S for one in (first, last))
    return (format_bandwidth(before), format_bandwidth(after)) if after > _MUCH * before > 0 else None


def _seek(plan: SimulationPlan, group: Mapping[str, Any], shown: Mapping[str, Any]) -> bool:
    """Whether requests queue at the drives of a group, and these do not read at the rate of their media."""
    drive = plan.design.form["drives"][group["drive"]]
    own = [one for one in shown["components"] if one["kind"] == "drive" and one["group"] == group["name"]]
    if drive["kind"] != "mechanical" or not own or not shown["duration_ns"]:
        return False
    used, queue = (sum(one[name] for one in own) / len(own) for name in ("used_ratio", "queue_mean"))
    rate = sum(one["bytes"][0] for one in own) / len(own) / shown["duration_ns"] * NS_PER_S
    return bool(used >= _LEAST_USED and queue >= 1.0 and rate < _LEAST_OF_MEDIA * drive["inner_rate_bytes_per_s"])
