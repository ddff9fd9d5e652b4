"""MB of 10^6 and of 2^20 bytes: figures are shown in the first, sources print either, and a reader has both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from storscope.compare.metrics import METRICS
from storscope.compare.subjects import Subject
from storscope.domain.units import MIB, format_bandwidth

_BANDWIDTH: Final = re.compile(r"(total_)?mb(_per_s|_s|ps)")
_IOMETER: Final = "iometer"
_FITS: Final = 0.005
"""Tables round what they print."""


def notes_on_megabytes(subjects: Sequence[Subject]) -> list[str]:
    """One sentence where MB are of 2^20 bytes: a table's, whose importer tells by rate and block size, or Iometer's."""
    for subject in subjects:
        shown = subject.measured().value(METRICS["bandwidth"])
        for column, text in (subject.row or {}).items():
            printed = _number(text) if _BANDWIDTH.fullmatch(column) else None
            if shown and printed and abs(shown / (printed * MIB) - 1) <= _FITS:
                said = f"its {text} MB/s of {subject.name} are {format_bandwidth(shown)}"
                return [f"MB are 10^6 bytes here, and 2^20 in a table that was read: {said}."]
        if shown and subject.row is None and subject.engine == _IOMETER:
            said = f"{shown / MIB:,.1f} are {format_bandwidth(shown)}"
            return [f"MB are 10^6 bytes here, and 2^20 in Iometer's MBps: {said}."]
    return []


def _number(text: str) -> float | None:
    """Of a cell, its comma a decimal one where it is the only sign; else thousands are apart."""
    plain = text.replace(",", ".") if text.count(",") == 1 and "." not in text else text.replace(",", "")
    try:
        return float(plain)
    except ValueError:
        return None
