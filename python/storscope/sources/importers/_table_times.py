"""Times in the cells of a table: ISO 8601, seconds since 1970 or finer, or as the locale of the exporter has them.

The zone is that of the cell, or of the heading: UTC, an offset, or an abbreviation that means one offset (CET). One
that means several (PST, CST) is said and not used. With --timezone it has to be a name of that zone.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from storscope.domain import units
from storscope.domain.errors import MalformedInput
from storscope.sources.importer import ImportOptions, shortened
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._stamps import Stamps
from storscope.sources.importers._zone_names import fixed_zone, zone_called, zone_word_of

_EPOCH: Final = re.compile(r"(\d{9,19})(?:\.(\d{1,9}))?")
_WITHOUT_SECONDS: Final = re.compile(r"(?<![:\d+\-])(\d{1,2}:\d\d)(?![:\d])")
_FRACTION: Final = re.compile(r"(:\d\d)[.,](\d{1,9})(?!\d)")
_ZONE_WORD: Final = re.compile(r"\s*\(?\b([A-Z]{2,5})\)?$")
_WHOLE_HOURS: Final = re.compile(r"(:\d\d(?:[.,]\d+)?)\s*([+-]\d\d)$")
_COMPACT: Final = re.compile(
    r"(\d{4})(\d\d)(\d\d)[T ]?(\d\d)(\d\d)(\d\d)?((?:[.,]\d+)?\s*(?:Z|[A-Z]{2,5}|[+-]\d\d:?(?:\d\d)?)?)"
)
_CTIME: Final = re.compile(
    r"[A-Za-z]{3},? +([A-Za-z]{3}) +(\d\d?) (\d\d:\d\d:\d\d(?: [AP]M)?)(?: ([A-Z]{2,5}|[+-]\d{4}))? (\d{4})"
)
_YEARS_OF_TABLES: Final = range(1995, 2101)
"""A number that is no time of these is another number."""
FORMS: Final = (
    "2026-11-20 10:05:00, 2026-11-20T10:05:00Z, 2026-11-20 10:05+01:00, 20261120100500, 11/20/2026 10:05 PM, "
    "20.11.2026 10:05, 20-Nov-2026 10:05, Nov 20, 2026 10:05, Fri Nov 20 10:05:00 2026, seconds since 1970"
)
"""What is read, for errors."""
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAME: Final = re.compile(
    rf"(?:[A-Za-z]{{3,9}},?\s+)?(?:(?P<day>\d{{1,2}})[ \-](?P<month>{'|'.join(_MONTHS)})[a-z]*[ \-,]+"
    r"(?P<year>\d{4}|\d\d)"
    rf"|(?P<month_first>{'|'.join(_MONTHS)})[a-z]*\.? (?P<day_second>\d{{1,2}}),? (?P<year_third>\d{{4}})),?(?= )",
    re.IGNORECASE,
)
"""20 Nov 2026, 20-Nov-2026, 20-Nov-26, Nov 20, 2026: English only."""


@dataclass
class TableTimes:
    """Reads the times of a table after it has learnt from all of them in which order their dates are written."""

    options: ImportOptions
    zone: str | None = None
    """The zone that the heading says."""
    where: str = "the times"
    """For errors."""
    _stamps: Stamps = field(init=False)
    _used: set[str] = field(default_factory=set)
    _unused: set[str] = field(default_factory=set)
    _has_zone: bool = False
    _has_none: bool = False
    _repeats: str = ""

    def __post_init__(self) -> None:
        """The order of dates is the habit of whoever exported, not of glibc."""
        self._stamps = Stamps(self.options, glibc_habits=False, dashes_may_be_either=True)

    def learn(self, cells: Iterable[str]) -> None:
        """Takes note of every time of the table."""
        for cell in cells:
            self._stamps.learn(_plain(cell)[0])

    def clock(self, zone: dt.tzinfo | None = None) -> LocalClock:
        """For the times of one thing, in their order; of a zone that the file names, or else of the options."""
        return LocalClock(self.options.zone() if zone is None else zone)

    def instant(self, cell: str, clock: LocalClock) -> int | None:
        """The instant of a cell, ns since 1970; None if it is none."""
        text = cell.strip()
        if (match := _EPOCH.fullmatch(text)) and _rewritten(text) == text:
            self._has_zone = True
            return _since_1970(match)
        plain, fraction_ns, word = _plain(text)
        moment = self._stamps.moment(plain, None)
        if moment is None:
            return None
        word = word or self.zone
        if moment.tzinfo is None and word is not None:
            moment = self._with_zone(moment, word)
        has_zone = moment.tzinfo is not None or clock.zone != self.options.zone()
        self._has_zone |= has_zone
        self._has_none |= not has_zone
        found = clock.instant(moment, word) + fraction_ns
        self._repeats = self._repeats or clock.words
        return found

    def _with_zone(self, moment: dt.datetime, word: str) -> dt.datetime:
        """With the zone that a word beside the time means, where that is sure; --timezone places the others."""
        zone = fixed_zone(word)
        if zone is None and self.options.timezone is None:
            zone = zone_called(word, moment)
        if zone is not None:
            return moment.replace(tzinfo=zone)
        known = _names_of(self.options.timezone, moment)
        if known and word not in known:
            raise MalformedInput(
                f"times in the zone of --timezone {self.options.zone()}, called {' or '.join(sorted(known))}",
                f"'{shortened(word)}' beside a time or in its heading",
                where=self.where,
                hint="Give --timezone the zone that this means, or leave the option out.",
            )
        (self._used if word in known else self._unused).add(word)
        return moment

    @property
    def words(self) -> str:
        """How the times were placed."""
        said = "zone in the file" if self._has_zone and not self._has_none else self._words_without_zone()
        return said + self._repeats + self._stamps.order_words

    def _words_without_zone(self) -> str:
        if self._used and self.options.timezone is not None:
            return f"{', '.join(sorted(self._used))} beside the times; placed by --timezone {self.options.timezone.key}"
        said = self.options.zone_words()
        return said.replace("no zone in the source", "no zone that is sure in the source") if self._unused else said

    @property
    def zone_doubt(self) -> str | None:
        """What to say of zones that the file names and that were not used."""
        if not self._unused:
            return None
        taken = "were taken as UTC" if self.options.timezone is None else "were placed by --timezone alone"
        return (
            f"Beside the times stands {', '.join(sorted(self._unused))}, which does not mean one offset: they {taken}. "
            "Say the zone with --timezone."
        )

    @property
    def doubt(self) -> str | None:
        """What to say of dates whose order nothing tells."""
        return self._stamps.doubt


def _since_1970(match: re.Match[str]) -> int | None:
    """Seconds, milliseconds, microseconds or nanoseconds, by their number of digits."""
    scale = 10 ** (3 * max(0, (19 - len(match[1])) // 3))
    fraction = int((match[2] or "").ljust(9, "0")) * scale // units.NS_PER_S
    time_ns = int(match[1]) * scale + fraction
    return time_ns if units.datetime_from_ns(time_ns).year in _YEARS_OF_TABLES else None


def _names_of(zone: dt.tzinfo | None, moment: dt.datetime) -> set[str]:
    """What a zone is called in the seasons of a year; none if it has no letters for it."""
    if zone is None:
        return set()
    names = {moment.replace(month=month, day=1, tzinfo=zone).tzname() or "" for month in (1, 4, 7, 10)}
    return {name for name in names if name.isalpha()}


def _plain(cell: str) -> tuple[str, int, str | None]:
    """A stamp as `Stamps` reads it, with digits for the month and whole seconds; the fraction, ns; the zone's word."""
    text = _rewritten(cell.strip())
    if match := _MONTH_NAME.match(text):
        month = _MONTHS.index((match["month"] or match["month_first"])[:3].lower()) + 1
        year = match["year"] or match["year_third"]
        date = f"{year if len(year) == 4 else f'20{year}'}-{month:02}-{int(match['day'] or match['day_second']):02}"
        text = date + text[match.end() :]
    text, word = zone_word_of(text)
    if word is None and (match := _ZONE_WORD.search(text)) and match[1] not in ("AM", "PM"):
        word, text = match[1], text[: match.start()]
    text = _WHOLE_HOURS.sub(r"\1\2:00", text)
    fraction = _FRACTION.search(text)
    text = _WITHOUT_SECONDS.sub(r"\1:00", _FRACTION.sub(r"\1", text), count=1)
    return text, int(fraction[2].ljust(9, "0")) if fraction else 0, word


def _rewritten(text: str) -> str:
    """ISO 8601 with a blank, digits without separators with them, and ctime's year before its time."""
    if re.match(r"\d{4}-\d\d-\d\dT", text):
        return text.replace("T", " ", 1)
    if (match := _COMPACT.fullmatch(text)) and int(match[1]) in _YEARS_OF_TABLES:
        return f"{match[1]}-{match[2]}-{match[3]} {match[4]}:{match[5]}:{match[6] or '00'}{match[7]}"
    if match := _CTIME.fullmatch(text):
        return f"{match[1]} {match[2]} {match[5]} {match[3]} {match[4] or ''}".strip()
    return text
