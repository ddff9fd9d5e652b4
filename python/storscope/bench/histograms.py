"""Many latency histograms as columns: added up by group and asked for quantiles all at once.

For a run of many intervals, streams and targets, where a step for each histogram would take longer than the run.
Buckets are those of crates/storscope-stats (histogram.rs): both ends included, the same bounds for all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from storscope.domain.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Histograms:
    """Number i has the buckets from `offsets[i]` to `offsets[i + 1]`, in rising order; `sum_ns` is exact."""

    offsets: IntArray
    low: IntArray
    high: IntArray
    count: IntArray
    sum_ns: FloatArray
    min_ns: FloatArray
    """NaN of one without a latency, or of which it is not known."""
    max_ns: FloatArray
    """NaN of one without a latency."""

    @classmethod
    def from_forms(cls, forms: Sequence[Mapping[str, Any]]) -> Histograms:
        """As the engine writes them."""
        totals = np.asarray([form["count"] for form in forms], np.int64)
        (at,) = np.nonzero(totals)
        filled = [forms[number] for number in at.tolist()]
        lengths, means, least, most = (np.zeros(len(forms)), *(np.full(len(forms), np.nan) for _ in range(3)))
        lengths[at] = [len(form["bucket_count"]) for form in filled]
        for values, name in ((means, "mean_ns"), (least, "min_ns"), (most, "max_ns")):
            values[at] = np.asarray([form[name] for form in filled], np.float64)
        offsets = np.concatenate(([0], np.cumsum(lengths.astype(np.int64))))
        low, high, count = (
            _one_after_another([form[name] for form in filled], int(offsets[-1]))
            for name in ("bucket_low_ns", "bucket_high_ns", "bucket_count")
        )
        return cls(offsets, low, high, count, np.where(totals > 0, means * totals, 0.0), least, most)

    @classmethod
    def concatenated(cls, parts: Sequence[Histograms]) -> Histograms:
        """All of them, one after another."""
        starts = np.concatenate(([0], np.cumsum([len(part.low) for part in parts])))[:-1]
        ends = [part.offsets[1:] + start for part, start in zip(parts, starts, strict=True)]
        columns = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("low", "high", "count", "sum_ns", "min_ns", "max_ns")
        )
        return cls(np.concatenate(([0], *ends)), *columns)

    @property
    def totals(self) -> IntArray:
        """How many latencies each has."""
        ranks = np.concatenate(([0], np.cumsum(self.count)))
        totals: IntArray = np.diff(ranks[self.offsets])
        return totals

    @property
    def means_ns(self) -> FloatArray:
        """From the exact sums; NaN of none."""
        totals = self.totals
        means: FloatArray = np.divide(self.sum_ns, totals, out=np.full(len(totals), np.nan), where=totals > 0)
        return means

    def quantiles_ns(self, share: float) -> FloatArray:
        """What a share of each does not exceed: at most 0.8 % above the true one and never below. NaN of none."""
        ranks = np.cumsum(self.count)
        before = np.concatenate(([0], ranks))[self.offsets[:-1]]
        totals = self.totals
        places = np.searchsorted(ranks, before + np.maximum(1, np.ceil(share * totals).astype(np.int64)))
        quantiles = np.full(len(totals), np.nan)
        (known,) = np.nonzero(totals)
        quantiles[known] = np.minimum(self.high[places[known]], self.max_ns[known])
        return quantiles

    def summed(self, group_of: IntArray, groups: int) -> Histograms:
        """Those of the same group (numbers below `groups`) as one; empty for a group that none belongs to."""
        group = np.repeat(group_of, np.diff(self.offsets))
        order = _order(group, self.low, self.high)
        group, low, high = group[order], self.low[order], self.high[order]
        is_new = np.ones(len(order), bool)
        is_new[1:] = (group[1:] != group[:-1]) | (low[1:] != low[:-1]) | (high[1:] != high[:-1])
        (first,) = np.nonzero(is_new)
        count = np.add.reduceat(self.count[order], first) if len(first) else self.count
        offsets = np.searchsorted(group[first], np.arange(groups + 1))
        sums = np.bincount(group_of, weights=self.sum_ns, minlength=groups).astype(np.float64)
        least, most = np.full(groups, np.nan), np.full(groups, np.nan)
        np.fmin.at(least, group_of, self.min_ns)
        np.fmax.at(most, group_of, self.max_ns)
        return Histograms(offsets, low[first], high[first], count, sums, least, most)

    def to_forms(self, *, has_lists: bool = True) -> list[dict[str, Any]]:
        """As the engine writes them; or with arrays, as `compact` makes it of that (compact.py)."""
        ends = self.offsets.tolist()
        columns = [[values[start:end] for start, end in pairwise(ends)] for values in (self.low, self.high, self.count)]
        if has_lists:
            columns = [[part.tolist() for part in column] for column in columns]
        return [
            {
                "count": total, "mean_ns": sum_ns / total if total else None,
                "min_ns": None if math.isnan(min_ns) else int(min_ns),
                "max_ns": None if math.isnan(max_ns) else int(max_ns),
                "bucket_low_ns": low, "bucket_high_ns": high, "bucket_count": count,
            }
            for total, sum_ns, min_ns, max_ns, low, high, count in zip(
                self.totals.tolist(), self.sum_ns.tolist(), self.min_ns.tolist(), self.max_ns.tolist(), *columns,
                strict=True,
            )
        ]  # fmt: skip


def _order(group: IntArray, low: IntArray, high: IntArray) -> IntArray:
    """By group, then low, then high. One key with both takes a tenth of the time of three: histograms are in order."""
    width = int(low.max(initial=0)) + 1
    if int(group.max(initial=0)) < 2**62 // width and low.min(initial=0) >= 0:
        key = group * width + low
        order: IntArray = np.argsort(key, kind="stable")
        is_same = np.diff(key[order]) == 0
        if not (np.diff(high[order])[is_same] < 0).any():
            return order
    by_all: IntArray = np.lexsort((high, low, group))
    return by_all


def _one_after_another(parts: Sequence[Sequence[int] | IntArray], count: int) -> IntArray:
    """Lists or arrays (compact.py) as one array of `count` numbers."""
    if parts and all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return np.fromiter(chain.from_iterable(parts), np.int64, count)
