"""The heading of a table of counters over time: which columns are times, names, and what is measured.

One column of times (or one of dates and one of times); columns that name what the row is of (volume, LUN, datastore,
disk, pool, controller, host, VM, ...); and columns whose headings say what they count, with the unit of bandwidths and
latencies (`_headings.py`).
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from storscope.sources.importers._headings import Meaning, meaning_of, words_of

KINDS: Final = {
    "virtual disk": "vm_disk", "vmdk": "vm_disk",
    "vm": "vm", "virtual machine": "vm", "guest": "vm",
    "datastore": "datastore",
    "volume": "vdisk", "volume name": "vdisk", "lun": "vdisk", "vdisk": "vdisk", "lun name": "vdisk", "vol": "vdisk",
    "device": "device", "block device": "device", "dev": "device",
    "partition": "partition", "filesystem": "filesystem", "file system": "filesystem", "mount": "filesystem",
    "disk": "disk", "drive": "disk", "physical disk": "disk", "pd": "disk", "spindle": "disk",
    "port": "port", "fc port": "port", "iscsi port": "port",
    "adapter": "adapter", "hba": "adapter",
    "controller": "controller", "node": "controller", "sp": "controller", "storage processor": "controller",
    "pool": "disk_group", "disk group": "disk_group", "raid group": "disk_group", "aggregate": "disk_group",
    "storage pool": "disk_group",
    "host": "host", "hostname": "host", "server": "host", "esx": "host", "esxi host": "host",
    "array": "array", "system": "array", "storage system": "array", "storage array": "array", "appliance": "array",
    "cluster": "array",
}  # fmt: skip
"""Heading of a column of names -> kind of what is named there."""
_NAMED: Final = frozenset({"name", "object", "object name", "entity", "element", "resource", "instance"})
"""A column of names that does not say of what kind they are: volumes, unless a column says it."""
_KIND_COLUMNS: Final = frozenset({"kind", "type", "object type", "element type", "resource type"})
_TIME_WORDS: Final = frozenset({
    "time", "timestamp", "datetime", "date", "clock", "sample", "start", "end", "begin", "utc", "gmt", "epoch", "unix",
    "collection", "period", "stamp", "interval", "polled", "poll", "local", "s", "ms", "at", "point",
    "generated",
})  # fmt: skip
_SURELY_TIME: Final = frozenset({"time", "timestamp", "datetime", "epoch", "date"})
_LENGTHS: Final = {
    ("interval", "s"): 1.0, ("interval",): 1.0, ("duration", "s"): 1.0, ("interval", "sec"): 1.0,
    ("interval", "seconds"): 1.0, ("interval", "secs"): 1.0, ("period", "s"): 1.0, ("interval", "ms"): 1e-3,
    ("duration", "ms"): 1e-3, ("interval", "min"): 60.0, ("interval", "minutes"): 60.0, ("duration", "seconds"): 1.0,
    ("duration", "ns"): 1e-9,
}  # fmt: skip
"""Words of a heading of the length of an interval -> seconds of its unit."""
_OF_TESTS: Final = frozenset({
    "outstanding", "iodepth", "numjobs", "jobs", "block", "pattern", "mode", "random", "workload",
})  # fmt: skip
"""Words of headings that say what a test was asked to do."""
ORDER: Final = tuple(dict.fromkeys(KINDS.values()))
"""What a row is of, the first one that it names."""


@dataclass(frozen=True)
class Heading:
    """What the columns of a table are, by index."""

    names: tuple[str, ...]
    times: tuple[int, ...]
    """One column, or a date and a time."""
    is_start: bool
    length: tuple[int, float] | None
    kind: int | None
    things: dict[str, int]
    """Kind -> column."""
    measured: dict[int, Meaning]

    @property
    def others(self) -> list[int]:
        """Columns that may hold counters of another kind."""
        known = {*self.times, *self.things.values(), *self.measured, self.kind, self.length and self.length[0]}
        return [index for index in range(len(self.names)) if index not in known]


def is_of_tests(names: Sequence[str]) -> bool:
    """Whether a heading is more likely one of a table of results, which may say when each test was made."""
    return any(_OF_TESTS & set(words_of(name)) for name in names)


def has_times(names: Sequence[str]) -> bool:
    """Whether a heading has a column of times."""
    return bool(time_columns(names))


def separator_of(line: str) -> str:
    """What stands between the cells of a line."""
    return max(",;\t", key=line.count)


def cells_of(line: str) -> list[str]:
    """The cells of one line; none of a line that is no table's."""
    try:
        return next(csv.reader([line], delimiter=separator_of(line)), [])
    except csv.Error:
        return []


def heading_of(cells: Sequence[str]) -> Heading | None:
    """None for a line that is no heading: one with a time and something that is measured."""
    names = tuple(cell.strip().lstrip("#").strip() for cell in cells)
    times = time_columns(names)
    measured = _measured(names)
    if not times or not measured or len(names) < 2:
        return None
    things: dict[str, int] = {}
    for index, name in enumerate(names):
        kind = KINDS.get(" ".join(words_of(name)))
        if kind is not None and index not in measured:
            things.setdefault(kind, index)
    named = [index for index, name in enumerate(names) if " ".join(words_of(name)) in _NAMED]
    if named:
        things.setdefault("vdisk", named[0])
    kinds = [index for index, name in enumerate(names) if " ".join(words_of(name)) in _KIND_COLUMNS]
    starts = bool({"start", "begin"} & set(words_of(names[times[0]]))) or "starttime" in names[times[0]].lower()
    return Heading(names, times, starts, length_column(names), kinds[0] if kinds and named else None, things, measured)


def length_column(names: Sequence[str]) -> tuple[int, float] | None:
    """The column of the lengths of intervals, and the seconds of its unit."""
    return next(
        ((index, _LENGTHS[words_of(name)]) for index, name in enumerate(names) if words_of(name) in _LENGTHS), None
    )


def time_columns(names: Sequence[str]) -> tuple[int, ...]:
    """The column of times, or those of dates and times; of a start and an end the end."""
    found = [index for index, name in enumerate(names) if _is_time(name)]
    if not found:
        return ()
    dates = [index for index in found if words_of(names[index]) == ("date",)]
    clocks = [index for index in found if words_of(names[index]) in (("time",), ("clock",), ("time", "of", "day"))]
    if dates and clocks:
        return dates[0], clocks[0]
    ends = [index for index in found if "end" in words_of(names[index])]
    return ((ends or found)[0],)


def _is_time(name: str) -> bool:
    words = set(words_of(name))
    return bool(words & _SURELY_TIME) and words <= _TIME_WORDS | {"of", "day"} and words_of(name) not in _LENGTHS


def _measured(names: Sequence[str]) -> dict[int, Meaning]:
    """Columns with a meaning; of several with the same the first: 'Read IOPS' beside 'Avg Read IOPS'."""
    found: dict[str, tuple[int, Meaning]] = {}
    for index, name in enumerate(names):
        meaning = meaning_of(name)
        if meaning is not None:
            found.setdefault(meaning.column, (index, meaning))
    return dict(found.values())
