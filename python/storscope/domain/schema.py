"""The tables: what every source writes and every judge reads.

Each column says its unit in its name. Absent is null, never 0. `OBSERVATION_COLUMNS` is the list of canonical
counters; everything else a source says goes to `series`, the packed form of the `counters` table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

SCHEMA_VERSION: Final = 1
"""Raised when a table changes in a way that older code would misread."""

TIME = pa.timestamp("ns", tz="UTC")
_STR = pa.string()
_F64 = pa.float64()
_I64 = pa.int64()


@dataclass(frozen=True, slots=True)
class Column:
    """A canonical counter: its name (which carries the unit) and its meaning."""

    name: str
    meaning: str


OBSERVATION_COLUMNS: Final = (
    Column("ops_per_s", "operations per second: reads and writes; of a benchmark also trims and syncs"),
    Column("read_ops_per_s", "reads per second"),
    Column("write_ops_per_s", "writes per second"),
    Column("bytes_per_s", "bytes per second, both directions"),
    Column("read_bytes_per_s", "bytes read per second"),
    Column("write_bytes_per_s", "bytes written per second"),
    Column("latency_ns_mean", "mean latency of an operation as its user sees it"),
    Column("read_latency_ns_mean", "mean latency of a read"),
    Column("write_latency_ns_mean", "mean latency of a write"),
    Column("latency_ns_max", "greatest latency of an operation"),
    Column("device_latency_ns_mean", "the part of the latency below the host's adapter (ESX: DAVG)"),
    Column("kernel_latency_ns_mean", "the part of the latency inside the host's kernel (ESX: KAVG)"),
    Column("queue_depth_mean", "mean operations in flight"),
    Column("queue_depth_max", "most operations in flight"),
    Column("queued_mean", "mean operations waiting above the queue limit (ESX: QUED)"),
    Column("queue_limit", "operations the queue admits at once (ESX: DQLEN)"),
    Column(
        "busy_ratio",
        "share of the time with at least one operation in flight; no saturation measure; of a simulated group what its "
        "drives used of what they can do",
    ),
    Column("read_hit_ratio", "share of reads served from a cache"),
    Column("forwarded_per_s", "operations per second forwarded to the partner controller (proxied)"),
    Column("cpu_busy_ratio", "busy share of the entity's processor"),
    Column("aborts_per_s", "commands aborted per second"),
    Column("conflicts_per_s", "reservation conflicts per second"),
)
CANONICAL: Final = tuple(column.name for column in OBSERVATION_COLUMNS)

_ENTITY = [("system", _STR), ("kind", _STR), ("entity", _STR)]

OBSERVATIONS = pa.schema(
    [("run", _STR), *_ENTITY, ("time", TIME), ("duration_ns", _I64), *((name, _F64) for name in CANONICAL)]
)
"""What one entity did over one interval; `time` is its start. `run` is null unless a benchmark made it."""

TIMELINES = pa.schema([("timeline", _I64), ("times", pa.list_(TIME)), ("durations_ns", pa.list_(_I64))])
"""The instants that many series share: interval starts and lengths."""

SERIES = pa.schema(
    [("timeline", _I64), ("run", _STR), *_ENTITY, ("name", _STR), ("unit", _STR), ("values", pa.list_(_F64))]
)
"""Packed counters: one row a series and chunk, `values` along its timeline. The store shows them as `counters`."""

HISTOGRAMS = pa.schema(
    [
        ("run", _STR), *_ENTITY, ("time", TIME), ("duration_ns", _I64), ("operation", _STR), ("measure", _STR),
        ("bucket_low_ns", pa.list_(_F64)), ("bucket_high_ns", pa.list_(_F64)), ("counts", pa.list_(_I64)),
    ]
)  # fmt: skip
"""Latency distributions. `measure` says what was timed (fio: slat, clat, lat). A bucket is low < latency <= high."""

EVENTS = pa.schema(
    [
        *_ENTITY, ("time", TIME), ("type", _STR), ("value", _F64), ("baseline", _F64), ("unit", _STR),
        ("attributes", pa.map_(_STR, _STR)), ("text", _STR),
    ]
)  # fmt: skip
"""Something said at an instant. `value` and `baseline` are its numbers in `unit`; `text` is the line itself."""

FACTS = pa.schema([*_ENTITY, ("name", _STR), ("value", _STR), ("number", _F64), ("unit", _STR)])
"""Something configured or counted once: MTU, path policy, packets since boot. `number` where it is one."""

ENTITIES = pa.schema([*_ENTITY, ("label", _STR)])
LINKS = pa.schema([*_ENTITY, ("relation", _STR), ("target_kind", _STR), ("target", _STR)])

RUNS = pa.schema(
    [
        ("run", _STR), ("engine", _STR), ("engine_version", _STR), ("name", _STR), ("system", _STR), ("time", TIME),
        ("duration_ns", _I64), ("block_bytes", _F64), ("read_ratio", _F64), ("random_ratio", _F64),
        ("outstanding", _F64), ("workers", _F64), ("seed", _STR), ("status", _STR),
        ("parameters", pa.map_(_STR, _STR)),
    ]
)  # fmt: skip
"""Benchmarks and simulations. `outstanding` is the configured number in flight over all workers and targets."""

CAPTURES = pa.schema(
    [
        ("path", _STR), ("sha256", _STR), ("size_bytes", _I64), ("format", _STR), ("importer_version", _I64),
        ("tool", _STR), ("tool_version", _STR), ("system", _STR), ("clock", _STR), ("clock_offset_ns", _I64),
        ("first_time", TIME), ("last_time", TIME), ("imported_at", TIME), ("imported_on", _STR),
        ("storscope_version", _STR), ("options", pa.map_(_STR, _STR)), ("row_counts", pa.map_(_STR, _I64)),
        ("omitted", pa.map_(_STR, _I64)), ("warnings", pa.list_(_STR)),
    ]
)  # fmt: skip
"""Where everything came from. `clock` says how its times were placed; `omitted` counts what was left out and why."""

TABLES: Final[dict[str, pa.Schema]] = {
    "observations": OBSERVATIONS,
    "timelines": TIMELINES,
    "series": SERIES,
    "histograms": HISTOGRAMS,
    "events": EVENTS,
    "facts": FACTS,
    "entities": ENTITIES,
    "links": LINKS,
    "runs": RUNS,
}
"""What a source writes. The store adds the column `capture` to each, and the table `captures`."""
