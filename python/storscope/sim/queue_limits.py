"""Queue limits of hosts and ports: which of them bind, and what they are called.

An I/O passes them from its LUN's to that of the ports (limits.rs) and keeps the places that it has. So of several on
one way the last one that is always full binds, however few wait there: those before it are full because of it, and with
more places would only let more through to wait there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from storscope.domain.units import format_ratio
from storscope.sim.volume_time import VolumeTime

PART_OF_LIMIT = {"lun": "lun_queue", "adapter": "adapter_queue", "host": "host_queue", "port": "port_queue"}
"""The part of an I/O's time that it waits at a limit of a kind, in the order in which limits are passed."""
_GATES = tuple(PART_OF_LIMIT)
_OWNER_WORDS = {"lun": "LUN {}", "adapter": "the adapters of host {}", "host": "host {}",
                "port": "the ports of controller {}"}  # fmt: skip
_BINDS = 0.3
"""I/Os that spend so much of their time before a limit, of that before it and below it, are bound by it."""
_ALWAYS = 0.95
"""A limit that is full for so much of the time is always full: more who come to it only wait there (ours)."""


@dataclass(frozen=True)
class Binding:
    """Queue limits that let no more through, and those before them at which I/Os wait for that reason."""

    limits: Sequence[Mapping[str, Any]]
    """The one at which most wait first; empty where none do."""
    before: Sequence[Mapping[str, Any]] = ()

    def waited(self, times: Mapping[str, float], limits: Sequence[Mapping[str, Any]]) -> float:
        """What of `times`, which are of the parts of an I/O's time, is waited for a place; `limits` are all there are.

        Of a kind before those that bind only some may wait for these: by Little's law as much as there wait.
        """
        own = {one["kind"] for one in self.limits}
        kinds = {one["kind"] for one in self.before} - own
        return sum(times.get(PART_OF_LIMIT[kind], 0.0) for kind in own) + self._before(kinds, times, limits)

    def waited_before(self, times: Mapping[str, float], limits: Sequence[Mapping[str, Any]]) -> float:
        """The same before the limits that stand before those that bind."""
        return self._before({one["kind"] for one in self.before}, times, limits)

    def _before(self, kinds: Set[str], times: Mapping[str, float], limits: Sequence[Mapping[str, Any]]) -> float:
        return sum(
            times.get(PART_OF_LIMIT[kind], 0.0) * _waiting(self.before, kind) / _waiting(limits, kind) for kind in kinds
        )


def limit_words(limit: Mapping[str, Any]) -> str:
    """'the queue limit of LUN esx1/data (32)'."""
    return f"the queue limit of {_owner(limit)}"


def binding(limits: Sequence[Mapping[str, Any]], volumes: Sequence[VolumeTime] = ()) -> Binding:
    """The limit at which most wait, or what is always full behind it; with what binds others as well, of any kind."""
    waited = [one for one in limits if one["waited"]]
    if not waited:
        return Binding(())
    found = binding_of(max(waited, key=lambda one: one["waiting_mean"]), limits, volumes)
    beside = [
        one
        for one in waited
        if _binds(one) and not _full_behind(one, waited, volumes) and _is_apart(one, found, volumes)
    ]
    return _with_those_before([*found.limits, *beside], waited, volumes)


def binding_of(
    limit: Mapping[str, Any], limits: Sequence[Mapping[str, Any]], volumes: Sequence[VolumeTime]
) -> Binding:  # fmt: skip
    """What binds those who wait at a limit: itself or what is always full behind it.

    Beside it are others of its kind at which I/Os also spend much of their time. By Little's law the share of the time
    of those that pass a limit is that of the numbers: of those that wait, of all that wait or are below it.
    """
    waited = [one for one in limits if one["waited"]]
    behind = _full_behind(limit, waited, volumes)
    others = [one for one in waited if one is not limit and one["kind"] == limit["kind"] and _binds(one)]
    return _with_those_before(behind or [limit, *others], waited, volumes)


def _with_those_before(
    last: Sequence[Mapping[str, Any]], waited: Sequence[Mapping[str, Any]], volumes: Sequence[VolumeTime]
) -> Binding:  # fmt: skip
    """With the limits behind which only those of `last` are always full."""
    before = [
        one
        for one in waited
        if one not in last and (behind := _full_behind(one, waited, volumes)) and all(other in last for other in behind)
    ]
    return Binding(last, sorted(before, key=lambda one: -one["waiting_mean"]))


def _is_apart(limit: Mapping[str, Any], found: Binding, volumes: Sequence[VolumeTime]) -> bool:
    """Whether those who wait at a limit wait at none of those found: it binds other volumes than these do."""
    own = [one for one in volumes if _waits_at(one, limit)]
    return bool(own) and not any(_waits_at(one, other) for one in own for other in (*found.limits, *found.before))


def _waits_at(volume: VolumeTime, limit: Mapping[str, Any]) -> bool:
    """Whether its I/Os wait at a limit, as far as that is told: ports are taken for those of its controller."""
    return volume.passes(limit) and bool(volume.parts_ns.get(PART_OF_LIMIT[limit["kind"]]))


def _full_behind(
    limit: Mapping[str, Any], limits: Sequence[Mapping[str, Any]], volumes: Sequence[VolumeTime]
) -> list[Mapping[str, Any]]:  # fmt: skip
    """The last ones that are always full and that all who pass a limit pass later; nothing where there is none.

    Ports are those of one controller, and which I/Os they take is not told: all that are waited for have to be full,
    and all volumes behind the limit have to wait there.
    """
    own = [one for one in volumes if one.passes(limit)]
    for kind in reversed(_GATES[_GATES.index(limit["kind"]) + 1 :]):
        there = [one for one in limits if one["kind"] == kind and any(volume.passes(one) for volume in own)]
        waits = all(volume.parts_ns.get(PART_OF_LIMIT[kind]) for volume in own) or kind != "port"
        if there and waits and all(one["full_ratio"] >= _ALWAYS for one in there):
            return sorted(there, key=lambda one: -one["waiting_mean"])
    return []


def _waiting(limits: Sequence[Mapping[str, Any]], kind: str) -> float:
    return float(sum(one["waiting_mean"] for one in limits if one["kind"] == kind))


def binding_words(limits: Sequence[Mapping[str, Any]], named_at_most: int) -> tuple[str, str]:
    """'the queue limits of LUN esx1/data (32) and LUN esx1/log (8)', and the share of the time in which they are full:
    'between 98 % and 99 %'."""
    least, most = (format_ratio(bound(one["full_ratio"] for one in limits)) for bound in (min, max))
    full = least if least == most else f"between {least} and {most}"
    if len(limits) == 1:
        return limit_words(limits[0]), full
    owners = [_owner(one) for one in limits[:named_at_most]]
    if len(limits) > named_at_most:
        owners[-1] = f"{len(limits) - named_at_most + 1} more"
    return f"the queue limits of {', '.join(owners[:-1])} and {owners[-1]}", full


def _owner(limit: Mapping[str, Any]) -> str:
    return f"{_OWNER_WORDS[limit['kind']].format(limit['name'])} ({limit['most']})"


def _binds(limit: Mapping[str, Any]) -> bool:
    waiting = limit["waiting_mean"]
    return bool(waiting >= _BINDS * (waiting + limit["used_mean"]))
