"""Latency is bad at the same time of day, or on the same day of the week.

Looks for
    A daily or weekly pattern in a system's latency that chance does not make (the days are turned against each other
    to see), and the stretch of the day that was bad on at least three of the last five days. Where there are no
    counters over three days, the times of "latency deteriorated" lines in host logs are used.

Why it matters
    What comes back every night has a timetable: a backup, a scrub, a report. It is found by asking whose timetable it
    is, and cured by moving it, not by buying storage.

Evidence
    Latency and operations over at least three days, or host logs (vmkernel.log, vobd.log) over at least three days.

When it is wrong
    A backup window is meant to be busy: what matters is that it ends in time. Times of day are UTC; where summer time
    begins or ends within the evidence, the pattern is smeared by an hour. Three days can agree by chance: the p value
    says how easily.

References
    Three of the last five nights: common practice, no citation. Permutation test: Good, "Permutation, Parametric and
    Bootstrap Tests of Hypotheses", 2005. 10 ms and 2 ms in log lines: Broadcom knowledge base 318927.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.judged_grids import judged_grids
from storscope.diagnose.peers import Grid, system_grids
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import listed
from storscope.diagnose.rules._load import rows_sql
from storscope.diagnose.rules._logs import events_by_system, said, times_of
from storscope.diagnose.windows import busy
from storscope.domain.arrays import BoolArray, FloatArray, IntArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_bandwidth, format_bytes, format_duration, format_ratio
from storscope.model.periodicity import (
    DAY_NS,
    HOUR_NS,
    PERIODS_MIN,
    WEEK_NS,
    Pattern,
    RecurrentWindow,
    find_pattern,
    recurrent_window,
    slot_table,
)
from storscope.store.events import Event
from storscope.store.sql import sql_text

_NAME = "latency-periodic"
_SLOT_NS = HOUR_NS // 2
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LAST_DAYS = 5


@dataclass(frozen=True)
class _Habit:
    """A system's pattern and the stretch of the day that keeps being bad."""

    system: str
    pattern: Pattern
    window: RecurrentWindow
    slot_ns: int
    inside_ns: float
    """Mean latency in the window (of the log lines for events)."""
    outside_ns: float
    entities: Sequence[EntityRef]
    hurts: bool
    start_ns: int
    end_ns: int
    grid: Grid | None
    """None when it was told from events."""
    large: str
    """What the I/O in the window looks like; empty when not known."""


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    outcomes: list[Outcome] = []
    grids = system_grids(case)
    events = events_by_system(case, "latency_deteriorated")
    for system in sorted(grids.keys() | events.keys()):
        table = _daily(grids[system]) if system in grids else None
        if table is not None:
            outcomes += _of_series(case, settings, grids[system], table)
        elif system in events:
            outcomes += _of_events(case, settings, system, events[system])
    return outcomes or [
        NotEvaluated(_NAME, "latency and operations over at least three days, or host logs over at least three days")
    ]


# From counters ---------------------------------------------------------------------------------------------------


def _log_latency(grid: Grid) -> FloatArray:
    latency = grid.total_latency_ns
    usable = np.isfinite(latency) & (np.nan_to_num(latency) > 0) & busy(grid.total_ops)
    return np.where(usable, np.log(np.where(usable, latency, 1.0)), np.nan)


def _daily(grid: Grid) -> FloatArray | None:
    """Mean log latency by day and hour; None when fewer than three days are at least half covered."""
    table, _ = slot_table(grid.time_ns, _log_latency(grid))
    return table if (np.isfinite(table).mean(axis=1) >= 0.5).sum() >= PERIODS_MIN else None


def _of_series(case: Case, settings: Settings, grid: Grid, table: FloatArray) -> list[Outcome]:
    pattern = find_pattern(table, seed=case.seed)
    if pattern is None:
        return []
    logs = _log_latency(grid)
    whole = judged_grids(case, grid)[0]
    fine, _ = slot_table(grid.time_ns, logs, slot_ns=_SLOT_NS)
    level = float(np.nanmedian(fine))
    small_ns = np.where(np.isfinite(logs), whole.of_all(whole.along(lambda limits: limits.warning_ns / 3)), np.nan)
    small, _ = slot_table(grid.time_ns, np.log(small_ns), slot_ns=_SLOT_NS)
    floor = np.fmax(level + np.log(settings["slower_factor"]), small)
    window = _window(settings, np.nan_to_num(fine, nan=-np.inf) > floor, np.isfinite(fine))
    weekly = _weekly(case, grid, logs, pattern)
    regular = pattern.p_value <= settings["p_level_max"] and pattern.share >= settings["explained_share"]
    outcomes: list[Outcome] = []
    if regular and window is not None:
        inside = _inside(grid.time_ns, window)
        loads, latency = np.nan_to_num(grid.total_ops), np.nan_to_num(grid.total_latency_ns)
        means = [float((loads * latency)[part].sum() / max(loads[part].sum(), 1e-12)) for part in (inside, ~inside)]
        _, limit_ns = whole.mean_and_limit_ns(inside, whole.warning_ns)
        habit = _Habit(
            grid.system, pattern, window, _SLOT_NS, means[0], means[1], grid.entities, means[0] > limit_ns,
            int(grid.time_ns[0]), int(grid.time_ns[-1]) + grid.step_ns, grid, _io_words(grid, inside),
        )  # fmt: skip
        outcomes.append(_daily_finding(case, habit))
    if weekly is not None and weekly.p_value <= settings["p_level_max"]:
        outcomes += _weekly_finding(case, settings, grid, weekly)
    return outcomes or [
        Healthy(
            _NAME,
            f"No habit in the latency of {grid.system} over {pattern.periods:,} days: the time of day explains "
            f"{format_ratio(pattern.share)} of it (p = {pattern.p_value:.2g}), and no stretch of the day was bad on "
            f"{settings['days_min_count']:.0f} of the last {_LAST_DAYS} days.",
        )
    ]


def _window(settings: Settings, bad: BoolArray, known: BoolArray) -> RecurrentWindow | None:
    return recurrent_window(bad, known, last=_LAST_DAYS, least=round(settings["days_min_count"]))


def _inside(time_ns: IntArray, window: RecurrentWindow) -> BoolArray:
    slot = time_ns % DAY_NS // _SLOT_NS
    if window.first_slot <= window.last_slot:
        return np.asarray((slot >= window.first_slot) & (slot <= window.last_slot))
    return np.asarray((slot >= window.first_slot) | (slot <= window.last_slot))


def _io_words(grid: Grid, inside: BoolArray) -> str:
    """The I/O in the window against the rest, where bytes are known."""
    ops, moved = np.nan_to_num(grid.ops), np.nan_to_num(grid.bytes)
    if not moved[inside].sum() or not ops[inside].sum() or not ops[~inside].sum():
        return ""
    sizes = [moved[part].sum() / ops[part].sum() for part in (inside, ~inside)]
    rates = [moved[part].sum(axis=1).mean() for part in (inside, ~inside)]
    top = grid.entities[int(np.argmax(moved[inside].sum(axis=0)))]
    return (
        f"In it the mean I/O is {format_bytes(round(sizes[0]))} against {format_bytes(round(sizes[1]))}, at "
        f"{format_bandwidth(rates[0])} against {format_bandwidth(rates[1])}; most bytes are moved by {top.name}. "
    )


def _weekly(case: Case, grid: Grid, logs: FloatArray, daily: Pattern) -> Pattern | None:
    """The pattern by day of the week, once that of the day is taken out."""
    hour = grid.time_ns % DAY_NS // HOUR_NS
    rest = logs - daily.profile[hour]
    table, _ = slot_table(grid.time_ns, rest, period_ns=WEEK_NS, slot_ns=DAY_NS)
    return find_pattern(table, seed=case.seed)


# From log lines --------------------------------------------------------------------------------------------------


def _of_events(case: Case, settings: Settings, system: str, events: list[Event]) -> list[Outcome]:
    hard = [
        event for event in events if event.time_ns is not None and (event.value or 0) >= _bound(case, settings, event)
    ]
    every = times_of(events)
    days = (max(every) // DAY_NS - min(every) // DAY_NS + 1) if every else 0
    if days < PERIODS_MIN:
        return []
    first = min(every) // DAY_NS
    counts = np.zeros((days, int(DAY_NS // HOUR_NS)))
    for event in hard:
        counts[(event.time_ns or 0) // DAY_NS - first, (event.time_ns or 0) % DAY_NS // HOUR_NS] = 1.0
    pattern = find_pattern(counts, seed=case.seed)
    # Logs of months hold days without a line: look at the last days on which there was one.
    active = counts[counts.any(axis=1)]
    window = _window(settings, active > 0, np.ones_like(active, dtype=bool)) if len(active) else None
    if pattern is None or window is None or pattern.p_value > settings["p_level_max"]:
        return [
            Healthy(
                _NAME,
                f"No habit in the {len(hard):,} log lines of high latency on {system} over {days:,} days: no hour had "
                f"one on {settings['days_min_count']:.0f} of the last {_LAST_DAYS} days with any.",
            )
        ]
    values = [event.value or 0.0 for event in hard]
    habit = _Habit(
        system, pattern, window, HOUR_NS, float(np.median(values)), float("nan"),
        sorted({event.entity for event in hard}), True, min(every), max(every), None, "",
    )  # fmt: skip
    return [_daily_finding(case, habit)]


def _bound(case: Case, settings: Settings, event: Event) -> float:
    return settings[f"latency_ns_{case.tier(event.entity).name}"]


# Words -----------------------------------------------------------------------------------------------------------


def _clock(slot: int, slot_ns: int) -> str:
    minutes = slot * slot_ns // (60 * 1_000_000_000)
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def _span_words(habit: _Habit) -> str:
    return (
        f"{_clock(habit.window.first_slot, habit.slot_ns)} to {_clock(habit.window.last_slot + 1, habit.slot_ns)} UTC"
    )


def _daily_finding(case: Case, habit: _Habit) -> Finding:
    window = habit.window
    span = _span_words(habit)
    if habit.grid is not None:
        decisive = (
            f"From {span} the latency of {habit.system} is {format_duration(habit.inside_ns)}, at other times "
            f"{format_duration(habit.outside_ns)}. "
        )
    else:
        decisive = (
            f"The log lines of high latency on {habit.system} (median {format_duration(habit.inside_ns)}) come back "
            f"from {span}. "
        )
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING if habit.hurts else Severity.INFO,
        confidence=0.85 if habit.pattern.periods >= _LAST_DAYS else 0.65,
        title=f"Latency of {habit.system} is bad every day from {span}",
        summary=(
            f"{decisive}That was so on {window.days_bad} of the last {window.days_looked_at} days"
            f"{' with such lines' if habit.grid is None else ''}; the time of day explains "
            f"{format_ratio(habit.pattern.share)} of all differences over {habit.pattern.periods:,} days "
            f"(p = {habit.pattern.p_value:.2g}). {habit.large}"
        ).strip(),
        why="What comes back by the clock is started by the clock; moving or slowing it costs nothing.",
        innocent="It is the backup window, meant to be busy while nobody works, and it ends in time.",
        check=(
            f"List what is scheduled from {span} (backup server, cron, SQL Server Agent, array snapshots, virus "
            "scans), and ask whether anyone works then. Shift one job by an hour: the bad hour must move with it."
        ),
        remedy="Stagger the jobs, move them, or limit their rate; judge a backup window by its end, not its latency.",
        source="Bad on three of the last five days: common practice, no citation; p by turning the days against each "
        "other.",
        entities=list(habit.entities),
        start_ns=habit.start_ns,
        end_ns=habit.end_ns,
        evidence=(_series_rows(case, habit.grid) if habit.grid else _event_rows(case, habit.system),),
        weight=min(1.0, 0.3 + 0.5 * habit.pattern.share),
        numbers=_numbers(habit),
    )


def _numbers(habit: _Habit) -> dict[str, float]:
    window = habit.window
    numbers = {
        "explained_share": habit.pattern.share, "p_value": habit.pattern.p_value, "days": float(habit.pattern.periods),
        "days_bad": float(window.days_bad), "days_looked_at": float(window.days_looked_at),
        "hour_utc_from": window.first_slot * habit.slot_ns / HOUR_NS,
        "hour_utc_to": (window.last_slot + 1) * habit.slot_ns / HOUR_NS,
        "latency_ns_inside": habit.inside_ns, "latency_ns_outside": habit.outside_ns,
    }  # fmt: skip
    return {name: value for name, value in numbers.items() if np.isfinite(value)}


def _series_rows(case: Case, grid: Grid) -> EvidenceRows:
    return case.evidence(
        "Latency by hour of the day (UTC)",
        f"""SELECT CAST(({case.instant()} // {HOUR_NS}) % 24 AS BIGINT) AS hour_utc,
        count(DISTINCT {case.instant()} // {DAY_NS}) AS days, round(sum(ops_per_s * latency_ns_mean)
        / nullif(sum(ops_per_s), 0)) AS latency_ns_mean, round(avg(bytes_per_s)) AS bytes_per_s
        FROM observations WHERE {rows_sql(case, grid, "latency_ns_mean IS NOT NULL")}
        GROUP BY 1 ORDER BY latency_ns_mean DESC NULLS LAST""",
    )


def _event_rows(case: Case, system: str) -> EvidenceRows:
    return case.evidence(
        "Log lines by hour of the day (UTC)",
        f"""SELECT CAST(({case.instant()} // {HOUR_NS}) % 24 AS BIGINT) AS hour_utc, count(*) AS lines,
        count(DISTINCT {case.instant()} // {DAY_NS}) AS days, median(value) AS latency_ns_median
        FROM events WHERE system = {sql_text(system)} AND time IS NOT NULL
        AND {said(case, "latency_deteriorated")} GROUP BY 1 ORDER BY lines DESC""",
    )


def _weekly_finding(case: Case, settings: Settings, grid: Grid, pattern: Pattern) -> list[Finding]:
    """A day of the week that stands out by the factor; nothing when none does."""
    factors = np.exp(pattern.profile - np.nanmedian(pattern.profile))
    worst = int(np.nanargmax(factors))
    if pattern.share < settings["explained_share"] or factors[worst] < settings["slower_factor"]:
        return []
    day = _DAYS[worst]
    return [
        Finding(
            rule=_NAME,
            severity=Severity.INFO,
            confidence=0.6,
            title=f"Latency of {grid.system} is worse every {day}",
            summary=(
                f"On {day}s the latency of {listed(case, grid.entities)} is {factors[worst]:.1f} times that of the "
                f"usual day, over {pattern.periods:,} weeks (the day explains {format_ratio(pattern.share)} of what "
                f"the time of day leaves, p = {pattern.p_value:.2g})."
            ),
            why="What comes back every week is started by a timetable.",
            innocent="A weekly full backup or a month's end that fell on the same weekday.",
            check=f"List the weekly jobs of {day} (UTC): full backups, index rebuilds, scrubs, virus scans.",
            remedy="Spread weekly jobs over the week or move them to the quiet day.",
            source="Day of the week by a permutation test over weeks; 2 times the usual day is ours.",
            entities=list(grid.entities),
            start_ns=int(grid.time_ns[0]),
            end_ns=int(grid.time_ns[-1]) + grid.step_ns,
            evidence=(_series_rows(case, grid),),
            weight=0.3 * pattern.share,
            numbers={
                "explained_share": pattern.share,
                "p_value": pattern.p_value,
                "weeks": float(pattern.periods),
                "slower_factor": float(factors[worst]),
            },
        )
    ]


RULE = Rule(
    name=_NAME,
    title="latency is bad at the same time of day or of the week",
    evaluate=_evaluate,
    thresholds=(
        Threshold("days_min_count", 3, "of the last five days, on which the same stretch must be bad",
                  "common practice, no citation"),
        Threshold("slower_factor", 2.0, "latency in the stretch over the usual latency", "ours"),
        Threshold("explained_share", 0.1, "share of the variance that the time of day must explain", "ours"),
        Threshold("p_level_max", 0.05, "chance of such a pattern in days that have nothing in common", "convention"),
        Threshold("latency_ns_disk", 10e6, "latency in a log line on disk from which it counts",
                  "Broadcom knowledge base 318927"),
        Threshold("latency_ns_flash", 2e6, "latency in a log line on flash from which it counts",
                  "Broadcom knowledge base 318927"),
    ),
)  # fmt: skip
