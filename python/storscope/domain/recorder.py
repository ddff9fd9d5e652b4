"""The recorder: what a source calls to write the tables.

A source describes what it read, row by row or column by column; the recorder makes Arrow batches of the schemas in
`schema.py` and hands each to a sink (the store's writer, or a list in a test). It holds at most `ROWS_PER_BATCH` rows
of a table, so memory does not grow with the file.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from storscope.domain.arrays import FloatArray, IntArray
from storscope.domain.entity import KINDS, RELATIONS, EntityRef
from storscope.domain.schema import CANONICAL, TABLES, TIME

ROWS_PER_BATCH = 50_000

Sink = Callable[[str, pa.RecordBatch], None]
"""Receives (table name, batch of that table's schema)."""


@dataclass
class CaptureNotes:
    """What a source says of itself and of what it left out; ends in the `captures` table."""

    tool: str | None = None
    tool_version: str | None = None
    system: str | None = None
    clock: str | None = None
    """How times were placed: 'UTC in the file', '--timezone Europe/Berlin', 'rebuilt from row order, 20 s steps'."""
    has_times: bool = True
    """False when the source has no times at all: what orders its rows is a placeholder and leaves as null."""
    omitted: Counter[str] = field(default_factory=Counter)
    """Reason -> how many values, rows or lines were left out for it."""
    warnings: list[str] = field(default_factory=list)
    """Doubts about the evidence, each a sentence with a remedy where there is one."""


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


class Recorder:
    """Collects rows of every table and flushes them to `sink` as Arrow batches."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._rows: dict[str, dict[str, list[object]]] = {}
        self._entities: dict[EntityRef, str | None] = {}
        self._links: set[tuple[EntityRef, str, str, str]] = set()
        self._timelines = 0
        self._open_series: dict[tuple[str | None, EntityRef, str, str], tuple[list[int], list[int], list[float]]] = {}
        self._open_values = 0
        self.first_time_ns: int | None = None
        self.last_time_ns: int | None = None
        self.notes = CaptureNotes()
        self.row_counts: Counter[str] = Counter()

    # What is seen ------------------------------------------------------------------------------------------------

    def observe(
        self,
        entity: EntityRef,
        time_ns: int,
        duration_ns: int | None,
        canonical: Mapping[str, float | None],
        *,
        run: str | None = None,
    ) -> None:
        """One observation row. The keys of `canonical` are canonical columns; None and NaN become null.

        A row without a single value is not written.
        """
        values = {name: _finite(value) for name, value in canonical.items()}
        if all(value is None for value in values.values()):
            return
        self.entity(entity)
        self._see(time_ns, duration_ns)
        row = dict.fromkeys(CANONICAL) | values
        if len(row) != len(CANONICAL):
            unknown = sorted(set(values) - set(CANONICAL))
            raise KeyError(f"not canonical: {unknown}; use counter() for what has no canonical column")
        self._add("observations", run=run, **_named(entity), time=time_ns, duration_ns=duration_ns, **row)

    def observe_columns(
        self,
        entities: Sequence[EntityRef],
        times_ns: IntArray,
        durations_ns: IntArray,
        columns: Mapping[str, FloatArray],
        *,
        run: str | None = None,
    ) -> None:
        """Many observations at once: `columns[name]` has shape (len(entities), len(times_ns)), NaN where absent.

        Rows in which every canonical value is NaN are dropped. The arrays become part of the tables without a copy
        where that is possible: do not change them afterwards.
        """
        if not entities or not len(times_ns):
            return
        for entity in entities:
            self.entity(entity)
        keep = _any_value(columns.values())
        if not keep.any():
            return
        is_whole = bool(keep.all())
        when = np.nonzero(keep)[1]
        rows_of = np.count_nonzero(keep, axis=1)
        self._see(int(times_ns.min()), 0)
        self._see(int(times_ns[-1]), int(durations_ns[-1]))
        arrays: dict[str, pa.Array] = {
            "run": _repeated([run], [len(when)]) if run else pa.nulls(len(when), pa.string()),
            "time": _plain(times_ns[when], TIME),
            "duration_ns": _plain(durations_ns[when], pa.int64()),
            "system": _repeated([entity.system for entity in entities], rows_of),
            "kind": _repeated([entity.kind for entity in entities], rows_of),
            "entity": _repeated([entity.name for entity in entities], rows_of),
        }
        for name in CANONICAL:
            values = columns.get(name)
            arrays[name] = (
                pa.nulls(len(when), pa.float64())
                if values is None
                else _nullable(values.ravel() if is_whole else values[keep])
            )
        self._emit("observations", arrays)

    def counter(
        self,
        entity: EntityRef,
        time_ns: int,
        duration_ns: int | None,
        name: str,
        unit: str,
        value: float | None,
        *,
        run: str | None = None,
    ) -> None:
        """One value of a counter that has no canonical column. Unit as the source has it ('ms', 'KiB/s', '')."""
        value = _finite(value)
        if value is None:
            return
        self.entity(entity)
        self._see(time_ns, duration_ns)
        times, durations, values = self._open_series.setdefault((run, entity, name, unit), ([], [], []))
        times.append(time_ns)
        durations.append(duration_ns or 0)
        values.append(value)
        self._open_values += 1
        if self._open_values >= 20 * ROWS_PER_BATCH:
            self._flush_open_series()

    def series(
        self,
        timeline: int,
        entities: Sequence[EntityRef],
        names: Sequence[str],
        units: Sequence[str],
        values: FloatArray,
        *,
        run: str | None = None,
    ) -> None:
        """Many series over one timeline: `values` has shape (series, instants), NaN where absent."""
        self.series_chunk(timeline, self.series_keys(entities, names, units, run=run), values)

    def series_keys(
        self, entities: Sequence[EntityRef], names: Sequence[str], units: Sequence[str], *, run: str | None = None
    ) -> SeriesKeys:
        """What identifies many series, made once for a source that writes them chunk by chunk."""
        previous = None
        for entity in entities:
            if entity is not previous:
                self.entity(entity)
                previous = entity
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

    def series_chunk(self, timeline: int, keys: SeriesKeys, values: FloatArray) -> None:
        """The next values of many series: of shape (series, instants of that timeline), NaN where absent.

        The array becomes part of the tables without a copy where that is possible: do not change it afterwards.
        """
        series, instants = values.shape
        if not series or not instants:
            return
        offsets = np.arange(series + 1, dtype=np.int32) * np.int32(instants)
        packed = pa.ListArray.from_arrays(_plain(offsets, pa.int32()), _nullable(values.ravel()))
        numbers = _plain(np.full(series, timeline, np.int64), pa.int64())
        self._emit("series", {"timeline": numbers, **keys.columns, "values": packed})

    def timeline(self, times_ns: Sequence[int] | IntArray, durations_ns: Sequence[int] | IntArray) -> int:
        """Registers instants (interval starts and lengths) that many series share; returns the timeline's number."""
        number = self._timelines
        self._timelines += 1
        if len(times_ns):
            self._see(int(min(times_ns)), 0)
            self._see(int(times_ns[-1]), int(durations_ns[-1]))
        times = _plain(np.asarray(times_ns, dtype=np.int64), TIME)
        durations = _plain(np.asarray(durations_ns, dtype=np.int64), pa.int64())
        self._emit(
            "timelines",
            {
                "timeline": pa.array([number], pa.int64()),
                "times": pa.ListArray.from_arrays(pa.array([0, len(times)], pa.int32()), times),
                "durations_ns": pa.ListArray.from_arrays(pa.array([0, len(durations)], pa.int32()), durations),
            },
        )
        return number

    def histogram(
        self,
        entity: EntityRef,
        time_ns: int,
        duration_ns: int | None,
        operation: str,
        measure: str,
        buckets: Sequence[tuple[float, float, int]],
        *,
        run: str | None = None,
    ) -> None:
        """One latency distribution: buckets of (low, high, count), low < latency <= high in ns."""
        if not buckets:
            return
        self.entity(entity)
        self._see(time_ns, duration_ns)
        self._add(
            "histograms",
            run=run,
            **_named(entity),
            time=time_ns,
            duration_ns=duration_ns,
            operation=operation,
            measure=measure,
            bucket_low_ns=[low for low, _, _ in buckets],
            bucket_high_ns=[high for _, high, _ in buckets],
            counts=[count for _, _, count in buckets],
        )

    def histogram_columns(
        self,
        entities: Sequence[EntityRef],
        times_ns: IntArray,
        durations_ns: IntArray,
        operation: str,
        measure: str,
        buckets: HistogramColumns,
        *,
        run: str | None = None,
    ) -> None:
        """Many distributions at once: number `i * len(times_ns) + j` is of entity i at instant j.

        Those without a bucket are dropped.
        """
        lengths = np.diff(buckets.offsets)
        (kept,) = np.nonzero(lengths)
        if not len(kept):
            return
        which, when = np.divmod(kept, len(times_ns))
        for number in np.unique(which):
            self.entity(entities[number])
        times, durations = times_ns[when], durations_ns[when]
        self._see(int(times.min()), 0)
        self._see(int((times + durations).max()), 0)
        offsets = _plain(np.concatenate(([0], np.cumsum(lengths[kept]))).astype(np.int32), pa.int32())
        rows_of = np.bincount(which, minlength=len(entities))
        count = len(kept)
        self._emit(
            "histograms",
            {
                "run": _repeated([run], [count]) if run else pa.nulls(count, pa.string()),
                "time": _plain(times, TIME),
                "duration_ns": _plain(durations, pa.int64()),
                "system": _repeated([entity.system for entity in entities], rows_of),
                "kind": _repeated([entity.kind for entity in entities], rows_of),
                "entity": _repeated([entity.name for entity in entities], rows_of),
                "operation": _repeated([operation], [count]),
                "measure": _repeated([measure], [count]),
                "bucket_low_ns": pa.ListArray.from_arrays(offsets, _nullable(buckets.low)),
                "bucket_high_ns": pa.ListArray.from_arrays(offsets, _nullable(buckets.high)),
                "counts": pa.ListArray.from_arrays(offsets, _plain(buckets.count, pa.int64())),
            },
        )

    def event(
        self,
        entity: EntityRef,
        time_ns: int | None,
        type: str,  # noqa: A002  the column's name
        text: str,
        *,
        value: float | None = None,
        baseline: float | None = None,
        unit: str | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        """Something said at an instant; `time_ns` None when the line carries no time."""
        self.entity(entity)
        if time_ns is not None:
            self._see(time_ns, 0)
        self._add(
            "events",
            **_named(entity),
            time=time_ns,
            type=type,
            value=_finite(value),
            baseline=_finite(baseline),
            unit=unit,
            attributes=list((attributes or {}).items()),
            text=text,
        )

    # What is known -----------------------------------------------------------------------------------------------

    def fact(self, entity: EntityRef, name: str, value: str | float | bool | None, unit: str | None = None) -> None:
        """Something configured or counted once. None is not written; numbers are kept both as text and as number."""
        if value is None:
            return
        self.entity(entity)
        number: float | None = None
        if isinstance(value, bool):
            text = "true" if value else "false"
        elif isinstance(value, int | float):
            number, text = float(value), f"{value}"
        else:
            text = value
        self._add("facts", **_named(entity), name=name, value=text, number=number, unit=unit)

    def entity(self, entity: EntityRef, label: str | None = None) -> EntityRef:
        """Registers an entity, with a friendlier label where the source has one; returns it."""
        if entity not in self._entities:
            if entity.kind not in KINDS:
                raise KeyError(f"unknown entity kind {entity.kind!r}")
            self._entities[entity] = label
        elif label is not None:
            self._entities[entity] = label
        return entity

    def link(self, source: EntityRef, relation: str, target: EntityRef) -> None:
        """`source` stands in `relation` (a key of RELATIONS) to `target`."""
        if relation not in RELATIONS:
            raise KeyError(f"unknown relation {relation!r}")
        self.entity(source)
        self.entity(target)
        self._links.add((source, relation, target.kind, target.name))

    def run(
        self,
        run: str,
        *,
        engine: str,
        name: str,
        system: str,
        time_ns: int | None = None,
        duration_ns: int | None = None,
        engine_version: str | None = None,
        block_bytes: float | None = None,
        read_ratio: float | None = None,
        random_ratio: float | None = None,
        outstanding: float | None = None,
        workers: float | None = None,
        seed: str | None = None,
        status: str | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> str:
        """A benchmark or simulation; `run` is its name, unique within the capture. Returns it."""
        self._add(
            "runs", run=run, engine=engine, engine_version=engine_version, name=name, system=system, time=time_ns,
            duration_ns=duration_ns, block_bytes=_finite(block_bytes), read_ratio=_finite(read_ratio),
            random_ratio=_finite(random_ratio), outstanding=_finite(outstanding), workers=_finite(workers), seed=seed,
            status=status, parameters=list((parameters or {}).items()),
        )  # fmt: skip
        return run

    # What is doubted ---------------------------------------------------------------------------------------------

    def omit(self, reason: str, count: int = 1) -> None:
        """Counts something that was read and not recorded, with the reason a user will see."""
        if count:
            self.notes.omitted[reason] += count

    def warn(self, sentence: str) -> None:
        """A doubt about the evidence; the same sentence is kept once."""
        if sentence not in self.notes.warnings:
            self.notes.warnings.append(sentence)

    # Flow --------------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Flushes everything that is still held. Call once, after the last row."""
        self._flush_open_series()
        for table in list(self._rows):
            self._flush(table)
        for entity, label in self._entities.items():
            self._add("entities", **_named(entity), label=label)
        for source, relation, target_kind, target in sorted(self._links, key=_link_order):
            self._add("links", **_named(source), relation=relation, target_kind=target_kind, target=target)
        self._flush("entities")
        self._flush("links")

    @property
    def is_empty(self) -> bool:
        """True when nothing but entities has been recorded."""
        pending = any(rows and next(iter(rows.values())) for rows in self._rows.values())
        return not (pending or self.row_counts or self._open_values)

    def _see(self, time_ns: int, duration_ns: int | None) -> None:
        if not self.notes.has_times:
            return
        end = time_ns + (duration_ns or 0)
        if self.first_time_ns is None or time_ns < self.first_time_ns:
            self.first_time_ns = time_ns
        if self.last_time_ns is None or end > self.last_time_ns:
            self.last_time_ns = end

    def _add(self, table: str, **row: object) -> None:
        rows = self._rows.setdefault(table, {name: [] for name in TABLES[table].names})
        for name, value in row.items():
            rows[name].append(value)
        if len(rows["system" if "system" in rows else "run"]) >= ROWS_PER_BATCH:
            self._flush(table)

    def _flush(self, table: str) -> None:
        rows = self._rows.pop(table, None)
        if rows:
            self._emit(table, {name: pa.array(values, TABLES[table].field(name).type) for name, values in rows.items()})

    def _flush_open_series(self) -> None:
        """Groups the open series by their instants, so that series sampled together share a timeline."""
        timelines: dict[tuple[bytes, bytes], int] = {}
        grouped: dict[tuple[int, str | None], list[tuple[EntityRef, str, str, list[float]]]] = {}
        for (run, entity, name, unit), (times, durations, values) in self._open_series.items():
            instants = (np.asarray(times, np.int64), np.asarray(durations, np.int64))
            key = (instants[0].tobytes(), instants[1].tobytes())
            if key not in timelines:
                timelines[key] = self.timeline(*instants)
            grouped.setdefault((timelines[key], run), []).append((entity, name, unit, values))
        for (timeline, run), rows in grouped.items():
            entities, names, units, columns = zip(*rows, strict=True)
            self.series(timeline, entities, names, units, np.asarray(columns, dtype=np.float64), run=run)
        self._open_series.clear()
        self._open_values = 0

    def _emit(self, table: str, arrays: Mapping[str, pa.Array]) -> None:
        schema = TABLES[table]
        if not self.notes.has_times:
            arrays = dict(arrays) | {name: _without_times(arrays[name]) for name in ("time", "times") if name in arrays}
        columns = [
            array if array.type == (wanted := schema.field(name).type) else array.cast(wanted)
            for name, array in ((name, arrays[name]) for name in schema.names)
        ]
        batch = pa.RecordBatch.from_arrays(columns, schema=schema)
        self.row_counts[table] += batch.num_rows
        self._sink(table, batch)


def _without_times(array: pa.Array) -> pa.Array:
    """Null in the place of each placeholder, lists at their length."""
    if not isinstance(array, pa.ListArray):
        return pa.nulls(len(array), array.type)
    return pa.ListArray.from_arrays(array.offsets, pa.nulls(len(array.values), array.type.value_type))


def _link_order(link: tuple[EntityRef, str, str, str]) -> tuple[str, ...]:
    """Comparing entities themselves takes ten times as long."""
    source, *rest = link
    return (source.system, source.kind, source.name, *rest)


def _named(entity: EntityRef) -> dict[str, str]:
    return {"system": entity.system, "kind": entity.kind, "entity": entity.name}


def _finite(value: float | None) -> float | None:
    """None for what is no number: a NaN or an infinity in a table would poison every mean."""
    if value is None:
        return None
    return float(value) if math.isfinite(value) else None


def _any_value(columns: Iterable[FloatArray]) -> npt.NDArray[np.bool_]:
    """Where at least one of the columns has a number. Stops at the first column that has one everywhere."""
    found: npt.NDArray[np.bool_] = np.zeros((), bool)
    for values in columns:
        found = found | ~np.isnan(values)
        if found.all():
            break
    return found


# From NumPy's memory to Arrow's without a copy. `pa.array` would copy what has nulls, and its first call for an ndarray
# imports numpy.ma.


def _nullable(values: FloatArray) -> pa.Array:
    """A float array with NaN and infinities as null, over the same memory."""
    values = np.ascontiguousarray(values)
    finite = np.isfinite(values)
    missing = len(values) - int(np.count_nonzero(finite))
    valid = pa.py_buffer(np.packbits(finite, bitorder="little")) if missing else None
    return pa.Array.from_buffers(pa.float64(), len(values), [valid, pa.py_buffer(values)], missing)


def _plain(values: npt.NDArray[np.int64] | npt.NDArray[np.int32], kind: pa.DataType) -> pa.Array:
    """An integer array without nulls as an Arrow array of a type of the same width, over the same memory."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))], 0)


def _repeated(texts: Sequence[str], counts: Sequence[int] | IntArray) -> pa.Array:
    """Each text as often as its count says, one after another."""
    if len(set(texts)) == 1:
        texts, counts = texts[:1], [int(np.sum(counts))]
    encoded = [text.encode("utf-8") for text in texts]
    lengths = np.repeat(np.array([len(text) for text in encoded], np.int64), counts)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    if offsets[-1] > np.iinfo(np.int32).max:
        return pa.array(np.repeat(np.array(texts, object), counts), pa.string())
    data = b"".join(text * int(count) for text, count in zip(encoded, counts, strict=True))
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data))
