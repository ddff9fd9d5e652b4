r"""VMware esxtop and resxtop, batch mode (`esxtop -b`).

Counters are named `\\host\Group(instance)\Counter`, rates per second, sizes in MB = 1,048,576 bytes, latencies in
milliseconds with two decimals (VMware, "Interpreting esxtop statistics"). Names and groups as in captures of ESXi 5 to
8; the single group `Physical Disk` of ESX 3 and 4 follows its documentation [unverified: no capture seen].

Beware: the header is fixed when esxtop starts, so what appears later is not in the file. Values are rounded to two
decimals: a latency of 0.00 ms at some load means less than 5 µs, and a rate of 0.00 fewer than one operation in 200 s.
Active and queued commands are counts at the moment of the sample, not means over the interval.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, shortened
from storscope.sources.importers._pdh import Dialect, is_pdh, read_pdh
from storscope.sources.importers._pdh_layout import Home, Layout, Target, no_target
from storscope.sources.importers._pdh_names import LOCAL_HOSTS, Place

_LOAD: Final = {
    "Commands/sec": Target("ops_per_s"),
    "Reads/sec": Target("read_ops_per_s"),
    "Writes/sec": Target("write_ops_per_s"),
    "MBytes Read/sec": Target("read_bytes_per_s", units.MIB),
    "MBytes Written/sec": Target("write_bytes_per_s", units.MIB),
}
_GUEST: Final = {
    "Average Guest MilliSec/Command": Target("latency_ns_mean", units.NS_PER_MS),
    "Average Guest MilliSec/Read": Target("read_latency_ns_mean", units.NS_PER_MS),
    "Average Guest MilliSec/Write": Target("write_latency_ns_mean", units.NS_PER_MS),
}
_BLOCK: Final = {
    **_LOAD,
    **_GUEST,
    "Average Driver MilliSec/Command": Target("device_latency_ns_mean", units.NS_PER_MS),
    "Average Kernel MilliSec/Command": Target("kernel_latency_ns_mean", units.NS_PER_MS),
    "Active Commands": Target("queue_depth_mean"),
    "Queued Commands": Target("queued_mean"),
    "Aborts/sec": Target("aborts_per_s"),
    "Conflicts/sec": Target("conflicts_per_s"),
}
_DEVICE: Final = {**_BLOCK, "Device Q Depth": Target("queue_limit")}
_ADAPTER: Final = {**_BLOCK, "Adapter Q Depth": Target("queue_limit")}
_VIRTUAL: Final = {
    **_LOAD,
    "Average MilliSec/Read": Target("read_latency_ns_mean", units.NS_PER_MS),
    "Average MilliSec/Write": Target("write_latency_ns_mean", units.NS_PER_MS),
}
_CPU: Final = {"% Util Time": Target("cpu_busy_ratio", 0.01)}

_DISK_GROUPS: Final[Mapping[str, tuple[str, Mapping[str, Target]]]] = {
    "Physical Disk SCSI Device": ("device", _DEVICE),
    "Physical Disk Adapter": ("adapter", _ADAPTER),
    "Physical Disk Path": ("path", _BLOCK),
    "Physical Disk Partition": ("partition", _BLOCK),
    "Physical Disk NFS Volume": ("datastore", {**_LOAD, **_GUEST}),
}
_WORLDS: Final = "Physical Disk Per-Device-Per-World"
_PROCESS_GROUPS: Final = frozenset({"Group Cpu", "Group Memory", "Vcpu"})

_WORLD = re.compile(r"(?P<device>.+?)-(?P<world>\d+)(?::(?P<name>.*))?", re.DOTALL)
"""`naa.…-worldid[:name]`. A device name may hold hyphens, a world's name anything."""
_VIRTUAL_DISK = re.compile(r"(?P<vm>.+):(?:scsi|sata|ide|nvme)\d+[:_]\d+", re.DOTALL)
_DEVICE_NAME = re.compile(r"(?:naa|eui|t10|mpx)\.[^\s:]+")
_GROUPS = re.compile(
    r"\\(?:Physical Disk(?: [^\\(]+)?\(|Physical Cpu(?: Load)?[\\(]|Virtual Disk\(|Group Cpu\(|Group Memory\(|Vcpu\("
    r"|Numa Node\(|PCPU Power State\(|Interrupt Vector\(|Network Port\(|Memory\\(?:Machine|Kernel|NonKernel) MBytes)"
)


def _recognise(head: Head) -> float:
    return 0.97 if is_pdh(head) and _GROUPS.search(head.text) else 0.0


def _home_of(options: ImportOptions) -> Callable[[Place], Home]:
    def home(place: Place) -> Home:
        system = place.host if place.host not in LOCAL_HOSTS else options.system or "localhost"
        if place.group in _DISK_GROUPS:
            kind, canonical = _DISK_GROUPS[place.group]
            return _home_on_disk(EntityRef(system, kind, place.instance), canonical)
        if place.group == _WORLDS:
            return _home_on_disk(EntityRef(system, "process", _world_name(place.instance)), _BLOCK)
        if place.group == "Virtual Disk":
            kind = "vm_disk" if _VIRTUAL_DISK.fullmatch(place.instance) else "vm"
            return _home_on_disk(EntityRef(system, kind, place.instance), _VIRTUAL)
        if place.group == "Physical Disk":
            return _home_in_old_group(system, place.instance)
        return _home_elsewhere(system, place)

    return home


def _home_on_disk(entity: EntityRef, canonical: Mapping[str, Target]) -> Home:
    """A sum over all instances is kept as counters: as an observation it would be counted twice."""
    return Home(entity, no_target if entity.name == "_Total" else canonical.get)


def _home_in_old_group(system: str, instance: str) -> Home:
    """ESX 3 and 4 put adapters, devices and partitions into one group: vmhba1, vmhba1:0:0, vmhba1:0:0:1."""
    kind, canonical = {0: ("adapter", _ADAPTER), 3: ("partition", _BLOCK)}.get(instance.count(":"), ("device", _DEVICE))
    return _home_on_disk(EntityRef(system, kind, instance), canonical)


def _home_elsewhere(system: str, place: Place) -> Home:
    if place.group in _PROCESS_GROUPS and place.instance:
        return Home(EntityRef(system, "process", place.instance), prefix=f"{place.group}\\")
    if place.group == "Network Port" and place.instance:
        return Home(EntityRef(system, "port", place.instance), prefix=f"{place.group}\\")
    whole = f"{place.group}({place.instance})" if place.instance else place.group
    is_total = (place.group, place.instance) == ("Physical Cpu", "_Total")
    return Home(EntityRef(system, "host", system), _CPU.get if is_total else no_target, f"{whole}\\")


def _world_name(instance: str) -> str:
    match = _WORLD.fullmatch(instance)
    if match is None:
        return instance
    return f"{match['device']}/{match['world']}" + (f":{match['name']}" if match["name"] else "")


def _unit_of(counter: str) -> str:
    if counter.startswith("%"):
        return "%"
    per_second = counter.endswith("/sec")
    for word, unit in (("MBytes", "MiB"), ("MBits", "Mbit"), ("KBytes", "KiB"), ("Bytes", "B")):
        if word in counter:
            return unit + "/s" if per_second else unit
    if "MilliSec" in counter:
        return "ms"
    return "1/s" if per_second else ""


_STORAGE_KINDS = {"vm", "device", "partition", "path", "adapter", "datastore", "vm_disk"}


def _describe(recorder: Recorder, layout: Layout) -> None:
    for place, home in layout.places.items():
        if home.entity.name == "_Total":
            recorder.entity(home.entity, "sum of all instances")
        elif home.entity.kind != "host":
            _link(recorder, place, home.entity)
    kinds = {home.entity.kind for home in layout.places.values()}
    if not kinds & _STORAGE_KINDS:
        groups = shortened(", ".join(sorted({place.group for place in layout.places})))
        recorder.warn(
            f"No disk, path, adapter or VM disk was found among the counters, which are of {groups}: capture all "
            "groups (esxtop -b -a)"
        )


def _link(recorder: Recorder, place: Place, entity: EntityRef) -> None:
    system, instance = entity.system, place.instance
    if place.group == _WORLDS:
        if match := _WORLD.fullmatch(instance):
            recorder.link(entity, "lives_on", EntityRef(system, "device", match["device"]))
        return
    if entity.kind == "vm_disk" and (match := _VIRTUAL_DISK.fullmatch(instance)):
        vm = EntityRef(system, "vm", match["vm"])
        recorder.link(entity, "member_of", vm)
        recorder.link(vm, "member_of", EntityRef(system, "host", system))
        return
    recorder.link(entity, "member_of", EntityRef(system, "host", system))
    if entity.kind == "path":
        recorder.link(entity, "uses", EntityRef(system, "adapter", instance.partition(":")[0]))
        if match := _DEVICE_NAME.search(instance):
            recorder.link(entity, "leads_to", EntityRef(system, "device", match[0]))
    elif entity.kind == "partition":
        separator = "-" if "-" in instance else ":"
        recorder.link(entity, "lives_on", EntityRef(system, "device", instance.rpartition(separator)[0]))
    elif place.group == "Physical Disk" and entity.kind == "device":
        recorder.link(entity, "uses", EntityRef(system, "adapter", instance.partition(":")[0]))


_DIALECT = Dialect("esxtop", _home_of, _unit_of, first_sample_is_data=False, describe=_describe)


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    read_pdh(evidence, recorder, options, _DIALECT)


IMPORTER = Importer(
    name="esxtop_csv",
    title="VMware esxtop or resxtop, batch CSV",
    supports="ESXi 5 to 8, all groups; ESX 3 and 4 by their documentation; copies that a spreadsheet saved again",
    how_to_capture="esxtop -b -a -d 5 -n 720 > esxtop.csv",
    recognise=_recognise,
    read=_read,
    version=2,
    carries=(
        "ops_per_s", "read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "latency_ns_mean",
        "read_latency_ns_mean", "write_latency_ns_mean", "device_latency_ns_mean", "kernel_latency_ns_mean",
        "queue_depth_mean", "queued_mean", "queue_limit", "cpu_busy_ratio", "aborts_per_s", "conflicts_per_s",
        "links from worlds, partitions, paths and VM disks", "every other counter of every group as counters",
    ),
    never={
        "latency percentiles": "esxtop keeps means over the interval",
        "VMs on a device": "the names of virtual disks do not tell their datastore",
        "objects that appear later": "the header is fixed when esxtop starts",
    },
)  # fmt: skip
