"""Runs of fio and of our own engine on the same open target."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from storscope.bench.engine import DescriptorTarget, EngineRun, RunPlan
from storscope.bench.figures import Interval, Outcome
from storscope.bench.fio_engine import FioEngineRun, fio_plan
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed, Load
from storscope.domain.units import KIB, NS_PER_S
from storscope.domain.workload import Stream, Workload

Ran = tuple[list[Interval], Outcome]


def never() -> bool:
    """Nobody wants an end."""
    return False


def workload(*lines: AccessSpec, load: Load | None = None, workers: int = 1) -> Workload:
    """One stream; by default random reads of 4 KiB, four at a time."""
    mix = Mix(lines or (AccessSpec(4 * KIB),))
    return Workload("test", (Stream(mix, load or Closed(4), workers=workers),))


@contextmanager
def opened(path: Path, flags: int = os.O_RDWR | os.O_DIRECT) -> Iterator[int]:
    """A descriptor of a file or device."""
    descriptor = os.open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def plan(what: Workload, descriptor: int, duration_ns: int = NS_PER_S, seed: int = 1) -> RunPlan:
    """A run on one target."""
    return RunPlan(what, (DescriptorTarget(descriptor),), duration_ns, seed, interval_ns=NS_PER_S // 4)


def by_fio(what: RunPlan, *, direct: bool = True, stop: Callable[[], bool] = never) -> Ran:
    """Measured by fio."""
    with FioEngineRun(fio_plan(what, direct=direct)) as run:
        return list(run.intervals(stop)), run.outcome()


def by_us(what: RunPlan) -> Ran:
    """Measured by our own engine."""
    run = EngineRun(what)
    return list(run.intervals()), run.outcome()
