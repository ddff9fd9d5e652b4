"""A simulation: a workload on a design, judged like a measurement."""

from __future__ import annotations

import hashlib
import json
import math
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import storscope
from storscope.bench.compact import compact
from storscope.bench.figures import Interval, Outcome
from storscope.bench.goals import Progress
from storscope.bench.joining import joined
from storscope.bench.rate_steps import rate_step_figures
from storscope.bench.record import About
from storscope.bench.samples import Sample, Samples
from storscope.domain.units import NS_PER_S, NS_PER_US
from storscope.sim.happenings import ended_ns, happenings
from storscope.sim.load_changes import load_end_ns
from storscope.sim.phases import Phase, phases_of
from storscope.sim.replay import TracePlan
from storscope.sim.simulation import LONGEST_SLICE_NS, SimulationPlan, SimulationRun
from storscope.sim.takeovers import longest_silence, silence_at_end
from storscope.sim.window import until
from storscope.workbench.cache_filling import full_words
from storscope.workbench.interval_length import cut_interval_ns
from storscope.workbench.looking_ahead import doubts_of_what_follows
from storscope.workbench.no_time import check_time_passed
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulation_doubts import doubts_of_run
from storscope.workbench.simulation_judgement import (
    Cause,
    ended_words,
    judge,
    judge_replay,
    longer_words,
    reached_its_time,
    worded,
)
from storscope.workbench.stretches import stretches_of

ENGINE = "storscope-sim"
_MOST_INTERVALS, _LEAST_INTERVALS = 512, 32
"""More are put together two by two, as samples are (bench/samples.py): so many I/Os may take longer than expected."""
_MOST_CELL_INTERVALS, _MOST_DRIVE_INTERVALS = 20_480, 102_400
"""Of streams on volumes, and of drives, in all intervals that are kept: each of these has rows and distributions of its
own. A run of 200 intervals keeps them all with up to 102 streams on volumes and 512 drives."""
_MOST_DRIVE_SLICES, _LEAST_SLICES = 2**21, 256
"""Of drives in slices of their queues: up to 1,024 drives have as many slices as the plan says."""
_PILOT_SHARE, _PILOT_LEAST, _PILOT_MOST = 50, 1_000, 100_000
"""A run of so many I/Os is tried with a fiftieth of them first, to learn how long it will be; with no more than what a
second simulates, since nobody can watch it or end it."""
_PILOT_INTERVAL_NS = 86_400 * NS_PER_S
"""Nobody looks at its intervals; with shorter ones those between two I/Os would take longer than the I/Os."""
_LETS_MORE_THROUGH = frozenset({"load", "few_drives", "no_time", "unknown"})
"""What bounds a run that more in flight at a time might get more done of."""
_HARDLY_ANY = 0.05
"""Of the time that I/Os wait before they are sent, less than this is not what a doubt of that wait is about."""
_MOST_MARKS = 520
"""Regular ones that the array keeps: of more every second one is dropped (marks.rs)."""


def simulate(
    plan: SimulationPlan,
    *,
    started_ns: int | None = None,
    watch: Callable[[Progress, Interval], None] = lambda _progress, _interval: None,
    stop: Callable[[], bool] = lambda: False,
) -> Simulated:
    """Runs a simulation to its end, or until `stop`; the figures are of what was simulated until then.

    The same plan and `started_ns` give the same result on any machine. `started_ns` (UTC; now, if absent) is only where
    the record places it in time. Raises ConfigError for what cannot be simulated, and where no time passes.
    """
    started_ns = time.time_ns() // NS_PER_US * NS_PER_US if started_ns is None else started_ns
    began = time.perf_counter()
    plan = fitted(plan)
    samples, was_stopped = Samples(), _Latch(stop)
    intervals = _Intervals(most_intervals(plan), _expected(plan), _cuts_ns(plan))
    run = SimulationRun(plan, started_ns)
    for interval in map(Interval, map(compact, run.intervals(was_stopped))):
        samples.add(Sample.of(interval))
        intervals.add(interval)
        watch(Progress(samples.end_ns, max(0, (plan.duration_ns or 0) - samples.end_ns)), interval)
    intervals.end()
    found = run.finish()
    check_time_passed(plan, found, samples.end_ns, is_stopped=was_stopped.value)
    simulated = _concluded(
        plan, started_ns, found, samples, intervals, is_stopped=was_stopped.value, wall_s=time.perf_counter() - began
    )
    if simulated.doubts or was_stopped.value or found["error"] is not None:
        return simulated
    judgement, ios = simulated.judgement, sum(part.ios for one in samples for part in one.parts(None))
    ahead = doubts_of_what_follows(plan, simulated.array, judgement, ios, was_stopped)
    return replace(simulated, judgement=replace(judgement, doubts=ahead))


def _concluded(
    plan: SimulationPlan, started_ns: int, found: Mapping[str, Any], samples: Samples, intervals: _Intervals, *,
    is_stopped: bool, wall_s: float,
) -> Simulated:  # fmt: skip
    array, error = until(found["array"], samples.end_ns), found["error"]
    is_cut = error is not None and not reached_its_time(plan, samples.end_ns)
    happened = happenings(plan.design, array, ended_ns(array, samples.end_ns, is_cut=is_cut))
    phases = phases_of(happened, samples.end_ns)
    lost = [one for one in happened if one.kind == "data_lost"]
    said = None if error is None else (error["kind"], error["message"])
    outcome = Outcome(found["result"], tuple(found["doubts_in_words"]), said, is_stopped)
    ended = ended_words(plan, outcome, lost, samples.end_ns)
    if isinstance(plan, TracePlan):
        judgement = judge_replay(samples, plan.workload, phases, ended)
    else:
        interval_ns = plan.interval_ns or NS_PER_S
        judgement = judge(
            samples, interval_ns, plan.workload, phases, ended, full_words(array), ramp_ns=plan.ramp_ns,
            longer=longer_words(plan, samples.end_ns), is_overloaded=_is_overloaded(outcome, array, samples.end_ns),
        )  # fmt: skip
    kept = map(Sample.of, intervals.kept) if intervals.cuts_ns else samples
    steps = rate_step_figures(plan.workload, kept, _active_ns(plan))
    stretches = stretches_of(phases, steps, intervals.kept)
    doubts = doubts_of_run(plan, array, samples, judgement, stretches, steps, has_changes=len(phases) > 1)
    judgement = replace(judgement, doubts=(*judgement.doubts, *doubts))
    simulated = Simulated(
        plan, _about(plan, started_ns, samples.end_ns), outcome, judgement, tuple(intervals.kept), array,
        tuple(happened), tuple(phases), wall_s, steps,
    )  # fmt: skip
    return replace(simulated, outcome=worded(outcome, lost, _cause(simulated)))


def _cause(simulated: Simulated) -> Cause:
    """What the doubts of its load may be about."""
    array, judgement = simulated.array, simulated.judgement
    kinds = {doubt["kind"] for doubt in simulated.outcome.result["doubts"]}
    at_end = silence_at_end(array, judgement.to_ns)
    keeps_up = not _is_overloaded(simulated.outcome, array, judgement.to_ns)
    return Cause(
        is_bound="generator_late" in kinds and _is_bound(simulated),
        longest=longest_silence(array, judgement.from_ns, judgement.to_ns) if keeps_up else None,
        at_end=at_end,
        is_empty_told=not isinstance(simulated.plan, TracePlan),
    )


def _is_overloaded(outcome: Outcome, array: Mapping[str, Any], end_ns: int) -> bool:
    """Whether the load is above what the array does, and did not just wait for a takeover when the run ended."""
    is_behind = any(doubt["kind"] == "overloaded" for doubt in outcome.result["doubts"])
    return is_behind and silence_at_end(array, end_ns) is None


def _is_bound(simulated: Simulated) -> bool:
    """Whether something behind the load bounds the run while I/Os wait before they are sent."""
    if not simulated.bounds:
        return simulated.bottleneck.kind not in _LETS_MORE_THROUGH
    waits = [(_waited_ns(simulated.intervals, phase), bound) for phase, bound in simulated.bounds]
    free_ns = math.fsum(waited_ns for waited_ns, bound in waits if bound.kind in _LETS_MORE_THROUGH)
    return free_ns <= _HARDLY_ANY * math.fsum(waited_ns for waited_ns, _ in waits)


def _waited_ns(intervals: Sequence[Interval], phase: Phase) -> float:
    """For how long I/Os waited before they were sent in the intervals whose middle lies in a phase, all together."""
    within = (one.all for one in intervals if phase.from_ns <= one.start_ns + one.duration_ns // 2 < phase.to_ns)
    return math.fsum((one.lateness.mean_ns or 0.0) * one.ios for one in within)


def _active_ns(plan: SimulationPlan) -> dict[str, tuple[int, float]]:
    """When the streams begin and end that a schedule names."""
    lifetimes = plan.design.lifetimes.items()
    return {name: (life.start_ns, math.inf if life.end_ns is None else life.end_ns) for name, life in lifetimes}


# Lengths --------------------------------------------------------------------------------------------------------------


def fitted(plan: SimulationPlan) -> SimulationPlan:
    """The plan with lengths of intervals and slices that fit its run, where it has none; of many drives fewer slices.

    How long a number of I/Os takes, or a trace whose own times do not tell, is learned from a short run of the same.
    """
    if plan.interval_ns is None:
        lengths = [one for one in (plan.duration_ns, _load_end_ns(plan)) if one is not None]
        if isinstance(plan, TracePlan):
            lengths.append(_replay_ns(plan))
        if plan.ios is not None:
            lengths.append(_expected_ns(plan, plan.ios))
        plan = replace(plan, interval_ns=cut_interval_ns(min(lengths, default=0), plan.load_changes_ns))
    if plan.slice_ns is None:
        plan = replace(plan, slice_ns=min(LONGEST_SLICE_NS, plan.interval_ns or NS_PER_S))
    return replace(plan, slices=min(plan.slices, max(_LEAST_SLICES, _MOST_DRIVE_SLICES // max(1, _drives(plan)))))


def _load_end_ns(plan: SimulationPlan) -> int | None:
    return load_end_ns(plan.workload, plan.design.lifetimes)


def _expected_ns(plan: SimulationPlan, ios: int) -> int:
    few = _few(ios)
    return int(_pilot_ns(replace(plan, ios=few)) * ios / few)


def _replay_ns(plan: TracePlan) -> int:
    requests = sum(map(len, plan.traces))
    share = _few(requests) / requests
    return int(_pilot_ns(plan.beginning(share)) / share)


def _few(ios: int) -> int:
    return min(ios, max(_PILOT_LEAST, min(_PILOT_MOST, ios // _PILOT_SHARE)))


def _pilot_ns(plan: SimulationPlan) -> int:
    """How long it takes."""
    run = SimulationRun(replace(plan, interval_ns=_PILOT_INTERVAL_NS, slices=2), 0)
    for _ in run.intervals():
        pass
    return int(run.finish()["array"]["duration_ns"])


def most_intervals(plan: SimulationPlan) -> int:
    """How many intervals are kept: fewer where there is much in each."""
    targets = len(plan.design.attachments)
    cells = sum(len(stream.targets) or targets for stream in plan.workload.streams)
    room = min(_MOST_CELL_INTERVALS // max(1, cells), _MOST_DRIVE_INTERVALS // max(1, _drives(plan)))
    return max(_LEAST_INTERVALS, min(_MOST_INTERVALS, room)) // 2 * 2


def _drives(plan: SimulationPlan) -> int:
    return sum(int(group["count"]) for group in plan.design.form["groups"])


def _expected(plan: SimulationPlan) -> int:
    """How many intervals the run will have; 0 if only its I/Os tell."""
    if plan.ios is not None or not plan.interval_ns or plan.duration_ns is None:
        return 0
    end_ns = _load_end_ns(plan)
    return -(-(plan.duration_ns if end_ns is None else min(plan.duration_ns, end_ns)) // plan.interval_ns)


def _cuts_ns(plan: SimulationPlan) -> tuple[int, ...]:
    """Where intervals are not put together: where the load changes. Nothing if one lies across such an instant."""
    cuts_ns = plan.load_changes_ns
    is_cut = plan.interval_ns and all(at_ns % plan.interval_ns == 0 for at_ns in cuts_ns)
    return cuts_ns if is_cut and len(cuts_ns) <= most_intervals(plan) // 4 else ()


class _Intervals:
    """The intervals of a run under way: at most `most`, an even number, and of equal length but for the last one and
    those that end at one of `cuts_ns`."""

    def __init__(self, most: int = _MOST_INTERVALS, expected: int = 0, cuts_ns: Sequence[int] = ()) -> None:
        self.kept: list[Interval] = []
        self.cuts_ns = cuts_ns
        self._most = most
        self._parts = max(1, -(-expected // (most - 2 * len(cuts_ns))))
        if cuts_ns:  # so that there are marks where intervals end
            kept_marks = 2 ** max(0, math.ceil(math.log2(max(1, expected) / _MOST_MARKS)))
            self._parts = -(-self._parts // kept_marks) * kept_marks
        self._pending: list[Interval] = []
        self._length_ns = 0

    def add(self, interval: Interval) -> None:
        """One more."""
        self._length_ns = self._length_ns or interval.duration_ns
        if len(self.kept) >= self._most and not self._pending:
            self._halve()
        if self._pending and self._place(interval) != self._place(self._pending[0]):
            self.end()
        self._pending.append(interval)
        if len(self._pending) == self._parts:
            self.end()

    def end(self) -> None:
        """What is left at the run's end is an interval, too."""
        whole = joined(self._pending, len(self.kept))
        self._pending = []
        if whole is not None:
            self.kept.append(whole)

    def _place(self, interval: Interval) -> tuple[int, int]:
        """That of those which are put together."""
        return interval.start_ns // (self._parts * self._length_ns), bisect_right(self.cuts_ns, interval.start_ns)

    def _halve(self) -> None:
        self._parts *= 2
        halved = (joined(those, index) for index, (_, those) in enumerate(groupby(self.kept, self._place)))
        self.kept = [one for one in halved if one is not None]


class _Latch:
    """Remembers that a request to stop has been seen."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop
        self.value = False

    def __call__(self) -> bool:
        self.value = self.value or self._stop()
        return self.value


def _about(plan: SimulationPlan, started_ns: int, end_ns: int) -> About:
    design = plan.design
    digest = hashlib.sha256(json.dumps(design.form, sort_keys=True).encode()).hexdigest()
    names = tuple(one.name for one in design.attachments)
    return About(
        run=f"simulation-{digest[:8]}-{started_ns:x}",
        workload=plan.workload,
        target=", ".join(names),
        targets=names if len(names) > 1 else (),
        target_kind="simulated",
        system=design.name,
        seed=plan.seed,
        version=storscope.__version__,
        planned_ns=plan.duration_ns or end_ns,
        started_ns=started_ns,
        direct=True,
        labels={"design": design.where, "design_sha256": digest, "design_text": design.text},
        engine=ENGINE,
    )
