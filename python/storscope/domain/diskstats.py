"""Lines of /proc/diskstats, and what happened between two of them.

Supports 4 fields after the name (partitions before Linux 2.6.25), 11, 15 (4.18: discards) and 17 (5.5: flushes); what a
later kernel adds is passed over. Fields: Documentation/admin-guide/iostats.rst and block/genhd.c (`diskstats_show`).
Sectors are of 512 bytes whatever the device's own. Times are printed as unsigned 32-bit milliseconds and wrap; every
other counter that falls was reset.

Canonical columns are of reads and writes; discards (fstrim) and flushes are no load of an application, so their time is
taken out of the weighted time, which is that of all four (`diskstats_show`). `ticks`, the busy time, cannot be parted.

Beware: times are whole milliseconds, so the mean latency of n operations is known to 1/n ms; the error does not add up.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from storscope.domain import units

FIELDS: Final = (
    "rio", "rmerge", "rsect", "rms", "wio", "wmerge", "wsect", "wms", "inflight", "ticks", "weighted",
    "dio", "dmerge", "dsect", "dms", "fio", "fms",
)  # fmt: skip
"""r, w, d, f: reads, writes, discards, flushes. io: completed; merge: merged before they were sent; sect: sectors."""
OLD_PARTITION_FIELDS: Final = ("rio", "rsect", "wio", "wsect")
FIELD_COUNTS: Final = (4, 11, 15, 17)
TIMES: Final = frozenset(("rms", "wms", "ticks", "weighted", "dms", "fms"))
_WRAP_MS: Final = 2**32
_PARTITION = re.compile(r"(.*[^0-9])([0-9]+)")

Counters = Mapping[str, int]
"""One line: field -> value since boot."""


def counters_of(values: Sequence[int]) -> Counters | None:
    """The numbers after a device's name by their names; None for a count of fields that no kernel prints."""
    if len(values) not in FIELD_COUNTS and len(values) < len(FIELDS):
        return None
    names = OLD_PARTITION_FIELDS if len(values) == len(OLD_PARTITION_FIELDS) else FIELDS
    return dict(zip(names, values, strict=False))


def parse(text: str) -> dict[str, Counters]:
    """The whole file: device -> counters. Lines that are none are passed over."""
    found: dict[str, Counters] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 7 or not all(word.isdecimal() for word in (*words[:2], *words[3:])):
            continue
        counters = counters_of([int(word) for word in words[3:]])
        if counters is not None:
            found[words[2]] = counters
    return found


@dataclass(frozen=True)
class Change:
    """What was counted between two lines of a device."""

    deltas: Mapping[str, int]
    times_back: int
    """Times left out because they fell without a wrap (old kernels do this)."""


def change(before: Counters, now: Counters) -> Change | None:
    """Differences, wrapped times unwrapped; None after a reset."""
    deltas, times_back = {}, 0
    for name, value in now.items():
        delta = value - before.get(name, value)
        if name not in TIMES:
            if delta < 0 and name != "inflight":
                return None
        elif delta < 0:
            if before[name] < _WRAP_MS / 2 or before[name] >= _WRAP_MS:
                times_back += 1
                continue
            delta += _WRAP_MS
        deltas[name] = delta
    return Change(deltas, times_back)


@dataclass(frozen=True)
class Canonical:
    """The canonical columns of an interval."""

    values: Mapping[str, float | None]
    busy_cut: bool
    """True where the busy share came out above 1 and was cut to it: the clock and the counters are not read at once."""


def canonical(deltas: Counters, seconds: float) -> Canonical:
    """What happened in an interval of so many seconds."""
    busy = deltas["ticks"] / (seconds * 1000) if "ticks" in deltas else None
    values = {
        "read_ops_per_s": deltas["rio"] / seconds,
        "write_ops_per_s": deltas["wio"] / seconds,
        "read_bytes_per_s": deltas["rsect"] * units.SECTOR_BYTES / seconds,
        "write_bytes_per_s": deltas["wsect"] * units.SECTOR_BYTES / seconds,
        "read_latency_ns_mean": _mean_ns(deltas.get("rms"), deltas["rio"]),
        "write_latency_ns_mean": _mean_ns(deltas.get("wms"), deltas["wio"]),
        "queue_depth_mean": _in_flight(deltas, seconds),
        "busy_ratio": None if busy is None else min(busy, 1.0),
    }
    return Canonical(values, busy is not None and busy > 1)


def _in_flight(deltas: Counters, seconds: float) -> float | None:
    """Mean reads and writes in flight."""
    if "weighted" not in deltas:
        return None
    return max(0, deltas["weighted"] - _others_ms(deltas)) / (seconds * 1000)


def _others_ms(deltas: Counters) -> int:
    """The time of discards and flushes."""
    return deltas.get("dms", 0) + deltas.get("fms", 0)


def _mean_ns(total_ms: int | None, operations: int) -> float | None:
    """Mean time of an operation; None where nothing was timed."""
    return None if total_ms is None or operations <= 0 else units.ns_from_ms(total_ms / operations)


def other_counters(deltas: Counters, now: Counters, seconds: float) -> list[tuple[str, str, float | None]]:
    """(name, unit, value) of what has no canonical column, under the names iostat gives it."""
    rates = (("rmerge", "rrqm/s"), ("wmerge", "wrqm/s"), ("dio", "d/s"), ("dmerge", "drqm/s"), ("fio", "f/s"))
    found: list[tuple[str, str, float | None]] = [
        (shown, "1/s", deltas[name] / seconds) for name, shown in rates if name in deltas
    ]
    if "dsect" in deltas:
        found.append(("dkB/s", "KiB/s", deltas["dsect"] / 2 / seconds))
    for time, operations, shown in (("dms", "dio", "d_await"), ("fms", "fio", "f_await")):
        if time in deltas and deltas.get(operations, 0) > 0:
            found.append((shown, "ms", deltas[time] / deltas[operations]))
    if "weighted" in deltas and _others_ms(deltas):
        found.append(("aqu-sz", "", deltas["weighted"] / (seconds * 1000)))
    if "inflight" in now:
        found.append(("in flight at the end", "", float(now["inflight"])))
    return found


def disk_of_partition(name: str, known: Container[str]) -> str | None:
    """The disk that `name` is a partition of, when that disk is `known`; None for anything else.

    The kernel puts a 'p' between a disk name that ends in a digit and the partition's number (block/genhd.c,
    `disk_name`): sda1 is of sda, nvme0n1p2 of nvme0n1. An xvda1 without an xvda is a disk of its own.
    """
    match = _PARTITION.fullmatch(name)
    if match is None:
        return None
    stem = match[1]
    if stem.endswith("p") and stem[-2:-1].isdigit():
        stem = stem[:-1]
    elif stem[-1:].isdigit():
        return None
    return stem if stem in known else None
