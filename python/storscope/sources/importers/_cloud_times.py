"""Times and numbers in the JSON of a cloud: ISO 8601, without an offset UTC, or seconds since 1970; finite numbers."""

from __future__ import annotations

import datetime as dt
import math
from functools import lru_cache
from typing import Final

from storscope.domain import units

_YEARS: Final = range(2005, 2101)
"""Before the first cloud nobody measured one; a number that is no time of these is another number."""


def instant_of(value: object) -> int | None:
    """The instant, ns since 1970; None for what is no time."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _since_1970(value)
    return _of_text(value) if isinstance(value, str) else None


def number_of(value: object) -> float:
    """A finite number; NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        number = float(value)
    except OverflowError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _since_1970(seconds: float) -> int | None:
    try:
        moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return round(seconds * units.NS_PER_S) if moment.year in _YEARS else None


@lru_cache(maxsize=1 << 16)
def _of_text(text: str) -> int | None:
    try:
        moment = dt.datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return units.ns_from_datetime(moment) if moment.year in _YEARS else None
