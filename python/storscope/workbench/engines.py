"""Which engine makes the I/Os of a measurement: our own, or fio for a second opinion."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Final

from storscope.bench.engine import EngineRun, RunPlan
from storscope.bench.fio_engine import FioEngineRun, fio_plan
from storscope.bench.measuring import Runs
from storscope.bench.record import ENGINE, About
from storscope.domain.errors import UsageError

FIO: Final = "fio"
ENGINES: Final = (ENGINE, FIO)


Started = Callable[[], AbstractContextManager[Runs]]
"""Starts the run."""


def engine_of(engine: str, plan: RunPlan, about: About) -> tuple[Started, About]:
    """What starts a run with that engine, and what is known of it. Raises MissingTool, UsageError, ConfigError."""
    if engine == ENGINE:
        return lambda: nullcontext(EngineRun(plan)), about
    if engine != FIO:
        raise UsageError("an engine of " + ", ".join(ENGINES), repr(engine))
    fio = fio_plan(plan, direct=about.direct)
    known = replace(
        about,
        engine=FIO,
        engine_version=fio.program.version,
        job=fio.file.text,
        doubts=(*about.doubts, *fio.losses),
    )
    return lambda: FioEngineRun(fio), known
