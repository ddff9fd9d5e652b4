"""Reads and writes of an entity apart: who waits for storage waits for the one, and the mean of both hides it.

Where reads are few beside writes that a cache takes at once, the mean of all says nothing of how long a read takes.
Only where a source tells rate and latency of both are they apart; what is hardly ever asked for is left out, as the
latency of a few operations tells of chance.
"""

from __future__ import annotations

import numpy as np

from storscope.domain.arrays import FloatArray
from storscope.store.series import Series

DIRECTIONS = {"reads": "read", "writes": "write"}
"""What they are called, and how their columns begin."""
DIRECTION_SHARE_MIN = 0.02
"""Part of an entity's operations below which a direction says nothing: of the usual load that is nearly idle (ours)."""
_COLUMNS = ("ops_per_s", "bytes_per_s", "latency_ns_mean")


def directions(series: Series, share_min: float = DIRECTION_SHARE_MIN) -> dict[str, Series]:
    """'reads' and 'writes' -> what these did, in the columns of operations; none where the source does not part them.

    Left out is what makes less than `share_min` of their operations. Who only reads has its reads.
    """
    parts = {words: _part(series, begin) for words, begin in DIRECTIONS.items()}
    if not all(_is_told(part) for part in parts.values()):
        return {}
    both = sum(operations(part) for part in parts.values())
    return {
        words: part for words, part in parts.items() if operations(part) > 0 and operations(part) >= share_min * both
    }


def _is_told(part: Series) -> bool:
    """Whether rate and latency are known; what was never asked for has none of the latter."""
    return part.has("ops_per_s") and (part.has("latency_ns_mean") or operations(part) == 0)


def _part(series: Series, begin: str) -> Series:
    names = {column: f"{begin}_{column}" for column in _COLUMNS if series.has(f"{begin}_{column}")}
    columns = {column: series[name] for column, name in names.items()}
    return Series(series.entity, series.time_ns, series.duration_ns, columns, series.captures)


def operations(series: Series) -> float:
    """How many operations it did, in the usual interval's length; 0 where no rate is known."""
    return float(np.nansum(series["ops_per_s"]))


def are_mixed(series: Series, share_min: float = DIRECTION_SHARE_MIN) -> bool:
    """True where its latency may be a mean of reads and writes that nothing tells apart."""
    if directions(series, 0):
        return False
    most = max(float(np.nansum(series[f"{begin}_ops_per_s"])) for begin in DIRECTIONS.values())
    return most < (1 - share_min) * operations(series) or most == 0


def size_bytes(series: Series) -> FloatArray:
    """The mean size of an operation in each interval; NaN where it is not told.

    A rate of 0.00 beside some bytes is one operation in minutes, rounded: its size is not told either.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        size = series["bytes_per_s"] / series["ops_per_s"]
    result: FloatArray = np.where(np.isfinite(size), size, np.nan)
    return result
