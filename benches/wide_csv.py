"""A wide esxtop-like CSV into a queryable store, beside Polars reading and melting the same file in memory.

Polars gets the schema, so it infers nothing, and holds the result in memory: nothing is hashed, written or synced.
storscope does the whole of an import: recognition, SHA-256, reading, mapping to entities and units, Parquet, fsync.
Each run is a process of its own, the two take turns, medians are shown. Two times are told apart: the work (from the
file's name to the melted frame or the published capture) and the whole process with interpreter and imports.

    uv run python -m benches.wide_csv
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benches import _esxtop_like

_COMMON = """
import json, sys, time
def peak_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024
def tell(started, **more):
    print(json.dumps({"work_s": time.perf_counter() - started, "peak_bytes": peak_bytes(), **more}))
"""

_STORSCOPE = (
    _COMMON
    + """
from pathlib import Path
from storscope.workbench import importing
from storscope.sources.importers import importers
from storscope.store import Store
importers()
imported_bytes = peak_bytes()
started = time.perf_counter()
store = Store.open(Path(sys.argv[2]), create=True)
done = importing.import_paths(store, [Path(sys.argv[1])])
[capture] = done.imported
tell(started, before_bytes=imported_bytes, rows=capture.rows, omitted=sum(capture.omitted.values()))
"""
)

_POLARS = (
    _COMMON
    + """
import csv
import polars as pl
imported_bytes = peak_bytes()
with open(sys.argv[1], newline="") as file:
    names = next(csv.reader(file))
schema = {name: pl.Float64 if number else pl.String for number, name in enumerate(names)}
started = time.perf_counter()
long = pl.read_csv(sys.argv[1], schema=schema).unpivot(index=names[0])
tell(started, before_bytes=imported_bytes, rows=long.height)
"""
)


@dataclass
class Run:
    """One process."""

    work_s: float
    process_s: float
    peak_bytes: int
    before_bytes: int


@dataclass
class Result:
    """Medians of both, and how they compare."""

    size_bytes: int
    storscope: Run
    polars: Run

    @property
    def times_faster(self) -> float:
        """Polars' time for the work / storscope's."""
        return self.polars.work_s / self.storscope.work_s

    @property
    def peak_of_file(self) -> float:
        """storscope's greatest resident memory / the file's size."""
        return self.storscope.peak_bytes / self.size_bytes


def main(columns: int = 20_000, rows: int = 720, rounds: int = 7) -> Result:
    """Prints times, ratios and memory; returns the medians."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "esxtop.csv"
        size = _esxtop_like.write(path, columns, rows)
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": f"{directory}/bytecode"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        found: dict[str, list[Run]] = {"storscope": [], "polars": []}
        # The first round fills the caches of both: bytecode, file pages. It is not counted.
        for number in range(rounds + 1):
            for name, script in (("storscope", _STORSCOPE), ("polars", _POLARS)):
                run = _run(script, path, Path(directory) / f"store-{number}", environment)
                if number:
                    found[name].append(run)
        result = Result(size, _median(found["storscope"]), _median(found["polars"]))
    _print(result, found, columns, rows)
    return result


def _run(script: str, path: Path, store: Path, environment: dict[str, str]) -> Run:
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), str(store)],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    process_s = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(done.stderr)
    told = json.loads(done.stdout)
    return Run(told["work_s"], process_s, told["peak_bytes"], told["before_bytes"])


def _median(runs: list[Run]) -> Run:
    return Run(
        statistics.median(run.work_s for run in runs),
        statistics.median(run.process_s for run in runs),
        round(statistics.median(run.peak_bytes for run in runs)),
        round(statistics.median(run.before_bytes for run in runs)),
    )


def _print(result: Result, found: dict[str, list[Run]], columns: int, rows: int) -> None:
    print(f"{result.size_bytes / 1e6:.1f} MB, {columns:,} columns x {rows} rows")
    for name, runs in found.items():
        median: Run = getattr(result, name)
        print(
            f"  {name:<10} work median {median.work_s:.2f} s (min {min(run.work_s for run in runs):.2f}, "
            f"max {max(run.work_s for run in runs):.2f}), whole process {median.process_s:.2f} s, "
            f"peak {median.peak_bytes / 1e6:.0f} MB ({median.before_bytes / 1e6:.0f} MB of it before the work)"
        )
    whole = result.polars.process_s / result.storscope.process_s
    print(f"  storscope is {result.times_faster:.1f} x as fast as Polars at the work, {whole:.1f} x as a whole process")
    print(f"  peak memory of the whole process / file = {result.peak_of_file:.2f}")


if __name__ == "__main__":
    main()
