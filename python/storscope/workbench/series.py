"""A time series: the same measurements again and again on a schedule, to see a cache warm up or a device wear down.

Slot k starts k intervals after the first, whatever the ones before it took: starts do not drift. What overruns its slot
makes the following ones miss theirs; they are left out and told, and the next one starts at its own time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

from storscope.bench.sweep import demanding
from storscope.bench.sweep_order import balanced_order
from storscope.domain.errors import UsageError
from storscope.domain.sweep import SweepResult
from storscope.domain.units import NS_PER_S, format_span
from storscope.store import Store
from storscope.workbench.benchmarking import BenchSession, bench_session
from storscope.workbench.sweeping import SweepPlan, SweepState, SweepWatch, measure_point, new_state, read_sweep

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
    count: int, interval_ns: int, pace: Pace, stop: Callable[[], bool], wait: Callable[[int], None], missed: list[int]
) -> Iterator[int]:
    """Yields the number of each slot when it is due; what is done with it takes the time it takes.

    A slot is missed when the one before it was still busy at its start; `missed` gets its number. Ends early when
    `stop` says so.
    """
    start_ns = pace.now_ns()
    number = 0
    while number < count:
        due_ns = start_ns + number * interval_ns
        while (left_ns := due_ns - pace.now_ns()) > 0 and not stop():
            wait(left_ns)
            pace.sleep(min(left_ns, _PATIENCE_NS))
        if stop():
            return
        yield number
        reached = -(-(pace.now_ns() - start_ns) // interval_ns)  # the first slot that has not begun
        missed.extend(range(number + 1, min(reached, count)))
        number = max(number + 1, reached)


def run_series(store: Store, plan: SweepPlan, watch: SweepWatch, stop: Callable[[], bool]) -> SweepResult:
    """Measures every point of the plan in each slot. Raises as `run_sweep`; UsageError for slots that are too short."""
    interval_ns = check_schedule(plan)
    state, missed, told = new_state(plan), list[int](), 0
    order = balanced_order(plan.points, plan.repeats, state.seed)
    with bench_session(
        store, plan.target, demanding(plan.planned), plan.settings, told=watch.say, stop=stop
    ) as session:
        state = replace(state, started_ns=time.time_ns())  # without the time it took to fill a scratch file
        for slot in slots(plan.repeats, interval_ns, MonotonicPace(), stop, watch.wait, missed):
            if len(missed) > told:
                watch.say(f"The measurement before overran its slot: {len(missed) - told} slots are left out.")
                told = len(missed)
            _measure_slot(session, plan, state, slot, order[slot], watch)
    return read_sweep(store, plan, state.id, state.failures)


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
        number = slot * len(order) + place + 1
        watch.begin(number, plan.planned[index].point, (plan.repeats - slot) * (plan.interval_ns or 0))
        measure_point(session, plan, state, slot, index, number, watch)
