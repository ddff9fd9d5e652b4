"""What happened between two sightings of one object of an MSA: deltas of its counters, each within its range.

`iops` and `bytes-per-second` are not taken: they cover the time since anyone asked last, which was 5 s, 31 s and 32
minutes in one dump. Cache hits and misses count blocks (259 million of them with 67 million reads), so the hit ratio is
the share of blocks. A field may hold garbage (read-ahead-operations 4804068203594569116), so each has a range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from storscope.domain import units, write_cache

_COUNTS_END: Final = 2**53
_BYTES_END: Final = 2**62
_OPS_PER_S_END: Final = 1e8
_BYTES_PER_S_END: Final = 1e13
_LONGEST_US: Final = 3.6e9

RESET_TIMES: Final = ("reset-time-numeric", "reset-time")
_MAIN: Final = ("number-of-reads", "number-of-writes", "data-read-numeric", "data-written-numeric")
"""Counters that only a reset makes fall."""
_COUNTERS: Final = {
    **dict.fromkeys(("number-of-reads", "number-of-writes", "num-forwarded-cmds"), (_COUNTS_END, _OPS_PER_S_END)),
    **dict.fromkeys(("data-read-numeric", "data-written-numeric"), (_BYTES_END, _BYTES_PER_S_END)),
    **dict.fromkeys(
        (
            "read-cache-hits", "read-cache-misses", "write-cache-hits", "write-cache-misses", "small-destages",
            "full-stripe-write-destages", "read-ahead-operations",
        ),
        (_COUNTS_END, 1e11),
    ),
}  # fmt: skip
"""Counter -> the first value, and the first rate per second, that it cannot have."""
_SHOWN: Final = {
    "read-cache-hits": "blocks/s", "read-cache-misses": "blocks/s", "write-cache-hits": "blocks/s",
    "write-cache-misses": "blocks/s", "small-destages": "1/s", "full-stripe-write-destages": "1/s",
    "read-ahead-operations": "1/s",
}  # fmt: skip
_GAUGES: Final = {
    "cpu-load": ("%", 100.0), "write-cache-used": ("%", 100.0), "write-cache-percent": ("%", 100.0),
    "queue-depth": ("", 1e6), "avg-rsp-time": ("us", _LONGEST_US), "avg-read-rsp-time": ("us", _LONGEST_US),
    "avg-write-rsp-time": ("us", _LONGEST_US),
}  # fmt: skip
"""Value of the moment, or of the time since anyone asked last -> unit and the greatest that it can have."""
_WINDOW_SLACK_S: Final = 2.0
_WINDOW_SLACK: Final = 0.1
"""A window of latencies is the interval of the deltas when it differs by no more."""


@dataclass(frozen=True)
class Sighting:
    """The numbers of an object at one time; what was out of its range is named in `bad`."""

    counters: Mapping[str, int]
    gauges: Mapping[str, float]
    reset: str | None
    window_s: float | None
    bad: tuple[str, ...]


def sighting(properties: Mapping[str, str]) -> Sighting:
    """The numbers among an object's properties."""
    bad: list[str] = []
    counters: dict[str, int] = {}
    for name, (end, _) in _COUNTERS.items():
        text = properties.get(name, "")
        if not text or text == "N/A":
            continue
        if text.isascii() and text.isdigit() and len(text) < 20 and int(text) < end:
            counters[name] = int(text)
        else:
            bad.append(name)
    gauges: dict[str, float] = {}
    for name, (_, most) in _GAUGES.items():
        value = number(properties.get(name, "").removesuffix("%"))
        if value is not None and 0 <= value <= most:
            gauges[name] = value
        elif value is not None:
            bad.append(name)
    start, stop = (number(properties.get(f"{edge}-sample-time-numeric")) for edge in ("start", "stop"))
    window_s = stop - start if start and stop and stop >= start else None
    reset = next((properties[name] for name in RESET_TIMES if properties.get(name)), None)
    return Sighting(counters, gauges, reset, window_s, tuple(bad))


def number(text: str | None) -> float | None:
    """A finite number, or None."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def is_reset(before: Sighting, now: Sighting) -> bool:
    """Whether the counters began anew between two sightings."""
    if before.reset is not None and now.reset is not None and before.reset != now.reset:
        return True
    return any(now.counters.get(name, 0) < before.counters.get(name, 0) for name in _MAIN if name in now.counters)


@dataclass(frozen=True)
class Interval:
    """The columns of an interval, its other counters (name, unit, value), and what was left out of it."""

    columns: Mapping[str, float | None]
    others: list[tuple[str, str, float]]
    omitted: list[str]


def interval(before: Sighting, now: Sighting, seconds: float) -> Interval:
    """What happened between two sightings without a reset."""
    omitted: list[str] = []
    rates: dict[str, float] = {}
    for name, value in now.counters.items():
        if name not in before.counters:
            continue
        rate = (value - before.counters[name]) / seconds
        if 0 <= rate < _COUNTERS[name][1]:
            rates[name] = rate
        else:
            omitted.append(f"{name}: differences out of range")
    columns = _columns(rates, now)
    columns |= _latencies(now, columns, seconds, omitted)
    others = [(name, unit, rates[name]) for name, unit in _SHOWN.items() if name in rates]
    others += [(name, unit, now.gauges[name]) for name, (unit, _) in _GAUGES.items() if name in now.gauges]
    if (used := now.gauges.get("write-cache-used")) is not None:
        others.append((write_cache.USED, write_cache.UNIT, used / 100.0))
    return Interval(columns, others, omitted)


def _columns(rates: Mapping[str, float], now: Sighting) -> dict[str, float | None]:
    reads, writes = rates.get("number-of-reads"), rates.get("number-of-writes")
    hits, misses = rates.get("read-cache-hits"), rates.get("read-cache-misses")
    load = now.gauges.get("cpu-load")
    return {
        "ops_per_s": None if reads is None or writes is None else reads + writes,
        "read_ops_per_s": reads,
        "write_ops_per_s": writes,
        "read_bytes_per_s": rates.get("data-read-numeric"),
        "write_bytes_per_s": rates.get("data-written-numeric"),
        "forwarded_per_s": rates.get("num-forwarded-cmds"),
        "read_hit_ratio": hits / (hits + misses) if hits is not None and misses is not None and hits + misses else None,
        "cpu_busy_ratio": None if load is None else load / 100,
        "queue_depth_mean": now.gauges.get("queue-depth"),
    }


def _latencies(
    now: Sighting, columns: Mapping[str, float | None], seconds: float, omitted: list[str]
) -> dict[str, float | None]:
    """Mean latencies, where they are of this interval and something was timed."""
    found: dict[str, float | None] = {}
    is_ours = now.window_s is not None and abs(now.window_s - seconds) <= max(_WINDOW_SLACK_S, _WINDOW_SLACK * seconds)
    for name, column, operations in (
        ("avg-rsp-time", "latency_ns_mean", "ops_per_s"),
        ("avg-read-rsp-time", "read_latency_ns_mean", "read_ops_per_s"),
        ("avg-write-rsp-time", "write_latency_ns_mean", "write_ops_per_s"),
    ):
        if name not in now.gauges or not columns[operations]:
            continue
        if is_ours:
            found[column] = now.gauges[name] * units.NS_PER_US
        else:
            omitted.append("latencies over another time than the interval, or over one that is not said")
    return found
