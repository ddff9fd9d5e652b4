"""Tables with a row for each time, thing and metric: a column names the metric, another has its value.

VMware PowerCLI (`Get-Stat | Export-Csv`), InfluxDB's annotated CSV, Azure Monitor and many a query write them. A
metric of VMware means what VMware documents (`_vmware_counters.py`), any other what its name and unit say
(`_headings.py`); one that is not understood stays a counter of its own name, and the capture lists it: no unit and no
direction is guessed.

A time is the end of its interval unless its heading says start, or a time grain stands beside it (Azure Monitor stamps
starts). VMware stamps the end (vSphere API Reference, PerfSampleInfo: when the sample was taken), and its interval is
in IntervalSecs. What a host sums over its devices is not an observation beside those of the devices: it would count
them twice.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from storscope.domain.recorder import Recorder
from storscope.domain.schema import CANONICAL
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._decimal_comma import Commas, is_doubtful_point, plain
from storscope.sources.importers._headings import lacks_unit, meaning_of, words_of
from storscope.sources.importers._left_out import LeftOut
from storscope.sources.importers._long_heading import LongHeading, long_heading_of
from storscope.sources.importers._table_cells import ABSENT
from storscope.sources.importers._table_doubts import UNSURE_POINT, tell_of_small_letters
from storscope.sources.importers._table_heading import cells_of, lacks_unit_of_length, separator_of, zone_of
from storscope.sources.importers._table_rows import GatheredRows
from storscope.sources.importers._table_writer import TableWriter
from storscope.sources.importers._vmware_counters import VmwareCounter, counter_of, is_vmware, named_of
from storscope.sources.importers._whole_lines import CUT_OFF, ends_with_newline
from storscope.sources.importers._wide_heading import Named, kind_of, tell_of_kinds

_MOST_LINES_ABOVE: Final = 30
_LONGEST_HEADING: Final = 64 * 1024
_REMEDY: Final = (
    "Rename the metric to one that is known, with its unit, such as 'Read Latency (ms)', then import again."
)


@dataclass(frozen=True)
class _Value:
    """A row that is understood, before its number is read."""

    named: Named
    column: str
    factor: float


# Rows ------------------------------------------------------------------------------------------------------------


@dataclass
class _Rows:
    """The rows below each heading; InfluxDB writes several tables into one file."""

    separator: str
    rows: list[tuple[LongHeading, list[str]]] = field(default_factory=list)


def _find(lines: Sequence[str]) -> tuple[int, LongHeading] | None:
    for number, line in enumerate(lines[:_MOST_LINES_ABOVE]):
        if len(line) <= _LONGEST_HEADING and (heading := long_heading_of(cells_of(line))) is not None:
            return number, heading
    return None


def _recognise(head: Head) -> float:
    return 0.8 if _find(head.lines) is not None else 0.0


def _parse(evidence: Evidence, recorder: Recorder) -> _Rows:
    lines = list(evidence.lines())
    found = _find(lines)
    if found is None:
        raise broken(
            evidence, "a heading with a time, a column that names a metric, and one with its value",
            next((line for line in lines if line.strip()), "an empty file"),
            hint="For instance: time,volume,metric,unit,value",
        )  # fmt: skip
    number, heading = found
    recorder.omit("lines above the heading", sum(bool(line.strip()) for line in lines[:number]))
    table = _Rows(separator_of(lines[number]))
    try:
        cells = list(csv.reader((line for line in lines[number + 1 :] if line.strip()), delimiter=table.separator))
    except csv.Error as error:
        raise broken(evidence, "cells between separators", str(error)) from error
    if cells and not ends_with_newline(evidence) and len(cells[-1]) < len(heading.names):
        recorder.omit(CUT_OFF)
        cells = cells[:-1]
    for row in cells:
        if row[0].startswith("#"):
            recorder.omit("lines of annotations between rows")
        elif heading.value < len(row) and row[heading.value].strip() == heading.names[heading.value]:
            heading = long_heading_of(row) or heading
            recorder.omit("headings repeated between rows")
        elif len(row) != len(heading.names):
            recorder.omit("rows with more or fewer cells than the heading")
        else:
            table.rows.append((heading, row))
    if not table.rows:
        raise broken(evidence, "rows below the heading", "none")
    return table


# Reading ---------------------------------------------------------------------------------------------------------


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    table = _parse(evidence, recorder)
    reader = _Reader(table, recorder)
    gathered = reader.gathered()
    reader.left_out.tell(recorder, "")
    reader.kept_as_counters.tell(recorder)
    if reader.has_kilobytes:
        recorder.warn("VMware does not say what its KBps are: they were taken as 1024 bytes per second.")
    if reader.has_vmware_latency:
        recorder.warn("VMware's latencies are whole milliseconds: below one they say little.")
    tell_of_small_letters(list(reader.with_small_letters), recorder)
    tell_of_kinds(recorder, reader.by_name_alone)
    if len(gathered):
        TableWriter(gathered.table(evidence.name), recorder, options).write()


@dataclass
class _Kept:
    """Metrics that are counters of their own name, and why."""

    lacking: dict[str, None] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)

    def tell(self, recorder: Recorder) -> None:
        """Names them."""
        for names, why in (
            (self.lacking, "lack their unit"), (self.unknown, "are not known, or lack a unit"),
        ):  # fmt: skip
            if names:
                shown = ", ".join(list(names)[:8]) + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")
                recorder.warn(f"Kept as counters that no rule reads, since they {why}: {shown}. {_REMEDY}")


class _Reader:
    """Turns rows into values of things."""

    def __init__(self, table: _Rows, recorder: Recorder) -> None:
        self._table = table
        self._recorder = recorder
        self.left_out = LeftOut()
        self.kept_as_counters = _Kept()
        self.has_kilobytes = False
        self.has_vmware_latency = False
        self.by_name_alone: set[str] = set()
        """Names whose kind no column says."""
        commas = Commas()
        for heading, row in table.rows:
            commas.learn(row[heading.value])
        self._has_decimal_comma = commas.are_decimal(table.separator)
        if doubt := commas.doubt(table.separator):
            recorder.warn(doubt)
        self._unsure = {
            heading.cell(row, heading.metric)
            for heading, row in table.rows
            if commas.points_in_doubt(table.separator) and is_doubtful_point(row[heading.value])
        }
        self.with_small_letters: dict[str, None] = {}
        """Metrics with their units."""

    def gathered(self) -> GatheredRows:
        """Every value that is understood."""
        heading = self._table.rows[0][0]
        found = GatheredRows(
            heading.is_start,
            zone_of(heading.names[heading.times[0]]),
            lacks_unit_of_length(heading.names, heading.length),
        )
        values = list(self._values())
        with_parts = {value.named[0] for _, _, value, _ in values if len(value.named) > 1}
        owners: dict[tuple[Named, str], str] = {}
        for heading, row, value, number in values:
            metric = heading.cell(row, heading.metric)
            is_sum = value.named[0][0] == "host" and len(value.named) == 1 and value.named[0] in with_parts
            column = value.column
            if is_sum and column in CANONICAL and column != "cpu_busy_ratio":
                column = f"{metric}, all devices"
            if owners.setdefault((value.named, column), metric) != metric:
                self.left_out.add(metric, f"another metric of the same thing is its {column} already")
                continue
            time = " ".join(heading.cell(row, index) for index in heading.times)
            length_s = _seconds(heading, row)
            found.add(value.named, time, column, number * value.factor, repr(length_s) if length_s else "")
        return found

    def _values(self) -> Iterator[tuple[LongHeading, list[str], _Value, float]]:
        for heading, row in self._table.rows:
            metric = heading.cell(row, heading.metric)
            value = self._value_of(heading, row)
            cell = heading.cell(row, heading.value)
            if cell.lower() in ABSENT:
                continue
            if isinstance(value, str):
                self.left_out.add(metric, value)
                continue
            number = self._number(cell)
            if metric in self._unsure:
                self.left_out.add(metric, UNSURE_POINT)
            elif math.isnan(number):
                self._recorder.omit("cells that are no number")
            else:
                yield heading, row, value, number

    def _number(self, cell: str) -> float:
        try:
            number = float(plain(cell, decimal_comma=self._has_decimal_comma))
        except ValueError:
            return math.nan
        return number if math.isfinite(number) else math.nan

    def _value_of(self, heading: LongHeading, row: Sequence[str]) -> _Value | str:
        """What a row says; else why it is left out."""
        metric, unit = heading.cell(row, heading.metric), heading.cell(row, heading.unit)
        if is_vmware(metric):
            return self._of_vmware(heading, row, _vmware(metric, unit))
        named = _named(heading, row)
        if not named:
            return "its row names no thing"
        if not heading.things:
            self.by_name_alone.add(heading.cell(row, heading.entity))
        meaning = _meaning(metric, unit)
        if meaning is not None:
            self.with_small_letters[f"{metric} ({unit})" if unit else metric] = None
            return _Value(named, *meaning)
        (self.kept_as_counters.lacking if lacks_unit(metric) else self.kept_as_counters.unknown)[metric] = None
        return _Value(named, f"{metric} ({unit})" if unit else metric, 1.0)

    def _of_vmware(self, heading: LongHeading, row: Sequence[str], counter: VmwareCounter | str) -> _Value | str:
        if isinstance(counter, str):
            return counter
        kinds = dict(heading.things)
        entity = heading.cell(row, heading.entity)
        entity_id = heading.cell(row, heading.entity_id)
        for kind, prefix in (("vm", "VirtualMachine-"), ("host", "HostSystem-")):
            if not entity and kind in kinds:
                entity, entity_id = heading.cell(row, kinds[kind]), entity_id or prefix
        named = named_of(counter, entity, entity_id, heading.cell(row, heading.instance))
        if isinstance(named, str):
            return named
        if not entity:
            return "its row names no host or VM"
        factor = counter.factor
        if counter.is_amount:
            length_s = _seconds(heading, row)
            factor = 1 / length_s if length_s else math.nan
        if counter.column is None or math.isnan(factor):
            return _Value(named, counter.name, 1.0)
        self.has_kilobytes |= counter.column.endswith("bytes_per_s")
        self.has_vmware_latency |= "latency" in counter.column
        return _Value(named, counter.column, factor)


@cache
def _vmware(metric: str, unit: str) -> VmwareCounter | str:
    return counter_of(metric, unit)


@cache
def _meaning(metric: str, unit: str) -> tuple[str, float] | None:
    """The column of a metric and its factor. A unit beside a name that has one must say the same."""
    alone = meaning_of(metric)
    if alone is not None and alone.is_share:
        alone = None
    if not unit:
        return None if alone is None else (alone.column, alone.factor)
    said = meaning_of(f"{metric} ({_UNIT_NAMES.get(unit.lower(), unit)})")
    if said is not None and not said.is_share and (alone is None or alone == said):
        return said.column, said.factor
    if alone is not None and unit.lower() in _COUNTS and "bytes" not in alone.column and "latency" not in alone.column:
        return alone.column, alone.factor
    if alone is not None and set(words_of(_UNIT_NAMES.get(unit.lower(), unit))) <= set(words_of(metric)):
        return alone.column, alone.factor
    return None


_UNIT_NAMES: Final = {
    "countpersecond": "io/s", "bytespersecond": "bytes/s", "milliseconds": "ms", "seconds": "s", "percent": "%",
    "bytes/second": "bytes/s", "count/second": "io/s",
}  # fmt: skip
"""Units as Azure Monitor and CloudWatch spell them -> as headings do."""
_COUNTS: Final = frozenset(
    {"count", "number", "none", "short", "", "io/s", "ops/s", "iops", "1/s", "/s", "countpersecond"}
)


def _named(heading: LongHeading, row: Sequence[str]) -> Named:
    found = {kind: name for kind, index in heading.things if (name := heading.cell(row, index))}
    for index in (heading.entity, heading.instance):
        if name := heading.cell(row, index):
            kind = "host" if index == heading.instance and _has_port(name) else kind_of(name)
            found.setdefault(kind, name.rpartition(":")[0] if kind == "host" and _has_port(name) else name)
            if index == heading.entity:
                break
    return tuple(found.items())


def _has_port(name: str) -> bool:
    """As Prometheus' instances have one: db1:9100."""
    return name.rpartition(":")[2].isdigit()


def _seconds(heading: LongHeading, row: Sequence[str]) -> float | None:
    """The length of a row's interval, if a column says it."""
    if heading.length is None:
        return None
    try:
        length_s = float(heading.cell(row, heading.length[0])) * heading.length[1]
    except ValueError:
        return None
    return length_s if math.isfinite(length_s) and length_s > 0 else None


IMPORTER = Importer(
    name="long_table",
    title="table with a row for each time, thing and metric: VMware PowerCLI's Get-Stat, InfluxDB, Azure Monitor",
    supports="a column that names the metric, one with its value, perhaps one with its unit; VMware's counters of the "
    "groups disk, virtualDisk, datastore, storageAdapter and cpu.usage by VMware's documentation",
    how_to_capture="Get-Stat -Entity (Get-VMHost) -Stat disk.numberReadAveraged.average,... | Export-Csv stats.csv",
    recognise=_recognise,
    read=_read,
    carries=(
        "ops_per_s", "bytes_per_s", "latency_ns_mean", "each by direction where given", "queue_depth_mean",
        "cpu_busy_ratio", "other metrics as counters",
    ),
    not_yet={
        "VMware's storagePath": "paths of adapters; storageAdapter and disk are read",
        "metrics without a unit in name or column": "a number alone does not tell ms from us",
    },
)  # fmt: skip
