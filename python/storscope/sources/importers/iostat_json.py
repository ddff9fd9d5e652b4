"""Linux `iostat -x -o JSON` (sysstat 11.6 and later).

Field names as in sysstat 12.6 `iostat.c` (write_json_ext_stat): rates per second, sizes in kB = 1,024 bytes or MB with
-m, times in ms, util in per cent. Beware: the first report covers the time since boot unless -y was given, so it is
never taken as data; and an interrupted iostat leaves the JSON unfinished, which is repaired by dropping the last,
incomplete report.
"""

from __future__ import annotations

import json
from typing import Any

from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._iostat import Report, record_reports

_ENDINGS = ("]}]}}", "}]}]}}", "]}]}]}}", "}]}]}]}}")
"""What an interrupted report lacks, from a cut between reports to a cut inside the disk list."""


def _recognise(head: Head) -> float:
    start = head.text.lstrip()[:200]
    return 0.95 if start.startswith("{") and '"sysstat"' in start and '"disk_device"' in head.text else 0.0


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    document, repaired = _load(evidence)
    if repaired:
        recorder.warn("The JSON is unfinished (iostat was interrupted); its last report was dropped.")
        recorder.omit("unfinished last report")
    try:
        hosts = document["sysstat"]["hosts"]
        for host in hosts:
            reports = [_report(statistics) for statistics in host["statistics"]]
            recorder.notes.tool, recorder.notes.system = "iostat", options.system or host["nodename"]
            record_reports(recorder, options, recorder.notes.system, host.get("date"), reports)
    except (KeyError, TypeError, AttributeError) as error:
        raise broken(evidence, "sysstat.hosts[].statistics[].disk[]", f"no {error}") from error


def _load(evidence: Evidence) -> tuple[dict[str, Any], bool]:
    text = evidence.text()
    try:
        return json.loads(text), False
    except json.JSONDecodeError as error:
        first_error = error
    cut = text.rstrip()
    while (end := cut.rfind("}")) > 0:
        cut = cut[: end + 1]
        for ending in _ENDINGS:
            try:
                return json.loads(cut + ending), True
            except json.JSONDecodeError:
                continue
        cut = cut[:-1]
        if len(text) - len(cut) > 100_000:
            break
    raise broken(
        evidence, "JSON as iostat writes it", first_error.msg, line=first_error.lineno,
        hint="If the file was cut, import the complete one, or the text form of iostat.",
    )  # fmt: skip


def _report(statistics: dict[str, Any]) -> Report:
    devices = {row["disk_device"]: {key: float(value) for key, value in row.items() if key != "disk_device"}
               for row in statistics.get("disk", [])}  # fmt: skip
    for fields in devices.values():
        fields["%util"] = fields.pop("util", float("nan"))
    return Report(statistics.get("timestamp"), devices, statistics.get("avg-cpu", {}))


IMPORTER = Importer(
    name="iostat_json",
    title="Linux iostat -x, JSON",
    supports="sysstat 11.6 to 12.7; seen 12.6.1",
    how_to_capture="S_TIME_FORMAT=ISO iostat -x -y -t -o JSON 10 > iostat.json",
    recognise=_recognise,
    read=_read,
    carries=(
        "read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "read_latency_ns_mean",
        "write_latency_ns_mean", "queue_depth_mean", "busy_ratio", "merges, discards and flushes as counters",
    ),
    never={"latency percentiles": "the kernel's disk statistics keep sums only"},
)  # fmt: skip
