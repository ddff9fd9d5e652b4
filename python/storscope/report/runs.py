"""Benchmark runs: what was asked, what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from storscope.domain.units import (
    NS_PER_S,
    format_bandwidth,
    format_bytes,
    format_count,
    format_duration,
    format_rate,
    format_ratio,
)
from storscope.report.pack import Packer
from storscope.report.scatter import Scatter, run_scatter
from storscope.store import Store

ROWS_MAX = 200

Row = Mapping[str, Any]


@dataclass(frozen=True)
class RunTable:
    """The runs as a table, and as a chart when there are enough of them."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str
    scatter: Scatter | None


_SQL = """
WITH marked AS (
    SELECT *, count(*) OVER own AS rows_of_entity, max(duration_ns) OVER own AS longest_ns,
           sum(duration_ns) OVER own AS sum_ns, max(duration_ns) OVER (PARTITION BY capture, run) AS whole_ns
    FROM observations WHERE run IS NOT NULL WINDOW own AS (PARTITION BY capture, run, system, kind, entity)
), judged AS (
    SELECT *, bool_or(rows_of_entity = 1 OR sum_ns IS NULL
                      OR (rows_of_entity > 2 AND longest_ns >= 0.9 * (sum_ns - longest_ns)))
                  OVER (PARTITION BY capture, run) AS has_whole
    FROM marked
), o AS (
    SELECT capture, run, entity, ops_per_s, bytes_per_s, latency_ns_mean, latency_ns_max
    FROM judged WHERE has_whole AND duration_ns IS NOT DISTINCT FROM whole_ns
    UNION ALL
    SELECT capture, run, entity,
           sum(ops_per_s * duration_ns) / sum(duration_ns) FILTER (ops_per_s IS NOT NULL),
           sum(bytes_per_s * duration_ns) / sum(duration_ns) FILTER (bytes_per_s IS NOT NULL),
           sum(latency_ns_mean * ops_per_s * duration_ns)
               / sum(ops_per_s * duration_ns) FILTER (latency_ns_mean IS NOT NULL),
           max(latency_ns_max)
    FROM judged WHERE NOT has_whole GROUP BY capture, run, system, kind, entity
)
SELECT r.capture, r.run, r.name, r.engine, r.engine_version, r.block_bytes, r.read_ratio, r.random_ratio,
       r.outstanding, r.workers, o.entity, o.ops_per_s, o.bytes_per_s, o.latency_ns_mean, o.latency_ns_max
FROM (SELECT *, row_number() OVER () AS position FROM runs) r
LEFT JOIN o ON o.capture = r.capture AND o.run = r.run
ORDER BY r.capture, r.time, r.position, o.entity
"""
"""A run joined with the observations of its whole length, or, where there are only intervals, with their means.

The row of a whole run covers about all the others of its entity. Runs without a time stay in the order of their file.
"""


def run_table(store: Store, packer: Packer) -> RunTable | None:
    """The runs of the store; None when there are none."""
    rows: list[Row] = store.query(_SQL).to_pylist()
    if not rows:
        return None
    tails = _tails(store)
    several = len({(row["capture"], row["run"]) for row in rows}) < len(rows)
    columns = [
        (head, words) for head, key, words in _COLUMNS if key is None or any(row[key] is not None for row in rows)
    ]
    if several:
        columns.insert(1, ("Of", lambda row: str(row["entity"] or "–")))
    if tails:
        columns.append(("p99", lambda row: tails.get(_key(row), tails.get((*_key(row)[:2], None), "–"))))
    return RunTable(
        heads=[head for head, _ in columns],
        rows=[[words(row) for _, words in columns] for row in rows[:ROWS_MAX]],
        note=_note(len(rows), bool(tails)),
        scatter=_scatter(rows, packer),
    )


def _engine(row: Row) -> str:
    return " ".join(str(part) for part in (row["engine"], row["engine_version"]) if part)


def _in_flight(row: Row) -> str:
    """Little's law: rate x latency is the number in flight."""
    if row["ops_per_s"] is None or row["latency_ns_mean"] is None:
        return "–"
    number = row["ops_per_s"] * row["latency_ns_mean"] / NS_PER_S
    return f"{number:,.1f}" if number >= 0.1 else format_count(number)


_COLUMNS: Sequence[tuple[str, str | None, Callable[[Row], str]]] = (
    ("Run", None, lambda row: str(row["name"] or row["run"])),
    ("Engine", "engine", _engine),
    ("Block", "block_bytes", lambda row: format_bytes(row["block_bytes"])),
    ("Reads", "read_ratio", lambda row: format_ratio(row["read_ratio"])),
    ("Random", "random_ratio", lambda row: format_ratio(row["random_ratio"])),
    ("Workers", "workers", lambda row: format_count(row["workers"])),
    ("Outstanding", "outstanding", lambda row: format_count(row["outstanding"])),
    ("In flight", "latency_ns_mean", _in_flight),
    ("Operations", "ops_per_s", lambda row: format_rate(row["ops_per_s"])),
    ("Throughput", "bytes_per_s", lambda row: format_bandwidth(row["bytes_per_s"])),
    ("Mean latency", "latency_ns_mean", lambda row: format_duration(row["latency_ns_mean"])),
    ("Highest", "latency_ns_max", lambda row: format_duration(row["latency_ns_max"])),
)


def _note(count: int, any_tail: bool) -> str:
    parts = [
        "In flight is operations per second × mean latency (Little's law).",
        "A run that is not slowed down on purpose keeps its outstanding I/Os in flight.",
    ]
    if any_tail:
        parts.append("p99 is the upper bound of the bucket that holds it.")
    if count > ROWS_MAX:
        parts.append(f"The first {ROWS_MAX} of {format_count(count)} are shown; SELECT * FROM runs gives all.")
    return " ".join(parts)


def _scatter(rows: Sequence[Row], packer: Packer) -> Scatter | None:
    def numbers(name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.asarray([np.nan if row[name] is None else row[name] for row in rows], dtype=np.float64)

    names = [str(row["name"] or row["run"]) for row in rows]
    return run_scatter(names, numbers("ops_per_s"), numbers("latency_ns_mean"), packer)


def _key(row: Row) -> tuple[str, str, str | None]:
    return row["capture"], row["run"], row["entity"]


_MEASURES = ("clat", "service", "response", "lat")
"""What stands for the latency, the best last: from the request to its end (lat, response) rather than its last part."""


_TAILS = f"""
WITH buckets AS (
    SELECT capture, run, entity, measure, unnest(bucket_high_ns) AS high, unnest(counts) AS count
    FROM histograms WHERE run IS NOT NULL AND measure IN {_MEASURES}
), added AS (
    SELECT capture, run, entity, measure, grouping(entity) AS together, high, sum(count)::DOUBLE AS count FROM buckets
    GROUP BY GROUPING SETS ((capture, run, entity, measure, high), (capture, run, measure, high))
), ranked AS (
    SELECT *, sum(count) OVER (own ORDER BY high NULLS LAST) AS rank, sum(count) OVER own AS total FROM added
    WINDOW own AS (PARTITION BY capture, run, entity, measure, together)
)
SELECT capture, run, entity, measure, min(high) FILTER (rank >= $share::DOUBLE * total AND total > 0) AS high_ns
FROM ranked GROUP BY capture, run, entity, measure, together
"""
"""Buckets are added up here: those of all intervals may be tens of millions."""


def _tails(store: Store) -> dict[tuple[str, str, str | None], str]:
    """(capture, run, entity) -> 99th percentile over all operations, from the histograms of the best measure.

    Under the entity None it is of all entities of the run together.
    """
    rows = store.query(_TAILS, {"share": 0.99}).to_pylist()
    rows.sort(key=lambda row: _MEASURES.index(row["measure"]))
    return {_key(row): "–" if row["high_ns"] is None else f"≤ {format_duration(row['high_ns'])}" for row in rows}
