"""Whether anybody waits too long: the volumes on something, against the latency limits of their tiers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rules._intervals import weighted_mean
from storscope.diagnose.windows import ENTITY_OPS_MIN, tier_limits
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.store.series import Series

_KINDS = ("vdisk", "device", "datastore", "partition", "filesystem", "vm_disk")
"""What hosts and machines wait for."""
_COLUMNS = (
    ("latency_ns_mean", "ops_per_s"),
    ("read_latency_ns_mean", "read_ops_per_s"),
    ("write_latency_ns_mean", "write_ops_per_s"),
)
_SHARE = 0.1
"""Part of the operations above a limit that is felt, as for latency-above-tier."""


def volumes_on(case: Case, whole: EntityRef) -> list[EntityRef]:
    """What hosts wait for and rests on it; of an array, or a host, all in its system."""
    found = [one for one in case.all_series if one.kind in _KINDS and one.system == whole.system]
    return found if whole.kind in ("array", "host") else [one for one in found if whole in case.components(one)]


def harm_to(case: Case, volumes: Iterable[EntityRef]) -> Severity | None:
    """CRITICAL where the mean of a volume is above that limit, WARNING where a tenth of its operations are above the
    limit of a warning, INFO where there is no such volume.

    Reads and writes are also judged each by themselves. None when no latency of these volumes is in the evidence.
    """
    found = [_harm(case, series) for one in volumes if (series := case.all_series.get(one)) is not None]
    return max((harm for harm in found if harm is not None), default=None)


def harm_behind(case: Case, limit: EntityRef) -> Severity | None:
    """The harm to what is behind a queue: itself and what it rests on, or else all of its system."""
    own = [one for one in (limit, *case.components(limit)) if one.kind in _KINDS]
    found = harm_to(case, own)
    return found or harm_to(case, volumes_on(case, EntityRef(limit.system, "array", limit.system)))


def _harm(case: Case, series: Series) -> Severity | None:
    limits = tier_limits(case, series.entity)
    told = [one for column, rate in _COLUMNS if np.isfinite((one := _felt_ns(series, column, rate))[0])]
    if not told:
        return None
    if max(mean_ns for mean_ns, _ in told) > limits.critical_ns:
        return Severity.CRITICAL
    return Severity.WARNING if max(max(one) for one in told) > limits.warning_ns else Severity.INFO


def _felt_ns(series: Series, column: str, rate: str) -> tuple[float, float]:
    """The mean latency, and the one that a tenth of the operations are above as means of intervals.

    Nearly idle intervals are left out, where it is known which these are; NaN when nothing else is there.
    """
    latency = series[column]
    ops = np.where(series[rate] >= ENTITY_OPS_MIN, series[rate], 0.0) if series.has(rate) else np.ones(len(series))
    kept = np.isfinite(latency) & (ops > 0)
    if not kept.any():
        return float("nan"), float("nan")
    order = np.argsort(-latency[kept])
    above = np.cumsum(ops[kept][order])
    tenth = latency[kept][order][np.searchsorted(above, _SHARE * above[-1])]
    return weighted_mean(latency, ops), float(tenth)
