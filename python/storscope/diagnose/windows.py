"""Bad windows: when a system's latency was bad.

A system's latency is the mean over all operations of its volumes, and where the source tells them apart also that of
their reads and that of their writes, since quick writes into a cache hide slow reads. An interval is bad when one of
these lies above the critical threshold of the tier, or far above its own light quarter and not small in itself, or
above the warning threshold and far above its own best tenth: where most of the time is slow, the quarter is, too.
Neighbouring ones are merged, short ones dropped. Nearly idle intervals are not bad, since a disk that spins up makes
nobody wait, unless as much as usual is in flight all the same, or nothing at all was completed for long while
operations waited (stalls). What takes long because the I/O is large is not bad: all limits are wider for it.

A mean hides victims beside an entity that does many quick operations. So an interval is also bad when an entity with
real load, or a tenth of the entities and at least two, are bad by their own limits and their own light quarter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.judged_grids import JudgedGrid, judged_grids
from storscope.diagnose.peers import Grid, system_grids
from storscope.diagnose.stalls import stalls_of
from storscope.diagnose.tier_limits import ENTITY_OPS_MIN, TierLimits
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.units import NS_PER_S
from storscope.model.overload import bridged, runs_of
from storscope.model.periodicity import Rhythm, rhythm

BASELINE_FACTOR = 3.0
"""Times the light quarter's latency from which an interval is bad (ours)."""
LIGHT_SHARE = 0.25
BEST_SHARE = 0.1
"""Parts of the intervals, those with the least latency, that show what the system can do (ours)."""
FLOOR_SHARE = 1 / 3
"""Below this share of the warning threshold, no rise is bad (ours)."""
REAL_SHARE = 0.1
"""Part of the system's usual operations (medians) from which one entity alone makes an interval bad (ours)."""
SEVERAL_SHARE = 0.1
SEVERAL_MIN = 2
"""Part and number of the entities at work that make an interval bad together (ours)."""
IDLE_OPS = 1.0
"""Operations per second of all below which a system is idle (ours)."""
CHANGED_FACTOR = 2.0
"""Times its own light quarter that an entity's latency must be: one that is always slow makes no window (ours)."""
STAY_NS = 10 * NS_PER_S
"""Entities, and reads or writes alone, must suffer this long on end (ours)."""
SHORTEST_NS = 30 * NS_PER_S
SHORTEST_INTERVALS = 2
GAP_INTERVALS = 2
"""Good stretches no longer than this do not end a window (ours)."""
MOST_SHARE = 0.5
"""Part of the intervals of windows in which what made them bad was bad (ours)."""
MERGED_NS = 120 * NS_PER_S
"""Windows no farther apart are one (ours)."""


def bad_windows(case: Case) -> dict[str, list[tuple[int, int]]]:
    """System -> (start, end) in ns of its bad windows, in order of time. Systems without latency are left out."""
    if "bad_windows" not in case.memo:
        case.memo["bad_windows"] = {
            system: windows_of(grid, bad_intervals(case, grid)) for system, grid in system_grids(case).items()
        }
    found: dict[str, list[tuple[int, int]]] = case.memo["bad_windows"]
    return found


def rhythm_of_windows(case: Case, system: str) -> Rhythm | None:
    """How regularly the bad windows of a system begin; None where they are few, or not regular."""
    windows = bad_windows(case).get(system, [])
    starts = np.array([start for start, _ in windows], dtype=np.int64)
    return rhythm(starts, system_grids(case)[system].step_ns) if windows else None


def bad_intervals(case: Case, grid: Grid) -> BoolArray:
    """True for the intervals of a grid in which the mean latency of all operations, of the reads or of the writes, or
    that of victims, was bad."""
    whole, *apart = judged_grids(case, grid)
    bad = _is_bad(whole)
    for direction in apart:
        bad |= _lasting(grid, _is_bad(direction))
    return bad | _stalled(case, grid)


def what_was_bad(case: Case, grid: Grid, inside: BoolArray) -> JudgedGrid:
    """What made most of some intervals bad: all operations, else the reads or the writes; all where neither did."""
    whole, *apart = judged_grids(case, grid)
    shares = {one.of: float(_is_bad(one)[inside].mean()) for one in (whole, *apart)}
    worst = max(apart, key=lambda one: shares[one.of], default=whole)
    return worst if shares[worst.of] >= MOST_SHARE > shares[whole.of] else whole


def _is_bad(judged: JudgedGrid) -> BoolArray:
    grid, latency = judged.grid, judged.grid.total_latency_ns
    at_work = busy(grid.total_ops, ENTITY_OPS_MIN if judged.of else IDLE_OPS)
    warning, critical = judged.of_all(judged.warning_ns), judged.of_all(judged.critical_ns)
    floor_ns = judged.along(lambda limits: limits.warning_ns * _floor_share(judged.limits))
    baseline = light_latency_ns(latency)
    best = light_latency_ns(latency[at_work], BEST_SHARE)
    bad = (latency > critical) | ((latency > BASELINE_FACTOR * baseline) & (latency > judged.of_all(floor_ns)))
    bad |= (latency > BASELINE_FACTOR * best) & (latency > warning)
    if len(grid.entities) > 1:
        bad |= _victims_suffer(judged, floor_ns)
    return bad & (at_work | _kept_waiting(grid))


def _kept_waiting(grid: Grid) -> BoolArray:
    """True where at least one operation, and at least as many as usual, are in flight, however few are completed."""
    waiting = grid.waiting.sum(axis=1)
    known = waiting[waiting > 0]
    result: BoolArray = waiting >= max(1.0, float(np.median(known)) if len(known) else 0.0)
    return result


def _stalled(case: Case, grid: Grid) -> BoolArray:
    """True where an entity with real load is known to have completed nothing while operations waited."""
    usual = _usual_ops(np.nan_to_num(grid.ops))
    real = usual >= REAL_SHARE * max(float(usual.sum()), 1e-9)
    stalls = [stall for entity, is_real in zip(grid.entities, real, strict=True) if is_real
              for stall in stalls_of(case, entity)]  # fmt: skip
    return grid.inside((stall.start_ns, stall.end_ns) for stall in stalls if stall.proven)


def _usual_ops(ops: FloatArray) -> FloatArray:
    """The median of each entity's operations per second while it does any."""
    return np.array([np.median(column[column > 0]) if (column > 0).any() else 0.0 for column in ops.T])


def _floor_share(limits: Sequence[TierLimits]) -> float:
    """Where disk is only assumed, a third of its limit could hide everything a flash system suffers."""
    assumed = all(limit.assumed and limit.tier == "disk" for limit in limits)
    return FLOOR_SHARE / 3 if assumed else FLOOR_SHARE


def _victims_suffer(judged: JudgedGrid, floor_ns: FloatArray) -> BoolArray:
    """True where an entity with real load, or several entities, are bad by their own limits and baseline."""
    grid = judged.grid
    ops, latency = np.nan_to_num(grid.ops), grid.latency_ns
    baseline = np.array([light_latency_ns(column) for column in latency.T])
    usual = _usual_ops(ops)
    working = (ops >= np.maximum(ENTITY_OPS_MIN, 0.02 * usual)) & np.isfinite(latency)
    risen = (latency > BASELINE_FACTOR * baseline) & (latency > floor_ns)
    bad = working & (((latency > judged.critical_ns) & (latency > CHANGED_FACTOR * baseline)) | risen)
    real = usual >= REAL_SHARE * max(float(usual.sum()), 1e-9)
    several = np.maximum(SEVERAL_MIN, SEVERAL_SHARE * working.sum(axis=1))
    return _lasting(grid, (bad & real).any(axis=1) | (bad.sum(axis=1) >= several))


def _lasting(grid: Grid, suffering: BoolArray) -> BoolArray:
    """True in what lasts: the mean of a part of the operations is noisier than that of all."""
    lasting = np.zeros(len(suffering), dtype=bool)
    for first, last in runs_of(suffering, grid.anew):
        long_enough = (last - first + 1) * grid.step_ns >= STAY_NS and last - first + 1 >= SHORTEST_INTERVALS
        lasting[first : last + 1] = long_enough
    return lasting


def busy(ops: FloatArray, least: float = IDLE_OPS) -> BoolArray:
    """False for nearly idle intervals: fewer operations per second than `least`, or 2 % of the usual load."""
    known = ops[np.isfinite(ops) & (ops > 0)]
    usual = float(np.median(known)) if len(known) else 0.0
    return np.nan_to_num(ops) >= max(least, 0.02 * usual)


def light_latency_ns(latency_ns: FloatArray, share: float = LIGHT_SHARE) -> float:
    """The system's own good latency: the share of its intervals with the least ends here; NaN of nothing."""
    known = latency_ns[np.isfinite(latency_ns)]
    return float(np.quantile(known, share)) if len(known) else float("nan")


def windows_of(grid: Grid, bad: BoolArray) -> list[tuple[int, int]]:
    """Bad intervals merged over short gaps; what is shorter than 30 s or two intervals is dropped first.

    A window never reaches over time that was not measured, but for the two minutes that part no windows.
    """
    found: list[tuple[int, int]] = []
    for first, last in runs_of(bridged(bad, GAP_INTERVALS, grid.anew), grid.anew):
        start, end = int(grid.time_ns[first]), int(grid.time_ns[last]) + grid.step_ns
        if end - start < SHORTEST_NS or last - first + 1 < SHORTEST_INTERVALS:
            continue
        if found and start - found[-1][1] <= MERGED_NS:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found
