"""A simulation: a workload on a design, judged like a measurement and stored in the same tables."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

import storscope
from storscope.bench.figures import Interval, Outcome
from storscope.bench.goals import Progress
from storscope.bench.joining import joined
from storscope.bench.judgement import Judgement
from storscope.bench.measuring import Measuring
from storscope.bench.record import About, doubts_of, record_run
from storscope.domain.recorder import Recorder
from storscope.domain.schema import TABLES
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.sim.design import Design
from storscope.sim.record import VolumeInterval, record_array
from storscope.sim.simulation import SimulationPlan, SimulationRun
from storscope.store import CaptureInfo, Store
from storscope.workbench.simulation_goals import goal_of
from storscope.workbench.volume_latencies import record_volume_latencies

ENGINE = "storscope-sim"
FORMAT = "storscope-simulation"
_INTERVALS = 200
"""Of a run with a duration: enough to find a warm-up in."""
_LEAST_INTERVAL_NS = 10 * NS_PER_MS
_ID_LENGTH = 16


@dataclass(frozen=True)
class Simulated:
    """What a simulation gave."""

    plan: SimulationPlan
    about: About
    outcome: Outcome
    judgement: Judgement
    intervals: tuple[Interval, ...]
    array: Mapping[str, Any]
    """What the array's components did (ArrayReport in crates/storscope-sim), warm-up included."""
    wall_s: float

    @cached_property
    def measured(self) -> Interval:
        """The run without its warm-up."""
        kept = [one for one in self.intervals if self.judgement.counts(one.start_ns)]
        return joined(kept) or self.outcome.total

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why its figures may mean less than they seem to."""
        return doubts_of(self.about, self.outcome, self.judgement)

    def tables(self) -> dict[str, pa.Table]:
        """All of it as Arrow, by the names of the tables."""
        return tables_of(self)

    def record(self, recorder: Recorder) -> None:
        """Writes all of it into the tables. The array is a system of its own; the run is a job of it."""
        start_ns = self.about.started_ns
        record_run(recorder, self.about, self.intervals, self.outcome, self.judgement)
        volumes = _volume_intervals(self.plan.design, self.intervals)
        record_array(recorder, self.about.system, self.plan.design.form, self.array, start_ns, volumes)
        volume_of = [one.volume for one in self.plan.design.attachments]
        record_volume_latencies(recorder, self.about.system, volume_of, self.intervals, start_ns)
        recorder.notes.clock = "virtual; placed where the simulation was started"


def simulate(
    plan: SimulationPlan,
    *,
    started_ns: int | None = None,
    watch: Callable[[Progress, Interval], None] = lambda _progress, _interval: None,
    stop: Callable[[], bool] = lambda: False,
) -> Simulated:
    """Runs a simulation to its end, or until `stop`; the figures are of what was simulated until then.

    The same plan and `started_ns` give the same result on any machine. `started_ns` (UTC; now, if absent) is only where
    the record places it in time. Raises ConfigError for what cannot be simulated.
    """
    started_ns = time.time_ns() if started_ns is None else started_ns
    began = time.perf_counter()
    run = _Runs(SimulationRun(plan, started_ns))
    measuring = Measuring(run, goal_of(plan), plan.interval_ns, parts=1)
    intervals = []
    for interval in measuring.intervals(stop):
        intervals.append(interval)
        watch(measuring.progress, interval)
    outcome, array = run.outcome(), run.array()
    judgement = measuring.judgement(outcome)
    wall_s = time.perf_counter() - began
    return Simulated(plan, _about(plan, started_ns), outcome, judgement, tuple(intervals), array, wall_s)


def interval_ns_for(duration_ns: int | None) -> int:
    """The length of an interval: 200 of a given duration, at least 10 ms each; 1 s where only I/Os are counted."""
    return NS_PER_S if duration_ns is None else max(_LEAST_INTERVAL_NS, duration_ns // _INTERVALS)


def store_simulation(store: Store, simulated: Simulated) -> str:
    """Makes a capture of a simulation; returns its name. The same simulation at the same instant makes one capture."""
    plan = simulated.plan
    said = json.dumps(
        [plan.design.form, plan.plan_json(), plan.options_json(simulated.about.started_ns), storscope.__version__]
    ).encode()
    digest = hashlib.sha256(said).hexdigest()
    info = CaptureInfo(
        id=digest[:_ID_LENGTH],
        path=f"simulation of {plan.design.where}",
        sha256=digest,
        size_bytes=len(said),
        format=FORMAT,
        importer_version=1,
        imported_at_ns=time.time_ns(),
        imported_on=platform.node(),
        storscope_version=storscope.__version__,
        options={},
    )
    with store.writer(info) as writer:
        recorder = Recorder(writer.write)
        simulated.record(recorder)
        recorder.finish()
        writer.commit(recorder)
    return info.id


def tables_of(simulated: Simulated) -> dict[str, pa.Table]:
    """The tables of a simulation as Arrow, by name, without a store."""
    batches: dict[str, list[pa.RecordBatch]] = {name: [] for name in TABLES}
    recorder = Recorder(lambda name, batch: batches[name].append(batch))
    simulated.record(recorder)
    recorder.finish()
    return {name: pa.Table.from_batches(found, TABLES[name]) for name, found in batches.items()}


class _Runs:
    """A simulation in the shape in which measurements are judged."""

    def __init__(self, run: SimulationRun) -> None:
        self._run = run
        self._found: Mapping[str, Any] | None = None
        self._stopped = False

    def hold(self) -> bool:
        return False

    def begin(self) -> None:
        """It has begun."""

    def intervals(self, stop: Callable[[], bool] = lambda: False) -> Iterator[Interval]:
        def noted() -> bool:
            self._stopped = self._stopped or stop()
            return self._stopped

        return map(Interval, self._run.intervals(noted))

    def end(self) -> None:
        self._run.stop()

    def outcome(self) -> Outcome:
        found = self._finished()
        error = found["error"]
        return Outcome(
            found["result"], tuple(found["doubts_in_words"]),
            None if error is None else (error["kind"], error["message"]), self._stopped,
        )  # fmt: skip

    def array(self) -> Mapping[str, Any]:
        report: Mapping[str, Any] = self._finished()["array"]
        return report

    def _finished(self) -> Mapping[str, Any]:
        if self._found is None:
            self._found = self._run.finish()
        return self._found


def _about(plan: SimulationPlan, started_ns: int) -> About:
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
        planned_ns=plan.duration_ns or 0,
        started_ns=started_ns,
        direct=True,
        labels={"design": design.where, "design_sha256": digest, "design_text": design.text},
        engine=ENGINE,
    )


def _volume_intervals(design: Design, intervals: Sequence[Interval]) -> list[VolumeInterval]:
    """The cells of all streams and hosts, added up for each volume."""
    volumes = list(dict.fromkeys(one.volume for one in design.attachments))
    return [_volume_interval(design, volume, interval) for interval in intervals for volume in volumes]


def _volume_interval(design: Design, volume: str, interval: Interval) -> VolumeInterval:
    cells = [cell for cell in interval.form["cells"] if design.attachments[cell["target"]].volume == volume]
    reads, writes = ([cell[direction] for cell in cells] for direction in ("reads", "writes"))

    def latency_sum(tallies: Sequence[Mapping[str, Any]]) -> float:
        return math.fsum((tally["service"]["mean_ns"] or 0.0) * tally["ios"] for tally in tallies)

    maxima = [tally["service"]["max_ns"] for tally in (*reads, *writes) if tally["ios"]]
    return VolumeInterval(
        volume, interval.start_ns, interval.duration_ns, sum(tally["ios"] for tally in reads),
        sum(tally["ios"] for tally in writes), sum(tally["bytes"] for tally in reads),
        sum(tally["bytes"] for tally in writes), latency_sum(reads), latency_sum(writes), max(maxima, default=None),
    )  # fmt: skip
