"""Iometer's results that a spreadsheet saved again, as Iometer wrote them.

A European spreadsheet puts semicolons (or tabs) between cells and a comma into decimals, and may quote cells. What
separates cells, the heading of the results tells; what a comma is, all cells together (`_decimal_comma.py`). Beware:
numbers of more than eleven digits come back with six (`1,23457E+12`), and the version as a date.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Final

from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence
from storscope.sources.importers._decimal_comma import Commas, plain

HEADING: Final = re.compile(
    r"""^"?(?:TimeStamp"?[,;\t]"?)?'Target\ Type"?(?P<separator>[,;\t])"?Target\ Name"?(?P=separator)""",
    re.MULTILINE | re.VERBOSE,
)
"""The heading of a table of results, as Iometer or a spreadsheet writes it."""
_SCIENTIFIC: Final = re.compile(r"(-?\d),(\d+E[+-]?\d+)", re.IGNORECASE)
_LONGEST_CELL: Final = 100


def lines_as_written(evidence: Evidence, recorder: Recorder) -> Iterator[str]:
    """The lines of the file with commas between cells and points in decimals; of a file of Iometer's own, unchanged."""
    heading = HEADING.search(evidence.head.text)
    if heading is None or (heading["separator"] == "," and '"' not in heading[0]):
        yield from evidence.lines()
        return
    separator, commas = heading["separator"], Commas()
    for line in evidence.lines():
        for cell in _cells(line, separator):
            commas.learn(cell[:_LONGEST_CELL])
    if doubt := commas.doubt(separator):
        recorder.warn(doubt)
    are_decimal = commas.are_decimal(separator)
    for line in evidence.lines():
        yield ",".join(_as_written(cell, are_decimal) for cell in _cells(line, separator))


def _cells(line: str, separator: str) -> list[str]:
    """The cells of one line; a line that is no CSV (a cell over 128 KiB, as the csv module bounds it) is just split."""
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return line.split(separator)


def _as_written(cell: str, are_decimal: bool) -> str:
    if match := _SCIENTIFIC.fullmatch(cell):
        return f"{match[1]}.{match[2]}"
    return plain(cell, decimal_comma=are_decimal) if len(cell) <= _LONGEST_CELL else cell
