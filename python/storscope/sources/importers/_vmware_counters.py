"""What VMware's performance counters mean, for tables that name them: disk.numberReadAveraged.average.

Source: VMware, vSphere Web Services API Reference, PerformanceManager, pages "Disk", "Virtual Disk", "Datastore",
"Storage Adapter" and "CPU Counters" (names, units, rollups). Those pages do not say whether a kilobyte of KBps has 1000
or 1024 bytes; 1024 is taken, as esxtop's MBytes are 2^20, which the capture says. Latencies are whole milliseconds.

Counters that are here become canonical columns. Parts of a latency by direction, amounts over an interval but those of
aborted commands, and what is of a whole cluster (`datastore.datastoreIops`) are other things, and stay counters of
their names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from storscope.domain import units
from storscope.sources.importers._wide_heading import Named

_RATE: Final = (1.0, "number")
_BANDWIDTH: Final = (float(units.KIB), "kBps")
_MS: Final = (1e6, "ms")

_DIRECTED: Final = {
    "numberReadAveraged.average": ("read_ops_per_s", *_RATE),
    "numberWriteAveraged.average": ("write_ops_per_s", *_RATE),
    "read.average": ("read_bytes_per_s", *_BANDWIDTH),
    "write.average": ("write_bytes_per_s", *_BANDWIDTH),
    "totalReadLatency.average": ("read_latency_ns_mean", *_MS),
    "totalWriteLatency.average": ("write_latency_ns_mean", *_MS),
}
"""Counter within its group -> column, factor, unit."""
_COUNTERS: Final = {
    "disk": _DIRECTED | {
        "commandsAveraged.average": ("ops_per_s", *_RATE), "usage.average": ("bytes_per_s", *_BANDWIDTH),
        "totalLatency.average": ("latency_ns_mean", *_MS), "deviceLatency.average": ("device_latency_ns_mean", *_MS),
        "kernelLatency.average": ("kernel_latency_ns_mean", *_MS), "maxQueueDepth.average": ("queue_limit", *_RATE),
        "commandsAborted.summation": ("aborts_per_s", *_RATE),
    },
    "virtualDisk": _DIRECTED,
    "datastore": _DIRECTED,
    "storageAdapter": _DIRECTED | {
        "commandsAveraged.average": ("ops_per_s", *_RATE),
        "outstandingIOs.average": ("queue_depth_mean", *_RATE),
    },
    "cpu": {"usage.average": ("cpu_busy_ratio", 0.01, "%")},
}  # fmt: skip
_UNITS: Final = {
    "number": "number", "num": "number", "kbps": "kBps", "kilobytespersecond": "kBps", "ms": "ms",
    "millisecond": "ms", "milliseconds": "ms", "%": "%", "percent": "%",
}  # fmt: skip
"""As PowerCLI and the API spell them."""
_GROUPS: Final = frozenset({
    "disk", "virtualDisk", "datastore", "storageAdapter", "storagePath", "cpu", "mem", "net", "sys", "power", "rescpu",
})  # fmt: skip
_ROLLUPS: Final = frozenset({"average", "latest", "maximum", "minimum", "summation", "none"})

NOT_STORAGE: Final = "counters of other groups than those of storage are not read"
OF_CORES: Final = "cores of a processor are not read, their whole is"


@dataclass(frozen=True)
class VmwareCounter:
    """The column of a counter and the factor to its unit; without a column it stays a counter of its own name."""

    group: str
    name: str
    column: str | None = None
    factor: float = 1.0

    @property
    def is_amount(self) -> bool:
        """What happened in the interval, to be divided by its length."""
        return self.column is not None and self.name.endswith(".summation")


def is_vmware(metric: str) -> bool:
    """Whether a metric is named as VMware names counters: group, counter, rollup."""
    parts = metric.split(".")
    return len(parts) == 3 and parts[0] in _GROUPS and parts[2] in _ROLLUPS


def counter_of(metric: str, unit: str) -> VmwareCounter | str:
    """What a counter means, `unit` being what the table says ('' if nothing); else why it is left out."""
    group, _, rest = metric.partition(".")
    if group not in _COUNTERS or (group == "cpu" and rest not in _COUNTERS[group]):
        return NOT_STORAGE
    known = _COUNTERS[group].get(rest)
    if known is None:
        return VmwareCounter(group, f"{metric} ({unit})" if unit else metric)
    column, factor, documented = known
    if unit and _UNITS.get(unit.replace(" ", "").lower()) != documented:
        return f"its unit is {unit}, where VMware documents {documented}"
    if not unit and group == "cpu":
        return "without its unit it may be in hundredths of a per cent"
    return VmwareCounter(group, metric, column, factor)


def named_of(counter: VmwareCounter, entity: str, entity_id: str, instance: str) -> Named | str:
    """What a value is of; else why it is left out.

    `entity_id` is PowerCLI's ('HostSystem-host-28'); without it the group tells a VM only for virtual disks.
    """
    kind = entity_id.partition("-")[0]
    if kind == "Datastore" and counter.group == "datastore" and not instance:
        return (("datastore", entity),)
    if kind == "VirtualMachine" or (not kind and counter.group == "virtualDisk"):
        return _of_vm(counter.group, entity, instance)
    if kind == "HostSystem" or (not kind and counter.group == "storageAdapter"):
        return _of_host(counter.group, entity, instance)
    if not kind:
        return "without a column EntityId nothing tells hosts from VMs"
    return f"entities of type {kind} are not read, only hosts, VMs and datastores"


def _of_vm(group: str, entity: str, instance: str) -> Named | str:
    if group == "virtualDisk" and instance:
        return (("vm", entity), ("vm_disk", f"{entity}:{instance}"))
    if instance:
        return (
            OF_CORES if group == "cpu" else "a VM's share of a device or datastore is not read, its virtual disks are"
        )
    return (("vm", entity),)


def _of_host(group: str, entity: str, instance: str) -> Named | str:
    if not instance:
        return (("host", entity),)
    if group == "cpu":
        return OF_CORES
    kind = {"disk": "device", "datastore": "datastore", "storageAdapter": "adapter"}.get(group)
    return (("host", entity), (kind, instance)) if kind else "virtual disks of a host are none that is known"
