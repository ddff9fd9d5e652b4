"""Linux `iostat -x -o JSON` (sysstat 11.6 and later).

Field names as in sysstat 12.6 `iostat.c` (write_json_ext_stat): rates per second, sizes in kB = 1,024 bytes or MB with
-m, times in ms, util in per cent. Beware: the first report covers the time since boot unless -y was given, so it is
left out unless --keep-first says otherwise. What may be unfinished or appended, `_iostat_documents.py` tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._iostat import Report, ReportWriter
from storscope.sources.importers._iostat_documents import Documents, find_documents
from storscope.sources.importers._stamps import Stamps


def _recognise(head: Head) -> float:
    start = head.text.lstrip()[:200]
    return 0.95 if start.startswith("{") and '"sysstat"' in start and '"disk_device"' in head.text else 0.0


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    recorder.notes.tool = "iostat"
    found = find_documents(evidence)
    _note(recorder, found)
    try:
        hosts = [_host(host) for document in found.values for host in document["sysstat"]["hosts"]]
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise broken(evidence, "sysstat.hosts[].statistics[].disk[]", f"no {error}") from error
    stamps = Stamps(options)
    for host in hosts:
        stamps.pause()
        for text in [host.date, *(report.timestamp for report in host.reports)]:
            stamps.learn(text or "")
    writer = ReportWriter(recorder, options, stamps)
    for host in hosts:
        system = options.system or host.name
        recorder.notes.system = recorder.notes.system or system
        writer.begin(system, host.date)
        for report in host.reports:
            writer.add(report)
    writer.finish()


def _note(recorder: Recorder, found: Documents) -> None:
    if len(found.values) > 1:
        recorder.warn(f"{len(found.values)} JSON documents in one file; each was read as a capture of its own.")
    if found.repaired:
        recorder.warn("The JSON is unfinished (iostat was interrupted); its last report was dropped.")
    recorder.omit("unfinished last report", found.repaired)
    recorder.omit("unfinished documents without a whole report", found.dropped)
    recorder.omit("documents that repeat an earlier one to the letter", found.repeated)
    recorder.omit("lines beside the JSON", found.other_lines)


@dataclass(frozen=True)
class _Host:
    name: str
    date: str | None
    reports: list[Report]


def _host(host: dict[str, Any]) -> _Host:
    return _Host(
        str(host["nodename"]), _text(host.get("date")), [_report(statistics) for statistics in host["statistics"]]
    )


def _report(statistics: dict[str, Any]) -> Report:
    devices = {str(row["disk_device"]): _numbers(row, "disk_device") for row in statistics.get("disk", [])}
    for fields in devices.values():
        fields["%util"] = fields.pop("util", float("nan"))
    return Report(_text(statistics.get("timestamp")), devices, _numbers(statistics.get("avg-cpu", {})))


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _numbers(row: dict[str, Any], *but: str) -> dict[str, float]:
    return {key: float(value) for key, value in row.items() if key not in but}


IMPORTER = Importer(
    name="iostat_json",
    title="Linux iostat -x, JSON",
    supports="sysstat 11.6 to 12.7; seen 12.6.1",
    how_to_capture="S_TIME_FORMAT=ISO iostat -x -y -t -o JSON 10 > iostat.json",
    recognise=_recognise,
    read=_read,
    version=3,
    carries=(
        "read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "read_latency_ns_mean",
        "write_latency_ns_mean", "queue_depth_mean", "busy_ratio", "merges, discards and flushes as counters",
    ),
    never={"latency percentiles": "the kernel's disk statistics keep sums only"},
)  # fmt: skip
