"""How much of what it can do each component of a simulated array was used for, drives by group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FULL = 0.8
"""Used for a greater share of what it can do, a component bounds the load."""
_NEARLY = 0.02
"""Components of one kind that are used alike within so much bound the load together."""
NAMED_AT_MOST = 4
"""Of more things of a kind the others are counted."""
_ALIKE = 1.25
"""Drives of a group are loaded alike if the most used is used for at most this many times the mean..."""
_NEVER_IDLE, _OFTEN_IDLE = 0.98, 0.1
"""... and if none is hardly ever idle while the mean is idle for so much more: that bound a mean near 1 would hide."""


@dataclass(frozen=True)
class Used:
    """A component, or the drives of a group together, and how much of it was used."""

    kind: str
    name: str
    count: int
    mean_ratio: float
    most_ratio: float
    most_names: tuple[str, ...]
    """The most used one, and where it is used to the full those that are used as much."""
    busy_ratio: float
    allows: str = ""
    """What a limit of rates allows: '3,000 IOPS, 131 MB/s'."""
    requests: float | None = None
    """How many are in all of it on average; None where that was not counted."""
    most_requests: float | None = None
    """How many are in those of `most_names`."""

    @property
    def is_alike(self) -> bool:
        """Whether its drives are used alike."""
        is_alone = self.most_ratio >= _NEVER_IDLE and self.most_ratio - self.mean_ratio > _OFTEN_IDLE
        return self.most_ratio <= _ALIKE * self.mean_ratio and not is_alone

    @property
    def ratio(self) -> float:
        """What bounds: of unlike drives the most used one."""
        return self.mean_ratio if self.is_alike else self.most_ratio

    @property
    def named_requests(self) -> float | None:
        """How many are on average in what its words name."""
        return self.requests if self.is_alike else self.most_requests

    @property
    def most_name(self) -> str:
        """The one that is used most."""
        return self.most_names[0]

    @property
    def is_many(self) -> bool:
        """Whether its words name several things."""
        return self.kind == "drive" and self.count > 1 and (self.is_alike or len(self.most_names) > 1)

    @property
    def words(self) -> str:
        """With its kind."""
        if self.kind == "rate_limit":
            return f"the rate limit of {self.name} ({self.allows})"
        if self.kind != "drive":
            return (
                f"{self.kind.replace('_', '-')} {self.name}" if self.kind != "controller" else f"controller {self.name}"
            )
        if self.is_alike and self.count > 1:
            return f"the {self.count} drives of {self.name}"
        names = sorted(self.most_names, key=lambda name: (len(name), name))
        return f"drive{'s' if self.is_many else ''} {listed(names)}"


def waits(component: Mapping[str, Any]) -> bool:
    """Whether it is a spare that has not had anything to do."""
    return component["is_spare"] and not component["throughput_per_s"]


def works(component: Mapping[str, Any]) -> bool:
    """Whether it is neither failed nor a spare that waits."""
    return not component["is_failed"] and not waits(component)


def used_components(components: Sequence[Mapping[str, Any]]) -> list[Used]:
    """Drives by group, without failed ones and spares that wait; everything else by itself. The most used first.

    None of a part of a run without any length.
    """
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for one in components:
        if works(one) and one["used_ratio"] is not None:
            groups[one["kind"], one["group"] or one["name"]].append(one)
    found = []
    for (kind, name), members in groups.items():
        most = max(members, key=lambda one: one["used_ratio"])
        is_full = most["used_ratio"] >= FULL
        near = (one for one in members if one is not most and is_near(one["used_ratio"], most["used_ratio"]))
        others = list(near) if is_full else []
        names = tuple(one["name"] for one in (most, *others))
        mean, busy = (sum(one[key] for one in members) / len(members) for key in ("used_ratio", "busy_ratio"))
        requests = _requests(members), _requests([most, *others])
        allows = most.get("allowed") or ""
        found.append(Used(kind, name, len(members), mean, most["used_ratio"], names, busy, allows, *requests))
    return sorted(found, key=lambda one: -one.ratio)


def _requests(components: Sequence[Mapping[str, Any]]) -> float | None:
    counted = [one.get("queue_mean") for one in components]
    return None if None in counted else sum(one for one in counted if one is not None)


def is_near(ratio: float, most: float) -> bool:
    """Whether what is used so much bounds the load together with what is used most."""
    return most - ratio <= _NEARLY


def listed(names: Sequence[str]) -> str:
    """'a, b and c'; of more than are named, 'a, b, c and 5 more'."""
    if len(names) > NAMED_AT_MOST:
        names = [*names[: NAMED_AT_MOST - 1], f"{len(names) - NAMED_AT_MOST + 1} more"]
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
