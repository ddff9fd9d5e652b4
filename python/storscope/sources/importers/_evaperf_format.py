"""What the two forms of evaperf share as formats: they differ only in how rows are cut out of lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import ImportOptions, broken
from storscope.sources.importers._decimal_comma import Commas
from storscope.sources.importers._evaperf import Writer
from storscope.sources.importers._evaperf_roster import Roster
from storscope.sources.importers._evaperf_row import Row
from storscope.sources.importers._stamps import Stamps
from storscope.sources.importers._whole_lines import whole_lines

CARRIES: Final = (
    "vdisk: read_ops_per_s, write_ops_per_s, bytes, latencies, read_hit_ratio, forwarded_per_s",
    "disk: queue_depth_mean, latency_ns_mean; controller: cpu_busy_ratio; array: ops_per_s, bytes_per_s",
    "facts online_to, write_mode; links to disk group and owner; ownership and write mode changes as events",
    "every number of every row as a counter, by controller",
)
NOT_YET: Final = {"hps, hc, ps and drt tables": "their layout is not known to us; rows are counted as left out"}
NEVER: Final = {"tables without headings (-nh)": "columns are known by heading only"}
SUPPORTS: Final = "objects as, cs, vd, pd, vdg, pdg, with friendly names; layout UNVERIFIED, written from the manual"

_HEAD_LINES = 500

Rows = Callable[[Iterable[str], Recorder, Commas], Iterator[Row]]
"""Cuts rows out of lines; what it leaves out it counts with the recorder."""


def recogniser(rows_of: Rows) -> Callable[[Head], float]:
    """Sure of a file whose head yields a row."""

    def recognise(head: Head) -> float:
        return 0.9 if any(True for _ in rows_of(head.lines[:_HEAD_LINES], _scratch(), Commas())) else 0.0

    return recognise


def reader(rows_of: Rows, headings: str, capture: str) -> Callable[[Evidence, Recorder, ImportOptions], None]:
    """Reads a file twice: for the habits of its time stamps and numbers and what belongs together, then for its rows.

    `headings` and `capture` are for the error of a file without rows: what was expected, and the command to use.
    """

    def read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
        recorder.notes.tool = "evaperf"
        stamps = Stamps(options, glibc_habits=False)
        commas = Commas()
        separators = set()
        roster = Roster()
        for row in rows_of(whole_lines(Evidence(evidence.path, evidence.name), _scratch()), _scratch(), Commas()):
            stamps.learn(row.stamp or "")
            roster.learn(row)
            separators.add(row.separator)
            for cell in row.printed:
                commas.learn(cell)
        for doubt in filter(None, map(commas.doubt, sorted(separators))):
            recorder.warn(doubt)
        roster.learnt()
        writer = Writer(recorder, options, stamps, roster)
        for row in rows_of(whole_lines(evidence, recorder), recorder, commas):
            writer.add(row)
        writer.finish()
        if recorder.is_empty:
            hint = f"Capture with: {capture} (without -nh, which drops the headings)."
            raise broken(evidence, f"{headings} with rows under it", "none", hint=hint)

    return read


def _scratch() -> Recorder:
    return Recorder(lambda _table, _batch: None)
