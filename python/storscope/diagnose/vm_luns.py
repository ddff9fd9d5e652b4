"""Which LUN a VM is on, told by loads that add up, where no link says it.

esxtop counts VMs and LUNs of a host side by side and does not say which VM is on which. Where the loads of some VMs add
up to that of one LUN in nearly all intervals, and change with it, they are on it. What other hosts send to the LUN does
not disturb the sum, as a host counts its own commands. Of VMs with disks on several LUNs, and of loads too steady to be
told apart, no sum is found, and nothing is said.

Which VMs make up a LUN is found by least squares (Gauss 1809): of the VMs on it the factor is 1, of the others 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from storscope.diagnose.case import Case
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.store.series import Series

VM_KINDS: Final = ("vm", "vm_disk")
"""What runs on a hypervisor's storage."""
_LUN_KINDS: Final = ("device", "datastore")
_COLUMNS: Final = ("ops_per_s", "bytes_per_s")
"""Both must add up: a hypervisor splits few commands, and no byte is lost."""
_SAME: Final = 0.1
"""Part by which sum and load may differ: counters are read one by one (ours, as for block layers)."""
_MOST_INTERVALS: Final = 0.9
"""Part of the intervals in which they must be the same (ours)."""
_CHANGES_TOGETHER: Final = 0.9
"""Correlation of the changes from one interval to the next of sum and load (ours): steady loads add up by chance."""
_PART_MIN: Final = 0.5
"""Factor of least squares from which a VM is on the LUN (ours): the middle between 0 and 1."""
_INTERVALS_MIN: Final = 30
"""Intervals below which so many VMs are not told apart (ours); it takes three times their number as well."""


def luns_of_vms(case: Case, system: str) -> Mapping[EntityRef, frozenset[EntityRef]]:
    """VM, or disk of a VM -> the LUN that it is on, by sums of loads; empty where links say it, or no sum is found."""
    key = ("luns of vms", system)
    if key not in case.memo:
        found: dict[EntityRef, frozenset[EntityRef]] = {}
        known = {entity: one for entity, one in case.series(needs=_COLUMNS).items() if entity.system == system}
        luns = [one for entity, one in sorted(known.items()) if entity.kind in _LUN_KINDS]
        for kind in VM_KINDS:
            vms = [one for entity, one in sorted(known.items()) if entity.kind == kind and not _is_placed(case, entity)]
            found |= _told(vms, luns)
        case.memo[key] = found
    result: Mapping[EntityRef, frozenset[EntityRef]] = case.memo[key]
    return result


def _is_placed(case: Case, entity: EntityRef) -> bool:
    return any(below.kind in _LUN_KINDS for below in case.components(entity))


def _told(vms: Sequence[Series], luns: Sequence[Series]) -> dict[EntityRef, frozenset[EntityRef]]:
    """VMs that are on one LUN; who would be on two by sums is on neither."""
    found: dict[EntityRef, frozenset[EntityRef]] = {}
    twice: set[EntityRef] = set()
    for lun in luns:
        for vm in _parts(lun, [one for one in vms if np.array_equal(one.time_ns, lun.time_ns)]):
            twice |= {vm} & found.keys()
            found[vm] = frozenset({lun.entity})
    return {vm: below for vm, below in found.items() if vm not in twice}


def _parts(lun: Series, vms: Sequence[Series]) -> list[EntityRef]:
    if len(vms) < 2 or len(lun) < max(_INTERVALS_MIN, 3 * len(vms)):
        return []
    chosen = _chosen(lun, vms)
    on_it = [one for one, is_on in zip(vms, chosen, strict=True) if is_on]
    if not on_it or not all(_adds_up(lun, on_it, column) for column in _COLUMNS):
        return []
    return [one.entity for one in on_it]


def _chosen(lun: Series, vms: Sequence[Series]) -> BoolArray:
    """By operations: of bytes one that moves large blocks would hide the others."""
    loads = np.stack([np.nan_to_num(one["ops_per_s"]) for one in vms], axis=1)
    factors = np.linalg.lstsq(loads, np.nan_to_num(lun["ops_per_s"]), rcond=None)[0]
    result: BoolArray = (factors > _PART_MIN) & (loads.sum(axis=0) > 0)
    return result


def _adds_up(lun: Series, vms: Sequence[Series], column: str) -> bool:
    load = np.nan_to_num(lun[column])
    together: FloatArray = np.sum([np.nan_to_num(one[column]) for one in vms], axis=0)
    working = np.maximum(load, together) > 0
    same = np.abs(together - load)[working] <= _SAME * load[working]
    if not working.any() or same.mean() < _MOST_INTERVALS:
        return False
    one, other = np.diff(load), np.diff(together)
    size = float(np.sqrt((one @ one) * (other @ other)))
    return size > 0 and float(one @ other) >= _CHANGES_TOGETHER * size
