"""Bad windows: when a system's latency was bad.

A system's latency is the mean over all operations of its volumes. An interval is bad when it lies above the critical
threshold of the tier, or far above the system's own light quarter and not small in itself, or above the warning
threshold and far above its own best tenth: where most of the time is slow, the quarter is, too. Neighbouring ones
are merged, short ones dropped. Nearly idle intervals are not bad, since a disk that spins up makes nobody wait, unless
as much as usual is in flight all the same, or nothing at all was completed for long while operations waited (stalls).

A mean hides victims beside an entity that does many quick operations. So an interval is also bad when an entity with
real load, or a tenth of the entities and at least two, are bad by their own limits and their own light quarter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.directions import directions, size_bytes
from storscope.diagnose.peers import Grid, system_grids
from storscope.diagnose.stalls import stalls_of
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.units import KIB, NS_PER_MS, NS_PER_S
from storscope.model.overload import bridged, runs_of
from storscope.store.series import Series

TIER_RULE = "latency-above-tier"
WARNING_NS = {"disk": 15.0 * NS_PER_MS, "flash": 1.0 * NS_PER_MS}
CRITICAL_NS = {"disk": 25.0 * NS_PER_MS, "flash": 2.0 * NS_PER_MS}
"""PAL threshold files for Windows Server (15 and 25 ms); Broadcom 318927 and common practice for flash (1 and 2 ms)."""
LARGE_BYTES = 64 * KIB
"""Mean size beyond which the limits are wider (PAL)."""
LARGE_FACTOR = {"disk": 1.4, "flash": 1.0}
"""At the least, for large I/O (PAL: 35 ms instead of 25 ms)."""
LARGE_BYTES_PER_S = 125e6
"""The rate at which the limits grow with the size of large I/O: 1 Gbit/s (IEEE 802.3, 1000BASE-T), the slowest link in
use for storage, and about what a disk gives in sequence. What takes no longer than that is large, and not slow."""

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
ENTITY_OPS_MIN = 5.0
"""Operations per second below which one entity's latency says nothing (ours)."""
CHANGED_FACTOR = 2.0
"""Times its own light quarter that an entity's latency must be: one that is always slow makes no window (ours)."""
STAY_NS = 10 * NS_PER_S
"""Entities must suffer this long on end: the mean of few operations is noisier than that of all (ours)."""
SHORTEST_NS = 30 * NS_PER_S
SHORTEST_INTERVALS = 2
GAP_INTERVALS = 2
"""Good stretches no longer than this do not end a window (ours)."""
MERGED_NS = 120 * NS_PER_S
"""Windows no farther apart are one (ours)."""


@dataclass(frozen=True, slots=True)
class TierLimits:
    """Latency limits of an entity's tier, in ns."""

    tier: str
    assumed: bool
    known_from: str
    warning_ns: float
    critical_ns: float
    large_factor: float
    large_bytes_per_s: float

    def for_size(self, limit_ns: float, size: FloatArray) -> FloatArray:
        """One of the limits for operations of these sizes in bytes: wider for large ones; NaN is no large size."""
        with np.errstate(divide="ignore"):
            transfer_ns = size * NS_PER_S / np.float64(self.large_bytes_per_s)
        wider = np.maximum(limit_ns * self.large_factor, limit_ns + transfer_ns)
        return np.where(size > LARGE_BYTES, wider, limit_ns)

    def along(self, series: Series, limit_ns: float) -> FloatArray:
        """One of the limits in each interval; of reads and writes by the size of each, where that is told."""
        mean, parts = self.for_size(limit_ns, size_bytes(series)), directions(series, 0).values()
        if not parts:
            return mean
        total = np.sum([part["ops_per_s"] for part in parts], axis=0)
        own = np.sum([part["ops_per_s"] * self.for_size(limit_ns, size_bytes(part)) for part in parts], axis=0)
        known = np.isfinite(np.sum([part["bytes_per_s"] for part in parts], axis=0)) & (total > 0)
        return np.where(known, own / np.where(total > 0, total, 1.0), mean)


def tier_limits(case: Case, entity: EntityRef, settings: Mapping[str, float] | None = None) -> TierLimits:
    """The limits of an entity: by `settings`, else those in force for latency-above-tier, else the defaults."""
    tier = case.tier(entity)
    chosen = case.settings.get(TIER_RULE, {}) if settings is None else settings
    warning = chosen.get(f"latency_ns_warning_{tier.name}", WARNING_NS[tier.name])
    critical = chosen.get(f"latency_ns_critical_{tier.name}", CRITICAL_NS[tier.name])
    factor = chosen.get(f"large_io_factor_{tier.name}", LARGE_FACTOR[tier.name])
    rate = chosen.get("large_io_bytes_per_s", LARGE_BYTES_PER_S)
    return TierLimits(tier.name, tier.is_assumed, tier.known_from, warning, critical, factor, rate)


def grid_warning_ns(case: Case, grid: Grid) -> float:
    """The warning limit for the mean latency of all operations of a grid: that of each entity, by its operations."""
    timed = np.where(np.isfinite(grid.latency_ns), np.nan_to_num(grid.ops), 0.0).sum(axis=0)
    limits = [tier_limits(case, entity).warning_ns for entity in grid.entities]
    return float(np.average(limits, weights=timed)) if timed.sum() > 0 else max(limits)


def bad_windows(case: Case) -> dict[str, list[tuple[int, int]]]:
    """System -> (start, end) in ns of its bad windows, in order of time. Systems without latency are left out."""
    if "bad_windows" not in case.memo:
        case.memo["bad_windows"] = {
            system: windows_of(grid, bad_intervals(case, grid)) for system, grid in system_grids(case).items()
        }
    found: dict[str, list[tuple[int, int]]] = case.memo["bad_windows"]
    return found


def bad_intervals(case: Case, grid: Grid) -> BoolArray:
    """True for the intervals of a grid in which the mean latency of all operations, or that of victims, was bad."""
    limits = [tier_limits(case, entity) for entity in grid.entities]
    timed = np.where(np.isfinite(grid.latency_ns), np.nan_to_num(grid.ops), 0.0)
    critical = _weighted(timed, np.array([limit.critical_ns for limit in limits]))
    warning = _weighted(timed, np.array([limit.warning_ns for limit in limits]))
    latency = grid.total_latency_ns
    baseline = light_latency_ns(latency)
    floor = warning * _floor_share(limits)
    best = light_latency_ns(latency[busy(grid.total_ops)], BEST_SHARE)
    bad = (latency > critical) | ((latency > BASELINE_FACTOR * baseline) & (latency > floor))
    bad |= (latency > BASELINE_FACTOR * best) & (latency > warning)
    if len(grid.entities) > 1:
        bad |= _victims_suffer(grid, limits)
    return (bad & (busy(grid.total_ops) | _kept_waiting(grid))) | _stalled(case, grid)


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


def _victims_suffer(grid: Grid, limits: Sequence[TierLimits]) -> BoolArray:
    """True where an entity with real load, or several entities, are bad by their own limits and baseline."""
    ops, latency = np.nan_to_num(grid.ops), grid.latency_ns
    critical = np.array([limit.critical_ns for limit in limits])
    floor = np.array([limit.warning_ns for limit in limits]) * _floor_share(limits)
    baseline = np.array([light_latency_ns(column) for column in latency.T])
    usual = _usual_ops(ops)
    working = (ops >= np.maximum(ENTITY_OPS_MIN, 0.02 * usual)) & np.isfinite(latency)
    risen = (latency > BASELINE_FACTOR * baseline) & (latency > floor)
    bad = working & (((latency > critical) & (latency > CHANGED_FACTOR * baseline)) | risen)
    real = usual >= REAL_SHARE * max(float(usual.sum()), 1e-9)
    several = np.maximum(SEVERAL_MIN, SEVERAL_SHARE * working.sum(axis=1))
    suffering: BoolArray = (bad & real).any(axis=1) | (bad.sum(axis=1) >= several)
    lasting = np.zeros(len(suffering), dtype=bool)
    for first, last in runs_of(suffering, grid.anew):
        long_enough = (last - first + 1) * grid.step_ns >= STAY_NS and last - first + 1 >= SHORTEST_INTERVALS
        lasting[first : last + 1] = long_enough
    return lasting


def busy(ops: FloatArray) -> BoolArray:
    """False for nearly idle intervals: less than one operation per second, or 2 % of the usual load."""
    known = ops[np.isfinite(ops) & (ops > 0)]
    usual = float(np.median(known)) if len(known) else 0.0
    return np.nan_to_num(ops) >= max(1.0, 0.02 * usual)


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


def _weighted(weights: FloatArray, limits: FloatArray) -> FloatArray:
    total = weights.sum(axis=1)
    result: FloatArray = np.where(total > 0, weights @ limits / np.where(total > 0, total, 1.0), limits.max())
    return result
