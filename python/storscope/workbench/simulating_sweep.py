"""Simulates the points of a sweep, as many at a time as there are cores, and makes their table."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from storscope.domain.errors import ConfigError, UsageError
from storscope.domain.sweep import MEASURED, SIMULATED, Cell, Estimate, Point, SweepResult
from storscope.domain.units import NS_PER_US, format_count
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate as run_plan
from storscope.workbench.simulation_sweep import SimulationSweep
from storscope.workbench.sweep_reading import FIGURES_OF_RUN

_PATIENCE_S = 0.2
"""How soon a request to stop is noticed while nothing ends."""


@dataclass(frozen=True, repr=False, eq=False)
class SimulatedPoint:
    """A point of a sweep and what its simulation gave."""

    point: Point
    simulated: Simulated

    def __repr__(self) -> str:
        """The point, and the result in a line."""
        return f"<SimulatedPoint {self.point.words!r}: {self.simulated!r}>"


@dataclass(frozen=True)
class Failure:
    """A point that could not be simulated, and why."""

    point: Point
    error: ConfigError | UsageError

    @property
    def words(self) -> str:
        """In a sentence."""
        return f"{self.point.words}: {self.error}"


def simulated_points(
    sweep: SimulationSweep, *, started_ns: int | None = None, stop: Callable[[], bool] = lambda: False
) -> Generator[tuple[int, SimulatedPoint | Failure]]:
    """Each point as soon as it is simulated, with its place in the sweep; at `stop` those under way are left out.

    The record places one point a microsecond after the one before it, so that each run has a name of its own: all begin
    at `started_ns` (UTC; now, if absent).
    """
    begin_ns = time.time_ns() // NS_PER_US * NS_PER_US if started_ns is None else started_ns
    is_over = threading.Event()

    def ends() -> bool:
        return is_over.is_set()

    cores = len(os.sched_getaffinity(0))
    waiting = iter(range(len(sweep.plans)))
    running: dict[Future[SimulatedPoint | Failure], int] = {}
    with ThreadPoolExecutor(max_workers=cores) as pool:
        try:
            while not stop():
                while len(running) < 2 * cores and (number := next(waiting, None)) is not None:
                    running[pool.submit(_simulated, sweep, number, begin_ns, ends)] = number
                if not running:
                    return
                done, _ = wait(running, _PATIENCE_S, FIRST_COMPLETED)
                yield from ((running.pop(one), one.result()) for one in sorted(done, key=running.__getitem__))
            yield from ((number, one.result()) for one, number in running.items() if one.done())
        finally:
            is_over.set()
            for one in running:
                one.cancel()


def _simulated(
    sweep: SimulationSweep, number: int, begin_ns: int, stop: Callable[[], bool]
) -> SimulatedPoint | Failure:  # fmt: skip
    point = sweep.points[number]
    try:
        found = run_plan(sweep.plans[number], started_ns=begin_ns + number * NS_PER_US, stop=stop)
    except (ConfigError, UsageError) as error:
        return Failure(point, error)
    labels = {
        **found.about.labels, "sweep": _id(begin_ns), "sweep_plan": sweep.digest, "sweep_point": point.key,
        "sweep_block": "0", "sweep_order": str(number + 1), "sweep_seed": str(found.about.seed),
        "sweep_started_ns": str(begin_ns),
        **({} if sweep.size_bytes is None else {"sweep_size_bytes": str(sweep.size_bytes)}),
    }  # fmt: skip
    return SimulatedPoint(point, replace(found, about=replace(found.about, labels=labels)))


def _id(begin_ns: int) -> str:
    return f"sweep-{begin_ns:x}"


# The table ------------------------------------------------------------------------------------------------------------


def sweep_result(
    sweep: SimulationSweep, begin_ns: int, cells: dict[int, Cell], failures: dict[int, str]
) -> SweepResult:  # fmt: skip
    """What a sweep that was begun then has simulated, in the order of the matrix."""
    made = [cells[number] for number in sorted(cells)]
    common = set.intersection(*(set(cell.doubts) for cell in made)) if len(made) > 1 else set[str]()
    longest_ns = max((plan.duration_ns or 0 for plan in sweep.plans), default=0)
    return SweepResult(
        id=_id(begin_ns), target=sweep.target, target_kind=SIMULATED,
        cells=tuple(replace(cell, doubts=tuple(one for one in cell.doubts if one not in common)) for cell in made),
        planned=len(sweep.plans), done=len(made), repeats=1, duration_ns=longest_ns,
        ends=_ends(sweep),
        seed=str(sweep.plans[0].seed), started_ns=begin_ns, ended_ns=begin_ns, size_bytes=sweep.size_bytes,
        doubts=tuple(one for one in (made[0].doubts if made else ()) if one in common),
        failures=tuple(failures[number] for number in sorted(failures)),
    )  # fmt: skip


def _ends(sweep: SimulationSweep) -> str | None:
    """When a point ends, in words; None where each takes the same time."""
    if sweep.plans[0].ios is not None:
        return f"{format_count(sweep.plans[0].ios)} I/Os"
    return None if len({plan.duration_ns for plan in sweep.plans}) == 1 else "its workload ends"


def cell_of(found: SimulatedPoint) -> Cell | None:
    """A row of the table; None of a run that broke off, whose figures are of no whole run."""
    simulated = found.simulated
    if simulated.status not in MEASURED:
        return None
    estimates = simulated.judgement.estimates
    figures = {
        figure: Estimate(estimates[name].value, estimates[name].low, estimates[name].high)
        for name, figure in FIGURES_OF_RUN.items()
        if name in estimates
    }
    return Cell(
        found.point, 1, {**figures, **_directed(simulated)}, doubts=simulated.doubts,
        invalid_runs=int(simulated.status == "invalid"), bounds=simulated.bottleneck.short,
    )  # fmt: skip


def _directed(simulated: Simulated) -> dict[str, Estimate]:
    """The same load by direction."""
    measured, found = simulated.measured, {}
    for word in ("read", "write"):
        one = measured.direction(f"{word}s")
        for name, count in (("ops", one.ios), ("bytes", one.bytes)):
            rate = measured.per_s(count)
            if rate is not None:
                found[f"{word}_{name}_per_s"] = Estimate(rate)
    return found
