"""A trace as CSV with a heading whose names have units, in any order.

    time_s,volume,op,offset_bytes,length_bytes
    0.000125,esx/vmfs1,R,1048576,4096

`time_s`, `time_ms`, `time_us` or `time_ns`, since 1970 or any other instant (5e-05 as well as 0.00005); `op`: R or W,
read or write; `offset_bytes` or `offset_sectors`, `length_bytes` or `length_sectors` (of 512 bytes); and, if wanted,
`volume`: VOLUME or HOST/VOLUME.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence

from storscope.domain.units import NS_PER_MS, NS_PER_S, NS_PER_US
from storscope.sim.traces.trace import SECTOR_BYTES, Gathering, Trace, exact_ns, is_passed_over, whole_number

FORMAT = "CSV trace"
_TIMES = {"time_s": NS_PER_S, "time_ms": NS_PER_MS, "time_us": NS_PER_US, "time_ns": 1}
_OFFSETS = {"offset_bytes": 1, "offset_sectors": SECTOR_BYTES}
_LENGTHS = {"length_bytes": 1, "length_sectors": SECTOR_BYTES}
_IS_WRITE = {"r": False, "read": False, "w": True, "write": True}
_VOLUME = "volume"
_KNOWN = {*_TIMES, *_OFFSETS, *_LENGTHS, "op", _VOLUME}


def recognise(first: str) -> bool:
    """By its heading."""
    return bool(set(_names(first.split(","))) & _TIMES.keys())


def read(where: str, lines: Iterable[str]) -> Trace:
    """All of it."""
    found = Gathering(where, FORMAT)
    rows = _rows(found, lines)
    line, heading = next(rows, (1, []))
    columns = _columns(found, line, heading)
    time, offset, length = (_one_of(found, line, columns, units) for units in (_TIMES, _OFFSETS, _LENGTHS))
    if "op" not in columns:
        raise found.error(line, "a column op", ",".join(heading))
    for number, cells in rows:
        if len(cells) != len(columns):
            raise found.error(number, f"{len(columns)} cells as in the heading", ",".join(cells))
        at_ns = exact_ns(cells[columns[time]], _TIMES[time])
        if at_ns is None:
            raise found.error(number, f"a number for {time}", cells[columns[time]])
        place = cells[columns[_VOLUME]].strip() if _VOLUME in columns else None
        if place == "":
            raise found.error(number, "the name of a volume", "")
        op = cells[columns["op"]].strip().lower()
        if op not in _IS_WRITE:
            raise found.error(number, "R, W, read or write for op", cells[columns["op"]])
        start, size = (
            _integer(found, number, name, cells[columns[name]]) * unit
            for name, unit in ((offset, _OFFSETS[offset]), (length, _LENGTHS[length]))
        )
        found.add(number, at_ns, start, size, is_write=_IS_WRITE[op], place=place)
    return found.trace()


def _rows(found: Gathering, lines: Iterable[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Cells of each line with something in it; a cell does not go on in the next line."""
    for number, line in enumerate(lines, 1):
        if not is_passed_over(line):
            try:
                yield number, next(csv.reader([line], strict=True))
            except csv.Error as error:
                raise found.error(number, "cells with commas between them", str(error)) from error


def _names(cells: Sequence[str]) -> list[str]:
    return [cell.strip().lower() for cell in cells]


def _columns(found: Gathering, line: int, heading: Sequence[str]) -> Mapping[str, int]:
    names = _names(heading)
    for name in names:
        if name not in _KNOWN:
            raise found.error(line, f"columns out of {', '.join(sorted(_KNOWN))}", name)
        if names.count(name) > 1:
            raise found.error(line, "each column once", name)
    return {name: index for index, name in enumerate(names)}


def _one_of(found: Gathering, line: int, columns: Mapping[str, int], units: Mapping[str, int]) -> str:
    present = [name for name in units if name in columns]
    if len(present) != 1:
        raise found.error(line, f"one column out of {', '.join(units)}", ", ".join(present) or ", ".join(columns))
    return present[0]


def _integer(found: Gathering, line: int, name: str, text: str) -> int:
    value = whole_number(text)
    if value is None:
        raise found.error(line, f"a whole number for {name}", text)
    return value
