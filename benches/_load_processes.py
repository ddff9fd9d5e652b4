"""Processes of the load generator and of fio, with the CPU time that the kernel counted for all of their threads.

CPU per I/O is user and system time of the whole process (wait4(2), so kernel workers of its rings are in it) less that
of a process that does the same with a single I/O, divided by the I/Os. Each process is pinned to one CPU, and given
priority over whatever else runs where that is allowed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from storscope.domain.units import MIB, NS_PER_S

REPOSITORY: Final = Path(__file__).resolve().parent.parent
BLOCK_BYTES: Final = 4096
FIO_LEANEST: Final = ("--fixedbufs=1", "--registerfiles=1")
"""fio's options for what our ring always does: registered buffers and files."""


@dataclass(frozen=True)
class Target:
    """What is read: a path, or `null` and `nop`, which are no storage."""

    size_bytes: int
    path: str | None = None
    direct: bool = True
    kind: str = "null"


@dataclass(frozen=True)
class Run:
    """What a process did and what it cost, its start-up included."""

    cpu_s: float
    ios: int
    iops: float
    told: dict[str, Any]


@dataclass(frozen=True)
class Contender:
    """A tool on a target. `command` gets the seconds to run, 0 for a single I/O.

    `read` finds I/Os, IOPS and whatever else in what it prints.
    """

    name: str
    command: Callable[[float], list[str]]
    read: Callable[[str], tuple[int, float, dict[str, Any]]]


@dataclass
class Runs:
    """The runs of one contender, in the order of the rounds."""

    runs: list[Run] = field(default_factory=list)
    startups_s: list[float] = field(default_factory=list)

    @property
    def startup_s(self) -> float:
        """CPU of a process with a single I/O, median."""
        return statistics.median(self.startups_s)

    @property
    def cpu_ns_per_io(self) -> list[float]:
        """CPU per I/O of each run, start-up taken off."""
        return [(run.cpu_s - self.startup_s) / run.ios * 1e9 for run in self.runs]

    @property
    def iops(self) -> list[float]:
        """I/Os per second of each run, as the tool counts them."""
        return [run.iops for run in self.runs]


def take_turns(contenders: list[Contender], seconds: float, rounds: int) -> dict[str, Runs]:
    """Runs each once a round, forwards and backwards in turn; the first round only starts up and is not counted."""
    found = {contender.name: Runs() for contender in contenders}
    with alone_on_a_cpu():
        for number in range(rounds + 1):
            for contender in contenders if number % 2 else reversed(contenders):
                startup_s = run(contender, 0.0).cpu_s
                if number:
                    found[contender.name].startups_s.append(startup_s)
                    found[contender.name].runs.append(run(contender, seconds))
    return found


def run(contender: Contender, seconds: float) -> Run:
    """One process. Raises RuntimeError with its words if it fails."""
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        process = subprocess.Popen(contender.command(seconds), stdout=said, stderr=complained, cwd=REPOSITORY)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        complained.seek(0)
        if process.returncode:
            raise RuntimeError(f"{contender.name}: {complained.read() or said.read()}")
        ios, iops, told = contender.read(said.read())
    return Run(usage.ru_utime + usage.ru_stime, ios, iops, told)


@contextmanager
def alone_on_a_cpu() -> Iterator[None]:
    """Pins this process and what it starts to one CPU, with priority if that is allowed.

    It is the last CPU that is allowed, as interrupts tend to go to the first.
    """
    cpus, nice = os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0)
    os.sched_setaffinity(0, {max(cpus)})
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, nice)
        os.sched_setaffinity(0, cpus)


# storscope ------------------------------------------------------------------------------------------------------------


def storscope(
    name: str, target: Target, load: dict[str, Any], *, interval_ns: int = NS_PER_S, counts: bool = False, seed: int = 1
) -> Contender:
    """Random 4 KiB reads under `load` (domain.load as JSON)."""
    line = {"size_bytes": BLOCK_BYTES, "read_share": 1.0, "random_share": 1.0}
    stream = {"access": {"kind": "mix", "lines": [line]}, "load": load}
    job = {
        "workload": {"name": "bench", "streams": [stream]}, "path": target.path, "direct": target.direct,
        "kind": target.kind, "size_bytes": target.size_bytes, "interval_ns": interval_ns, "counts": counts,
        "seed": seed,
    }  # fmt: skip

    def command(seconds: float) -> list[str]:
        # A nanosecond is over before the second I/O.
        whole = {**job, "duration_ns": max(1, round(seconds * NS_PER_S))}
        return [sys.executable, "-m", "benches._load_child", json.dumps(whole)]

    return Contender(name, command, _read_storscope)


def closed(outstanding: int) -> dict[str, Any]:
    """So many I/Os in flight."""
    return {"kind": "closed", "outstanding": outstanding}


def arrivals(rate_per_s: float, process: str, max_outstanding: int = 1024) -> dict[str, Any]:
    """An open loop, `fixed` or `poisson`."""
    return {"kind": "open", "rate_per_s": rate_per_s, "process": process, "max_outstanding": max_outstanding}


def _read_storscope(text: str) -> tuple[int, float, dict[str, Any]]:
    told = json.loads(text)
    return told["ios"], told["iops"] or 0.0, told


# fio ------------------------------------------------------------------------------------------------------------------


def fio(name: str, target: Target, depth: int, *options: str, engine: str = "io_uring") -> Contender:
    """Random 4 KiB reads, latencies on as by default, in a thread, without the map of what was read already."""
    fixed = [
        "fio", "--name=bench", "--thread", "--rw=randread", f"--bs={BLOCK_BYTES}", "--norandommap", "--eta=never",
        "--output-format=json", f"--iodepth={depth}", f"--ioengine={engine}", f"--size={target.size_bytes // MIB}m",
        f"--direct={int(target.direct and target.path is not None)}", "--invalidate=0", *options,
    ]  # fmt: skip
    if target.path is not None:
        fixed += [f"--filename={target.path}", "--readonly"]

    def command(seconds: float) -> list[str]:
        length = [f"--runtime={round(seconds * 1000)}ms", "--time_based"] if seconds else [f"--io_size={BLOCK_BYTES}"]
        return [*fixed, *length]

    return Contender(name, command, _read_fio)


def _read_fio(text: str) -> tuple[int, float, dict[str, Any]]:
    # Notes may stand before the JSON.
    [job] = json.loads(text[text.index("{") :])["jobs"]
    read = job["read"]
    percentiles = read["clat_ns"].get("percentile", {})
    told = {"clat_ns_p50": percentiles.get("50.000000"), "clat_ns_p99": percentiles.get("99.000000")}
    return read["total_ios"], read["iops"], told
