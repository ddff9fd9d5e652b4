"""Tables with a column for each thing and counter, and a row for each time.

Grafana writes them (Inspect > Data > Download CSV, series joined by time), and so do PRTG, Zabbix and spreadsheets. The
heading names the thing and what is counted (`_wide_heading.py`); the unit stands there, or in each cell
(`_unit_cells.py`). A heading that is not understood is left out by its name: neither a unit nor a direction is guessed.
Without a thing in any heading all columns are of one thing, named by --system.

A time is the end of its interval, as in `counter_table.py`: rates that Prometheus evaluates look back. Queries that
group by time (InfluxDB, SQL) may show starts: they are then early by one interval.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._decimal_comma import Commas, is_doubtful_point, plain
from storscope.sources.importers._headings import words_of
from storscope.sources.importers._left_out import LeftOut
from storscope.sources.importers._table_cells import ABSENT
from storscope.sources.importers._table_doubts import UNSURE_POINT, tell_of_small_letters
from storscope.sources.importers._table_heading import (
    KINDS,
    cells_of,
    heading_of,
    is_of_tests,
    separator_of,
    time_columns,
    zone_of,
)
from storscope.sources.importers._table_rows import GatheredRows
from storscope.sources.importers._table_writer import TableWriter
from storscope.sources.importers._unit_cells import SCALE, is_short_for_bits, measured_by, split_cell, unit_of
from storscope.sources.importers._whole_lines import CUT_OFF, ends_with_newline
from storscope.sources.importers._wide_heading import Split, doubtful, split_heading, tell_of_kinds

_MOST_LINES_ABOVE: Final = 30
_LONGEST_HEADING: Final = 1 << 20
_ROWS_LOOKED_AT: Final = 200
_REMEDY: Final = "Rename the heading to 'NAME - COUNTER (UNIT)', such as 'vol1 - Read Latency (ms)', then import again."


@dataclass(frozen=True)
class _Wide:
    """The heading of such a table."""

    line: int
    separator: str
    names: tuple[str, ...]
    times: tuple[int, ...]
    columns: Mapping[int, Split]
    left_out: Mapping[int, str]
    has_units: bool
    """Units stand in cells."""


# The heading -----------------------------------------------------------------------------------------------------


def _find(lines: Sequence[str]) -> _Wide | None:
    """The first line of which a column is understood; else the first one that is surely of this shape."""
    doubted: _Wide | None = None
    for number, line in enumerate(lines[:_MOST_LINES_ABOVE]):
        names = tuple(cell.strip() for cell in cells_of(line)) if len(line) <= _LONGEST_HEADING else ()
        times = time_columns(names)
        if len(names) < 2 or not times or any(" ".join(words_of(name)) in KINDS for name in names):
            continue
        separator = separator_of(line)
        measures = _measures(lines[number + 1 : number + 1 + _ROWS_LOOKED_AT], separator)
        found = _understood(number, separator, names, times, measures)
        if found.columns:
            return found
        if found.has_units or any("{" in name for name in names):
            doubted = doubted or found
    return doubted


def _measures(lines: Iterable[str], separator: str) -> dict[int, str]:
    """What the units in the cells of each column measure, where they agree."""
    found: dict[int, set[str]] = {}
    try:
        for row in csv.reader((line for line in lines if line.strip()), delimiter=separator):
            for index, cell in enumerate(row):
                unit = unit_of(split_cell(cell)[1])
                if unit is not None and unit.measures != SCALE:
                    found.setdefault(index, set()).add(unit.measures)
    except csv.Error:
        return {}
    return {index: next(iter(kinds)) for index, kinds in found.items() if len(kinds) == 1}


def _understood(
    number: int, separator: str, names: tuple[str, ...], times: tuple[int, ...], measures: Mapping[int, str]
) -> _Wide:
    columns: dict[int, Split] = {}
    left_out: dict[int, str] = {}
    for index, name in enumerate(names):
        if index not in times:
            split = split_heading(name, measures.get(index))
            if isinstance(split, Split):
                columns[index] = split
            else:
                left_out[index] = split
    _leave_out(columns, left_out)
    return _Wide(number, separator, names, times, columns, left_out, bool(measures))


def _leave_out(columns: dict[int, Split], left_out: dict[int, str]) -> None:
    """What is not sure beside the other columns."""
    doubted = doubtful(columns.values())
    has_things = any(split.named for split in columns.values())
    same = Counter((split.named, split.meaning.column) for split in columns.values())
    for index, split in list(columns.items()):
        reason = None
        if split.by_blanks and split.name in doubted:
            reason = "another thing's name begins or ends it: a word may be the name's or the counter's"
        elif has_things and not split.named:
            reason = "it names no thing, as others do: perhaps a total"
        elif same[split.named, split.meaning.column] > 1:
            reason = "several columns mean the same counter of the same thing"
        if reason is not None:
            left_out[index] = reason
            del columns[index]


def _recognise(head: Head) -> float:
    found = _find(head.lines)
    if found is None or is_of_tests(found.names):
        return 0.0
    if not found.columns:
        return 0.5
    if any(split.named for split in found.columns.values()):
        other = heading_of(found.names)
        return 0.7 if other is None or len(found.columns) > len(other.measured) else 0.55
    return 0.7 if found.has_units else 0.0


# Reading ---------------------------------------------------------------------------------------------------------


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    lines = list(evidence.lines())
    wide = _find(lines)
    if wide is None:
        raise broken(
            evidence, "a heading with a time and, in each column, a thing and a counter with its unit",
            next((line for line in lines if line.strip()), "an empty file"),
            hint="For instance: time,vol1 - Read IOPS,vol1 - Read Latency (ms),vol2 - Read IOPS",
        )  # fmt: skip
    if not wide.columns:
        index, reason = next(iter(wide.left_out.items()))
        raise broken(
            evidence, "in a column a thing and a counter with its unit", f"'{wide.names[index]}': {reason}",
            line=wide.line + 1, hint=_REMEDY,
        )  # fmt: skip
    recorder.omit("lines above the heading", sum(bool(line.strip()) for line in lines[: wide.line]))
    rows = _rows(evidence, recorder, wide, lines[wide.line + 1 :])
    if not rows:
        raise broken(evidence, "rows below the heading", "none")
    reader = _Cells(wide, rows, recorder)
    gathered = reader.gathered()
    for index, reason in wide.left_out.items():
        values = sum(row[index].strip().lower() not in ABSENT for row in rows)
        if values:
            reader.left_out.add(wide.names[index], reason, values)
    reader.left_out.tell(recorder, _REMEDY)
    if not any(split.named for split in wide.columns.values()):
        recorder.warn("No heading names a thing: all columns were taken as of one; --system NAME names it.")
    tell_of_small_letters([split.counter for split in wide.columns.values()], recorder)
    tell_of_kinds(recorder, (split.name for split in wide.columns.values() if len(split.named) == 1))
    if len(gathered):
        TableWriter(gathered.table(evidence.name), recorder, options).write()


def _rows(evidence: Evidence, recorder: Recorder, wide: _Wide, lines: Sequence[str]) -> list[list[str]]:
    try:
        rows = list(csv.reader((line for line in lines if line.strip()), delimiter=wide.separator))
    except csv.Error as error:
        raise broken(evidence, "cells between separators", str(error)) from error
    width = len(wide.names)
    if rows and len(rows[-1]) <= width and not ends_with_newline(evidence) and _is_cut(rows[-1], width):
        recorder.omit(CUT_OFF)
        rows = rows[:-1]
    kept = [row for row in rows if len(row) >= width and not any(cell.strip() for cell in row[width:])]
    recorder.omit("rows with more or fewer cells than the heading", len(rows) - len(kept))
    headings = [row for row in kept if tuple(cell.strip() for cell in row) == wide.names]
    recorder.omit("headings repeated between rows", len(headings))
    return [row for row in kept if tuple(cell.strip() for cell in row) != wide.names]


def _is_cut(row: Sequence[str], width: int) -> bool:
    """A last line without a line end may be whole; with fewer cells it is not."""
    return len(row) < width


class _Cells:
    """Reads the cells of the columns that are understood."""

    def __init__(self, wide: _Wide, rows: Sequence[Sequence[str]], recorder: Recorder) -> None:
        self._wide = wide
        self._rows = rows
        self._recorder = recorder
        self.left_out = LeftOut()
        commas = Commas()
        for row in rows:
            for index in wide.columns:
                commas.learn(split_cell(row[index])[0])
        self._has_decimal_comma = commas.are_decimal(wide.separator)
        if doubt := commas.doubt(wide.separator):
            recorder.warn(doubt)
        self._unsure = {
            index
            for index in wide.columns
            if commas.points_in_doubt(wide.separator)
            and any(is_doubtful_point(split_cell(row[index])[0]) for row in rows)
        }

    def gathered(self) -> GatheredRows:
        """Every value, in the unit of its column."""
        first = self._wide.names[self._wide.times[0]].lower().split()
        zone = zone_of(self._wide.names[self._wide.times[0]])
        found = GatheredRows(is_start=bool({"start", "begin"} & set(first)), zone=zone)
        for row in self._rows:
            time = " ".join(row[index].strip() for index in self._wide.times)
            for index, split in self._wide.columns.items():
                if row[index].strip().lower() in ABSENT:
                    continue
                value = self._value(row[index], split)
                if index in self._unsure:
                    self.left_out.add(self._wide.names[index], UNSURE_POINT)
                elif math.isnan(value):
                    self.left_out.add(self._wide.names[index], "cells without a number in a unit that is sure")
                else:
                    found.add(split.named, time, split.meaning.column, value)
        return found

    def _value(self, cell: str, split: Split) -> float:
        """NaN for a cell that is no number, or whose unit is not sure or not of this counter."""
        number, said = split_cell(cell)
        try:
            value = float(plain(number, decimal_comma=self._has_decimal_comma))
        except ValueError:
            return math.nan
        unit = unit_of(said)
        if not math.isfinite(value) or (said and unit is None):
            return math.nan
        if is_short_for_bits(said):
            self._recorder.warn(f"Cells in {said} were taken as bits, as Grafana means them; bytes are a capital B.")
        if unit is not None and unit.measures == measured_by(split.meaning.column):
            return value * unit.factor
        if split.needs_unit or (unit is not None and unit.measures != SCALE):
            return math.nan
        return value * split.meaning.factor * (unit.factor if unit is not None else 1.0)


IMPORTER = Importer(
    name="wide_table",
    title="table with a column for each thing and counter (Grafana's CSV), of any monitoring system",
    supports="headings as 'vol1 - Read IOPS', 'Volume A Read Latency (ms)', 'Read IOPS {device=\"sda\"}'; "
    "units in the heading or in the cells ('12.3 ms', '1.2 K', '345 MB/s')",
    how_to_capture="Grafana: panel > Inspect > Data > series joined by time > Download CSV; legends name the counter",
    recognise=_recognise,
    read=_read,
    carries=(
        "ops_per_s", "bytes_per_s", "latency_ns_mean", "each by direction where given", "latency_ns_max",
        "queue_depth_mean", "queue_depth_max", "busy_ratio", "cpu_busy_ratio", "read_hit_ratio",
    ),
    not_yet={
        "columns that name no counter, as {instance=\"db1\", device=\"sda\"}": "nothing tells what was counted; a "
        "legend does",
        "counters since boot, as node_disk_reads_completed_total": "export their rate()",
        "latencies and bandwidths without a unit in heading or cells": "a number alone does not tell ms from us",
        "times of PRTG that name both ends of an interval": "export the raw data, or keep the end in the file",
    },
)  # fmt: skip
