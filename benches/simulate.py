"""Simulated drive I/Os per second on one core, beside plain Python (heapq) and SimPy models of the same array.

Ours does more than its peers: the load generator's draws and three histograms for each I/O, drives with seek curve,
rotation and zones, controllers and a cache where the design has them, where the time goes, the queue of every drive
over time. The peers draw three uniform numbers and sum up nothing. CPU time of the process, interleaved, medians. The
drives are 10k SAS with their own write cache off, as behind an array's cache.

    uv run python -m benches.simulate
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from benches._python_arrays import with_heapq, with_simpy
from benches._simulated_arrays import CASES, DAY_IOPS, cpu_s, day


def main(ios: int = 10_000_000, rounds: int = 5, day_share: float = 0.02) -> float:
    """Prints rates and ratios; returns how many times faster than heapq the bare array is."""
    rates: dict[str, list[float]] = {name: [] for name in (*(case.name for case in CASES), "heapq", "SimPy")}
    for _ in range(rounds):
        for case in CASES:
            drive_ios, spent_s = cpu_s(case.plan(ios))
            rates[case.name].append(drive_ios / spent_s)
        for name, model, share in (("heapq", with_heapq, 0.05), ("SimPy", with_simpy, 0.01)):
            rates[name].append(_rate_of_peer(model, max(1_000, round(ios * share))))
    medians = {name: statistics.median(found) for name, found in rates.items()}
    for case in CASES:
        print(
            f"{case.name:<44} {medians[case.name] / 1e6:6.2f} M drive I/Os/s (asked: {case.asked_per_s / 1e6:g} M; "
            f"min {min(rates[case.name]) / 1e6:.2f}, max {max(rates[case.name]) / 1e6:.2f})"
        )
    bare = medians[CASES[0].name]
    for name in ("heapq", "SimPy"):
        print(f"{'RAID 10, 46 drives, ' + name:<44} {medians[name] / 1e6:6.2f} M drive I/Os/s")
        with_cache = medians[CASES[1].name] / medians[name]
        print(f"  storscope / {name} = {bare / medians[name]:.0f} (with cache and controller {with_cache:.0f})")
    _day(day_share)
    return bare / medians["heapq"]


def _day(share: float) -> None:
    """What all of the day would take: time is linear in I/Os."""
    _, spent_s = cpu_s(day(share))
    print(f"a day at {DAY_IOPS:,.0f} IOPS: {spent_s / share:.0f} s (asked: 60 s; {share:.0%} of it was run)")


def _rate_of_peer(model: Callable[[int], object], ios: int) -> float:
    started = time.process_time()
    done = model(ios)
    return float(done.drive_ios) / (time.process_time() - started)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
