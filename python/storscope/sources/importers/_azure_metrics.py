"""Metrics of Azure Monitor about disks and machines: what each is of, and what it means.

From the reference, recalled; no capture at hand ("Supported metrics": Microsoft.Compute/disks,
Microsoft.Compute/virtualMachines; "Disk performance metrics"). Rates are per second already: their average over the
interval is the rate; a total is a sum of samples, and a maximum that of one of them. `Data Disk ...` is of the disk
that the dimension LUN names, and without it the average over all data disks of the machine; `Composite Disk ...` is of
the disk itself, whoever uses it. Latency is milliseconds, of reads and writes together. Of burst credits it tells the
part that is used, in per cent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from storscope.domain.burst_credits import left_of

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


_BALANCE: Final = re.compile(
    r"(?:data disk|os disk|vm (?P<way>cached|uncached|local|remote)) used burst (?P<what>io|bps) credits percentage"
)
_MEASURES: Final = {"io": "ops", "bps": "bytes"}
_PERCENT: Final = "percent"


@dataclass(frozen=True)
class AzureMetric:
    """What a metric is."""

    of: str
    """'composite disk', 'data disk', 'os disk', 'temp disk', or 'vm' of a whole machine."""
    column: str | None
    """The canonical column of its average; None for what stays a counter."""
    factor: float = 1.0
    balance: str | None = None
    """The counter of credits that are left, of one that tells those that are used."""


def metric_called(name: str) -> AzureMetric | None:
    """What a metric is, whatever its capitals; None for one that is not about disks."""
    text = " ".join(name.casefold().removesuffix("(preview)").split())
    spent = _BALANCE.fullmatch(text)
    balance = left_of(_MEASURES[spent["what"]], spent["way"] or "") if spent else None
    if match := _DISK.fullmatch(text):
        column, factor = _COLUMNS.get(match["rest"], (None, 1.0))
        return AzureMetric(match["of"], column, factor, balance)
    return AzureMetric("vm", None, balance=balance) if _MACHINE.fullmatch(text) else None


def contradicts(metric: AzureMetric, unit: str) -> bool:
    """Whether the unit that Azure prints beside a metric is another one than its name means."""
    if not unit or not (metric.column or metric.balance):
        return False
    if metric.balance:
        return unit.casefold() != _PERCENT
    expected = next((units for end, units in _UNITS.items() if (metric.column or "").endswith(end)), frozenset())
    return unit.casefold() not in expected
