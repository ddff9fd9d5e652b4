"""Counters that come one value at a time, gathered to series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storscope.domain.arrays import FloatArray, IntArray
from storscope.domain.batches import ROWS_PER_BATCH
from storscope.domain.entity import EntityRef

_MOST_VALUES = 20 * ROWS_PER_BATCH

_Values = tuple[list[int], list[int], list[float]]
"""Instants, lengths and values of a counter."""


@dataclass(frozen=True)
class SeriesGroup:
    """Series of one run that were sampled together."""

    timeline: int
    """Which of the timelines they share."""
    run: str | None
    entities: Sequence[EntityRef]
    names: Sequence[str]
    units: Sequence[str]
    values: FloatArray
    """Of shape (series, instants)."""


class OpenSeries:
    """Values by run, entity, name and unit, until they are taken."""

    def __init__(self) -> None:
        self._series: dict[tuple[str | None, EntityRef], dict[tuple[str, str], _Values]] = {}
        self._order: list[tuple[str | None, EntityRef, str, str, _Values]] = []
        """All of them as they came."""
        self._count = 0

    @property
    def is_empty(self) -> bool:
        """Whether no value is held."""
        return not self._count

    @property
    def is_full(self) -> bool:
        """Whether so many values are held that they should be taken."""
        return self._count >= _MOST_VALUES

    def add(
        self,
        run: str | None,
        entity: EntityRef,
        time_ns: int,
        duration_ns: int,
        values: Sequence[tuple[tuple[str, str], float]],
    ) -> None:
        """Values of one instant, each with the name and unit of its counter."""
        counters = self._series.get((run, entity))
        if counters is None:
            counters = self._series[run, entity] = {}
        for key, value in values:
            series = counters.get(key)
            if series is None:
                series = counters[key] = [], [], []
                self._order.append((run, entity, *key, series))
            series[0].append(time_ns)
            series[1].append(duration_ns)
            series[2].append(value)
        self._count += len(values)

    def take(self) -> tuple[list[tuple[IntArray, IntArray]], list[SeriesGroup]]:
        """The timelines as instants and lengths, and the series that share each; afterwards none is held."""
        timelines: dict[tuple[bytes, bytes], int] = {}
        instants: list[tuple[IntArray, IntArray]] = []
        grouped: dict[tuple[int, str | None], list[tuple[EntityRef, str, str, list[float]]]] = {}
        for run, entity, name, unit, (times, durations, values) in self._order:
            pair = (np.asarray(times, np.int64), np.asarray(durations, np.int64))
            key = (pair[0].tobytes(), pair[1].tobytes())
            if key not in timelines:
                timelines[key] = len(instants)
                instants.append(pair)
            grouped.setdefault((timelines[key], run), []).append((entity, name, unit, values))
        groups = []
        for (timeline, run), rows in grouped.items():
            entities, names, units, columns = zip(*rows, strict=True)
            groups.append(SeriesGroup(timeline, run, entities, names, units, np.asarray(columns, dtype=np.float64)))
        self._series.clear()
        self._order.clear()
        self._count = 0
        return instants, groups
