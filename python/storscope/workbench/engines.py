"""Which engine makes the I/Os of a measurement: our own, or fio for a second opinion."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Final

from storscope.bench.engine import EngineRun, RunPlan, explained
from storscope.bench.fio_engine import FioEngineRun, check_load_of_fio, fio_plan
from storscope.bench.fio_program import find_fio
from storscope.bench.measuring import Runs
from storscope.bench.record import ENGINE, About
from storscope.bench.ring import ring_refused
from storscope.domain.errors import UsageError
from storscope.domain.workload import Workload

FIO: Final = "fio"
ENGINES: Final = (ENGINE, FIO)
AUTO: Final = "auto"
RING: Final = "io_uring"
IOENGINES: Final = (AUTO, RING, "threads")
"""How our own engine makes I/Os."""

Started = Callable[[], AbstractContextManager[Runs]]
"""Starts the run."""


def check_engine(engine: str, ioengine: str = AUTO) -> None:
    """Whether it can be used, before anything is prepared for it. Raises MissingTool, UsageError."""
    if engine not in ENGINES:
        raise UsageError("an engine of " + ", ".join(ENGINES), repr(engine))
    if ioengine not in IOENGINES:
        raise UsageError("an ioengine of " + ", ".join(IOENGINES), repr(ioengine))
    if engine != ENGINE and ioengine != AUTO:
        raise UsageError(
            "--ioengine with storscope's own engine", f"--engine {engine} --ioengine {ioengine}",
            hint="fio makes the I/Os by io_uring, or by what this machine allows (docs/bench.md).",
        )  # fmt: skip
    if engine == FIO:
        find_fio()
    if ioengine == RING and (refused := ring_refused()) is not None:
        raise UsageError(f"an io_uring, for --ioengine {RING}", explained(refused))


def check_load(engine: str, workload: Workload, targets: int) -> None:
    """Whether it can make a load on so many targets. Raises ConfigError."""
    if engine == FIO:
        check_load_of_fio(workload, targets)


def engine_of(engine: str, plan: RunPlan, about: About) -> tuple[Started, About]:
    """What starts a run with that engine, and what is known of it. Raises MissingTool, ConfigError."""
    if engine == ENGINE:
        return lambda: nullcontext(EngineRun(plan)), about
    fio = fio_plan(plan, direct=about.direct)
    known = replace(
        about,
        engine=FIO,
        engine_version=fio.program.version,
        job=fio.file.text,
        doubts=(*about.doubts, *fio.losses),
    )
    return lambda: FioEngineRun(fio), known
