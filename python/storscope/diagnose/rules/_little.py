"""Little's law on series: operations in flight = operations per second x latency.

It holds for any queue whatever the arrivals, over a time much longer than one latency (Little, Operations Research 9,
1961). A count at the moment of the sample is noisy but right on average, so ratios of sums over many intervals are
compared, with an interval from block resampling, and never single intervals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Settings
from storscope.domain.arrays import FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.units import NS_PER_S
from storscope.model.bootstrap import Interval, interval_from_replicates
from storscope.store.series import Series

NEEDS = "operations, latency and queue depth of the same entity over time (esxtop, iostat, perfmon)"

_CANDIDATES = (
    ("device_latency_ns_mean", ("queue_depth_mean",)),
    ("latency_ns_mean", ("queue_depth_mean", "queued_mean")),
    ("latency_ns_mean", ("queue_depth_mean",)),
)
"""(latency, parts of the depth): below the host's adapter the queue is what was issued, above it also what waits."""

_LATENCIES = 10.0
"""So many must fit in the time. In a queue that grows for as long as it is watched those that left waited for less than
those who are still there."""


@dataclass(frozen=True)
class Comparison:
    """Operations x latency against the queue depth of one entity."""

    entity: EntityRef
    latency_column: str
    in_flight: float
    """Mean of operations x latency."""
    depth: float
    """Mean queue depth as counted."""
    ratio: Interval
    """The first over the second."""
    samples: int

    def distance(self) -> float:
        """How far the ratio is from 1, alike in both directions."""
        return abs(math.log(self.ratio.estimate)) if self.ratio.estimate > 0 else math.inf


def comparisons(case: Case, settings: Settings) -> list[Comparison]:
    """One comparison per entity with enough load: of the ways to compare, the one that fits best."""
    if "little" not in case.memo:
        case.memo["little"] = [
            best for series in case.series(needs=("ops_per_s", "queue_depth_mean")).values()
            # A latency that was derived from the queue fits it whatever is wrong.
            if not series.has_derived_latency and (best := _best(series, case.seed)) is not None
        ]  # fmt: skip
    found: list[Comparison] = case.memo["little"]
    return [one for one in found if _is_enough(one, settings)]


def _is_enough(one: Comparison, settings: Settings) -> bool:
    return one.samples >= settings["samples_min"] and max(one.in_flight, one.depth) >= settings["queue_depth_min"]


def _best(series: Series, seed: int) -> Comparison | None:
    tried = [
        compared
        for latency, parts in _CANDIDATES
        if series.has(latency, *parts) and (compared := _compare(series, latency, parts, seed)) is not None
    ]
    return min(tried, key=Comparison.distance) if tried else None


def _compare(series: Series, latency: str, parts: Sequence[str], seed: int) -> Comparison | None:
    product: FloatArray = series["ops_per_s"] * np.where(series["ops_per_s"] == 0, 0.0, series[latency]) / 1e9
    depth = np.sum([series[part] for part in parts], axis=0)
    keep = np.isfinite(product) & np.isfinite(depth) & (product >= 0) & (depth >= 0)
    if not keep.any() or depth[keep].sum() <= 0 or product[keep].sum() <= 0:
        return None
    product, depth = product[keep], depth[keep]
    latency_s = float(min(product.sum(), depth.sum()) / series["ops_per_s"][keep].sum())
    if keep.sum() * series.interval_ns < _LATENCIES * latency_s * NS_PER_S:
        return None
    return Comparison(
        series.entity, latency, float(product.mean()), float(depth.mean()),
        _ratio_interval(product, depth, seed), int(keep.sum()),
    )  # fmt: skip


_MOST_BLOCKS = 48
_REPLICATES = 400


def _ratio_interval(top: FloatArray, bottom: FloatArray, seed: int) -> Interval:
    """sum(top) / sum(bottom) with an interval from resampling of at most 48 blocks of neighbouring intervals.

    Blocks keep what neighbours have in common; a day of 20 s samples gives blocks of half an hour. With fewer blocks
    than samples it is fast enough for thousands of series, which a sliding bootstrap is not.
    """
    edges = _block_edges(len(top))
    tops, bottoms = np.add.reduceat(top, edges), np.add.reduceat(bottom, edges)
    counts = _resamples(len(edges), seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        replicated = (counts @ tops) / (counts @ bottoms)
    return interval_from_replicates(float(top.sum() / bottom.sum()), replicated, blocks=len(edges))


def _block_edges(samples: int) -> npt.NDArray[np.int64]:
    blocks = min(_MOST_BLOCKS, max(1, samples // 2))
    return np.linspace(0, samples, blocks, endpoint=False).astype(np.int64)


@cache
def _resamples(blocks: int, seed: int) -> FloatArray:
    """How often each block is drawn in each replicate."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(blocks, np.full(blocks, 1 / blocks), _REPLICATES).astype(np.float64)


_FACTORS = (1000.0, 1e6, 1e9, 512.0, 2048.0)
_NEAR = 1.12
"""Within 12 % of a factor: 1,000 and 1,024 cannot be told apart by a noisy count."""


def unit_factor(ratio: Interval) -> float | None:
    """The factor of units that a ratio is near (0.001, 1000, ...), when it is constant enough to be one."""
    if not (ratio.low > 0 and ratio.high / ratio.low < 1.5):
        return None
    for factor in _FACTORS:
        for candidate in (factor, 1 / factor):
            if abs(math.log(ratio.estimate / candidate)) < math.log(_NEAR):
                return candidate
    return None
