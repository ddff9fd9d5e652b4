"""How long `storscope --help` takes, beside a bare Python interpreter. Whole processes, interleaved, medians.

uv run python -m benches.help_time
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time


def main(rounds: int = 15) -> float:
    """Prints the times and the ratio; returns seconds for storscope."""
    commands = {
        "storscope --help": [sys.executable, "-m", "storscope", "--help"],
        "python -c pass": [sys.executable, "-c", "pass"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            started = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True)
            times[name].append(time.perf_counter() - started)
    ours, bare = (statistics.median(found) for found in times.values())
    for name, found in times.items():
        print(f"  {name:<17} median {1000 * statistics.median(found):.0f} ms  (min {1000 * min(found):.0f} ms)")
    print(f"  storscope / bare interpreter = {ours / bare:.1f}")
    return ours


if __name__ == "__main__":
    main()
