"""Columns of evaperf tables, known by the words of their headings and never by their place.

UNVERIFIED: no output of evaperf was at hand. The headings are those that the manual of the P6000 performance tool and
published scripts name, in any order and with whatever stands between the words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from storscope.domain import units
from storscope.sources.importers._decimal_comma import plain

MB_BYTES: Final = 1_000_000
"""MB/s is taken as 10^6 bytes per second, as the vendor counts capacity. Unverified: 2^20 would be 4.9 % more."""
KB_BYTES: Final = 1_000

OBJECTS: Final = {"as": "array", "cs": "controller", "vd": "vdisk", "pd": "disk", "vdg": "disk_group",
                  "pdg": "disk_group"}  # fmt: skip
"""evaperf's object names and the entity kinds they become."""

_MEASURES: Final = (
    ("read_hit_ops", r"read hit\b.*req"), ("read_hit_bytes", r"read hit\b.*([mk]b|data)"),
    ("read_hit_latency", r"read hit\b.*laten"),
    ("read_miss_ops", r"read miss\b.*req"), ("read_miss_bytes", r"read miss\b.*([mk]b|data)"),
    ("read_miss_latency", r"read miss\b.*laten"),
    ("flush_bytes", r"flush\b"), ("mirror_bytes", r"mirror\b"), ("prefetch_bytes", r"pre-?fetch\b"),
    ("host_ops", r"(total )?host\b.*req"), ("host_bytes", r"(total )?host\b.*([mk]b|data)"),
    ("read_ops", r"read\b.*req"), ("read_bytes", r"read\b.*([mk]b|data rate)"), ("read_latency", r"read\b.*laten"),
    ("write_ops", r"write\b.*req"), ("write_bytes", r"write\b.*([mk]b|data rate)"),
    ("write_latency", r"write\b.*laten"),
    ("drive_latency", r"(drive|disk)\b.*laten"), ("queue_depth", r".*queue depth|.*\bqueue$|drive queue"),
    ("cpu_percent", r"(%? ?cpu|cpu ?%.*|cpu busy.*|% processor.*)$"),
    ("data_percent", r"(%? ?data( transfer)?( %)?|data ?%.*)$"),
)  # fmt: skip
_WORDS: Final = (
    ("online_to", r"online( to)?"), ("write_mode", r"(wr|write) ?mode"), ("mirrored", r"mirr(ored)?"),
    ("controller", r"ctlr|controller|ctrl"), ("lun", r"lun"), ("group", r"(disk )?(group|grp)( ?id| ?name)?"),
    ("id", r"id"), ("name", r"(vdisk |virtual disk |disk |friendly )?name"),
    ("node", r"node|array|storage system"), ("time", r"time( ?stamp)?|date[/ ]time"), ("date", r"date"),
    ("enclosure", r"enc(losure)?"), ("bay", r"bay"), ("serial", r"serial.*"),
)  # fmt: skip
_COMPILED_MEASURES = tuple((key, re.compile(pattern)) for key, pattern in _MEASURES)
_COMPILED_WORDS = tuple((key, re.compile(pattern)) for key, pattern in _WORDS)
_BARE = re.compile(r"(req/s|mb/s|kb/s|data rate|latency)\b.*")
_OWNER = re.compile(r"(.*\w)\s+(?:req/s|mb/s|kb/s|data rate|latency)\b", re.IGNORECASE)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True)
class Column:
    """A column: the heading as printed, what it means (None: unknown), and the factor to bytes, ns or 1."""

    heading: str
    key: str | None
    factor: float = 1.0
    unit: str = ""
    unit_is_stated: bool = True

    @property
    def is_measure(self) -> bool:
        """True for a number, False for a name or a state."""
        return bool(self.unit)


def columns_of(headings: Sequence[str]) -> list[Column]:
    """What each heading means. A bare 'MB/s' after 'Read Hit Req/s' belongs to the reads that hit."""
    found: list[Column] = []
    owner = ""
    for heading in headings:
        if _BARE.fullmatch(_plain(heading)) and owner:
            heading = f"{owner} {heading}"
        elif match := _OWNER.match(heading):
            owner = match[1]
        found.append(_column(heading, "" if "\\" in heading else _plain(heading)))
    return found


def _plain(heading: str) -> str:
    text = heading.lower().replace("_", " ").replace("data rate mb/s", "mb/s")
    return " ".join(text.replace("req / s", "req/s").replace("mb / s", "mb/s").split())


def _column(heading: str, words: str) -> Column:
    for key, pattern in _COMPILED_MEASURES:
        if pattern.match(words):
            return _measure(heading, key, words)
    for key, pattern in _COMPILED_WORDS:
        if pattern.fullmatch(words):
            return Column(heading, key)
    return Column(heading, None)


def _measure(heading: str, key: str, words: str) -> Column:
    if key.endswith("_ops"):
        return Column(heading, key, 1.0, "1/s")
    if key.endswith("_bytes"):
        kilo = "kb" in words
        return Column(heading, key, KB_BYTES if kilo else MB_BYTES, "kB/s" if kilo else "MB/s")
    if key.endswith("_latency"):
        micro = re.search(r"\b(us|µs|μs|usec|microsec\w*)\b", words) is not None
        stated = micro or re.search(r"\b(ms|msec|millisec\w*)\b", words) is not None
        return Column(heading, key, units.NS_PER_US if micro else units.NS_PER_MS, "us" if micro else "ms", stated)
    return Column(heading, key, 0.01 if key.endswith("_percent") else 1.0, "%" if key.endswith("_percent") else "ops")


def object_of(columns: Sequence[Column], title: str) -> str | None:
    """evaperf's name of the object ('vd', 'pd', ...) from its columns, and the title where they leave it open."""
    keys = {column.key for column in columns}
    is_group = title in ("vdg", "pdg")
    if keys & {"read_hit_ops", "read_miss_ops"}:
        return "vdg" if is_group and "online_to" not in keys else "vd" if keys & {"online_to", "controller"} else "vdg"
    if _is_of_drives(keys):
        return "pdg" if title == "pdg" or not keys & {"id", "name", "bay"} else "pd"
    if {"host_ops", "host_bytes"} <= keys:
        return "as"
    if {"cpu_percent", "data_percent"} <= keys:
        return "cs"
    return None


def _is_of_drives(keys: set[str | None]) -> bool:
    """Whether a table is of pd or pdg. Any monitoring system prints a queue depth beside reads in MB/s; requests per
    second, or where a drive is put, are evaperf's own."""
    if not keys & {"read_ops", "read_bytes", "read_latency"}:
        return False
    return "drive_latency" in keys or ("queue_depth" in keys and bool(keys & {"read_ops", "enclosure", "bay"}))


def number(text: str, *, decimal_comma: bool = False) -> float | None:
    """A printed number; None for an empty cell or a dash. Raises ValueError for a word.

    `decimal_comma` says what the other numbers of the file tell of one that is two: `1,500` is 1500 or 1.5. A number
    that can only be read the other way is read that way.
    """
    text = text.strip()
    if not text or text in ("-", "--", "n/a", "N/A"):
        return None
    for is_decimal in (decimal_comma, not decimal_comma):
        if _NUMBER.fullmatch(found := plain(text, decimal_comma=is_decimal)):
            return float(found)
    raise ValueError(text)
