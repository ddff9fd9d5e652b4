"""What sysstat recorded, as `sadf -d` prints it: a heading for each activity, host and length in each row.

    # hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;...

Times are in UTC with the word, or without it as -t prints them, or seconds since 1970 (-U). Of the activities disks and
processors are read. One line a sample (-h) is read where it is of disks alone: a line does not say where one activity
ends.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from storscope.domain import units
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._sar import ALL_PROCESSORS, SarWriter
from storscope.sources.importers._table_times import TableTimes
from storscope.sources.importers._whole_lines import whole_lines

_START: Final = "# hostname;interval;timestamp"
_REPEATED: Final = "[...]"
_RESTART: Final = re.compile(r"LINUX-RESTART|COM")


def _recognise(head: Head) -> float:
    headings = [line for line in head.lines if line.startswith(_START)]
    return 0.95 if any(line.split(";")[3:4] in (["DEV"], ["CPU"]) for line in headings) else 0.0


@dataclass
class _Reader:
    """The rows of each activity, in their order."""

    evidence: Evidence
    recorder: Recorder
    options: ImportOptions
    _times: TableTimes = field(init=False)
    _writer: SarWriter = field(init=False)
    _clocks: dict[tuple[str, ...], LocalClock] = field(default_factory=dict)
    _columns: tuple[str, ...] = ()
    _is_wide: bool = False

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
        columns = tuple(line.split(";")[3:])
        repeated = sum(name.endswith(_REPEATED) for name in columns)
        if repeated > 1 and "DEV" in columns:
            raise broken(
                self.evidence, "a line for each disk and sample", "several activities on one line (sadf -h)",
                line=number, hint="Export again without -h: sadf -d FILE -- -d -u",
            )  # fmt: skip
        self._is_wide = repeated == 1
        self._columns = tuple(name.removesuffix(_REPEATED) for name in columns)
        self._clocks.clear()

    def _row(self, cells: Sequence[str]) -> None:
        if len(cells) > 3 and _RESTART.match(cells[3]):
            self.recorder.omit("marks of restarts and comments")
            return
        if self._columns[:1] not in (("DEV",), ("CPU",)):
            self.recorder.omit("lines of other activities than disks and processors")
            return
        width = len(self._columns)
        values = cells[3:]
        if not values or len(values) % width or (len(values) != width and not self._is_wide):
            self.recorder.omit("lines with more or fewer cells than their heading")
            return
        system = self.options.system or cells[0]
        for at in range(0, len(values), width):
            self._write(system, cells[1], cells[2], values[at : at + width])

    def _write(self, system: str, interval: str, stamp: str, values: Sequence[str]) -> None:
        name, fields = (
            values[0],
            {
                key: value
                for key, text in zip(self._columns[1:], values[1:], strict=True)
                if math.isfinite(value := _number(text))
            },
        )
        clock = self._clocks.setdefault((system, self._columns[0], name), self._times.clock())
        end_ns, seconds = self._times.instant(stamp, clock), _number(interval)
        if end_ns is None or not seconds > 0:
            self.recorder.omit("lines without a time or a length")
            return
        self.recorder.notes.system = self.recorder.notes.system or system
        duration_ns = round(seconds * units.NS_PER_S)
        if self._columns[0] == "DEV":
            self._writer.disk(system, name, end_ns, duration_ns, fields)
        elif name in ALL_PROCESSORS:
            shares = {key.removeprefix("%"): value for key, value in fields.items()}
            self._writer.processors(system, end_ns, duration_ns, shares)


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
