"""Metrics of Azure Monitor about disks and machines: what each is of, and what it means.

From the reference, recalled; no capture at hand ("Supported metrics": Microsoft.Compute/disks,
Microsoft.Compute/virtualMachines; "Disk performance metrics"). Rates are per second already: their average over the
interval is the rate; a total is a sum of samples, and a maximum that of one of them. `Data Disk ...` is of the disk
that the dimension LUN names, and without it the average over all data disks of the machine; `Composite Disk ...` is of
the disk itself, whoever uses it. Latency is milliseconds, of reads and writes together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_COLUMNS: Final = {
    "read operations/sec": ("read_ops_per_s", 1.0), "write operations/sec": ("write_ops_per_s", 1.0),
    "read bytes/sec": ("read_bytes_per_s", 1.0), "write bytes/sec": ("write_bytes_per_s", 1.0),
    "queue depth": ("queue_depth_mean", 1.0), "latency": ("latency_ns_mean", 1e6),
}  # fmt: skip
_UNITS: Final = {
    "ops_per_s": frozenset({"countpersecond"}), "bytes_per_s": frozenset({"bytespersecond"}),
    "queue_depth_mean": frozenset({"count"}), "latency_ns_mean": frozenset({"milliseconds"}),
}  # fmt: skip
_DISK: Final = re.compile(r"(?P<of>composite disk|data disk|os disk|temp disk) (?P<rest>.+)")
_MACHINE: Final = re.compile(r"vm (?:cached|uncached|local|remote).*|disk (?:read|write) .*|(?:premium )?.*disk.*")


@dataclass(frozen=True)
class AzureMetric:
    """What a metric is."""

    of: str
    """'composite disk', 'data disk', 'os disk', 'temp disk', or 'vm' of a whole machine."""
    column: str | None
    """The canonical column of its average; None for what stays a counter."""
    factor: float = 1.0


def metric_called(name: str) -> AzureMetric | None:
    """What a metric is, whatever its capitals; None for one that is not about disks."""
    text = " ".join(name.casefold().removesuffix("(preview)").split())
    if match := _DISK.fullmatch(text):
        column, factor = _COLUMNS.get(match["rest"], (None, 1.0))
        return AzureMetric(match["of"], column, factor)
    return AzureMetric("vm", None) if _MACHINE.fullmatch(text) else None


def contradicts(column: str, unit: str) -> bool:
    """Whether the unit that Azure prints beside a metric is another one than its name means."""
    expected = next((units for end, units in _UNITS.items() if column.endswith(end)), frozenset())
    return bool(unit) and unit.casefold() not in expected
