"""Which column of a PDH-CSV goes where: decided once from the header, so that a block of rows costs no work a column.

Every wanted column gets a slot of the block's array. The first slots are the packed series; then, family by family,
one run of slots a canonical column, one slot an entity. The core stores, scales and checks while it reads, and a block
becomes tables by slicing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from storscope import _core
from storscope.domain import units
from storscope.domain.entity import EntityRef
from storscope.sources.importers._pdh_names import Place, place_of, split_path

FloatArray = npt.NDArray[np.float64]

_WRAPPED: Final = 1e18
"""No counter counts so far; a 64-bit one that went below zero reads 1.8e19, and divided by an interval 1e18."""

_GREATEST: Final = {"per_s": 1e10, "bytes": 1e14, "latency": 1e5 * units.NS_PER_S, "queue": 1e7, "ratio": 1e4}
"""Above these a canonical value is impossible: operations or bytes per second, latency (28 h), queue, ratio."""


@dataclass(frozen=True)
class Target:
    """A canonical column: value = cell * factor + offset, and the greatest cell that is possible."""

    column: str
    factor: float = 1.0
    offset: float = 0.0

    @property
    def greatest_cell(self) -> float:
        """In the unit of the source."""
        name = self.column
        kind = ("latency" if "latency" in name else "queue" if "queue" in name else "ratio" if "ratio" in name
                else "bytes" if "bytes" in name else "per_s")  # fmt: skip
        return (_GREATEST[kind] + abs(self.offset)) / abs(self.factor)


def no_target(_counter: str) -> Target | None:
    """For places without canonical columns."""
    return None


@dataclass(frozen=True)
class Home:
    """Where the counters of one place go: to an entity, some to canonical columns, the rest to series."""

    entity: EntityRef
    target_of: Callable[[str], Target | None] = no_target
    prefix: str = ""
    """Put before a series' name where several places share the entity."""


@dataclass(frozen=True)
class Family:
    """Entities of one kind and the slots of their canonical columns: (first, after the last), an entity each."""

    entities: Sequence[EntityRef]
    slots: Mapping[str, tuple[int, int]]


@dataclass
class Layout:
    """The whole header, laid out."""

    series_entities: list[EntityRef]
    series_names: list[str]
    series_units: list[str]
    families: list[Family]
    plan: _core.WideCsvPlan
    slot_count: int
    places: dict[Place, Home]
    omitted: Counter[str]

    @property
    def series_count(self) -> int:
        """How many slots are series; they come first."""
        return len(self.series_names)


class LayoutMaker:
    """Collects columns and then numbers the slots."""

    def __init__(self, home_of: Callable[[Place], Home], unit_of: Callable[[str], str]) -> None:
        self._home_of = home_of
        self._unit_of = unit_of
        self._homes: dict[str, Home] = {}
        self._places: dict[Place, Home] = {}
        self._units: dict[str, str] = {}
        self._series: dict[tuple[EntityRef, str], int] = {}
        self._canonical: dict[str, dict[str, dict[EntityRef, tuple[int, Target]]]] = {}
        self._omitted: Counter[str] = Counter()

    def make(self, names: Sequence[str], *, decimal_comma: bool = False) -> Layout:
        """The layout of columns called `names`, the clock's column not among them."""
        for column, name in enumerate(names):
            parts = split_path(name)
            if parts is None:
                self._omitted["columns whose name is no counter path"] += 1
            else:
                self._add(column, *parts)
        return self._numbered(len(names), decimal_comma)

    def _add(self, column: int, place: str, counter: str) -> None:
        home = self._homes.get(place) or self._home(place)
        target = home.target_of(counter)
        if target is not None:
            taken = self._canonical.setdefault(home.entity.kind, {}).setdefault(target.column, {})
            if home.entity not in taken:
                taken[home.entity] = (column, target)
                return
        if self._series.setdefault((home.entity, home.prefix + counter), column) != column:
            self._omitted["columns that repeat an earlier one"] += 1
        elif counter not in self._units:
            self._units[counter] = self._unit_of(counter)

    def _home(self, place: str) -> Home:
        parts = place_of(place)
        home = self._homes[place] = self._places[parts] = self._home_of(parts)
        return home

    def _numbered(self, columns: int, decimal_comma: bool) -> Layout:
        slots = np.full(columns, -1, np.int32)
        numbers = np.empty((4, columns))
        numbers[:] = np.array([[1.0], [0.0], [-_WRAPPED], [_WRAPPED]])
        slots[list(self._series.values())] = np.arange(len(self._series))
        families, slot = [], len(self._series)
        for by_column in self._canonical.values():
            entities = list(dict.fromkeys(entity for taken in by_column.values() for entity in taken))
            row = {entity: number for number, entity in enumerate(entities)}
            runs = {}
            for name, taken in by_column.items():
                runs[name] = (slot, slot + len(entities))
                for entity, (column, target) in taken.items():
                    slots[column] = slot + row[entity]
                    numbers[:, column] = target.factor, target.offset, 0.0, target.greatest_cell
                slot += len(entities)
            families.append(Family(entities, runs))
        return Layout(
            series_entities=[entity for entity, _ in self._series],
            series_names=[name for _, name in self._series],
            series_units=[self._units[name.rpartition("\\")[2]] for _, name in self._series],
            families=families,
            plan=_core.WideCsvPlan(slots, numbers, slot_count=slot, decimal_comma=decimal_comma),
            slot_count=slot,
            places=self._places,
            omitted=self._omitted,
        )


_RATE_OF_LATENCY: Final = {
    "latency_ns_mean": "ops_per_s",
    "device_latency_ns_mean": "ops_per_s",
    "kernel_latency_ns_mean": "ops_per_s",
    "read_latency_ns_mean": "read_ops_per_s",
    "write_latency_ns_mean": "write_ops_per_s",
}


def without_idle_latencies(columns: Mapping[str, FloatArray]) -> int:
    """Takes the latency out of intervals without operations, where the tools print 0 (or keep the last one).

    Changes the arrays. Returns how many latencies above 0 were taken out: of those the rate had been rounded to 0.
    """
    rounded_away = 0
    for latency, rate in _RATE_OF_LATENCY.items():
        if latency in columns and rate in columns:
            idle = columns[rate] == 0.0
            rounded_away += int(np.count_nonzero(columns[latency][idle] > 0.0))
            columns[latency][idle] = math.nan
    return rounded_away
