"""Arrivals of the open loop: whether the rate asked for is the rate made, whether gaps are exponential, how late it is.

Every rate runs with fixed and with Poisson arrivals, on no storage and on a file with O_DIRECT as far as that goes.
What arrived must be within 0.5 % of what was asked, plus sampling error (95 %). Counts of Poisson arrivals in short
intervals must scatter as Poisson's do, unless lateness moved too many from one to the next. Gaps between them, as the
kernel saw the I/Os come (tracefs, needs root), must be exponential by a Kolmogorov-Smirnov test; at rates so low that
lateness is short beside a gap, which at higher ones it is not (there the tests in crates/storscope-load do the same in
virtual time). At 2,000/s the CPU is compared with fio's.

    uv run python -m benches.load_rates [--only null,file,gaps,cpu] [--seconds 4] [--directory /tmp]
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from benches import load_cpu
from benches._load_processes import Run, Target, alone_on_a_cpu, arrivals, fio, run, storscope
from storscope.domain.units import NS_PER_S

GROUPS: Final = ("null", "file", "gaps", "cpu")
RATES: Final = (100.0, 1_000.0, 9_000.0, 60_000.0, 150_000.0, 300_000.0, 500_000.0)
FILE_RATES: Final = (100.0, 1_000.0, 5_000.0, 20_000.0, 60_000.0)
GAP_RATES: Final = (100.0, 500.0)
CPU_RATE: Final = 2_000.0
TOLERANCE: Final = 0.005
_KS_POINT: Final = 1.95
"""The 99.9 % point of Kolmogorov's distribution, times the square root of the count."""
_NORMAL_95: Final = 1.96
_NORMAL_999: Final = 3.29
_LEAST_INTERVAL_S: Final = 0.005
_PER_INTERVAL: Final = 20.0
_EVENT: Final = "events/io_uring/io_uring_submit_req"


@dataclass(frozen=True)
class Made:
    """What was made of a rate."""

    rate_per_s: float
    process: str
    run: Run
    error: float
    """Arrivals in the time of the run against the rate, less 1."""
    sampling: float
    """How far Poisson arrivals (95 %), or the ends of the run, may be off by chance."""
    scatter: float | None
    """Variance of the counts per interval / their mean: 1 for Poisson, 0 for fixed arrivals. None of few intervals."""
    intervals: int
    interval_s: float

    @property
    def is_exact(self) -> bool:
        """Whether the rate is what was asked."""
        return abs(self.error) <= TOLERANCE + self.sampling

    @property
    def is_poisson(self) -> bool | None:
        """Whether the scatter is Poisson's within 99.9 %; None where that is not asked or cannot be told.

        It cannot where lateness moves as many arrivals to the next interval as chance puts there.
        """
        late_ns = self.run.told["lateness_ns_p99"]
        if self.process != "poisson" or self.scatter is None or late_ns is None:
            return None
        if self.rate_per_s * late_ns / NS_PER_S > 0.5 * math.sqrt(self.rate_per_s * self.interval_s):
            return None
        return abs(self.scatter - 1.0) <= _NORMAL_999 * math.sqrt(2.0 / (self.intervals - 1))


@dataclass(frozen=True)
class Gaps:
    """Gaps between I/Os as the kernel saw them come."""

    rate_per_s: float
    count: int
    distance: float
    """Kolmogorov-Smirnov distance from the exponential distribution with the rate asked for."""
    lateness_ns_p99: int

    @property
    def are_exponential(self) -> bool:
        """Whether the distance is within 99.9 % of what chance makes."""
        return self.distance <= _KS_POINT / math.sqrt(self.count)


def main(
    groups: tuple[str, ...] = GROUPS,
    *,
    seconds: float = 4.0,
    rates: tuple[float, ...] = RATES,
    size_bytes: int = load_cpu.SIZE_BYTES,
    directory: Path | None = None,
) -> tuple[list[Made], list[Gaps]]:
    """Prints what was made of each rate; returns it."""
    made: list[Made] = []
    gaps: list[Gaps] = []
    if "null" in groups:
        made += _series("no storage", Target(size_bytes, kind="null"), rates, seconds)
        made += _series("io_uring no-ops", Target(size_bytes, kind="nop"), rates, seconds)
    if "gaps" in groups:
        gaps = _gaps(Target(size_bytes, kind="nop"), seconds)
    if {"file", "cpu"} & set(groups):
        with load_cpu.written_file(size_bytes, directory) as path:
            target = Target(size_bytes, path)
            if "file" in groups:
                made += _series("file with O_DIRECT", target, FILE_RATES, seconds)
            if "cpu" in groups:
                _cpu(target, rounds=5, seconds=2 * seconds)
    return made, gaps


# Rates ----------------------------------------------------------------------------------------------------------------


def _series(name: str, target: Target, rates: tuple[float, ...], seconds: float) -> list[Made]:
    print(f"  {name}")
    found = []
    with alone_on_a_cpu():
        for rate in rates:
            for process in ("fixed", "poisson"):
                found.append(_made(target, rate, process, seconds))
                _print_made(found[-1])
    return found


def _made(target: Target, rate: float, process: str, seconds: float) -> Made:
    interval_s = max(_LEAST_INTERVAL_S, _PER_INTERVAL / rate)
    load = arrivals(rate, process)
    ours = storscope("storscope", target, load, interval_ns=round(interval_s * NS_PER_S), counts=True)
    done = run(ours, seconds)
    told = done.told
    arrived = told["submitted"] + told["unsent"]
    expected = rate * told["elapsed_s"]
    # Fixed arrivals begin at the start: one more or less fits in.
    sampling = _NORMAL_95 / math.sqrt(expected) if process == "poisson" else 1.0 / expected
    # The last interval is cut short.
    counts = np.array(told["counts"][:-1], dtype=np.float64)
    scatter = float(counts.var(ddof=1) / counts.mean()) if len(counts) > 10 and counts.mean() > 0 else None
    return Made(rate, process, done, arrived / expected - 1.0, sampling, scatter, len(counts), interval_s)


def _print_made(made: Made) -> None:
    told = made.run.told
    scatter = "" if made.scatter is None else f", scatter {made.scatter:.2f}"
    verdict = {None: "", True: " as Poisson's", False: " NOT Poisson's"}[made.is_poisson]
    left = f", {told['unsent']:,} never sent" if told["unsent"] else ""
    late = told["lateness_ns_p50"], told["lateness_ns_p99"]
    times = "" if None in late else f", late p50 {late[0] / 1e3:.1f} us, p99 {late[1] / 1e3:.1f} us"
    print(
        f"    {made.rate_per_s:>9,.0f}/s {made.process:<8} {100 * made.error:+.2f} % "
        f"(allowed {100 * (TOLERANCE + made.sampling):.2f} %) {'exact' if made.is_exact else 'MISSED'}"
        f"{scatter}{verdict}{times}{left}"
    )


# Gaps -----------------------------------------------------------------------------------------------------------------


def _gaps(target: Target, seconds: float) -> list[Gaps]:
    print("  gaps between no-ops, as the kernel saw them come")
    found = []
    with _trace() as trace:
        if trace is None:
            print("    not measured: needs root and tracefs with the events of io_uring")
            return []
        with alone_on_a_cpu():
            for rate in GAP_RATES:
                found.append(_gaps_at(target, trace, rate, max(seconds, 1_000.0 / rate)))
                _print_gaps(found[-1])
    return found


def _gaps_at(target: Target, trace: Path, rate: float, seconds: float) -> Gaps:
    (trace / "trace").write_text("", encoding="ascii")
    done = run(storscope("storscope", target, arrivals(rate, "poisson")), seconds)
    text = (trace / "trace").read_text(encoding="ascii")
    seen = np.array([float(time) for time in re.findall(r"([0-9]+\.[0-9]+): io_uring_submit_req", text)])
    gaps = np.diff(np.sort(seen))
    return Gaps(rate, len(gaps), ks_distance(gaps, 1.0 / rate), done.told["lateness_ns_p99"])


def ks_distance(gaps: npt.NDArray[np.float64], mean: float) -> float:
    """The Kolmogorov-Smirnov distance of gaps from the exponential distribution with this mean."""
    truth = -np.expm1(-np.sort(gaps) / mean)
    steps = np.arange(len(gaps) + 1) / len(gaps)
    return float(np.maximum(np.abs(truth - steps[:-1]), np.abs(truth - steps[1:])).max())


def _print_gaps(gaps: Gaps) -> None:
    allowed = _KS_POINT / math.sqrt(gaps.count)
    print(
        f"    {gaps.rate_per_s:>9,.0f}/s poisson  {gaps.count:,} gaps, distance from exponential {gaps.distance:.4f} "
        f"(allowed {allowed:.4f}) {'exponential' if gaps.are_exponential else 'NOT exponential'}, "
        f"late p99 {gaps.lateness_ns_p99 / 1e3:.1f} us"
    )


@contextmanager
def _trace() -> Iterator[Path | None]:
    """A buffer of the kernel's tracer that notes no-ops as they are submitted; None where that is not allowed."""
    if os.geteuid():
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="storscope-tracefs-") as directory:
        mounted = subprocess.run(["mount", "-t", "tracefs", "none", directory], capture_output=True, check=False)
        if mounted.returncode:
            yield None
            return
        instance = Path(directory) / "instances" / f"storscope-bench-{os.getpid()}"
        try:
            yield _instance(instance)
        finally:
            if instance.is_dir():
                instance.rmdir()
            subprocess.run(["umount", directory], check=True)


def _instance(instance: Path) -> Path | None:
    instance.mkdir()
    event = instance / _EVENT
    if not event.is_dir():
        return None
    (instance / "trace_clock").write_text("mono", encoding="ascii")
    (instance / "buffer_size_kb").write_text("8192", encoding="ascii")
    (event / "filter").write_text("opcode == 0", encoding="ascii")
    (event / "enable").write_text("1", encoding="ascii")
    return instance


# CPU ------------------------------------------------------------------------------------------------------------------


def _cpu(target: Target, *, rounds: int, seconds: float) -> None:
    if shutil.which("fio") is None:
        print("  CPU at 2,000/s: not measured, needs fio, which is in every distribution")
        return
    ours = storscope("storscope", target, arrivals(CPU_RATE, "poisson", 128))
    options = (f"--rate_iops={CPU_RATE:.0f}", "--rate_process=poisson")
    theirs = fio("fio", target, 128, *options)
    scene = load_cpu.Scene(f"file with O_DIRECT, {CPU_RATE:,.0f}/s", ((ours, 1.0),), (theirs,), same_target=False)
    load_cpu.measure(scene, rounds, seconds)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default=",".join(GROUPS), help=f"some of {', '.join(GROUPS)}")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each run; twice that for CPU")
    parser.add_argument("--directory", type=Path, help="where the file lies, on the storage to be used")
    return parser.parse_args()


if __name__ == "__main__":
    _options = _arguments()
    main(tuple(_options.only.split(",")), seconds=_options.seconds, directory=_options.directory)
