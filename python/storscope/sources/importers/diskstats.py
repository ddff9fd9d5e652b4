"""Snapshots of Linux /proc/diskstats, as a loop in a shell takes them.

Expected shape: a line with the time, then the file as the kernel prints it, again and again:

    while true; do date -u +%FT%T.%NZ; cat /proc/diskstats; sleep 1; done > diskstats.txt

The time is ISO 8601 (`date -u +%FT%TZ`, `date -Is`, `date -Ins`), seconds since 1970 with or without a fraction
(`date +%s.%N`), or what `date` prints by itself. Without time lines --interval must be given, since rates need it.

Fields, wraps and resets are those of domain/diskstats.py; an interval with a reset is left out. Rates are differences
over the time between the time lines; latency is the difference of the time over that of the operations.

Beware: a time line in whole seconds makes the rates of a 1 s loop uncertain by half; take it with %N.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from storscope.domain import diskstats
from storscope.domain.diskstats import Counters
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions
from storscope.sources.importers._disk_snapshots import DiskSnapshots
from storscope.sources.importers._linux_block import DEFAULT_LINUX_SYSTEM
from storscope.sources.importers._snapshot_clock import SnapshotClock
from storscope.sources.importers._time_lines import LineTime
from storscope.sources.importers._whole_lines import whole_lines

_LINE = re.compile(r"\s*\d+\s+\d+\s+\S+(?:\s+\d+){4,}\s*")


def _recognise(head: Head) -> float:
    lines = [line for line in head.lines if line.strip()][:4000]
    disks = sum(_is_disk_line(line) for line in lines)
    if disks == 0 or disks < len(lines) / 2:
        return 0.0
    names = [line.split()[2] for line in lines if _is_disk_line(line)]
    return 0.9 if len(set(names)) < len(names) or disks < len(lines) else 0.6


def _is_disk_line(line: str) -> bool:
    return bool(_LINE.fullmatch(line)) and len(line.split()) - 3 in diskstats.FIELD_COUNTS


@dataclass
class _Reader:
    """Gathers the lines of a snapshot and hands it on when it is whole."""

    evidence: Evidence
    recorder: Recorder
    options: ImportOptions
    _time: LineTime | None = None
    _now: dict[str, Counters] = field(default_factory=dict)
    _clock: SnapshotClock = field(init=False)
    _snapshots: DiskSnapshots = field(init=False)

    def __post_init__(self) -> None:
        """The clock, and the snapshots that it places."""
        self._clock = SnapshotClock(
            self.evidence, self.recorder, self.options, "/proc/diskstats", "cat /proc/diskstats"
        )
        self._snapshots = DiskSnapshots(self.recorder, self._clock)

    def line(self, line: str) -> None:
        """Any line of the file."""
        words = line.split()
        if not words:
            return
        if len(words) >= 7 and _LINE.fullmatch(line):
            self._disk(words[2], [int(word) for word in words[3:]])
        elif moment := self._clock.line(line):
            self._complete()
            self._time = moment
        else:
            self.recorder.omit("lines that are neither a time nor a disk")

    def finish(self) -> None:
        """After the last line."""
        self._complete()
        self._snapshots.finish()
        self._clock.finish(self._snapshots.count)
        if self._snapshots.count == 1:
            self.recorder.warn("Only one snapshot: rates need two. Let the loop run longer.")

    def _disk(self, name: str, values: list[int]) -> None:
        counters = diskstats.counters_of(values)
        if counters is None:
            self.recorder.omit("disk lines with a field count no kernel prints (cut or damaged)")
            return
        if name in self._now:
            self._complete()
        self.recorder.omit("fields after the 17th, of a kernel later than this importer", max(0, len(values) - 17))
        self._now[name] = counters

    def _complete(self) -> None:
        """The snapshot is whole."""
        if not self._now:
            return
        time = self._time or self._clock.rebuilt(self._snapshots.latest)
        self._snapshots.add(time, self._now, self.options.system or DEFAULT_LINUX_SYSTEM)
        self._time, self._now = None, {}


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    recorder.notes.tool = "/proc/diskstats"
    reader = _Reader(evidence, recorder, options)
    for line in whole_lines(evidence, recorder):
        reader.line(line)
    reader.finish()


IMPORTER = Importer(
    name="diskstats",
    title="Linux /proc/diskstats, snapshots with times",
    supports="Linux 2.6 to 6.x: 4 (old partitions), 11, 15 and 17 fields; seen 6.18",
    how_to_capture="while true; do date -u +%FT%T.%NZ; cat /proc/diskstats; sleep 1; done > diskstats.txt",
    recognise=_recognise,
    read=_read,
    version=2,
    carries=(
        "read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "read_latency_ns_mean",
        "write_latency_ns_mean", "queue_depth_mean", "busy_ratio", "partitions and the disk they live on",
        "merges, discards, flushes and operations in flight as counters",
    ),
    never={
        "latency percentiles": "the kernel's disk statistics keep sums only",
        "the host's name": "it is not in the file; set --system",
    },
)  # fmt: skip
