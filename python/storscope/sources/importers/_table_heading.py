"""The heading of a table of counters over time: which columns are times, names, and what is measured.

One column of times (or one of dates and one of times); columns that name what the row is of (volume, LUN, datastore,
disk, pool, controller, host, VM, ...); and columns whose headings say what they count, with the unit of bandwidths and
latencies (`_headings.py`).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from storscope.sources.importers._headings import DISK_SIDE, HOST_SIDE, Meaning, meaning_of, rank_of, words_of
from storscope.sources.importers._zone_names import zone_word_of

_KINDS: Final = {
    "virtual disk": "vm_disk", "vmdk": "vm_disk",
    "vm": "vm", "virtual machine": "vm", "guest": "vm",
    "datastore": "datastore",
    "volume": "vdisk", "lun": "vdisk", "vdisk": "vdisk", "vol": "vdisk", "vv": "vdisk", "virtual volume": "vdisk",
    "device": "device", "block device": "device", "dev": "device",
    "partition": "partition", "filesystem": "filesystem", "file system": "filesystem", "mount": "filesystem",
    "mount point": "filesystem", "mountpoint": "filesystem",
    "disk": "disk", "drive": "disk", "physical disk": "disk", "pd": "disk", "spindle": "disk",
    "port": "port", "fc port": "port", "iscsi port": "port",
    "adapter": "adapter", "hba": "adapter",
    "controller": "controller", "node": "controller", "sp": "controller", "storage processor": "controller",
    "pool": "disk_group", "disk group": "disk_group", "raid group": "disk_group", "aggregate": "disk_group",
    "aggr": "disk_group",
    "storage pool": "disk_group",
    "host": "host", "hostname": "host", "server": "host", "esx": "host", "esxi host": "host",
    "array": "array", "system": "array", "storage system": "array", "storage array": "array", "appliance": "array",
    "cluster": "array",
}  # fmt: skip
_IDENTIFIERS: Final = ("id", "uuid", "number", "no")
KINDS: Final = _KINDS | {f"{said} {word}": kind for said, kind in _KINDS.items() for word in ("name", *_IDENTIFIERS)}
"""Heading of a column of names -> kind of what is named there: volume, volume name, VolumeId."""
PREFIX: Final = "svm"
_PREFIXES: Final = frozenset(
    f"{said}{word}" for said in ("svm", "vserver", "storage virtual machine", "tenant") for word in ("", " name")
)
"""What names within an array are unique in: a volume of it may need it to be told from others."""
_NAMED: Final = frozenset({"name", "object", "object name", "entity", "element", "resource", "instance"})
"""A column of names that does not say of what kind they are: volumes, unless a column says it."""
_KIND_COLUMNS: Final = frozenset({"kind", "type", "object type", "element type", "resource type"})
_TIME_WORDS: Final = frozenset({
    "time", "timestamp", "datetime", "date", "clock", "sample", "start", "end", "begin", "utc", "gmt", "epoch", "unix",
    "collection", "period", "stamp", "interval", "polled", "poll", "local", "s", "ms", "at", "point",
    "generated", "zeit", "zeitstempel", "zeitpunkt", "uhrzeit", "datum",
})  # fmt: skip
_SURELY_TIME: Final = frozenset({
    "time", "timestamp", "datetime", "epoch", "date", "zeit", "zeitstempel", "zeitpunkt", "uhrzeit", "datum",
})  # fmt: skip
"""Also the German words, as spreadsheets and PRTG write them."""
_CLOCKS: Final = (("time",), ("clock",), ("time", "of", "day"), ("zeit",), ("uhrzeit",))
"""Headings of the times beside a column of dates."""
_LENGTHS: Final = {
    ("interval", "s"): 1.0, ("duration", "s"): 1.0, ("interval", "sec"): 1.0,
    ("interval", "seconds"): 1.0, ("interval", "secs"): 1.0, ("period", "s"): 1.0, ("interval", "ms"): 1e-3,
    ("duration", "ms"): 1e-3, ("interval", "min"): 60.0, ("interval", "minutes"): 60.0, ("duration", "seconds"): 1.0,
    ("duration", "ns"): 1e-9,
}  # fmt: skip
"""Words of a heading of the length of an interval -> seconds of its unit."""
_LENGTH_WITHOUT_UNIT: Final = ("interval",)
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
    passed_over: tuple[tuple[int, int], ...] = ()
    """Columns that mean what another one means, and that one."""
    disk_side: tuple[int, ...] = ()
    """Columns of the disks' side beside those of the hosts'."""
    length_lacks_unit: bool = False

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
    measured, passed_over, disk_side = _measured(names)
    if not times or not measured or len(names) < 2:
        return None
    things = _things(names, measured)
    named = [index for index, name in enumerate(names) if " ".join(words_of(name)) in _NAMED]
    if named:
        things.setdefault("vdisk", named[0])
    kinds = [index for index, name in enumerate(names) if " ".join(words_of(name)) in _KIND_COLUMNS]
    starts = bool({"start", "begin"} & set(words_of(names[times[0]]))) or "starttime" in names[times[0]].lower()
    length = length_column(names)
    return Heading(
        names, times, starts, length, kinds[0] if kinds and named else None, things, measured, passed_over, disk_side,
        lacks_unit_of_length(names, length),
    )  # fmt: skip


def _things(names: Sequence[str], measured: Mapping[int, Meaning]) -> dict[str, int]:
    """The column of each kind; a name is preferred to a number."""
    found: dict[str, int] = {}
    for with_identifiers in (False, True):
        for index, name in enumerate(names):
            words = words_of(name)
            kind = PREFIX if " ".join(words) in _PREFIXES else KINDS.get(" ".join(words))
            if kind is not None and index not in measured and (words[-1] in _IDENTIFIERS) == with_identifiers:
                found.setdefault(kind, index)
    return found


def length_column(names: Sequence[str]) -> tuple[int, float] | None:
    """The column of the lengths of intervals, and the seconds of its unit."""
    known = [(index, words_of(name)) for index, name in enumerate(names)]
    plain = next(((index, 1.0) for index, words in known if words == _LENGTH_WITHOUT_UNIT), None)
    return next(((index, _LENGTHS[words]) for index, words in known if words in _LENGTHS), plain)


def lacks_unit_of_length(names: Sequence[str], length: tuple[int, float] | None) -> bool:
    """Whether the heading of the column of lengths says no unit: seconds are then only likely."""
    return length is not None and words_of(names[length[0]]) == _LENGTH_WITHOUT_UNIT


def time_columns(names: Sequence[str]) -> tuple[int, ...]:
    """The column of times, or those of dates and times; of a start and an end the end."""
    found = [index for index, name in enumerate(names) if _is_time(name)]
    if not found:
        return ()
    dates = [index for index in found if words_of(names[index]) in (("date",), ("datum",))]
    clocks = [index for index in found if words_of(names[index]) in _CLOCKS]
    if dates and clocks:
        return dates[0], clocks[0]
    ends = [index for index in found if "end" in words_of(names[index])]
    return ((ends or found)[0],)


def zone_of(name: str) -> str | None:
    """The zone that the heading of a column of times says: 'Time (UTC)', 'timestamp (EST)', 'Date GMT+1'."""
    return zone_word_of(name)[1]


def _is_time(name: str) -> bool:
    known = words_of(zone_word_of(name)[0])
    words = set(known)
    return bool(words & _SURELY_TIME) and words <= _TIME_WORDS | {"of", "day"} and known not in _LENGTHS


def _measured(names: Sequence[str]) -> tuple[dict[int, Meaning], tuple[tuple[int, int], ...], tuple[int, ...]]:
    """Columns with a meaning; those that mean what a plainer one means; those of the disks' side beside the hosts'."""
    meanings = {index: meaning for index, name in enumerate(names) if (meaning := meaning_of(name)) is not None}
    words = {index: frozenset(words_of(names[index])) for index in meanings}
    has_host_side = any(some & HOST_SIDE for some in words.values())
    disk_side = tuple(index for index, some in words.items() if has_host_side and some & DISK_SIDE)
    found: dict[str, int] = {}
    for index in sorted(set(meanings) - set(disk_side), key=lambda index: (rank_of(names[index]), index)):
        found.setdefault(meanings[index].column, index)
    measured = {index: meanings[index] for index in sorted(found.values())}
    passed_over = tuple(
        (index, found[meaning.column])
        for index, meaning in meanings.items()
        if index not in measured and index not in disk_side
    )
    return measured, passed_over, disk_side
