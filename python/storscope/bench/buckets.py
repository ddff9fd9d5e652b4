"""A latency histogram as arrays, for work on many of them: merging, quantiles, and how sure a quantile is.

Buckets are those of crates/storscope-stats (histogram.rs): both ends included, at most 0.8 % wide, the same for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from storscope.domain.arrays import IntArray


def _nothing() -> IntArray:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Buckets:
    """Latencies in ns: `count` of them from `low` to `high`, in rising order; `sum_ns` is exact."""

    low: IntArray = field(default_factory=_nothing)
    high: IntArray = field(default_factory=_nothing)
    count: IntArray = field(default_factory=_nothing)
    sum_ns: float = 0.0
    min_ns: int | None = None
    max_ns: int | None = None

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> Buckets:
        """A histogram as the engine writes it."""
        if not form["count"]:
            return cls()
        low, high, count = (np.asarray(form[f"bucket_{name}"], np.int64) for name in ("low_ns", "high_ns", "count"))
        return cls(low, high, count, form["mean_ns"] * form["count"], form.get("min_ns"), form["max_ns"])

    def to_form(self) -> dict[str, Any]:
        """As the engine writes it."""
        total = self.total
        return {
            "count": total,
            "mean_ns": self.sum_ns / total if total else None,
            "min_ns": self.min_ns,
            "max_ns": self.max_ns,
            "bucket_low_ns": self.low.tolist(),
            "bucket_high_ns": self.high.tolist(),
            "bucket_count": self.count.tolist(),
        }

    @classmethod
    def merged(cls, parts: Iterable[Buckets]) -> Buckets:
        """All of them together."""
        filled = [part for part in parts if len(part.low)]
        if len(filled) < 2:
            return filled[0] if filled else cls()
        lows, highs, counts = (np.concatenate([getattr(part, name) for part in filled]) for name in _ARRAYS)
        place = _places(lows)
        sums = np.bincount(place, weights=counts).astype(np.int64)
        (used,) = np.nonzero(sums)
        low, high = np.zeros_like(sums), np.zeros_like(sums)
        low[place], high[place] = lows, highs
        least = [part.min_ns for part in filled if part.min_ns is not None]
        most = [part.max_ns for part in filled if part.max_ns is not None]
        total_ns = float(sum(part.sum_ns for part in filled))
        return cls(
            low[used], high[used], sums[used], total_ns, min(least, default=None), max(most, default=None)
        )  # fmt: skip

    @property
    def total(self) -> int:
        """How many."""
        return int(self.count.sum())

    @property
    def mean_ns(self) -> float | None:
        """From the exact sum; None of none."""
        total = self.total
        return self.sum_ns / total if total else None

    def bucket_of(self, share: float) -> tuple[int, int] | None:
        """Low and high of the bucket that holds the quantile, the high no greater than the maximum; None of none."""
        ranks = np.cumsum(self.count)
        if not len(ranks):
            return None
        wanted = min(max(1, int(np.ceil(share * ranks[-1]))), int(ranks[-1]))
        place = int(np.searchsorted(ranks, wanted))
        high = int(self.high[place])
        return int(self.low[place]), high if self.max_ns is None else min(high, self.max_ns)

    def quantile_ns(self, share: float) -> int | None:
        """What a share of them does not exceed: at most 0.8 % above the true one and never below. None of none."""
        bucket = self.bucket_of(share)
        return None if bucket is None else bucket[1]

    def at_most(self, high_ns: int) -> int:
        """How many lie in buckets that begin at or below `high_ns`, the end of a bucket or the maximum."""
        return int(self.count[: int(np.searchsorted(self.low, high_ns, side="right"))].sum())


_ARRAYS = ("low", "high", "count")


def _places(lows: IntArray) -> IntArray:
    """The number of each bucket: `index_of` in histogram.rs. Sorting them instead takes ten times as long."""
    shift = np.maximum(np.frexp(lows.astype(np.float64))[1].astype(np.int64), 8) - 8
    places: IntArray = (shift << 7) + (lows >> shift)
    return places
