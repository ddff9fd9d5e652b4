"""A time series: the same measurements again and again on a schedule, to see a cache warm up or a device wear down.

Slot k starts k intervals after the first, whatever the ones before it took: starts do not drift. What overruns its slot
makes the following ones miss theirs; they are left out and told, and the next one starts at its own time. A series
that was interrupted goes on with the next slot of its schedule, as long as it has one: the slots between are left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

from storscope.bench.sweep_order import balanced_order
from storscope.domain.errors import UsageError
from storscope.domain.sweep import SweepResult
from storscope.domain.units import NS_PER_S, format_span, format_time
from storscope.store import Store
from storscope.workbench.benchmarking import BenchSession, recover_runs
from storscope.workbench.clock_steps import ClockSteps
from storscope.workbench.one_at_a_time import one_at_a_time
from storscope.workbench.sweeping import (
    SweepPlan,
    SweepState,
    SweepWatch,
    is_prepared,
    latest_state,
    measure_point,
    new_state,
    read_sweep,
    sweep_session,
)

_PATIENCE_NS = NS_PER_S // 10
"""How soon a request to stop is noticed while nothing is measured."""


class Pace(Protocol):
    """Time as the schedule sees it."""

    def now_ns(self) -> int:
        """Any clock that only goes forward."""

    def sleep(self, ns: int) -> None:
        """Lets time pass."""


class MonotonicPace:
    """The real one."""

    def now_ns(self) -> int:
        """Since some instant."""
        return time.monotonic_ns()

    def sleep(self, ns: int) -> None:
        """Sleeps."""
        time.sleep(ns / NS_PER_S)


def slots(
    count: int, interval_ns: int, pace: Pace, stop: Callable[[], bool], wait: Callable[[int], None], missed: list[int],
    elapsed_ns: int = 0,
) -> Iterator[int]:  # fmt: skip
    """Yields the number of each slot when it is due; what is done with it takes the time it takes.

    The first slot began `elapsed_ns` ago: of a series that is continued. A slot is missed when the one before it was
    still busy at its start; `missed` gets its number. Ends early when `stop` says so.
    """
    start_ns = pace.now_ns() - elapsed_ns
    number = next_slot(elapsed_ns, interval_ns)
    while number < count:
        due_ns = start_ns + number * interval_ns
        while (left_ns := due_ns - pace.now_ns()) > 0 and not stop():
            wait(left_ns)
            pace.sleep(min(left_ns, _PATIENCE_NS))
        if stop():
            return
        yield number
        reached = next_slot(pace.now_ns() - start_ns, interval_ns)
        missed.extend(range(number + 1, min(reached, count)))
        number = max(number + 1, reached)


def next_slot(elapsed_ns: int, interval_ns: int) -> int:
    """The first slot that has not begun so long after the first one began."""
    return -(-elapsed_ns // interval_ns)


def run_series(
    store: Store, plan: SweepPlan, watch: SweepWatch, stop: Callable[[], bool], *, fresh: bool | None = None
) -> SweepResult:
    """Measures every point of the plan in each slot.

    Continues the latest series that asked the same while its schedule has slots left, unless `fresh`; False says so
    if there is none. Raises as `run_sweep`; UsageError for slots that are too short.
    """
    interval_ns = check_schedule(plan)
    with one_at_a_time(store.path, plan.digest, "series"):
        return _run_series(store, plan, interval_ns, watch, stop, fresh=fresh)


def _run_series(
    store: Store,
    plan: SweepPlan,
    interval_ns: int,
    watch: SweepWatch,
    stop: Callable[[], bool],
    *,
    fresh: bool | None,
) -> SweepResult:
    for said in recover_runs(store):
        watch.say(said)
    found = _continued(store, plan, interval_ns, watch, fresh)
    state = found or new_state(plan)
    order, told = balanced_order(plan.points, plan.repeats, state.seed), 0
    with sweep_session(store, plan, watch, stop) as session:
        if not is_prepared(session, plan, watch):
            return read_sweep(store, plan, state.id)
        if found is None:
            # without the time it took to fill a scratch file
            state = replace(state, started_ns=time.time_ns(), clock=ClockSteps())
        elif session.target.kind == "scratch":
            watch.say("Its scratch file is a new one: what a cache had learned of the old one is lost.")
        elapsed_ns = max(0, _elapsed_ns(state)) if found else 0
        for slot in slots(plan.repeats, interval_ns, MonotonicPace(), stop, watch.wait, state.overrun, elapsed_ns):
            told = _tell_overrun(state, told, watch)
            _measure_slot(session, plan, state, slot, order[slot], watch)
        _tell_overrun(state, told, watch)
    return read_sweep(store, plan, state.id, state.failures)


def _tell_overrun(state: SweepState, told: int, watch: SweepWatch) -> int:
    """Says which slots were overrun since so many were `told`; how many there are now."""
    if count := len(state.overrun) - told:
        watch.say(
            f"The measurement before overran its slot: {'1 slot is' if count == 1 else f'{count} slots are'} left out."
        )
    return len(state.overrun)


def _continued(
    store: Store, plan: SweepPlan, interval_ns: int, watch: SweepWatch, fresh: bool | None
) -> SweepState | None:
    """The series that is under way by its schedule; None if a new one starts."""
    found = None if fresh else latest_state(store, plan)
    if found is not None:
        elapsed_ns = _elapsed_ns(found)
        slot = next_slot(elapsed_ns, interval_ns)
        if elapsed_ns >= 0 and slot < plan.repeats:
            watch.say(
                f"The series {found.id} of {format_time(found.started_ns)} is continued with slot {slot + 1} of "
                f"{plan.repeats}; those that passed meanwhile are left out (--fresh starts anew)."
            )
            return found
    if fresh is False:
        why = "No series in the store asked the same" if found is None else f"The time of {found.id} is over"
        watch.say(f"{why}; a new one starts.")
    return None


def _elapsed_ns(state: SweepState) -> int:
    """Since its start, whatever the clock was set by meanwhile, as far as a run of the series saw that."""
    return time.time_ns() - state.clock.so_far_ns() - state.started_ns


def check_schedule(plan: SweepPlan) -> int:
    """The interval, when everything fits into it. Raises UsageError."""
    needed_ns = len(plan.planned) * (plan.settings.duration_ns + plan.ramp_ns)
    if plan.interval_ns is None or needed_ns >= plan.interval_ns:
        raise UsageError(
            f"slots longer than what is measured in each, {format_span(needed_ns)}", format_span(plan.interval_ns),
            hint="For example --time-series 10m/30s.",
        )  # fmt: skip
    return plan.interval_ns


def _measure_slot(
    session: BenchSession, plan: SweepPlan, state: SweepState, slot: int, order: list[int], watch: SweepWatch
) -> None:
    for place, index in enumerate(order):
        if session.is_interrupted:
            return
        number, point = slot * len(order) + place + 1, plan.planned[index].point
        watch.begin(number, point, (plan.repeats - slot) * (plan.interval_ns or 0))
        benched = measure_point(session, plan, state, slot, index, number, watch)
        if benched is not None:
            watch.end(number, point, benched, (plan.repeats - slot - 1) * (plan.interval_ns or 0))
