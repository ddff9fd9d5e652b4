"""Queues simulated exactly, as oracles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def wandering(rng: np.random.Generator, n: int, low: float, high: float) -> FloatArray:
    """A slow random walk between two bounds."""
    x = np.zeros(n)
    noise = rng.normal(0, 0.44, n)
    for i in range(1, n):
        x[i] = 0.9 * x[i - 1] + noise[i]
    return low + (high - low) / (1 + np.exp(-1.5 * x))


def single_server(
    rng: np.random.Generator, service_per_s: float, arrivals_per_s: FloatArray, interval_s: float, fixed: bool = False
) -> tuple[FloatArray, FloatArray]:
    """M/M/1 (M/D/1 when `fixed`) by Lindley's recursion: rate seen and mean latency (ns) per interval."""
    counts = rng.poisson(arrivals_per_s * interval_s)
    starts = np.repeat(np.arange(len(counts)) * interval_s, counts)
    arrivals = np.sort(starts + rng.uniform(0, interval_s, len(starts)))
    service = np.full(len(arrivals), 1 / service_per_s) if fixed else rng.exponential(1 / service_per_s, len(arrivals))
    drift = np.concatenate([[0.0], np.cumsum(service[:-1] - np.diff(arrivals))])
    latency = drift - np.minimum.accumulate(np.minimum(drift, 0.0)) + service
    total = np.bincount(np.repeat(np.arange(len(counts)), counts), latency, len(counts))
    with np.errstate(invalid="ignore"):
        return counts / interval_s, np.where(counts > 0, total / counts, np.nan) * 1e9
