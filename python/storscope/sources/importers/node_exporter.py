"""Scrapes of Prometheus node_exporter in its text form, several in one file: counters of a Linux host's disks.

Expected shape: a line with the time, then the page as the exporter prints it, again and again:

    while true; do date -u +%FT%T.%NZ; curl -s localhost:9100/metrics; sleep 10; done > node.txt

A scrape is placed by its samples' own times (ms since 1970, as /federate prints them), else by node_time_seconds (read
by the exporter beside the disks), else by the time line, else by --interval. Pages saved one by one are joined first,
with the time at which each was saved: for f in *.prom; do date -u -r "$f" +%FT%T.%NZ; cat "$f"; done > node.txt

The exporter reads /proc/diskstats and prints milliseconds as seconds and sectors of 512 bytes as bytes (procfs,
blockdevice/stats.go; node_exporter, collector/diskstats_linux.go), so the kernel's numbers are got back exactly and
everything that diskstats.py says of wraps, resets and gaps holds here. Names since 0.16 were seen in a page of 1.5.0;
those of 0.15 and before (`_ms`, `sectors_read`) are unverified, as are pages of /federate.

Refuses pages of the exporter on other systems: those of macOS and FreeBSD lack the counters or call them otherwise.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Final

from storscope.domain import units
from storscope.domain.diskstats import Counters
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._disk_snapshots import DiskSnapshots
from storscope.sources.importers._linux_block import DEFAULT_LINUX_SYSTEM
from storscope.sources.importers._snapshot_clock import SnapshotClock
from storscope.sources.importers._time_lines import LineTime
from storscope.sources.importers._whole_lines import whole_lines

_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})?[ \t]+(\S+)(?:[ \t]+(-?\d{1,15}))?[ \t]*")
_OTHER = re.compile(r"[a-z_]\w*[ {]")
"""The beginning of a line that may be a metric and is no time."""
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
_DISK: Final = "node_disk_"
_READ: Final = (_DISK, "node_time", "node_uname_info")

_MS_PER_S: Final = 1000.0
_PER_SECTOR: Final = 1 / units.SECTOR_BYTES
_FIELDS: Final[dict[str, tuple[str, float]]] = {
    "reads_completed_total": ("rio", 1), "reads_merged_total": ("rmerge", 1),
    "read_bytes_total": ("rsect", _PER_SECTOR), "read_time_seconds_total": ("rms", _MS_PER_S),
    "writes_completed_total": ("wio", 1), "writes_merged_total": ("wmerge", 1),
    "written_bytes_total": ("wsect", _PER_SECTOR), "write_time_seconds_total": ("wms", _MS_PER_S),
    "io_now": ("inflight", 1), "io_time_seconds_total": ("ticks", _MS_PER_S),
    "io_time_weighted_seconds_total": ("weighted", _MS_PER_S),
    "discards_completed_total": ("dio", 1), "discards_merged_total": ("dmerge", 1),
    "discarded_sectors_total": ("dsect", 1), "discard_time_seconds_total": ("dms", _MS_PER_S),
    "flush_requests_total": ("fio", 1), "flush_requests_time_seconds_total": ("fms", _MS_PER_S),
    "reads_completed": ("rio", 1), "reads_merged": ("rmerge", 1), "sectors_read": ("rsect", 1),
    "read_time_ms": ("rms", 1), "writes_completed": ("wio", 1), "writes_merged": ("wmerge", 1),
    "sectors_written": ("wsect", 1), "write_time_ms": ("wms", 1), "io_time_ms": ("ticks", 1),
    "io_time_weighted": ("weighted", 1),
}  # fmt: skip
"""Metric after `node_disk_` -> the kernel's field and what makes its integer of the value."""
_NEEDED: Final = frozenset(("rio", "rsect", "wio", "wsect"))
_COUNTERS_END: Final = 2.0**53
"""From here on a float is no exact count."""
_LAST_NS: Final = 2.0**63
_TIME_METRICS: Final = ("node_time_seconds", "node_time")
_JOIN: Final = (
    "Join scrapes that were saved one by one, with their times: "
    'for f in *.prom; do date -u -r "$f" +%FT%T.%NZ; cat "$f"; done > node.txt'
)
_CLOCKS_APART_NS: Final = 60 * units.NS_PER_S


@dataclass(frozen=True)
class _Sample:
    """One line of a page."""

    metric: str
    labels: dict[str, str]
    value: float
    time_ms: int | None

    @property
    def instance(self) -> str:
        """The exporter that a Prometheus server scraped; '' on a page of the exporter itself."""
        return self.labels.get("instance", "")


def _sample(line: str) -> _Sample | None:
    match = _SAMPLE.fullmatch(line.strip())
    if match is None:
        return None
    try:
        value = float(match[3])
    except ValueError:
        return None
    labels = {name: _ESCAPED.sub(r"\1", text) for name, text in _LABEL.findall(match[2] or "")}
    return _Sample(match[1], labels, value, int(match[4]) if match[4] else None)


def _recognise(head: Head) -> float:
    if "node_" not in head.text:
        return 0.0
    found = [sample.metric for line in head.lines if line.startswith("node_") and (sample := _sample(line))]
    if any(metric.removeprefix(_DISK) in _FIELDS for metric in found if metric.startswith(_DISK)):
        return 0.9
    return 0.6 if len(found) >= 3 and "# TYPE node_" in head.text else 0.0


@dataclass
class _Page:
    """What one exporter said in one scrape."""

    disks: dict[str, dict[str, int]] = field(default_factory=dict)
    time: LineTime | None = None
    host: str | None = None


@dataclass
class _Reader:
    """Gathers the lines of a scrape and hands it on when it is whole."""

    evidence: Evidence
    recorder: Recorder
    options: ImportOptions
    _line_time: LineTime | None = None
    _pages: dict[str, _Page] = field(default_factory=dict)
    _clock: SnapshotClock = field(init=False)
    _hosts: dict[str, DiskSnapshots] = field(default_factory=dict)
    _known_fields: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    _metrics: int = 0

    def __post_init__(self) -> None:
        """The clock of all hosts."""
        self._clock = SnapshotClock(
            self.evidence, self.recorder, self.options, "node_exporter", "curl -s localhost:9100/metrics", f" {_JOIN}"
        )

    def line(self, line: str) -> None:
        """Any line of the file."""
        if not line.strip() or line.startswith("#"):
            return
        if not line.startswith(_READ) and _OTHER.match(line):
            self._metrics += 1
        elif (moment := self._clock.line(line)) is not None:
            self._complete()
            self._line_time = moment
        elif (sample := _sample(line)) is not None:
            self._metrics += 1
            self._take(sample)
        else:
            self.recorder.omit("lines that are neither a time nor a metric")

    def finish(self) -> None:
        """After the last line."""
        self._complete()
        for host in self._hosts.values():
            host.finish()
        if self._metrics and not self._hosts:
            raise broken(
                self.evidence, "metrics node_disk_* of a Linux host", "other metrics only",
                hint="The exporter's collector diskstats is off, or it runs on another system than Linux.",
            )  # fmt: skip
        self._clock.finish(sum(host.count for host in self._hosts.values()))
        if all(host.count == 1 for host in self._hosts.values()):
            self.recorder.warn(f"Only one scrape: rates need two. {_JOIN}")

    def _take(self, sample: _Sample) -> None:
        if sample.metric in _TIME_METRICS:
            self._exporter_time(sample)
        elif sample.metric == "node_uname_info":
            self._page(sample).host = sample.labels.get("nodename") or None
        elif sample.metric.startswith(_DISK):
            self._disk(sample)

    def _page(self, sample: _Sample) -> _Page:
        return self._pages.setdefault(sample.instance, _Page())

    def _exporter_time(self, sample: _Sample) -> None:
        if sample.time_ms is not None:
            return
        time = _placed(sample.value * 1e9)
        self.recorder.omit("times of no capture", int(time is None))
        self._page(sample).time = time

    def _disk(self, sample: _Sample) -> None:
        name, known = sample.labels.get("device"), _FIELDS.get(sample.metric.removeprefix(_DISK))
        if not name or known is None:
            return
        field_name, scale = known
        if field_name in self._page(sample).disks.get(name, {}):
            self._complete()
        if not 0 <= sample.value * scale < _COUNTERS_END or not math.isfinite(sample.value):
            self.recorder.omit("values that no counter can have (negative, too great, or no number)")
            return
        page = self._page(sample)
        page.disks.setdefault(name, {})[field_name] = round(sample.value * scale)
        if sample.time_ms is not None and page.time is None:
            page.time = _placed(sample.time_ms * 1e6)

    def _complete(self) -> None:
        """The scrape is whole, of every exporter in it."""
        pages, line_time = self._pages, self._line_time
        self._pages, self._line_time = {}, None
        for instance, page in pages.items():
            disks = self._whole_disks(instance, page)
            if not disks:
                continue
            host = self._hosts.setdefault(instance, DiskSnapshots(self.recorder, self._clock))
            time = page.time or line_time or self._clock.rebuilt(host.latest)
            self._doubt_clocks(page.time, line_time)
            host.add(time, disks, self.options.system or page.host or _host(instance) or DEFAULT_LINUX_SYSTEM)

    def _whole_disks(self, instance: str, page: _Page) -> dict[str, Counters]:
        """The devices of which the page has the counters that it had before; a page that was cut has them in part."""
        whole: dict[str, Counters] = {}
        for name, counters in page.disks.items():
            fields = frozenset(counters)
            known = self._known_fields.get((instance, name), fields)
            self._known_fields[instance, name] = known | fields
            if _NEEDED <= fields == known:
                whole[name] = counters
            else:
                self.recorder.omit("devices whose counters are not all on the page (it was cut or damaged)")
        return whole

    def _doubt_clocks(self, exporter: LineTime | None, line: LineTime | None) -> None:
        if exporter is not None and line is not None and abs(exporter.ns - line.ns) > _CLOCKS_APART_NS:
            self.recorder.warn(
                "The exporter's clock and the time lines are more than a minute apart; the exporter's was taken."
            )


def _placed(ns: float) -> LineTime | None:
    """A time on the exporter's clock, to the microsecond; None for one of no capture."""
    if not 0 < ns < _LAST_NS:
        return None
    time = LineTime(round(ns / units.NS_PER_US) * units.NS_PER_US, True, False)
    return time if units.datetime_from_ns(time.ns).year in units.YEARS else None


def _host(instance: str) -> str:
    """The host of 'host:9100'."""
    return instance.rsplit(":", 1)[0]


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
        "answers of Prometheus' query API": "export a CSV with a time and a device in each row",
    },
    never={"latency percentiles": "the kernel's disk statistics keep sums only"},
)  # fmt: skip
