"""Volumes whose reads and writes are told apart, steady but for a stretch of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from storscope.domain.recorder import Recorder
from storscope.domain.units import KIB, NS_PER_S
from tests.diagnose.days import MS, START_NS, FloatArray, entity, record

_COUNT = 720
HDD, SSD = "hdd", "ssd"


def at(interval: int, step_s: int = 20) -> int:
    return START_NS + interval * step_s * NS_PER_S


def steady(value: float, volumes: int = 1) -> FloatArray:
    return np.full((volumes, _COUNT), float(value))


def during(usual: FloatArray, value: float, volumes: int = 1, first: int = 100, last: int = 160) -> FloatArray:
    """As usual, but for the first volumes in some intervals."""
    changed = usual.copy()
    changed[:volumes, first:last] = value
    return changed


def apart(
    reads: tuple[FloatArray, FloatArray], writes: tuple[FloatArray, FloatArray], *, size: float = 8 * KIB,
    media: str = HDD,
) -> Callable[[Recorder], None]:  # fmt: skip
    """A writer of volumes of which (operations, latency in ms) of reads and of writes are told, and the total."""
    columns: dict[str, FloatArray] = {}
    for begin, (ops, ms) in {"read": reads, "write": writes}.items():
        columns |= {f"{begin}_ops_per_s": ops, f"{begin}_latency_ns_mean": ms * MS, f"{begin}_bytes_per_s": ops * size}
    total = reads[0] + writes[0]
    columns |= {
        "ops_per_s": total,
        "bytes_per_s": total * size,
        "latency_ns_mean": (reads[0] * reads[1] + writes[0] * writes[1]) / total * MS,
    }
    return written(columns, media)


def written(columns: Mapping[str, FloatArray], media: str) -> Callable[[Recorder], None]:
    def write(recorder: Recorder) -> None:
        volumes = next(iter(columns.values())).shape[0]
        record(recorder, columns, [f"v{number:02}" for number in range(volumes)])
        recorder.fact(entity("shared", "disk_group"), "media", media)

    return write
