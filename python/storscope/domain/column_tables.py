"""Many rows of a table at once: the columns of Arrow that arrays of NumPy become."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from storscope.domain.arrays import BoolArray, FloatArray, IntArray
from storscope.domain.arrow_columns import nullable, plain, repeated
from storscope.domain.entity import EntityRef
from storscope.domain.schema import CANONICAL, TIME


@dataclass(frozen=True)
class SeriesKeys:
    """Run, entity, name and unit of many series, as columns of the `series` table."""

    columns: Mapping[str, pa.Array]


@dataclass(frozen=True)
class HistogramColumns:
    """Many histograms one after another: number i has the buckets from `offsets[i]` to `offsets[i + 1]`.

    As in the tables: low < latency <= high in ns.
    """

    offsets: IntArray
    low: FloatArray
    high: FloatArray
    count: IntArray


def observation_columns(
    entities: Sequence[EntityRef],
    times_ns: IntArray,
    durations_ns: IntArray,
    columns: Mapping[str, FloatArray],
    keep: BoolArray,
    run: str | None,
) -> dict[str, pa.Array]:
    """Observations where `keep`, of shape (len(entities), len(times_ns)), says so."""
    is_whole = bool(keep.all())
    when = np.nonzero(keep)[1]
    arrays = {
        "run": _run_column(run, len(when)),
        "time": plain(times_ns[when], TIME),
        "duration_ns": plain(durations_ns[when], pa.int64()),
        **_entity_columns(entities, np.count_nonzero(keep, axis=1)),
    }
    for name in CANONICAL:
        values = columns.get(name)
        arrays[name] = (
            pa.nulls(len(when), pa.float64())
            if values is None
            else nullable(values.ravel() if is_whole else values[keep])
        )
    return arrays


def any_value(columns: Iterable[FloatArray]) -> BoolArray:
    """Where at least one of the columns has a number. Stops at the first column that has one everywhere."""
    found: BoolArray = np.zeros((), bool)
    for values in columns:
        found = found | ~np.isnan(values)
        if found.all():
            break
    return found


def series_key_columns(
    entities: Sequence[EntityRef], names: Sequence[str], units: Sequence[str], run: str | None
) -> SeriesKeys:
    """What identifies many series."""
    return SeriesKeys(
        {
            "run": pa.array([run] * len(entities), pa.string()),
            "system": pa.array([entity.system for entity in entities], pa.string()),
            "kind": pa.array([entity.kind for entity in entities], pa.string()),
            "entity": pa.array([entity.name for entity in entities], pa.string()),
            "name": pa.array(list(names), pa.string()),
            "unit": pa.array(list(units), pa.string()),
        }
    )


def series_columns(timeline: int, keys: SeriesKeys, values: FloatArray) -> dict[str, pa.Array]:
    """Values of many series: of shape (series, instants of that timeline), NaN where absent."""
    series, instants = values.shape
    offsets = np.arange(series + 1, dtype=np.int32) * np.int32(instants)
    packed = pa.ListArray.from_arrays(plain(offsets, pa.int32()), nullable(values.ravel()))
    numbers = plain(np.full(series, timeline, np.int64), pa.int64())
    return {"timeline": numbers, **keys.columns, "values": packed}


def timeline_columns(
    number: int, times_ns: Sequence[int] | IntArray, durations_ns: Sequence[int] | IntArray
) -> dict[str, pa.Array]:
    """One timeline: interval starts and lengths."""
    times = plain(np.asarray(times_ns, dtype=np.int64), TIME)
    durations = plain(np.asarray(durations_ns, dtype=np.int64), pa.int64())
    return {
        "timeline": pa.array([number], pa.int64()),
        "times": pa.ListArray.from_arrays(pa.array([0, len(times)], pa.int32()), times),
        "durations_ns": pa.ListArray.from_arrays(pa.array([0, len(durations)], pa.int32()), durations),
    }


def histogram_columns(
    entities: Sequence[EntityRef],
    times_ns: IntArray,
    durations_ns: IntArray,
    which: IntArray,
    operation: str,
    measure: str,
    buckets: HistogramColumns,
    run: str | None,
) -> dict[str, pa.Array]:
    """Those of many distributions that have buckets; number i is of entity `which[i]`, in rising order."""
    lengths = np.diff(buckets.offsets)
    offsets = plain(np.concatenate(([0], np.cumsum(lengths[lengths > 0]))).astype(np.int32), pa.int32())
    count = len(which)
    return {
        "run": _run_column(run, count),
        "time": plain(times_ns, TIME),
        "duration_ns": plain(durations_ns, pa.int64()),
        **_entity_columns(entities, np.bincount(which, minlength=len(entities))),
        "operation": repeated([operation], [count]),
        "measure": repeated([measure], [count]),
        "bucket_low_ns": pa.ListArray.from_arrays(offsets, nullable(buckets.low)),
        "bucket_high_ns": pa.ListArray.from_arrays(offsets, nullable(buckets.high)),
        "counts": pa.ListArray.from_arrays(offsets, plain(buckets.count, pa.int64())),
    }


def _run_column(run: str | None, count: int) -> pa.Array:
    return repeated([run], [count]) if run else pa.nulls(count, pa.string())


def _entity_columns(entities: Sequence[EntityRef], rows_of: IntArray) -> dict[str, pa.Array]:
    return {
        "system": repeated([entity.system for entity in entities], rows_of),
        "kind": repeated([entity.kind for entity in entities], rows_of),
        "entity": repeated([entity.name for entity in entities], rows_of),
    }
