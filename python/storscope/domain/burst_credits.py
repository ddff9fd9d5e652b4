"""Balances of burst credits: the share that is left, as counters that importers write and burst-credits-spent reads.

Providers tell the same in several ways: EBS the part that is left (BurstBalance), Azure the part that is used. In the
tables it is what is left, 0 to 1. Something may have several balances: of operations and of bytes, and a machine on
Azure one more of each for what its host caches. They are counters and no columns, since their intervals are often not
those of the rates.
"""

from __future__ import annotations

from typing import Final

UNIT: Final = "ratio"
LEFT: Final = "credits_left_ratio"
"""Of a volume that has one balance, of operations or of bytes, whichever it is limited by (EBS)."""
LEFT_OPS: Final = f"{LEFT}_ops"
LEFT_BYTES: Final = f"{LEFT}_bytes"
_APART: Final = ("cached", "local", "remote")
"""Ways of a machine to its disks that have balances of their own (Azure)."""
BALANCES: Final = {LEFT: "", LEFT_OPS: "ops", LEFT_BYTES: "bytes"} | {
    f"{name}_{way}": measure for way in _APART for name, measure in ((LEFT_OPS, "ops"), (LEFT_BYTES, "bytes"))
}
"""Name of the counter -> what its credits are counted in: 'ops', 'bytes', or empty where it may be either."""


def left_of(measure: str, way: str = "") -> str:
    """The counter of a balance of 'ops' or 'bytes', of one of the ways to disks that has its own, or of all others."""
    name = f"{LEFT}_{measure}"
    return f"{name}_{way}" if way in _APART else name
