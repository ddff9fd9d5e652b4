"""Walks of SNMP over UCD-DISKIO-MIB, several in one file: counters of the disks of a host that tells nothing else.

Expected shape: a line with the time, then the walk as snmpbulkwalk or snmpwalk prints it, again and again, with numbers
(-On, the default without MIBs) or names, with or without types (-Oq). Which column is what: UCD-DISKIO-MIB and agent of
net-snmp 5.9, captured; the object that tells a name is diskIODevice. sysName.0 names the host where it is in the file.

The agent of Linux has its numbers from /proc/diskstats (sectors of 512 bytes as bytes, busy milliseconds as
microseconds), so resets and idle devices are those of diskstats.py. Operations are counted in 32 bits: what falls from
the upper half has begun anew at 2^32. Bytes are in 64 bits too, but for SNMP version 1, which cannot tell them: then
more than 4 GiB between two walks are not seen, which is said.

Beware: the agent keeps what it read for a second or more, so that rates over short steps are uncertain.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from storscope.domain import units
from storscope.domain.diskstats import Counters
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions
from storscope.sources.importers._disk_snapshots import DiskSnapshots
from storscope.sources.importers._linux_block import DEFAULT_LINUX_SYSTEM
from storscope.sources.importers._snapshot_clock import SnapshotClock
from storscope.sources.importers._time_lines import LineTime
from storscope.sources.importers._whole_lines import whole_lines

_OBJECT: Final = re.compile(
    r"\.?[\w:.-]{0,80}?(?:\b2021\.13\.15\.1\.1\.(?P<column>\d{1,2})|\bdiskIO(?P<name>[A-Za-z0-9]{1,20}))"
    r"[.\[](?P<index>\d{1,10})\]?(?:[ ]=)?[ ](?:(?:[A-Z][A-Za-z]+\d*: ?)?)(?P<value>.{0,255})"
)
_HOST: Final = re.compile(r"\.?\S{0,80}?(?:1\.1\.5\.0|\bsysName\.0)(?: =)? (?:STRING: ?)?\"?(?P<host>[^\"]{1,255})\"?")
_ANY_OBJECT: Final = re.compile(r"\.?(?:\d|iso\b|[A-Za-z][\w-]*::)\S* ")
_COLUMNS: Final = {
    "2": "Device", "3": "NRead", "4": "NWritten", "5": "Reads", "6": "Writes", "12": "NReadX", "13": "NWrittenX",
    "14": "BusyTime",
}  # fmt: skip
_WRAP: Final = 2**32
_US_PER_MS: Final = 1000
_WALK: Final = "snmpbulkwalk -v2c -c public -On HOST .1.3.6.1.4.1.2021.13.15"


def _recognise(head: Head) -> float:
    return 0.9 if any(_OBJECT.fullmatch(line.strip()) for line in head.lines[:4000]) else 0.0


@dataclass
class _Wrapping:
    """A counter of 32 bits as one that does not wrap."""

    raw: int
    base: int = 0

    def next(self, raw: int) -> int:
        """The whole count; one that fell from the lower half was reset, and falls here, too."""
        if raw < self.raw and self.raw >= _WRAP // 2:
            self.base += _WRAP
        elif raw < self.raw:
            self.base = 0
        self.raw = raw
        return self.base + raw


@dataclass
class _Reader:
    """Gathers the objects of a walk and hands it on when it is whole."""

    evidence: Evidence
    recorder: Recorder
    options: ImportOptions
    _time: LineTime | None = None
    _rows: dict[str, dict[str, str]] = field(default_factory=dict)
    """Index of a device in this walk -> column -> value."""
    _host: str | None = None
    _wrapping: dict[tuple[str, str], _Wrapping] = field(default_factory=dict)
    _clock: SnapshotClock = field(init=False)
    _snapshots: DiskSnapshots = field(init=False)

    def __post_init__(self) -> None:
        """The clock, and the snapshots that it places."""
        self._clock = SnapshotClock(self.evidence, self.recorder, self.options, "UCD-DISKIO-MIB", _WALK)
        self._snapshots = DiskSnapshots(self.recorder, self._clock)

    def line(self, line: str) -> None:
        """Any line of the file."""
        text = line.strip()
        if (found := _OBJECT.fullmatch(text)) is not None:
            self._object(_COLUMNS.get(found["column"] or "") or found["name"] or "", found["index"], found["value"])
        elif (host := _HOST.fullmatch(text)) is not None:
            self._host = host["host"]
        elif _ANY_OBJECT.match(text):
            self.recorder.omit("objects of other MIBs")
        elif (moment := self._clock.line(text)) is not None:
            self._complete()
            self._time = moment
        elif text:
            self.recorder.omit("lines that are neither a time nor an object")

    def finish(self) -> None:
        """After the last line."""
        self._complete()
        self._snapshots.finish()
        self._clock.finish(self._snapshots.count)
        if self._snapshots.count == 1:
            self.recorder.warn("Only one walk: rates need two, in one file, each behind a line with the time.")

    def _object(self, column: str, index: str, value: str) -> None:
        if column not in _COLUMNS.values():
            return
        if column in self._rows.get(index, {}):
            self._complete()
        self._rows.setdefault(index, {})[column] = value.strip().strip('"')

    def _complete(self) -> None:
        """The walk is whole."""
        rows, time = self._rows, self._time
        self._rows, self._time = {}, None
        now = {row["Device"]: counters for row in rows.values() if (counters := self._counters(row)) is not None}
        if now:
            time = time or self._clock.rebuilt(self._snapshots.latest)
            self._snapshots.add(time, now, self.options.system or self._host or DEFAULT_LINUX_SYSTEM)

    def _counters(self, row: dict[str, str]) -> Counters | None:
        """A device's counters as the kernel has them; None where the walk was cut."""
        numbers = {name: int(value) for name, value in row.items() if value.isascii() and value.isdigit()}
        if not row.get("Device") or not numbers.keys() >= {"Reads", "Writes", "NRead", "NWritten"}:
            self.recorder.omit("devices without a name or without all their counters (the walk was cut)")
            return None
        whole = {
            name: self._whole(row["Device"], name, numbers[name]) for name in ("Reads", "Writes", "NRead", "NWritten")
        }
        if not numbers.keys() >= {"NReadX", "NWrittenX"}:
            self.recorder.warn(
                "Bytes are counted in 32 bits here, so more than 4 GiB between two walks are not seen. Ask by version "
                f"2: {_WALK}"
            )
        counters = {
            "rio": whole["Reads"], "wio": whole["Writes"],
            "rsect": numbers.get("NReadX", whole["NRead"]) // units.SECTOR_BYTES,
            "wsect": numbers.get("NWrittenX", whole["NWritten"]) // units.SECTOR_BYTES,
        }  # fmt: skip
        return counters | ({"ticks": numbers["BusyTime"] // _US_PER_MS} if "BusyTime" in numbers else {})

    def _whole(self, device: str, name: str, raw: int) -> int:
        return self._wrapping.setdefault((device, name), _Wrapping(raw)).next(raw)


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    recorder.notes.tool = "SNMP"
    reader = _Reader(evidence, recorder, options)
    for line in whole_lines(evidence, recorder):
        reader.line(line)
    reader.finish()


IMPORTER = Importer(
    name="snmp_diskio",
    title="SNMP walks of a host's disks (UCD-DISKIO-MIB)",
    supports="snmpwalk and snmpbulkwalk of net-snmp, numeric or by names, -Oq; seen 5.9.3 on Linux",
    how_to_capture=f"while true; do date -u +%FT%T.%NZ; {_WALK}; sleep 30; done > diskio.txt",
    recognise=_recognise,
    read=_read,
    carries=(
        "read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s",
        "busy_ratio where the agent has diskIOBusyTime", "the host's name where sysName.0 is in the file",
    ),
    not_yet={
        "hrStorageTable, dskTable": "how full file systems are is not judged",
        "diskIOLA1, LA5, LA15": "averages over minutes, of which the busy time tells more",
    },
    never={"latency, queue depth": "the MIB has none: bring iostat of the host, if it has a shell"},
)  # fmt: skip
