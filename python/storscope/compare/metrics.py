"""The figures that can be compared: where they come from, their unit, and which direction is better."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from storscope.domain import flush
from storscope.domain.errors import UsageError
from storscope.domain.near_names import did_you_mean

DURATION: Final = "duration"
"""Weight of what is a rate or a level: the length of the interval."""
BANDWIDTH: Final = "B/s"
"""Unit of bandwidths."""
FLUSH_RATE: Final = "flush_ops_per_s"
FLUSH_LATENCY: Final = "flush_latency_ns_mean"
"""Of flushes there are counters (`domain.flush`), which are read under these names beside the columns."""
IN_FLIGHT: Final = "in_flight"
"""Operations per second x mean latency: Little's law."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure. `weight` is what a mean over intervals is weighted by: the interval's length or its operations."""

    name: str
    column: str
    weight: str
    unit: str
    better: str | None
    is_demand: bool = False
    """For a running system, or a benchmark at a fixed rate, it is the load and not how well the storage did."""
    share: float | None = None
    """For a percentile: 0 to 1."""
    operations: tuple[str, ...] = ()
    """For a percentile: of which operations; empty for all."""


def _rate(name: str, column: str, unit: str) -> Metric:
    return Metric(name, column, DURATION, unit, "higher", is_demand=True)


_PLAIN: Final = (
    Metric("latency", "latency_ns_mean", "ops_per_s", "ns", "lower"),
    Metric("read_latency", "read_latency_ns_mean", "read_ops_per_s", "ns", "lower"),
    Metric("write_latency", "write_latency_ns_mean", "write_ops_per_s", "ns", "lower"),
    Metric("flush_latency", FLUSH_LATENCY, FLUSH_RATE, "ns", "lower"),
    Metric("device_latency", "device_latency_ns_mean", "ops_per_s", "ns", "lower"),
    Metric("kernel_latency", "kernel_latency_ns_mean", "ops_per_s", "ns", "lower"),
    _rate("iops", "ops_per_s", "1/s"),
    _rate("read_iops", "read_ops_per_s", "1/s"),
    _rate("write_iops", "write_ops_per_s", "1/s"),
    _rate("flush_rate", FLUSH_RATE, "1/s"),
    _rate("bandwidth", "bytes_per_s", BANDWIDTH),
    _rate("read_bandwidth", "read_bytes_per_s", BANDWIDTH),
    _rate("write_bandwidth", "write_bytes_per_s", BANDWIDTH),
    Metric("in_flight", IN_FLIGHT, DURATION, "", None),
    Metric("queue_depth", "queue_depth_mean", DURATION, "", None),
    Metric("busy", "busy_ratio", DURATION, "ratio", None),
    Metric("cpu_busy", "cpu_busy_ratio", DURATION, "ratio", None),
    Metric("read_hits", "read_hit_ratio", "read_ops_per_s", "ratio", "higher"),
)
METRICS: Final = {metric.name: metric for metric in _PLAIN}
DEFAULT_NAMES: Final = (
    "latency", "p99", "iops", "bandwidth", "in_flight", "flush_latency", "flush_p99", "flush_rate",
)  # fmt: skip
"""Those of flushes are told of runs that have any."""
OPERATIONS: Final = {"read": "read", "write": "write", "flush": flush.OPERATION}
"""What a metric's name begins with, and what the operation is called in the tables."""
_WORDS: Final = {
    "bandwidth": ("throughput", "bw", "mbps", "mb_s"), "iops": ("ops", "rate", "tps"), "latency": ("lat", "response"),
    "device_latency": ("service", "davg"), "kernel_latency": ("kavg",), "busy": ("util", "utilization"),
}  # fmt: skip
"""Words of other tools for the names of metrics."""
_PERCENTILE = re.compile(r"(?:(read|write|flush)_)?p(\d{1,2}(?:\.\d{1,4})?)")


def metrics_named(names: Sequence[str]) -> list[Metric]:
    """The metrics of those names, the usual ones when there are none. Raises UsageError for an unknown one."""
    return [_metric(name) for name in dict.fromkeys(names or DEFAULT_NAMES)]


def _metric(name: str) -> Metric:
    if name in METRICS:
        return METRICS[name]
    match = _PERCENTILE.fullmatch(name)
    if match is None or not 0 < float(match[2]) < 100:
        known = "Known are: " + ", ".join([*METRICS, "p50, p99, p99.9, read_p99, ..."]) + "."
        raise UsageError("a metric", repr(name), hint=f"{did_you_mean(name, METRICS, _WORDS)} {known}".strip())
    operations = (OPERATIONS[match[1]],) if match[1] else ()
    return Metric(name, name, "", "ns", "lower", share=float(match[2]) / 100.0, operations=operations)
