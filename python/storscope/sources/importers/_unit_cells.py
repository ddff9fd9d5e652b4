"""Cells in which the unit stands beside the number: '12.3 ms', '1.2 K', '345 MB/s', '87 %'.

Grafana's CSV with formatted data, PRTG and Zabbix print them so. Units as in Grafana's value formats
(packages/grafana-data/src/valueFormats): K, Mil and Bil are 10^3, 10^6 and 10^9; kB, MB and GB are powers of 1000, KiB,
MiB and GiB of 1024; b and bit are bits. A unit that is not here makes the cell no number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

TIME: Final = "time"
BYTES: Final = "bytes per second"
OPERATIONS: Final = "operations per second"
SHARE: Final = "share"
SCALE: Final = "scale"
"""No unit, but thousands or millions."""

_NUMBER: Final = re.compile(r"([-+]?\d[\d.,]*(?:[eE][-+]?\d+)?)\s*(.*)", re.DOTALL)
_TIMES: Final = {
    "ns": 1.0, "us": 1e3, "usec": 1e3, "ms": 1e6, "msec": 1e6, "s": 1e9, "sec": 1e9, "min": 60e9, "mins": 60e9,
}  # fmt: skip
_SCALES: Final = {"K": 1e3, "k": 1e3, "M": 1e6, "Mil": 1e6, "G": 1e9, "Bil": 1e9}
_BANDWIDTH: Final = re.compile(r"([kKMGT]?)(i?)(B|b|[Bb]its?|[Bb]ytes?)(?:/s|/sec|ps)")
_RATE: Final = re.compile(r"(K|k|M|Mil|G|Bil)?\s*(?:(?:io|ops?|reads?|writes?|rd|wr|r|w|reqs?|cmds?)/s|iops|IOPS)")
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@dataclass(frozen=True)
class CellUnit:
    """What the unit of a cell measures, and the factor to ns, bytes per second, per second or a ratio."""

    measures: str
    factor: float


def split_cell(cell: str) -> tuple[str, str]:
    """The number and the unit of a cell as written; both empty where no number is."""
    match = _NUMBER.fullmatch(cell.strip())
    return (match[1], match[2].strip()) if match else ("", "")


@cache
def unit_of(text: str) -> CellUnit | None:
    """What a unit means; None for one that is not known, and for none."""
    text = text.replace("µ", "u").replace("μ", "u")
    if text in _TIMES:
        return CellUnit(TIME, _TIMES[text])
    if text == "%":
        return CellUnit(SHARE, 0.01)
    if text in _SCALES:
        return CellUnit(SCALE, _SCALES[text])
    if match := _BANDWIDTH.fullmatch(text):
        base = 1024.0 if match[2] else 1000.0
        is_bits = match[3] == "b" or "it" in match[3]
        return CellUnit(BYTES, base ** _POWERS[match[1].lower()] / (8 if is_bits else 1))
    if match := _RATE.fullmatch(text):
        return CellUnit(OPERATIONS, _SCALES.get(match[1] or "", 1.0))
    return None


def is_short_for_bits(text: str) -> bool:
    """Whether a unit says bits by a small b alone: Grafana means bits by it, not every writer does."""
    match = _BANDWIDTH.fullmatch(text)
    return match is not None and match[3] == "b"


def measured_by(column: str) -> str | None:
    """What a canonical column measures; None for one without a unit (a queue)."""
    if "latency_ns" in column:
        return TIME
    if column.endswith("bytes_per_s"):
        return BYTES
    if column.endswith("per_s"):
        return OPERATIONS
    return SHARE if column.endswith("_ratio") else None
