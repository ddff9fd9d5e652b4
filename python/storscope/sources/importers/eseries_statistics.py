"""NetApp E-Series (SANtricity web services): statistics of volumes, drives, pools and controllers, poll by poll.

Expected shape: one JSON document a poll, in one file or in a file each, with lists `volumeStats`, `diskStats`,
`poolStats`, `controllerStats` and `systemStats`; each object has `observedTime`, `lastResetTimeInMS` and counters since
then. Captured: one answer (of NetApp Harvest's test data), whose volumes had rested. The reference was not at
hand: that times are microseconds is told by its drives (262 us for a read of 128 KiB from an NVMe drive), that
`sumCpuUtilization` is a sum of per cent, one each second, by its processors (50.01 times the seconds since the reset,
where the greatest was 51). The call that gives such an answer is recalled.

What happened is the difference of two polls by the array's own clock; an interval in which counters began anew is left
out. `idleTime` is not read: it was twice the time since the reset. A volume is served by the controller `controllerId`,
and lives on the pool or volume group that its drives name. Controllers are called A and B by their last digit, 1 and 2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._cloud_times import instant_of
from storscope.sources.importers._json_documents import each_document
from storscope.sources.importers._polls import Changes, Polls, counted, write_changes

DEFAULT_ESERIES_SYSTEM: Final = "eseries-array"

_LISTS: Final = ("volumeStats", "diskStats", "poolStats", "controllerStats", "systemStats")
_FIELDS: Final = {
    "read_ops": ("readOps", "readIopsTotal"), "write_ops": ("writeOps", "writeIopsTotal"),
    "read_bytes": ("readBytes", "readBytesTotal"), "write_bytes": ("writeBytes", "writeBytesTotal"),
    "read_us": ("readTimeTotal",), "write_us": ("writeTimeTotal",), "read_hits": ("readHitOps",),
    "other_ops": ("otherOps",), "queue": ("queueDepthTotal",),
}  # fmt: skip
"""Counter -> what objects call it; of controllers the last."""
_COUNTERS: Final = (*_FIELDS, "all_ops", "cpu_percent")
_IDENTITY: Final = {"volumeStats": "volumeId", "diskStats": "diskId", "poolStats": "poolId",
                    "controllerStats": "controllerId"}  # fmt: skip
_USUAL_CONTROLLER: Final = re.compile("070+([12])")
_CAPTURE: Final = (
    "while true; do curl -sk -u USER:PASSWORD https://ARRAY:8443/devmgr/v2/storage-systems/1/live-statistics; echo; "
    "sleep 30; done > eseries.json"
)


def _recognise(head: Head) -> float:
    if head.text.lstrip()[:1] not in ("{", "[", "#") or '"observedTimeInMS"' not in head.text:
        return 0.0
    return 0.96 if any(f'"{one}"' in head.text for one in _LISTS) else 0.0


@dataclass
class _Reader:
    """Gathers the polls of all objects, and what they are called."""

    recorder: Recorder
    options: ImportOptions
    polls: Polls = field(init=False)
    _pools: dict[str, str] = field(default_factory=dict)
    """Id of a pool or volume group -> its name, as its drives tell it."""

    def __post_init__(self) -> None:
        """The counters that are compared."""
        self.polls = Polls(self.recorder, _COUNTERS)

    def document(self, answer: Mapping[str, Any]) -> None:
        """One poll."""
        found = {
            name: [one for one in answer[name] if isinstance(one, dict)] for name in _LISTS if _is_list(answer, name)
        }
        for drive in found.get("diskStats", ()):
            if drive.get("volGroupId") and drive.get("volGroupName"):
                self._pools[str(drive["volGroupId"])] = str(drive["volGroupName"])
        system = self._system(found)
        self.recorder.notes.system = self.recorder.notes.system or system
        for name, things in found.items():
            for thing in things:
                self._thing(name, thing, system)

    def _system(self, found: Mapping[str, list[dict[str, Any]]]) -> str:
        """The array, by the end of its world-wide name: several may be in one folder."""
        things = [thing for things in found.values() for thing in things]
        name = next((str(one["arrayWwn"]) for one in things if one.get("arrayWwn")), "")
        return self.options.system or (f"eseries-{name[-8:].lower()}" if name.isalnum() else DEFAULT_ESERIES_SYSTEM)

    def _thing(self, list_: str, thing: Mapping[str, Any], system: str) -> None:
        entity = self._entity(list_, thing, system)
        time_ns, since_ms = instant_of(thing.get("observedTime")), counted(thing.get("lastResetTimeInMS"))
        if entity is None or time_ns is None:
            self.recorder.omit("objects without an identity or a time")
            return
        counters = [
            next((value for key in keys if not math.isnan(value := counted(thing.get(key)))), math.nan)
            for keys in _FIELDS.values()
        ]
        self.polls.see(entity, time_ns, [*counters, _all(counters), _cpu_percent(thing)], since_ms)
        self._links(list_, thing, entity)

    def _entity(self, list_: str, thing: Mapping[str, Any], system: str) -> EntityRef | None:
        if list_ == "systemStats":
            return EntityRef(system, "array", system)
        identity = thing.get(_IDENTITY[list_])
        if not isinstance(identity, str) or not identity:
            return None
        if list_ == "volumeStats":
            return EntityRef(system, "vdisk", str(thing.get("volumeName") or identity))
        if list_ == "diskStats":
            return EntityRef(system, "disk", str(thing.get("serialNumber") or identity))
        return self._pool(system, identity) if list_ == "poolStats" else _controller(system, identity)

    def _pool(self, system: str, identity: str) -> EntityRef:
        return EntityRef(system, "disk_group", self._pools.get(identity, identity))

    def _links(self, list_: str, thing: Mapping[str, Any], entity: EntityRef) -> None:
        link, system = self.recorder.link, entity.system
        if list_ == "volumeStats":
            if isinstance(owner := thing.get("controllerId"), str):
                link(entity, "owned_by", _controller(system, owner))
            if isinstance(group := thing.get("volumeGroupId"), str):
                link(entity, "lives_on", self._pool(system, group))
        elif list_ == "diskStats":
            group = thing.get("volGroupId")
            self.recorder.entity(entity, f"slot {thing.get('slot')} of {self._pools.get(str(group), 'no group')}")
            if group:
                link(entity, "member_of", self._pool(system, str(group)))
        elif list_ != "systemStats":
            link(entity, "member_of", EntityRef(system, "array", system))

    def write(self, changes: Changes) -> None:
        """What happened to an object, interval by interval."""
        hits, busy = changes.per("read_hits", "read_ops"), changes.per_s("cpu_percent") / 100.0
        changes.observe(
            self.recorder,
            read_hit_ratio=changes.share(self.recorder, "hit ratios", hits),
            cpu_busy_ratio=changes.share(self.recorder, "busy shares of processors", busy),
        )
        changes.count(self.recorder, "other operations", "1/s", changes.per_s("other_ops"))
        changes.count(self.recorder, "queue met by an operation", "", changes.per("queue", "all_ops"))


def _all(counters: list[float]) -> float:
    """Operations of all kinds."""
    by_name = dict(zip(_FIELDS, counters, strict=True))
    return by_name["read_ops"] + by_name["write_ops"] + by_name["other_ops"]


def _is_list(answer: Mapping[str, Any], name: str) -> bool:
    return isinstance(answer.get(name), list)


def _controller(system: str, identity: str) -> EntityRef:
    """A or B, by the last digit; another one by all of its identity."""
    usual = _USUAL_CONTROLLER.fullmatch(identity)
    return EntityRef(system, "controller", "AB"[int(usual[1]) - 1] if usual else identity)


def _cpu_percent(thing: Mapping[str, Any]) -> float:
    """The mean of a controller's processors, as a sum over time."""
    parts = thing["cpuUtilizationStats"] if _is_list(thing, "cpuUtilizationStats") else []
    sums = [counted(one.get("sumCpuUtilization")) for one in parts if isinstance(one, dict)]
    return sum(sums) / len(sums) if sums else math.nan


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    recorder.notes.tool = "SANtricity"
    reader = _Reader(recorder, options)
    expected, hint = "statistics of a NetApp E-Series array", f"Capture with: {_CAPTURE}"
    for document in each_document(evidence, recorder, expected, hint):
        reader.document(document.value)
    if not reader.polls.entities:
        raise broken(evidence, f"objects in {', '.join(_LISTS)}", "none", hint=hint)
    write_changes(reader.polls, recorder, reader.write)


IMPORTER = Importer(
    name="eseries_statistics",
    title="NetApp E-Series (SANtricity web services): statistics, JSON",
    supports="volumeStats, diskStats, poolStats, controllerStats, systemStats; seen: one answer, drives at work; the "
    "call that gives it is UNVERIFIED",
    how_to_capture=_CAPTURE,
    recognise=_recognise,
    read=_read,
    is_part=lambda head: _recognise(head) > 0,
    carries=(
        "volumes, drives, pools, controllers, the array: read and write ops and bytes per second",
        "volumes, drives, pools: read and write latency; volumes and pools: read_hit_ratio",
        "controllers: cpu_busy_ratio (mean of its processors)",
        "other operations, and how many operations one finds as it comes, itself included, as counters",
        "volume on pool, served by controller; drive in pool",
    ),
    not_yet={
        "idleTime": "it was twice the time since the reset: what it counts is not known",
        "analysed statistics, ports": "no answer was seen",
    },
    never={"latency percentiles": "the statistics are sums"},
)  # fmt: skip
