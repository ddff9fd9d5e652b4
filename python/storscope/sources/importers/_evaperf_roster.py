"""Which rows of evaperf belong together: where a sample begins, and which controllers a disk has rows of.

A virtual disk (or drive) has one row per controller. Rows get lost: the file was copied while evaperf wrote it, or a
cell was no number. So a file is gone through twice, and what a disk has in any sample it is expected to have in all.
A controller that failed is expected no more: from then on it has no row at all, and no disk is online to it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property

from storscope.sources.importers._evaperf_row import Row

_Table = tuple[str | None, str]
"""Node and object of a row: arrays, and objects, have controllers and disks of their own."""


def table_of(row: Row) -> _Table:
    """Where a row belongs."""
    return row.words.get("node"), row.object


@dataclass
class SampleBounds:
    """Tells where samples begin: at another time, or at a row that was already there."""

    stamp: str | None = None
    _keys: set[tuple[str | None, ...]] = field(default_factory=set)

    def begins(self, row: Row) -> bool:
        """Takes the next row, and says whether it is the first of a later sample."""
        key = (*table_of(row), row.name, row.controller)
        is_new = bool(self._keys) and (key in self._keys or (row.stamp is not None and row.stamp != self.stamp))
        if is_new:
            self._keys.clear()
            self.stamp = None
        self._keys.add(key)
        self.stamp = row.stamp or self.stamp
        return is_new


@dataclass
class Roster:
    """Learns all rows of a file, then says of each sample which controllers a disk should have a row of."""

    _bounds: SampleBounds = field(default_factory=SampleBounds)
    _sample: defaultdict[tuple[_Table, str | None], set[str | None]] = field(default_factory=lambda: defaultdict(set))
    _together: defaultdict[tuple[_Table, str | None], set[str | None]] = field(default_factory=lambda: defaultdict(set))
    """The controllers that a disk has rows of in one sample, where there are several."""
    _samples: Counter[tuple[_Table, str | None]] = field(default_factory=Counter)
    _to_come: Counter[tuple[_Table, str | None]] = field(default_factory=Counter)
    """How many rows each controller has after what was passed."""

    def learn(self, row: Row) -> None:
        """One row, on the first way through the file."""
        if self._bounds.begins(row):
            self.learnt()
        self._sample[table_of(row), row.name].add(row.controller)
        self._to_come[table_of(row), row.controller] += 1

    def learnt(self) -> None:
        """The sample is complete."""
        for disk, controllers in self._sample.items():
            self._samples[disk] += 1
            if len(controllers) > 1:
                self._together[disk] |= controllers
        self._sample.clear()

    def passed(self, row: Row) -> None:
        """One row, on the second way."""
        self._to_come[table_of(row), row.controller] -= 1

    def gone(self, rows: Iterable[Row]) -> Set[str | None]:
        """The controllers that have no row in this sample of one table nor later, and that no disk is online to."""
        listed = list(rows)
        named = {row.controller for row in listed} | {row.owner for row in listed}
        table = table_of(listed[0])
        return {
            controller
            for (where, controller), count in self._to_come.items()
            if where == table and not count and controller not in named
        }

    def expected(self, row: Row) -> Set[str | None]:
        """The controllers that the disk of `row` has rows of together; of a disk seen once, those that most have."""
        disk = table_of(row), row.name
        found = self._together.get(disk, set())
        return found if found or self._samples[disk] > 1 else self._usual.get(table_of(row), set())

    @cached_property
    def _usual(self) -> Mapping[_Table, Set[str | None]]:
        """The controllers of which at least half of a table's disks have rows, beside those of others."""
        disks = Counter(table for table, _ in self._samples)
        having = Counter((table, controller) for (table, _), found in self._together.items() for controller in found)
        usual: defaultdict[_Table, set[str | None]] = defaultdict(set)
        for (table, controller), count in having.items():
            if 2 * count >= disks[table]:
                usual[table].add(controller)
        return usual
