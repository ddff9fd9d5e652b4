"""Device-mapper devices that rest on one another, and paths of one multipath device, told by loads that add up.

LVM on LUKS, LVM on a multipath device, and a thin pool show the same load again at each level: dm-0 carries what its
volumes carry together. Paths show it once more: they carry together what their map carries. Names tell nothing of it,
loads do: those of the parts add up to the whole in nearly all intervals, each direction apart where the source parts
them, and the changes go together (steady loads add up by chance). Where that is not shown, nothing is said.

Links of multipath -ll say which paths are of one map; then no sum is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.common_intervals import loads
from storscope.domain.entity import EntityRef
from storscope.store.series import Series

_CHANGES_TOGETHER: Final = 0.9
"""Correlation of the changes from one interval to the next of parts and whole (ours)."""
_LEFT_PART: Final = 1 / 3
"""Deviation of the sum of paths from their map's load over the paths' own: chance would make it 1 or more (ours)."""
_SAME_TOTAL: Final = 0.002
"""Part by which the totals of two may differ that carry one load: less than any other volume is worth (ours)."""
_PART_MIN: Final = 0.02
"""Part of a map's load below which a disk is not told to be a path by sums: any small load would fit in (ours)."""
_INTERVALS_LOOKED_AT: Final = 1000
"""Intervals among which parts are searched; whether they add up is then tested in all."""

Alike = Callable[[Series, Sequence[Series]], bool]
"""Whether the loads of some add up to that of the first, interval by interval."""


@dataclass(frozen=True)
class Stack:
    """What the loads, or links, of a system's devices say of their order."""

    volumes: Mapping[EntityRef, frozenset[EntityRef]] = field(default_factory=dict)
    """Device of the mapper -> what rests on it, of the mapper as well."""
    twins: frozenset[EntityRef] = frozenset()
    """Devices of the mapper that carry what another one carries, which stands for them."""
    map_of: Mapping[EntityRef, EntityRef] = field(default_factory=dict)
    """Path, or another part, of a device of the mapper -> this device."""


def stack_of(case: Case, mapped: Sequence[Series], disks: Sequence[Series], alike: Alike) -> Stack:
    """The order of devices of the mapper above disks; an empty one where there is no disk to tell the mapper by."""
    if not mapped or not disks:
        return Stack()
    map_of = _linked_paths(case, mapped, disks)
    for whole in mapped:
        if whole.entity in map_of.values():
            continue
        parts = [one for one in _parts(whole, disks, alike, _PART_MIN) if one.entity not in map_of]
        if _are_paths(whole, parts, alike) and not any(alike(disk, [whole]) for disk in disks):
            map_of |= {one.entity: whole.entity for one in parts}
    volumes: dict[EntityRef, frozenset[EntityRef]] = {}
    twins: set[EntityRef] = set()
    for same in _classes(mapped, alike):
        others = [one for one in mapped if one not in same]
        parts = _parts(same[0], others, alike, 0.0)
        if _are_parts(same[0], parts, alike):
            volumes |= {one.entity: frozenset(part.entity for part in parts) for one in same}
            twins |= {one.entity for one in same[1:]}
        elif len(same) > 1 and _is_carried_once(same, disks, map_of, alike):
            # The map stands below what is on it; of the others the last name is as good as any.
            top = max(same, key=lambda one: (one.entity not in map_of.values(), one.entity))
            volumes |= {one.entity: frozenset({top.entity}) for one in same if one is not top}
    return Stack(volumes, frozenset(twins), map_of)


def _linked_paths(case: Case, mapped: Sequence[Series], disks: Sequence[Series]) -> dict[EntityRef, EntityRef]:
    """Disk -> the map that links of multipath -ll say it is a path of, by its name of the kernel, alias or WWID."""
    known = {one.entity for one in mapped}
    found: dict[EntityRef, EntityRef] = {}
    for disk in disks:
        for path in case.linked_from(disk.entity, "same_as"):
            for target in case.linked(path, "leads_to"):
                alias = EntityRef(target.system, "device", case.entities.get(target) or target.name)
                names = [target, alias, *case.linked(target, "same_as")]
                found.update((disk.entity, name) for name in names if name in known)
    return found


def _classes(mapped: Sequence[Series], alike: Alike) -> list[list[Series]]:
    """Devices that carry one load, put together; most are alone."""
    found: list[list[Series]] = []
    for one in mapped:
        for same in found:
            if _have_one_total(same[0], one) and alike(same[0], [one]) and _go_together(same[0], [one]):
                same.append(one)
                break
        else:
            found.append([one])
    return found


def _have_one_total(one: Series, other: Series) -> bool:
    column = _columns([one, other])[0]
    first, second = float(np.nansum(one[column])), float(np.nansum(other[column]))
    return abs(first - second) <= _SAME_TOTAL * first


def _is_carried_once(
    same: Sequence[Series], disks: Sequence[Series], map_of: Mapping[EntityRef, EntityRef], alike: Alike
) -> bool:
    """Whether only one disk, or the paths of one map, carry a load that several of the mapper show."""
    if any(one.entity in map_of.values() for one in same):
        return True
    return sum(alike(disk, [same[0]]) for disk in disks) == 1


def _parts(whole: Series, others: Sequence[Series], alike: Alike, part_min: float) -> list[Series]:
    """Those of the others whose loads make up the whole's by least squares, the shortest solution of several."""
    others = [one for one in others if one.entity != whole.entity]
    column = _columns([whole, *others])[0]
    candidates = [one for one in others if _can_be_part(whole, one, column, part_min)]
    if len(candidates) < 2:
        return []
    compared = loads([whole, *candidates], column)
    if compared is None or compared[1:].sum() < compared[0].sum() * 0.9:
        return []
    if alike(whole, candidates):
        return candidates
    step = max(1, compared.shape[1] // _INTERVALS_LOOKED_AT)
    weights = np.linalg.lstsq(compared[1:, ::step].T, compared[0, ::step], rcond=1e-6)[0]
    return [one for one, weight in zip(candidates, weights, strict=True) if weight > 0.5]


def _can_be_part(whole: Series, one: Series, column: str, part_min: float) -> bool:
    compared = loads([whole, one], column)
    if compared is None or not compared[1].any():
        return False
    load, part = compared.sum(axis=1)
    return bool(part_min * load <= part < load)


def _are_parts(whole: Series, parts: Sequence[Series], alike: Alike) -> bool:
    return len(parts) > 1 and alike(whole, parts) and _go_together(whole, parts)


def _are_paths(whole: Series, parts: Sequence[Series], alike: Alike) -> bool:
    """Whether disks are parts of a map, or trade its load with one another while their sum stays with it."""
    if len(parts) < 2 or not alike(whole, parts):
        return False
    compared = loads([whole, *parts], _columns([whole, *parts])[0])
    if compared is None:
        return False
    left = float(np.std(compared[1:].sum(axis=0) - compared[0]))
    return _go_together(whole, parts) or left <= _LEFT_PART * float(np.sqrt(compared[1:].var(axis=1).sum()))


def _go_together(whole: Series, parts: Sequence[Series]) -> bool:
    """Whether the whole's load changes as the parts' does, that of reads and that of writes for themselves."""
    return all(_changes_agree(whole, parts, column) for column in _columns([whole, *parts]))


def _changes_agree(whole: Series, parts: Sequence[Series], column: str) -> bool:
    compared = loads([whole, *parts], column)
    if compared is None:
        return False
    load, together = compared[0], compared[1:].sum(axis=0)
    if not load.any() and not together.any():
        return True
    one, other = np.diff(load), np.diff(together)
    size = float(np.sqrt((one @ one) * (other @ other)))
    return size > 0 and float(one @ other) >= _CHANGES_TOGETHER * size


def _columns(series: Sequence[Series]) -> list[str]:
    """Bytes where all have them, for a layer merges operations; then what reads and writes moved, if that is told."""
    if not all(one.has("bytes_per_s") for one in series):
        return ["ops_per_s"]
    apart = [name for name in _APART if all(one.has(name) for one in series)]
    return ["bytes_per_s", *apart]


_APART: Final = ("read_bytes_per_s", "write_bytes_per_s")
