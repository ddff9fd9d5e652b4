"""What node_exporter says of a Linux host's disks, sample by sample, as snapshots of the kernel's counters.

The exporter reads /proc/diskstats and prints milliseconds as seconds and sectors of 512 bytes as bytes (procfs,
blockdevice/stats.go; node_exporter, collector/diskstats_linux.go), so the kernel's numbers are got back exactly and
everything that diskstats.py says of wraps, resets and gaps holds here. Names since 0.16 were seen in a page of 1.5.0;
those of 0.15 and before (`_ms`, `sectors_read`) are unverified.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from storscope.domain import units
from storscope.domain.diskstats import Counters
from storscope.domain.recorder import Recorder
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._disk_snapshots import DiskSnapshots
from storscope.sources.importers._linux_block import DEFAULT_LINUX_SYSTEM
from storscope.sources.importers._snapshot_clock import SnapshotClock
from storscope.sources.importers._time_lines import LineTime

DISK: Final = "node_disk_"
"""What the names of all metrics of disks begin with."""
_MS_PER_S: Final = 1000.0
_PER_SECTOR: Final = 1 / units.SECTOR_BYTES
FIELDS: Final[dict[str, tuple[str, float]]] = {
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
_CLOCKS_APART_NS: Final = 60 * units.NS_PER_S


@dataclass(frozen=True)
class Sample:
    """One line of a page."""

    metric: str
    labels: dict[str, str]
    value: float
    time_ms: int | None

    @property
    def instance(self) -> str:
        """The exporter that a Prometheus server scraped; '' on a page of the exporter itself."""
        return self.labels.get("instance", "")


@dataclass
class _Page:
    """What one exporter said in one scrape."""

    disks: dict[str, dict[str, int]] = field(default_factory=dict)
    time: LineTime | None = None
    host: str | None = None


@dataclass
class Pages:
    """Gathers the samples of a scrape and hands it on when it is whole."""

    recorder: Recorder
    options: ImportOptions
    clock: SnapshotClock
    """Of all hosts."""
    line_time: LineTime | None = None
    """What the line before the page tells."""
    _pages: dict[str, _Page] = field(default_factory=dict)
    _hosts: dict[str, DiskSnapshots] = field(default_factory=dict)
    _known_fields: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    @property
    def scrapes(self) -> list[int]:
        """How many of each host were whole."""
        return [host.count for host in self._hosts.values()]

    def finish(self) -> None:
        """After the last sample."""
        self.complete()
        for host in self._hosts.values():
            host.finish()

    def take(self, sample: Sample) -> None:
        """One sample, whatever its metric."""
        if sample.metric in _TIME_METRICS:
            self._exporter_time(sample)
        elif sample.metric == "node_uname_info":
            self._page(sample).host = sample.labels.get("nodename") or None
        elif sample.metric.startswith(DISK):
            self._disk(sample)

    def _page(self, sample: Sample) -> _Page:
        return self._pages.setdefault(sample.instance, _Page())

    def _exporter_time(self, sample: Sample) -> None:
        if sample.time_ms is not None:
            return
        time = _placed(sample.value * 1e9)
        self.recorder.omit("times of no capture", int(time is None))
        self._page(sample).time = time

    def _disk(self, sample: Sample) -> None:
        name, known = sample.labels.get("device"), FIELDS.get(sample.metric.removeprefix(DISK))
        if not name or known is None:
            return
        field_name, scale = known
        if field_name in self._page(sample).disks.get(name, {}):
            self.complete()
        if not 0 <= sample.value * scale < _COUNTERS_END or not math.isfinite(sample.value):
            self.recorder.omit("values that no counter can have (negative, too great, or no number)")
            return
        page = self._page(sample)
        page.disks.setdefault(name, {})[field_name] = round(sample.value * scale)
        if sample.time_ms is not None and page.time is None:
            page.time = _placed(sample.time_ms * 1e6)

    def complete(self) -> None:
        """The scrape is whole, of every exporter in it."""
        pages, line_time = self._pages, self.line_time
        self._pages, self.line_time = {}, None
        for instance, page in pages.items():
            disks = self._whole_disks(instance, page)
            if not disks:
                continue
            host = self._hosts.setdefault(instance, DiskSnapshots(self.recorder, self.clock))
            time = page.time or line_time or self.clock.rebuilt(host.latest)
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
