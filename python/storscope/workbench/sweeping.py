"""Sweeps: many measurements on one open target, each in the store as soon as it is made, continued where they ended.

A matrix is measured in blocks, one for each repetition, in a balanced order (`bench.sweep`). What was measured to its
end is not measured again: after Ctrl-C or a crash the same call goes on with the points that are missing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Protocol

from storscope.bench.figures import Interval
from storscope.bench.goals import Goal, Progress, fixed_time
from storscope.bench.sweep import Planned, demanding
from storscope.bench.sweep_order import balanced_order
from storscope.domain.errors import ConfigError, TargetRefused, UsageError
from storscope.domain.sweep import Point, SweepResult
from storscope.domain.units import format_time
from storscope.store import Store
from storscope.workbench.asked_before import other_sweep
from storscope.workbench.asked_digest import OLD_FORMS, Form, digest_of, told
from storscope.workbench.benchmarking import Benched, BenchSession, BenchSettings, bench_session, recover_runs
from storscope.workbench.clock_steps import ClockSteps
from storscope.workbench.engines import AUTO
from storscope.workbench.one_at_a_time import one_at_a_time
from storscope.workbench.preconditioning import precondition
from storscope.workbench.sweep_reading import (
    cells_of,
    clock_steps,
    latest_sweep,
    off_schedule,
    pauses,
    resized,
    runs_of,
    sizes_of,
)

_SEEDS = 2**64


@dataclass(frozen=True)
class SweepPlan:
    """What is measured where.

    The settings' duration is of each measurement, at the longest; their seed is of the order and of all draws.
    """

    targets: tuple[str, ...]
    planned: tuple[Planned, ...]
    settings: BenchSettings
    repeats: int = 1
    interval_ns: int | None = None
    """Of a series over time: from one slot to the next; `repeats` is the number of slots."""
    ramp_ns: int = 0
    """Before each measurement, as the workloads' file asks: it counts for nothing."""
    goals: tuple[Goal, ...] = ()
    """When the measurement of each of `planned` ends; none: after the settings' duration."""
    preconditions: bool = False
    """Whether twice the capacity is written before the first measurement."""

    def goal(self, index: int) -> Goal:
        """When a measurement of that point ends."""
        if self.goals:
            return self.goals[index]
        return replace(fixed_time(self.planned[index].workload, self.settings.duration_ns), ramp_ns=self.ramp_ns)

    @property
    def ends(self) -> str | None:
        """When measurements end, in words; None when each takes the settings' duration."""
        return "; ".join(dict.fromkeys(goal.explain() for goal in self.goals)) or None

    @property
    def total(self) -> int:
        """Measurements that are asked for."""
        return len(self.planned) * self.repeats

    @property
    def points(self) -> list[Point]:
        """The points of the matrix, in its order."""
        return [item.point for item in self.planned]

    @property
    def digest(self) -> str:
        """What makes it the same sweep: all but the seed and the permission to write."""
        return digest_of(self._asked(told))

    @property
    def digests(self) -> list[str]:
        """By which it may be in a store: this version's digest, then those of older ones."""
        return [self.digest, *(digest_of(self._asked(form)) for form in OLD_FORMS)]

    @property
    def how(self) -> dict[str, str]:
        """What was asked for that no run tells of itself, as each keeps it: who asks otherwise later is told so."""
        return {
            "sweep_repeats": str(self.repeats), "sweep_preconditions": str(self.preconditions).lower(),
            "sweep_ioengine": self.settings.ioengine,
            **({"sweep_every_ns": str(self.interval_ns)} if self.interval_ns else {}),
        }  # fmt: skip

    def _asked(self, form: Form) -> dict[str, Any]:
        settings = self.settings
        paths = [str(Path(target).absolute()) for target in self.targets]
        return {
            "target": paths[0] if len(paths) == 1 else paths,
            "points": [[item.point.key, form(item.workload)] for item in self.planned],
            "settings": [settings.duration_ns, settings.size_bytes, settings.direct, self.ramp_ns],
            "engine": settings.engine,
            **({"ioengine": settings.ioengine} if settings.ioengine != AUTO else {}),
            "repeats": self.repeats,
            "interval_ns": self.interval_ns,
            **({"goals": [goal.explain() for goal in self.goals]} if self.goals else {}),
            **({"preconditions": True} if self.preconditions else {}),
        }


class SweepWatch(Protocol):
    """Hears what a sweep does."""

    def say(self, sentence: str) -> None:
        """A sentence for the user."""

    def begin(self, number: int, point: Point, left_ns: int) -> None:
        """A measurement starts: the `number`-th of all; what is left will take about `left_ns` with it."""

    def show(self, interval: Interval) -> None:
        """An interval of it."""

    def follow(self, progress: Progress) -> None:
        """How far it has got; told before each interval."""

    def end(self, number: int, point: Point, benched: Benched, left_ns: int) -> None:
        """It ended, and is in the store; the others will take about `left_ns`."""

    def wait(self, left_ns: int) -> None:
        """Nothing is measured until the next slot."""


@dataclass
class SweepState:
    """A sweep under way."""

    id: str
    digest: str
    seed: int
    started_ns: int
    done: set[tuple[str, int]]
    failures: list[str]
    sitting: str = field(default_factory=lambda: f"{time.time_ns():x}")
    """This process's part of it: what is measured without an interruption."""
    overrun: list[int] = field(default_factory=list)
    """Slots of a series that passed in this sitting while the one before them was at work."""
    clock: ClockSteps = field(default_factory=ClockSteps)
    """Since `started_ns`."""


def run_sweep(
    store: Store, plan: SweepPlan, watch: SweepWatch, stop: Callable[[], bool], *, fresh: bool | None = None
) -> SweepResult:
    """Measures what is missing of a sweep and returns all of it.

    `fresh` starts anew; False continues the latest one that asked the same, also when nothing is missing; None
    continues it if something is. Raises TargetRefused, ConfigError and UsageError as `bench_session` does, UsageError
    also while another process measures the same. A point that cannot be measured is told and left out.
    """
    with one_at_a_time(store.path, plan.digest, "sweep"):
        return _run_sweep(store, plan, watch, stop, fresh=fresh)


def _run_sweep(
    store: Store, plan: SweepPlan, watch: SweepWatch, stop: Callable[[], bool], *, fresh: bool | None
) -> SweepResult:
    for said in recover_runs(store):
        watch.say(said)
    sweep = _continued(store, plan, watch, fresh) or new_state(plan)
    order = balanced_order(plan.points, plan.repeats, sweep.seed)
    todo = [
        (block, index)
        for block, places in enumerate(order)
        for index in places
        if (plan.planned[index].point.key, block) not in sweep.done
    ]
    if todo:
        with sweep_session(store, plan, watch, stop) as session:
            if is_prepared(session, plan, watch):
                _measure_all(session, plan, sweep, todo, watch)
    return read_sweep(store, plan, sweep.id, sweep.failures)


def sweep_session(
    store: Store, plan: SweepPlan, watch: SweepWatch, stop: Callable[[], bool]
) -> AbstractContextManager[BenchSession]:
    """A session that suits every point."""
    return bench_session(
        store, plan.targets, demanding(plan.planned), plan.settings, told=watch.say, stop=stop,
        writes=plan.preconditions, blocks=False,
    )  # fmt: skip


def is_prepared(session: BenchSession, plan: SweepPlan, watch: SweepWatch) -> bool:
    """Whether measuring may begin: preconditions, if that is asked for, also a sweep that is continued."""
    return not plan.preconditions or precondition(session, demanding(plan.planned), watch)


def _continued(store: Store, plan: SweepPlan, watch: SweepWatch, fresh: bool | None) -> SweepState | None:
    found = None if fresh else latest_state(store, plan)
    if found is None:
        if fresh is False:
            other = _other(store, plan)
            there = f" There is {other}." if other else ""
            watch.say(f"No sweep in the store asked the same; a new one starts.{there}")
        return None
    if len(found.done) >= plan.total and fresh is None:
        return None
    watch.say(
        f"The sweep {found.id} of {format_time(found.started_ns)} is continued: {len(found.done)} of {plan.total} "
        "measurements are in the store (--fresh starts anew)."
    )
    return found


def latest_state(store: Store, plan: SweepPlan) -> SweepState | None:
    """The newest sweep in the store that asked the same, as far as it got; None if there is none."""
    found = latest_sweep(store, plan.digests)
    if found is None:
        return None
    runs = runs_of(store, found, figures=False)
    done = {(run.point, run.block) for run in runs if run.is_measured}
    known, latest = runs[0].parameters, max(runs, key=lambda run: (run.block, run.order))
    return SweepState(
        found, plan.digest, int(known["sweep_seed"]), int(known["sweep_started_ns"]), done, [],
        clock=ClockSteps(latest.clock_set_ns),
    )  # fmt: skip


def new_state(plan: SweepPlan) -> SweepState:
    """Of a sweep that starts now."""
    now_ns = time.time_ns()
    return SweepState(f"sweep-{now_ns:x}", plan.digest, plan.settings.seed, now_ns, set(), [])


def _measure_all(
    session: BenchSession, plan: SweepPlan, sweep: SweepState, todo: Sequence[tuple[int, int]], watch: SweepWatch
) -> None:
    before = plan.total - len(todo)
    began = time.monotonic_ns()
    for number, (block, index) in enumerate(todo):
        if session.is_interrupted:
            return
        place, point = before + number + 1, plan.planned[index].point
        each = (time.monotonic_ns() - began) / number if number else plan.goal(index).longest_ns
        watch.begin(place, point, round(each * (len(todo) - number)))
        benched = measure_point(session, plan, sweep, block, index, place, watch)
        if benched is not None:
            each = (time.monotonic_ns() - began) / (number + 1)
            watch.end(place, point, benched, round(each * (len(todo) - number - 1)))


def measure_point(
    session: BenchSession, plan: SweepPlan, sweep: SweepState, block: int, index: int, number: int, watch: SweepWatch
) -> Benched | None:
    """One measurement of a sweep. One that cannot be made, or fails, is told and leaves the others alone."""
    item = plan.planned[index]
    labels = {
        "sweep": sweep.id, "sweep_plan": sweep.digest, "sweep_point": item.point.key, "sweep_block": str(block),
        "sweep_order": str(number), "sweep_seed": str(sweep.seed), "sweep_started_ns": str(sweep.started_ns),
        "sweep_sitting": sweep.sitting, **_clock_label(sweep), **_overrun_label(sweep, block), **_size_label(session),
        **plan.how,
    }  # fmt: skip
    seed = (sweep.seed + block * len(plan.planned) + index) % _SEEDS
    try:
        benched = session.measure(
            item.workload, watch.show, seed=seed, labels=labels, goal=plan.goal(index), follow=watch.follow
        )
    except (ConfigError, UsageError, TargetRefused) as error:  # one that opened before and no longer does, too
        sweep.failures.append(f"{item.point.words}: {error}")
        return None
    if benched.outcome.error is not None:
        sweep.failures.append(f"{item.point.words}: {benched.outcome.error[1]}")
    return benched


def _clock_label(sweep: SweepState) -> dict[str, str]:
    """By how much the clock was set since the start. Nothing where it was not."""
    set_ns = sweep.clock.so_far_ns()
    return {"sweep_clock_set_ns": str(set_ns)} if set_ns else {}


def _overrun_label(sweep: SweepState, slot: int) -> dict[str, str]:
    """How many slots right before this one passed while the one before them was at work. Nothing where none did."""
    count = sum(1 for _ in takewhile(sweep.overrun.__contains__, range(slot - 1, -1, -1)))
    return {"sweep_overrun": str(count)} if count else {}


def _size_label(session: BenchSession) -> dict[str, str]:
    """Of what is measured of each target: all of it, or its first part. Nothing where targets differ, or where a file
    system has failed meanwhile and tells no size: then the measurement says so."""
    try:
        sizes = {ready.size_bytes for ready in session.targets}
    except OSError:
        return {}
    return {"sweep_size_bytes": str(sizes.pop())} if len(sizes) == 1 else {}


# What there is --------------------------------------------------------------------------------------------------------


def show_sweep(store: Store, plan: SweepPlan, seed: int | None = None) -> SweepResult:
    """The latest sweep in the store that asked the same, of those with `seed` if there are such.

    Raises UsageError if there is none.
    """
    found = latest_sweep(store, plan.digests, seed)
    if found is None:
        other = _other(store, plan)
        raise UsageError(
            "a sweep in the store that asked the same", f"only {other}" if other else "none", where=str(store.path),
            hint="The target, every axis, --duration or what ended each instead, --size, --repeat, --precondition, "
            "--buffered and --engine must be as they were, and so must --ioengine.",
        )  # fmt: skip
    return read_sweep(store, plan, found)


def _other(store: Store, plan: SweepPlan) -> str | None:
    """What the store has of the same points and targets that was asked otherwise, in words."""
    lengths = {point.key: plan.goal(index).explain() for index, point in enumerate(plan.points)}
    return other_sweep(store, plan.targets, lengths, plan.settings, plan.how)


def read_sweep(store: Store, plan: SweepPlan, sweep: str, failures: Sequence[str] = ()) -> SweepResult:
    """Everything a sweep has measured."""
    runs = runs_of(store, sweep)
    parameters = dict(runs[-1].parameters) if runs else {}
    started_ns = int(parameters["sweep_started_ns"]) if runs else None
    sizes = sizes_of(runs)
    cells = cells_of(plan.planned, runs, start_ns=started_ns if plan.interval_ns is not None else None)
    common = set.intersection(*(set(cell.doubts) for cell in cells)) if cells else set()
    return SweepResult(
        id=sweep,
        target=", ".join(map(os.path.abspath, plan.targets)),
        target_kind=parameters.get("target_kind", "unknown"),
        cells=tuple(replace(cell, doubts=tuple(d for d in cell.doubts if d not in common)) for cell in cells),
        planned=plan.total,
        done=len({(run.point, run.block) for run in runs if run.is_measured}),
        repeats=plan.repeats,
        duration_ns=plan.settings.duration_ns,
        ends=plan.ends,
        seed=parameters.get("sweep_seed", str(plan.settings.seed)),
        started_ns=started_ns,
        ended_ns=max((run.started_ns + run.duration_ns for run in runs), default=None),
        size_bytes=next(iter(sizes)) if len(sizes) == 1 else None,
        direct=parameters.get("direct", "true") == "true",
        doubts=tuple(doubt for doubt in (cells[0].doubts if cells else ()) if doubt in common),
        interval_ns=plan.interval_ns,
        notes=(
            *clock_steps(runs),
            *resized(runs),
            *(pauses(runs) if plan.interval_ns is None else off_schedule(runs, plan.interval_ns, started_ns or 0)),
        ),
        failures=tuple(failures),
        host=runs[-1].host if runs else None,
    )
