"""What sysstat recorded, as `sadf -j` prints it: a JSON document with the samples of each host.

Field names as in sysstat 12.6 `json_stats.c`: rates per second under names without the second (`rkB`, `rd_sec`), times
in ms, `util-percent` (before 11.6 `util`). A document without `rkB` has sectors of 512 bytes only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from storscope.domain import units
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._sar import ALL_PROCESSORS, SarWriter
from storscope.sources.importers._table_times import TableTimes

_FIELDS: Final = {
    "tps": "tps", "rkB": "rkB/s", "wkB": "wkB/s", "dkB": "dkB/s", "areq-sz": "areq-sz", "aqu-sz": "aqu-sz",
    "rd_sec": "rd_sec/s", "wr_sec": "wr_sec/s", "avgrq-sz": "avgrq-sz", "avgqu-sz": "avgqu-sz",
    "await": "await", "svctm": "svctm", "util": "%util", "util-percent": "%util",
}  # fmt: skip
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


def _host(
    host: Mapping[str, Any], recorder: Recorder, options: ImportOptions, times: TableTimes, writer: SarWriter
) -> None:
    system = options.system or str(host["nodename"])
    recorder.notes.system = recorder.notes.system or system
    clock = times.clock()
    for sample in host["statistics"]:
        stamp = sample["timestamp"]
        is_utc = stamp.get("utc", 0) == 1
        end_ns = times.instant(f"{stamp['date']} {stamp['time']}{' UTC' if is_utc else ''}", clock)
        duration_ns = round(float(stamp["interval"]) * units.NS_PER_S)
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


IMPORTER = Importer(
    name="sadf_json",
    title="Linux sar, exported with sadf -j",
    supports="sysstat 10 to 12.7; seen 12.6.1",
    how_to_capture="sadf -j /var/log/sysstat/sa20 -- -d -u > sar.json   (RHEL: /var/log/sa/sa20)",
    recognise=_recognise,
    read=_read,
    carries=(
        "ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "latency_ns_mean", "queue_depth_mean", "busy_ratio",
        "cpu_busy_ratio", "discards as counters",
    ),
    never={"latency by direction": "sar keeps one sum for reads and writes"},
)  # fmt: skip
