"""What sysstat recorded, as `sadf -j` prints it: a JSON document with the samples of each host.

Field names as in sysstat 12.6 `json_stats.c`: rates per second under names without the second (`rkB`, `rd_sec`), times
in ms, `util-percent` (before 11.6 `util`). A document without `rkB` has sectors of 512 bytes only.

Times are in UTC, where `"utc": 1` or, from 12.7 on, `"tz": "UTC"` says so; with -t or -T `tz` is another zone. Where
none stands beside them (`"utc": 0`) they are of the zone in the header, unless --timezone says another one. Beware: the
header has the zone's winter name all year (sadc takes `tzname[0]`; recalled, not captured), and so has -t.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from storscope.domain import units
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._sar import ALL_PROCESSORS, SarWriter
from storscope.sources.importers._table_times import TableTimes

_FIELDS: Final = {
    "tps": "tps", "rkB": "rkB/s", "wkB": "wkB/s", "dkB": "dkB/s", "areq-sz": "areq-sz", "aqu-sz": "aqu-sz",
    "rd_sec": "rd_sec/s", "wr_sec": "wr_sec/s", "avgrq-sz": "avgrq-sz", "avgqu-sz": "avgqu-sz",
    "await": "await", "svctm": "svctm", "util": "%util", "util-percent": "%util",
}  # fmt: skip
_WINTER_NAMES: Final = frozenset({"EST", "MST", "AKST", "AST", "NST", "WET", "CET", "MET", "EET"})
"""Zones of the northern half with a summer time, by their names in winter."""
_MONTHS_OF_SUMMER: Final = ("04", "05", "06", "07", "08", "09", "10")
_OTHER_UNIT: Final = {"rkB": ("rd_sec", "wr_sec"), "areq-sz": ("avgrq-sz",), "aqu-sz": ("avgqu-sz",)}
"""A name of later releases, and older ones of the same in another unit that it replaces where both are printed."""


def _recognise(head: Head) -> float:
    start = head.text.lstrip()[:200]
    is_sadf = '"interval"' in head.text and ('"disk-device"' in head.text or '"cpu-load"' in head.text)
    return 0.95 if start.startswith("{") and '"sysstat"' in start and is_sadf else 0.0


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    recorder.notes.tool = "sar"
    times, writer = TableTimes(options), SarWriter(recorder)
    try:
        for host in json.loads(evidence.text())["sysstat"]["hosts"]:
            _host(host, recorder, options, times, writer)
    except json.JSONDecodeError as error:
        raise broken(
            evidence, "a JSON document of sadf -j", error.msg, line=error.lineno,
            hint="It is cut off or joined with another: export again, one file a document.",
        ) from error  # fmt: skip
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise broken(evidence, "sysstat.hosts[].statistics[] of sadf -j", f"no {error}") from error
    writer.finish()
    recorder.notes.clock = times.words
    if doubt := times.zone_doubt:
        recorder.warn(doubt)


def _host(
    host: Mapping[str, Any], recorder: Recorder, options: ImportOptions, times: TableTimes, writer: SarWriter
) -> None:
    system = options.system or str(host["nodename"])
    recorder.notes.system = recorder.notes.system or system
    clocks: dict[str, LocalClock] = {}
    for sample in host["statistics"]:
        stamp = sample["timestamp"]
        said = _zone_said(stamp, host, options)
        clock = clocks.setdefault(said, times.clock(_zone_by_name(said)))
        end_ns = times.instant(f"{stamp['date']} {stamp['time']}{'' if '/' in said else f' {said}'}", clock)
        duration_ns = round(float(stamp["interval"]) * units.NS_PER_S)
        if said in _WINTER_NAMES and options.timezone is None and str(stamp["date"])[5:7] in _MONTHS_OF_SUMMER:
            recorder.warn(
                f"Times in summer were placed by {said}, as sysstat calls the zone all year; if summer time was "
                "in force they are an hour late. Say the zone with --timezone."
            )
        if end_ns is None or duration_ns <= 0:
            recorder.omit("samples without a time or a length")
            continue
        for disk in sample.get("disk", []):
            replaced = {old for name, names in _OTHER_UNIT.items() if name in disk for old in names}
            kept = {_FIELDS[key]: value for key, value in disk.items() if key in _FIELDS and key not in replaced}
            fields = {name: float(value) for name, value in kept.items()}
            writer.disk(system, str(disk["disk-device"]), end_ns, duration_ns, fields)
        for load in sample.get("cpu-load", []):
            if str(load["cpu"]) in ALL_PROCESSORS:
                shares = {key: float(value) for key, value in load.items() if key != "cpu"}
                writer.processors(system, end_ns, duration_ns, shares)


def _zone_said(stamp: Mapping[str, Any], host: Mapping[str, Any], options: ImportOptions) -> str:
    """The zone of a sample's time as the file says it; empty where it does not, or --timezone may know better."""
    if stamp.get("utc") == 1:
        return "UTC"
    in_header = host.get("timezone") if options.timezone is None else None
    return str(stamp.get("tz") or in_header or "").strip()


def _zone_by_name(said: str) -> ZoneInfo | None:
    """The zone of a name such as Europe/Berlin; None of an abbreviation, and of what is no zone."""
    try:
        return ZoneInfo(said) if "/" in said else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


IMPORTER = Importer(
    name="sadf_json",
    title="Linux sar, exported with sadf -j",
    supports="sysstat 10 to 12.7; seen 12.6.1",
    how_to_capture="sadf -j /var/log/sysstat/sa20 -- -d -u > sar.json   (RHEL: /var/log/sa/sa20)",
    recognise=_recognise,
    read=_read,
    version=2,
    carries=(
        "ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "latency_ns_mean", "queue_depth_mean", "busy_ratio",
        "cpu_busy_ratio", "discards as counters",
    ),
    never={"latency by direction": "sar keeps one sum for reads and writes"},
)  # fmt: skip
