"""A run as one: its whole-length row apart from its intervals, and its parts (workers, targets) added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from storscope.compare.metrics import FLUSH_LATENCY, FLUSH_RATE
from storscope.compare.subjects import Intervals
from storscope.domain.arrays import FloatArray

Row = Mapping[str, Any]

_SUMS: Final = (
    "ops_per_s", "read_ops_per_s", "write_ops_per_s", "bytes_per_s", "read_bytes_per_s", "write_bytes_per_s",
    "queue_depth_mean", FLUSH_RATE,
)  # fmt: skip
_MEANS: Final = {
    "latency_ns_mean": "ops_per_s",
    "read_latency_ns_mean": "read_ops_per_s",
    "write_latency_ns_mean": "write_ops_per_s",
    FLUSH_LATENCY: FLUSH_RATE,
}
"""Column -> the rate it is weighted by."""
_WHOLE_SHARE: Final = 0.9
_BESIDE_SHARE: Final = 0.5
"""Of the others' time; sources tell the times of a whole and of its intervals by clocks that differ by seconds."""


def split_whole(rows: Sequence[Row]) -> tuple[Row | None, list[Row]]:
    """The row that covers all others, and the others. A single row is the whole; several without such are intervals.

    As long as all others together is also the first of three intervals, the last of which was cut short: what covers
    them runs at the same time. Where times are not known the length has to do.
    """
    if len(rows) == 1:
        return rows[0], []
    longest = max(rows, key=lambda row: row["duration_ns"] or 0)
    others = [row for row in rows if row is not longest]
    covered_ns = sum(row["duration_ns"] or 0 for row in others)
    is_as_long = (longest["duration_ns"] or 0) >= _WHOLE_SHARE * covered_ns
    if len(others) > 1 and covered_ns and is_as_long and _runs_beside(longest, others, covered_ns):
        return longest, others
    return None, list(rows)


def _runs_beside(row: Row, others: Sequence[Row], covered_ns: int) -> bool:
    if any(one["time_ns"] is None for one in (row, *others)):
        return True
    return sum(_overlap_ns(row, other) for other in others) >= _BESIDE_SHARE * covered_ns


def _overlap_ns(row: Row, other: Row) -> int:
    begin_ns = max(row["time_ns"], other["time_ns"])
    end_ns = min(one["time_ns"] + (one["duration_ns"] or 0) for one in (row, other))
    return max(0, int(end_ns - begin_ns))


def in_step(parts: Sequence[Sequence[Row]]) -> list[list[Row]]:
    """The intervals that every part has, where a cut in time left some parts one more than others.

    Parts that report together start within half an interval of each other. Unlike counts without times stay unlike.
    """
    if len({len(part) for part in parts}) == 1 or any(row["time_ns"] is None for part in parts for row in part):
        return [list(part) for part in parts]
    step = float(np.median([row["duration_ns"] or 0 for part in parts for row in part])) or 1.0
    origin = np.median([part[0]["time_ns"] for part in parts])
    rounds = [{round((row["time_ns"] - origin) / step): row for row in part} for part in parts]
    common = sorted(set.intersection(*(set(own) for own in rounds)))
    return [[own[index] for index in common] for own in rounds]


def combined(parts: Sequence[Intervals]) -> Intervals | None:
    """Parts that ran at the same time, added up interval by interval; None when their intervals do not correspond.

    Rates add up; latencies are weighted by operations; what cannot be added is left out.
    """
    if len(parts) == 1:
        return parts[0]
    if len({len(part) for part in parts}) != 1:
        return None
    columns: dict[str, FloatArray] = {}
    for name in _SUMS:
        if all(name in part.columns for part in parts):
            columns[name] = np.sum([part.columns[name] for part in parts], axis=0)
    for name, rate in _MEANS.items():
        if any(name in part.columns for part in parts) and all(_is_whole(part, name, rate) for part in parts):
            columns[name] = _weighted_mean(parts, name, rate)
    return Intervals(np.mean([part.duration_s for part in parts], axis=0), columns)


def _is_whole(part: Intervals, name: str, rate: str) -> bool:
    """Whether it has the latency, or no operations that could have one: a copy only reads where it copies from."""
    return rate in part.columns and (name in part.columns or not part.columns[rate].any())


def _weighted_mean(parts: Sequence[Intervals], name: str, rate: str) -> FloatArray:
    """A part without operations has no latency and needs none; a latency that is missing makes the mean missing."""
    operations = np.stack([part.columns[rate] for part in parts])
    latency = np.where(operations > 0, np.stack([part.column(name) for part in parts]), 0.0)
    total = operations.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean: FloatArray = (latency * operations).sum(axis=0) / total
    return np.where(total > 0, mean, np.nan)
