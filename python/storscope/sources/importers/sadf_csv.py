"""What sysstat recorded, as `sadf -d` prints it: a heading for each activity, host and length in each row.

    # hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;...

Times are in UTC with the word, or without it as -t prints them, or seconds since 1970 (-U). Of the activities disks and
processors are read. One line a sample (-h) is read where it tells where each activity ends (`_sadf_line.py`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from storscope.domain import units
from storscope.domain.errors import MalformedInput
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._sadf_line import Activity, Row, activities_of, can_be_cut, cut
from storscope.sources.importers._sar import ALL_PROCESSORS, SarWriter
from storscope.sources.importers._table_times import TableTimes
from storscope.sources.importers._whole_lines import whole_lines

_START: Final = "# hostname;interval;timestamp"
_READ: Final = ("DEV", "CPU")
_RESTART: Final = re.compile(r"LINUX-RESTART|COM")


def _recognise(head: Head) -> float:
    headings = [line for line in head.lines if line.startswith(_START)]
    return 0.95 if any(name in _READ for line in headings for name in line.split(";")[3:]) else 0.0


@dataclass
class _Reader:
    """The rows of each activity, in their order."""

    evidence: Evidence
    recorder: Recorder
    options: ImportOptions
    _times: TableTimes = field(init=False)
    _writer: SarWriter = field(init=False)
    _clocks: dict[tuple[str, ...], LocalClock] = field(default_factory=dict)
    _activities: Sequence[Activity] = ()

    def __post_init__(self) -> None:
        """Nothing is read yet."""
        self._times, self._writer = TableTimes(self.options), SarWriter(self.recorder)

    def read(self) -> None:
        """All lines."""
        self.recorder.notes.tool = "sar"
        for number, line in enumerate(whole_lines(self.evidence, self.recorder), 1):
            if line.startswith(_START):
                self._heading(line, number)
            elif line.strip():
                self._row(line.split(";"))
        self._writer.finish()
        self.recorder.notes.clock = f"{self._times.words}; sadf without -t prints UTC"

    def _heading(self, line: str, number: int) -> None:
        self._activities = activities_of(line.split(";")[3:])
        if not can_be_cut(self._activities):
            raise self._cannot_be_cut(number)
        self._clocks.clear()

    def _cannot_be_cut(self, number: int) -> MalformedInput:
        keys = dict.fromkeys(activity.key for activity in self._activities if activity.is_repeated)
        without_disks = "" if "DEV" in keys else ", and no disks (DEV)"
        return broken(
            self.evidence,
            "lines of disks and processors",
            f"all of {', '.join(keys)} in one line (sadf -d -h), which does not tell where each ends{without_disks}",
            line=number,
            hint="Export again without -h, and disks and processors alone: sadf -d FILE -- -d -u > sar.csv",
        )

    def _row(self, cells: Sequence[str]) -> None:
        if len(cells) > 3 and _RESTART.match(cells[3]):
            self.recorder.omit("marks of restarts and comments")
            return
        if not any(activity.key in _READ for activity in self._activities):
            self.recorder.omit("lines of other activities than disks and processors")
            return
        rows = cut(self._activities, cells[3:])
        if not rows:
            self.recorder.omit("lines with more or fewer cells than their heading")
            return
        system = self.options.system or cells[0]
        for row in rows:
            if row.activity.key in _READ:
                self._write(system, cells[1], cells[2], row)

    def _write(self, system: str, interval: str, stamp: str, row: Row) -> None:
        key, name = row.activity.key, row.cells[0]
        clock = self._clocks.setdefault((system, key, name), self._times.clock())
        end_ns, seconds = self._times.instant(stamp, clock), _number(interval)
        if end_ns is None or not seconds > 0:
            self.recorder.omit("lines without a time or a length")
            return
        self.recorder.notes.system = self.recorder.notes.system or system
        fields, duration_ns = _fields(row), round(seconds * units.NS_PER_S)
        if key == "DEV":
            self._writer.disk(system, name, end_ns, duration_ns, fields)
        elif name in ALL_PROCESSORS:
            shares = {column.removeprefix("%"): value for column, value in fields.items()}
            self._writer.processors(system, end_ns, duration_ns, shares)


def _fields(row: Row) -> dict[str, float]:
    told = zip(row.activity.columns[1:], map(_number, row.cells[1:]), strict=True)
    return {column: value for column, value in told if math.isfinite(value)}


def _number(text: str) -> float:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return math.nan


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    _Reader(evidence, recorder, options).read()


IMPORTER = Importer(
    name="sadf_csv",
    title="Linux sar, exported with sadf -d",
    supports="sysstat 9 to 12.7; seen 12.6.1",
    how_to_capture="sadf -d /var/log/sysstat/sa20 -- -d -u > sar.csv   (RHEL: /var/log/sa/sa20)",
    recognise=_recognise,
    read=_read,
    carries=(
        "ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "latency_ns_mean", "queue_depth_mean", "busy_ratio",
        "cpu_busy_ratio", "discards as counters",
    ),
    not_yet={"other activities": "memory, network and the like are no storage; they are counted and left out"},
    never={"latency by direction": "sar keeps one sum for reads and writes"},
)  # fmt: skip
