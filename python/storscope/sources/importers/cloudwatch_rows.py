"""Amazon CloudWatch as CSV with a row for each value: a time, the metric, and its value.

So scripts render get-metric-data and get-metric-statistics, and queries export what they gathered; the columns are
those names of the API that they kept, recalled (API reference: GetMetricData, GetMetricStatistics, Datapoint); no
capture at hand. One heading: a time; a column `MetricName`, `Metric` or `Label`; and `Value`, or columns that are
called as statistics are (`Sum`, `Average`, `Minimum`, `Maximum`). There may be `Stat`, `Unit`, `Period`, and columns
that name the volume or the instance (`VolumeId`, `InstanceId`, `Dimensions`); else the label or the file's name tells
it.

What is converted, and how, `_cloudwatch.py` says. A row in a unit that CloudWatch does not have for its metric, or of a
statistic that is no mean, sum or extreme, is left out and named. Times are UTC unless a zone stands beside them, in
their heading, or is given with --timezone, and the start of a period.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from storscope.domain import units
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken, shortened
from storscope.sources.importers._cloud_samples import CloudSamples, Kept
from storscope.sources.importers._cloudwatch import CARRIES, NEVER, NOT_YET, CloudWatchWriter, entity_of
from storscope.sources.importers._cloudwatch_cells import number_of, period_s, rows_below
from storscope.sources.importers._cloudwatch_metrics import (
    METRICS,
    STATISTICS,
    is_of_instance,
    metric_in,
    metric_of_id,
    rest_of,
    statistic_in,
    thing_in,
)
from storscope.sources.importers._decimal_comma import Commas
from storscope.sources.importers._left_out import LeftOut
from storscope.sources.importers._local_clock import LocalClock
from storscope.sources.importers._table_cells import ABSENT
from storscope.sources.importers._table_heading import cells_of, separator_of, time_columns, zone_of
from storscope.sources.importers._table_times import TableTimes

_MOST_LINES_ABOVE: Final = 30
_MOST_ROWS_LOOKED_AT: Final = 200
"""Of other metrics may come first."""
_LONGEST_LINE: Final = 64 * 1024
_METRICS: Final = ("metricname", "metric", "label", "metriclabel", "id")
"""Columns that name the metric, the surest first; without blanks and signs."""
_VALUES: Final = frozenset({"value", "values", "metricvalue"})
_STATS: Final = frozenset({"stat", "statistic", "statistics"})
_UNITS: Final = frozenset({"unit", "units"})
_PERIODS: Final = frozenset({"period", "periods", "periodseconds"})
_VOLUMES: Final = frozenset({"volume", "volumeid", "volumename"})
_INSTANCES: Final = frozenset({"instance", "instanceid", "instancename"})
_OTHER_NAMES: Final = frozenset({
    "dimension", "dimensions", "dimensionvalue", "resource", "resourceid", "fulllabel", "namespace",
})  # fmt: skip
"""Columns in which an id may stand among other words."""
_NO_UNITS: Final = frozenset({"", "none", "-"})
_REMEDY: Final = "Keep the metric as CloudWatch spells it, such as 'VolumeReadOps', in a column 'MetricName'."


@dataclass(frozen=True)
class _Heading:
    """What the columns are, by index."""

    names: tuple[str, ...]
    separator: str
    times: tuple[int, ...]
    metrics: tuple[int, ...]
    values: dict[int, str]
    """Column -> the statistic that its heading says; empty where it says none."""
    stat: int | None
    unit: int | None
    period: int | None
    volumes: tuple[int, ...]
    instances: tuple[int, ...]
    others: tuple[int, ...]


def _heading_of(line: str) -> _Heading | None:
    """None for a line that is no heading of such rows."""
    names = tuple(cell.strip() for cell in cells_of(line))
    words = ["".join(letter for letter in name.lower() if letter.isalpha()) for name in names]
    times = time_columns(names)
    metrics = [words.index(word) for word in _METRICS if word in words]
    values = {index: statistic_in([name]) for index, name in enumerate(names) if statistic_in([name]) in STATISTICS}
    values = values or {index: "" for index, word in enumerate(words) if word in _VALUES}
    if not times or not metrics or not values:
        return None

    def of(wanted: frozenset[str]) -> tuple[int, ...]:
        return tuple(index for index, word in enumerate(words) if word in wanted)

    return _Heading(
        names, separator_of(line), times, tuple(metrics), values, next(iter(of(_STATS)), None),
        next(iter(of(_UNITS)), None), next(iter(of(_PERIODS)), None), of(_VOLUMES), of(_INSTANCES), of(_OTHER_NAMES),
    )  # fmt: skip


def _find(lines: Sequence[str]) -> tuple[int, _Heading] | None:
    """The number of the line with the heading, where a row below it names a metric of EBS."""
    for number, line in enumerate(lines[:_MOST_LINES_ABOVE]):
        heading = _heading_of(line) if len(line) <= _LONGEST_LINE else None
        if heading is not None:
            below = (cells_of(row) for row in lines[number + 1 : number + 1 + _MOST_ROWS_LOOKED_AT])
            return (number, heading) if any(_metric(heading, row) for row in below) else None
    return None


def _metric(heading: _Heading, row: Sequence[str]) -> str | None:
    cells = [row[index].strip() for index in heading.metrics if index < len(row)]
    return metric_in(cells) or next((found for cell in cells if (found := metric_of_id(cell))), None)


def _recognise(head: Head) -> float:
    return 0.95 if _find(head.lines) is not None else 0.0


# Reading ---------------------------------------------------------------------------------------------------------


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    lines = list(evidence.lines())
    found = _find(lines)
    if found is None:
        raise broken(
            evidence, "a heading with a time, a metric and a value above rows of metrics of EBS in CloudWatch",
            next((line for line in lines if line.strip()), "an empty file"),
            hint="For instance: timestamp,VolumeId,MetricName,Stat,value",
        )  # fmt: skip
    number, heading = found
    recorder.omit("lines above the heading", sum(bool(line.strip()) for line in lines[:number]))
    rows = rows_below(evidence, recorder, lines[number + 1 :], heading.separator, len(heading.names))
    times = TableTimes(options, zone_of(heading.names[heading.times[0]]), evidence.name)
    times.learn(_stamp(heading, row) for row in rows)
    reader = _Reader(heading, evidence.name, times, CloudSamples(recorder))
    reader.gather(rows)
    reader.left_out.tell(recorder, _REMEDY)
    reader.samples.refuse_mixtures(
        evidence.name, "Name the volume of each row in a column 'VolumeId', its statistic in a column 'Stat'."
    )
    CloudWatchWriter(reader.samples, recorder, options).write()
    recorder.notes.clock = f"{times.words}; a time is the start of its interval"
    for doubt in (times.doubt, times.zone_doubt):
        if doubt is not None:
            recorder.warn(doubt)


def _stamp(heading: _Heading, row: Sequence[str]) -> str:
    return " ".join(row[index].strip() for index in heading.times)


@dataclass
class _Reader:
    """Reads rows into samples."""

    heading: _Heading
    file: str
    times: TableTimes
    samples: CloudSamples
    left_out: LeftOut = field(default_factory=LeftOut)
    _clocks: dict[tuple[str, str | None, str], LocalClock] = field(default_factory=dict)

    def gather(self, rows: Sequence[list[str]]) -> None:
        """Everything that is understood."""
        has_comma = self._has_decimal_comma(rows)
        known = [(metric, row) for row in rows if (metric := self._metric(row)) is not None]
        names = [self._name(metric, row) for metric, row in known]
        rests: dict[str, set[str]] = defaultdict(set)
        for (metric, row), name in zip(known, names, strict=True):
            if name is None:
                rests[metric].add(self._rest(row))
        for (metric, row), name in zip(known, names, strict=True):
            own = name or (self._rest(row) or None if len(rests[metric]) > 1 else None)
            if own is None:
                self.samples.recorder.warn(
                    f"Nothing names the volume of {metric}: its rows were taken as of one. Put its id into a column "
                    "'VolumeId' or the file's name, such as vol-0abc.csv."
                )
            for statistic, cell in self._values(metric, row):
                self._add(metric, own, statistic, row, number_of(cell, decimal_comma=has_comma))

    def _metric(self, row: Sequence[str]) -> str | None:
        metric = _metric(self.heading, row)
        if metric is None:
            cells = (row[index].strip() for index in self.heading.metrics)
            said = next((cell for cell in cells if cell), "a row without a metric")
            self.left_out.add(said, "no metric of EBS that is known")
        return metric

    def _name(self, metric: str, row: Sequence[str]) -> str | None:
        """The id of the volume or instance, whatever names it; else what its column says."""
        heading, of_instance = self.heading, is_of_instance(metric)
        own = heading.instances if of_instance else heading.volumes
        said = [row[index].strip() for index in (*own, *heading.others, *heading.metrics)]
        plain = (row[index].strip() for index in own)
        found = thing_in(said, of_instance=of_instance) or next((cell for cell in plain if cell), None)
        return found or thing_in([self.file], of_instance=of_instance)

    def _rest(self, row: Sequence[str]) -> str:
        """What the label says beside the metric."""
        return " ".join(filter(None, (rest_of(row[index]) for index in self.heading.metrics)))

    def _values(self, metric: str, row: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Statistic and cell of each value of a row that is understood."""
        heading = self.heading
        unit = "" if heading.unit is None else row[heading.unit].strip()
        if unit.casefold() not in {METRICS[metric].unit.casefold(), *_NO_UNITS}:
            self.left_out.add(metric, f"CloudWatch has it in {METRICS[metric].unit}, and not in {shortened(unit, 20)}")
            return
        said = "" if heading.stat is None else row[heading.stat].strip()
        stated = statistic_in([said])
        if said and not stated:
            self.left_out.add(metric, f"its statistic {shortened(said, 20)} is not read")
            return
        label = statistic_in(row[index] for index in heading.metrics)
        for index, statistic in heading.values.items():
            if (cell := row[index].strip()).lower() not in ABSENT:
                yield statistic or stated or label, cell

    def _add(self, metric: str, name: str | None, statistic: str, row: Sequence[str], value: float) -> None:
        recorder = self.samples.recorder
        clock = self._clocks.setdefault((metric, name, statistic), self.times.clock())
        time_ns = self.times.instant(_stamp(self.heading, row), clock)
        if time_ns is None:
            recorder.omit("values whose time is none")
        elif math.isnan(value):
            recorder.omit("cells that are no number")
        else:
            entity, kept = entity_of(metric, name, self.times.options), Kept(metric, statistic)
            self.samples.add(entity, kept, time_ns, value)
            length_s = None if self.heading.period is None else period_s([row[self.heading.period].strip()])
            if length_s:
                self.samples.said_ns[entity, kept] = round(length_s * units.NS_PER_S)

    def _has_decimal_comma(self, rows: Sequence[Sequence[str]]) -> bool:
        commas, separator = Commas(), self.heading.separator
        for row in rows:
            for index in self.heading.values:
                commas.learn(row[index])
        if doubt := commas.doubt(separator):
            self.samples.recorder.warn(doubt)
        return commas.are_decimal(separator)


IMPORTER = Importer(
    name="cloudwatch_rows",
    title="Amazon CloudWatch of EBS volumes, CSV with a row for each value",
    supports="a time, a column MetricName, Metric or Label, and Value or columns called as statistics; perhaps Stat, "
    "Unit, Period, VolumeId, InstanceId, Dimensions; by the reference, recalled: no capture was seen",
    how_to_capture="aws cloudwatch get-metric-data --metric-data-queries file://queries.json --start-time ... "
    '--end-time ... | jq -r \'["Timestamp","Label","Value"], (.MetricDataResults[] | .Label as $l | [.Timestamps, '
    ".Values] | transpose[] | [.[0], $l, .[1]]) | @csv' > cloudwatch.csv; the JSON itself is read as well",
    recognise=_recognise,
    read=_read,
    carries=CARRIES,
    not_yet={**NOT_YET, "metrics of other namespaces (RDS, FSx, EFS)": "their metrics have other names"},
    never=NEVER,
)
