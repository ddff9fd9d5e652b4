"""Series of known truth, as samples of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from storscope.bench.buckets import Buckets
from storscope.bench.samples import Part, Sample

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

LENGTH_NS = 125_000_000
GRID_NS = 8 * LENGTH_NS


def autoregressive(rng: np.random.Generator, rho: float, count: int) -> FloatArray:
    """Mean 0, variance 1; the correlation at lag k is rho^k."""
    noise = rng.normal(size=count) * np.sqrt(1 - rho**2)
    values = np.empty(count)
    values[0] = rng.normal()
    for index in range(1, count):
        values[index] = rho * values[index - 1] + noise[index]
    return values


def buckets(latencies_ns: FloatArray | IntArray) -> Buckets:
    """A histogram with the engine's buckets: seven bits after the leading one."""
    values = np.asarray(latencies_ns, dtype=np.int64)
    if not len(values):
        return Buckets()
    shift = np.maximum(np.floor(np.log2(np.maximum(values, 1))).astype(np.int64), 7) - 7
    lows, firsts, counts = np.unique((values >> shift) << shift, return_index=True, return_counts=True)
    highs = lows + (1 << shift[firsts]) - 1
    total_ns = float(values.sum())
    return Buckets(lows, highs, counts.astype(np.int64), total_ns, int(values.min()), int(values.max()))


def rates(per_s: FloatArray) -> list[Sample]:
    """Samples with these rates of 4 KiB reads and no latencies."""
    counts = np.rint(per_s * LENGTH_NS / 1e9).astype(int)
    return [_sample(index, Part(int(count), int(count) * 4096)) for index, count in enumerate(counts)]


def closed_loop(latency_ns: FloatArray, outstanding: int = 8) -> list[Sample]:
    """Samples of a closed loop, with a level of latency each and spread within it; rate = outstanding / latency."""
    samples = []
    for index, level in enumerate(latency_ns):
        count = max(1, round(outstanding * LENGTH_NS / level))
        ladder = level * (0.5 + (np.arange(count) + 0.5) / count)
        samples.append(_sample(index, Part(count, count * 4096, buckets(ladder))))
    return samples


def open_loop(latency_ns: FloatArray, counts: IntArray) -> list[Sample]:
    """Samples of so many arrivals, with a level of latency each."""
    both = zip(latency_ns, counts, strict=True)
    return [
        _sample(index, Part(int(count), int(count) * 4096, buckets(np.full(count, level))))
        for index, (level, count) in enumerate(both)
    ]


def drawn(rng: np.random.Generator, scale_ns: FloatArray, count: int) -> list[Sample]:
    """Samples of `count` exponential latencies each, with a mean of their own."""
    return [
        _sample(index, Part(count, count * 4096, buckets(rng.exponential(scale, count))))
        for index, scale in enumerate(scale_ns)
    ]


def given_latencies(latencies_ns: Sequence[FloatArray]) -> list[Sample]:
    """Samples with these latencies."""
    return [
        _sample(index, Part(len(values), len(values) * 4096, buckets(values)))
        for index, values in enumerate(latencies_ns)
    ]


def _sample(index: int, part: Part) -> Sample:
    return Sample(index * LENGTH_NS, LENGTH_NS, part)
