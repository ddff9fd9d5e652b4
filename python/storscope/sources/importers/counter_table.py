"""Tables of counters over time, as monitoring systems and arrays export them: CSV with a time in each row.

The format is a convention, not a tool's: commas, semicolons or tabs; a title or comments above the heading; what the
heading may say is in `_table_heading.py`. Other numeric columns stay counters under their own names.

What becomes of the rows is in `_table_writer.py`. Tables with a column for each thing and counter, or with a row for
each metric, are read by `wide_table.py` and `long_table.py`.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Final

from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._table_cells import Table
from storscope.sources.importers._table_doubts import keep_the_sure, tell_of_counters
from storscope.sources.importers._table_heading import Heading, cells_of, heading_of, is_of_tests, separator_of
from storscope.sources.importers._table_writer import TableWriter
from storscope.sources.importers._whole_lines import CUT_OFF, ends_with_newline

_MOST_LINES_ABOVE: Final = 30
_LONGEST_HEADING: Final = 64 * 1024


def _parse(evidence: Evidence) -> Table:
    lines = list(evidence.lines())
    found = _find_heading(lines)
    if found is None:
        raise broken(
            evidence, "a heading with a column of times and at least one of rates, bandwidths or latencies",
            next((line for line in lines if line.strip()), "an empty file"),
            hint="For instance: time,volume,read_iops,write_iops,read_latency_ms,write_latency_ms,read_mb_per_s",
        )  # fmt: skip
    above, heading = found
    separator = separator_of(lines[above])
    try:
        cells = list(csv.reader((line for line in lines[above + 1 :] if line.strip()), delimiter=separator))
    except csv.Error as error:
        raise broken(evidence, "cells between separators", str(error)) from error
    table = Table(heading, separator, [], sum(bool(line.strip()) for line in lines[:above]), name=evidence.name)
    width = len(heading.names)
    if cells and len(cells[-1]) < width and not ends_with_newline(evidence):
        table.is_cut = True
        cells = cells[:-1]
    for row in cells:
        if [cell.strip().lstrip("#").strip() for cell in row] == list(heading.names):
            table.repeated += 1
        elif len(row) < width or any(cell.strip() for cell in row[width:]):
            table.short += 1
        else:
            table.rows.append(row)
    for row in table.rows:
        for index in heading.measured:
            table.commas.learn(row[index])
    return table


def _find_heading(lines: Sequence[str]) -> tuple[int, Heading] | None:
    for index, line in enumerate(lines[:_MOST_LINES_ABOVE]):
        if len(line) <= _LONGEST_HEADING and (heading := heading_of(cells_of(line))) is not None:
            return index, heading
    return None


def _recognise(head: Head) -> float:
    found = _find_heading(head.lines)
    if found is None:
        return 0.0
    return 0.5 if is_of_tests(found[1].names) else 0.6


# Reading ---------------------------------------------------------------------------------------------------------


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    table = _parse(evidence)
    recorder.omit("lines above the heading", table.above)
    recorder.omit("headings repeated between rows", table.repeated)
    recorder.omit("rows with more or fewer cells than the heading", table.short)
    recorder.omit(CUT_OFF, table.is_cut)
    if not table.rows:
        raise broken(evidence, "rows below the heading", "none")
    doubt = table.commas.doubt(table.separator)
    if doubt is not None and not table.commas.points_in_doubt(table.separator):
        recorder.warn(doubt)
    tell_of_counters(table, recorder)
    keep_the_sure(table, recorder)
    TableWriter(table, recorder, options).write()


IMPORTER = Importer(
    name="counter_table",
    title="table of counters over time (CSV), of any array or monitoring system",
    supports="commas, semicolons or tabs; a time in each row; headings that say what they count, with the unit",
    how_to_capture="the export of a monitoring system: time,volume,read_iops,write_iops,read_latency_ms,read_mb_per_s",
    recognise=_recognise,
    read=_read,
    version=3,
    carries=(
        "ops_per_s", "bytes_per_s", "latency_ns_mean", "each by direction where given", "latency_ns_max",
        "queue_depth_mean", "queue_depth_max", "busy_ratio", "cpu_busy_ratio", "read_hit_ratio",
        "other numeric columns as counters",
    ),
    not_yet={
        "shares without % whose values are all small": "0.9 is 0.9 % or 90 %",
        "latencies and bandwidths without a unit in the heading": "a number alone does not tell ms from us",
    },
)  # fmt: skip
