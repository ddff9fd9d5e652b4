"""Many VMs (or volumes) spike within the same minute, again and again at the same minute of the hour.

Looks for
    Minutes in which at least half of four or more VMs of a host have a short spike of operations, that come back at
    the same minute of the hour: cron jobs, update checks, agents and virus scanners that were all installed from one
    template.

Why it matters
    Each spike is small, together they are a storm: everything queues for a minute, and averages hide it.

Evidence
    Operations per interval of at most 60 s for four or more VMs, VM disks, volumes or devices of one system, over an
    hour or more: esxtop -b -d 20, iostat -x 20.

When it is wrong
    A cluster or a load balancer gives its members work at the same time. A storage that stalls and then catches up
    makes everyone spike at once, though at no fixed minute.

References
    Half of the VMs within 60 s: common practice, no citation (known from apt-xapian-index and other daily cron jobs in
    cloned guests).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.judged_grids import judged_grids
from storscope.diagnose.peers import Grid, grid_of
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, joined, listed
from storscope.diagnose.rules._intervals import weighted_mean
from storscope.diagnose.rules._load import kind_word, rows_sql
from storscope.domain.arrays import BoolArray, FloatArray, IntArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import NS_PER_S, format_duration, format_ratio
from storscope.model.overload import runs_of

_NAME = "spike-in-step"
_KINDS = ("vm", "vm_disk", "vdisk", "device")
_MINUTE_NS = 60 * NS_PER_S
_LASTING_NS = 10 * _MINUTE_NS
"""A rise that lasts longer is work, not a spike."""
_HOUR_MINUTES = 60


@dataclass(frozen=True)
class _Storm:
    """Minutes in which many spiked together, at one minute of the hour."""

    grid: Grid
    minute: int
    """Of the hour, where the storms begin."""
    starts_ns: IntArray
    """Beginnings of the storms at that minute."""
    storms: int
    """Storms in all, at any minute."""
    entities: Sequence[EntityRef]
    """Those that take part in at least half of the storms."""
    part: float
    """Share of the entities that spike together, median over the storms."""
    inside: BoolArray
    rise: float
    """Total operations in a storm over those at other times."""


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    chosen, coarse = _grids(case, settings)
    if not chosen:
        interval = f"; those of {coarse} are longer" if coarse else ""
        return [
            NotEvaluated(
                _NAME,
                f"operations of at least {settings['entities_min_count']:.0f} VMs or volumes of one system in "
                f"intervals of at most {settings['together_s']:.0f} s, over an hour or more (esxtop -b -d 20)"
                + interval,
            )
        ]
    return [_judge(case, settings, grid) for grid in chosen]


def _grids(case: Case, settings: Settings) -> tuple[list[Grid], str]:
    """One grid a system, VMs before what they rest on; and a system whose intervals are too long."""
    chosen, coarse = [], ""
    for system in sorted({entity.system for entity in case.all_series}):
        grids = [grid_of(case, system, kind) for kind in _KINDS]
        many = [grid for grid in grids if grid and len(grid.entities) >= settings["entities_min_count"]]
        fine = [
            grid
            for grid in many
            if grid.step_ns <= settings["together_s"] * NS_PER_S and len(grid.time_ns) * grid.step_ns >= 60 * _MINUTE_NS
        ]
        if fine:
            chosen.append(fine[0])
        elif many:
            coarse = system
    return chosen, coarse


def _judge(case: Case, settings: Settings, grid: Grid) -> Outcome:
    spikes = _spikes(settings, grid)
    together = _together(grid, spikes, round(settings["together_s"] * NS_PER_S))
    storms = runs_of(together.mean(axis=1) >= settings["entities_share"])
    storm = _storm(settings, grid, spikes, together, storms)
    if storm is not None:
        return _finding(case, settings, storm)
    return Healthy(
        _NAME,
        f"The {len(grid.entities):,} {kind_word(grid.kind, 2)} of {grid.system} do not spike in step: "
        f"{counted(len(storms), 'minute')} with spikes on {format_ratio(settings['entities_share'])} of them, "
        f"{'none' if not storms else 'not'} at a fixed minute of the hour.",
    )


def _spikes(settings: Settings, grid: Grid) -> BoolArray:
    """Short rises well above each entity's usual load: over the factor and over four deviations."""
    known = np.isfinite(grid.ops)
    ops = np.where(known, grid.ops, 0.0)
    median = np.array([_median(ops[known[:, column], column]) for column in range(ops.shape[1])])
    off = np.abs(ops - median)
    deviation = np.array([1.4826 * _median(off[known[:, column], column]) for column in range(ops.shape[1])])
    high: BoolArray = known & (ops > settings["spike_factor"] * median) & (ops > median + 4 * deviation) & (ops >= 1)
    for column in range(high.shape[1]):
        for first, last in runs_of(high[:, column]):
            if (last - first + 1) * grid.step_ns > _LASTING_NS:
                high[first : last + 1, column] = False
    return high


def _median(values: FloatArray) -> float:
    return float(np.median(values)) if len(values) else 0.0


def _together(grid: Grid, spikes: BoolArray, together_ns: int) -> BoolArray:
    """True where an entity spiked in the interval or within the given time before its end."""
    width = max(1, together_ns // grid.step_ns)
    counts = np.cumsum(np.concatenate([np.zeros((1, spikes.shape[1]), dtype=np.int64), spikes]), axis=0)
    end = np.arange(1, len(spikes) + 1)
    return np.asarray(counts[end] - counts[np.maximum(end - width, 0)] > 0)


def _storm(
    settings: Settings, grid: Grid, spikes: BoolArray, together: BoolArray,
    storms: list[tuple[int, int]],
) -> _Storm | None:  # fmt: skip
    """The storms at the commonest minute of the hour; None when they keep to none."""
    if len(storms) < settings["storms_min_count"]:
        return None
    starts = np.array([grid.time_ns[first] // _MINUTE_NS for first, _ in storms])
    counts = np.bincount(starts % _HOUR_MINUTES, minlength=_HOUR_MINUTES)
    # A job that starts at the turn of a minute falls in either of two.
    paired = counts + np.roll(counts, -1)
    minute = int(np.argmax(paired))
    minute = (minute + 1) % _HOUR_MINUTES if counts[minute] == 0 else minute
    near = ((starts - minute) % _HOUR_MINUTES <= 1) | ((minute - starts) % _HOUR_MINUTES <= 1)
    if near.sum() < settings["storms_min_count"] or near.mean() < settings["same_minute_share"]:
        return None
    taking = np.array([together[first : last + 1].any(axis=0) for first, last in storms])[near]
    often = taking.mean(axis=0) >= 0.5
    inside = np.isin(grid.time_ns // _MINUTE_NS, (starts[near][:, None] + np.arange(-1, 2)).ravel()) & spikes.any(
        axis=1
    )
    total = np.nan_to_num(grid.total_ops)
    rise = float(total[inside].mean() / max(_median(total[~inside]), 1e-9)) if inside.any() else 1.0
    return _Storm(
        grid, minute, starts[near] * _MINUTE_NS, len(storms),
        [entity for entity, takes_part in zip(grid.entities, often, strict=True) if takes_part],
        float(np.median(taking.mean(axis=1))), inside, rise,
    )  # fmt: skip


def _finding(case: Case, settings: Settings, storm: _Storm) -> Finding:
    grid = storm.grid
    latency = [_latency(grid, part) for part in (storm.inside, ~storm.inside)]
    whole = judged_grids(case, grid)[0]
    _, limit_ns = whole.mean_and_limit_ns(storm.inside, whole.warning_ns)
    hurts = latency[0] > max(2 * latency[1], limit_ns)
    kinds = kind_word(grid.kind, 2)
    timed = ""
    if np.isfinite(latency).all():
        timed = f" Latency is {format_duration(latency[0])} then, {format_duration(latency[1])} at other times."
    hours = sorted({int(start // (_HOUR_MINUTES * _MINUTE_NS)) % 24 for start in storm.starts_ns})
    when = f"minute {storm.minute} of the hour"
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING if hurts else Severity.INFO,
        confidence=0.8,
        title=f"{len(storm.entities):,} {kinds} of {grid.system} spike together at {when}",
        summary=(
            f"{len(storm.starts_ns):,} of {counted(storm.storms, 'storm')} begin at {when} (give or take one; hours "
            f"{joined([str(hour) for hour in hours], 6)} UTC): {format_ratio(storm.part)} of {len(grid.entities):,} "
            f"{kinds} spike within {settings['together_s']:.0f} s, with {storm.rise:.1f} times the usual operations."
            f"{timed}"
        ),
        why="Each job is small; started everywhere at once they queue behind each other and behind everybody's work.",
        innocent="The members of one cluster get their work at the same time, and that is what they are for.",
        check=(
            f"On two of them ({listed(case, storm.entities[:2])}) look at what starts at minute {storm.minute}: "
            "crontab, systemd timers, scheduled tasks, agents."
        ),
        remedy="Stagger the jobs with a random delay (systemd RandomizedDelaySec, cron with sleep, agent settings).",
        source=f"{format_ratio(settings['entities_share'])} of the VMs within {settings['together_s']:.0f} s: common "
        "practice, no citation.",
        entities=list(storm.entities) or list(grid.entities),
        start_ns=int(storm.starts_ns[0]),
        end_ns=int(storm.starts_ns[-1]) + _MINUTE_NS,
        evidence=(_rows(case, storm),),
        weight=min(1.0, 0.1 + 0.2 * storm.part),
        numbers={
            "minute_of_hour": float(storm.minute), "storms": float(len(storm.starts_ns)),
            "share_of_entities": storm.part, "rise_factor": storm.rise,
        }
        | {name: value for name, value in zip(_LATENCIES, latency, strict=True) if np.isfinite(value)},
    )  # fmt: skip


_LATENCIES = ("latency_ns_inside", "latency_ns_outside")


def _latency(grid: Grid, part: BoolArray) -> float:
    return weighted_mean(grid.total_latency_ns[part], np.nan_to_num(grid.total_ops[part]))


def _rows(case: Case, storm: _Storm) -> EvidenceRows:
    instant = case.instant()
    return case.evidence(
        "Operations by minute of the hour, the minutes with most first",
        f"""SELECT CAST(({instant} // {_MINUTE_NS}) % 60 AS BIGINT) AS minute_of_hour,
        round(avg(ops_per_s), 1) AS ops_per_s_mean, round(max(ops_per_s), 1) AS ops_per_s_max,
        count(DISTINCT entity) AS entities FROM observations WHERE {rows_sql(case, storm.grid)}
        GROUP BY 1 ORDER BY ops_per_s_mean DESC""",
    )


RULE = Rule(
    name=_NAME,
    title="many VMs spike within the same minute, again and again",
    evaluate=_evaluate,
    thresholds=(
        Threshold("entities_min_count", 4, "VMs or volumes that must be there", "common practice, no citation"),
        Threshold("entities_share", 0.5, "share of them that must spike together", "common practice, no citation"),
        Threshold("together_s", 60, "time within which they must spike", "common practice, no citation"),
        Threshold("spike_factor", 2.0, "operations over the entity's median that make a spike", "ours"),
        Threshold("storms_min_count", 3, "storms that must begin at the same minute of the hour", "ours"),
        Threshold("same_minute_share", 0.6, "share of all storms that must begin there; chance gives 3 in 60", "ours"),
    ),
)  # fmt: skip
