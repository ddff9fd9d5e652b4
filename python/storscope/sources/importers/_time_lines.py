"""Lines with the time that a loop in a shell prints before each snapshot of something.

The time is ISO 8601 (`date -u +%FT%TZ`, `date -Is`, `date -Ins`), seconds since 1970 with or without a fraction
(`date +%s.%N`), or what `date` prints by itself. Fractions are kept to the microsecond.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

from storscope.domain import units
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._zone_names import zone_called

_EPOCH = re.compile(r"(\d{9,11})(?:[.,](\d{1,9}))?|(\d{9,11})(\d{9})")
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s*(Z|UTC|[+-]\d\d:?\d\d)?")
_DATE_COMMAND = re.compile(
    r"[A-Z][a-z]{2} +(?:(?P<month>[A-Z][a-z]{2}) +(?P<day>\d\d?)|(?P<first_day>\d\d?) +(?P<second_month>[A-Z][a-z]{2}))"
    r"(?: (?P<year>\d{4}))? (?P<clock>\d\d:\d\d:\d\d)(?: (?P<half>[AP]M))? (?P<zone>[A-Za-z]{2,5}|[+-]\d\d(?:\d\d)?)"
    r"(?: (?P<last_year>\d{4}))?"
)
"""glibc 2.36: C `Fri Nov 20 10:00:00 UTC 2026`, en_US the same with AM; en_GB `Fri 20 Nov ...`; en_US of 2.31 has the
year before the time."""


@dataclass(frozen=True)
class LineTime:
    """An instant in ns since 1970, and what is doubted of it."""

    ns: int
    zoned: bool
    whole_seconds: bool
    word: str | None = None
    """The zone's abbreviation where it does not place the time: several zones are called CST, or --timezone is said."""


def time_of_line(line: str, clock: LocalClock) -> LineTime | None:
    """The instant a time line names; None for any other line."""
    text = line.strip()
    found = _any_time(text, clock)
    return found if found is not None and units.datetime_from_ns(found.ns).year in units.YEARS else None


def _any_time(text: str, clock: LocalClock) -> LineTime | None:
    if match := _EPOCH.fullmatch(text):
        seconds, fraction = (match[1], match[2]) if match[1] else (match[3], match[4])
        return LineTime(int(seconds) * units.NS_PER_S + _fraction_ns(fraction), True, fraction is None)
    try:
        if match := _ISO.fullmatch(text):
            return _iso_time(match, clock)
        if match := _DATE_COMMAND.fullmatch(text):
            return _date_command_time(match, clock)
    except ValueError:
        return None
    return None


def _iso_time(match: re.Match[str], clock: LocalClock) -> LineTime:
    zone = "+0000" if match[4] in ("Z", "UTC") else match[4]
    moment = dt.datetime.fromisoformat(f"{match[1]}T{match[2]}{zone or ''}")
    return LineTime(clock.instant(moment) + _fraction_ns(match[3]), bool(zone), match[3] is None)


def _date_command_time(match: re.Match[str], clock: LocalClock) -> LineTime | None:
    if (match["year"] is None) == (match["last_year"] is None):
        return None
    date = f"{match['month'] or match['second_month']} {match['day'] or match['first_day']}"
    form = "%b %d %Y %I:%M:%S %p" if match["half"] else "%b %d %Y %H:%M:%S"
    text = f"{date} {match['year'] or match['last_year']} {match['clock']} {match['half'] or ''}".strip()
    moment, word = dt.datetime.strptime(text, form), match["zone"]
    if word in ("UTC", "GMT"):
        return LineTime(clock.instant(moment.replace(tzinfo=dt.UTC)), True, True)
    if word[0] in "+-":
        return LineTime(clock.instant(dt.datetime.strptime(f"{moment} {word:0<5}", "%Y-%m-%d %H:%M:%S %z")), True, True)
    zone = zone_called(word, moment)
    if zone is not None and clock.zone is dt.UTC:
        return LineTime(clock.instant(moment.replace(tzinfo=zone)), True, True)
    return LineTime(clock.instant(moment, word), False, True, word)


def _fraction_ns(digits: str | None) -> int:
    """To the microsecond: `date` and `cat` run a millisecond apart, so what is finer says nothing."""
    return int((digits or "0").ljust(9, "0")[:6]) * units.NS_PER_US
