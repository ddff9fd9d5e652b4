"""Runs that are points of a matrix, as the charts of a sweep: imported ones as well as our own.

Sources tell of each run its size, jobs, I/Os in flight and shares of reads and random I/Os; no source says which runs
belong together. So runs of one target of one host are taken together, of several captures too, unless two of these hold
the same point: what was measured again in another file is another state of the storage. Jobs that ran at the same time
share the storage and are no points; nor are open loops and simulated runs.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import PurePath

from storscope.domain.sweep import FIGURES, Cell, Estimate, Point, SweepResult
from storscope.domain.units import format_bandwidth, format_duration, format_rate, format_ratio
from storscope.domain.vocabulary import UNNAMED_SYSTEMS
from storscope.report.pack import Packer
from storscope.report.run_rows import P99_NOTE, Key, Row, key_of, run_of
from storscope.report.simulations import ENGINE
from storscope.report.sweep_chart import SweepChart, sweep_charts

_LEAST_POINTS = 3
"""Fewer make no curve; the table of runs has them."""
_TOGETHER = 0.1
"""Part of its time from which a run was at work beside another: times are stamps of whole seconds (ours)."""
_OWN_ENGINE = "storscope"
"""Of which a run without a number in flight is an open loop; of others it may only not be told."""
_UNNAMED = UNNAMED_SYSTEMS | {"results-table", "iometer-host"}
"""Systems that importers name for want of a name."""


@dataclass(frozen=True)
class RunGrid:
    """The charts of runs on one target."""

    title: str
    charts: Sequence[SweepChart]


def run_grids(
    rows: Sequence[Row], p99_ns: Mapping[Key, float], paths: Mapping[str, str], packer: Packer
) -> list[RunGrid]:
    """One for each target of which three runs or more differ in size, jobs or depth. `paths`: capture -> its file."""
    grids = []
    for title, own in _by_target(_single(rows), paths):
        cells = _cells(own, p99_ns)
        modes = {cell.point.mode for cell in cells}
        wide = {mode for mode in modes if sum(cell.point.mode == mode for cell in cells) >= _LEAST_POINTS}
        result = _result(title, [cell for cell in cells if cell.point.mode in wide])
        charts = [chart for chart in sweep_charts(result, packer) if chart.chart is not None]
        if charts:
            grids.append(RunGrid(title, [_told(chart, result) for chart in charts]))
    return grids


def targets_of(rows: Sequence[Row]) -> list[str]:
    """What was measured, where it has a name."""
    return list(dict.fromkeys(str(row["target"]) for row in rows if row["target"]))


def best_of(rows: Sequence[Row]) -> list[str]:
    """The runs that did most operations and most bytes; nothing without any."""
    jobs = [row for row in rows if row["kind"] == "job"]
    said = []
    for name, what, words in (
        ("ops_per_s", "operations", format_rate),
        ("bytes_per_s", "throughput", format_bandwidth),
    ):
        most = max((row for row in jobs if row[name]), key=lambda row: float(row[name]), default=None)
        if most is not None:
            latency = "" if most["latency_ns_mean"] is None else f", at {format_duration(most['latency_ns_mean'])} mean"
            point = point_of(most).words or str(most["name"] or most["run"])
            said.append(f"Most {what}: {words(most[name])}, {point[:1].lower()}{point[1:]}{latency}.")
    return said


# Which runs ----------------------------------------------------------------------------------------------------------


def _single(rows: Sequence[Row]) -> list[Row]:
    """Of each run that was alone the row of the whole."""
    jobs = [row for row in rows if row["kind"] == "job" and row["engine"] != ENGINE and row["ops_per_s"] is not None]
    count: dict[tuple[str, str], int] = defaultdict(int)
    for row in jobs:
        count[run_of(row)] += 1
    beside = _beside_others(jobs)
    alone = [row for row in jobs if count[run_of(row)] == 1 and key_of(row) not in beside]
    return [row for row in alone if mode_of(row) and not (row["engine"] == _OWN_ENGINE and row["outstanding"] is None)]


def _beside_others(rows: Sequence[Row]) -> set[Key]:
    """Those of a capture that were at work at the same time as another one of it."""
    timed = [row for row in rows if row["time_ns"] is not None and row["run_ns"]]
    found: set[Key] = set()
    last: dict[str, Row] = {}
    for row in sorted(timed, key=lambda row: int(row["time_ns"])):
        before = last.get(row["capture"])
        if before is not None:
            common_ns = min(before["time_ns"] + before["run_ns"], row["time_ns"] + row["run_ns"]) - row["time_ns"]
            if common_ns > _TOGETHER * min(before["run_ns"], row["run_ns"]):
                found |= {key_of(before), key_of(row)}
        if before is None or row["time_ns"] + row["run_ns"] > before["time_ns"] + before["run_ns"]:
            last[row["capture"]] = row
    return found


def _by_target(rows: Sequence[Row], paths: Mapping[str, str]) -> Iterator[tuple[str, list[Row]]]:
    grouped: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        grouped[str(row["engine"]), str(row["system"]), str(row["target"] or "")].append(row)
    for (_, system, target), own in grouped.items():
        named = "" if system in _UNNAMED else system
        title = f"{target} on {named}" if target and named else target or named
        captures = sorted({row["capture"] for row in own}, key=lambda capture: _file(paths, capture))
        points = [(row["capture"], point_of(row)) for row in own]
        if len({point for _, point in points}) == len(set(points)):
            yield title or _file(paths, captures[0]), own
            continue
        for capture in captures:
            file = _file(paths, capture)
            yield f"{title}, {file}" if title else file, [row for row in own if row["capture"] == capture]


def _file(paths: Mapping[str, str], capture: str) -> str:
    return PurePath(paths.get(capture, capture).replace("\\", "/")).name


# Points --------------------------------------------------------------------------------------------------------------


def mode_of(row: Row) -> str:
    """'Random reads', '60 % random, 65 % reads'; empty where the share of reads is not told."""
    reads, random = row["read_ratio"], row["random_ratio"]
    if reads is None:
        return ""
    what = {0.0: "writes", 1.0: "reads"}.get(reads)
    if random is None:
        return what.capitalize() if what else f"Mixed, {format_ratio(reads)} reads"
    how = {0.0: "Sequential", 1.0: "Random"}.get(random, f"{format_ratio(random)} random")
    return f"{how} {what}" if what else f"{how}, {format_ratio(reads)} reads"


def point_of(row: Row) -> Point:
    """Its place; where jobs do not divide what is in flight, there is only the sum of it."""
    jobs = None if not row["workers"] else round(row["workers"])
    depth = None if row["outstanding"] is None else round(row["outstanding"])
    if jobs is not None and depth is not None:
        jobs, depth = (jobs, depth // jobs) if depth % jobs == 0 else (None, depth)
    size = None if row["block_bytes"] is None else round(row["block_bytes"])
    return Point(mode_of(row), size, jobs, depth)


def _cells(rows: Sequence[Row], p99_ns: Mapping[Key, float]) -> list[Cell]:
    grouped: dict[Point, list[Row]] = defaultdict(list)
    for row in rows:
        grouped[point_of(row)].append(row)
    return [_cell(point, own, p99_ns) for point, own in sorted(grouped.items(), key=lambda item: _order(item[0]))]


def _order(point: Point) -> tuple[str, int, int, int]:
    return point.mode, point.block_bytes or 0, point.jobs or 0, point.depth or 0


def _cell(point: Point, rows: Sequence[Row], p99_ns: Mapping[Key, float]) -> Cell:
    """Of runs that were repeated the means."""
    found = {name: [row[name] for row in rows if row[name] is not None] for name in FIGURES[:3]}
    found[FIGURES[3]] = [p99_ns[key_of(row)] for row in rows if key_of(row) in p99_ns]
    figures = {name: Estimate(statistics.fmean(values)) for name, values in found.items() if values}
    return Cell(point, len(rows), figures, invalid_runs=sum(row["status"] not in {None, "ok"} for row in rows))


def _result(title: str, cells: Sequence[Cell]) -> SweepResult:
    """What the charts ask for; nobody planned these runs together."""
    runs = sum(cell.runs for cell in cells)
    return SweepResult(
        "", title, "imported", tuple(cells), planned=runs, done=runs, repeats=1, duration_ns=0, seed="",
        started_ns=None, ended_ns=None,
    )  # fmt: skip


def _told(chart: SweepChart, result: SweepResult) -> SweepChart:
    """Without columns that nothing is told of; with what percentiles, and points of repeated runs, are."""
    told = [any(row[column] != "–" for row in chart.rows) for column in range(len(chart.heads))]
    cells = [cell for cell in result.cells if cell.point.title == chart.title]
    notes = [chart.note]
    if any(cell.get("latency_ns_p99") for cell in cells):
        notes.append(P99_NOTE)
    if any(cell.runs > 1 for cell in cells):
        notes.append("Points that were measured several times are means.")
    return replace(
        chart,
        heads=list(compress(chart.heads, told)),
        rows=[list(compress(row, told)) for row in chart.rows],
        note=" ".join(notes),
    )
