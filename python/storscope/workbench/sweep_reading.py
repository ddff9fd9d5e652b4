"""What a sweep or a series has measured, read from the store: to continue it, and to show it again.

Runs carry as parameters which sweep they are part of (`sweep`), the digest of what was asked (`sweep_plan`), their
point (`sweep_point`), the repetition or slot (`sweep_block`) and what they were measured in without an interruption
(`sweep_sitting`). In a series also how many slots right before theirs the one before overran (`sweep_overrun`). Where
the system's clock was set since the start, by how much (`sweep_clock_set_ns`).
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from storscope.bench.sweep import Planned
from storscope.domain import flush
from storscope.domain.sweep import DIRECTED, FIGURES, MEASURED, OF_FLUSHES, Cell, Estimate, Point
from storscope.domain.units import NS_PER_S, format_bytes, format_span, format_time
from storscope.model.student import two_sided_quantile
from storscope.store import Store

_LEVEL: Final = 0.95
_SHARE: Final = 0.99
_PAUSE_NS: Final = 600 * NS_PER_S
"""A gap between two runs of a sweep that is told: the device may have been in another state."""
_LATE_NS: Final = NS_PER_S
"""A start later than this is told."""
_MOST_NAMED: Final = 6


@dataclass(frozen=True)
class SweepRun:
    """A run of a sweep."""

    run: str
    point: str
    block: int
    status: str
    started_ns: int
    duration_ns: int
    """With its warm-up."""
    parameters: Mapping[str, str]
    host: str | None = None
    warnings: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The 95 % interval of a figure as the run itself gives it, where it does."""

    @property
    def order(self) -> int:
        """Its place among all of the sweep."""
        return int(self.parameters.get("sweep_order", "0"))

    @property
    def clock_set_ns(self) -> int:
        """By how much the system's clock had been set since the sweep's start: forward, or, below 0, back."""
        return int(self.parameters.get("sweep_clock_set_ns", "0"))

    @property
    def begun_ns(self) -> int:
        """When it started by the clock as it went at the sweep's start."""
        return self.started_ns - self.clock_set_ns

    @property
    def is_measured(self) -> bool:
        """Whether it needs no other run in its place."""
        return self.status in MEASURED


def latest_sweep(store: Store, digests: Sequence[str], seed: int | None = None) -> str | None:
    """The id of the newest sweep that asked the same, by the digests of that; None if there is none.

    Of those with `seed`, if there are such.
    """
    rows = store.query(
        """SELECT parameters['sweep'] AS sweep FROM runs
           WHERE list_contains(?, parameters['sweep_plan']) GROUP BY 1
           ORDER BY any_value(parameters['sweep_seed']) IS NOT DISTINCT FROM ? DESC, max(time) DESC LIMIT 1""",
        [list(digests), None if seed is None else str(seed)],
    ).to_pylist()
    return rows[0]["sweep"] if rows else None


def runs_of(store: Store, sweep: str, *, figures: bool = True) -> list[SweepRun]:
    """The runs of a sweep in the order of their times; without `figures`, only what they are."""
    rows = store.query(
        """SELECT r.run, r.system, r.status, r.duration_ns, epoch_ns(r.time) AS time_ns, r.parameters, c.warnings
           FROM runs r JOIN captures c USING (capture) WHERE r.parameters['sweep'] = ? ORDER BY r.time""",
        [sweep],
    ).to_pylist()
    found = _figures(store, sweep) if figures else {}
    bounds = _bounds(store, sweep) if figures else {}
    return [_sweep_run(row, found.get(row["run"], {}), bounds.get(row["run"], {})) for row in rows]


def _sweep_run(
    row: Mapping[str, Any], figures: Mapping[str, float], bounds: Mapping[str, tuple[float, float]]
) -> SweepRun:
    parameters = dict(row["parameters"])
    warm_up_ns = round(float(parameters.get("warm_up_s", 0)) * NS_PER_S)  # the row is of what follows it
    return SweepRun(
        run=row["run"],
        point=parameters["sweep_point"],
        block=int(parameters["sweep_block"]),
        status=row["status"],
        started_ns=row["time_ns"] - warm_up_ns,
        duration_ns=row["duration_ns"] + warm_up_ns,
        parameters=parameters,
        host=row["system"],
        warnings=tuple(row["warnings"] or ()),
        figures=figures,
        bounds=bounds,
    )


# Figures --------------------------------------------------------------------------------------------------------------

_RATES = """
SELECT run, sum(duration_ns) AS ns, {rates},
       sum(latency_ns_mean * ops_per_s * duration_ns) / nullif(sum(ops_per_s * duration_ns), 0) AS latency_ns_mean
FROM (
    SELECT * REPLACE (
        read_ops_per_s + write_ops_per_s AS ops_per_s,
        (coalesce(read_latency_ns_mean * read_ops_per_s, 0) + coalesce(write_latency_ns_mean * write_ops_per_s, 0))
            / nullif(read_ops_per_s + write_ops_per_s, 0) AS latency_ns_mean
    ) FROM observations WHERE (capture, run) IN (SELECT capture, run FROM counters WHERE name = '{flushes}')
    UNION ALL
    SELECT * FROM observations
    WHERE run IS NOT NULL AND (capture, run) NOT IN (SELECT capture, run FROM counters WHERE name = '{flushes}')
)
WHERE kind = 'job' AND run IN (SELECT run FROM runs WHERE parameters['sweep'] = ?) GROUP BY run
"""
"""Of the job, which is the whole: its streams on their targets are parts of it, with rows of their own. Flushes, which
count among all operations, are left out, as in the figures that a run gives of itself."""
_TAILS = """
WITH timed AS (
    SELECT * FROM histograms WHERE kind = 'job' AND measure IN ('response', 'service') AND {which}
    AND run IN (SELECT run FROM runs WHERE parameters['sweep'] = ?)
), buckets AS (
    SELECT run, unnest(bucket_high_ns) AS high, unnest(counts) AS ios FROM timed
    WHERE measure = 'response' OR run NOT IN (SELECT run FROM timed WHERE measure = 'response')
), sums AS (SELECT run, high, sum(ios) AS ios FROM buckets GROUP BY run, high),
ranked AS (
    SELECT run, high, sum(ios) OVER (PARTITION BY run ORDER BY high) AS seen, sum(ios) OVER (PARTITION BY run) AS total
    FROM sums
)
SELECT run, min(high) AS latency_ns_p99 FROM ranked WHERE seen >= ? * total GROUP BY run
"""
"""The upper end of the bucket that holds it: at most 0.8 % above the true one, never below.

Of the response; of the service with an engine that has no response (fio).
"""
_FLUSHED = f"""
SELECT run, sum(rate * duration_ns) / nullif(sum(duration_ns), 0) AS flush_ops_per_s,
       sum(mean_ns * rate * duration_ns) / nullif(sum(rate * duration_ns), 0) AS flush_latency_ns_mean
FROM (
    SELECT run, time, duration_ns, max(value) FILTER (name = '{flush.RATE}') AS rate,
           max(value) FILTER (name = '{flush.LATENCY}') AS mean_ns
    FROM counters WHERE kind = 'job' AND name IN ('{flush.RATE}', '{flush.LATENCY}')
    AND run IN (SELECT run FROM runs WHERE parameters['sweep'] = ?) GROUP BY run, time, duration_ns
) GROUP BY run
"""
FIGURES_OF_RUN: Final = {
    "iops": "ops_per_s", "bandwidth": "bytes_per_s", "mean": "latency_ns_mean", "p99": "latency_ns_p99",
    "flush-iops": "flush_ops_per_s", "flush-mean": "flush_latency_ns_mean", "flush-p99": "flush_latency_ns_p99",
}  # fmt: skip
"""A run's facts of its figures (`bench.samples`), and what they are called here."""


def _figures(store: Store, sweep: str) -> dict[str, dict[str, float]]:
    """Run -> its figures over all of its intervals."""
    names = ["ops_per_s", "bytes_per_s", *DIRECTED]
    rates = ", ".join(f"sum({name} * duration_ns) / nullif(sum(duration_ns), 0) AS {name}" for name in names)
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for row in store.query(_RATES.format(rates=rates, flushes=flush.RATE), [sweep]).to_pylist():
        found[row["run"]] |= {name: row[name] for name in (*names, "latency_ns_mean") if row[name] is not None}
    for name, which in (("latency_ns_p99", "<>"), ("flush_latency_ns_p99", "=")):
        tails = _TAILS.format(which=f"operation {which} '{flush.OPERATION}'")
        for row in store.query(tails, [sweep, _SHARE]).to_pylist():
            found[row["run"]][name] = float(row["latency_ns_p99"])
    for row in store.query(_FLUSHED, [sweep]).to_pylist():
        found[row["run"]] |= {name: row[name] for name in OF_FLUSHES if row.get(name) is not None}
    return found


def _bounds(store: Store, sweep: str) -> dict[str, dict[str, tuple[float, float]]]:
    """Run -> figure -> the interval that the run itself gives."""
    rows = store.query(
        """SELECT entity, name, number FROM facts WHERE number IS NOT NULL
           AND entity IN (SELECT run FROM runs WHERE parameters['sweep'] = ?)""",
        [sweep],
    ).to_pylist()
    facts = {(row["entity"], row["name"]): float(row["number"]) for row in rows}
    found: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    for run in {entity for entity, _ in facts}:
        for statistic, figure in FIGURES_OF_RUN.items():
            low, high = (facts.get((run, f"{statistic} {end}")) for end in ("low", "high"))
            if low is not None and high is not None:
                found[run][figure] = (low, high)
    return found


def cells_of(planned: Sequence[Planned], runs: Iterable[SweepRun], *, start_ns: int | None = None) -> list[Cell]:
    """A cell for each point that was measured, in the order of the matrix.

    With `start_ns` it is a series: a cell for each point and slot, in the order of the slots.
    """
    grouped: dict[tuple[int | None, str], list[SweepRun]] = defaultdict(list)
    for run in runs:
        if run.is_measured:
            grouped[None if start_ns is None else run.block, run.point].append(run)
    slots = sorted({slot for slot, _ in grouped}, key=lambda slot: -1 if slot is None else slot)
    return [
        _cell(item.point, grouped[slot, item.point.key], slot, start_ns)
        for slot in slots
        for item in planned
        if (slot, item.point.key) in grouped
    ]


def _cell(point: Point, runs: Sequence[SweepRun], slot: int | None, start_ns: int | None) -> Cell:
    figures = {}
    for name in (*FIGURES, *DIRECTED, *OF_FLUSHES):
        values = [run.figures[name] for run in runs if name in run.figures]
        if len(values) == 1:
            figures[name] = Estimate(values[0], *runs[0].bounds.get(name, (None, None)))
        elif values:
            figures[name] = estimate(values)
    return Cell(
        point,
        len(runs),
        figures,
        doubts=tuple(dict.fromkeys(warning for run in runs for warning in run.warnings)),
        slot=slot,
        elapsed_ns=None if start_ns is None else runs[0].begun_ns - start_ns,
        invalid_runs=sum(run.status == "invalid" for run in runs),
    )


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of repetitions with Student's 95 % interval, cut at 0; of one value there is no interval."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Estimate(mean)
    width = two_sided_quantile(_LEVEL, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return Estimate(mean, max(0.0, mean - width), mean + width)


# What a reader should know --------------------------------------------------------------------------------------------


def clock_steps(runs: Sequence[SweepRun]) -> list[str]:
    """Where the system's clock was set meanwhile."""
    furthest_ns = max((run.clock_set_ns for run in runs), key=abs, default=0)
    if not furthest_ns:
        return []
    way = "forward" if furthest_ns > 0 else "back"
    told = "dates are as it told them, and times since the start are without that"
    return [f"The system's clock was set {way} by {format_span(abs(furthest_ns))} while this was measured: {told}."]


def pauses(runs: Sequence[SweepRun]) -> list[str]:
    """Where a sweep was continued after a while: what was measured before and after may be of another device state."""
    notes = []
    for one, other in itertools.pairwise(sorted(runs, key=lambda run: run.begun_ns)):
        gap_ns = other.begun_ns - one.begun_ns - one.duration_ns
        if gap_ns > _PAUSE_NS:
            notes.append(f"There was a pause of {format_span(gap_ns)} before {format_time(other.started_ns)}.")
    return notes


def sizes_of(runs: Sequence[SweepRun]) -> dict[int, int]:
    """How large the target, or the part of it that is used, was in how many measurements; in the order of time."""
    measured = sorted((run for run in runs if run.is_measured), key=lambda run: run.begun_ns)
    return Counter(int(run.parameters["sweep_size_bytes"]) for run in measured if "sweep_size_bytes" in run.parameters)


def resized(runs: Sequence[SweepRun]) -> list[str]:
    """That the target had another size when a sweep was continued: its points are not of the same storage then."""
    sizes = sizes_of(runs)
    if len(sizes) < 2:
        return []
    told = " and ".join(f"{format_bytes(size)} in {count}" for size, count in sizes.items())
    return [f"The target changed its size: it had {told} of {sum(sizes.values())} measurements (--fresh starts anew)."]


def off_schedule(runs: Sequence[SweepRun], interval_ns: int, start_ns: int) -> list[str]:
    """Slots in which nothing was measured, and why, and slots that started late. `start_ns` is of the schedule."""
    measured = [run for run in runs if run.is_measured]
    first, last = {run.block: run for run in reversed(measured)}, {run.block: run for run in measured}
    overran = f"what was measured before them took longer than the {format_span(interval_ns)} of a slot"
    missed: dict[str, list[int]] = {overran: [], "the measurement failed": [], "the series was interrupted": []}
    for slot in sorted(set(range(max(first, default=0))) - set(first)):
        before = last.get(max((one for one in first if one < slot), default=-1))
        after = first[min(one for one in first if one > slot)]
        if _is_overrun(slot, before, after, start_ns + slot * interval_ns):
            missed[overran].append(slot)
        elif before is not None and _are_of_one_sitting(before, after):
            missed["the measurement failed"].append(slot)
        else:
            missed["the series was interrupted"].append(slot)
    notes = [note for why, slots in missed.items() for note in _left_out(slots, interval_ns, why)]
    lates = [run.begun_ns - start_ns - slot * interval_ns for slot, run in first.items()]
    if late := [late_ns for late_ns in lates if late_ns > _LATE_NS]:
        notes.append(f"{_slots(len(late))} started late, by up to {format_span(max(late))}.")
    return notes


def _is_overrun(slot: int, before: SweepRun | None, after: SweepRun, due_ns: int) -> bool:
    """Whether what was measured before a slot was still at work when that was due, or being stored."""
    if before is not None and before.begun_ns + before.duration_ns > due_ns:
        return True
    return after.block - slot <= int(after.parameters.get("sweep_overrun", "0"))


def _are_of_one_sitting(before: SweepRun, after: SweepRun) -> bool:
    """Whether nothing interrupted the series between them. Runs of older versions do not tell."""
    sitting = before.parameters.get("sweep_sitting")
    return sitting is not None and sitting == after.parameters.get("sweep_sitting")


def _left_out(missed: Sequence[int], interval_ns: int, why: str) -> list[str]:
    if not missed:
        return []
    after = ", ".join(format_span(slot * interval_ns) for slot in missed[:_MOST_NAMED])
    more = " …" if len(missed) > _MOST_NAMED else ""
    verb, those = ("was", "the one") if len(missed) == 1 else ("were", "those")
    return [f"{_slots(len(missed))} {verb} left out, as {why}: {those} after {after}{more}."]


def _slots(count: int) -> str:
    return f"{count} slot{'' if count == 1 else 's'}"
