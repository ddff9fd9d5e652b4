"""CPU per I/O and IOPS of the load generator beside fio: same target, same depth, same engine, histograms on.

Random 4 KiB reads. Each run is a process of its own pinned to one CPU; the tools take turns, medians are shown. CPU is
user and system time of the whole process, the kernel's workers for its ring included, less that of starting up. Ours
goes through Python as `storscope bench` does. fio runs once as it comes and once with registered buffers and files,
which our ring always has; targets are for fio as it comes.

    uv run python -m benches.load_cpu [--only nop,cache,loop,direct] [--rounds 7] [--seconds 2] [--directory /tmp]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benches._load_processes import FIO_LEANEST, Contender, Runs, Target, closed, fio, storscope, take_turns
from storscope.domain.units import MIB
from storscope.model.compare import compare_couples

GROUPS: Final = ("nop", "cache", "loop", "direct")
SIZE_BYTES: Final = 1024 * MIB


@dataclass(frozen=True)
class Scene:
    """Contenders on one target: ours with the most CPU of fio's that is asked for, None where nothing is asked."""

    name: str
    ours: tuple[tuple[Contender, float | None], ...]
    theirs: tuple[Contender, ...]
    same_target: bool = True
    """Whether IOPS may be compared."""


@dataclass(frozen=True)
class Ratio:
    """One of ours against one of fio's."""

    scene: str
    ours: str
    theirs: str
    cpu: float
    """Of medians."""
    cpu_low: float
    cpu_high: float
    """Least and greatest of the rounds."""
    target: float | None
    iops: float | None
    """Of medians; None where IOPS are not of the same target."""
    iops_below: bool | None
    """Whether IOPS are below fio's beyond noise: a paired test at 95 %. None with a single round."""


def main(
    groups: tuple[str, ...] = GROUPS,
    *,
    rounds: int = 7,
    seconds: float = 2.0,
    size_bytes: int = SIZE_BYTES,
    directory: Path | None = None,
) -> list[Ratio]:
    """Prints costs and ratios of each scene; returns the ratios."""
    if shutil.which("fio") is None:
        print("  not measured: needs fio, which is in every distribution")
        return []
    found: list[Ratio] = []
    for group in groups:
        with _scenes(group, size_bytes, directory) as scenes:
            for scene in scenes:
                found += measure(scene, rounds, seconds)
    return found


def measure(scene: Scene, rounds: int, seconds: float) -> list[Ratio]:
    """Runs the contenders in turns and prints what each cost and how ours compares."""
    contenders = [*(contender for contender, _ in scene.ours), *scene.theirs]
    runs = take_turns(contenders, seconds, rounds)
    print(f"  {scene.name}")
    for name, of_name in runs.items():
        _print_costs(name, of_name)
    ratios = [
        _ratio(scene, runs, (ours.name, target if number == 0 else None), theirs.name)
        for ours, target in scene.ours
        for number, theirs in enumerate(scene.theirs)
    ]
    for ratio in ratios:
        _print_ratio(ratio)
    return ratios


def _ratio(scene: Scene, runs: dict[str, Runs], ours: tuple[str, float | None], theirs: str) -> Ratio:
    name, target = ours
    cpu, base = np.array(runs[name].cpu_ns_per_io), np.array(runs[theirs].cpu_ns_per_io)
    each = cpu / base
    iops = below = None
    if scene.same_target:
        iops = statistics.median(runs[name].iops) / statistics.median(runs[theirs].iops)
        interval = compare_couples(np.array(runs[theirs].iops), np.array(runs[name].iops)).ratio
        below = None if interval is None else interval.high < 1.0
    median = float(np.median(cpu) / np.median(base))
    return Ratio(scene.name, name, theirs, median, float(each.min()), float(each.max()), target, iops, below)


def _print_costs(name: str, runs: Runs) -> None:
    cost = runs.cpu_ns_per_io
    engine = "".join(f", {used}" for used in runs.runs[0].told.get("engine", []))
    print(
        f"    {name:<24} {statistics.median(cost):8.1f} ns CPU per I/O ({min(cost):.1f} to {max(cost):.1f}), "
        f"{statistics.median(runs.iops):12,.0f} IOPS, start-up {1000 * runs.startup_s:.0f} ms{engine}"
    )


def _print_ratio(ratio: Ratio) -> None:
    verdict = ""
    if ratio.target is not None:
        verdict = f", asked at most {ratio.target:.2f}: {'met' if ratio.cpu <= ratio.target else 'MISSED'}"
    print(
        f"    {ratio.ours} / {ratio.theirs}: {ratio.cpu:.3f} of its CPU "
        f"({ratio.cpu_low:.3f} to {ratio.cpu_high:.3f}){verdict}"
    )
    if ratio.iops is not None:
        noise = {None: "", True: ", BELOW beyond noise", False: ", not below beyond noise"}[ratio.iops_below]
        print(f"      {ratio.iops:.3f} of its IOPS{noise}")


# The scenes -----------------------------------------------------------------------------------------------------------


@contextmanager
def _scenes(group: str, size_bytes: int, directory: Path | None) -> Iterator[list[Scene]]:
    if group == "nop":
        yield [_of_nothing(size_bytes)]
    elif group == "loop":
        with loop_device(size_bytes) as path:
            yield [] if path is None else [_scene("loop device on tmpfs", Target(size_bytes, path), 32, 0.65)]
    else:
        with written_file(size_bytes, directory) as path:
            yield list(_of_file(group, Target(size_bytes, path, direct=group == "direct")))


def _of_nothing(size_bytes: int) -> Scene:
    """fio's null engine does not enter the kernel. Our null device is its like; no-ops go through a ring besides."""
    nop = storscope("storscope no-ops", Target(size_bytes, kind="nop"), closed(32))
    null = storscope("storscope null", Target(size_bytes, kind="null"), closed(32))
    theirs = fio("fio null", Target(size_bytes), 32, engine="null")
    return Scene("no storage, depth 32", ((nop, 0.15), (null, None)), (theirs,), same_target=False)


def _of_file(group: str, target: Target) -> Iterator[Scene]:
    if group == "cache":
        _read_through(target.path or "")
        yield _scene("file in the page cache", target, 32, 0.75)
        return
    for depth, most in ((1, 1.0), (8, 0.75), (128, 0.65)):
        yield _scene("file with O_DIRECT", target, depth, most)


def _scene(name: str, target: Target, depth: int, most: float) -> Scene:
    ours = storscope("storscope", target, closed(depth))
    theirs = fio("fio", target, depth), fio("fio, all registered", target, depth, *FIO_LEANEST)
    return Scene(f"{name}, depth {depth}", ((ours, most),), theirs)


@contextmanager
def written_file(size_bytes: int, directory: Path | None) -> Iterator[str]:
    """A file of random bytes, forced to the disk and out of the page cache."""
    with tempfile.NamedTemporaryFile(dir=directory, prefix="storscope-bench-") as file:
        for _ in range(size_bytes // MIB):
            file.write(os.urandom(MIB))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        yield file.name


def _read_through(path: str) -> None:
    with Path(path).open("rb", buffering=0) as file:
        while file.read(MIB):
            pass


@contextmanager
def loop_device(size_bytes: int) -> Iterator[str | None]:
    """A loop device over a file in memory; None, with the reason printed, where that is not allowed."""
    memory = Path("/dev/shm")
    if os.geteuid() or not memory.is_dir() or shutil.which("losetup") is None:
        print("  loop device on tmpfs: not measured, needs root, losetup and /dev/shm")
        yield None
        return
    with written_file(size_bytes, memory) as backing:
        done = subprocess.run(["losetup", "--find", "--show", backing], capture_output=True, text=True, check=True)
        path = done.stdout.strip()
        try:
            yield path
        finally:
            subprocess.run(["losetup", "--detach", path], check=True)


def _groups(text: str) -> tuple[str, ...]:
    """Of the option; a word that is none of them would be measured as a file and called something else."""
    words = tuple(text.split(","))
    if unknown := set(words) - set(GROUPS):
        raise argparse.ArgumentTypeError(f"expected some of {', '.join(GROUPS)}, found {', '.join(sorted(unknown))}")
    return words


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", type=_groups, default=GROUPS, help=f"some of {', '.join(GROUPS)}")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each run")
    parser.add_argument("--directory", type=Path, help="where the file lies, on the storage to be used")
    return parser.parse_args()


if __name__ == "__main__":
    _options = _arguments()
    main(
        _options.only,
        rounds=_options.rounds,
        seconds=_options.seconds,
        directory=_options.directory,
    )
