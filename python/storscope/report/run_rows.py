"""What the store tells of benchmark runs and simulated ones: a row for a run, or for each of several that it observed.

A run of `storscope bench` or `storscope simulate` with several streams or targets was observed as a whole and in parts:
each stream on each target. Their entities are called after the whole: 'RUN: STREAM on TARGET' (bench/record.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from storscope.domain import flush
from storscope.domain.arrays import FloatArray
from storscope.domain.units import NS_PER_S, format_bandwidth, format_count, format_duration, format_rate
from storscope.store import Store

Row = Mapping[str, Any]
Run = tuple[str, str]
"""Capture, run."""
Key = tuple[str, str, str | None]
"""Capture, run, entity."""
Column = tuple[str, str | None, Callable[[Row], str]]
"""Head, the key without which it is left out, the words of a row."""
Told = tuple[str, Callable[[Row], str]]
"""Head and words of a column that is shown."""
P99_NOTE = "p99 is the upper bound of the bucket that holds it."
_PART = ": "

_SQL = f"""
WITH flushed AS (
    SELECT capture, run, kind, entity, time, duration_ns,
           max(value) FILTER (name = '{flush.RATE}') AS per_s, max(value) FILTER (name = '{flush.LATENCY}') AS mean_ns
    FROM counters WHERE run IS NOT NULL AND name IN ('{flush.RATE}', '{flush.LATENCY}') GROUP BY ALL
), f AS (
    SELECT capture, run, kind, entity, sum(per_s * duration_ns) / sum(duration_ns) AS flushes_per_s,
           coalesce(sum(mean_ns * per_s * duration_ns) / sum(per_s * duration_ns) FILTER (mean_ns IS NOT NULL),
                    avg(mean_ns)) AS flush_latency_ns_mean
    FROM flushed GROUP BY capture, run, kind, entity
), marked AS (
    SELECT *, count(*) OVER own AS rows_of_entity, max(duration_ns) OVER own AS longest_ns,
           sum(duration_ns) OVER own AS sum_ns, max(duration_ns) OVER (PARTITION BY capture, run) AS whole_ns
    FROM observations WHERE run IS NOT NULL WINDOW own AS (PARTITION BY capture, run, system, kind, entity)
), judged AS (
    SELECT *, bool_or(rows_of_entity = 1 OR sum_ns IS NULL
                      OR (rows_of_entity > 2 AND longest_ns >= 0.9 * (sum_ns - longest_ns)))
                  OVER (PARTITION BY capture, run) AS has_whole
    FROM marked
), o AS (
    SELECT capture, run, kind, entity, ops_per_s, bytes_per_s, latency_ns_mean, latency_ns_max
    FROM judged WHERE has_whole AND duration_ns IS NOT DISTINCT FROM whole_ns
    UNION ALL
    SELECT capture, run, kind, entity,
           sum(ops_per_s * duration_ns) / sum(duration_ns) FILTER (ops_per_s IS NOT NULL),
           sum(bytes_per_s * duration_ns) / sum(duration_ns) FILTER (bytes_per_s IS NOT NULL),
           sum(latency_ns_mean * ops_per_s * duration_ns)
               / sum(ops_per_s * duration_ns) FILTER (latency_ns_mean IS NOT NULL),
           max(latency_ns_max)
    FROM judged WHERE NOT has_whole GROUP BY capture, run, system, kind, entity
)
SELECT r.capture, r.run, r.name, r.engine, r.engine_version, r.block_bytes, r.read_ratio, r.random_ratio,
       r.outstanding, r.workers, r.system, r.status, epoch_ns(r.time) AS time_ns, r.duration_ns AS run_ns,
       coalesce(r.parameters['target'], r.parameters['filename'], r.parameters['device']) AS target, o.kind, o.entity,
       o.ops_per_s, o.bytes_per_s, o.latency_ns_mean, o.latency_ns_max, f.flushes_per_s, f.flush_latency_ns_mean
FROM (SELECT *, row_number() OVER () AS position FROM runs) r
LEFT JOIN o ON o.capture = r.capture AND o.run = r.run
LEFT JOIN f ON f.capture = o.capture AND f.run = o.run AND f.kind = o.kind AND f.entity = o.entity
ORDER BY r.capture, r.time, r.position, o.entity
"""
"""A run joined with the observations of its whole length, or, where there are only intervals, with their means.

The row of a whole run covers about all the others of its entity. Runs without a time stay in the order of their file.
"""


def run_rows(store: Store) -> list[Row]:
    """In the order of their times."""
    rows: list[Row] = store.query(_SQL).to_pylist()
    return rows


def run_of(row: Row) -> Run:
    """Which run it is of."""
    return row["capture"], row["run"]


def key_of(row: Row) -> Key:
    """What tells a row from others."""
    return *run_of(row), row["entity"]


def parts_among(rows: Sequence[Row]) -> dict[Key, str]:
    """Of the rows that are parts of a run that is there as a whole, too, which: 'clone 1 on esx/desktops'."""
    keys = {key_of(row) for row in rows}
    found = {}
    for capture, run, entity in keys:
        pieces = (entity or "").split(_PART)
        for count in range(1, len(pieces)):
            if (capture, run, _PART.join(pieces[:count])) in keys:
                found[capture, run, entity] = _PART.join(pieces[count:])
                break
    return found


def told(columns: Sequence[Column], rows: Sequence[Row]) -> list[Told]:
    """Those that any of the rows has something for."""
    return [(head, words) for head, key, words in columns if key is None or any(row[key] is not None for row in rows)]


def numbers(rows: Sequence[Row], name: str) -> FloatArray:
    """NaN where a row has none."""
    return np.asarray([np.nan if row[name] is None else row[name] for row in rows], dtype=np.float64)


def _in_flight(row: Row) -> str:
    """Little's law: rate x latency is the number in flight."""
    if row["ops_per_s"] is None or row["latency_ns_mean"] is None:
        return "–"
    number = row["ops_per_s"] * row["latency_ns_mean"] / NS_PER_S
    return f"{number:,.1f}" if number >= 0.1 else format_count(number)


IN_FLIGHT = "In flight"
"""The column of what follows by Little's law."""
FLUSHES = "Flushes"
"""The column of how many there are, of runs that make any."""
FLUSHES_NOTE = "Operations and their latency are of reads, writes and flushes together."
OBSERVED: Sequence[Column] = (
    (IN_FLIGHT, "latency_ns_mean", _in_flight),
    ("Operations", "ops_per_s", lambda row: format_rate(row["ops_per_s"])),
    ("Throughput", "bytes_per_s", lambda row: format_bandwidth(row["bytes_per_s"])),
    ("Mean latency", "latency_ns_mean", lambda row: format_duration(row["latency_ns_mean"])),
    ("Highest", "latency_ns_max", lambda row: format_duration(row["latency_ns_max"])),
    (FLUSHES, "flushes_per_s", lambda row: format_rate(row["flushes_per_s"], "/s")),
    ("Mean flush", "flush_latency_ns_mean", lambda row: format_duration(row["flush_latency_ns_mean"])),
)
"""What came of it."""

_MEASURES = ("clat", "service", "response", "lat")
"""What stands for the latency, the best last: from the request to its end (lat, response) rather than its last part."""


_TAILS = f"""
WITH buckets AS (
    SELECT capture, run, entity, measure, operation = '{flush.OPERATION}' AS flushes, unnest(bucket_high_ns) AS high,
           unnest(counts) AS count
    FROM histograms WHERE run IS NOT NULL AND measure IN {_MEASURES}
      AND ($operation::VARCHAR IS NULL OR operation = $operation::VARCHAR)
), added AS (
    SELECT capture, run, entity, measure, grouping(entity) AS together, high, sum(count)::DOUBLE AS count,
           bool_and(flushes) AS flushes
    FROM buckets GROUP BY GROUPING SETS ((capture, run, entity, measure, high), (capture, run, measure, high))
), ranked AS (
    SELECT *, sum(count) OVER (own ORDER BY high NULLS LAST) AS rank, sum(count) OVER own AS total FROM added
    WINDOW own AS (PARTITION BY capture, run, entity, measure, together)
)
SELECT capture, run, entity, measure, min(high) FILTER (rank >= $share::DOUBLE * total AND total > 0) AS high_ns
FROM ranked GROUP BY capture, run, entity, measure, together
HAVING $operation::VARCHAR IS NOT NULL OR NOT bool_and(flushes)
"""
"""Buckets are added up here: those of all intervals may be tens of millions. A measure that flushes alone have says
nothing of other operations."""


def tails_ns(store: Store, operation: str | None = None) -> dict[Key, float | None]:
    """(capture, run, entity) -> 99th percentile over all operations or one, from the histograms of the best measure.

    Under the entity None it is of all entities of the run together; None beyond the last bucket.
    """
    rows = store.query(_TAILS, {"share": 0.99, "operation": operation}).to_pylist()
    rows.sort(key=lambda row: _MEASURES.index(row["measure"]))
    return {key_of(row): row["high_ns"] for row in rows}


def tail_words(high_ns: float | None) -> str:
    """A percentile that is known by the bucket that holds it."""
    return "–" if high_ns is None else f"≤ {format_duration(high_ns)}"
