"""Vdbench's reports as values: rows by column name, and which of them are one run.

flatfile.html has one heading of words without blanks; summary.html and totals.html one of two lines, above each run.
Both are mapped to the flatfile's names. Columns differ by version (5.02 to 5.04.07), so nothing goes by position.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from storscope.sources.importers._fio import number

FLAT_HEADING: Final = re.compile(r"^[ \t]*tod[ \t]+(?:timestamp[ \t]+)?Run[ \t]+Interval[ \t]", re.MULTILINE)
_STARTING: Final = re.compile(r"(\d\d:\d\d:\d\d\.\d{3}) Starting RD=([^;]*);?(.*)")
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]*>")
_TOD: Final = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,3}))?$")
_STAMP: Final = re.compile(r"(\d\d)/(\d\d)/(\d{4})-\d\d:\d\d:\d\d-(\S+)$")
_HEADING_DATE: Final = re.compile(r"([A-Z][a-z]{2}) (\d{1,2}), (\d{4})\s+(interval\s.*)$")
_CREATED: Final = re.compile(
    r"created (\d\d:\d\d:\d\d) (\w{3}) (\d{1,2}) (\d{4}) (\S+) \((\d\d:\d\d:\d\d) (\w{3}) (\d{1,2}) (\d{4}) UTC\)"
)
_AVERAGE: Final = re.compile(r"avg_(\d{1,9})-(\d{1,9})$")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_OF_REPORTS: Final = {
    "i/o rate": "rate", "MB/sec 1024**2": "MB/sec", "bytes i/o": "bytes/io", "read pct": "read%", "resp time": "resp",
    "read resp": "read_resp", "write resp": "write_resp", "resp max": "resp_max", "read max": "read_max",
    "write max": "write_max", "resp stddev": "resp_std", "queue depth": "queue_depth", "cpu% sys+u": "cpu_used",
    "cpu% sys+usr": "cpu_used", "cpu% sys": "cpu_kernel",
}  # fmt: skip
_NOON_S: Final = 12 * 3600
_NO_DATE: Final = dt.date(1970, 1, 1)
_GREATEST: Final = 2.0**62


class WrongColumns(Exception):
    """A heading that is not of a run on storage definitions; the argument is the heading."""


@dataclass(frozen=True)
class Row:
    """One interval, or the average of several."""

    interval: int
    """Its number, or that of the last one of an average."""
    first: int | None
    """The first one of an average; None for an interval."""
    at: dt.datetime
    """When it ended, on the local clock; of 1970 where the report has no date."""
    texts: dict[str, str]

    def value(self, name: str) -> float | None:
        """A figure; None for 'n/a', for what is negative, and for a column that is not there."""
        found = number(self.texts.get(name, ""))
        return found if found is not None and 0 <= found <= _GREATEST else None


@dataclass
class Run:
    """The rows of one run (a step of an RD)."""

    name: str
    said: dict[str, str] = field(default_factory=dict)
    began: dt.datetime | None = None
    rows: list[Row] = field(default_factory=list)

    @property
    def average(self) -> Row | None:
        """Vdbench's own mean over the intervals that count; None when the run was stopped."""
        return next((row for row in self.rows if row.first is not None), None)

    @property
    def intervals(self) -> list[Row]:
        """Single intervals."""
        return [row for row in self.rows if row.first is None]


class Reader:
    """Reads the lines of a report. `has_dates` and `abbreviation` tell what its times are worth afterwards."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.damaged = 0
        self.outside = 0
        self.has_dates = True
        self.abbreviation: str | None = None
        self.utc_offset: dt.timedelta | None = None
        """Of the local clock; summary.html says it."""
        self._columns: list[str] = []
        self._is_flat = False
        self._first_line: list[str] | None = None
        self._date = _NO_DATE
        self._last_s: float | None = None

    def read(self, lines: Iterable[str]) -> None:
        """Every line."""
        for raw in lines:
            line = _TAG.sub("", raw).rstrip()
            words = line.split()
            if not words or line.startswith("*"):
                continue
            if FLAT_HEADING.match(line):
                self._columns, self._is_flat = words, True
                if not {"rate", "resp"} <= set(words):
                    raise WrongColumns(line.strip())
            elif match := _STARTING.match(line):
                self._start(match)
            elif match := _HEADING_DATE.match(line):
                self._heading(match)
            elif self._first_line is not None:
                self._second_line(words, line)
            elif _TOD.match(words[0]) and self._columns:
                self._row(words)
            elif match := _CREATED.search(line):
                self._created(match)
            else:
                self.outside += 1

    def _created(self, match: re.Match[str]) -> None:
        local, utc = (_moment(*match.group(*places)) for places in ((1, 2, 3, 4), (6, 7, 8, 9)))
        self.abbreviation = match[5]
        if local and utc and abs(local - utc) <= dt.timedelta(hours=15):
            self.utc_offset = local - utc
            self._date = local.date()

    def _start(self, match: re.Match[str]) -> None:
        parts = [part.strip() for part in match[3].split(";") if part.strip()]
        said = dict(re.split(r"\s*[=:]\s*", part, maxsplit=1) for part in parts if re.search(r"[=:]", part))
        began = self._instant(match[1])
        self.runs.append(Run(match[2].strip() or "unnamed", said, began))
        self._is_flat = False

    def _heading(self, match: re.Match[str]) -> None:
        if match[1] in _MONTHS:
            date = _date(int(match[3]), _MONTHS.index(match[1]) + 1, int(match[2]))
            self._date = date or self._date
            self._last_s = None
        self._first_line = match[4].split()[1:]

    def _second_line(self, words: list[str], line: str) -> None:
        above, self._first_line = self._first_line or [], None
        names = [_OF_REPORTS.get(f"{upper} {lower}") for upper, lower in zip(above, words, strict=False)]
        if len(above) != len(words) or not {"rate", "resp"} <= set(names):
            raise WrongColumns(f"{' '.join(above)} / {line.strip()}")
        columns = [name or f"{upper} {lower}" for name, upper, lower in zip(names, above, words, strict=True)]
        self._columns = ["tod", "Interval", *columns]

    def _row(self, words: list[str]) -> None:
        average = next((word for word in words[1:5] if _AVERAGE.match(word)), None)
        if len(words) != len(self._columns):
            if not self._is_flat and not (words[1:2] and (words[1].isdecimal() or average)):
                self.outside += 1  # a remark with its time in front
            else:
                self.damaged += 1
            return
        texts = dict(zip(self._columns, words, strict=True))
        match = _AVERAGE.match(texts["Interval"])
        if match is None and not re.fullmatch(r"\d{1,9}", texts["Interval"]):
            self.damaged += 1
            return
        at = self._stamp(texts)
        if at is None or number(texts.get("rate")) is None:
            self.damaged += 1
            return
        row = Row(int(match[2]) if match else int(texts["Interval"]), int(match[1]) if match else None, at, texts)
        self._run_of(row).rows.append(row)

    def _run_of(self, row: Row) -> Run:
        """The run that the row goes on; a run of a flatfile begins where its intervals begin again."""
        run = self.runs[-1] if self.runs else None
        if not self._is_flat:
            if run is None:
                self.runs.append(run := Run("unnamed"))
            return run
        name = row.texts.get("Run", "unnamed")
        last = run.rows[-1] if run else None
        is_over = last is not None and (last.first is not None or (row.first is None and row.interval <= last.interval))
        if run is None or run.name != name or is_over:
            self.runs.append(run := Run(name))
        return run

    # Times -------------------------------------------------------------------------------------------------------

    def _stamp(self, texts: dict[str, str]) -> dt.datetime | None:
        """The row's time: of day, with the date of its stamp, of the heading, or none."""
        match = _STAMP.match(texts.get("timestamp", ""))
        if match:
            date = _date(int(match[3]), int(match[1]), int(match[2]))
            self.abbreviation = match[4]
            if date is None:
                return None
            # The time of day is a little later than the stamp, and may be of the next day.
            self._date, self._last_s = date, None
        return self._instant(texts["tod"])

    def _instant(self, text: str) -> dt.datetime | None:
        match = _TOD.match(text)
        if match is None or int(match[1]) > 23 or int(match[2]) > 59 or int(match[3]) > 59:
            return None
        seconds = int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3]) + float(f"0.{match[4] or 0}")
        if self._last_s is not None and seconds < self._last_s - _NOON_S and self._date < dt.date(2199, 1, 1):
            self._date += dt.timedelta(days=1)
        self._last_s = seconds
        self.has_dates &= self._date != _NO_DATE or not self._columns
        return dt.datetime.combine(self._date, dt.time()) + dt.timedelta(seconds=seconds)


def _date(year: int, month: int, day: int) -> dt.date | None:
    try:
        return dt.date(year, month, day) if 1990 <= year < 2200 else None
    except ValueError:
        return None


def _moment(time: str, month: str, day: str, year: str) -> dt.datetime | None:
    date = _date(int(year), _MONTHS.index(month) + 1, int(day)) if month in _MONTHS else None
    try:
        return None if date is None else dt.datetime.combine(date, dt.time.fromisoformat(time))
    except ValueError:
        return None


def counted(run: Run) -> Iterator[Row]:
    """The intervals that Vdbench's average is of; of a run that was stopped all but the first, in which it starts."""
    average = run.average
    first = 2 if average is None or average.first is None else average.first
    last = None if average is None else average.interval
    rows = run.intervals
    yield from (row for row in rows if row.interval >= first and (last is None or row.interval <= last))
