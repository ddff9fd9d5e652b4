"""Benchmark runs over the time since their start, of those with intervals: a cache that warms up, a stall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import PurePath
from typing import Final

import numpy as np
import pyarrow as pa

from storscope.domain.arrays import IntArray
from storscope.domain.entity import said_of
from storscope.domain.units import format_count
from storscope.report.course_chart import Course, course_chart, course_note, thinned
from storscope.report.pack import Packer
from storscope.report.reading import COLUMNS
from storscope.report.run_rows import Key, Run
from storscope.report.simulations import ENGINE
from storscope.report.sweep_chart import PANELS
from storscope.store import Store
from storscope.store.competing import competing_captures

_LEAST: Final = 8
"""Intervals from which a run has a course; `compare` wants as many of them."""
_RUNS_MAX: Final = 6
_NAME: Final = "Over the time since the start"

_RUNS: Final = f"""
SELECT capture, run, entity, epoch_ns(min(o.time)) AS began
FROM observations o JOIN runs r USING (capture, run)
WHERE o.kind = 'job' AND r.engine IS DISTINCT FROM '{ENGINE}' AND o.duration_ns > 0
GROUP BY ALL HAVING count(*) >= {_LEAST} AND max(o.duration_ns) < 0.5 * sum(o.duration_ns)
ORDER BY began, capture, run, entity
"""
_INTERVALS: Final = f"""
SELECT epoch_ns(time) AS begin_ns, duration_ns, {", ".join(COLUMNS)} FROM (
    SELECT *, row_number() OVER () AS position FROM observations
    WHERE capture = $1 AND run = $2 AND kind = 'job' AND entity = $3 AND duration_ns > 0
) ORDER BY time, position
"""


def run_course(
    store: Store, names: Mapping[Run, str], parts: Sequence[Key], paths: Mapping[str, str], packer: Packer
) -> Course | None:
    """The first benchmark runs with intervals over time; None without any. `parts` are rows of parts of a run, and
    `paths` the files of captures, which tell runs of one name apart.

    Jobs that ran beside others are clients of a running system, and have their place in its timeline.
    """
    competing, unwanted = competing_captures(store), set(parts)
    rows = [
        row
        for row in store.query(_RUNS).to_pylist()
        if row["capture"] not in competing and (row["capture"], row["run"], row["entity"]) not in unwanted
    ]
    if not rows:
        return None
    lines, interval_ns = [], []
    shown = rows[:_RUNS_MAX]
    for row in shown:
        table = store.query(_INTERVALS, [row["capture"], row["run"], row["entity"]])
        length_ns = np.asarray(table["duration_ns"], dtype=np.int64)
        since_ns = _since_start(table["begin_ns"], length_ns)
        columns = {name: np.asarray(table[name].to_numpy(), dtype=np.float64) for name in COLUMNS}
        lines.append(thinned(since_ns, since_ns + length_ns, columns))
        interval_ns.append(int(np.median(length_ns)))
    told = [name for line in lines for name, of in line.columns.items() if np.isfinite(of.mean).any()]
    drawn = [name for name in PANELS if name in told]
    if not drawn:
        return None
    note = course_note(lines, interval_ns)
    if len(rows) > _RUNS_MAX:
        note += f" The first {_RUNS_MAX} of {format_count(len(rows))} runs with intervals are drawn."
    titles = ", ".join(PANELS[name] for name in drawn)
    aria = said_of("Benchmark runs", f"{titles} over the time since the start.")
    return Course(_NAME, note, course_chart(drawn, lines, _labels(shown, names, paths), packer), aria)


def _since_start(begin_ns: pa.ChunkedArray, length_ns: IntArray) -> IntArray:
    """When each interval begins; one after another where the source has no times."""
    if begin_ns.null_count:
        return np.cumsum(length_ns) - length_ns
    times: IntArray = np.asarray(begin_ns, dtype=np.int64)
    since_ns: IntArray = times - times[0]
    return since_ns


def _labels(rows: Sequence[Mapping[str, str]], names: Mapping[Run, str], paths: Mapping[str, str]) -> list[str]:
    """What each run is called, with its file, from the folder that all have, where several are called the same."""
    called = [names.get((row["capture"], row["run"]), row["entity"]) for row in rows]
    files = [PurePath(paths.get(row["capture"], row["capture"])) for row in rows]
    alike = [file for name, file in zip(called, files, strict=True) if called.count(name) > 1]
    shared = _shared_folders(alike)
    return [
        f"{name} ({PurePath(*file.parts[shared:])})" if called.count(name) > 1 else name
        for name, file in zip(called, files, strict=True)
    ]


def _shared_folders(files: Sequence[PurePath]) -> int:
    """How many folders, from the root, all files are in."""
    together = zip(*(file.parts[:-1] for file in files), strict=False)
    return sum(1 for _ in takewhile(lambda parts: len(set(parts)) == 1, together))
