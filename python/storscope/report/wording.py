"""Words and numbers as a person reads them: units by column name, confidence, plurals, names made harmless."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from markupsafe import Markup

from storscope.domain.entity import EntityRef
from storscope.domain.finding import Cell
from storscope.domain.units import (
    format_bandwidth,
    format_bytes,
    format_count,
    format_duration,
    format_rate,
    format_ratio,
    format_span,
    format_time,
    utc_text,
)

_KIND_WORDS = {
    "vdisk": "virtual disk", "disk_group": "disk group", "vm": "VM", "vm_disk": "VM disk", "nic": "NIC",
    "vswitch": "vSwitch", "portgroup": "port group", "filesystem": "file system", "rate_limit": "rate limit",
    "flash_cache": "flash cache",
}  # fmt: skip

_UNIT_WORDS = (
    "_ns", "_bytes_per_s", "_per_s", "_bytes", "_ratio", "_mbit", "_kib", "_mib", "_ms", "_us", "_percent",
)  # fmt: skip
_PLAIN_UNITS = {
    "mbit": "Mbit/s",
    "kib": "KiB",
    "mib": "MiB",
    "ms": "ms",
    "us": "µs",
    "s": "s",
    "percent": "%",
    "rpm": "rpm",
}

_FIRST_INSTANT_NS = 10**17
"""Nanosecond values above this (March 1973) are instants, below it durations: three years fit under it."""


def kind_word(kind: str, count: int = 1) -> str:
    """'virtual disk', 'devices': a kind as people say it."""
    word = _KIND_WORDS.get(kind, kind)
    if count == 1:
        return word
    return word + ("es" if word.endswith(("ch", "s")) else "s")


_BEFORE_UNIT = re.compile(r"(?<=[0-9]) (?=[^ ])")


def tight(words: str) -> str:
    """The same words; no line breaks between a number and its unit."""
    return _BEFORE_UNIT.sub("\u00a0", words)


_BEFORE_UNIT_IN_PROSE = re.compile(
    r"(?<=[0-9]) (?=(?:%|[nµm]?s|min|h|d|[kKMGTP]?i?B(?:/s)?|[kMG]bit/s|IOPS|/s)(?![A-Za-z0-9]))"
    r"|(?<=[±<>]) (?=[0-9<>])"
)


def unbroken(words: str) -> str:
    """Prose in which no line breaks between a number and its unit, or a sign before it; else it breaks where it did."""
    return _BEFORE_UNIT_IN_PROSE.sub("\u00a0", words)


def counted(count: int, word: str, plural: str | None = None) -> str:
    """'1 finding', '12 findings'."""
    return f"{format_count(count)} {word if count == 1 else plural or word + 's'}"


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key to sort names by, in which numbers count as numbers: disk 2 before disk 10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name)]


def confidence_words(confidence: float) -> str:
    """How sure a finding is, in words."""
    for least, words in ((0.95, "almost certain"), (0.8, "very likely"), (0.6, "likely"), (0.4, "plausible")):
        if confidence >= least:
            return words
    return "a suspicion, verify first"


def listed(words: Sequence[str], most: int = 6) -> str:
    """'a, b and c'; beyond `most`: 'a, b and 7 more'."""
    shown = list(words) if len(words) <= most else [*words[: most - 1], f"{len(words) - most + 1} more"]
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1] if shown else ""


def entity_words(entity: EntityRef, label: str | None = None) -> str:
    """'virtual disk vol-07 (array-a)'."""
    name = label if label and label != entity.name else entity.name
    return f"{kind_word(entity.kind)} {name}"


def time_range(start_ns: int | None, end_ns: int | None, zero_ns: int | None = None) -> str:
    """'2026-11-21 02:00:00Z to 04:10:00Z (2 h 10 min)'; the day of the end is left out when it is the same.

    Since `zero_ns`: 'start + 10 s to 2 min 15 s (125 s)'.
    """
    if start_ns is None or end_ns is None:
        return "no times in it" if start_ns is None and end_ns is None else format_time(start_ns or end_ns, zero_ns)
    start, end = format_time(start_ns, zero_ns), format_time(end_ns, zero_ns)
    if start_ns == end_ns:
        return start
    if zero_ns is not None:
        return f"{start} to {end.removeprefix('start + ')} ({format_span(end_ns - start_ns)})"
    shown = end[11:] if start[:10] == end[:10] else end
    return f"{start} to {shown} ({format_span(end_ns - start_ns)})"


def harmless(value: object) -> object:
    """Text without characters that could break or disguise the page: controls, direction marks, lone surrogates.

    Each becomes U+FFFD, so that a reader sees that something stood there. Markup and other types pass unchanged.
    """
    if value is None:
        return ""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join("\ufffd" if _is_harmful(character) else character for character in value)


def _is_harmful(character: str) -> bool:
    if character in "\n\t":
        return False
    return character in _DIRECTION_MARKS or unicodedata.category(character) in {"Cc", "Cs"}


_DIRECTION_MARKS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")


def column_words(column: str) -> str:
    """A column's name for a table head: its unit goes to the cells, underscores go."""
    for ending in _UNIT_WORDS:
        if ending in column and (column.endswith(ending) or f"{ending}_" in column):
            head, _, tail = column.partition(ending)
            kept = "bytes" if ending == "_bytes_per_s" and not head else head
            return f"{kept}{tail}".replace("_", " ").strip() or column
    return column.replace("_", " ")


def cell_words(column: str, value: Cell, zero_ns: int | None = None) -> str:
    """A cell with its unit, told from its column's name. Absent is a dash. Instants are told since `zero_ns`."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return utc_text(value, zero_ns)
    return _number_words(column, value, zero_ns)


def _number_words(column: str, value: float, zero_ns: int | None) -> str:
    words = set(column.lower().split("_"))
    if "ns" in words:
        return format_time(int(value), zero_ns) if abs(value) >= _FIRST_INSTANT_NS else format_duration(value)
    if {"per", "s"} <= words:
        return format_bandwidth(value) if "bytes" in words else format_rate(value, _rate_word(words))
    if "bytes" in words:
        return format_bytes(value)
    if words & {"ratio", "share"}:
        return format_ratio(value)
    unit = next((unit for name, unit in _PLAIN_UNITS.items() if column.endswith(f"_{name}")), "")
    return f"{_plain_number(value)} {unit}".strip()


def _rate_word(words: set[str]) -> str:
    return "IOPS" if "ops" in words else "/s"


def _plain_number(value: float) -> str:
    """Counts whole; small fractions to three digits; very small ones with an exponent."""
    if value != 0 and abs(value) < 0.001:
        return f"{value:.2e}"
    return format_count(value)
