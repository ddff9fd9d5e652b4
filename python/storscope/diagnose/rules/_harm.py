"""Whether anybody waits too long: the volumes on something, against the latency limits of their tiers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.directions import directions
from storscope.diagnose.rules._intervals import weighted_mean
from storscope.diagnose.tier_limits import ENTITY_OPS_MIN, tier_limits
from storscope.domain.arrays import FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.store.series import Series

_KINDS = ("vdisk", "device", "datastore", "partition", "filesystem", "vm_disk")
"""What hosts and machines wait for."""
_SHARE = 0.1
"""Part of the operations above a limit that is felt, as for latency-above-tier."""


def volumes_on(case: Case, whole: EntityRef) -> list[EntityRef]:
    """What hosts wait for and rests on it; of an array, or a host, all in its system."""
    found = [one for one in case.all_series if one.kind in _KINDS and one.system == whole.system]
    return found if whole.kind in ("array", "host") else [one for one in found if whole in case.components(one)]


def harm_to(case: Case, volumes: Iterable[EntityRef]) -> Severity | None:
    """CRITICAL where the mean of a volume is above that limit, WARNING where that of a warning is passed by the mean or
    by a tenth of its operations, INFO where there is no such volume.

    Reads and writes are also judged each by themselves, and large I/O by wider limits, as for latency-above-tier. None
    when no latency of these volumes is in the evidence.
    """
    found = [_harm(case, series) for one in volumes if (series := case.all_series.get(one)) is not None]
    return max((harm for harm in found if harm is not None), default=None)


def harm_behind(case: Case, limit: EntityRef) -> Severity | None:
    """The harm to what is behind a queue: itself and what it rests on, or else all of its system."""
    own = [one for one in (limit, *case.components(limit)) if one.kind in _KINDS]
    found = harm_to(case, own)
    return found or harm_to(case, volumes_on(case, EntityRef(limit.system, "array", limit.system)))


def mean_and_limit_ns(case: Case, series: Series, limit_ns: float) -> tuple[float, float]:
    """The mean latency of what an entity did, nearly idle intervals left out, and the limit for it: wider where the I/O
    is large. Both in ns; NaN where no latency is told."""
    weight = _weight(series)
    limits = tier_limits(case, series.entity).along(series, limit_ns)
    return weighted_mean(series["latency_ns_mean"], weight), weighted_mean(limits, weight)


def _harm(case: Case, series: Series) -> Severity | None:
    limits = tier_limits(case, series.entity)
    parts = [part for part in (series, *directions(series).values()) if _weight(part).any()]
    if not parts:
        return None
    if any(_is_above(mean_and_limit_ns(case, part, limits.critical_ns)) for part in parts):
        return Severity.CRITICAL
    felt = any(
        _is_above(mean_and_limit_ns(case, part, limits.warning_ns))
        or _share_above(part, limits.along(part, limits.warning_ns)) >= _SHARE
        for part in parts
    )
    return Severity.WARNING if felt else Severity.INFO


def _is_above(mean_and_limit: tuple[float, float]) -> bool:
    mean_ns, limit_ns = mean_and_limit
    return mean_ns > limit_ns


def _share_above(series: Series, limits_ns: FloatArray) -> float:
    """Part of the operations in intervals whose mean latency is above the limit."""
    weight = _weight(series)
    return float(weight[series["latency_ns_mean"] > limits_ns].sum() / weight.sum())


def _weight(series: Series) -> FloatArray:
    """Operations per second of the intervals with a latency; 0 of nearly idle ones, and 1 where no rate is told."""
    ops = series["ops_per_s"]
    ops = np.where(ops >= ENTITY_OPS_MIN, ops, 0.0) if series.has("ops_per_s") else np.ones(len(series))
    return ops * np.isfinite(series["latency_ns_mean"])
