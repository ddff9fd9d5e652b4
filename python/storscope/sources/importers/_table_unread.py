"""Columns of text that nobody reads, and that yet tell rows apart: the names of things under a heading not known.

Without them the rows of several things become those of one. It shows: rows of one thing have the same time, or the text
changes from row to row and comes back. Then the table is refused, since what would be read is nobody's.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from storscope.domain.errors import MalformedInput
from storscope.domain.recorder import Recorder
from storscope.sources.importer import ImportOptions, shortened
from storscope.sources.importers._headings import words_of
from storscope.sources.importers._table_cells import ABSENT, Table
from storscope.sources.importers._table_times import TableTimes
from storscope.sources.importers._unit_cells import split_cell, unit_of

_OF_DAYS: Final = frozenset(
    {"day", "weekday", "month", "week", "shift", "hour", "time", "date", "timestamp", "datetime"}
)
"""Text that changes with the time."""
_MOST_ROWS_LOST: Final = 1 / 3
_OFTEN: Final = 0.4
"""Of the steps from row to row. A state changes seldom; names of two things that take turns change at every step."""
_LEAST_ROWS: Final = 4
_LEAST_COLLISIONS: Final = 2
"""One may be a damaged row."""
_CELLS_LOOKED_AT: Final = 50
_REMEDY: Final = (
    "Name the column by what it holds (volume, disk, pool, controller, host, vm, ...), so that each is read by itself, "
    "or keep the rows of one, then import again."
)


@dataclass
class UnreadNames:
    """Takes the rows of each thing as they are placed in time."""

    table: Table
    _collisions: int = 0
    _differ: Counter[int] = field(default_factory=Counter)
    _columns: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Columns of text, with more than one."""
        self._columns = tuple(index for index in self.table.heading.others if self._is_text(index))

    def _is_text(self, index: int) -> bool:
        if set(words_of(self.table.heading.names[index])) & _OF_DAYS:
            return False
        cells = {row[index].strip() for row in self.table.rows}
        said = {cell for cell in cells if cell.lower() not in ABSENT}
        some = sorted(said)[:_CELLS_LOOKED_AT]
        return len(said) > 1 and 2 * sum(self._is_measure(cell) for cell in some) < len(some)

    def _is_measure(self, cell: str) -> bool:
        number, unit = split_cell(cell)
        times = TableTimes(ImportOptions())
        is_number = not math.isnan(self.table.number(cell)) or bool(number and unit_of(unit))
        return is_number or times.instant(cell, times.clock()) is not None

    def collide(self, row: Sequence[str], other: Sequence[str]) -> None:
        """Two rows of one thing at one instant."""
        self._collisions += 1
        self._differ.update(index for index in self._columns if row[index].strip() != other[index].strip())

    def take_turns(self, rows: Sequence[Sequence[str]]) -> None:
        """The rows of a thing that no column names, in order of time."""
        for index in self._columns:
            cells = [row[index].strip() for row in rows]
            changes = sum(one != other for one, other in pairwise(cells))
            comes_back = len(set(cells)) <= len(cells) / 2
            if len(rows) >= _LEAST_ROWS and comes_back and changes > _OFTEN * (len(rows) - 1):
                raise MalformedInput(
                    "rows of one thing, or a column of names that is known",
                    f"'{shortened(self.table.heading.names[index])}', which changes from row to row between "
                    f"{_shown(cells)}",
                    where=self.table.name,
                    hint=_REMEDY,
                )

    def tell(self, recorder: Recorder) -> None:
        """Refuses a table whose rows are of several things; of few rows at one time it warns."""
        if not self._collisions:
            return
        names = [self.table.heading.names[at] for at, count in self._differ.items() if count > self._collisions / 2]
        found = f"{self._collisions:,} rows at a time at which another one of the same thing is"
        if names and self._collisions >= _LEAST_COLLISIONS:
            shown = " and ".join(f"'{shortened(name)}'" for name in names[:3])
            raise MalformedInput(
                "one row for each thing and time", f"{found}; they differ in {shown}",
                where=self.table.name, hint=_REMEDY,
            )  # fmt: skip
        if self._collisions > _MOST_ROWS_LOST * len(self.table.rows):
            raise MalformedInput(
                "one row for each thing and time", found, where=self.table.name,
                hint=f"{_REMEDY} Times need their seconds, and in the hour that autumn repeats --timezone.",
            )  # fmt: skip
        recorder.warn(
            f"{found}: left out. If several things share a name, give them a column that tells them apart; in the hour "
            "that autumn repeats --timezone does."
        )


def _shown(cells: Sequence[str]) -> str:
    some = list(dict.fromkeys(cells))
    return ", ".join(f"'{shortened(cell, 40)}'" for cell in some[:3]) + (", ..." if len(some) > 3 else "")
