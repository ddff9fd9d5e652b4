"""A table as text: its heading, its rows, and how its numbers are read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from storscope.sources.importers._decimal_comma import Commas, plain
from storscope.sources.importers._table_heading import Heading

ABSENT: Final = frozenset({"", "-", "--", "n/a", "na", "nan", "null", "none", "nil", "undefined"})


@dataclass
class Table:
    """The rows below a heading, as text."""

    heading: Heading
    separator: str
    rows: list[list[str]]
    above: int
    repeated: int = 0
    short: int = 0
    is_cut: bool = False
    name: str = "the table"
    """For errors: the file's."""
    commas: Commas = field(default_factory=Commas)

    @cached_property
    def has_decimal_comma(self) -> bool:
        """As all measured cells tell, which are learnt before any number is asked for."""
        return self.commas.are_decimal(self.separator)

    def number(self, cell: str) -> float:
        """NaN for a cell without a number."""
        text = cell.strip().rstrip("%")
        if "," in text or self.has_decimal_comma:
            text = plain(text.strip(), decimal_comma=self.has_decimal_comma)
        try:
            value = float(text)
        except ValueError:
            return math.nan
        return value if math.isfinite(value) else math.nan

    def has_numbers(self, index: int) -> bool:
        """Whether any cell of a column is a number."""
        return any(not math.isnan(self.number(row[index])) for row in self.rows)

    def time(self, row: Sequence[str]) -> str:
        """The time of a row as written."""
        return " ".join(row[index].strip() for index in self.heading.times)
