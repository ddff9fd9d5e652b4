"""Rows as `_table_writer.py` writes them, gathered value by value from tables of other shapes.

Values are in the canonical unit already; what has no canonical column is a counter under its own name.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from storscope.domain.schema import CANONICAL
from storscope.sources.importers._headings import Meaning
from storscope.sources.importers._table_cells import Table
from storscope.sources.importers._table_heading import Heading
from storscope.sources.importers._wide_heading import Named

_Key = tuple[Named, str, int]


@dataclass
class GatheredRows:
    """One row for each thing and time. Times are as the file has them, in its order."""

    is_start: bool = False
    zone: str | None = None
    """Of the times, as their heading says."""
    length_lacks_unit: bool = False
    _rows: dict[_Key, dict[str, float]] = field(default_factory=dict)
    _lengths_s: dict[_Key, str] = field(default_factory=dict)
    _seen: Counter[tuple[Named, str, str]] = field(default_factory=Counter)

    def add(self, named: Named, time: str, column: str, value: float, length_s: str = "") -> None:
        """One value. The same one of the same time once more is of another row: the hour that autumn repeats."""
        count = self._seen[named, time, column]
        self._seen[named, time, column] += 1
        key = (named, time, count)
        self._rows.setdefault(key, {})[column] = value
        if length_s:
            self._lengths_s[key] = length_s

    def __len__(self) -> int:
        return len(self._rows)

    def table(self, name: str) -> Table:
        """All rows, by column; `name` is the file's."""
        kinds = list(dict.fromkeys(kind for named, _, _ in self._rows for kind, _ in named))
        columns = list(dict.fromkeys(column for row in self._rows.values() for column in row))
        first = len(kinds) + 2
        heading = Heading(
            names=(
                f"time ({self.zone})" if self.zone else "time",
                "interval" if self.length_lacks_unit else "interval_s",
                *kinds,
                *columns,
            ),
            times=(0,),
            is_start=self.is_start,
            length=(1, 1.0),
            length_lacks_unit=self.length_lacks_unit,
            kind=None,
            things={kind: place + 2 for place, kind in enumerate(kinds)},
            measured={first + at: Meaning(column) for at, column in enumerate(columns) if column in CANONICAL},
        )
        rows = [self._row(key, row, kinds, columns) for key, row in self._rows.items()]
        return Table(heading, ",", rows, above=0, name=name)

    def _row(self, key: _Key, row: dict[str, float], kinds: list[str], columns: list[str]) -> list[str]:
        named = dict(key[0])
        values = [repr(row[column]) if column in row else "" for column in columns]
        return [key[1], self._lengths_s.get(key, ""), *(named.get(kind, "") for kind in kinds), *values]
