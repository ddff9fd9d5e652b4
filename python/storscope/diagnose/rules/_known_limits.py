"""Limits that providers document, and what links carry: hints at who holds a rate at its value, and no proof.

Only what their pages state, of rates that do not depend on the size of a volume. AWS counts MiB/s, Azure MB/s.

- AWS: "Amazon EBS volume types" (docs.aws.amazon.com/ebs/latest/userguide/ebs-volume-types.html)
- Azure: "Scalability and performance targets for VM disks" and "Azure managed disk types" (learn.microsoft.com)
- Google: "Performance limits for Persistent Disk" (cloud.google.com/compute/docs/disks/performance)
- Fibre Channel: rates of data by direction, FC-PI (FCIA speed roadmap). Ethernet: IEEE 802.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from storscope.domain.units import MIB

_MB: Final = 1e6
_AWS: Final = "AWS, EBS volume types"
_AZURE: Final = "Azure, managed disk types"
_GOOGLE: Final = "Google, Persistent Disk limits"


@dataclass(frozen=True)
class KnownLimit:
    """What is granted, of 'ops' (per second) or 'bytes' (per second), to what, and where that is written."""

    measure: str
    rate_per_s: float
    whose: str
    source: str


KNOWN_LIMITS: Final = (
    KnownLimit("ops", 3_000, "what EBS gp3 comes with, or the burst of gp2", _AWS),
    KnownLimit("ops", 3_000, "what Azure Premium SSD v2 comes with", _AZURE),
    KnownLimit("ops", 16_000, "the greatest EBS gp2, and gp3 until 2025", _AWS),
    KnownLimit("ops", 64_000, "the greatest EBS io1", _AWS),
    KnownLimit("ops", 256_000, "the greatest EBS io2 Block Express", _AWS),
    KnownLimit("ops", 100, "the smallest EBS gp2 without burst credits", _AWS),
    KnownLimit("ops", 120, "Azure Premium SSD P1 to P4", _AZURE),
    KnownLimit("ops", 240, "Azure Premium SSD P6", _AZURE),
    KnownLimit("ops", 500, "Azure Premium SSD P10, Standard SSD and Standard HDD up to 4 TiB", _AZURE),
    KnownLimit("ops", 1_100, "Azure Premium SSD P15", _AZURE),
    KnownLimit("ops", 2_300, "Azure Premium SSD P20", _AZURE),
    KnownLimit("ops", 3_500, "the burst of Azure Premium SSD up to P20", _AZURE),
    KnownLimit("ops", 5_000, "Azure Premium SSD P30", _AZURE),
    KnownLimit("ops", 7_500, "Azure Premium SSD P40 and P50", _AZURE),
    KnownLimit("ops", 16_000, "Azure Premium SSD P60", _AZURE),
    KnownLimit("ops", 18_000, "Azure Premium SSD P70", _AZURE),
    KnownLimit("ops", 20_000, "Azure Premium SSD P80", _AZURE),
    KnownLimit("ops", 15_000, "balanced and SSD persistent disks at a VM of few processors", _GOOGLE),
    KnownLimit("bytes", 125 * MIB, "what EBS gp3 comes with", _AWS),
    KnownLimit("bytes", 128 * MIB, "EBS gp2 up to 170 GiB", _AWS),
    KnownLimit("bytes", 250 * MIB, "the greatest EBS gp2, and the burst of sc1", _AWS),
    KnownLimit("bytes", 500 * MIB, "the greatest EBS st1", _AWS),
    KnownLimit("bytes", 1_000 * MIB, "the greatest EBS io1, and gp3 until 2025", _AWS),
    KnownLimit("bytes", 25 * _MB, "Azure Premium SSD P1 to P4", _AZURE),
    KnownLimit("bytes", 50 * _MB, "Azure Premium SSD P6", _AZURE),
    KnownLimit("bytes", 60 * _MB, "Azure Standard HDD up to 4 TiB", _AZURE),
    KnownLimit("bytes", 100 * _MB, "Azure Premium SSD P10", _AZURE),
    KnownLimit("bytes", 125 * _MB, "Azure Premium SSD P15, or what Premium SSD v2 comes with", _AZURE),
    KnownLimit("bytes", 150 * _MB, "Azure Premium SSD P20", _AZURE),
    KnownLimit("bytes", 170 * _MB, "the burst of Azure Premium SSD up to P20", _AZURE),
    KnownLimit("bytes", 200 * _MB, "Azure Premium SSD P30", _AZURE),
    KnownLimit("bytes", 250 * _MB, "Azure Premium SSD P40 and P50", _AZURE),
    KnownLimit("bytes", 500 * _MB, "Azure Premium SSD P60", _AZURE),
    KnownLimit("bytes", 750 * _MB, "Azure Premium SSD P70", _AZURE),
    KnownLimit("bytes", 900 * _MB, "Azure Premium SSD P80", _AZURE),
)  # fmt: skip

_LINKS_GBIT_PER_S: Final = (1, 2, 4, 8, 10, 16, 25, 32)
LINK_PAYLOAD: Final = (0.8, 1.0)
"""Part of a link's name that data make at the least (8b/10b of Fibre Channel: 800 MB/s of 8 Gbit/s) and at the most."""


def known_limits(measure: str, rate_per_s: float, within: float) -> list[KnownLimit]:
    """Those of which a rate is not farther than `within` (a part), the nearest first."""
    apart = {one: abs(rate_per_s / one.rate_per_s - 1) for one in KNOWN_LIMITS if one.measure == measure}
    return sorted((one for one, part in apart.items() if part <= within), key=lambda one: apart[one])


def link_gbit_per_s(bytes_per_s: float) -> int | None:
    """The link that a rate of bytes would fill in one direction, in Gbit/s; None where it would fill none."""
    low, high = LINK_PAYLOAD
    for gbit_per_s in _LINKS_GBIT_PER_S:
        named = gbit_per_s * 1e9 / 8
        if low * named <= bytes_per_s <= high * named:
            return gbit_per_s
    return None
