"""Which column of a PDH-CSV goes where: decided once from the header, so that a block of rows costs no work a column.

Every wanted column gets a slot of the block's array. The first slots are the packed series; then, family by family,
one run of slots a canonical column, one slot an entity. The core stores, scales and checks while it reads, and a block
becomes tables by slicing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from storscope import _core
from storscope.domain import units
from storscope.domain.arrays import FloatArray
from storscope.domain.entity import EntityRef
from storscope.sources.importers._pdh_names import Place, place_of

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

    @cached_property
    def numbers(self) -> tuple[float, float, float, float]:
        """Factor, offset, and the least and greatest cell that are possible, in the unit of the source."""
        name = self.column
        kind = ("latency" if "latency" in name else "queue" if "queue" in name else "ratio" if "ratio" in name
                else "bytes" if "bytes" in name else "per_s")  # fmt: skip
        return self.factor, self.offset, 0.0, (_GREATEST[kind] + abs(self.offset)) / abs(self.factor)


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


@dataclass
class _Member:
    """One entity: its columns by the name of the series, and by canonical column."""

    entity: EntityRef
    series: dict[str, int] = field(default_factory=dict)
    canonical: dict[str, tuple[int, Target]] = field(default_factory=dict)


class LayoutMaker:
    """Collects columns and then numbers the slots."""

    def __init__(self, home_of: Callable[[Place], Home], unit_of: Callable[[str], str]) -> None:
        self._home_of = home_of
        self._unit_of = unit_of
        self._homes: dict[str, tuple[Home, _Member]] = {}
        self._places: dict[Place, Home] = {}
        self._members: dict[EntityRef, _Member] = {}
        self._omitted: Counter[str] = Counter()

    def make(self, names: Sequence[str], *, decimal_comma: bool = False) -> Layout:
        """The layout of columns called `names`, the clock's column not among them."""
        for column, name in enumerate(names):
            place, _, counter = name.rpartition("\\")
            found = self._homes.get(place) or self._home(place)
            if found is None or not counter:
                self._omitted["columns whose name is no counter path"] += 1
                continue
            home, member = found
            target = home.target_of(counter)
            if target is not None and target.column not in member.canonical:
                member.canonical[target.column] = column, target
            elif member.series.setdefault(home.prefix + counter, column) != column:
                self._omitted["columns that repeat an earlier one"] += 1
        return self._numbered(len(names), decimal_comma)

    def _home(self, place: str) -> tuple[Home, _Member] | None:
        """None when this is no place: what a name without a backslash in front begins with."""
        if not place.startswith("\\") or not place.strip("\\"):
            return None
        parts = place_of(place)
        home = self._places[parts] = self._home_of(parts)
        member = self._members.setdefault(home.entity, _Member(home.entity))
        self._homes[place] = home, member
        return home, member

    def _numbered(self, columns: int, decimal_comma: bool) -> Layout:
        slots = np.full(columns, -1, np.int32)
        numbers = np.tile(np.array([[1.0], [0.0], [-_WRAPPED], [_WRAPPED]]), columns)
        in_series = [(member.entity, name, column) for member in self._members.values()
                     for name, column in member.series.items()]  # fmt: skip
        slots[[column for _, _, column in in_series]] = np.arange(len(in_series))
        families, count = self._families(slots, numbers, len(in_series))
        names = [name for _, name, _ in in_series]
        return Layout(
            series_entities=[entity for entity, _, _ in in_series],
            series_names=names,
            series_units=self._units(names),
            families=families,
            plan=_core.WideCsvPlan(slots, numbers, slot_count=count, decimal_comma=decimal_comma),
            slot_count=count,
            places=self._places,
            omitted=self._omitted,
        )

    def _families(self, slots: npt.NDArray[np.int32], numbers: FloatArray, first_slot: int) -> tuple[list[Family], int]:
        """Numbers the slots of canonical columns from `first_slot` on; returns the families and the count of slots."""
        by_kind: dict[str, list[_Member]] = {}
        for member in self._members.values():
            if member.canonical:
                by_kind.setdefault(member.entity.kind, []).append(member)
        families = []
        for members in by_kind.values():
            runs = {}
            for name in dict.fromkeys(name for member in members for name in member.canonical):
                runs[name] = (first_slot, first_slot + len(members))
                filled = [(first_slot + row, *member.canonical[name]) for row, member in enumerate(members)
                          if name in member.canonical]  # fmt: skip
                where = [column for _, column, _ in filled]
                slots[where] = [slot for slot, _, _ in filled]
                numbers[:, where] = np.array([target.numbers for _, _, target in filled]).T
                first_slot += len(members)
            families.append(Family([member.entity for member in members], runs))
        return families, first_slot

    def _units(self, names: Sequence[str]) -> list[str]:
        known: dict[str, str] = {}
        for name in names:
            if name not in known:
                known[name] = self._unit_of(name.rpartition("\\")[2])
        return [known[name] for name in names]


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
            rounded_away += int(np.count_nonzero(idle & (columns[latency] > 0.0)))
            np.copyto(columns[latency], math.nan, where=idle)
    return rounded_away
