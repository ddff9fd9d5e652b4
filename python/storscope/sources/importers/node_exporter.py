"""Scrapes of Prometheus node_exporter in its text form, several in one file: counters of a Linux host's disks.

Expected shape: a line with the time, then the page as the exporter prints it, again and again:

    while true; do date -u +%FT%T.%NZ; curl -s localhost:9100/metrics; sleep 10; done > node.txt

A scrape is placed by its samples' own times (ms since 1970, as /federate prints them), else by node_time_seconds (read
by the exporter beside the disks), else by the time line, else by --interval. Pages saved one by one are joined first,
with the time at which each was saved: for f in *.prom; do date -u -r "$f" +%FT%T.%NZ; cat "$f"; done > node.txt

What its metrics are, `_node_pages.py` tells. Pages of /federate are unverified.

Refuses pages of the exporter on other systems: those of macOS and FreeBSD lack the counters or call them otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._node_pages import DISK, FIELDS, Pages, Sample
from storscope.sources.importers._snapshot_clock import SnapshotClock
from storscope.sources.importers._whole_lines import whole_lines

_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})?[ \t]+(\S+)(?:[ \t]+(-?\d{1,15}))?[ \t]*")
_OTHER = re.compile(r"[a-z_]\w*[ {]")
"""The beginning of a line that may be a metric and is no time."""
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
_READ: Final = (DISK, "node_time", "node_uname_info")

_JOIN: Final = (
    "Join scrapes that were saved one by one, with their times: "
    'for f in *.prom; do date -u -r "$f" +%FT%T.%NZ; cat "$f"; done > node.txt'
)


def _sample(line: str) -> Sample | None:
    match = _SAMPLE.fullmatch(line.strip())
    if match is None:
        return None
    try:
        value = float(match[3])
    except ValueError:
        return None
    labels = {name: _ESCAPED.sub(r"\1", text) for name, text in _LABEL.findall(match[2] or "")}
    return Sample(match[1], labels, value, int(match[4]) if match[4] else None)


def _recognise(head: Head) -> float:
    if "node_" not in head.text:
        return 0.0
    found = [sample.metric for line in head.lines if line.startswith("node_") and (sample := _sample(line))]
    if any(metric.removeprefix(DISK) in FIELDS for metric in found if metric.startswith(DISK)):
        return 0.9
    return 0.6 if len(found) >= 3 and "# TYPE node_" in head.text else 0.0


@dataclass
class _Reader:
    """Tells time lines, metrics and other lines apart."""

    evidence: Evidence
    recorder: Recorder
    options: ImportOptions
    _clock: SnapshotClock = field(init=False)
    _pages: Pages = field(init=False)
    _metrics: int = 0

    def __post_init__(self) -> None:
        """The clock of all hosts, and their pages."""
        self._clock = SnapshotClock(
            self.evidence, self.recorder, self.options, "node_exporter", "curl -s localhost:9100/metrics", f" {_JOIN}"
        )
        self._pages = Pages(self.recorder, self.options, self._clock)

    def line(self, line: str) -> None:
        """Any line of the file."""
        if not line.strip() or line.startswith("#"):
            return
        if not line.startswith(_READ) and _OTHER.match(line):
            self._metrics += 1
        elif (moment := self._clock.line(line)) is not None:
            self._pages.complete()
            self._pages.line_time = moment
        elif (sample := _sample(line)) is not None:
            self._metrics += 1
            self._pages.take(sample)
        else:
            self.recorder.omit("lines that are neither a time nor a metric")

    def finish(self) -> None:
        """After the last line."""
        self._pages.finish()
        scrapes = self._pages.scrapes
        if self._metrics and not scrapes:
            raise broken(
                self.evidence, "metrics node_disk_* of a Linux host", "other metrics only",
                hint="The exporter's collector diskstats is off, or it runs on another system than Linux.",
            )  # fmt: skip
        self._clock.finish(sum(scrapes))
        if all(count == 1 for count in scrapes):
            self.recorder.warn(f"Only one scrape: rates need two. {_JOIN}")


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    recorder.notes.tool = "node_exporter"
    reader = _Reader(evidence, recorder, options)
    for line in whole_lines(evidence, recorder):
        reader.line(line)
    reader.finish()


IMPORTER = Importer(
    name="node_exporter",
    title="Prometheus node_exporter, scrapes as text",
    supports="node_exporter on Linux, names since 0.16; seen 1.5.0; names before and pages of /federate are unverified",
    how_to_capture="while true; do date -u +%FT%T.%NZ; curl -s localhost:9100/metrics; sleep 10; done > node.txt",
    recognise=_recognise,
    read=_read,
    carries=(
        "read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "read_latency_ns_mean",
        "write_latency_ns_mean", "queue_depth_mean", "busy_ratio", "the host's name where node_uname_info tells it",
        "merges, discards, flushes and operations in flight as counters",
    ),
    not_yet={
        "metrics other than node_disk_*": "processors, network, filesystems: bring sar or iostat of the host",
    },
    never={"latency percentiles": "the kernel's disk statistics keep sums only"},
)  # fmt: skip
