"""Moments as people name them: an instant of real clocks, or the time since the start of a run.

A simulated run has a virtual clock; its pages and findings tell `start + 2 min 10 s`, and that is how it is asked for.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field

from storscope.domain.units import NS_PER_S, ns_from_datetime, ns_from_text

UTC_FORM = "a time like 2026-11-20T22:00 or 2026-11-20T22:00+01:00"
SINCE_START_FORM = "the time since the start like 0:12:30, 12m30s or 750s"
_CLOCK = re.compile(r"(\d{1,5}):([0-5]\d):([0-5]\d)(\.\d{1,9})?")
_START = re.compile(r"start\s*\+")


@dataclass(frozen=True, slots=True)
class SinceStart:
    """So long after the start of a run."""

    ns: int
    text: str = field(compare=False)
    """As it was written."""


Moment = int | SinceStart
"""Nanoseconds since 1970 UTC, or since the start of a run."""


def moment_from_text(text: str) -> Moment:
    """ISO 8601 (without a zone UTC); or 0:12:30, 12m30s, '12 min 30 s', 'start + 12 min 30 s', 750 (seconds).

    Raises ValueError for anything else, 12:30 among it, which may be a time of the day.
    """
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return SinceStart(_since_start(_START.sub("", text, count=1).strip()), text)
    return ns_from_datetime(moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC))


def _since_start(text: str) -> int:
    clock = _CLOCK.fullmatch(text)
    if clock:
        hours, minutes, seconds = (int(part) for part in clock.groups()[:3])
        return (hours * 3600 + minutes * 60 + seconds) * NS_PER_S + round(float(clock[4] or 0) * NS_PER_S)
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text):
        return round(float(text) * NS_PER_S)
    try:
        return ns_from_text(text)
    except (ValueError, OverflowError):
        raise ValueError(f"expected {UTC_FORM}, or of a simulated run {SINCE_START_FORM}, found {text!r}") from None
