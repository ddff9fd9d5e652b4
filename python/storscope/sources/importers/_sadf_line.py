"""Which cells of a line of `sadf -d` are of which activity: with -h a sample is one line, with all of its activities.

    # hostname;interval;timestamp;CPU;%user;...;%idle[...];kbmemfree;...;kbdirty;DEV;tps;...;%util[...]
    db8;600;2026-11-20 10:10:01 UTC;-1;2.15;...;95.31;20657516;...;226584;sda;39.00;...;0.40;sdb;...

`[...]` marks an activity that has a row for each of its things. How many they are, no line says: it follows from the
line's length where one activity is marked. Where processors and disks are, disks begin at the first cell that is no
number, which is the first disk's name. Lines with other activities marked could be cut in several ways, and are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_REPEATED: Final = "[...]"
_FIRST_COLUMNS: Final = frozenset({
    "CPU", "INTR", "TTY", "DEV", "IFACE", "FCHOST", "FILESYSTEM", "MOUNTPOINT", "FAN", "DEVICE", "BUS",
})  # fmt: skip
"""What activities begin with that have rows of several things (`activity.c` of sysstat 12.6)."""
_NUMBER: Final = re.compile(r"-?\d+(?:[.,]\d+)?")


@dataclass(frozen=True)
class Activity:
    """One activity of a heading; or several with one row each, between which a heading shows no border."""

    columns: tuple[str, ...]
    is_repeated: bool

    @property
    def key(self) -> str:
        """What its rows begin with: CPU, DEV and the like."""
        return self.columns[0]


@dataclass(frozen=True)
class Row:
    """What a line tells of one thing."""

    activity: Activity
    cells: Sequence[str]


def activities_of(columns: Iterable[str]) -> list[Activity]:
    """The activities of a heading, by its columns after host, length and time."""
    parts: list[list[str]] = []
    for name in columns:
        if not parts or name in _FIRST_COLUMNS or _ends(parts[-1]):
            parts.append([])
        parts[-1].append(name)
    return [Activity(tuple(name.removesuffix(_REPEATED) for name in part), _ends(part)) for part in parts]


def can_be_cut(activities: Sequence[Activity]) -> bool:
    """Whether a line under these activities tells where each of them ends."""
    return _repeated(activities) < 2 or [it.key for it in activities if it.is_repeated] == ["CPU", "DEV"]


def cut(activities: Sequence[Activity], cells: Sequence[str]) -> list[Row] | None:
    """The rows of a line; None where they do not fit its heading."""
    if len(activities) == 1:
        return _dealt(activities, cells)
    rows = _parted(activities, cells) if _repeated(activities) > 1 else _dealt(activities, cells)
    return rows if rows and all(_is_number(row.cells[0]) == (row.activity.key != "DEV") for row in rows) else None


def _parted(activities: Sequence[Activity], cells: Sequence[str]) -> list[Row] | None:
    """The rows where both processors and disks are repeated: disks begin with the first name."""
    disks = next(at for at, activity in enumerate(activities) if activity.key == "DEV")
    name = next((at for at, cell in enumerate(cells) if not _is_number(cell)), len(cells))
    before, after = _dealt(activities[:disks], cells[:name]), _dealt(activities[disks:], cells[name:])
    return None if before is None or after is None else before + after


def _repeated(activities: Sequence[Activity]) -> int:
    return sum(activity.is_repeated for activity in activities)


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell.strip()) is not None


def _ends(part: Sequence[str]) -> bool:
    return part[-1].endswith(_REPEATED)


def _dealt(activities: Sequence[Activity], cells: Sequence[str]) -> list[Row] | None:
    """The rows where at most one activity is repeated, so that the number of cells tells how often."""
    once = sum(len(activity.columns) for activity in activities if not activity.is_repeated)
    width = next((len(activity.columns) for activity in activities if activity.is_repeated), 0)
    times, left = divmod(len(cells) - once, width) if width else (0, len(cells) - once)
    if times < 0 or left:
        return None
    found, at = [], 0
    for activity in activities:
        for _ in range(times if activity.is_repeated else 1):
            found.append(Row(activity, cells[at : at + len(activity.columns)]))
            at += len(activity.columns)
    return found
