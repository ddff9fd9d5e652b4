"""Layers of Linux block devices that no link ties together, told apart by the kernel's names.

iostat lists a disk, the RAID on it and the volumes on that side by side and does not say what rests on what. The same
load then stands there several times, and a disk is no neighbour of its own volumes. So each layer has its own peers:
names of the device mapper, of md, of disks. Where links say what rests on what, they count and nothing is done here.

What rests on what is only said where loads tell it: the loads of some of a higher layer add up to that of one device
below, interval by interval, and of no other. Stripes over several disks, and volumes that leave a part of a disk to
others, stay untold. What rests on what within the mapper, and which disks are paths of one map, stacked_devices says:
who carries volumes is a layer apart from them, and a map stands among the disks for its paths.

Names: Documentation/admin-guide/devices.txt of Linux; iostat -N prints the mapper's own names (vg-root), which only say
what they are beside names of disks.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.common_intervals import loads, on_common_intervals
from storscope.diagnose.stacked_devices import Stack, stack_of
from storscope.domain.arrays import FloatArray
from storscope.domain.entity import EntityRef
from storscope.store.series import Series

_DISK: Final = re.compile(
    r"([shvx]v?d[a-z]+|nvme\d+(c\d+)?n\d+|mmcblk\d+(boot\d)?|dasd[a-z]+|pmem\d+\w*|cciss!c\d+d\d+|ubiblock\d+\w*)"
)
_NO_DISK_BELOW: Final = re.compile(r"(ram|zram|sr|fd|nbd|rbd|scm|st)\w*")
"""Devices that rest on no disk of this machine, and say nothing of others' names."""
_MD: Final = re.compile(r"md(\d+|_\w+)(p\d+)?")

_SAME: Final = 0.1
"""Part by which two loads that are the same may differ: operations are merged and counters read one by one (ours)."""
_MOST_INTERVALS: Final = 0.9
"""Part of the intervals in which they must be the same (ours)."""
_INTERVALS_MIN: Final = 10
_LEFT_UNEXPLAINED: Final = 0.25
"""Part of what a large volume leaves of a disk's load that may be left with small ones: chance leaves more (ours)."""
_CHANGES_WITH: Final = 0.5
"""Correlation of the changes of a small load and of what is left for it (ours)."""


def layers(case: Case, series: Sequence[Series]) -> list[list[Series]]:
    """Devices of one system that no link ties together, by layer; one layer where names tell no other.

    The last has all of the load, and each load once: an upper layer where it carries what the lowest has, else the
    lowest.
    """
    stack = _stack(case, series[0].entity.system)
    known = {one.entity for one in series}
    by_rank: dict[tuple[int, int], list[Series]] = defaultdict(list)
    for one in series:
        if one.entity not in stack.twins and stack.map_of.get(one.entity) not in known:
            by_rank[_rank(one), _depth(stack, one.entity)].append(one)
    maps = [one for one in series if one.entity in stack.map_of.values()]
    if maps:
        disks = [*by_rank.pop((_DISKS, 0), []), *maps]
        by_rank = defaultdict(list, {rank: ones for rank, ones in by_rank.items() if not _are_in(ones, maps)})
        by_rank[_DISKS, 0] = sorted(disks, key=lambda one: one.entity)
    found = [by_rank[rank] for rank in sorted(by_rank)]
    complete = next((layer for layer in found[:-1] if _carries_all(layer, found[-1])), None)
    return sorted(found, key=lambda layer: layer is complete)


def _depth(stack: Stack, entity: EntityRef, seen: frozenset[EntityRef] = frozenset()) -> int:
    """0 for what carries nothing of the mapper, 1 for what carries that, and so on."""
    above = stack.volumes.get(entity, frozenset()) - seen
    return 1 + max(_depth(stack, one, seen | {entity}) for one in above) if above else 0


def _are_in(ones: Sequence[Series], others: Sequence[Series]) -> bool:
    return {one.entity for one in ones} <= {one.entity for one in others}


def are_linked(case: Case, series: Sequence[Series]) -> bool:
    """Whether a link says of any of these that it rests on another one."""
    entities = {one.entity for one in series}
    return any(case.components(entity) & entities for entity in entities)


def carriers(case: Case, system: str) -> Mapping[EntityRef, frozenset[EntityRef]]:
    """Device -> devices of a lower layer that it rests on, where no link says it and loads do."""
    key = ("carriers", system)
    if key not in case.memo:
        case.memo[key] = _told_by_load(case, _devices(case, system))
    found: Mapping[EntityRef, frozenset[EntityRef]] = case.memo[key]
    return found


def _stack(case: Case, system: str) -> Stack:
    key = ("stack", system)
    if key not in case.memo:
        own = _devices(case, system)
        mapped, disks = ([one for one in own if _rank(one) == rank] for rank in (_MAPPED, _DISKS))
        case.memo[key] = Stack() if are_linked(case, own) else stack_of(case, mapped, disks, _are_alike)
    found: Stack = case.memo[key]
    return found


def _devices(case: Case, system: str) -> Sequence[Series]:
    """The devices of a system on common intervals, in order of name."""
    key = ("devices on common intervals", system)
    if key not in case.memo:
        known = case.series("device", needs=("ops_per_s",))
        case.memo[key] = on_common_intervals([known[entity] for entity in sorted(known) if entity.system == system])
    found: Sequence[Series] = case.memo[key]
    return found


_MAPPED, _RAID, _DISKS = range(3)


def _rank(series: Series) -> int:
    """The layer by name: what is neither of md nor a disk is a name of the device mapper, or built like one."""
    name = series.entity.name
    if _MD.fullmatch(name):
        return _RAID
    return _DISKS if _DISK.fullmatch(name) or _NO_DISK_BELOW.fullmatch(name) else _MAPPED


def _carries_all(upper: Sequence[Series], lowest: Sequence[Series]) -> bool:
    column = _measure([*upper, *lowest])
    above, below = (sum(float(np.nansum(one[column])) for one in layer) for layer in (upper, lowest))
    return abs(above - below) <= _SAME * below


def _measure(series: Sequence[Series]) -> str:
    """Bytes where all have them: a layer merges operations, and no byte of them."""
    return "bytes_per_s" if all(one.has("bytes_per_s") for one in series) else "ops_per_s"


def _told_by_load(case: Case, series: Sequence[Series]) -> dict[EntityRef, frozenset[EntityRef]]:
    found: dict[EntityRef, set[EntityRef]] = defaultdict(set)
    if are_linked(case, series):
        return {}
    for rank in (_MAPPED, _RAID):
        upper = [one for one in series if _rank(one) == rank]
        for lower_rank in range(rank + 1, _DISKS + 1):
            lower = [one for one in series if _rank(one) == lower_rank]
            for above, below in _sole(upper, lower).items():
                found[above].add(below)
    for below, volumes in _stack(case, series[0].entity.system).volumes.items() if series else ():
        for above in volumes:
            found[above].add(below)
    return {entity: frozenset(below) for entity, below in found.items()}


def _sole(upper: Sequence[Series], lower: Sequence[Series]) -> dict[EntityRef, EntityRef]:
    """Those of the upper layer that rest on one device of the lower layer, by their loads, and on no other.

    A disk that is nearly all one volume's is looked at first: small ones share it where they explain what it leaves. Of
    a disk with several, all that could be on it must add up to its load.
    """
    whole = _only([(one, carrier) for carrier in lower for one in _with_small(carrier, upper)])
    rest = [one for one in upper if one.entity not in whole]
    parts = [(carrier, [one for one in rest if _fits(carrier, one)]) for carrier in lower]
    return whole | _only([(one, carrier) for carrier, ones in parts if _are_alike(carrier, ones) for one in ones])


def _with_small(carrier: Series, upper: Sequence[Series]) -> list[Series]:
    """The volumes that have nearly all of a carrier's load, each with the small ones that explain what it leaves."""
    found: dict[EntityRef, Series] = {}
    for large in upper:
        if _are_alike(carrier, [large]):
            found |= {one.entity: one for one in [large, *_small_beside(carrier, large, upper)]}
    return list(found.values())


def _small_beside(carrier: Series, large: Series, upper: Sequence[Series]) -> list[Series]:
    """The small volumes that leave next to nothing of what a large one leaves of a carrier's load; else none."""
    others = [one for one in upper if one is not large and _fits(carrier, one)]
    column = _measure([carrier, large, *others])
    compared = loads([carrier, large, *others], column)
    if compared is None or not others:
        return []
    left = compared[0] - compared[1]
    unexplained = float(np.abs(left).sum())
    chosen: list[int] = []
    while True:
        after, index = min(
            ((float(np.abs(left - compared[at]).sum()), at) for at in range(2, len(compared)) if at not in chosen),
            default=(np.inf, 0),
        )
        if after >= float(np.abs(left).sum()):
            break
        chosen, left = [*chosen, index], left - compared[index]
    for at in [at for at in chosen if not _changes_with(left + compared[at], compared[at])]:
        chosen.remove(at)
        left = left + compared[at]
    fits = float(np.abs(left).sum()) <= _LEFT_UNEXPLAINED * unexplained
    return [others[at - 2] for at in chosen] if fits else []


def _changes_with(left: FloatArray, small: FloatArray) -> bool:
    """Whether what is left for a small load changes as it does: a steady one, or any tiny one, fits in by chance."""
    one, other = np.diff(left), np.diff(small)
    size = float(np.sqrt((one @ one) * (other @ other)))
    return size > 0 and float(one @ other) >= _CHANGES_WITH * size


def _only(pairs: Sequence[tuple[Series, Series]]) -> dict[EntityRef, EntityRef]:
    """Of pairs (upper, carrier) those whose upper has no other carrier."""
    count = Counter(one.entity for one, _ in pairs)
    return {one.entity: carrier.entity for one, carrier in pairs if count[one.entity] == 1}


def _fits(carrier: Series, one: Series) -> bool:
    """Whether the load of one hardly ever exceeds that of the carrier."""
    compared = loads([carrier, one], _measure([carrier, one]))
    if compared is None or not compared[1].any():
        return False
    return bool((compared[1] <= (1 + _SAME) * compared[0]).mean() >= _MOST_INTERVALS)


def _are_alike(carrier: Series, ones: Sequence[Series]) -> bool:
    """Whether the loads of some add up to that of the carrier, interval by interval."""
    if not ones or not all(_fits(carrier, one) for one in ones):
        return False
    compared = loads([carrier, *ones], _measure([carrier, *ones]))
    if compared is None:
        return False
    load, together = compared[0], compared[1:].sum(axis=0)
    working = np.maximum(load, together) > 0
    alike = np.abs(together - load)[working] <= _SAME * load[working]
    return bool(working.sum() >= _INTERVALS_MIN and alike.mean() >= _MOST_INTERVALS)
