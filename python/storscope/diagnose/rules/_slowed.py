"""Who got slow in bad windows that nobody's load explains: the cause lies below what is seen.

Only where the load of all, and of each that has a real part of it, is no more than at other times. What somebody who
was not captured did to the same storage looks the same, and so do operations that became random. What logs say of the
moment at which it began is told: a lost cache, a failed drive, a rebuild, a volume that moved, a path that went down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.directions import DIRECTIONS
from storscope.diagnose.judged_grids import JudgedGrid
from storscope.diagnose.peers import Grid
from storscope.diagnose.rules._entities import joined
from storscope.diagnose.rules._intervals import weighted_mean
from storscope.diagnose.rules._load import (
    at_other_times,
    kind_word,
    named,
    opening,
    rhythm_words,
    span_of,
    talkers,
    window_words,
)
from storscope.diagnose.tier_limits import ENTITY_OPS_MIN
from storscope.diagnose.windows import BASELINE_FACTOR
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Severity
from storscope.domain.units import format_duration, format_rate, format_ratio
from storscope.store.events import Event

_SAME_LOAD = 1.1
"""Load over the usual up to which it is no more than that."""
_REAL_SHARE = 0.1
"""Part of the load or the queue time that makes a rise of one entity's load matter."""
_QUEUE_SHARE_MIN = 0.5
"""Share of the queue time of those that got slow, with which they are what made the window bad."""


@dataclass(frozen=True)
class Slowed:
    """An entity that is several times as slow in the bad windows as at other times, without more load."""

    entity: EntityRef
    of: str
    """'reads' or 'writes', where only these were bad: then rates and queue time are theirs; else empty."""
    latency_ns: float
    usual_ns: float
    ops: float
    usual_ops: float
    load: float
    """Its load over its load at other times, by operations or bytes, whichever is greater."""
    queue_share: float


def slowed_in(
    judged: JudgedGrid, inside: BoolArray, shares: Mapping[str, FloatArray], rises: FloatArray,
    rise_of_all: float, risen_from: float,
) -> tuple[Slowed, ...]:  # fmt: skip
    """Who got slow inside, the most queue time first; nobody where the load of all or of one real part rose.

    `shares` and `rises` have one value an entity: its parts of all inside, and its load over that at other times (NaN
    where that is not known). `risen_from`: the rise from which it could be a cause.
    """
    grid = judged.grid
    waiting = grid.waiting[inside].sum(axis=0)
    real = np.max(list(shares.values()), axis=0) >= _REAL_SHARE
    explained = rise_of_all > _SAME_LOAD or (rises[real] >= risen_from).any()
    if not waiting.sum() or explained or not np.isfinite(rise_of_all):
        return ()
    queue = waiting / waiting.sum()
    found = []
    for column in np.flatnonzero((queue > 0) & (rises <= _SAME_LOAD)):
        latency, ops = grid.latency_ns[:, column], np.nan_to_num(grid.ops[:, column])
        now_ns, usual_ns = (weighted_mean(latency[which], ops[which]) for which in (inside, ~inside))
        usual_ops = float(ops[~inside].mean())
        if usual_ops >= ENTITY_OPS_MIN and now_ns >= BASELINE_FACTOR * usual_ns:
            found.append(
                Slowed(grid.entities[column], judged.of, now_ns, usual_ns, float(ops[inside].mean()), usual_ops,
                       float(rises[column]), float(queue[column]))
            )  # fmt: skip
    if sum(one.queue_share for one in found) < _QUEUE_SHARE_MIN:
        return ()
    return tuple(sorted(found, key=lambda one: (-one.queue_share, one.entity)))


def slowed_finding(
    case: Case, rule: str, grid: Grid, windows: Sequence[tuple[int, int]], slowed: Sequence[Slowed]
) -> Finding:
    """Who got slow, with both figures, and where to look: information, since it hurts by rules of its own."""
    worst, kind, system = slowed[0], grid.kind, grid.system
    start, end = span_of(windows)
    logged = _logged(case, [one.entity for one in slowed], grid, windows)
    below = "below the volumes" if kind == "vdisk" else "below the host"
    who = f"{len(slowed):,} {kind_word(kind, 2)} of {system}" if len(slowed) > 1 else opening(case, worst.entity)
    if worst.of:
        who = f"{worst.of.capitalize()} of {who if len(slowed) > 1 else named(case, worst.entity)}"
    all_of_it = f"{worst.of or ''} of {len(grid.entities):,} {kind_word(kind, 2)}".removeprefix(" of ")
    return Finding(
        rule=rule,
        severity=Severity.INFO,
        confidence=0.7,
        title=f"{who} got slow {_at_what_load(slowed)}",
        summary=(
            f"In {window_words(case, windows)} {_what(worst)} of {named(case, worst.entity)} took "
            f"{format_duration(worst.latency_ns)} instead of {format_duration(worst.usual_ns)} at other times, with "
            f"{format_rate(worst.ops)} instead of {format_rate(worst.usual_ops)}; it has "
            f"{format_ratio(worst.queue_share)} of the queue time of {all_of_it}. "
            + (f"So did {joined([case.label(one.entity) for one in slowed[1:]])}. " if len(slowed) > 1 else "")
            + f"No {kind_word(kind)} brings more load than usual, so none of them is the cause: look {below}."
            + _log_words(case, logged)
            + rhythm_words(case, system)
        ),
        why="More load did not make it slow, so pausing or moving a load that is seen here takes no cause away.",
        innocent=(
            "Its operations became slower ones by themselves (random instead of sequential, no longer from a cache), "
            "or drives had spun down."
        ),
        check=(
            f"Look {below} in this time: failing drives, a rebuild, a lost cache, path changes and link errors, and "
            "the load of other hosts on the same storage."
        ),
        remedy=_REMEDY_LOGGED if logged else "None before the cause is known.",
        source=f"{BASELINE_FACTOR:g} times the latency of other times at no more than {_SAME_LOAD:g} times their load: "
        "our bounds.",
        entities=[one.entity for one in slowed],
        start_ns=start,
        end_ns=end,
        evidence=(
            talkers(case, f"Load and latency on {system} in the bad windows", grid, windows, worst.of),
            at_other_times(case, grid, worst.entity, windows, worst.of),
        ),
        weight=0.3 * sum(one.queue_share for one in slowed),
        numbers={
            "excess": worst.load, "latency_ns_mean": worst.latency_ns, "latency_ns_usual": worst.usual_ns,
            "ops_per_s": worst.ops, "ops_per_s_usual": worst.usual_ops, "share_of_queue_time": worst.queue_share,
        },
    )  # fmt: skip


def is_slowed(finding: Finding) -> bool:
    """Whether this is such a finding."""
    return "latency_ns_usual" in finding.numbers


def is_logged(finding: Finding) -> bool:
    """Whether it is such a finding, and a log says what changed when it began."""
    return is_slowed(finding) and finding.remedy == _REMEDY_LOGGED


_REMEDY_LOGGED = "Find out whether what the log tells is the cause, and mend that."
_STATES = (
    "cache_policy_changed", "battery_changed", "disk_failed", "controller_failed", "rebuild_started",
    "ownership_changed", "path_dead", "apd_start", "limit_changed", "array_event",
)  # fmt: skip
"""Events after which storage is another one than before; of what an array says besides, the work that it tells of."""
_LOGGED_MOST, _TEXT_MOST = 3, 100
_NEAR_INTERVALS = 2
"""Intervals from the beginning of a bad window within which an event may have begun it: the interval of the event is of
both, and clocks are not exact (ours)."""


def _logged(
    case: Case, entities: Sequence[EntityRef], grid: Grid, windows: Sequence[tuple[int, int]]
) -> list[Event]:  # fmt: skip
    """What logs of these, and of what they rest on, say of the moments at which windows begin."""
    systems = {one.system for entity in entities for one in (entity, *case.components(entity))}
    near_ns = _NEAR_INTERVALS * grid.step_ns
    return [
        event
        for event in case.events_of(*_STATES)
        if event.entity.system in systems
        and event.time_ns is not None
        and (event.type != "array_event" or event.attributes)
        and any(abs(event.time_ns - start) <= near_ns for start, _ in windows)
    ]


def _log_words(case: Case, logged: Sequence[Event]) -> str:
    if not logged:
        return ""
    said = [f"'{_short(event.text)}' ({case.time_words(event.time_ns)})" for event in logged[:_LOGGED_MOST]]
    more = f" and {len(logged) - _LOGGED_MOST:,} more" if len(logged) > _LOGGED_MOST else ""
    return f" When it began the log says: {', '.join(said)}{more}."


def _short(text: str) -> str:
    return text if len(text) <= _TEXT_MOST else f"{text[: _TEXT_MOST - 1]}…"


def _what(slowed: Slowed) -> str:
    return f"a {DIRECTIONS[slowed.of]}" if slowed.of else "an operation"


def _at_what_load(slowed: Sequence[Slowed]) -> str:
    return "at lower load" if max(one.load for one in slowed) < 1 / _SAME_LOAD else "without more load"
