"""What the heading of a column means, in tables that monitoring systems export.

There is no standard, but the words are few: reads or writes, a rate, bytes, a latency, a queue, a share, and a unit. A
heading means a canonical column when every word of it is known; with any other word ('cache miss', 'mirror', '95th') it
is something else, and stays a counter under its own name. A bandwidth or a latency without a unit means nothing.

`I/O` is an IO, and `per` something other than a second or one operation ('IO/s per disk') is no rate of the thing.

Units: MB is 10^6 bytes (nobody's headings tell it from 2^20, `MiB/s` is that); bits are told in `_heading_units.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from storscope.domain.schema import CANONICAL
from storscope.sources.importers._heading_units import has_small_letters, has_unsure_letters, with_plain_units


@dataclass(frozen=True)
class Meaning:
    """A canonical column, and the factor from the heading's unit to the column's."""

    column: str
    factor: float = 1.0
    is_share: bool = False
    """A share without a unit: whether it is in per cent is for its values to tell."""


_DIRECTIONS: Final = {
    "read": "read_", "reads": "read_", "rd": "read_", "r": "read_",
    "write": "write_", "writes": "write_", "written": "write_", "wr": "write_", "w": "write_",
}  # fmt: skip
HOST_SIDE: Final = frozenset({"host", "front", "end", "frontend"})
DISK_SIDE: Final = frozenset({"disk", "drive", "device"})
_MOMENTS: Final = frozenset({"current", "cur", "last"})
_NOISE: Final = HOST_SIDE | DISK_SIDE | _MOMENTS | {
    "avg", "average", "mean", "total", "tot", "overall", "combined", "all", "the", "of", "in", "volume", "lun", "vdisk",
    "system", "array", "data", "value", "observed", "preview",
}  # fmt: skip
"""Words that do not change what a heading means."""
_MOST: Final = frozenset({"max", "maximum", "peak", "highest"})
_OPERATIONS: Final = frozenset({
    "io", "ios", "op", "ops", "operation", "operations", "request", "requests", "req", "reqs", "transfer", "transfers",
    "command", "commands", "cmd", "cmds", "rate", "throughput", "s",
})  # fmt: skip
_BYTES: Final = {
    "b": 1.0, "byte": 1.0, "bytes": 1.0, "kb": 1e3, "kbyte": 1e3, "kbytes": 1e3, "mb": 1e6, "mbyte": 1e6,
    "mbytes": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40,
    "kilobytes": 1e3, "megabytes": 1e6, "gigabytes": 1e9,
    "bit": 1 / 8, "bits": 1 / 8, "kbit": 1e3 / 8, "kbits": 1e3 / 8, "mbit": 1e6 / 8, "mbits": 1e6 / 8, "gbit": 1e9 / 8,
    "gbits": 1e9 / 8, "tbit": 1e12 / 8,
}  # fmt: skip
_BANDWIDTH_WORDS: Final = frozenset({"bandwidth", "throughput", "rate", "speed", "transfer", "traffic", "s", "bw"})
_TIMES: Final = {
    "ns": 1.0, "nanosecond": 1.0, "nanoseconds": 1.0, "us": 1e3, "usec": 1e3, "usecs": 1e3, "microsecond": 1e3,
    "microseconds": 1e3, "ms": 1e6, "msec": 1e6, "msecs": 1e6, "millisecond": 1e6, "milliseconds": 1e6, "s": 1e9,
    "sec": 1e9, "secs": 1e9, "second": 1e9, "seconds": 1e9,
}  # fmt: skip
_LATENCY_WORDS: Final = frozenset({"latency", "lat", "response", "resp", "time", "times", "await", "delay"})
_WANT_UNITS: Final = frozenset({"latency", "response", "await", "bandwidth", "throughput"})
_EACH: Final = frozenset({"io", "op", "ops", "operation", "request", "transfer", "read", "write"})
_SHARES: Final = frozenset({"pct", "percent", "percentage", "ratio"})
_BUSY_WORDS: Final = frozenset({"utilization", "utilisation", "util", "utilized", "busy", "usage", "load", "time"})
_SURELY_BUSY: Final = _BUSY_WORDS - {"usage", "load", "time"}
_FILLED: Final = frozenset({
    "page", "pages", "used", "usage", "utilization", "utilisation", "full", "fullness", "occupancy", "fill",
})  # fmt: skip
_PROCESSOR: Final = frozenset({"cpu", "processor", "proc"})
_QUEUE_WORDS: Final = frozenset({"depth", "length", "len", "size", "sz"})


def words_of(heading: str) -> tuple[str, ...]:
    """'Read Latency (ms)' -> read, latency, ms; 'avgReadMBps' -> avg, read, mb, per, s."""
    text = heading.strip().replace("µ", "u").replace("μ", "u").replace("%", " pct ")
    text = re.sub(r"\b[iI]/[oO](?=s?\b)", "IO", with_plain_units(text))
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).replace("_", " ").lower()
    text = re.sub(r"\b([kmg]?(?:bits?|bytes?)|io|op)ps\b", r"\1 per s", text)
    text = re.sub(r"/\s*(?:s|sec|secs|second)\b|\bper\s+(?:sec|second)\b", " per s ", text).replace("/", " per ")
    return tuple(re.findall(r"[a-z]+|\d+", text))


@cache
def meaning_of(heading: str) -> Meaning | None:
    """What a heading means; None if it is not known, or lacks a unit."""
    if heading.strip() in CANONICAL:
        return Meaning(heading.strip())
    words = words_of(heading)
    found = [reading for read in _READINGS if (reading := read(words)) is not None]
    return found[0] if found else None


@cache
def lacks_unit(heading: str) -> bool:
    """Whether a heading would mean a latency or a bandwidth if it had a unit."""
    if meaning_of(heading) is not None or not _WANT_UNITS & set(words_of(heading)):
        return False
    return any(meaning_of(f"{heading} ({unit})") is not None for unit in ("ms", "MB/s"))


@cache
def is_amount(heading: str) -> bool:
    """Whether a heading would mean a rate or a bandwidth if it were by second: 'VolumeReadOps', 'Read KBytes'."""
    return meaning_of(heading) is None and not lacks_unit(heading) and meaning_of(f"{heading}/s") is not None


@cache
def has_unsure_unit(heading: str) -> bool:
    """Whether a heading names a bandwidth in what may be bytes or bits: 'read_mbps'."""
    return has_unsure_letters(heading) and meaning_of(heading) is None


@cache
def is_taken_as_bytes(heading: str) -> bool:
    """Whether a bandwidth is in bytes only because storage mostly is: 'Read kb/s'."""
    return has_small_letters(heading) and meaning_of(heading) is not None


@cache
def write_cache_factor(heading: str) -> float | None:
    """Of a heading that says how full a write cache is ('SP Cache Dirty Pages (%)', 'Write Cache Used %'): the factor
    to a share of what it may hold of writes; None of any other.

    What waits to be written as a share of all of a cache is another figure: it never comes to 1.
    """
    words = frozenset(words_of(heading)) - _NOISE
    is_dirty = "dirty" in words and not words.isdisjoint({"page", "pages", "cache"})
    is_used = {"write", "cache"} <= words and not words.isdisjoint(_FILLED)
    if (
        not (is_dirty or is_used)
        or not words & _SHARES
        or not words <= _FILLED | _SHARES | {"sp", "write", "cache", "dirty"}
    ):
        return None
    return 1.0 if "ratio" in words else 0.01


def rank_of(heading: str) -> int:
    """Of headings with one meaning the least is to be taken: plain, then the host's side, a moment's, the disks'."""
    words = frozenset(words_of(heading))
    return next((rank for rank, some in ((3, DISK_SIDE), (2, _MOMENTS), (1, HOST_SIDE)) if words & some), 0)


def _parts(words: tuple[str, ...]) -> tuple[str, frozenset[str], bool] | None:
    """Direction, the words that are left, and whether the most is meant; None if both directions are named."""
    directions = {_DIRECTIONS[word] for word in words if word in _DIRECTIONS}
    rest = frozenset(word for word in words if word not in _DIRECTIONS and word not in _NOISE and word != "per")
    if len(directions) > 1:
        return None
    return next(iter(directions), ""), rest - _MOST, bool(rest & _MOST)


def _divisors(words: tuple[str, ...]) -> frozenset[str]:
    """What stands behind each 'per'."""
    return frozenset(after for word, after in zip(words, (*words[1:], ""), strict=False) if word == "per")


def _rate(words: tuple[str, ...]) -> Meaning | None:
    parts = _parts(words)
    if parts is None or parts[2] or not _divisors(words) <= {"s"}:
        return None
    direction, rest, _ = parts
    per_s = rest & {"iops", "tps"} or ("per" in words and "s" in rest)
    named = rest & (_OPERATIONS - {"s", "rate", "throughput"}) or rest & {"iops", "tps"} or direction
    if per_s and named and rest <= _OPERATIONS | {"iops", "tps"}:
        return Meaning(f"{direction}ops_per_s")
    return None


def _bandwidth(words: tuple[str, ...]) -> Meaning | None:
    parts = _parts(words)
    if parts is None or parts[2] or _divisors(words) != {"s"}:
        return None
    direction, rest, _ = parts
    unit = [word for word in words if word in _BYTES]
    if len(unit) == 1 and "s" in rest and rest - set(unit) <= _BANDWIDTH_WORDS:
        return Meaning(f"{direction}bytes_per_s", _BYTES[unit[0]])
    return None


def _latency(words: tuple[str, ...]) -> Meaning | None:
    parts = _parts(words)
    if parts is None or not _divisors(words) <= _EACH:
        return None
    direction, rest, is_most = parts
    unit = [word for word in words if word in _TIMES]
    is_each = any(
        a in _TIMES and b == "per" and c in _EACH for a, b, c in zip(words, words[1:], words[2:], strict=False)
    )
    named = rest & (_LATENCY_WORDS - {"time", "times"}) or is_each
    if len(unit) != 1 or not named or not rest - set(unit) <= _LATENCY_WORDS | _EACH:
        return None
    if is_most:
        return None if direction else Meaning("latency_ns_max", _TIMES[unit[0]])
    return Meaning(f"{direction}latency_ns_mean", _TIMES[unit[0]])


def _queue(words: tuple[str, ...]) -> Meaning | None:
    parts = _parts(words)
    if parts is None or parts[0] or _divisors(words):
        return None
    _, rest, is_most = parts
    if rest in ({"aqu", "sz"}, {"outstanding"}, {"outstanding", "io"}, {"outstanding", "ios"}, {"qlen"}) or (
        "queue" in rest and rest & _QUEUE_WORDS and rest <= _QUEUE_WORDS | {"queue"}
    ):
        return Meaning("queue_depth_max" if is_most else "queue_depth_mean")
    return None


def _busy(words: tuple[str, ...]) -> Meaning | None:
    parts = _parts(words)
    if parts is None or parts[0] or parts[2] or _divisors(words):
        return None
    rest = parts[1]
    is_processor = bool(rest & _PROCESSOR)
    named = rest & _SURELY_BUSY or (is_processor and rest & _SHARES)
    if not named or not rest <= _PROCESSOR | _BUSY_WORDS | _SHARES:
        return None
    return _share("cpu_busy_ratio" if is_processor else "busy_ratio", rest)


def _hits(words: tuple[str, ...]) -> Meaning | None:
    rest = frozenset(words) - _NOISE
    named = rest & {"hit", "hits"} and rest & {"read", "reads"} and rest & _SHARES
    if named and rest <= {"hit", "hits", "read", "reads", "cache", "rate"} | _SHARES:
        return _share("read_hit_ratio", rest)
    return None


def _share(column: str, words: frozenset[str]) -> Meaning:
    if words & {"pct", "percent", "percentage"}:
        return Meaning(column, 0.01)
    return Meaning(column, 1.0, is_share="ratio" not in words)


_READINGS: Final[tuple[Callable[[tuple[str, ...]], Meaning | None], ...]] = (
    _latency, _bandwidth, _rate, _queue, _busy, _hits,
)  # fmt: skip
