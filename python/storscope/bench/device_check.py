"""What the devices under a target did during a run, beside what the generator did: the values.

`device_counters.py` reads them, `device_judging.py` judges them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

DONE: Final = {"read": "read", "write": "wrote"}
"""The past tense of each direction."""


class Answer(StrEnum):
    """Whether the device did it."""

    RECONCILED = "the device"
    NOT_THE_DEVICE = "not the device"
    OTHERS_TOO = "not this run alone"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Asked:
    """What the generator completed in one direction, the I/Os that were drained after the end included."""

    ios: int
    bytes: int


@dataclass(frozen=True)
class Moved:
    """What devices did in one direction. `merged` are operations that were joined to others before they were sent."""

    ios: int
    merged: int
    bytes: int


@dataclass(frozen=True)
class Below:
    """What the devices of a deeper level did meanwhile."""

    devices: tuple[str, ...]
    read: Moved
    write: Moved


@dataclass(frozen=True)
class DeviceCheck:
    """The comparison of one run, or of one filling, with the devices under its target."""

    devices: tuple[str, ...]
    """The nearest ones, counted together."""
    fs_type: str | None
    answer: Answer
    asked: Mapping[str, Asked]
    """'read' and 'write'."""
    moved: Mapping[str, Moved] | None
    """By the devices; None where there is none or the kernel does not count."""
    process_bytes: Mapping[str, int | None]
    """What this process caused to be read from and written to block devices."""
    below: tuple[Below, ...]
    doubts: tuple[str, ...]

    def ratio(self, direction: str) -> float | None:
        """Bytes the device moved over those of the generator; None of nothing."""
        asked = self.asked[direction].bytes
        return self.moved[direction].bytes / asked if self.moved is not None and asked else None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` reads them again."""
        return asdict(self)

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> DeviceCheck:
        """What `to_json` wrote."""
        moved = form["moved"]
        return cls(
            devices=tuple(form["devices"]), fs_type=form["fs_type"], answer=Answer(form["answer"]),
            asked={name: Asked(**item) for name, item in form["asked"].items()},
            moved=None if moved is None else {name: Moved(**item) for name, item in moved.items()},
            process_bytes=dict(form["process_bytes"]),
            below=tuple(Below(tuple(one["devices"]), Moved(**one["read"]), Moved(**one["write"]))
                        for one in form["below"]),
            doubts=tuple(form["doubts"]),
        )  # fmt: skip
