"""What tells two runs of one name and load apart: the columns of a table of results, what a run was done on.

Rows of a table are told apart by the columns that configure a test, and by columns of words that no importer knows (a
file system, a cache). Unknown columns of numbers are results as often as they are settings, so they tell nothing apart;
where rows that are taken as repetitions differ in them, that is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

TABLE: Final = "results_table"
"""Format of captures whose runs have their cells as parameters, by column."""
RAID: Final = "raid"
DEVICE: Final = "device"
SYSTEM: Final = "system"
DESIGN: Final = "design"

NAME_COLUMNS: Final = frozenset({
    "spec", "access_specification", "test", "workload", "job", "jobname", "name", "system", "host", "array", "mode",
    "rw", "pattern", "raid", "device",
})  # fmt: skip
"""Columns of words that sources/importers/results_table.py reads as the test and what it ran on."""
NUMBER_COLUMNS: Final = frozenset({
    "numjobs", "workers", "threads", "iodepth", "queue_depth", "outstanding", "read_pct", "random_pct", "read_percent",
    "random_percent", "pct_read", "pct_random", "pct_reads", "read_ratio", "random_ratio",
})  # fmt: skip
"""Columns that it reads as the load, which is compared as such."""
_REMARKS: Final = frozenset({"comment", "comments", "remark", "remarks", "note", "notes", "date", "time"})
_RESULT: Final = re.compile(
    r"(.*_)?(iops|tps|(ops|io|bytes)_per_s|[kmg]?i?b(ytes)?(_per_s|_s|ps)|(latency|lat|response|resp)(_.*)?)"
)
"""A column that holds what was measured; a guess that only chooses which columns are named in a sentence."""
_NUMBER: Final = re.compile(r"[-+]?[\d.,' ]+(e[-+]?\d+)?\s*%?", re.IGNORECASE)


def marks_of_row(cells: Mapping[str, str]) -> dict[str, str]:
    """Of a row of a table of results: its words, by column, in lower case."""
    return {
        column: " ".join(text.split()).casefold()
        for column, text in cells.items()
        if column in NAME_COLUMNS or _is_word(column, text)
    }


def _is_word(column: str, text: str) -> bool:
    return column not in NUMBER_COLUMNS | _REMARKS and not _NUMBER.fullmatch(text) and not _RESULT.fullmatch(column)


def numbers_apart(rows: Iterable[Mapping[str, str]]) -> list[str]:
    """Columns of numbers that are neither load nor, by their name, results, and differ between the rows."""
    rows = list(rows)
    columns = dict.fromkeys(column for cells in rows for column in cells)
    return [
        column
        for column in columns
        if column not in NAME_COLUMNS | NUMBER_COLUMNS | _REMARKS
        and not _RESULT.fullmatch(column)
        and len({cells.get(column) for cells in rows}) > 1
    ]


def marks_of_run(parameters: Mapping[str, str], system: str | None, *, is_simulated: bool) -> dict[str, str]:
    """Of a run that storscope made: the design that was simulated, or what was measured; a scratch file is any."""
    known = {SYSTEM: system or ""}
    if is_simulated:
        known[DESIGN] = parameters.get("design_sha256", "")
    elif parameters.get("target_kind") != "scratch":
        known[DEVICE] = parameters.get("target", "")
    return {name: text for name, text in known.items() if text}


def marks_of_job(options: Mapping[str, str]) -> dict[str, str]:
    """Of a job of fio: what it was told to read and write."""
    return {DEVICE: options["filename"]} if options.get("filename") else {}
