"""Azure Monitor as JSON: what `az monitor metrics list` prints of managed disks and virtual machines.

From the reference, recalled; no capture at hand (REST API: Metrics - List). A document has `value`, a list of metrics;
each has its name, its unit, and `timeseries`, one for each combination of dimensions (`metadatavalues`, such as the
LUN), with `data`: timeStamp and, of those that were asked for, average, total, maximum, minimum, count. `interval` is
the length in ISO 8601 (PT1M). Keys that are not known are passed over; several documents may stand in one file.

Of which disk or machine the metrics are tells their `id`, else the file's name. Only an average is converted. Times
are UTC, and the start of an interval.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from storscope.domain import burst_credits, units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken, shortened
from storscope.sources.importers._azure_metrics import AzureMetric, contradicts, metric_called
from storscope.sources.importers._cloud_samples import (
    CloudSamples,
    Kept,
    Points,
    left_of_percent,
    write_columns,
    write_counters,
)
from storscope.sources.importers._cloud_times import instant_of, number_of
from storscope.sources.importers._json_documents import Document, documents_of
from storscope.sources.importers._left_out import LeftOut

DEFAULT_SYSTEM: Final = "azure"
_AVERAGE: Final = "average"
_STATISTICS: Final = (_AVERAGE, "total", "maximum", "minimum")
_RESOURCE: Final = re.compile(
    r"/providers/microsoft\.compute/(?P<kind>disks|virtualmachines)/(?P<name>[^/]+)", re.IGNORECASE
)
_INTERVAL: Final = re.compile(r"P(?:(\d{1,3})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,5})M)?(?:(\d{1,6})S)?)?")
_ANY_LUN: Final = "data disk"
_EXPECTED: Final = "JSON of az monitor metrics list"
_REMEDY: Final = "Metrics of disks and of the disks of machines are read (docs/import.md lists them)."


def _recognise(head: Head) -> float:
    text = head.text
    if text.lstrip()[:1] not in ("{", "[", "#"):
        return 0.0
    words = ('"timeseries"', '"timeStamp"', '"data"')
    return 0.96 if all(word in text for word in words) else 0.0


@dataclass
class _Reader:
    """Reads documents into samples."""

    samples: CloudSamples
    recorder: Recorder
    options: ImportOptions
    left_out: LeftOut = field(default_factory=LeftOut)
    kept: dict[Kept, AzureMetric] = field(default_factory=dict)
    units: dict[Kept, str] = field(default_factory=dict)
    without_average: set[str] = field(default_factory=set)
    """Metrics that have other statistics only."""
    has_no_lun: set[str] = field(default_factory=set)
    """Machines of whose data disks something is told without saying of which."""
    contradicted: dict[str, str] = field(default_factory=dict)
    """Metric -> the unit that it cannot have."""

    def read(self, document: Document) -> None:
        """Everything of one document."""
        if "value" not in document.value:
            self.recorder.omit("documents of another form")
            return
        length_ns = _length_ns(str(document.value.get("interval", "")))
        for metric in document.value["value"]:
            name = metric["name"]
            self._metric(str(name["value"] if isinstance(name, dict) else name), metric, document, length_ns)

    def _metric(self, name: str, metric: Mapping[str, Any], document: Document, length_ns: int | None) -> None:
        known, unit = metric_called(name), str(metric.get("unit") or "")
        if known is None:
            count = sum(len(series["data"]) for series in metric["timeseries"])
            self.left_out.add(name, "no metric of disks that is known", count)
            return
        if contradicts(known, unit):
            self.contradicted[name] = unit
            known = AzureMetric(known.of, None)
        resource = _RESOURCE.search(str(metric.get("id", ""))) or _RESOURCE.search(
            str(document.value.get("resourceid", ""))
        )
        for series in metric["timeseries"]:
            dimensions = dict(_dimensions(series))
            entity = self._entity(known, resource, dimensions, document.name)
            for statistic, points in self._points(series["data"]).items():
                kept = Kept(name, statistic)
                self.kept[kept], self.units[kept] = known, unit
                if length_ns:
                    self.samples.said_ns[entity, kept] = length_ns
                for time_ns, value in points:
                    self.samples.add(entity, kept, time_ns, value)
            if (
                (known.column or known.balance)
                and not any(_AVERAGE in point for point in series["data"])
                and series["data"]
            ):
                self.without_average.add(name)

    def _points(self, data: list[dict[str, Any]]) -> dict[str, list[tuple[int, float]]]:
        """Statistic -> time and value. An interval without any is one of which Azure knows nothing."""
        found: dict[str, list[tuple[int, float]]] = {}
        for point in data:
            time_ns = instant_of(point["timeStamp"])
            for statistic in _STATISTICS:
                if point.get(statistic) is None:
                    continue
                value = number_of(point[statistic])
                if time_ns is None:
                    self.recorder.omit("values whose time is none")
                elif math.isnan(value):
                    self.recorder.omit("values that are no number")
                else:
                    found.setdefault(statistic, []).append((time_ns, value))
        return found

    def _entity(
        self, metric: AzureMetric, resource: re.Match[str] | None, dimensions: Mapping[str, str], file: str
    ) -> EntityRef:
        if metric.of == "composite disk":
            name = resource["name"] if resource else self._unnamed("disk", file)
            return EntityRef(self.options.system or DEFAULT_SYSTEM, "vdisk", name)
        machine = resource["name"] if resource else self._unnamed("machine", file)
        system = self.options.system or machine
        if metric.of == "vm":
            return EntityRef(system, "vm", machine)
        lun = dimensions.get("lun")
        if metric.of == _ANY_LUN and lun is None:
            self.has_no_lun.add(machine)
        name = metric.of.replace("os", "OS") if lun is None else f"LUN {lun}"
        return EntityRef(system, "device", name)

    def _unnamed(self, what: str, file: str) -> str:
        name = re.sub(r"\.\w+$", "", file.rpartition("/")[2]) or what
        self.recorder.warn(
            f"Nothing in the answer names the {what}: it was called '{shortened(name)}', after the file."
        )
        return name


def _dimensions(series: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for one in series.get("metadatavalues") or ():
        name = one["name"]
        yield str(name["value"] if isinstance(name, dict) else name).casefold(), str(one["value"])


def _length_ns(text: str) -> int | None:
    match = _INTERVAL.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * units.NS_PER_S or None


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    documents = documents_of(
        evidence, recorder, _EXPECTED, "If the file was cut, ask again: it is one JSON document a call."
    )
    reader = _Reader(CloudSamples(recorder), recorder, options)
    try:
        for document in documents:
            reader.read(document)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise broken(evidence, "value[] with name.value and timeseries[].data[].timeStamp", f"no {error}") from error
    reader.left_out.tell(recorder, _REMEDY)
    reader.samples.refuse_mixtures(evidence.name, "Import the answers of each disk or machine in a file of its own.")
    _tell(reader)
    _write(reader)
    recorder.notes.tool, recorder.notes.clock = (
        "Azure Monitor", "UTC, as Azure Monitor has its times; a time is the start of its interval",
    )  # fmt: skip
    systems = [entity.system for entity in reader.samples.things]
    recorder.notes.system = options.system or next(iter(systems), None)


def _tell(reader: _Reader) -> None:
    if reader.without_average:
        shown = ", ".join(shortened(name) for name in sorted(reader.without_average)[:8])
        reader.recorder.warn(
            f"Kept as counters that no rule reads, since a rate, a latency or a balance is the average alone: {shown}. "
            "Ask for --aggregation Average."
        )
    if reader.has_no_lun:
        shown = ", ".join(shortened(name) for name in sorted(reader.has_no_lun)[:8])
        reader.recorder.warn(
            f"Metrics of data disks of {shown} name no LUN: of several disks they are the average. Ask for each: "
            "--filter \"LUN eq '*'\"."
        )
    for name, unit in reader.contradicted.items():
        reader.recorder.warn(
            f"Kept as a counter that no rule reads: '{shortened(name)}' in {shortened(unit)}, which is not its unit."
        )


def _write(reader: _Reader) -> None:
    periods = reader.samples.periods(reader.options.interval_s)
    for entity, metrics in reader.samples.things.items():
        if _is_of_all(entity, reader.samples.things):
            count = sum(len(points) for points in metrics.values())
            reader.recorder.omit("values of any data disk, which repeat those of each", count)
            continue
        by_period: dict[int, dict[Kept, Points]] = {}
        for kept, points in metrics.items():
            by_period.setdefault(periods.get((entity, kept), 0), {})[kept] = points
        alone = by_period.pop(0, {})
        reader.recorder.omit("metrics with one value only: its period is not known (say it: --interval)", len(alone))
        for period_ns, some in by_period.items():
            _write_one(reader, entity, some, period_ns)


def _is_of_all(entity: EntityRef, things: Mapping[EntityRef, object]) -> bool:
    """Whether it is of no certain data disk, and what each did is known."""
    each = (one for one in things if one.system == entity.system and one.name.startswith("LUN "))
    return entity.name == _ANY_LUN and any(each)


def _write_one(reader: _Reader, entity: EntityRef, metrics: Mapping[Kept, Points], period_ns: int) -> None:
    columns: dict[str, Points] = {}
    counters: dict[tuple[str, str], Points] = {}
    for kept, points in metrics.items():
        known = reader.kept[kept]
        if known.column and kept.statistic == _AVERAGE:
            some = {time_ns: value * known.factor for time_ns, value in points.items() if value >= 0}
            reader.recorder.omit("values below zero, which no rate has", len(points) - len(some))
            columns[known.column] = some
        elif known.balance and kept.statistic == _AVERAGE:
            counters[known.balance, burst_credits.UNIT] = left_of_percent(reader.recorder, points, is_used=True)
        else:
            name = kept.metric if kept.statistic == _AVERAGE else f"{kept.metric}, {kept.statistic}"
            counters[name, reader.units[kept]] = points
    rates = [columns[way] for way in ("read_ops_per_s", "write_ops_per_s") if way in columns]
    if "latency_ns_mean" in columns and len(rates) == 2:
        # Without an operation there is no latency, whatever the source prints.
        columns["latency_ns_mean"] = {
            time_ns: value
            for time_ns, value in columns["latency_ns_mean"].items()
            if any(rate.get(time_ns) != 0 for rate in rates)
        }
    write_columns(reader.recorder, entity, {name: points for name, points in columns.items() if points}, period_ns)
    write_counters(reader.recorder, entity, {name: points for name, points in counters.items() if points}, period_ns)


IMPORTER = Importer(
    name="azure_monitor",
    title="Azure Monitor of managed disks and virtual machines, JSON",
    supports="az monitor metrics list of Microsoft.Compute/disks and Microsoft.Compute/virtualMachines, by the "
    "reference, recalled: no capture was seen",
    how_to_capture="az monitor metrics list --resource ID --metrics 'Data Disk Read Operations/Sec' ... --aggregation "
    "Average --interval PT1M --filter \"LUN eq '*'\" > azure.json (docs/import.md has the metrics)",
    recognise=_recognise,
    read=_read,
    carries=(
        "read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "latency_ns_mean",
        "queue_depth_mean", "credits that are left and shares of what is allowed as counters",
    ),
    not_yet={"what a whole machine did ('Disk Read Operations/Sec')": "its disks are read; it would count them twice"},
    never={
        "latency by direction": "Azure keeps one mean for reads and writes",
        "latency of managed disks as such ('Composite Disk')": "only machines measure it",
    },
)  # fmt: skip
