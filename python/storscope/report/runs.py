"""Runs, benchmarked or simulated: what was asked, what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storscope.domain.units import format_bytes, format_count, format_ratio
from storscope.report.pack import Packer
from storscope.report.run_parts import RunParts, run_parts
from storscope.report.run_rows import (
    OBSERVED,
    P99_NOTE,
    Column,
    Key,
    Row,
    Run,
    Told,
    key_of,
    numbers,
    parts_among,
    run_of,
    run_rows,
    tails,
    told,
)
from storscope.report.scatter import Points, Scatter, run_scatter
from storscope.report.simulations import ENGINE
from storscope.store import Store

ROWS_MAX = 200


@dataclass(frozen=True)
class RunTable:
    """The runs as a table, and as a chart when there are enough of them."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str
    scatter: Scatter | None
    parts: RunParts | None
    """Of runs that were observed as a whole and in parts; None without any."""


def run_table(store: Store, packer: Packer) -> RunTable | None:
    """The runs of the store; None when there are none."""
    found = run_rows(store)
    if not found:
        return None
    words_of_parts, p99 = parts_among(found), tails(store)
    rows = [row for row in found if key_of(row) not in words_of_parts]
    names = _names(found, words_of_parts)
    columns: list[Told] = [("Run", lambda row: names[run_of(row)]), *told(_COLUMNS, rows)]
    several = len({run_of(row) for row in rows}) < len(rows)
    if several:
        columns.insert(1, ("Of", lambda row: str(row["entity"] or "–")))
    if p99:
        columns.append(("p99", lambda row: p99.get(key_of(row), p99.get((*run_of(row), None), "–"))))
    return RunTable(
        heads=[head for head, _ in columns],
        rows=[[words(row) for _, words in columns] for row in rows[:ROWS_MAX]],
        note=_note(len(rows), bool(p99)),
        scatter=_scatter(rows, names, packer, several=several),
        parts=run_parts(found, words_of_parts, names, p99, packer, ROWS_MAX) if words_of_parts else None,
    )


def _names(rows: Sequence[Row], words_of_parts: Mapping[Key, str]) -> dict[Run, str]:
    """What each run is called; where several that have parts are called the same, with its id."""
    names = {run_of(row): str(row["name"] or row["run"]) for row in rows}
    called = [names[run] for run in {key[:2] for key in words_of_parts}]
    return {run: f"{name} ({run[1]})" if called.count(name) > 1 else name for run, name in names.items()}


def _engine(row: Row) -> str:
    return " ".join(str(part) for part in (row["engine"], row["engine_version"]) if part)


_COLUMNS: Sequence[Column] = (
    ("Engine", "engine", _engine),
    ("Block", "block_bytes", lambda row: format_bytes(row["block_bytes"])),
    ("Reads", "read_ratio", lambda row: format_ratio(row["read_ratio"])),
    ("Random", "random_ratio", lambda row: format_ratio(row["random_ratio"])),
    ("Workers", "workers", lambda row: format_count(row["workers"])),
    ("Outstanding", "outstanding", lambda row: format_count(row["outstanding"])),
    *OBSERVED,
)


def _note(count: int, any_tail: bool) -> str:
    said = [
        "In flight is operations per second × mean latency (Little's law).",
        "A run that is not slowed down on purpose keeps its outstanding I/Os in flight.",
    ]
    if any_tail:
        said.append(P99_NOTE)
    if count > ROWS_MAX:
        said.append(f"The first {ROWS_MAX} of {format_count(count)} are shown; SELECT * FROM runs gives all.")
    return " ".join(said)


def _scatter(rows: Sequence[Row], names: Mapping[Run, str], packer: Packer, *, several: bool) -> Scatter | None:
    """A point for each run; where runs have several rows, for each of these."""
    simulated = {row["engine"] == ENGINE for row in rows}
    each = "benchmark runs" if simulated == {False} else "simulated runs" if simulated == {True} else "runs"
    points = Points(
        title=each.capitalize(),
        what="rows" if several else "runs",
        each="rows of the table above" if several else each,
        names=[str(row["entity"] or "–") if several else names[run_of(row)] for row in rows],
    )
    return run_scatter(points, numbers(rows, "ops_per_s"), numbers(rows, "latency_ns_mean"), packer)
