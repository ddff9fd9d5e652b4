"""NetApp ONTAP's REST interface: the cumulative statistics of volumes, LUNs, aggregates and nodes, poll by poll.

Expected shape: answers of GET /api/storage/volumes?fields=statistics (of luns, namespaces, aggregates likewise), one
JSON document a poll, in one file or in a file each; a record's `statistics` have the time, `iops_raw`,
`throughput_raw` (bytes) and `latency_raw` (microseconds over all operations), of reads, writes and others. Captured: an
answer of volumes (of NetApp Harvest's test data). From the reference, recalled, no answer seen: LUNs, namespaces,
aggregates, and nodes of /api/cluster/nodes, whose `processor_utilization_raw` over `..._base` is the busy share of
their processors; `block_storage.primary.disk_class` of an aggregate tells flash from disks.

What happened is the difference of two polls by the array's own clock. A record whose statistics are not "ok" is left
out: a part of the array did not answer, so that its sums fall, and rise again. A volume is called by its SVM and its
name, and lives on its aggregates; one whose LUNs were polled, too, is left out, since their operations are its own.
Operations that are neither read nor write (metadata) stay a counter beside the canonical ones.

Beware: a latency is that inside of the array, from the arrival of a request to the answer.
"""

from __future__ import annotations

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

DEFAULT_ONTAP_SYSTEM: Final = "ontap-cluster"

_MARKS: Final = ('"iops_raw"', '"latency_raw"', '"processor_utilization_raw"')
_RAW: Final = (("iops_raw", "ops"), ("throughput_raw", "bytes"), ("latency_raw", "us"))
_KINDS: Final = ("read", "write", "other")
_COUNTERS: Final = (*(f"{kind}_{unit}" for _, unit in _RAW for kind in _KINDS), "busy", "busy_base")
_PLACES: Final = {
    "storage/volumes": "vdisk", "storage/luns": "vdisk", "storage/namespaces": "vdisk",
    "storage/aggregates": "disk_group", "cluster/nodes": "controller",
}  # fmt: skip
"""Which records are read, by the path in their `_links`, and the kind of entity that they are."""
_MEDIA: Final = {"solid_state": "ssd", "performance": "hdd", "capacity": "hdd"}
"""Class of an aggregate's drives -> medium."""
_HREF: Final = re.compile(r"/api/(\w+/\w+)")
_ON_VOLUME: Final = re.compile(r"/vol/([^/]+)/")
_CAPTURE: Final = (
    "while true; do for what in 'storage/volumes?fields=statistics,svm.name,aggregates' "
    "'storage/aggregates?fields=statistics,node.name,block_storage.primary' 'cluster/nodes?fields=statistics'; do "
    'curl -sk -u USER:PASSWORD "https://CLUSTER/api/$what&max_records=10000"; echo; done; sleep 30; done > ontap.json'
)


def _recognise(head: Head) -> float:
    return 0.96 if head.text.lstrip()[:1] in ("{", "[", "#") and any(mark in head.text for mark in _MARKS) else 0.0


@dataclass
class _Reader:
    """Takes records one by one; writes what happened to each object."""

    system: str
    recorder: Recorder
    polls: Polls = field(init=False)
    _below: set[EntityRef] = field(default_factory=set)
    """Volumes on which polled LUNs or namespaces lie."""
    _media: dict[EntityRef, str] = field(default_factory=dict)
    """Of what drives aggregates are."""

    def __post_init__(self) -> None:
        """The counters that are compared."""
        self.polls = Polls(self.recorder, _COUNTERS)

    def record(self, record: Mapping[str, Any]) -> None:
        """One object's statistics, if they are there and whole."""
        statistics = _object(record, "statistics")
        if not statistics:
            self.recorder.omit("records without statistics (ask with fields=statistics)")
        elif (entity := self._entity(record, statistics)) is None:
            self.recorder.omit("records without a name, or of others than volumes, LUNs, namespaces, aggregates, nodes")
        elif statistics.get("status", "ok") != "ok":
            self.recorder.omit('statistics of a status that is not "ok": sums of a part of the array')
        elif (time_ns := instant_of(statistics.get("timestamp"))) is None:
            self.recorder.omit("statistics without a time")
        else:
            self.polls.see(entity, time_ns, _counters(statistics))
            self._link(entity, record)

    def _entity(self, record: Mapping[str, Any], statistics: Mapping[str, Any]) -> EntityRef | None:
        """The object: its kind by the path of its link, else by what only some records have."""
        name, svm = _text(record, "name"), _text(_object(record, "svm"), "name")
        place = _HREF.match(_text(_object(_object(record, "_links"), "self"), "href") or "")
        if place is not None:
            kind = _PLACES.get(place[1])
        elif svm is not None and ("aggregates" in record or _ON_VOLUME.match(name or "")):
            kind = "vdisk"
        elif "block_storage" in record:
            kind = "disk_group"
        else:
            kind = "controller" if "processor_utilization_raw" in statistics else None
        if kind is None or name is None:
            return None
        return self._vdisk(svm, name) if kind == "vdisk" else EntityRef(self.system, kind, name)

    def _vdisk(self, svm: str | None, name: str) -> EntityRef:
        return EntityRef(self.system, "vdisk", f"{svm}:{name}" if svm else name)

    def _link(self, entity: EntityRef, record: Mapping[str, Any]) -> None:
        """What the object rests on, and who serves it."""
        if entity.kind != "vdisk":
            self.recorder.link(entity, "member_of", EntityRef(self.system, "array", self.system))
            drives = _text(_object(_object(record, "block_storage"), "primary"), "disk_class")
            if (media := _MEDIA.get(drives or "")) is not None and self._media.get(entity) != media:
                self._media[entity] = media
                self.recorder.fact(entity, "media", media)
            if (node := _text(_object(record, "node"), "name")) is not None:
                self.recorder.link(entity, "owned_by", EntityRef(self.system, "controller", node))
        elif (found := _ON_VOLUME.match(str(record["name"]))) is not None:
            volume = self._vdisk(_text(_object(record, "svm"), "name"), found[1])
            self._below.add(volume)
            self.recorder.link(entity, "lives_on", volume)
        aggregates = record.get("aggregates")
        for aggregate in aggregates if isinstance(aggregates, list) else ():
            if isinstance(aggregate, dict) and (name := _text(aggregate, "name")) is not None:
                self.recorder.link(entity, "lives_on", EntityRef(self.system, "disk_group", name))

    def write(self, changes: Changes) -> None:
        """What happened to an object, interval by interval."""
        if changes.entity in self._below:
            self.recorder.omit("intervals of volumes whose LUNs were polled, too", len(changes.starts_ns))
            return
        busy = changes.share(self.recorder, "busy shares of processors", changes.per("busy", "busy_base"))
        changes.observe(self.recorder, cpu_busy_ratio=busy)
        changes.count(self.recorder, "other operations", "1/s", changes.per_s("other_ops"))
        changes.count(self.recorder, "latency of other operations", "us", changes.per("other_us", "other_ops"))


def _counters(statistics: Mapping[str, Any]) -> list[float]:
    of_kinds = [counted(_object(statistics, raw).get(kind)) for raw, _ in _RAW for kind in _KINDS]
    return [*of_kinds, *(counted(statistics.get(f"processor_utilization_{part}")) for part in ("raw", "base"))]


def _object(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """An object within another; empty where there is none."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def _text(record: Mapping[str, Any], key: str) -> str | None:
    """A text that is not empty."""
    value = record.get(key)
    return value if isinstance(value, str) and value else None


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    recorder.notes.tool = "ONTAP REST"
    recorder.notes.system = options.system or DEFAULT_ONTAP_SYSTEM
    reader = _Reader(recorder.notes.system, recorder)
    hint = f"Capture with: {_CAPTURE}"
    for document in each_document(evidence, recorder, "answers of ONTAP's REST interface", hint):
        records = document.value.get("records", [document.value])
        if not isinstance(records, list):
            raise broken(evidence, "a list of records with statistics", "records that are no list", hint=hint)
        if "next" in _object(document.value, "_links"):
            recorder.warn("The answer goes on (_links.next), which may not be here: ask with max_records=10000.")
        for record in records:
            if isinstance(record, dict):
                reader.record(record)
    write_changes(reader.polls, recorder, reader.write)


IMPORTER = Importer(
    name="ontap_rest",
    title="NetApp ONTAP: statistics of the REST interface, JSON",
    supports="answers of ONTAP 9 with statistics; seen: volumes; LUNs, namespaces, aggregates and nodes UNVERIFIED",
    how_to_capture=_CAPTURE,
    recognise=_recognise,
    read=_read,
    is_part=lambda head: _recognise(head) > 0,
    carries=(
        "volumes, LUNs, namespaces, aggregates: read and write ops and bytes per second, read and write latency",
        "nodes: cpu_busy_ratio",
        "other operations (metadata) and their latency as counters",
        "volume and LUN on what they live, and whether that is flash",
    ),
    not_yet={
        "metric objects": "averages of 15 s of which it is not known whether their time is the start or the end",
        "QoS, ports, qtrees, counter manager tables": "their objects have other names",
    },
    never={"queue depth": "the statistics have none", "latency percentiles": "the statistics are sums"},
)  # fmt: skip
