"""The year of log lines that carry none (ESX 3 and 4).

A log runs forward: where the month falls by half a year or more, a year has turned. The last line's year is told by
the user, or is the latest that does not put it into the future. A 29 February in the log rules out common years.
"""

from __future__ import annotations

import bisect
import calendar
import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._vmware_line import Stamp, bare, stamp_without_year

_TURN_MONTHS = 6
"""A fall by fewer months is a line out of order, not a new year."""
_SLACK = dt.timedelta(days=1)
"""The host's zone may be unknown: a line up to a day ahead of now is not yet in the future."""


@dataclass
class Years:
    """The year at every line, from where the year turns and the year of the last line."""

    turns: list[int] = field(default_factory=list)
    """Line numbers from which another year holds."""
    years_turned: list[int] = field(default_factory=list)
    """Years since the first line, from that line on."""
    last_year: int = 1970
    source: str = ""
    """How the year was found, for the capture's clock."""

    def at(self, line: int) -> int:
        """The year that holds at a line number."""
        place = bisect.bisect_right(self.turns, line) - 1
        turned = self.years_turned[place] if place >= 0 else 0
        total = self.years_turned[-1] if self.years_turned else 0
        return self.last_year - total + turned


def years_of(lines: Iterable[str], told: int | None, now: dt.datetime, zone: dt.tzinfo) -> Years:
    """Walks over all lines once and places them in years. `told` is the user's year of the last line."""
    years = Years()
    last, leap_days = _walk(lines, years)
    if told is not None:
        years.last_year, years.source = told, f"--year {told} for the last line"
    elif last is not None:
        years.last_year = _latest_year(last, leap_days, years, now, zone)
        years.source = f"{years.last_year} puts the last line before now (set --year)"
    return years


def _walk(lines: Iterable[str], years: Years) -> tuple[Stamp | None, set[int]]:
    """Finds the turns; returns the last time and the turns at which a 29 February was seen."""
    last: Stamp | None = None
    last_text = seen_day = ""
    turned = 0
    leap_days: set[int] = set()
    for number, line in enumerate(lines, start=1):
        text = bare(line)
        if text[:6] == seen_day and text[:1] != "<":
            last_text = text
            continue
        stamp = stamp_without_year(text)
        if stamp is None:
            continue
        step = _year_step(last.month if last else stamp.month, stamp.month, turned)
        if step:
            turned += step
            years.turns.append(number)
            years.years_turned.append(turned)
        if (stamp.month, stamp.day) == (2, 29):
            leap_days.add(turned)
        last, last_text, seen_day = stamp, text, text[:6]
    return (stamp_without_year(last_text) or last), leap_days


def _year_step(before: int, now: int, turned: int) -> int:
    if before - now >= _TURN_MONTHS:
        return 1
    # A line of December among those of January, just after the year has turned.
    return -1 if turned and (before, now) == (1, 12) else 0


def _latest_year(last: Stamp, leap_days: set[int], years: Years, now: dt.datetime, zone: dt.tzinfo) -> int:
    latest = now + _SLACK
    total = years.years_turned[-1] if years.years_turned else 0
    candidates: Sequence[int] = range(latest.year, latest.year - 9, -1)
    for year in candidates:
        time_ns = last.time_ns(year, LocalClock(zone))
        leaps = all(calendar.isleap(year - total + turned) for turned in leap_days)
        if time_ns is not None and leaps and time_ns <= latest.timestamp() * 1e9:
            return year
    return latest.year
