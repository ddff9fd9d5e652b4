"""Diagnosing a day of 50 volumes at 20 s, import and report included, beside what one would do by hand.

By hand: Polars reads the same CSV, melts it and computes mean and 95th percentile per counter, which answers nothing
yet. Whole processes, interleaved, medians.

    uv run python -m benches.diagnose_day
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benches._day_of_volumes import write_day

_BY_HAND = """
import polars as pl, sys
table = pl.read_csv(sys.argv[1], infer_schema_length=0)
clock = table.columns[0]
long = table.unpivot(index=clock).with_columns(pl.col("value").cast(pl.Float64))
print(long.group_by("variable").agg(pl.col("value").mean().alias("mean"), pl.col("value").quantile(0.95).alias("p95")))
"""


def main(volumes: int = 50, samples: int = 4320, rounds: int = 5) -> float:
    """Prints the times and the ratio; returns seconds for storscope."""
    with tempfile.TemporaryDirectory() as directory:
        day, report = Path(directory) / "day.csv", Path(directory) / "report.html"
        write_day(day, volumes, samples)
        ours = [sys.executable, "-m", "storscope", "diagnose", str(day), "--report", str(report)]
        by_hand = [sys.executable, "-c", _BY_HAND, str(day)]
        times: dict[str, list[float]] = {"storscope": [], "by hand": []}
        for _ in range(rounds):
            times["storscope"].append(_seconds(ours, {0, 1}))
            times["by hand"].append(_seconds(by_hand, {0}))
        medians = {name: statistics.median(found) for name, found in times.items()}
        print(f"day of {volumes} volumes, {samples} samples, {day.stat().st_size / 1e6:.1f} MB")
        for name, found in times.items():
            print(f"  {name:<10} median {medians[name]:.2f} s  (min {min(found):.2f}, max {max(found):.2f})")
        print(f"  storscope / by hand = {medians['storscope'] / medians['by hand']:.2f}")
        print(f"  report {report.stat().st_size / 1e6:.2f} MB")
        return medians["storscope"]


def _seconds(command: list[str], codes: set[int]) -> float:
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        raise RuntimeError(done.stderr)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
