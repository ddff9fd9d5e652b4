"""Iometer's result lines as values: access specifications, rows by column name, and the edges of its latency bins.

Columns and row types as Iometer 2001.07.19 to 1.1.0 writes them (IometerView's ManagerList::SaveResults): 56 columns
to 2008.06.18, 59 in 1.1.0-rc, 80 in 1.1.0. Commas cannot occur in a field and inch marks are not CSV quotes, so lines
are split on commas and never by a quoting reader.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from storscope.domain import units
from storscope.sources.importers._fio import number

ROW_TYPES = frozenset({"ALL", "MANAGER", "PROCESSOR", "WORKER", "DISK", "NETWORK"})
AMBIGUOUS = frozenset({"Queue Depth", "Transactions per Connection", "Starting Sector", "Maximum Size"})
"""Columns in which -1 stands for 'not the same everywhere'."""

_MS, _S = units.NS_PER_MS, units.NS_PER_S
BIN_EDGES_NS: Mapping[str, tuple[float, float]] = {
    "0 to 50 uS": (0, 50_000),
    "50 to 100 uS": (50_000, 100_000),
    "100 to 200 uS": (100_000, 200_000),
    "200 to 500 uS": (200_000, 500_000),
    "0.5 to 1 mS": (500_000, _MS),
    "1 to 2 mS": (_MS, 2 * _MS),
    "2 to 5 mS": (2 * _MS, 5 * _MS),
    "5 to 10 mS": (5 * _MS, 10 * _MS),
    "10 to 15 mS": (10 * _MS, _S / 67),
    "15 to 20 mS": (_S / 67, 20 * _MS),
    "20 to 30 mS": (20 * _MS, _S / 33),
    "30 to 50 mS": (_S / 33, 50 * _MS),
    "50 to 100 mS": (50 * _MS, 100 * _MS),
    "100 to 200 mS": (100 * _MS, 200 * _MS),
    "200 to 500 mS": (200 * _MS, 500 * _MS),
    "0.5 to 1 S": (500 * _MS, _S),
    "1 to 2 s": (_S, 2 * _S),
    "2 to 4.7 s": (2 * _S, 4 * _S),
    "4.7 to 5 s": (4 * _S, 5 * _S),
    "5 to 10 s": (5 * _S, 10 * _S),
    ">= 10 s": (10 * _S, 10 * _S),
}
"""Heading of a bin -> its true edges in ns. Dynamo compares with integer fractions of its timer's frequency, so that
15 ms is 1/67 s, 30 ms is 1/33 s and 4.7 s is 4 s; '>= 10 s' is never reached, its I/Os are in the bin before."""
_OPEN_BIN = "5 to 10 s"

_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:[:.](\d{1,3}))?")


@dataclass(frozen=True)
class SpecLine:
    """One line of an access specification: a size with its shares. `share` is of bursts, not of bytes."""

    size_bytes: int
    share: int
    reads: int
    random: int
    delay_ms: int
    burst: int
    align_bytes: int
    reply_bytes: int

    @property
    def weight(self) -> float:
        """Its share of the transfers: a burst is that many transfers back to back."""
        return self.share * max(1, self.burst)

    def words(self) -> str:
        """The line as it is kept with the run."""
        return (
            f"{self.size_bytes} B, share {self.share} %, reads {self.reads} %, random {self.random} %, "
            f"delay {self.delay_ms} ms, burst {self.burst}, align {self.align_bytes} B, reply {self.reply_bytes} B"
        )


@dataclass
class Spec:
    """An access specification. Means over several lines are weighted by transfers."""

    name: str
    lines: list[SpecLine] = field(default_factory=list)

    @property
    def block_bytes(self) -> float | None:
        """Mean size of a transfer."""
        return self._mean([float(line.size_bytes) for line in self.lines])

    @property
    def read_ratio(self) -> float | None:
        """Share of reads among the transfers."""
        return self._mean([line.reads / 100 for line in self.lines])

    @property
    def random_ratio(self) -> float | None:
        """Share of random ones among the transfers."""
        return self._mean([line.random / 100 for line in self.lines])

    def _mean(self, values: Sequence[float]) -> float | None:
        total = sum(line.weight for line in self.lines)
        if not total:
            return None
        return sum(value * line.weight for value, line in zip(values, self.lines, strict=True)) / total


def spec_line(text: str) -> SpecLine | None:
    """'8192,100,70,100,0,1,0,0[,]'; None when it is no such line. Numbers end at the first letter, as atoi reads."""
    matches = [re.match(r"\s*(\d{1,15})", part) for part in text.split(",")[:8]]
    values = [int(match[1]) for match in matches if match]
    return SpecLine(*values) if len(values) == len(matches) == 8 else None


def moment(text: str) -> dt.datetime | None:
    """'2010-07-26 09:28:04:211', the last part in ms; naive, in the zone of the machine that ran Iometer."""
    match = _TIME.search(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[place]) for place in range(1, 7))
    if not 1990 <= year < 2200:
        return None  # damaged; nanoseconds since 1970 end in 2262
    try:
        return dt.datetime(year, month, day, hour, minute, second, 1000 * int((match[7] or "0").ljust(3, "0")))
    except ValueError:
        return None


@dataclass(frozen=True)
class Row:
    """One line of results: its fields by column name. Lines may be shorter than the heading."""

    fields: Mapping[str, str]
    missing: int = 0
    """How many columns of the heading it lacks."""

    @property
    def type(self) -> str:
        """ALL, MANAGER, PROCESSOR, WORKER, DISK or NETWORK."""
        return self.fields.get("Target Type", "")

    @property
    def name(self) -> str:
        """The target's name."""
        return self.fields.get("Target Name", "").strip() or "unnamed"

    @property
    def spec(self) -> str:
        """The access specification's name; empty where workers differ and in live updates."""
        return self.fields.get("Access Specification Name", "").strip().removeprefix("-1")

    @property
    def moment(self) -> dt.datetime | None:
        """When a line of an instantaneous file was written."""
        return moment(self.fields.get("TimeStamp", ""))

    def value(self, column: str) -> float | None:
        """A number; None where it is empty, missing, no number, or -1 for 'ambiguous'."""
        found = number(self.fields.get(column, "").strip())
        return None if found == -1 and column in AMBIGUOUS else found

    def first(self, *columns: str) -> float | None:
        """The first of several columns that has a number."""
        return next((found for found in map(self.value, columns) if found is not None), None)

    @property
    def ios(self) -> float | None:
        """Reads and writes done."""
        reads, writes = self.value("Read I/Os"), self.value("Write I/Os")
        return None if reads is None or writes is None else reads + writes

    @property
    def run_time_s(self) -> float | None:
        """How long it was measured: counts over rate, which is exact, or the raw run time in timer ticks."""
        rate, ios = self.value("IOps"), self.ios
        if rate and ios:
            return ios / rate
        ticks, speed = self.value("Total Raw Run Time"), self.value("Processor Speed")
        return ticks / speed if ticks and speed else None

    def buckets(self) -> list[tuple[float, float, int]]:
        """The latency bins that counted something, with their true edges."""
        greatest_ms = self.value("Maximum Response Time") or 0.0
        found = []
        for heading, (low, high) in BIN_EDGES_NS.items():
            count = self.value(heading)
            if not count or not 0 < count < 2**62:
                continue
            top = max(high, greatest_ms * _MS) if heading in (_OPEN_BIN, ">= 10 s") else high
            found.append((low, top, int(count)))
        return found


def row_of(header: Sequence[str], text: str) -> Row | None:
    """A results line by the columns of `header`; None when it has more fields than there are columns."""
    parts = text.split(",")
    if any(part.strip() for part in parts[len(header) :]):
        return None
    return Row(dict(zip(header, parts, strict=False)), max(0, len(header) - len(parts)))


def header_of(text: str) -> list[str]:
    """Column names of a heading, without the mark of a comment line."""
    return [name.strip().lstrip("'") for name in text.split(",")]
