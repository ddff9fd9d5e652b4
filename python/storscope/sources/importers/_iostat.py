"""What the text and the JSON form of iostat share: fields, times, and which report is data.

Field meanings: iostat(1) of sysstat 12.6 and 10.0. Of the two generations the older has `avgrq-sz` in sectors of 512
bytes, `avgqu-sz`, `await` and `svctm` (withdrawn by its author as meaningless); the newer has per-direction sizes.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.importer import ImportOptions

_CANONICAL = {
    "r/s": ("read_ops_per_s", 1.0),
    "w/s": ("write_ops_per_s", 1.0),
    "tps": ("ops_per_s", 1.0),
    "rkB/s": ("read_bytes_per_s", units.KIB),
    "wkB/s": ("write_bytes_per_s", units.KIB),
    "kB/s": ("bytes_per_s", units.KIB),
    "rMB/s": ("read_bytes_per_s", units.MIB),
    "wMB/s": ("write_bytes_per_s", units.MIB),
    "MB/s": ("bytes_per_s", units.MIB),
    "rsec/s": ("read_bytes_per_s", units.SECTOR_BYTES),
    "wsec/s": ("write_bytes_per_s", units.SECTOR_BYTES),
    "r_await": ("read_latency_ns_mean", units.NS_PER_MS),
    "w_await": ("write_latency_ns_mean", units.NS_PER_MS),
    "await": ("latency_ns_mean", units.NS_PER_MS),
    "aqu-sz": ("queue_depth_mean", 1.0),
    "avgqu-sz": ("queue_depth_mean", 1.0),
    "%util": ("busy_ratio", 0.01),
}
"""iostat field -> canonical column and factor."""

_DERIVED = {"rareq-sz", "wareq-sz", "areq-sz", "avgrq-sz", "dareq-sz", "%rrqm", "%wrqm", "%drqm", "svctm",
            "rrqm", "wrqm", "drqm"}  # fmt: skip
"""Follow from other fields, or are withdrawn (svctm); left out and counted."""

_COUNTER_UNITS = {"rrqm/s": "1/s", "wrqm/s": "1/s", "drqm/s": "1/s", "rqm/s": "1/s", "d/s": "1/s", "f/s": "1/s",
                  "dkB/s": "KiB/s", "dMB/s": "MiB/s", "d_await": "ms", "f_await": "ms"}  # fmt: skip

_IDLE_MEANS_NO_LATENCY = {"read_latency_ns_mean": "read_ops_per_s", "write_latency_ns_mean": "write_ops_per_s",
                          "latency_ns_mean": "ops_per_s"}  # fmt: skip

_TIME_FORMATS = ("%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%m/%d/%y %H:%M:%S",
                 "%m/%d/%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M:%S", "%d.%m.%y %H:%M:%S",
                 "%m/%d/%y %I:%M:%S %p")  # fmt: skip
_DAY_FIRST_FORMATS = ("%d/%m/%Y %H:%M:%S", "%d/%m/%y %H:%M:%S", "%d/%m/%Y %I:%M:%S %p")
_DATE_FORMATS = ("%Y-%m-%d", "%m/%d/%Y", "%m/%d/%y", "%d.%m.%Y", "%d.%m.%y")


@dataclass(frozen=True)
class Report:
    """One block of iostat output: fields per device, as printed."""

    number: int
    timestamp: str | None
    devices: Mapping[str, Mapping[str, float]]
    cpu: Mapping[str, float]


def record_reports(
    recorder: Recorder, options: ImportOptions, system: str, date: str | None, reports: Sequence[Report]
) -> None:
    """Writes the reports that are data. A report covers the interval that ends at its time stamp."""
    times, clock = _report_times(options, date, reports)
    recorder.notes.clock = clock
    first = _first_data_report(recorder, reports)
    durations = _durations(times, options)
    host = EntityRef(system, "host", system)
    for report, time_ns, duration_ns in list(zip(reports, times, durations, strict=True))[first:]:
        start_ns = time_ns - duration_ns
        for name, fields in report.devices.items():
            device = EntityRef(system, "device", name)
            recorder.link(device, "member_of", host)
            _record_device(recorder, device, start_ns, duration_ns, fields)
        if "idle" in report.cpu:
            recorder.observe(host, start_ns, duration_ns, {"cpu_busy_ratio": 1 - float(report.cpu["idle"]) / 100})


def _record_device(
    recorder: Recorder, device: EntityRef, start_ns: int, duration_ns: int, fields: Mapping[str, float]
) -> None:
    values: dict[str, float | None] = {}
    for field, value in fields.items():
        if field in _CANONICAL:
            column, factor = _CANONICAL[field]
            values[column] = value * factor
        elif field in _COUNTER_UNITS:
            recorder.counter(device, start_ns, duration_ns, field, _COUNTER_UNITS[field], value)
        elif field in _DERIVED:
            recorder.omit("fields that follow from others or are withdrawn (sizes, merge ratios, svctm)")
        else:
            recorder.counter(device, start_ns, duration_ns, field, "", value)
    for latency, rate in _IDLE_MEANS_NO_LATENCY.items():
        if latency in values and values.get(rate) == 0:
            # iostat prints 0.00 where there was no operation to be timed.
            del values[latency]
    recorder.observe(device, start_ns, duration_ns, values)


def _first_data_report(recorder: Recorder, reports: Sequence[Report]) -> int:
    """The since-boot report is the first one, unless the reader can tell that -y was given (it cannot)."""
    if len(reports) <= 1:
        if reports:
            recorder.omit("since-boot report")
            recorder.warn(
                "Only one report: it covers the time since boot and says nothing about an interval. "
                "Capture again with: iostat -x -y -t 10"
            )
        return len(reports)
    recorder.omit("since-boot report")
    return 1


def _report_times(options: ImportOptions, date: str | None, reports: Sequence[Report]) -> tuple[list[int], str]:
    stamped = [_parse_time(report.timestamp, options) for report in reports]
    if stamped and all(moment is not None for moment in stamped):
        moments = [moment for moment in stamped if moment is not None]
        zoned = moments[0].tzinfo is not None
        placed = [moment if moment.tzinfo else moment.replace(tzinfo=options.zone()) for moment in moments]
        return [
            units.ns_from_datetime(moment) for moment in placed
        ], "zone in the file" if zoned else options.zone_words()
    start = options.start or _parse_date(date, options) or dt.datetime(1970, 1, 1)
    if start.tzinfo is None:
        start = start.replace(tzinfo=options.zone())
    step_s = options.interval_s or 1.0
    said = "--start" if options.start else "the date in the header, midnight"
    steps = f"--interval {options.interval_s:g} s" if options.interval_s else "1 s steps, a guess"
    first = units.ns_from_datetime(start)
    times = [first + round(report.number * step_s * units.NS_PER_S) for report in reports]
    return times, f"no times in the source; rebuilt from row order, {said}, {steps}"


def _durations(times: Sequence[int], options: ImportOptions) -> list[int]:
    if options.interval_s:
        return [round(options.interval_s * units.NS_PER_S)] * len(times)
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    return [gaps[0] if gaps else 0, *gaps]


def _parse_time(text: str | None, options: ImportOptions) -> dt.datetime | None:
    if text is None:
        return None
    formats = (*_DAY_FIRST_FORMATS, *_TIME_FORMATS) if options.day_first else (*_TIME_FORMATS, *_DAY_FIRST_FORMATS)
    return _first_match(text, formats)


def _parse_date(text: str | None, options: ImportOptions) -> dt.datetime | None:
    if text is None:
        return None
    formats = ("%d/%m/%Y", "%d/%m/%y", *_DATE_FORMATS) if options.day_first else _DATE_FORMATS
    return _first_match(text, formats)


def _first_match(text: str, formats: Sequence[str]) -> dt.datetime | None:
    for form in formats:
        try:
            return dt.datetime.strptime(text.strip(), form)
        except ValueError:
            continue
    return None
