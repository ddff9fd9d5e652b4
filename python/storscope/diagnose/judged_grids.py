"""Grids with the limits that they are judged by: all operations of peers, and their reads and writes apart.

Who waits for storage waits for reads, and the mean of all hides them behind writes that a cache takes at once. Where
nobody's reads and writes are told apart, there are all operations only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.directions import DIRECTION_SHARE_MIN, directions, size_bytes
from storscope.diagnose.peers import Grid, direction_grids, make_grid
from storscope.diagnose.tier_limits import ENTITY_OPS_MIN, LARGE_BYTES, TIER_RULE, TierLimits, tier_limits
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.units import format_duration
from storscope.store.series import Series

Columns = int | tuple[int, ...] | None
"""Of the entities of a grid one, some, or all of them (None)."""


@dataclass(frozen=True)
class JudgedGrid:
    """A grid, and what its latency may be: of each entity by its tier, wider where the I/O is large."""

    of: str
    """'reads' or 'writes'; empty for all operations."""
    grid: Grid
    limits: tuple[TierLimits, ...]

    @cached_property
    def warning_ns(self) -> FloatArray:
        """The warning limit in each interval of each entity."""
        return self.along(lambda limits: limits.warning_ns)

    @cached_property
    def critical_ns(self) -> FloatArray:
        """The critical limit in each interval of each entity."""
        return self.along(lambda limits: limits.critical_ns)

    def along(self, limit_ns: Callable[[TierLimits], float]) -> FloatArray:
        """A limit in each interval of each entity; in longer steps than the source's the mean, weighted as latency."""
        chosen = [
            (series, limits, limit_ns(limits)) for series, limits in zip(self.grid.series, self.limits, strict=True)
        ]
        plain = np.array(np.broadcast_to([ns for _, _, ns in chosen], self.grid.latency_ns.shape))
        if not self._is_binned:
            for column in self._large:
                series, limits, ns = chosen[column]
                told = np.isfinite(self.grid.latency_ns[:, column])
                plain[told, column] = limits.along(series, ns)[told]
            return plain
        wide = make_grid([_told_as_latency(series, limits.along(series, ns)) for series, limits, ns in chosen])
        return plain if wide is None else np.where(np.isfinite(wide.latency_ns), wide.latency_ns, plain)

    @cached_property
    def _large(self) -> list[int]:
        """The columns of entities with large I/O at any time: of all others the limits are the plain ones."""
        return [column for column, series in enumerate(self.grid.series) if _is_ever_large(series)]

    @cached_property
    def _is_binned(self) -> bool:
        """Whether its intervals are not those of the series."""
        return not all(np.array_equal(series.time_ns, self.grid.time_ns) for series in self.grid.series)

    def of_all(self, limits_ns: FloatArray) -> FloatArray:
        """The limit for the mean latency of all in each interval: that of each entity, by its operations."""
        weights = self._timed
        total = weights.sum(axis=1)
        mean: FloatArray = (weights * limits_ns).sum(axis=1) / np.where(total > 0, total, 1.0)
        return np.where(total > 0, mean, limits_ns.max(axis=1))

    def mean_and_limit_ns(
        self, inside: BoolArray, limits_ns: FloatArray, column: Columns = None
    ) -> tuple[float, float]:
        """The mean latency in some intervals, of all entities, of one or of some, and the limit for it.

        Where nothing was timed, NaN and the widest limit.
        """
        which = _which(column)
        weights = self._timed[inside][:, which]
        total = float(weights.sum())
        if total <= 0:
            return float("nan"), float(limits_ns[:, which].max())
        latency_ns = np.nan_to_num(self.grid.latency_ns[inside][:, which])
        return float((weights * latency_ns).sum()) / total, float((weights * limits_ns[inside][:, which]).sum()) / total

    def is_above(self, inside: BoolArray, limits_ns: FloatArray, column: Columns = None) -> bool:
        """Whether that mean is above the limit; False of reads or writes that are next to nothing meanwhile."""
        mean_ns, limit_ns = self.mean_and_limit_ns(inside, limits_ns, column)
        rate = float(np.nan_to_num(self.grid.ops[inside][:, _which(column)]).sum()) / max(int(inside.sum()), 1)
        return mean_ns > limit_ns and (not self.of or rate >= ENTITY_OPS_MIN)

    @cached_property
    def _timed(self) -> FloatArray:
        """Operations per second that have a latency."""
        return np.where(np.isfinite(self.grid.latency_ns), np.nan_to_num(self.grid.ops), 0.0)


def _which(column: Columns) -> slice | list[int]:
    if column is None:
        return slice(None)
    return [column] if isinstance(column, int) else list(column)


def judged_grids(case: Case, grid: Grid, *, of_each: bool = False) -> list[JudgedGrid]:
    """All operations of a grid, then its reads and its writes, where they are told apart and not next to nothing.

    `of_each`: a direction that is next to nothing of all operations counts where it is more of an entity's own: one
    that writes very much does not hide the reads of others.
    """
    key = ("judged_grids", grid.entities, of_each)
    if key not in case.memo:
        share_min = case.settings.get(TIER_RULE, {}).get("direction_share_min", DIRECTION_SHARE_MIN)
        limits = tuple(tier_limits(case, entity) for entity in grid.entities)
        every = {"": grid, **direction_grids(grid, share_min, 0.0 if of_each else share_min)}
        case.memo[key] = [JudgedGrid(of, one, limits) for of, one in every.items()]
    found: list[JudgedGrid] = case.memo[key]
    return found


def means_words(judged: Sequence[JudgedGrid], inside: BoolArray, column: Columns = None) -> str:
    """'reads 60 ms and writes 0.3 ms': their mean latencies in some intervals; empty where they are not told apart."""
    means = {one.of: one.mean_and_limit_ns(inside, one.warning_ns, column)[0] for one in judged if one.of}
    words = [f"{of} {format_duration(mean_ns)}" for of, mean_ns in means.items() if np.isfinite(mean_ns)]
    return " and ".join(words) if len(words) > 1 else ""


def _is_ever_large(series: Series) -> bool:
    parts = (series, *directions(series, 0).values())
    return any(bool((size_bytes(part) > LARGE_BYTES).any()) for part in parts)


def _told_as_latency(series: Series, values: FloatArray) -> Series:
    """Values that are put on a grid as the latency is: where there is one, weighted by operations."""
    timed = np.where(np.isfinite(series["latency_ns_mean"]), values, np.nan)
    return replace(series, columns={"ops_per_s": series["ops_per_s"], "latency_ns_mean": timed})
