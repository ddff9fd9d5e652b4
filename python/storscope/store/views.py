"""The tables as a query sees them: stored columns, plus what follows from them without a guess."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from storscope.domain.schema import TIME

_TYPE_NAMES: Final = {pa.string(): "VARCHAR", pa.float64(): "DOUBLE", pa.int64(): "BIGINT", TIME: "TIMESTAMPTZ_NS"}


def _is_idle(direction: str, other: str) -> str:
    """SQL: a direction did nothing, or nothing at all is told of it beside operations of the other.

    The latter is a table of reads alone, whose latency is all there is. A direction whose rate alone is missing may be
    most of the operations; so may one of which nothing is told where all together did more than the other.
    """
    untold = " AND ".join(f"{direction}_{name} IS NULL" for name in ("ops_per_s", "bytes_per_s", "latency_ns_mean"))
    has_all = f"coalesce(ops_per_s, {other}_ops_per_s) <= {other}_ops_per_s"
    return f"{other}_ops_per_s > 0 AND ({direction}_ops_per_s = 0 OR ({untold} AND {has_all}))"


_LATENCIES: Final = "coalesce(latency_ns_mean, read_latency_ns_mean, write_latency_ns_mean, device_latency_ns_mean)"
_OPS: Final = "coalesce(ops_per_s, read_ops_per_s + write_ops_per_s)"
_BY_QUEUE_NS: Final = f"1e9 * queue_depth_mean / {_OPS}"
_IS_BY_QUEUE: Final = f"""({_LATENCIES} IS NULL AND run IS NULL AND {_OPS} > 0 AND queue_depth_mean > 0
    AND {_BY_QUEUE_NS} <= coalesce(duration_ns, 'infinity'::DOUBLE))"""
"""Where a latency is taken from the queue: mean in flight over rate (Little, Operations Research 9, 1961), of reads and
writes together. No latency at all is told of the row, something was done, and in a system that runs: what a benchmark
is asked to keep in flight is no mean. The law is of times far longer than one latency: what is told is off by at most
the latency over the interval, so one that is longer than its interval is none.
"""
_TOTALS: Final = {
    "ops_per_s": _OPS,
    "bytes_per_s": "coalesce(bytes_per_s, read_bytes_per_s + write_bytes_per_s)",
    # Mean over both directions, weighted by operations; an idle direction has no latency and needs none.
    "latency_ns_mean": f"""coalesce(latency_ns_mean, CASE
        WHEN read_ops_per_s > 0 AND write_ops_per_s > 0
        THEN (read_ops_per_s * read_latency_ns_mean + write_ops_per_s * write_latency_ns_mean)
             / (read_ops_per_s + write_ops_per_s)
        WHEN {_is_idle("write", "read")} THEN read_latency_ns_mean
        WHEN {_is_idle("read", "write")} THEN write_latency_ns_mean
        END, CASE WHEN {_IS_BY_QUEUE} THEN {_BY_QUEUE_NS} END)""",
}
"""Totals that a source did not give, where both parts are known, or nothing is told of the other; and a latency that
none was told of, from the queue."""
DERIVED: Final = "latency_is_derived"
"""A column of the view: whether `latency_ns_mean` was taken from the queue."""


def stored_columns(schema: pa.Schema) -> str:
    """The select list of a stored table: `capture` first, then the schema's columns, as what the schema says they are.

    A file of another hand may have a text where a number belongs. Of one that has what it should the cast is nothing.
    """
    return ", ".join(["capture", *(f"CAST({name} AS {_type_name(kind)}) AS {name}" for name, kind in _fields(schema))])


def _fields(schema: pa.Schema) -> Iterator[tuple[str, pa.DataType]]:
    return zip(schema.names, schema.types, strict=True)


def _type_name(kind: pa.DataType) -> str:
    """The engine's word for a type of the schemas."""
    if pa.types.is_list(kind):
        return f"{_type_name(kind.value_type)}[]"
    if pa.types.is_map(kind):
        return f"MAP({_type_name(kind.key_type)}, {_type_name(kind.item_type)})"
    return _TYPE_NAMES[kind]


def _observations() -> str:
    replacements = ", ".join(f"{expression} AS {name}" for name, expression in _TOTALS.items())
    return (
        f"CREATE VIEW observations AS SELECT * REPLACE ({replacements}), coalesce({_IS_BY_QUEUE}, false) AS {DERIVED} "
        "FROM stored_observations"
    )


def _plain(table: str) -> str:
    return f"CREATE VIEW {table} AS SELECT * FROM stored_{table}"


_COUNTERS = """
CREATE VIEW counters AS
SELECT capture, run, system, kind, entity, time, duration_ns, name, unit, value
FROM (
    SELECT s.capture, s.run, s.system, s.kind, s.entity, s.name, s.unit,
           unnest(t.times) AS time, unnest(t.durations_ns) AS duration_ns, unnest(s.values) AS value
    FROM stored_series s JOIN stored_timelines t ON s.capture = t.capture AND s.timeline = t.timeline
)
WHERE value IS NOT NULL
"""

VIEWS: Final[dict[str, str]] = {
    "observations": _observations(),
    **{name: _plain(name) for name in ("series", "timelines", "histograms", "events", "facts", "entities", "links",
                                       "runs", "captures")},
    "counters": _COUNTERS,
}  # fmt: skip
BENEATH: Final[dict[str, tuple[str, ...]]] = {"counters": ("series", "timelines")}
"""Views that a view reads besides its own table."""
