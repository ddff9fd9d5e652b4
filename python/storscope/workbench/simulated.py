"""What a simulation gave, and the same as tables: the run as a job, the array as a system of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from storscope.bench.figures import Interval, Outcome
from storscope.bench.joining import joined, with_silent
from storscope.bench.judgement import Judgement, shown_value
from storscope.bench.rate_steps import RateStepFigures
from storscope.bench.record import About, doubts_of, record_run, status_of
from storscope.bench.samples import BANDWIDTH, IOPS, MEAN, Figure
from storscope.domain.recorder import Recorder
from storscope.domain.schema import TABLES
from storscope.domain.units import format_instant
from storscope.sim.bottleneck import Bottleneck
from storscope.sim.bottleneck_phases import bottleneck_by_phase
from storscope.sim.happenings import Happening
from storscope.sim.phases import Phase
from storscope.sim.record import VolumeInterval, record_array
from storscope.sim.record_events import record_happenings
from storscope.sim.schedule import Lifetime
from storscope.sim.simulation import SimulationPlan
from storscope.sim.takeovers import with_takeovers
from storscope.sim.unfinished import unfinished_words
from storscope.sim.window import forwarded, window
from storscope.workbench.falling_behind import with_backlog
from storscope.workbench.phase_cells import CellByPhase, cells_by_phase
from storscope.workbench.simulation_figures import PhaseFigures, TimeSpent, bottleneck_of, phase_figures, time_spent
from storscope.workbench.simulation_notes import cell_notes, lifetime_notes, notes_of
from storscope.workbench.stretches import stretches_of
from storscope.workbench.volume_latencies import record_volume_latencies

_HEADLINE = {IOPS: "", BANDWIDTH: "", MEAN: "mean ", "p99": "p99 "}
"""Figures that stand for a run, and the word before each value."""


@dataclass(frozen=True, repr=False, eq=False)
class Simulated:
    """What a simulation gave. Look at `status` and `doubts` before its figures: nothing is raised for either.

    It equals no other, as no two take the same processor time; tables of the same run with the same `started_ns` do.
    """

    plan: SimulationPlan
    about: About
    outcome: Outcome
    judgement: Judgement
    """Which part of the run counts, why it ended, and in `estimates` its figures with their intervals."""
    intervals: tuple[Interval, ...]
    """The run in short pieces, warm-up included, as hosts saw it."""
    array: Mapping[str, Any]
    """What the array's components did (ArrayReport in crates/storscope-sim), warm-up included, with arrays for what it
    has of each drive (`sim.window.compact`)."""
    happenings: tuple[Happening, ...]
    phases: tuple[Phase, ...]
    wall_s: float
    rate_steps: tuple[RateStepFigures, ...] = ()
    """What it did at each rate step of its workload, if that has any."""

    def __repr__(self) -> str:
        """What ran on what, the headline figures, and whether they can be taken as they are."""
        plan, estimates = self.plan, self.judgement.estimates
        figures = [f"{label}{shown_value(Figure(name), estimates[name].value)}"
                   for name, label in _HEADLINE.items() if name in estimates]  # fmt: skip
        doubts = f", doubts: {len(self.doubts)}" if self.doubts else ""
        return (
            f"<Simulated {plan.design.name!r} under {plan.workload.name!r}, seed {plan.seed}, "
            f"{format_instant(self.judgement.to_ns)}: {', '.join(figures) or 'no I/O'}; {self.status}{doubts}>"
        )

    @property
    def status(self) -> str:
        """`ok`; `invalid`: latencies do not mean what they say; `interrupted`; `failed`: data was lost (`lost`).

        The same as in the table `runs`. `doubts` says why.
        """
        return status_of(self.outcome)

    @cached_property
    def measured(self) -> Interval:
        """The run without its warm-up, as hosts saw it."""
        kept = [one for one in self.intervals if self.judgement.counts(one.start_ns)]
        found = joined(kept)
        return with_silent(found, self.outcome.total) if found is not None else self.outcome.total

    @cached_property
    def window(self) -> Mapping[str, Any]:
        """What the array's components did in the same time, in the form of `array`."""
        return window(self.array, self.judgement.from_ns, self.judgement.to_ns)

    @cached_property
    def time_spent(self) -> Sequence[TimeSpent]:
        """Where the time of I/Os went, in the time that the figures are of."""
        return time_spent(self.measured, self.window)

    @cached_property
    def bottleneck(self) -> Bottleneck:
        """What bounds the run after its warm-up; of a run with changes or rate steps, what bounds its stretches."""
        if self.bounds:
            return bottleneck_by_phase(self.bounds)
        whole = Phase(self.judgement.from_ns, self.judgement.to_ns)
        found = bottleneck_of(self.array, self.window, self.time_spent, is_open=self._is_open(whole))
        ((_, bound),) = with_takeovers([(whole, found)], self.array)
        return bound

    @cached_property
    def bounds(self) -> Sequence[tuple[Phase, Bottleneck]]:
        """What bounds each time between changes and rate steps; nothing of a run without them."""
        stretches = stretches_of(self.phases, self.rate_steps, self.intervals)
        found = self._phases_by_themselves
        if len(stretches) > len(self.phases):
            found = phase_figures(self.array, stretches, self.intervals, self.judgement.from_ns, self._is_open)
        bounds = with_backlog([(one.phase, one.bounds) for one in found], self.rate_steps)
        return with_takeovers(bounds, self.array)

    def _is_open(self, phase: Phase) -> bool:
        """Whether all streams that run in it are open loops."""
        lifetimes = self.plan.design.lifetimes
        running = [
            stream
            for stream in self.plan.workload.streams
            if lifetimes.get(stream.name, Lifetime()).overlaps(phase.from_ns, phase.to_ns)
        ]
        return all(stream.load.is_open for stream in running)

    @cached_property
    def _phases_by_themselves(self) -> Sequence[PhaseFigures]:
        return phase_figures(self.array, self.phases, self.intervals, self.judgement.from_ns, self._is_open)

    @cached_property
    def phase_figures(self) -> Sequence[PhaseFigures]:
        """Each phase, the first without the warm-up; none of a run without changes."""
        found = self._phases_by_themselves
        bounds = with_takeovers([(one.phase, one.bounds) for one in found], self.array)
        return [replace(one, bounds=bound) for one, (_, bound) in zip(found, bounds, strict=True)]

    @cached_property
    def cells_by_phase(self) -> Sequence[CellByPhase]:
        """Each stream on each volume, phase by phase; none of a run without changes."""
        return cells_by_phase(self.phase_figures)

    @property
    def lost(self) -> tuple[Happening, ...]:
        """Data that was lost, a happening for each volume."""
        return tuple(one for one in self.happenings if one.kind == "data_lost")

    @property
    def unfinished(self) -> list[str]:
        """How far background work is that has not ended."""
        return unfinished_words(self.array, max(self.judgement.to_ns, self.array["duration_ns"]))

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why its figures may mean less than they seem to, in sentences; none is best."""
        return doubts_of(self.about, self.outcome, self.judgement)

    def tables(self) -> dict[str, pa.Table]:
        """All of it as Arrow, by the names of the tables; domain/schema.py says what their columns mean."""
        batches: dict[str, list[pa.RecordBatch]] = {name: [] for name in TABLES}
        recorder = Recorder(lambda name, batch: batches[name].append(batch))
        self.record(recorder)
        recorder.finish()
        return {name: pa.Table.from_batches(found, TABLES[name]) for name, found in batches.items()}

    def record(self, recorder: Recorder) -> None:
        """Writes all of it. Components are observed over the time that the run's figures are of."""
        start_ns, system, design = self.about.started_ns, self.about.system, self.plan.design
        left_out = self.array["happenings_left_out"]
        notes = notes_of(self.happenings, left_out, self.phase_figures, self.unfinished)
        names = [one.name for one in design.attachments], [one.name for one in self.plan.workload.streams]
        notes |= cell_notes(self.cells_by_phase, *names) | lifetime_notes(design.lifetimes, len(names[0]))
        about = replace(self.about, labels={**self.about.labels, **notes})
        kept = self.plan.outstanding_in_all
        record_run(recorder, about, self.intervals, self.outcome, self.judgement, outstanding_in_all=kept)
        report = _report(self)
        volumes, parts = _volume_intervals(self), _parts(self)
        record_array(recorder, system, design.form, report, start_ns, volumes, parts, self.bottleneck.words)
        volume_of = [one.volume for one in design.attachments]
        record_volume_latencies(recorder, system, volume_of, self.intervals, start_ns)
        record_happenings(recorder, system, design.form, report["components"], self.happenings, start_ns)
        recorder.notes.clock = "virtual; placed where the simulation was started"


def _report(simulated: Simulated) -> Mapping[str, Any]:
    """The array's report with means over the time without the warm-up; the greatest queues are of the whole run."""
    whole, shown = simulated.array, simulated.window
    pairs = zip(whole["components"], shown["components"], strict=True)
    return {**whole, **shown, "components": [{**all_of_it, **part} for all_of_it, part in pairs]}


def _parts(simulated: Simulated) -> Iterator[Mapping[str, Any]]:
    """What the array's components did in each interval that the run's figures are of."""
    first_ns, last_ns = simulated.judgement.from_ns, simulated.judgement.to_ns
    ends = [(one.start_ns, one.start_ns + one.duration_ns) for one in simulated.intervals]
    found = (window(simulated.array, *both) for both in ends if both[0] >= first_ns and both[1] <= last_ns)
    return (one for one in found if one["duration_ns"])


def _volume_intervals(simulated: Simulated) -> Iterator[VolumeInterval]:
    """The cells of all streams and hosts, added up for each volume."""
    design = simulated.plan.design
    volumes = list(dict.fromkeys(one.volume for one in design.attachments))
    has_partner = len(design.form["controllers"]) > 1
    for interval in simulated.intervals:
        end_ns = interval.start_ns + interval.duration_ns
        counts = forwarded(simulated.array, interval.start_ns, end_ns) if has_partner else {}
        cells: dict[str, list[Mapping[str, Any]]] = {volume: [] for volume in volumes}
        for cell in interval.form["cells"]:
            cells[design.attachments[cell["target"]].volume].append(cell)
        for volume, own in cells.items():
            yield _volume_interval(volume, interval, own, counts.get(volume))


def _volume_interval(
    volume: str, interval: Interval, cells: Sequence[Mapping[str, Any]], moved_on: int | None
) -> VolumeInterval:  # fmt: skip
    reads, writes = ([cell[direction] for cell in cells] for direction in ("reads", "writes"))

    def latency_sum(tallies: Sequence[Mapping[str, Any]]) -> float:
        return math.fsum((tally["service"]["mean_ns"] or 0.0) * tally["ios"] for tally in tallies)

    flushes = [cell["flushes"] for cell in cells if cell.get("flushes") is not None]
    maxima = [tally["service"]["max_ns"] for tally in (*reads, *writes) if tally["ios"]]
    return VolumeInterval(
        volume, interval.start_ns, interval.duration_ns, sum(tally["ios"] for tally in reads),
        sum(tally["ios"] for tally in writes), sum(tally["bytes"] for tally in reads),
        sum(tally["bytes"] for tally in writes), latency_sum(reads), latency_sum(writes), max(maxima, default=None),
        moved_on, sum(tally["ios"] for tally in flushes), latency_sum(flushes),
    )  # fmt: skip
