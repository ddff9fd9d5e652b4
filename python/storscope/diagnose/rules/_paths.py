"""Paths as the rules see them: which lead to a device, which should carry, and what each carried."""

from __future__ import annotations

import re
from collections import defaultdict

from storscope.diagnose.case import Case
from storscope.domain.entity import EntityRef
from storscope.store.series import Series

PATH_LIST = "the paths of each device with their states (esxcli storage nmp path list, multipath -ll)"
_LUN = re.compile(r":L?\d+$")
_DEAD = {"dead", "failed", "faulty", "lost"}
_SPREADING = ("VMW_PSP_RR", "round-robin", "service-time", "queue-length")


def paths_by_device(case: Case) -> dict[EntityRef, list[EntityRef]]:
    """Device -> the paths that lead to it, in order of name."""
    found: dict[EntityRef, set[EntityRef]] = defaultdict(set)
    for link in case.links:
        if link.relation == "leads_to" and link.source.kind == "path" and link.target.kind == "device":
            found[link.target].add(link.source)
    return {device: sorted(paths) for device, paths in sorted(found.items())}


def state_of(case: Case, path: EntityRef) -> str | None:
    """'active', 'standby', 'dead', 'off', ... in lower case; None when nothing says so."""
    fact = case.fact(path, "state")
    return fact.value.strip().lower() if fact is not None else None


def is_dead(case: Case, path: EntityRef) -> bool:
    """True when the evidence calls the path dead."""
    return state_of(case, path) in _DEAD


def should_carry(case: Case, path: EntityRef) -> bool:
    """False for a path that is standby, off, dead or not optimised: it rests by design."""
    state, group = state_of(case, path), case.fact(path, "group_state")
    word = group.value.strip().lower() if group is not None else "active"
    return state in {None, "active", "on", "ready"} and "unopt" not in word and word in {"active", "active optimized"}


def is_unoptimised(case: Case, path: EntityRef) -> bool:
    """True for a path to a controller that does not own the volume (ALUA: active/non-optimised)."""
    group = case.fact(path, "group_state")
    return group is not None and "unopt" in group.value.lower()


def spreads(case: Case, device: EntityRef) -> bool:
    """True when the device's path policy sends I/O down every optimised path."""
    policy = case.fact(device, "path_policy")
    return policy is not None and policy.value.strip().startswith(_SPREADING)


def series_of(case: Case, path: EntityRef) -> Series | None:
    """What a path carried: its own counters, or those of the block device that is the same thing."""
    if path in case.all_series:
        return case.all_series[path]
    twins = [twin for twin in case.linked(path, "same_as") if twin in case.all_series]
    return case.all_series[twins[0]] if twins else None


def adapter_of(case: Case, path: EntityRef) -> str:
    """The adapter a path goes through: by link, else the first part of its name."""
    linked = [adapter.name for adapter in case.linked(path, "uses") if adapter.kind == "adapter"]
    if linked:
        return linked[0]
    return path.name.split(":", 1)[0] if path.name.startswith("vmhba") else "an unknown adapter"


def way_of(path_name: str) -> str:
    """Adapter, channel and target of a path's name, the LUN left out: what many devices' paths have in common."""
    return _LUN.sub("", path_name) if path_name.count(":") >= 2 else path_name
