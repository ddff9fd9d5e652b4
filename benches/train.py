"""What the profile of an optimised wheel is taken from: a little of the work of each engine of the core.

`make wheel` builds the core three times: with counters, for this to run in; from what was counted, for the wheel. Where
the compiler knows which way branches mostly go it lays the rest out of the way.

    uv run python -m benches.train
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benches import _esxtop_like
from benches._load_processes import Target, arrivals, closed, storscope
from benches._simulated_arrays import CASES, cpu_s, day
from storscope.domain.units import MIB


def main(share: float = 1.0) -> None:
    """Simulates each array of `benches.simulate`, sends I/Os to nothing and to a file, imports counters.

    `share` is how much of it.
    """
    for case in CASES:
        cpu_s(case.plan(round(400_000 * share)))
    cpu_s(day(0.001 * share))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _send(folder / "target", 0.5 * share)
        _import(folder, round(200 * share))


def _send(path: Path, seconds: float) -> None:
    path.write_bytes(os.urandom(16 * MIB))
    for target in (Target(MIB), Target(MIB, kind="nop"), Target(16 * MIB, str(path), direct=False)):
        for load in (closed(1), closed(32), arrivals(20_000.0, "poisson")):
            subprocess.run(storscope("", target, load).command(seconds), check=True, stdout=subprocess.DEVNULL)


def _import(folder: Path, rows: int) -> None:
    source = folder / "esxtop.csv"
    _esxtop_like.write(source, columns=5_000, rows=rows)
    program = "from storscope.cli.entry import main; main()"
    arguments = ["import", str(source), "--store", str(folder / "store")]
    subprocess.run([sys.executable, "-c", program, *arguments], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
