"""Times in the cells of a table: ISO 8601, seconds since 1970 or finer, or as the locale of the exporter has them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from storscope.domain import units
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._stamps import Stamps

_EPOCH: Final = re.compile(r"(\d{9,19})(?:\.(\d{1,9}))?")
_WITHOUT_SECONDS: Final = re.compile(r"(?<![:\d+\-])(\d{1,2}:\d\d)(?![:\d])")
_FRACTION: Final = re.compile(r"(:\d\d)[.,](\d{1,9})(?!\d)")
_ZONE_WORD: Final = re.compile(r"\s*\(?\b([A-Z]{2,5})\)?$")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAME: Final = re.compile(
    rf"(?:[A-Za-z]{{3,9}},?\s+)?(?:(?P<day>\d{{1,2}})[ \-](?P<month>{'|'.join(_MONTHS)})[a-z]*[ \-,]+(?P<year>\d{{4}})"
    rf"|(?P<month_first>{'|'.join(_MONTHS)})[a-z]*\.? (?P<day_second>\d{{1,2}}),? (?P<year_third>\d{{4}})),?(?= )",
    re.IGNORECASE,
)
"""20 Nov 2026, 20-Nov-2026, Nov 20, 2026: English only."""


@dataclass
class TableTimes:
    """Reads the times of a table after it has learnt from all of them in which order their dates are written."""

    options: ImportOptions
    _stamps: Stamps = field(init=False)
    _has_zone: bool = False
    _has_none: bool = False
    _repeats: str = ""

    def __post_init__(self) -> None:
        """The order of dates is the habit of whoever exported, not of glibc."""
        self._stamps = Stamps(self.options, glibc_habits=False)

    def learn(self, cells: Iterable[str]) -> None:
        """Takes note of every time of the table."""
        for cell in cells:
            self._stamps.learn(_plain(cell)[0])

    def clock(self) -> LocalClock:
        """For the times of one thing, in their order."""
        return LocalClock(self.options.zone())

    def instant(self, cell: str, clock: LocalClock) -> int | None:
        """The instant of a cell, ns since 1970; None if it is none."""
        text = cell.strip()
        if match := _EPOCH.fullmatch(text):
            self._has_zone = True
            return _since_1970(match)
        plain, fraction_ns, word = _plain(text)
        moment = self._stamps.moment(plain, None)
        if moment is None:
            return None
        if moment.tzinfo is None and word in ("UTC", "GMT", "Z"):
            moment = moment.replace(tzinfo=dt.UTC)
        self._has_zone |= moment.tzinfo is not None
        self._has_none |= moment.tzinfo is None
        found = clock.instant(moment, word) + fraction_ns
        self._repeats = self._repeats or clock.words
        return found

    @property
    def words(self) -> str:
        """How the times were placed."""
        said = "zone in the file" if self._has_zone and not self._has_none else self.options.zone_words()
        return said + self._repeats + self._stamps.order_words

    @property
    def doubt(self) -> str | None:
        """What to say of dates whose order nothing tells."""
        return self._stamps.doubt


def _since_1970(match: re.Match[str]) -> int | None:
    """Seconds, milliseconds, microseconds or nanoseconds, by their number of digits."""
    scale = 10 ** (3 * max(0, (19 - len(match[1])) // 3))
    fraction = int((match[2] or "").ljust(9, "0")) * scale // units.NS_PER_S
    time_ns = int(match[1]) * scale + fraction
    return time_ns if units.datetime_from_ns(time_ns).year in units.YEARS else None


def _plain(cell: str) -> tuple[str, int, str | None]:
    """A stamp as `Stamps` reads it, with digits for the month and whole seconds; the fraction, ns; the zone's word."""
    text = cell.strip().replace("T", " ") if re.match(r"\d{4}-\d\d-\d\dT", cell.strip()) else cell.strip()
    if match := _MONTH_NAME.match(text):
        month = _MONTHS.index((match["month"] or match["month_first"])[:3].lower()) + 1
        date = f"{match['year'] or match['year_third']}-{month:02}-{int(match['day'] or match['day_second']):02}"
        text = date + text[match.end() :]
    word = None
    if (match := _ZONE_WORD.search(text)) and match[1] not in ("AM", "PM"):
        word, text = match[1], text[: match.start()]
    fraction = _FRACTION.search(text)
    text = _WITHOUT_SECONDS.sub(r"\1:00", _FRACTION.sub(r"\1", text), count=1)
    return text, int(fraction[2].ljust(9, "0")) if fraction else 0, word
