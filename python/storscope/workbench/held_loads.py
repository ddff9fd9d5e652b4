"""Which of measured loads are what a limit let through: what was asked for beyond that, no counter tells.

As throughput-cap judges it. In an open loop at such a rate how much waits is chance where the limit is there, and
nothing does where it is gone; in a closed loop as many are in flight as waited (Little's law).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from storscope.diagnose.case import Case
from storscope.diagnose.rules.throughput_cap import HeldRate, held_rates
from storscope.domain.entity import EntityRef
from storscope.workbench.measured_loads import MeasuredLoads

_SHARE_MIN = 0.1
"""Part of a time from which a limit in it is told (that of throughput-cap)."""


@dataclass(frozen=True)
class HeldLoad:
    """Something, or several things together, that stood at a limit in the time of a load."""

    entities: tuple[EntityRef, ...]
    level: str
    """'3,000 IOPS'."""
    is_shown: bool
    """Whether it is told to be imposed; else it is a documented rate that storage may have by itself."""
    share: float
    """Part of the measured time that it stood there."""


def held_loads(case: Case, measured: MeasuredLoads) -> tuple[HeldLoad, ...]:
    """Of these loads what was held at a limit for a good part of their time."""
    loads = {load.entity for load in measured.loads}
    found = (_held(one, measured) for one in held_rates(case) if loads.issuperset(one.entities))
    return tuple(one for one in found if one.share >= _SHARE_MIN)


def _held(rate: HeldRate, measured: MeasuredLoads) -> HeldLoad:
    return HeldLoad(rate.entities, rate.level, rate.cap.is_shown, rate.share_of(measured.start_ns, measured.end_ns))


def held_of(held: Sequence[HeldLoad], entity: EntityRef) -> HeldLoad | None:
    """The limit that holds something, of several the one that it stood at for longest."""
    own = [one for one in held if entity in one.entities]
    return max(own, key=lambda one: one.share, default=None)
