"""Disks of a host that are members of one array, told by their loads.

A stripe gives its members the same load, and a mirror the same writes: disks whose rates and sizes are alike interval
by interval have it from one source. Where a device above reads what they read together (md, LVM, a RAID of the host)
they are its members. Without such a device two disks may be alike by chance, and three are needed.

Names are those of Linux (Documentation/admin-guide/devices.txt); paths that links tie to a multipath device are left
out, as path-slow looks at them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.common_intervals import on_common_intervals
from storscope.diagnose.tier_limits import ENTITY_OPS_MIN
from storscope.domain.arrays import FloatArray
from storscope.domain.entity import EntityRef
from storscope.store.series import Series

_DISK: Final = re.compile(r"([shv]d[a-z]+|xvd[a-z]+|nvme\d+(c\d+)?n\d+|dasd[a-z]+|pmem\d+)")
ALIKE_FACTOR: Final = 1.5
"""Load over that of another member, either way, up to which the two are alike in an interval (ours)."""
_SAME: Final = 0.1
"""Part by which sums of loads may differ that are the same (ours)."""
_MOST_INTERVALS: Final = 0.9
"""Part of the intervals in which they must be (ours)."""
_WITHOUT_WHOLE_MIN: Final = 3
"""Disks that must be alike where no device above shows that they are of one array (ours)."""


@dataclass(frozen=True)
class Members:
    """Disks with one source of load, on the same intervals."""

    disks: tuple[Series, ...]
    whole: EntityRef | None
    """The device whose reads are theirs together; None where none is seen."""


def members_of(case: Case) -> list[Members]:
    """Every set of disks with like load, in order of name; none where they are few, or did nothing."""
    found = []
    for devices in _by_system(case):
        left = [one for one in devices if _DISK.fullmatch(one.entity.name) and _works(one) and not _is_path(case, one)]
        while left:
            group, whole = _group(left, devices)
            left = [one for one in left if one not in group]
            if len(group) >= _WITHOUT_WHOLE_MIN or whole is not None:
                found.append(Members(tuple(group), whole))
    return found


def _by_system(case: Case) -> Iterator[list[Series]]:
    """The devices of each system that have the same intervals, with NaN where a row is absent."""
    own: dict[str, list[Series]] = defaultdict(list)
    for entity, series in sorted(case.series("device", needs=("ops_per_s", "latency_ns_mean")).items()):
        own[entity.system].append(series)
    for devices in own.values():
        found: dict[bytes, list[Series]] = defaultdict(list)
        for series in on_common_intervals(devices):
            found[series.time_ns.tobytes()].append(series)
        yield from found.values()


def _works(series: Series) -> bool:
    return bool(np.nan_to_num(series["ops_per_s"]).mean() >= ENTITY_OPS_MIN)


def _is_path(case: Case, series: Series) -> bool:
    return bool(case.linked_from(series.entity, "same_as"))


def _group(left: Sequence[Series], devices: Sequence[Series]) -> tuple[list[Series], EntityRef | None]:
    """Those alike to the first, and the device that they are members of: of a mirror the writes alone may be alike."""
    first = left[0]
    for parts in (("",), ("", "write_")):
        group = [one for one in left if one is first or any(_are_alike(first, one, part) for part in parts)]
        whole = _whole(group, [one for one in devices if one not in group]) if len(group) > 1 else None
        if whole is not None:
            return group, whole
    return [one for one in left if one is first or _are_alike(first, one, "")], None


def _are_alike(one: Series, other: Series, begin: str) -> bool:
    """Whether two loads are alike, by the columns that begin so; False where these tell no operations."""
    return one.has(f"{begin}ops_per_s") and all(
        _go_along(one[f"{begin}{name}"], other[f"{begin}{name}"]) for name in ("ops_per_s", "bytes_per_s")
    )


def _go_along(one: FloatArray, other: FloatArray) -> bool:
    """Whether two rates are within a factor in nearly all intervals, and are rates to speak of; True of bytes that
    neither tells."""
    if not np.isfinite(one).any() and not np.isfinite(other).any():
        return True
    one, other = np.nan_to_num(one), np.nan_to_num(other)
    if min(float(one.mean()), float(other.mean())) < ENTITY_OPS_MIN:
        return False
    alike = (one <= ALIKE_FACTOR * other) & (other <= ALIKE_FACTOR * one)
    return bool(alike.mean() >= _MOST_INTERVALS)


def _whole(group: Sequence[Series], others: Sequence[Series]) -> EntityRef | None:
    """The device that reads what the group reads together; of several one of md."""
    together = np.sum([_reads(one) for one in group], axis=0)
    found = [one.entity for one in others if _is_sum(_reads(one), together)]
    return min(found, key=lambda entity: (not entity.name.startswith("md"), entity), default=None)


def _reads(series: Series) -> FloatArray:
    column = next((name for name in ("read_bytes_per_s", "read_ops_per_s") if series.has(name)), "bytes_per_s")
    result: FloatArray = np.nan_to_num(series[column])
    return result


def _is_sum(load: FloatArray, together: FloatArray) -> bool:
    working = np.maximum(load, together) > 0
    same = np.abs(load - together)[working] <= _SAME * load[working]
    return bool(working.mean() >= 1 - _MOST_INTERVALS and same.mean() >= _MOST_INTERVALS)
