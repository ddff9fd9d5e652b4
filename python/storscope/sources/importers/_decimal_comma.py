"""What a comma between digits is: the decimal one, or one between thousands. Decided once a file, by all of its cells.

`1,500` is 1500 or 1.5, and no cell alone tells. `12,5`, `0,400` and `3000,5` can only be decimal, `12.5` and
`1,234,567` only the other way. A file follows the greater number of those. Where there are none, its separator tells:
semicolons and tabs separate where the comma is taken; between commas and blanks a comma is one between thousands. Only
semicolons are sure, so of the others the doubt is said.

`1.500` between semicolons or tabs is 1.5 or 1500 in the same way. It is read as 1.5 unless commas are decimal, and the
doubt is said (`points_in_doubt`) unless a number tells: `12.5` does, and so does `15000`, which has nothing between its
thousands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_ONLY_DECIMAL_COMMA: Final = re.compile(
    r"-?(?:0,\d+|\d{4,},\d+|\d+,(?:\d{1,2}|\d{4,})|\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,})"
)
_ONLY_DECIMAL_POINT: Final = re.compile(
    r"-?(?:0\.\d+|\d{4,}\.\d+|\d+\.(?:\d{1,2}|\d{4,})|[1-9]\d{0,2}(?:,\d{3})+\.\d+|[1-9]\d{0,2}(?:,\d{3}){2,})"
)
_EITHER: Final = re.compile(r"-?[1-9]\d{0,2},\d{3}")
"""A number that begins with 0 has no thousands: its comma is a decimal one."""
_EITHER_POINT: Final = re.compile(r"-?[1-9]\d{0,2}\.\d{3}")
_UNGROUPED: Final = re.compile(r"-?[1-9]\d{3,}(?:[.,]\d+)?")
_DECIMAL: Final = re.compile(r"-?\d{1,3}(?:\.\d{3})*,\d+|-?\d+,\d+")
_BY_POINTS: Final = re.compile(r"-?[1-9]\d{0,2}(?:\.\d{3})+")
_BY_COMMAS: Final = re.compile(r"-?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")


@dataclass
class Commas:
    """Learns the numbers of a file as printed, then says how to read them."""

    decimal_commas: int = 0
    """Cells whose comma can only be a decimal one."""
    decimal_points: int = 0
    """Cells whose point can only be a decimal one, or whose commas only stand between thousands."""
    either: int = 0
    """Cells that are a number under both readings, and another one."""
    either_points: int = 0
    """Cells whose point is a decimal one or one between thousands."""
    ungrouped: int = 0
    """Cells of a thousand or more with nothing between the thousands."""
    _example: str = ""
    _point_example: str = ""

    def learn(self, cell: str) -> None:
        """Takes note of one cell."""
        text = cell.strip()
        self.decimal_commas += _ONLY_DECIMAL_COMMA.fullmatch(text) is not None
        self.decimal_points += _ONLY_DECIMAL_POINT.fullmatch(text) is not None
        self.ungrouped += _UNGROUPED.fullmatch(text) is not None
        if _EITHER.fullmatch(text):
            self.either += 1
            self._example = self._example or text
        if is_doubtful_point(text):
            self.either_points += 1
            self._point_example = self._point_example or text

    @property
    def is_told(self) -> bool:
        """Whether the cells themselves tell."""
        return self.decimal_commas != self.decimal_points

    def are_decimal(self, separator: str) -> bool:
        """Whether commas are decimal in a file whose cells are separated by `separator`."""
        if self.is_told:
            return self.decimal_commas > self.decimal_points
        return bool(self.decimal_commas or self.either) and separator in (";", "\t")

    def points_in_doubt(self, separator: str) -> bool:
        """Whether nothing tells what the point of `1.500` is."""
        is_either = bool(self.either_points) and separator in (";", "\t")
        return is_either and not (self.decimal_commas or self.decimal_points or self.ungrouped)

    def doubt(self, separator: str) -> str | None:
        """What to say where cells contradict each other, or where only the separator told."""
        as_decimal = self.are_decimal(separator)
        if self.decimal_commas and self.decimal_points:
            return (
                f"Numbers with a decimal comma: {self.decimal_commas:,}, with a decimal point: "
                f"{self.decimal_points:,}. Commas were taken as {_words(as_decimal)}. Perhaps tables of two languages "
                "were joined: import them one by one."
            )
        if self.either and not self.is_told and separator != ";":
            return (
                f"No number tells what a comma is; {self._example} was taken as "
                f"{plain(self._example, decimal_comma=as_decimal)}. If that is wrong, save the table with decimal "
                f"{'commas and semicolons between its cells' if not as_decimal else 'points'}."
            )
        if self.points_in_doubt(separator):
            return (
                f"No number tells what a point is: {self._point_example} may be "
                f"{self._point_example.replace('.', '')}. If it is, save the table without points between thousands; "
                "if not, with commas between its cells."
            )
        return None


def is_doubtful_point(cell: str) -> bool:
    """Whether a cell has a point that may be a decimal one or stand between thousands."""
    return _EITHER_POINT.fullmatch(cell.strip()) is not None


def plain(text: str, *, decimal_comma: bool) -> str:
    """A number with a decimal point and nothing between its thousands; other text as it is."""
    if decimal_comma and (_DECIMAL.fullmatch(text) or _BY_POINTS.fullmatch(text)):
        return text.replace(".", "").replace(",", ".")
    if _BY_COMMAS.fullmatch(text) and not (decimal_comma and _EITHER.fullmatch(text)):
        return text.replace(",", "")
    return text


def _words(are_decimal: bool) -> str:
    return "decimal ones" if are_decimal else "those between thousands"
