"""How much a group of a design holds, and how much of that its volumes take.

The arithmetic is that of crates/storscope-types/src/design/shape.rs, by which volumes that do not fit are refused;
tests hold one against the other to the byte. The core hands out no capacities, since no simulation needs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_POOL_ROUNDS: Final = 64
"""Arrangements of a pool's drives before they repeat, as in shape.rs."""
_REDUNDANCY: Final = {
    "raid0": (0, 1), "raid1": (0, 2), "raid10": (0, 2), "raid5": (1, 1), "raid50": (1, 1), "raid6": (2, 1),
    "raid60": (2, 1),
}  # fmt: skip
"""Segments of parity in a set, and copies of each segment of data."""
_POOL_WIDTHS: Final = {"raid5": 5, "raid6": 6}
"""Drives of a parity set of a pool that does not say its own."""


@dataclass(frozen=True)
class GroupSpace:
    """What a group's drives hold; spares are not counted."""

    name: str
    drives: int
    spares: int
    drive_bytes: int
    data: int
    """Segments of data in a set."""
    parity: int
    """Segments of parity in a set."""
    copies: int
    """Of each segment of data, the data itself included."""
    kept_ratio: float
    """Share of each drive that a pool keeps free for the data of failed drives."""
    usable_bytes: int
    volumes_bytes: int

    @property
    def raw_bytes(self) -> int:
        """What all drives hold that are no spares."""
        return self.drives * self.drive_bytes

    @property
    def free_bytes(self) -> int:
        """What no volume takes."""
        return self.usable_bytes - self.volumes_bytes

    @property
    def unused_bytes(self) -> int:
        """What would hold data, were it not less than another round of extents or stripes on all drives."""
        segments = self.data * self.copies + self.parity
        return round(self.raw_bytes * (1 - self.kept_ratio) * self.data / segments) - self.usable_bytes


def group_spaces(form: Mapping[str, Any]) -> list[GroupSpace]:
    """Of each group of a design, as the core gives it (`Design.form`)."""
    taken = {group["name"]: 0 for group in form["groups"]}
    for volume in form["volumes"]:
        taken[volume["group"]] += volume["size_bytes"]
    return [
        _space(group, form["drives"][group["drive"]]["size_bytes"], taken[group["name"]]) for group in form["groups"]
    ]


def _space(group: Mapping[str, Any], drive_bytes: int, taken: int) -> GroupSpace:
    parity, copies = _REDUNDANCY[_protection(group)]
    data = 1 if copies > 1 else _width(group) - parity
    usable = data * group["segment_bytes"] * _stripes(group, drive_bytes, data * copies + parity)
    return GroupSpace(
        group["name"], group["count"], group["spares"], drive_bytes, data, parity, copies, group["spare_share"], usable,
        taken,
    )  # fmt: skip


def _protection(group: Mapping[str, Any]) -> str:
    """The layout, or what protects the data of a pool."""
    return str((group["redundancy"] or "raid0") if group["layout"] == "pool" else group["layout"])


def _width(group: Mapping[str, Any]) -> int:
    """Drives of a set without copies."""
    protection = _protection(group)
    if protection == "raid0":
        return 1
    if group["layout"] == "pool":
        return int(group["width"] or _POOL_WIDTHS[protection])
    return int(group["width"] if protection in ("raid50", "raid60") else group["count"])


def _stripes(group: Mapping[str, Any], drive_bytes: int, width: int) -> int:
    """Of the whole group; those of a pool fill rounds of extents."""
    sets, segment = group["count"] // width, group["segment_bytes"]
    if group["layout"] != "pool":
        return int(drive_bytes // segment * sets)
    slots = -(-_POOL_ROUNDS * sets * width // group["count"])
    rows = max(1, group["extent_bytes"] // segment) if group["extent_bytes"] else 1
    kept = int(drive_bytes * (1.0 - group["spare_share"]))
    return int(kept // (slots * rows * segment) * _POOL_ROUNDS * sets * rows)
