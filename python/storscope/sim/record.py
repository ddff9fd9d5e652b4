"""Writes what a simulated array did into the same tables as a real one: volumes, drives, controllers, links.

The observations carry no run: they are what the array's own counters would say, and rules judge them as such. Volumes
are observed interval by interval, over the whole run; controllers, links, groups of drives and queue limits so too,
from where the run's figures begin; drives over the time of these, and their queues in slices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from storscope.domain import write_cache
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_MS, NS_PER_S, format_ratio
from storscope.domain.vocabulary import SIMULATED_FACT
from storscope.sim.rate_limits import rate_limits
from storscope.sim.time_parts import part_words
from storscope.sim.used import used_components, works

_LINKS = ("front_end_link", "back_end_link", "mirror_link")
_LIMITS = {"lun": "device", "adapter": "adapter", "host": "host", "port": "port"}
"""What has a queue limit -> the kind of entity that it is."""

_MEDIA = {"mechanical": "hdd", "flash": "ssd"}
"""What a group's drives are; a drive that is given as a curve may be either."""

_COUNTED = (("busy", "", "busy_ratio"), ("queue", "", "queue_mean"), ("rate", "/s", "throughput_per_s"))
"""Of these: word in the counter's name, unit, key in the report."""


_OF_FLUSHES = (("f/s", "1/s"), ("f_await", "ms"))
"""Counters of a volume as iostat has them of a device, which flush-bound reads."""
_WAITS_IN_HOST = ("lun_queue", "adapter_queue", "host_queue")
"""Parts of an I/O's time before the host sends it."""


@dataclass(frozen=True)
class VolumeInterval:
    """What all hosts did with one volume in one interval; latencies in ns as sums over the operations."""

    volume: str
    start_ns: int
    duration_ns: int
    reads: int
    writes: int
    read_bytes: int
    write_bytes: int
    read_latency_sum_ns: float
    write_latency_sum_ns: float
    latency_max_ns: int | None
    forwarded: int | None = None
    """I/Os that came through another controller than its owner; None where there is only one."""
    flushes: int = 0
    flush_latency_sum_ns: float = 0.0
    """They count among no operations."""


def record_array(
    recorder: Recorder, system: str, design: Mapping[str, Any], report: Mapping[str, Any], start_ns: int,
    volumes: Iterable[VolumeInterval], parts: Iterable[Mapping[str, Any]], bounds: str,
) -> None:  # fmt: skip
    """Everything of one simulation but the run itself.

    `report` is ArrayReport of crates/storscope-sim as JSON, its components over the time that the run's figures are of;
    `parts` is that time interval by interval (`sim.window.window`); `bounds` says what bounds the run.
    """
    _record_entities(recorder, system, design, report)
    flushed = {target["volume"] for target in report["targets"] if target["flushes"] is not None}
    for interval in volumes:
        _record_volume(recorder, system, start_ns, interval, flushes=interval.volume in flushed)
    _record_components(recorder, system, report, start_ns)
    for part in parts:
        _record_part(recorder, system, part, start_ns)
    _record_queues(recorder, system, report, start_ns)
    _record_parts(recorder, system, report, start_ns)
    _record_facts(recorder, system, report, bounds)


def _array(system: str) -> EntityRef:
    return EntityRef(system, "array", system)


def _record_entities(recorder: Recorder, system: str, design: Mapping[str, Any], report: Mapping[str, Any]) -> None:
    array = recorder.entity(_array(system))
    groups = {
        group["name"]: recorder.entity(EntityRef(system, "disk_group", group["name"])) for group in design["groups"]
    }
    for group in design["groups"]:
        recorder.link(groups[group["name"]], "member_of", array)
        media = _MEDIA.get(design["drives"][group["drive"]]["kind"])
        if media is not None:
            recorder.fact(groups[group["name"]], "media", media)
    for controller in design["controllers"]:
        recorder.link(recorder.entity(EntityRef(system, "controller", controller["name"])), "member_of", array)
    controllers = {controller["name"] for controller in design["controllers"]}
    owners = {volume["name"]: volume["owner"] for volume in report["volumes"]}
    for volume in design["volumes"]:
        vdisk = recorder.entity(EntityRef(system, "vdisk", volume["name"]))
        recorder.link(vdisk, "lives_on", groups[volume["group"]])
        if owners.get(volume["name"]):
            recorder.link(vdisk, "owned_by", EntityRef(system, "controller", owners[volume["name"]]))
    for limit in report["limits"]:
        if limit["kind"] == "lun":
            volume = EntityRef(system, "vdisk", limit["name"].split("/", 1)[1])
            recorder.link(recorder.entity(_limit_entity(system, limit)), "lives_on", volume)
        else:
            for target in _targets_of(report["targets"], limit):
                passing = recorder.entity(_limit_entity(system, limit))
                recorder.link(passing, "uses", EntityRef(system, "vdisk", target["volume"]))
    for component in report["components"]:
        if component["kind"] in _LINKS and (owner := component["name"].split(" ")[0]) in controllers:
            port = recorder.entity(EntityRef(system, "port", _link_name(component)))
            recorder.link(port, "member_of", EntityRef(system, "controller", owner))
        if component["kind"] == "drive":
            disk = recorder.entity(EntityRef(system, "disk", component["name"]))
            recorder.link(disk, "member_of", groups[component["group"]])
    _record_before(recorder, system, design, report)


def _record_before(recorder: Recorder, system: str, design: Mapping[str, Any], report: Mapping[str, Any]) -> None:
    """What I/Os pass in a host before they reach the array: its flash, and limits of rates."""
    for target in _before_flash(report["targets"]):
        flash = recorder.entity(_flash_entity(system, target))
        recorder.link(EntityRef(system, "vdisk", target["volume"]), "uses", flash)
    allowed = {one["name"]: one["allowed"] for one in report["components"] if one["kind"] == "rate_limit"}
    for limit, volumes in rate_limits(design).items():
        entity = recorder.entity(EntityRef(system, "rate_limit", limit))
        recorder.fact(entity, "allowed", allowed[limit])
        for volume in volumes:
            recorder.link(EntityRef(system, "vdisk", volume), "uses", entity)


def _record_volume(
    recorder: Recorder, system: str, start_ns: int, interval: VolumeInterval, *, flushes: bool
) -> None:  # fmt: skip
    """`flushes`: whether the volume is ever flushed."""
    vdisk = EntityRef(system, "vdisk", interval.volume)
    seconds = interval.duration_ns / NS_PER_S
    if not seconds:
        return
    operations = interval.reads + interval.writes
    latency_sum = interval.read_latency_sum_ns + interval.write_latency_sum_ns
    recorder.observe(
        vdisk, start_ns + interval.start_ns, interval.duration_ns,
        {
            "ops_per_s": operations / seconds,
            "read_ops_per_s": interval.reads / seconds,
            "write_ops_per_s": interval.writes / seconds,
            "bytes_per_s": (interval.read_bytes + interval.write_bytes) / seconds,
            "read_bytes_per_s": interval.read_bytes / seconds,
            "write_bytes_per_s": interval.write_bytes / seconds,
            "latency_ns_mean": latency_sum / operations if operations else None,
            "read_latency_ns_mean": interval.read_latency_sum_ns / interval.reads if interval.reads else None,
            "write_latency_ns_mean": interval.write_latency_sum_ns / interval.writes if interval.writes else None,
            "latency_ns_max": interval.latency_max_ns,
            "queue_depth_mean": latency_sum / interval.duration_ns,
            "forwarded_per_s": None if interval.forwarded is None else interval.forwarded / seconds,
        },
    )  # fmt: skip
    if flushes:
        mean_ms = interval.flush_latency_sum_ns / interval.flushes / NS_PER_MS if interval.flushes else None
        for (name, unit), value in zip(_OF_FLUSHES, (interval.flushes / seconds, mean_ms), strict=True):
            recorder.counter(vdisk, start_ns + interval.start_ns, interval.duration_ns, name, unit, value)


def _record_components(recorder: Recorder, system: str, report: Mapping[str, Any], start_ns: int) -> None:
    """Over the whole time; what is no entity of its own is a counter of the array."""
    begin_ns, duration_ns = start_ns + report["start_ns"], report["duration_ns"]
    if not duration_ns:
        return
    for component in report["components"]:
        if component["kind"] == "drive":
            _record_drive(recorder, EntityRef(system, "disk", component["name"]), component, begin_ns, duration_ns)
        elif component["kind"] == "controller":
            entity = EntityRef(system, "controller", component["name"])
            recorder.counter(entity, begin_ns, duration_ns, "queue max", "", component["queue_max"])
        else:
            for word, unit, key in _COUNTED:
                name = f"{component['kind']} {component['name']} {word}"
                recorder.counter(_array(system), begin_ns, duration_ns, name, unit, component[key])


def _record_drive(
    recorder: Recorder, entity: EntityRef, drive: Mapping[str, Any], begin_ns: int, duration_ns: int
) -> None:
    seconds = duration_ns / NS_PER_S
    values = _rates(drive) | {"queue_depth_max": drive["queue_max"], "busy_ratio": drive["busy_ratio"]}
    values["read_bytes_per_s"], values["write_bytes_per_s"] = (moved / seconds for moved in drive["bytes"])
    values["read_ops_per_s"], values["write_ops_per_s"] = (count / seconds for count in drive["operations"])
    recorder.observe(entity, begin_ns, duration_ns, values)
    if works(drive):
        recorder.counter(entity, begin_ns, duration_ns, "used", "", drive["used_ratio"])
        recorder.counter(entity, begin_ns, duration_ns, "queue", "", drive["queue_mean"])


def _rates(component: Mapping[str, Any]) -> dict[str, float | None]:
    return {"ops_per_s": component["throughput_per_s"], "latency_ns_mean": component["response_ns_mean"]}


def _record_part(recorder: Recorder, system: str, part: Mapping[str, Any], start_ns: int) -> None:
    """One interval of what all volumes share. A link and a group have no latency of their own that a host would see."""
    begin_ns, duration_ns = start_ns + part["start_ns"], part["duration_ns"]
    for one in part["components"]:
        values = {"queue_depth_mean": one["queue_mean"]}
        if one["kind"] == "controller":
            values |= _rates(one) | {"cpu_busy_ratio": one["busy_ratio"]}
            recorder.observe(EntityRef(system, "controller", one["name"]), begin_ns, duration_ns, values)
        elif one["kind"] in _LINKS:
            values["busy_ratio"] = one["busy_ratio"]
            recorder.observe(EntityRef(system, "port", _link_name(one)), begin_ns, duration_ns, values)
        elif one["kind"] == "rate_limit":
            values["busy_ratio"] = one["busy_ratio"]
            recorder.observe(EntityRef(system, "rate_limit", one["name"]), begin_ns, duration_ns, values)
    flash = {one["name"]: one for one in part["components"] if one["kind"] == "flash"}
    for target in _before_flash(part["targets"]):
        one = flash[f"{target['host']} {target['volume']}"]
        values = {"queue_depth_mean": one["queue_mean"], "busy_ratio": one["used_ratio"]}
        recorder.observe(_flash_entity(system, target), begin_ns, duration_ns, values)
    for group, drives in _working_drives(part["components"]).items():
        values = {
            "busy_ratio": sum(one["used_ratio"] for one in drives) / len(drives),
            "queue_depth_mean": sum(one["queue_mean"] for one in drives) / len(drives),
        }
        recorder.observe(EntityRef(system, "disk_group", group), begin_ns, duration_ns, values)
    if (cache := part["cache"]) is not None and cache["dirty_limit_pages"]:
        used = cache["dirty_pages"] / cache["dirty_limit_pages"]
        recorder.counter(_array(system), begin_ns, duration_ns, write_cache.USED, write_cache.UNIT, used)
    for limit in part["limits"]:
        values = {
            "queue_depth_mean": limit["used_mean"], "queue_limit": limit["most"], "queued_mean": limit["waiting_mean"],
            "device_latency_ns_mean": _behind_ns(_targets_of(part["targets"], limit)),
        }  # fmt: skip
        recorder.observe(_limit_entity(system, limit), begin_ns, duration_ns, values)


def _link_name(component: Mapping[str, Any]) -> str:
    """'front-end-link A out'."""
    return f"{component['kind'].replace('_', '-')} {component['name']}"


def _before_flash(targets: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What hosts have of volumes that they have flash before."""
    return [target for target in targets if target["flash"] is not None]


def _flash_entity(system: str, target: Mapping[str, Any]) -> EntityRef:
    return EntityRef(system, "flash_cache", f"{target['host']}/{target['volume']}")


def _limit_entity(system: str, limit: Mapping[str, Any]) -> EntityRef:
    name = f"ports of controller {limit['name']}" if limit["kind"] == "port" else limit["name"]
    return EntityRef(system, _LIMITS[limit["kind"]], name)


def _working_drives(components: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Group -> its drives but those that failed and spares that wait."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in components:
        if one["kind"] == "drive" and works(one):
            found.setdefault(one["group"], []).append(one)
    return found


def _targets_of(targets: Sequence[Mapping[str, Any]], limit: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Those that pass a limit in a host; none of one at a controller's ports, which take the I/Os of several hosts."""
    if limit["kind"] == "lun":
        return [target for target in targets if f"{target['host']}/{target['volume']}" == limit["name"]]
    return [target for target in targets if limit["kind"] != "port" and target["host"] == limit["name"]]


def _behind_ns(targets: Sequence[Mapping[str, Any]]) -> float | None:
    """Mean time of I/Os that they do not wait in the host for a place, as its adapter counts it; None without any."""
    count = sum(sum(target["completed"]) for target in targets)
    spent = sum(
        part["mean_ns"] * done
        for target in targets
        for direction, done in zip(("reads", "writes"), target["completed"], strict=True)
        for part in target[direction]["parts"]
        if part["part"] not in _WAITS_IN_HOST
    )
    return spent / count if count else None


def _record_queues(recorder: Recorder, system: str, report: Mapping[str, Any], start_ns: int) -> None:
    """The queue of each drive in slices."""
    queue = report["queue"]
    drives = [component["name"] for component in report["components"] if component["kind"] == "drive"]
    count = len(queue["mean"][0]) if queue["mean"] else 0
    if not count:
        return
    begin = start_ns + queue["start_ns"]
    times = begin + np.arange(count, dtype=np.int64) * queue["slice_ns"]
    durations = np.full(count, queue["slice_ns"], dtype=np.int64)
    columns = {"queue_depth_mean": queue["mean"], "queue_depth_max": queue["max"]}
    recorder.observe_columns(
        [EntityRef(system, "disk", name) for name in drives], times, durations,
        {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()},
    )  # fmt: skip


def _record_parts(recorder: Recorder, system: str, report: Mapping[str, Any], start_ns: int) -> None:
    """Where the time of I/Os went, and their distributions, for each host's view of a volume."""
    begin_ns, duration_ns = start_ns + report["start_ns"], report["duration_ns"]
    for target in report["targets"]:
        vdisk = EntityRef(system, "vdisk", target["volume"])
        for operation in ("reads", "writes", "flushes"):
            for part in (target[operation] or {"parts": ()})["parts"]:
                name = f"{target['host']} {operation}: {part_words(part['part'])}"
                recorder.counter(vdisk, begin_ns, duration_ns, name, "ns", part["mean_ns"])


def _record_facts(recorder: Recorder, system: str, report: Mapping[str, Any], bounds: str) -> None:
    array, cache = _array(system), report["cache"]
    recorder.fact(array, SIMULATED_FACT, report["drive_ios"])
    recorder.fact(array, "what bounds it", bounds)
    for used in used_components(report["components"])[:1]:
        recorder.fact(array, "most used", f"{used.words}, {format_ratio(used.ratio)}")
    if cache is not None:
        recorder.fact(array, "read hit ratio", cache["read_hit_ratio"])
        recorder.fact(array, "absorbed write ratio", cache["absorbed_ratio"])
    for task in report["background"]:
        recorder.fact(array, f"background {task['name']}: bytes", task["bytes"], "bytes")
