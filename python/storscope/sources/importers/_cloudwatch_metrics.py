"""Metrics of CloudWatch about EBS, and what a label says: which metric, by which statistic, of which volume.

From the reference, recalled; no capture at hand ("Amazon CloudWatch metrics for Amazon EBS", "CloudWatch metrics that
are available for your instances", namespaces AWS/EBS and AWS/EC2). Amounts are sums over the period: their Sum by the
seconds of the period is a rate. Their Average is something else, of one operation or of one sample within the period,
by the kind of instance. The times of VolumeTotalReadTime are seconds, those of VolumeAvgReadLatency milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from storscope.domain.burst_credits import LEFT, LEFT_BYTES, LEFT_OPS

SUM: Final = "Sum"
AVERAGE: Final = "Average"
UNSAID: Final = ""
MINIMUM: Final = "Minimum"
STATISTICS: Final = (SUM, AVERAGE, MINIMUM, "Maximum", "SampleCount")


@dataclass(frozen=True)
class Metric:
    """What a metric is."""

    unit: str
    is_amount: bool
    """Whether it is a sum over the period; else it is a mean or a level."""
    column: str | None = None
    """The canonical column of an amount by second, or of a mean; of what has none it stays a counter."""
    factor: float = 1.0
    """From the metric's unit to the column's."""
    balance: str | None = None
    """The counter of credits that are left, of a share of them in per cent."""


_OPS, _BYTES, _SECONDS, _SHARE = "Count", "Bytes", "Seconds", "Percent"
METRICS: Final = {
    "VolumeReadOps": Metric(_OPS, True, "read_ops_per_s"), "VolumeWriteOps": Metric(_OPS, True, "write_ops_per_s"),
    "VolumeReadBytes": Metric(_BYTES, True, "read_bytes_per_s"),
    "VolumeWriteBytes": Metric(_BYTES, True, "write_bytes_per_s"),
    "VolumeTotalReadTime": Metric(_SECONDS, True), "VolumeTotalWriteTime": Metric(_SECONDS, True),
    "VolumeAvgReadLatency": Metric("Milliseconds", False, "read_latency_ns_mean", 1e6),
    "VolumeAvgWriteLatency": Metric("Milliseconds", False, "write_latency_ns_mean", 1e6),
    "VolumeQueueLength": Metric(_OPS, False, "queue_depth_mean"),
    "VolumeIdleTime": Metric(_SECONDS, True), "VolumeConsumedReadWriteOps": Metric(_OPS, True),
    "VolumeThroughputPercentage": Metric(_SHARE, False), "BurstBalance": Metric(_SHARE, False, balance=LEFT),
    "VolumeIOPSExceededCheck": Metric("None", False), "VolumeThroughputExceededCheck": Metric("None", False),
    "VolumeStalledIOCheck": Metric("None", False),
    "EBSReadOps": Metric(_OPS, True, "read_ops_per_s"), "EBSWriteOps": Metric(_OPS, True, "write_ops_per_s"),
    "EBSReadBytes": Metric(_BYTES, True, "read_bytes_per_s"),
    "EBSWriteBytes": Metric(_BYTES, True, "write_bytes_per_s"),
    "EBSIOBalance%": Metric(_SHARE, False, balance=LEFT_OPS),
    "EBSByteBalance%": Metric(_SHARE, False, balance=LEFT_BYTES),
    "InstanceEBSIOPSExceededCheck": Metric("None", False), "InstanceEBSThroughputExceededCheck": Metric("None", False),
}  # fmt: skip
"""By name, as CloudWatch spells it."""
TIMES: Final = {
    "read_latency_ns_mean": ("VolumeTotalReadTime", "VolumeReadOps"),
    "write_latency_ns_mean": ("VolumeTotalWriteTime", "VolumeWriteOps"),
}
"""Latency -> the time of all operations, and their number."""
OPERATIONS_OF: Final = {
    "VolumeReadBytes": "VolumeReadOps", "VolumeWriteBytes": "VolumeWriteOps", "EBSReadBytes": "EBSReadOps",
    "EBSWriteBytes": "EBSWriteOps", "VolumeTotalReadTime": "VolumeReadOps", "VolumeTotalWriteTime": "VolumeWriteOps",
}  # fmt: skip
"""Amount -> the number of operations that it is of."""
_FOLDED: Final = {name.casefold(): name for name in METRICS}
_VOLUME: Final = re.compile(r"(?<![\w-])vol-[0-9A-Za-z]+")
_INSTANCE: Final = re.compile(r"(?<![\w-])i-[0-9A-Za-z]+")
_STATISTICS: Final = {name.casefold(): name for name in STATISTICS} | {
    "avg": AVERAGE, "min": MINIMUM, "max": "Maximum", "sample count": "SampleCount", "samples": "SampleCount",
}  # fmt: skip
_NO_NAME: Final = re.compile(r"(?:AWS/)?E(?:BS|C2)|[a-z]{2}(?:-[a-z]+)+-\d|\d{12}|[\W_]*", re.IGNORECASE)
"""Words of a label that name nothing: namespaces, regions, accounts, signs."""
_UNITS: Final = frozenset(metric.unit.casefold() for metric in METRICS.values())


def is_of_instance(metric: str) -> bool:
    """Whether a metric is of all volumes of an instance."""
    return "EBS" in metric


def metric_in(texts: Iterable[str]) -> str | None:
    """The metric that labels name, as a word of its own."""
    return next((word for text in texts for word in _words(text) if word in METRICS), None)


def metric_of_id(text: str) -> str | None:
    """The metric that the Id of a query spells, with a small letter first: 'volumeReadOps', 'volumereadops_1'."""
    return _FOLDED.get(text.partition("_")[0].casefold())


def statistic_in(texts: Iterable[str]) -> str:
    """The statistic that labels name; `UNSAID` where they name none."""
    words = (word.casefold() for text in texts for word in _words(text))
    return next((_STATISTICS[word] for word in words if word in _STATISTICS), UNSAID)


def thing_in(texts: Iterable[str], *, of_instance: bool) -> str | None:
    """The id of a volume, or of an instance."""
    matches = ((_INSTANCE if of_instance else _VOLUME).search(text) for text in texts)
    return next((match[0] for match in matches if match), None)


def rest_of(label: str) -> str:
    """What a label says beside metric and statistic: perhaps a name that somebody gave the volume."""
    return " ".join(word for word in _words(label) if not (word in METRICS or _is_known(word.casefold())))


def _is_known(word: str) -> bool:
    return word in _STATISTICS or word in _UNITS or _NO_NAME.fullmatch(word) is not None


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,;:|()\[\]{}=\"']+", text) if word]
