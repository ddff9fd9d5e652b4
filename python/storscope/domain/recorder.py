"""The recorder: what a source calls to write the tables.

A source describes what it read, row by row or column by column; the recorder notes entities, links and times and hands
rows on (`batches.py`) as Arrow batches for a sink: the store's writer, or a list in a test. Memory does not grow with
the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Final

import numpy as np

from storscope.domain.arrays import FloatArray, IntArray
from storscope.domain.batches import Batches, Sink
from storscope.domain.capture_notes import CaptureNotes
from storscope.domain.column_tables import (
    HistogramColumns,
    SeriesKeys,
    any_value,
    histogram_columns,
    observation_columns,
    series_columns,
    series_key_columns,
    timeline_columns,
)
from storscope.domain.entity import KINDS, RELATIONS, EntityRef
from storscope.domain.open_series import OpenSeries
from storscope.domain.schema import CANONICAL

_CANONICAL: Final = frozenset(CANONICAL)
_BEYOND_MEASURE: Final = 2.0**63
"""Nothing takes so many nanoseconds (292 years) or moves so many bytes per second, and no counter counts further.
Products of what is below are finite, as those who judge take them to be."""
_TOO_GREAT: Final = "values that nothing can have measured (2^63 or more)"

__all__ = ["CaptureNotes", "HistogramColumns", "Recorder", "SeriesKeys"]


class Recorder:
    """Collects rows of every table and flushes them to `sink` as Arrow batches."""

    def __init__(self, sink: Sink) -> None:
        self.notes = CaptureNotes()
        self._batches = Batches(sink, self.notes)
        self._open_series = OpenSeries()
        self._entities: dict[EntityRef, str | None] = {}
        self._links: set[tuple[EntityRef, str, str, str]] = set()
        self._timelines = 0
        self._warned: set[str] = set()
        """To find a sentence again at once: some are of one job, of which a file may have hundreds of thousands."""
        self.first_time_ns: int | None = None
        self.last_time_ns: int | None = None

    @property
    def row_counts(self) -> Counter[str]:
        """Rows handed on, by table."""
        return self._batches.row_counts

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

        So does what nothing can have measured, which is counted. A row without a single value is not written.
        """
        finite = {name: value for name, value in canonical.items() if value is not None and isfinite(value)}
        values = {name: value for name, value in finite.items() if abs(value) < _BEYOND_MEASURE}
        self.omit(_TOO_GREAT, len(finite) - len(values))
        if not _CANONICAL.issuperset(canonical):
            unknown = sorted(set(canonical) - _CANONICAL)
            raise KeyError(f"not canonical: {unknown}; use counter() for what has no canonical column")
        if not values:
            return
        self.entity(entity)
        self._see(time_ns, duration_ns)
        named = (run, entity.system, entity.kind, entity.name, time_ns, duration_ns)
        self._batches.add_row("observations", (*named, *map(values.get, CANONICAL)))

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
        columns = self._measurable(columns)
        keep = any_value(columns.values())
        if not keep.any():
            return
        self._see(int(times_ns.min()), 0)
        self._see(int(times_ns[-1]), int(durations_ns[-1]))
        arrays = observation_columns(entities, times_ns, durations_ns, columns, keep, run)
        self._batches.emit("observations", arrays)

    def _measurable(self, columns: Mapping[str, FloatArray]) -> Mapping[str, FloatArray]:
        """The same columns where nothing in them is too great, which is the rule; else copies without it."""
        beyond = {name: np.isfinite(values) & (np.abs(values) >= _BEYOND_MEASURE) for name, values in columns.items()}
        count = sum(int(np.count_nonzero(found)) for found in beyond.values())
        self.omit(_TOO_GREAT, count)
        return {name: np.where(beyond[name], np.nan, columns[name]) for name in columns} if count else columns

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
        self.counters(entity, time_ns, duration_ns, (((name, unit), value),), run=run)

    def counters(
        self,
        entity: EntityRef,
        time_ns: int,
        duration_ns: int | None,
        values: Iterable[tuple[tuple[str, str], float | None]],
        *,
        run: str | None = None,
    ) -> None:
        """Values of several counters at one instant, each with the counter's name and unit; see `counter`."""
        kept = [(key, float(value)) for key, value in values if value is not None and isfinite(value)]
        if not kept:
            return
        self.entity(entity)
        self._see(time_ns, duration_ns)
        self._open_series.add(run, entity, time_ns, duration_ns or 0, kept)
        if self._open_series.is_full:
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
        return series_key_columns(entities, names, units, run)

    def series_chunk(self, timeline: int, keys: SeriesKeys, values: FloatArray) -> None:
        """The next values of many series: of shape (series, instants of that timeline), NaN where absent.

        The array becomes part of the tables without a copy where that is possible: do not change it afterwards.
        """
        if all(values.shape):
            self._batches.emit("series", series_columns(timeline, keys, values))

    def timeline(self, times_ns: Sequence[int] | IntArray, durations_ns: Sequence[int] | IntArray) -> int:
        """Registers instants (interval starts and lengths) that many series share; returns the timeline's number."""
        number = self._timelines
        self._timelines += 1
        if len(times_ns):
            self._see(int(min(times_ns)), 0)
            self._see(int(times_ns[-1]), int(durations_ns[-1]))
        self._batches.emit("timelines", timeline_columns(number, times_ns, durations_ns))
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
        self._batches.add(
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
        (kept,) = np.nonzero(np.diff(buckets.offsets))
        if not len(kept):
            return
        which, when = np.divmod(kept, len(times_ns))
        for number in np.unique(which):
            self.entity(entities[number])
        times, durations = times_ns[when], durations_ns[when]
        self._see(int(times.min()), 0)
        self._see(int((times + durations).max()), 0)
        arrays = histogram_columns(entities, times, durations, which, operation, measure, buckets, run)
        self._batches.emit("histograms", arrays)

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
        self._batches.add(
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
        self._batches.add("facts", **_named(entity), name=name, value=text, number=number, unit=unit)

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
        self._batches.add(
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
        if sentence not in self._warned:
            self._warned.add(sentence)
            self.notes.warnings.append(sentence)

    # Flow --------------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Flushes everything that is still held. Call once, after the last row."""
        self._flush_open_series()
        self._batches.flush_all()
        for entity, label in self._entities.items():
            self._batches.add("entities", **_named(entity), label=label)
        for source, relation, target_kind, target in sorted(self._links, key=_link_order):
            self._batches.add("links", **_named(source), relation=relation, target_kind=target_kind, target=target)
        self._batches.flush("entities")
        self._batches.flush("links")

    @property
    def is_empty(self) -> bool:
        """True when nothing but entities has been recorded."""
        return self._batches.is_empty and self._open_series.is_empty

    def _see(self, time_ns: int, duration_ns: int | None) -> None:
        if not self.notes.has_times:
            return
        end = time_ns + (duration_ns or 0)
        if self.first_time_ns is None or time_ns < self.first_time_ns:
            self.first_time_ns = time_ns
        if self.last_time_ns is None or end > self.last_time_ns:
            self.last_time_ns = end

    def _flush_open_series(self) -> None:
        timelines, groups = self._open_series.take()
        numbers = [self.timeline(*instants) for instants in timelines]
        for group in groups:
            number = numbers[group.timeline]
            self.series(number, group.entities, group.names, group.units, group.values, run=group.run)


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
    return float(value) if isfinite(value) else None
