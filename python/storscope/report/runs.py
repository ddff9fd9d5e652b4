"""Runs, benchmarked or simulated: what was asked, what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storscope.domain.flush import OPERATION
from storscope.domain.units import format_bytes, format_count, format_ratio
from storscope.report.course_chart import Course
from storscope.report.pack import Packer
from storscope.report.run_courses import run_course
from storscope.report.run_grids import RunGrid, best_of, run_grids, targets_of
from storscope.report.run_parts import RunParts, run_parts
from storscope.report.run_rows import (
    FLUSHES,
    FLUSHES_NOTE,
    IN_FLIGHT,
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
    tail_words,
    tails_ns,
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
    count: int
    """How many runs."""
    scatter: Scatter | None
    parts: RunParts | None
    """Of runs that were observed as a whole and in parts; None without any."""
    grids: Sequence[RunGrid]
    """Runs that are points of a matrix."""
    course: Course | None
    """Benchmark runs over time, of those whose intervals are known."""
    best: Sequence[str]
    """Sentences: what stands out among benchmark runs."""
    targets: Sequence[str]
    """What they were measured on, where it has a name."""


def run_table(store: Store, packer: Packer) -> RunTable | None:
    """The runs of the store; None when there are none."""
    found = run_rows(store)
    if not found:
        return None
    words_of_parts, p99_ns, paths = parts_among(found), tails_ns(store), _paths(store)
    p99 = {key: tail_words(high_ns) for key, high_ns in p99_ns.items()}
    flush_p99 = {key: tail_words(high_ns) for key, high_ns in tails_ns(store, OPERATION).items()}
    rows = [row for row in found if key_of(row) not in words_of_parts]
    names = _names(found, words_of_parts)
    columns: list[Told] = [("Run", lambda row: names[run_of(row)]), *told(_COLUMNS, rows)]
    several = len({run_of(row) for row in rows}) < len(rows)
    if several:
        columns.insert(1, ("Of", lambda row: str(row["entity"] or "–")))
    if p99:
        columns.append(("p99", lambda row: _tail_of(row, p99)))
    if flush_p99:
        columns.append(("p99 of flushes", lambda row: _tail_of(row, flush_p99)))
    return RunTable(
        heads=[head for head, _ in columns],
        rows=[[words(row) for _, words in columns] for row in rows[:ROWS_MAX]],
        note=_note(len(rows), [head for head, _ in columns], bool(p99)),
        count=len({run_of(row) for row in rows}),
        scatter=_scatter(rows, names, packer, several=several),
        parts=run_parts(found, words_of_parts, names, p99, packer, ROWS_MAX) if words_of_parts else None,
        grids=run_grids(rows, {key: high_ns for key, high_ns in p99_ns.items() if high_ns}, paths, packer),
        course=run_course(store, names, list(words_of_parts), paths, packer),
        best=best_of(rows),
        targets=targets_of(rows),
    )


def _tail_of(row: Row, words: Mapping[Key, str]) -> str:
    return words.get(key_of(row), words.get((*run_of(row), None), "–"))


def _paths(store: Store) -> dict[str, str]:
    return {str(row["capture"]): str(row["path"]) for row in store.captures()}


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


def _note(count: int, heads: Sequence[str], any_tail: bool) -> str:
    """What columns of the table mean, those that it has."""
    said = []
    if IN_FLIGHT in heads:
        said.append("In flight is operations per second × mean latency (Little's law).")
        if "Outstanding" in heads:
            said.append("A run that is not slowed down on purpose keeps its outstanding I/Os in flight.")
    if FLUSHES in heads:
        said.append(FLUSHES_NOTE)
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
