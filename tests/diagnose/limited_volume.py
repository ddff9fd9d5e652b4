"""A volume behind token buckets, in virtual time, and what iostat would print of it: the limit itself is the truth.

In each of the 20 slices of an interval so many operations, and so many bytes, may pass (blk-throttle of Linux has
slices of 0.1 s); what is asked for beyond that waits, as much of it as the application keeps in flight. Credits let
more pass until they are spent, and come back at the rate of the base. Apart from waiting an operation takes as long as
it takes alone. `jitter` is how uneven the intervals of the tool are, which every rate shows and no latency.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from storscope.domain.units import KIB

FloatArray = npt.NDArray[np.float64]

_SLICES = 20
_START = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Limits:
    """What passes a second; with `credits` up to `burst_ops_per_s` while there are any."""

    ops_per_s: float = math.inf
    bytes_per_s: float = math.inf
    burst_ops_per_s: float = 0.0
    credits: float = 0.0


@dataclass(frozen=True)
class Load:
    """What is asked in each interval: operations per second, part of reads, bytes each, how many at most in flight."""

    ops_per_s: FloatArray
    read_share: FloatArray
    size_bytes: FloatArray
    most_in_flight: FloatArray


@dataclass(frozen=True)
class Seen:
    """What was done in each interval."""

    ops_per_s: FloatArray
    bytes_per_s: FloatArray
    read_share: FloatArray
    latency_s: FloatArray
    in_flight: FloatArray
    busy_ratio: FloatArray
    credits_left: FloatArray = field(default_factory=lambda: np.ones(0))
    """Mean share of the credits that is left; empty where nobody counts them."""


def steady(count: int, ops_per_s: float, size_bytes: float = 8 * KIB, reads: float = 0.7, most: float = 64) -> Load:
    """The same is asked all the time."""
    return Load(*(np.full(count, float(value)) for value in (ops_per_s, reads, size_bytes, most)))


def wandering_load(rng: np.random.Generator, count: int, low: float, high: float, most: float = 64) -> Load:
    """Load that goes up and down between two rates, with sizes from 4 to 64 KiB and 20 to 95 % of reads."""
    walk = np.cumsum(rng.normal(0, 0.35, (3, count)), axis=1)
    place = (np.sin(walk) + 1) / 2
    return Load(
        low * (high / low) ** place[0], 0.2 + 0.75 * place[1], 4 * KIB * 16 ** place[2],
        np.round(most * (0.25 + 0.75 * rng.uniform(size=count))),
    )  # fmt: skip


def serve(
    load: Load,
    limits: Limits,
    rng: np.random.Generator,
    *,
    step_s: float = 10,
    alone_s: float = 6e-4,
    jitter: float = 0.0,
) -> Seen:
    """What a volume with these limits does with the load."""
    return serve_together([load], limits, rng, step_s=step_s, alone_s=alone_s, jitter=jitter)[0]


def serve_together(
    loads: Sequence[Load],
    limits: Limits,
    rng: np.random.Generator,
    *,
    step_s: float = 10,
    alone_s: float = 6e-4,
    jitter: float = 0.0,
) -> list[Seen]:
    """What volumes with limits for all of them do, each in proportion to what waits there."""
    ops, size, most = (np.stack([getattr(load, name) for load in loads]) for name in _NAMES)
    slice_s = step_s / _SLICES
    done, waited, busy = np.zeros(ops.shape), np.zeros(ops.shape), np.zeros(ops.shape)
    backlog, left = np.zeros(len(loads)), limits.credits
    credits_left = np.ones(ops.shape[1])
    for index in range(ops.shape[1]):
        for arrivals in rng.poisson(ops[:, index] * slice_s, (_SLICES, len(loads))):
            backlog = np.minimum(backlog + arrivals, most[:, index] + ops[:, index] * slice_s)
            burst = limits.burst_ops_per_s if left > 0 else 0.0
            allowed = max(limits.ops_per_s, burst) * slice_s / max(backlog.sum(), 1e-9)
            allowed = min(1.0, allowed, limits.bytes_per_s * slice_s / max(float(backlog @ size[:, index]), 1e-9))
            passed = backlog * allowed
            earned = limits.ops_per_s * slice_s if limits.credits else 0.0
            left = min(limits.credits, left + earned - float(passed.sum())) if limits.credits else 0.0
            credits_left[index] -= (1 - max(left, 0.0) / limits.credits) / _SLICES if limits.credits else 0.0
            backlog = np.minimum(backlog - passed, most[:, index])
            done[:, index] += passed
            waited[:, index] += backlog * slice_s
            busy[:, index] += backlog > 0
    uneven = 1 + rng.normal(0, jitter, ops.shape[1]) if jitter else np.ones(ops.shape[1])
    found = []
    for row, load in enumerate(loads):
        latency_s = alone_s * rng.gamma(60, 1 / 60, ops.shape[1]) + waited[row] / np.maximum(done[row], 1)
        rate = done[row] / step_s
        at_work = np.maximum(busy[row] / _SLICES, np.minimum(rate * alone_s, 1.0))
        seen = uneven * rate
        moved, in_flight = seen * load.size_bytes, seen * latency_s
        found.append(Seen(seen, moved, load.read_share, latency_s, in_flight, at_work, credits_left))
    return found


_NAMES = ("ops_per_s", "size_bytes", "most_in_flight")


def iostat_json(devices: Mapping[str, Seen], step_s: float = 10, start: dt.datetime = _START) -> str:
    """What `iostat -x -y -t -o JSON` prints of devices, as sysstat 12.6 does."""
    count = len(next(iter(devices.values())).ops_per_s)
    statistics = [
        {
            "timestamp": (start + dt.timedelta(seconds=step_s * (index + 1))).strftime("%Y-%m-%dT%H:%M:%S+0000"),
            "avg-cpu": {"user": 5.0, "nice": 0.0, "system": 2.0, "iowait": 10.0, "steal": 0.0, "idle": 83.0},
            "disk": [{"disk_device": name} | _line(seen, index) for name, seen in devices.items()],
        }
        for index in range(count)
    ]
    host = {"nodename": "db1", "sysname": "Linux", "release": "6.1.0", "machine": "x86_64", "number-of-cpus": 8,
            "date": start.strftime("%Y-%m-%d"), "statistics": statistics}  # fmt: skip
    return json.dumps({"sysstat": {"hosts": [host]}})


def _line(seen: Seen, index: int) -> dict[str, float]:
    ops, reads = seen.ops_per_s[index], seen.read_share[index]
    kib, wait = seen.bytes_per_s[index] / KIB, 1000 * seen.latency_s[index]
    read, written = ops * reads, ops * (1 - reads)
    line = {
        "r/s": read, "w/s": written, "d/s": 0.0, "f/s": 0.0, "rkB/s": kib * reads, "wkB/s": kib * (1 - reads),
        "dkB/s": 0.0, "rrqm/s": 0.0, "wrqm/s": 0.0, "drqm/s": 0.0, "r_await": wait if read else 0.0,
        "w_await": wait if written else 0.0, "d_await": 0.0, "f_await": 0.0, "aqu-sz": seen.in_flight[index],
        "util": 100 * min(1.0, seen.busy_ratio[index]),
    }  # fmt: skip
    return {name: round(float(value), 2) for name, value in line.items()}
