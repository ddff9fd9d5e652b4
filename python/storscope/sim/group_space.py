"""How much a group of a design holds, and how much of that its volumes take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


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


def group_spaces(form: Mapping[str, Any], shapes: Sequence[Mapping[str, int]]) -> tuple[GroupSpace, ...]:
    """Of each group of a design, as the core gives it and its shape (`_core.read_design`)."""
    taken = {group["name"]: 0 for group in form["groups"]}
    for volume in form["volumes"]:
        taken[volume["group"]] += volume["size_bytes"]
    return tuple(
        GroupSpace(
            group["name"], group["count"], group["spares"], shape["drive_bytes"], shape["data"], shape["parity"],
            shape["copies"], group["spare_share"], shape["usable_bytes"], taken[group["name"]],
        )
        for group, shape in zip(form["groups"], shapes, strict=True)
    )  # fmt: skip
