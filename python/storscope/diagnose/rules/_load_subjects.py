"""What may have a knee: entities, or all of a kind together, with their load and latency in the usual state."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.peers import Grid, grids, make_grid, system_grids
from storscope.diagnose.rules._load import kind_word, named
from storscope.diagnose.rules._other_states import other_states
from storscope.domain.arrays import BoolArray, FloatArray, IntArray
from storscope.domain.entity import EntityRef
from storscope.domain.units import NS_PER_S, format_span
from storscope.model.knee import INTERVALS_MIN
from storscope.model.regression import partial_correlation, scaled, total_moments

_KINDS = ("array", "disk_group", "controller", "datastore", "device", "vdisk", "partition")
_WHOLES = ("disk_group", "controller", "datastore", "device", "adapter", "array")
"""Kinds over whose parts load is added up when they have no counters of their own."""
_ENTITIES_MAX = 8
"""Of one kind in one system, those with the most queue time are looked at one by one."""
_OWN_R_MIN = 0.3
"""Partial correlation with the own load, others' held fixed, below which an entity's latency is not its own (ours)."""
_OTHERS_R_MIN = 0.2
"""Partial correlation of latency with the others' load, own load held fixed, from which peers share a limit (ours)."""
_BUSY_MIN = 0.5
"""How busy a server is at least when waiting doubles an operation's time (M/M/1; several servers later)."""
_HOUR_NS = 3_600 * NS_PER_S
NOW_MIN = 3
"""Intervals that say how things stand, at least (ours)."""


@dataclass(frozen=True)
class Subject:
    """Something with a load and a latency: an entity, or entities added up."""

    entity: EntityRef
    words: str
    grid: Grid
    ops: FloatArray
    """Per second, in each interval."""
    moved: FloatArray
    """Bytes per second; NaN where absent."""
    latency_ns: FloatArray
    column: int | None
    """Its place in the grid; None of entities added up."""
    left_out_ns: int = 0
    """How long the array was in another state, with the backlog of it; ops and latency of that time are NaN."""
    backlog_ns: int = 0
    """How long of that what had waited was done."""

    @property
    def is_sum(self) -> bool:
        """True of entities added up."""
        return self.column is None


def subjects_of(case: Case) -> dict[str, list[Subject]]:
    """System -> subjects, sums first."""
    found: dict[str, list[Subject]] = defaultdict(list)
    for system, grid in sorted(system_grids(case).items()):
        if len(grid.entities) > 1 and _slow_down_together(grid):
            words = f"{_all_words(grid)} of {system} together"
            found[system].append(_sum(grid, _top_entity(case, system), words))
        found[system] += _partial_sums(case, grid)
    for grid in grids(case, _KINDS):
        order = np.argsort(-grid.waiting.sum(axis=0), kind="stable")[:_ENTITIES_MAX]
        found[grid.system] += [_single(case, grid, int(column)) for column in order]
    usable = {system: [one for one in subjects if _timed(one) >= INTERVALS_MIN] for system, subjects in found.items()}
    return {system: [_as_usual(case, one) for one in subjects] for system, subjects in usable.items() if subjects}


def _as_usual(case: Case, subject: Subject) -> Subject:
    """Without the times of a rebuild or of a failed controller: latency then has another cause than the load.

    Nor is what waited for their end a load: it comes as fast as the array can, and all behind it waits as well. Where
    too little is left to tell how it goes and how things stand, it is of all the time.
    """
    in_states = subject.grid.inside(other_states(case, subject.grid.system))
    other = _with_backlog(subject, in_states)
    known = np.isfinite(subject.ops) & np.isfinite(subject.latency_ns)
    left = known & ~other
    if not (known & other).any() or left.sum() < INTERVALS_MIN or (lately(subject.grid)[0] & left).sum() < NOW_MIN:
        return subject
    ops, latency_ns = (np.where(other, np.nan, values) for values in (subject.ops, subject.latency_ns))
    step_ns = subject.grid.step_ns
    left_out_ns, backlog_ns = int(other.sum()) * step_ns, int((other & ~in_states).sum()) * step_ns
    return replace(subject, ops=ops, latency_ns=latency_ns, left_out_ns=left_out_ns, backlog_ns=backlog_ns)


def _with_backlog(subject: Subject, in_states: BoolArray) -> BoolArray:
    """The states with what follows on them while what ends began, on average, before its interval: it waited then.

    Only where latency is above all that was seen before the first of these states, since storage may always be so slow.
    In longer intervals than the backlog takes that does not show.
    """
    found = in_states.copy()
    if not in_states.any():
        return found
    before = subject.latency_ns[: int(np.argmax(in_states))]
    if not np.isfinite(before).any():
        return found
    is_late = subject.latency_ns > max(subject.grid.step_ns / 2, float(np.nanmax(before)))
    for number in np.flatnonzero(is_late & ~subject.grid.anew):
        found[number] |= number > 0 and found[number - 1]
    return found


def _all_words(grid: Grid) -> str:
    number = len(grid.entities)
    return f"{'both' if number == 2 else f'all {number:,}'} {kind_word(grid.kind, 2)}"


def _slow_down_together(grid: Grid) -> bool:
    """False when each entity's latency goes with its own load and not with the others'.

    Devices of one host that are served by different arrays are such: their sum would have a knee that nothing has.
    """
    shares, own_rs, others_rs = [], [], []
    for column in range(len(grid.entities)):
        own, latency = grid.ops[:, column], grid.latency_ns[:, column]
        known = np.isfinite(own) & np.isfinite(latency) & (np.nan_to_num(latency) > 0)
        if known.sum() >= INTERVALS_MIN:
            others = np.nan_to_num(grid.total_ops[known]) - own[known]
            own_rs.append(_partial(own[known], others, np.log(latency[known])))
            others_rs.append(_partial(others, own[known], np.log(latency[known])))
            shares.append(max(float(np.nansum(own)), 1e-9))
    if not shares or float(np.average(own_rs, weights=shares)) < _OWN_R_MIN:
        return True
    return float(np.average(others_rs, weights=shares)) >= _OTHERS_R_MIN


def _partial(load: FloatArray, control: FloatArray, log_latency: FloatArray) -> float:
    """Correlation of load and log latency with `control` held fixed."""
    columns = np.column_stack([scaled(each) for each in (load, control, log_latency)])
    return float(partial_correlation(total_moments(columns), 3)[0])


def _timed(subject: Subject) -> int:
    return int((np.isfinite(subject.ops) & np.isfinite(subject.latency_ns)).sum())


def _sum(grid: Grid, entity: EntityRef, words: str) -> Subject:
    known = np.isfinite(grid.bytes) | ~np.isfinite(grid.ops)
    moved = np.where(known.all(axis=1), np.nansum(grid.bytes, axis=1), np.nan)
    return Subject(entity, words, grid, grid.total_ops, moved, grid.total_latency_ns, None)


def _single(case: Case, grid: Grid, column: int) -> Subject:
    entity = grid.entities[column]
    return Subject(
        entity,
        named(case, entity),
        grid,
        grid.ops[:, column],
        grid.bytes[:, column],
        grid.latency_ns[:, column],
        column,
    )


def _top_entity(case: Case, system: str) -> EntityRef:
    tops = sorted(entity for entity in case.entities if entity.system == system and entity.kind in {"array", "host"})
    return tops[0] if len(tops) == 1 else EntityRef(system, "host", system)


def _partial_sums(case: Case, grid: Grid) -> list[Subject]:
    """Sums over what rests on one disk group, device or datastore that has no counters itself."""
    parts: dict[EntityRef, list[EntityRef]] = defaultdict(list)
    for entity in grid.entities:
        for whole in case.components(entity):
            if whole.kind in _WHOLES and whole not in case.all_series:
                parts[whole].append(entity)
    found = []
    for whole, entities in sorted(parts.items()):
        if 1 < len(entities) < len(grid.entities):
            part = make_grid([case.all_series[entity] for entity in entities])
            if part is not None:
                found.append(
                    _sum(part, whole, f"the {len(entities):,} {kind_word(grid.kind, 2)} on {named(case, whole)}")
                )
    return found


def makes_its_own_latency(case: Case, subject: Subject) -> bool:
    """False where the others' load explains latency and the entity's own hardly does: its knee would be theirs.

    So it is where a controller's processor is known to be idle: what is slow is behind it. Of an entity that took no
    time as a rule (a source of whole milliseconds says 0) nothing tells.
    """
    if subject.entity.kind == "controller" and not subject.is_sum and _is_idle(case, subject.entity):
        return False
    if subject.is_sum or len(subject.grid.entities) == 1:
        return True
    known = np.isfinite(subject.ops) & np.isfinite(subject.latency_ns) & (np.nan_to_num(subject.latency_ns) > 0)
    if known.sum() < INTERVALS_MIN:
        return True
    own, latency = subject.ops[known], np.log(subject.latency_ns[known])
    others = np.nan_to_num(subject.grid.total_ops[known]) - own
    return _partial(own, others, latency) >= _OWN_R_MIN


def _is_idle(case: Case, controller: EntityRef) -> bool:
    """Whether its processor has hardly an interval in which it is so busy that waiting doubles an operation's time."""
    busy = case.all_series[controller]["cpu_busy_ratio"]
    busy = busy[np.isfinite(busy)]
    return len(busy) > 0 and float(np.quantile(busy, 0.95)) < _BUSY_MIN


def lately(grid: Grid) -> tuple[BoolArray, str]:
    """The last hour, or the last quarter of a capture that is shorter than four."""
    times: IntArray = grid.time_ns
    end, span = int(times[-1]) + grid.step_ns, int(times[-1]) + grid.step_ns - int(times[0])
    if span >= 4 * _HOUR_NS:
        return times >= end - _HOUR_NS, "in the last hour"
    return times >= end - span // 4, f"in the last {format_span(span // 4)}"
