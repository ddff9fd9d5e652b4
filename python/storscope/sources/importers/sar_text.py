"""Linux `sar -d` and `sar -u` as text, also within what `sar -A` prints.

Layout as in sysstat's `pr_stats.c`: a header with the host and the date; then for each activity the whole day, its
heading again after each page and each restart. A heading carries the time of the sample before its first line, so every
line's interval is known. Lines carry a time only; past midnight the next day has begun. Names of disks stand first, or
last with -p; averages and other activities are left out.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions
from storscope.sources.importers._colours import without_colours
from storscope.sources.importers._linux_block import DEFAULT_LINUX_SYSTEM
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._sar import ALL_PROCESSORS, SarWriter
from storscope.sources.importers._stamps import Stamps
from storscope.sources.importers._whole_lines import whole_lines

_HEADER: Final = re.compile(r"Linux \S+ \((?P<host>.*?)\)\s+(?P<date>\S+)\s*(?:\s_\S+_)?(?:\s+\(\d+ CPU\))?\s*")
_LINE: Final = re.compile(r"(\d\d?[:.]\d\d[:.]\d\d(?: ?[AaPp]\.?[Mm]\.?)?)\s+(\S.*)")
_NUMBER: Final = re.compile(r"-?\d+(?:[.,]\d+)?")
_RESTART: Final = "LINUX RESTART"
_HALF_A_DAY: Final = dt.timedelta(hours=12)


def _cells(line: str) -> tuple[str, list[str]] | None:
    """The time and the cells of a line; None for one that has no time."""
    match = _LINE.fullmatch(line.strip()) if len(line) < 1_000 else None
    return (match[1], match[2].split()) if match else None


def _activity(cells: Sequence[str]) -> str | None:
    """What lines below are of, if this is a heading: disks, processors, or something else; None if it is none."""
    if any(_NUMBER.fullmatch(cell) for cell in cells[-2:]):
        return None
    if "DEV" in (cells[0], cells[-1]) and "tps" in cells:
        return "disks"
    if cells[0] == "CPU" and "%idle" in cells:
        return "processors"
    return "else" if len(cells) > 1 and any("/s" in cell or "%" in cell for cell in cells) else None


def _recognise(head: Head) -> float:
    found = {_activity(cells[1]) for line in head.lines if (cells := _cells(line)) is not None}
    if not found & {"disks", "processors"}:
        return 0.0
    return 0.95 if any(line.startswith("Linux ") for line in head.lines) else 0.8


@dataclass
class _Days:
    """Where in time the lines of an activity have got to."""

    clock: LocalClock
    day: dt.date | None
    latest: dt.time | None = None


@dataclass
class _Reader:
    """Where in the text it is."""

    recorder: Recorder
    options: ImportOptions
    stamps: Stamps
    _writer: SarWriter = field(init=False)
    _system: str = ""
    _first_day: dt.date | None = None
    _activity: str | None = None
    _columns: list[str] = field(default_factory=list)
    _days: _Days = field(init=False)
    _days_of: dict[tuple[str, ...], _Days] = field(default_factory=dict)
    """Of each heading since the header."""
    _sample: tuple[str, int] | None = None
    """The stamp of the present sample, and when it was."""
    _before_ns: int | None = None
    """When the sample before it was."""

    def __post_init__(self) -> None:
        """Nothing is read yet."""
        self._writer, self._days = SarWriter(self.recorder), self._anew()
        self._system = self.options.system or DEFAULT_LINUX_SYSTEM

    def line(self, line: str) -> None:
        """The next one."""
        if (header := _HEADER.fullmatch(line)) is not None:
            self._begin(header)
        elif (found := _cells(line)) is not None:
            self._timed(*found)
        elif line.strip():
            self.recorder.omit("lines without a time: averages and the like")

    def finish(self) -> None:
        """After the last line."""
        self._writer.finish()
        self.recorder.notes.clock = self.options.zone_words() + self._days.clock.words
        if doubt := self.stamps.doubt:
            self.recorder.warn(doubt)

    def _begin(self, header: re.Match[str]) -> None:
        self._system = self.options.system or header["host"]
        self.recorder.notes.system = self.recorder.notes.system or self._system
        self._first_day, self._activity = self.stamps.date(header["date"]), None
        self._days_of.clear()

    def _anew(self) -> _Days:
        return _Days(LocalClock(self.options.zone()), self._first_day)

    def _timed(self, stamp: str, cells: Sequence[str]) -> None:
        if " ".join(cells).startswith(_RESTART):
            self.recorder.omit("marks of restarts and comments")
        elif (activity := _activity(cells)) is not None:
            self._heading(stamp, activity, list(cells))
        elif self._activity in ("disks", "processors"):
            self._row(stamp, cells)
        else:
            self.recorder.omit("lines of other activities than disks and processors")

    def _heading(self, stamp: str, activity: str, cells: list[str]) -> None:
        """A heading goes on where its own lines are: live, each sample has all activities. A new one begins the day."""
        self._days = self._days_of.setdefault((activity, *cells), self._anew())
        self._activity, self._columns = activity, cells
        self._before_ns, self._sample = None, None
        if activity != "else" and (now_ns := self._instant(stamp)) is not None:
            self._sample = stamp, now_ns

    def _row(self, stamp: str, cells: Sequence[str]) -> None:
        if self._sample is None or stamp != self._sample[0] or self._before_ns is None:
            now_ns = self._instant(stamp)
            if now_ns is None or self._sample is None or now_ns <= self._sample[1]:
                self.recorder.omit("lines whose interval is not known")
                return
            self._before_ns, self._sample = self._sample[1], (stamp, now_ns)
        end_ns = self._sample[1]
        named = _fields(self._columns, cells)
        if named is None:
            self.recorder.omit("lines with more or fewer cells than their heading, or without numbers")
            return
        name, fields = named
        duration_ns = end_ns - self._before_ns
        if self._activity == "disks":
            self._writer.disk(self._system, name, end_ns, duration_ns, fields)
        elif name in ALL_PROCESSORS:
            shares = {key.removeprefix("%"): value for key, value in fields.items()}
            self._writer.processors(self._system, end_ns, duration_ns, shares)

    def _instant(self, stamp: str) -> int | None:
        """The instant of a time; past midnight it is of the next day. Without a header the day is --start's."""
        days = self._days
        moment = self.stamps.moment(stamp, days.day or self._start_day())
        if moment is None:
            return None
        if days.latest is not None and _since_midnight(days.latest) - _since_midnight(moment.time()) > _HALF_A_DAY:
            moment += dt.timedelta(days=1)
        days.day, days.latest = moment.date(), moment.time()
        return days.clock.instant(moment)

    def _start_day(self) -> dt.date:
        return self.options.start.date() if self.options.start else dt.date(1970, 1, 1)


def _since_midnight(time: dt.time) -> dt.timedelta:
    return dt.timedelta(hours=time.hour, minutes=time.minute, seconds=time.second)


def _fields(columns: Sequence[str], cells: Sequence[str]) -> tuple[str, dict[str, float]] | None:
    """The name of a line's disk or processor, and its numbers by column."""
    if len(columns) != len(cells):
        return None
    at = next(index for index, column in enumerate(columns) if column in ("DEV", "CPU"))
    pairs = [(column, cell) for index, (column, cell) in enumerate(zip(columns, cells, strict=True)) if index != at]
    if not all(_NUMBER.fullmatch(cell) for _, cell in pairs):
        return None
    return cells[at], {column: float(cell.replace(",", ".")) for column, cell in pairs}


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    recorder.notes.tool = "sar"
    lines = [without_colours(line) for line in whole_lines(evidence, recorder)]
    stamps = Stamps(options)
    for line in lines:
        if (header := _HEADER.fullmatch(line)) is not None:
            stamps.learn(header["date"])
        elif (found := _cells(line)) is not None:
            stamps.learn(found[0])  # a 12-hour clock tells the locale, and with it the order of the date
    reader = _Reader(recorder, options, stamps)
    for line in lines:
        reader.line(line)
    reader.finish()


IMPORTER = Importer(
    name="sar_text",
    title="Linux sar, text",
    supports="sysstat 7 to 12.7, sar -d and -u, also within -A; -p; 12 and 24 hours; seen 12.6.1",
    how_to_capture="LC_ALL=C sar -d -p -u -f /var/log/sysstat/sa20 > sar.txt   (RHEL: /var/log/sa/sa20)",
    recognise=_recognise,
    read=_read,
    carries=(
        "ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "latency_ns_mean", "queue_depth_mean", "busy_ratio",
        "cpu_busy_ratio", "discards as counters",
    ),
    not_yet={"-h, --human": "its numbers have units; export with sadf -d instead"},
    never={"latency by direction": "sar keeps one sum for reads and writes"},
)  # fmt: skip
