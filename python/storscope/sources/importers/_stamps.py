"""Time stamps in the order of the locale of the machine that wrote them.

Whether 03/04 is in March or April is decided from all dates of a file together: by a number above 12, else by the step
from one date to the next (`_date_order.py`); where they leave it open, from the clues listed at `Stamps.day_first`.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field

from storscope.domain import units
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._date_order import DateOrder

_STAMP = re.compile(
    r"(?:[^\W\d]+:\s*)?(?:(\d{1,4})(\D{1,3})(\d{1,2})\D{1,3}(\d{1,4})\D{1,6})?"
    r"(\d{1,2})\D{1,3}(\d{1,2})\D{1,3}(\d{1,2})\s*(?:\D{0,8}?)\s*(Z|[+-]\d\d:?\d\d)?"
)
_MOST_WORDS = 8
"""Of a time stamp in any locale."""
_DATE = re.compile(r"(\d{1,4})(\D{1,3})(\d{1,2})\D{1,3}(\d{1,4})\D{0,2}")
_MORNING = re.compile(r"\bA\.?M\b|上午|午前|오전|πμ|ص|पूर्वाह्न|পূর্বাহ্ণ|காலை|ఉ\.", re.IGNORECASE)
_AFTERNOON = re.compile(r"\bP\.?M\b|下午|午後|오후|μμ|م|अपराह्न|অপরাহ্ণ|மாலை|సా\.", re.IGNORECASE)
"""`am_pm` of glibc's locales (localedata/locales of 2.36)."""
_CLOCK = re.compile(r"\d[:.]\d\d")


@dataclass
class Stamps:
    """Reads time stamps and header dates after it has learnt from all of them in which order they are written."""

    options: ImportOptions
    glibc_habits: bool = True
    """Whether the writer was a Linux tool; otherwise an undecided date has the month first."""
    dashes_may_be_either: bool = False
    """Whether 04-03-2026 may have the month first: in tables of any program, not in glibc's locales."""
    order: DateOrder = field(default_factory=DateOrder)
    """What the steps between the stamps say."""
    _first_over_12: bool = False
    _second_over_12: bool = False
    _ambiguous: bool = False
    _has_slashes: bool = False
    _long_year: bool = False
    _twelve_hours: bool = False

    def learn(self, text: str) -> None:
        """Takes note of one stamp or date."""
        self._twelve_hours |= _half_of_day(text) is not None
        stamp = _STAMP.fullmatch(text)
        match = stamp or _DATE.fullmatch(text)
        if match is None or match[1] is None or len(match[1]) > 2 or match[2] not in self._either:
            return
        if stamp is not None:
            self.order.step(self._instant(stamp, day_first=False), self._instant(stamp, day_first=True))
        self._ambiguous = True
        self._has_slashes |= match[2] == "/"
        self._first_over_12 |= int(match[1]) > 12
        self._second_over_12 |= int(match[3]) > 12
        self._long_year |= len(match[4]) == 4

    def pause(self) -> None:
        """Another capture begins: how far its first stamp is from the last one says nothing."""
        self.order.pause()

    @property
    def doubt(self) -> str | None:
        """What to say of dates whose order no number and no step between samples tells; None when one does."""
        if not self._ambiguous or self._proof is not None:
            return None
        order, option = ("day first", "--month-first") if self.day_first else ("month first", "--day-first")
        if self.options.day_first is None and self.order.day_first is not None:
            return f"Dates were read {order}, since only so they are in order of time. Use {option} to change it."
        return f"No date tells day from month; they were read {order}. Use {option} to change it."

    @property
    def order_words(self) -> str:
        """What to add to the words about the clock where the steps between samples told the order."""
        if not self._ambiguous or self._first_over_12 or self._second_over_12 or self._proof is None:
            return ""
        return f"; {'day' if self._proof else 'month'} first, as the steps between the samples tell"

    @property
    def day_first(self) -> bool:
        """Whether 03/04 is the 3rd of April.

        By the numbers, else by the steps between samples, else by --day-first or --month-first, else by the order of
        events, else by the habits of glibc's locales. Those are (localedata/locales of glibc 2.36): with a four-digit
        year and a 24-hour clock the day comes first (fr_FR, it_IT, pt_BR); en_US has a 12-hour clock, the C locale a
        two-digit year, and both the month first. Of other writers dates with slashes have the month first, those with
        dashes the day.
        """
        for told in (self._proof, self.options.day_first, self.order.day_first):
            if told is not None:
                return told
        if not self.glibc_habits:
            return self._ambiguous and not self._has_slashes
        return self._long_year and not self._twelve_hours

    @property
    def _either(self) -> str:
        """What stands between the numbers of dates in either order."""
        return "/-" if self.dashes_may_be_either else "/"

    @property
    def _proof(self) -> bool | None:
        if self._first_over_12 or self._second_over_12:
            return self._first_over_12
        return self.order.day_first if self.order.is_regular else None

    def moment(self, text: str, date: dt.date | None) -> dt.datetime | None:
        """The instant a stamp names, with its zone if it has one; `date` is for old stamps with a time only."""
        match = _STAMP.fullmatch(text)
        if match is None:
            return None
        day = date if match[1] is None else self._date(match, day_first=self.day_first)
        clock = _clock(match, text)
        return None if day is None or clock is None else dt.datetime.combine(day, clock)

    def date(self, text: str | None) -> dt.date | None:
        """The date in a header line."""
        match = _DATE.fullmatch(text.strip()) if text else None
        return self._date(match, day_first=self.day_first) if match else None

    def _date(self, match: re.Match[str], *, day_first: bool) -> dt.date | None:
        return _date(match, day_first=day_first or match[2] not in self._either)

    def _instant(self, match: re.Match[str], *, day_first: bool) -> float | None:
        """Seconds on the clock of the stamp: since 1970 in its zone, or in no zone."""
        day, clock = self._date(match, day_first=day_first), _clock(match, match[0])
        if day is None or clock is None:
            return None
        moment = dt.datetime.combine(day, clock)
        return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()


def is_stamp(line: str) -> bool:
    """True for a line that is a time stamp of -t and nothing else. Old ones begin with a word: 'Time: 10:00:00'."""
    return len(line) < 60 and _STAMP.fullmatch(line) is not None


def may_be_stamp(line: str) -> bool:
    """True for a line that may be a time stamp in a form that is not known: few words, among them hours and minutes."""
    return len(line) < 60 and _CLOCK.search(line) is not None and len(line.split()) <= _MOST_WORDS


def has_date(text: str) -> bool:
    """True for a stamp with a date, whether there is such a date or not."""
    match = _STAMP.fullmatch(text)
    return match is not None and match[1] is not None


def _clock(match: re.Match[str], text: str) -> dt.time | None:
    hour = int(match[5])
    afternoon = _half_of_day(text)
    if afternoon is not None:
        hour = hour % 12 + 12 * afternoon
    try:
        return dt.time(hour, int(match[6]), int(match[7]), tzinfo=_zone(match[8]))
    except ValueError:
        return None


def _date(match: re.Match[str], *, day_first: bool) -> dt.date | None:
    first, second, third = int(match[1]), int(match[3]), int(match[4])
    if len(match[1]) == 4:
        year, month, day = first, second, third
    elif not day_first:
        month, day, year = first, second, third
    else:
        day, month, year = first, second, third
    year = year if max(len(match[1]), len(match[4])) > 2 else 2000 + year
    try:
        return dt.date(year, month, day) if year in units.YEARS else None
    except ValueError:
        return None


def _half_of_day(text: str) -> bool | None:
    """True after noon, False before, None on a 24-hour clock."""
    if _AFTERNOON.search(text):
        return True
    return False if _MORNING.search(text) else None


def _zone(text: str | None) -> dt.tzinfo | None:
    if not text:
        return None
    if text == "Z":
        return dt.UTC
    digits = text[1:].replace(":", "")
    shift = dt.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return dt.timezone(-shift if text[0] == "-" else shift)
