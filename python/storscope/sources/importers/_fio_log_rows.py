"""The entries of fio's logs as arrays, and what a log's name says.

An entry is `time in ms, value, direction, block size`, then an offset, a priority and an instant that are not read
(fio's `iolog.c`, 2.x to 3.42). Which value it is stands in the name of the file alone. With log_avg_msec the block size
is 0 and the value of an interval that ends at the time; else each entry is one I/O. Histograms have bins in place of
the value: those of the interval, not of all before it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from storscope.domain.arrays import IntArray
from storscope.domain.fio_buckets import NS_OF, bucket_from_value, value_from_index
from storscope.domain.recorder import Recorder

DIRECTIONS: Final = ("read", "write", "trim")
HISTOGRAM: Final = "clat_hist"
TIMED: Final = ("lat", "clat", "slat")
_NAME: Final = re.compile(
    r"(?:(?P<test>[^/]*)_)?(?P<kind>bw|iops|lat|clat|slat|clat_hist)(?:\.(?P<job>\d{1,9}))?\.log(?:\.(?P<host>[^/]+))?"
)
_ENTRY: Final = r"\d+, ?\d+, ?[0-2], ?\d+(?:, ?(?:0x)?[\da-f]+)*"
_OF_BOTH: Final = r"\d+, ?\d+, ?\d+, ?[0-2], ?0(?:, ?(?:0x)?[\da-f]+)*"
"""With log_window_value=both the greatest value stands behind the mean (fio(1) 3.39; no capture was seen)."""
_LINE: Final = rf"(?:{_ENTRY}|{_OF_BOTH})\r?"
_ENTRIES: Final = re.compile(rf"\A(?:(?:{_LINE}\n){{3}}|(?:{_LINE}(?:\n|\Z)){{1,2}}\Z)")
_BINS: Final = re.compile(r"\A\d+, ?[0-2], ?\d+(?:, ?\d+){50,}")
_ALL_BINS: Final = {"ns": 1856, "us": 1216}
"""fio's FIO_IO_U_PLAT_NR since 3.0, and before."""
_MOST_COUNTED: Final = 10**12
"""Of one bin. fio has logged uninitialised memory in place of counts."""
_BATCH: Final = 200_000
_GREATEST: Final = 2**53


@dataclass(frozen=True)
class LogName:
    """What the name of a log says: NAME_KIND.JOB.log, of a client with the host behind it."""

    test: str
    kind: str
    job: int | None
    host: str | None


def log_name(name: str) -> LogName | None:
    """What a file's name says, also behind its folder or archive ('dump.zip: NAME'); None of one fio did not give."""
    found = _NAME.fullmatch(name.rpartition("/")[2].rpartition(": ")[2])
    if found is None:
        return None
    return LogName(found["test"] or "", found["kind"], int(found["job"]) if found["job"] else None, found["host"])


def is_log(text: str) -> bool:
    """Whether a file begins as a log with entries."""
    return _ENTRIES.match(text) is not None


def is_histogram(text: str) -> bool:
    """Whether a file begins as a log of histograms."""
    found = _BINS.match(text.partition("\n")[0])
    return found is not None


# Entries --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entries:
    """Some of a log: columns of time in ms, value, direction, block size, each of shape (entries,)."""

    times_ms: IntArray
    values: IntArray
    directions: IntArray
    sizes: IntArray
    greatest: IntArray | None = None
    """The greatest values, where a log has them beside the mean ones."""
    has_offsets: bool = False
    """Whether it has a fifth column, as fio 3 writes it."""


def entries_of(lines: Iterator[str], recorder: Recorder) -> Iterator[Entries]:
    """The entries of one log, in batches. What is none is counted."""
    first = next(lines, None)
    if first is None:
        return
    cells = first.split(",")
    is_of_both = len(cells) > 4 and _whole(cells[2]) not in range(len(DIRECTIONS))
    width = 5 if is_of_both else 4
    lines = itertools.chain([first], lines)
    while chunk := list(itertools.islice(lines, _BATCH)):
        table = _table(chunk, width, recorder)
        columns = table.T
        times, values, directions, sizes = columns[[0, 1, 3, 4]] if is_of_both else columns
        known = (directions >= 0) & (directions < len(DIRECTIONS)) & (values >= 0) & (values < _GREATEST)
        # fio may end a log with entries of zeros (issue 152 of fio).
        known &= (times > 0) | (values > 0)
        recorder.omit("entries of fio's logs that say nothing", int((~known).sum()))
        yield Entries(
            times[known], values[known], directions[known], sizes[known],
            columns[2][known] if is_of_both else None, len(cells) > width,
        )  # fmt: skip


def _table(lines: Sequence[str], width: int, recorder: Recorder) -> IntArray:
    """The first columns of some lines; those that have not so many whole numbers are counted."""
    try:
        return np.loadtxt(lines, dtype=np.int64, delimiter=",", usecols=range(width), ndmin=2, comments=None)
    except (ValueError, OverflowError):
        pass
    rows = [[_whole(cell) for cell in line.split(",")[:width]] for line in lines if line.strip()]
    whole = [row for row in rows if len(row) == width and None not in row]
    recorder.omit("lines that are no entry of a log of fio", len(rows) - len(whole))
    return np.array(whole, dtype=np.int64).reshape(len(whole), width)


def _whole(cell: str) -> int | None:
    text = cell.strip()
    return int(text) if text.isdecimal() and len(text) < 20 else None


# Histograms -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bins:
    """One entry of a log of histograms."""

    time_ms: int
    direction: int
    unit: str
    buckets: tuple[tuple[float, float, int], ...]
    """(low, high, count), low < latency <= high in ns, of what is not empty."""


def bins_of(lines: Iterator[str], recorder: Recorder) -> Iterator[Bins]:
    """The entries of a log of histograms."""
    for line in lines:
        cells = [_whole(cell) for cell in line.split(",")]
        whole = [cell for cell in cells if cell is not None]
        layout = _layout(len(whole) - 3)
        if len(whole) < len(cells) or layout is None or whole[1] not in range(len(DIRECTIONS)):
            recorder.omit("lines that are no entry of a log of fio")
            continue
        if max(whole[3:]) > _MOST_COUNTED:
            recorder.omit("histograms of fio with counts that cannot be")
            continue
        unit, stride = layout
        time_ms, direction, _, *counts = whole
        buckets = tuple((*_bounds(place, stride, unit), count) for place, count in enumerate(counts) if count)
        yield Bins(time_ms, direction, unit, buckets)


def _layout(count: int) -> tuple[str, int] | None:
    """The unit of so many bins, and how many of fio's own each of them sums up (log_hist_coarseness)."""
    for unit, most in _ALL_BINS.items():
        stride = most // count if count > 0 and most % count == 0 else 0
        if stride and stride & (stride - 1) == 0:
            return unit, stride
    return None


def _bounds(place: int, stride: int, unit: str) -> tuple[float, float]:
    low = value_from_index(place * stride)
    if (place + 1) * stride < _ALL_BINS[unit]:
        return low * NS_OF[unit] - 1, value_from_index((place + 1) * stride) * NS_OF[unit] - 1
    last = bucket_from_value(value_from_index(_ALL_BINS[unit] - 1), unit)[1]
    return low * NS_OF[unit] - 1, last
