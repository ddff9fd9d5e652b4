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
    """The worst limit that a tenth of some volume's operations, or their mean, is above; INFO where none is.

    Reads and writes are also judged each by themselves. None when no latency of these volumes is in the evidence.
    """
    found = [_harm(case, series) for one in volumes if (series := case.all_series.get(one)) is not None]
    return max((harm for harm in found if harm is not None), default=None)


def _harm(case: Case, series: Series) -> Severity | None:
    limits = tier_limits(case, series.entity)
    told = [one for column, rate in _COLUMNS if np.isfinite(one := _felt_ns(series, column, rate))]
    if not told:
        return None
    worst = max(told)
    if worst > limits.critical_ns:
        return Severity.CRITICAL
    return Severity.WARNING if worst > limits.warning_ns else Severity.INFO


def _felt_ns(series: Series, column: str, rate: str) -> float:
    """The latency that a tenth of the operations are above as means of intervals, or their mean if that is more.

    Nearly idle intervals are left out, where it is known which these are; NaN when nothing else is there.
    """
    latency = series[column]
    ops = np.where(series[rate] >= ENTITY_OPS_MIN, series[rate], 0.0) if series.has(rate) else np.ones(len(series))
    kept = np.isfinite(latency) & (ops > 0)
    if not kept.any():
        return float("nan")
    order = np.argsort(-latency[kept])
    above = np.cumsum(ops[kept][order])
    tenth = latency[kept][order][np.searchsorted(above, _SHARE * above[-1])]
    return max(float(tenth), weighted_mean(latency, ops))
