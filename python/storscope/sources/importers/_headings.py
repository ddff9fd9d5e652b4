"""What the heading of a column means, in tables that monitoring systems export.

There is no standard, but the words are few: reads or writes, a rate, bytes, a latency, a queue, a share, and a unit. A
heading means a canonical column when every word of it is known; with any other word ('cache miss', 'mirror', '95th') it
is something else, and stays a counter under its own name. A bandwidth or a latency without a unit means nothing.

Units: `MB/s` and `MBps` are bytes (10^6; nobody's headings tell them from 2^20, `MiB/s` is that), `Mb/s`, `Mbps` and
`Mbit/s` are bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from storscope.domain.schema import CANONICAL


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
_NOISE: Final = frozenset({
    "avg", "average", "mean", "total", "overall", "combined", "all", "host", "front", "end", "frontend", "the", "of",
    "in", "current", "cur", "last", "per", "volume", "lun", "vdisk", "disk", "drive", "device", "system", "array",
    "data", "value", "observed",
})  # fmt: skip
"""Words that do not change what a heading means."""
_MOST: Final = frozenset({"max", "maximum", "peak", "highest"})
_OPERATIONS: Final = frozenset({
    "io", "ios", "op", "ops", "operation", "operations", "request", "requests", "req", "reqs", "transfer", "transfers",
    "command", "commands", "cmd", "cmds", "rate", "throughput", "s",
})  # fmt: skip
_BYTES: Final = {
    "b": 1.0, "byte": 1.0, "bytes": 1.0, "kb": 1e3, "kbyte": 1e3, "kbytes": 1e3, "mb": 1e6, "mbyte": 1e6,
    "mbytes": 1e6, "gb": 1e9, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30,
    "bit": 1 / 8, "bits": 1 / 8, "kbit": 1e3 / 8, "kbits": 1e3 / 8, "mbit": 1e6 / 8, "mbits": 1e6 / 8, "gbit": 1e9 / 8,
    "gbits": 1e9 / 8,
}  # fmt: skip
_BANDWIDTH_WORDS: Final = frozenset({"bandwidth", "throughput", "rate", "speed", "transfer", "traffic", "s", "bw"})
_TIMES: Final = {
    "ns": 1.0, "nanosecond": 1.0, "nanoseconds": 1.0, "us": 1e3, "usec": 1e3, "usecs": 1e3, "microsecond": 1e3,
    "microseconds": 1e3, "ms": 1e6, "msec": 1e6, "msecs": 1e6, "millisecond": 1e6, "milliseconds": 1e6, "s": 1e9,
    "sec": 1e9, "secs": 1e9, "second": 1e9, "seconds": 1e9,
}  # fmt: skip
_LATENCY_WORDS: Final = frozenset({"latency", "lat", "response", "resp", "time", "times", "await", "delay"})
_WANT_UNITS: Final = frozenset({"latency", "response", "await", "bandwidth", "throughput"})
_EACH: Final = frozenset({"io", "op", "ops", "operation", "request"})
_SHARES: Final = frozenset({"pct", "percent", "percentage", "ratio"})
_BUSY_WORDS: Final = frozenset({"utilization", "utilisation", "util", "utilized", "busy", "usage", "load", "time"})
_SURELY_BUSY: Final = _BUSY_WORDS - {"usage", "load", "time"}
_PROCESSOR: Final = frozenset({"cpu", "processor", "proc"})
_QUEUE_WORDS: Final = frozenset({"depth", "length", "len", "size", "sz"})
_UNIT_OF_BITS: Final = re.compile(r"\b([KMGkmg])b(?=ps\b|/s)|\b([KMGkmg])bit(?:s)?(?=ps\b|/s)")


def words_of(heading: str) -> tuple[str, ...]:
    """'Read Latency (ms)' -> read, latency, ms; 'avgReadMBps' -> avg, read, mb, per, s."""
    text = heading.strip().replace("µ", "u").replace("μ", "u").replace("%", " pct ")
    text = _UNIT_OF_BITS.sub(lambda match: f"{match[1] or match[2]}bit", text)
    text = re.sub(r"([KMGT])iB", lambda match: match[0].lower(), text)
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower()
    text = re.sub(r"\b([kmg]?(?:i?b|bits?|bytes?)|io|op)ps\b", r"\1 per s", text)
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


def _parts(words: tuple[str, ...]) -> tuple[str, frozenset[str], bool] | None:
    """Direction, the words that are left, and whether the most is meant; None if both directions are named."""
    directions = {_DIRECTIONS[word] for word in words if word in _DIRECTIONS}
    rest = frozenset(word for word in words if word not in _DIRECTIONS and word not in _NOISE)
    if len(directions) > 1:
        return None
    return next(iter(directions), ""), rest - _MOST, bool(rest & _MOST)


def _rate(words: tuple[str, ...]) -> Meaning | None:
    parts = _parts(words)
    if parts is None or parts[2]:
        return None
    direction, rest, _ = parts
    per_s = rest & {"iops", "tps"} or ("per" in words and "s" in rest)
    named = rest & (_OPERATIONS - {"s", "rate", "throughput"}) or rest & {"iops", "tps"} or direction
    if per_s and named and rest <= _OPERATIONS | {"iops", "tps"}:
        return Meaning(f"{direction}ops_per_s")
    return None


def _bandwidth(words: tuple[str, ...]) -> Meaning | None:
    parts = _parts(words)
    if parts is None or parts[2]:
        return None
    direction, rest, _ = parts
    unit = [word for word in words if word in _BYTES]
    if len(unit) == 1 and "per" in words and "s" in rest and rest - set(unit) <= _BANDWIDTH_WORDS:
        return Meaning(f"{direction}bytes_per_s", _BYTES[unit[0]])
    return None


def _latency(words: tuple[str, ...]) -> Meaning | None:
    parts = _parts(words)
    if parts is None:
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
    if parts is None or parts[0]:
        return None
    _, rest, is_most = parts
    if rest in ({"aqu", "sz"}, {"outstanding"}, {"outstanding", "io"}, {"outstanding", "ios"}) or (
        "queue" in rest and rest & _QUEUE_WORDS and rest <= _QUEUE_WORDS | {"queue"}
    ):
        return Meaning("queue_depth_max" if is_most else "queue_depth_mean")
    return None


def _busy(words: tuple[str, ...]) -> Meaning | None:
    parts = _parts(words)
    if parts is None or parts[0] or parts[2]:
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
