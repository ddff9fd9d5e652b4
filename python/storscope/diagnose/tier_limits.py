"""Latency limits of disk and flash, wider for large I/O: what every rule and the bad windows judge by.

Of all operations, of reads and of writes the limits are the same. An operation of more than 64 KiB is given the time
that it takes at the rate of a slow link; where reads and writes are told apart, each by its own size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.directions import directions, size_bytes
from storscope.domain.arrays import FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.units import KIB, NS_PER_MS, NS_PER_S
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
ENTITY_OPS_MIN = 5.0
"""Operations per second below which the latency of one entity, or of reads or writes alone, says nothing (ours)."""


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
        if len(parts) < 2:
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
