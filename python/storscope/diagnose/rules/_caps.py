"""Caps: plateaus of a rate that storage by itself would not have.

A plateau alone is no cap: a full disk with a steady mix has one, too. What no device does by itself is to stand still
below what it did one operation at a time, or to do as many operations whatever their size and mix. Where neither was
seen, a documented limit at that rate suggests a cap, and else nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.rule import Settings
from storscope.diagnose.rules._asked import DISK_NS, IN_FLIGHT_MIN, Asked
from storscope.diagnose.rules._intervals import median, seconds
from storscope.diagnose.rules._known_limits import KnownLimit, known_limits, link_gbit_per_s
from storscope.diagnose.rules._unasked import is_as_when_calm, is_chosen_by_queue
from storscope.diagnose.tier_limits import LARGE_BYTES, LARGE_BYTES_PER_S
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.units import NS_PER_S
from storscope.model.plateau import Plateau, densest_plateau, elasticity, spread_factor, swing

MEASURES = ("ops", "bytes")
_DONE_MIN = 0.8
"""Part of the operations that must be done when they are answered, for the time of one alone to be the storage's: a
write may only have been taken by a cache that is not full yet (ours)."""
_VARIED_SHARE = 0.2
"""Part of an operation's time alone that sizes must differ by in transfer for their difference to count (ours)."""


@dataclass(frozen=True)
class Cap:
    """A plateau of the 'ops' or 'bytes' of something, and what shows that it is none of its own."""

    asked: Asked
    measure: str
    plateau: Plateau
    alone_in_flight: float
    """Operations in flight that the rate would take if none waited."""
    is_idle: bool
    """True where that is less than one (of several devices, where one of them has less): storage that does what it can
    would do more, one at a time."""
    is_unmoved: bool
    """True where sizes or the mix differed and the rate did not."""
    known: Sequence[KnownLimit]
    """Documented limits near the level."""
    may_be_granted: bool = True
    """False where no provider of clouds can have set it."""

    @property
    def is_shown(self) -> bool:
        """Whether its behaviour tells that the limit is imposed."""
        return self.is_idle or self.is_unmoved

    @property
    def members(self) -> BoolArray:
        """The intervals at the plateau."""
        return self.plateau.members

    @property
    def time_share(self) -> float:
        """Part of the intervals at work that are at it."""
        return float(self.members.sum() / max(int(self.asked.at_work.sum()), 1))

    @property
    def is_natural(self) -> bool:
        """Whether small operations are limited in number, or large ones in bytes, as most limits are."""
        return (median(self.asked.size[self.members]) > LARGE_BYTES) == (self.measure == "bytes")

    @property
    def waiting_share(self) -> float:
        """Part of all waiting, operations in flight over time, that is at it."""
        waiting = np.nan_to_num(self.asked.in_flight) * seconds(self.asked.series)
        return float(waiting[self.members].sum() / max(waiting.sum(), 1e-9))

    @property
    def link_gbit_per_s(self) -> int | None:
        """The link that would be full at this rate."""
        return link_gbit_per_s(self.plateau.level) if self.measure == "bytes" else None

    def at(self, values: FloatArray, quantile: float) -> float:
        """A quantile of something over the intervals at the plateau; NaN where it is not told."""
        told = values[self.members]
        told = told[np.isfinite(told)]
        return float(np.quantile(told, quantile)) if len(told) else float("nan")


def caps_of(asked: Asked, settings: Settings) -> list[Cap]:
    """The plateaus of rates at which operations wait, that no size, mix or depth moves; shown to be caps or not.

    Without those at which as much was done while nobody waited: nothing was asked beyond them.
    """
    found = {
        measure: plateau
        for measure, plateau in _standing(asked, settings).items()
        if not is_as_when_calm(asked, measure, plateau, settings["width_ratio"])
    }
    kept = {
        measure: plateau
        for measure, plateau in found.items()
        if not any(_is_part_of(settings, plateau, other) for other in found.values())
    }
    return [
        cap_at(asked, settings, measure, plateau)
        for measure, plateau in kept.items()
        if _holds_most(asked, settings, plateau, [one for one in kept.values() if one is not plateau])
    ]


def unasked_of(asked: Asked, settings: Settings) -> Cap | None:
    """The plateau at which operations wait, and nothing more was asked for; None where there is none."""
    for measure, plateau in _standing(asked, settings).items():
        if is_as_when_calm(asked, measure, plateau, settings["width_ratio"]) and _holds_most(
            asked, settings, plateau, []
        ):
            return cap_at(asked, settings, measure, plateau)
    return None


def _standing(asked: Asked, settings: Settings) -> dict[str, Plateau]:
    """Of each measure the plateau at which operations wait, if it is one and goes with nothing."""
    found: dict[str, Plateau] = {}
    for measure in MEASURES:
        plateau = densest_plateau(asked.rates[measure], asked.waits, settings["width_ratio"])
        if plateau is None or not _stands(asked, settings, plateau) or is_chosen_by_queue(asked, plateau):
            continue
        if goes_with_nothing(asked, settings, measure, plateau):
            found[measure] = plateau
    return found


def plateaus_of(asked: Asked, settings: Settings, measure: str, waits: BoolArray) -> Iterator[Plateau]:
    """Even values of a rate in the intervals in which operations wait, that of most intervals first; at most three."""
    left = waits.copy()
    for _ in range(_PLATEAUS_MOST):
        plateau = densest_plateau(asked.rates[measure], left, settings["width_ratio"])
        if plateau is None or plateau.count < settings["samples_min"]:
            return
        if plateau.spread <= settings["spread_ratio_max"] and goes_with_nothing(asked, settings, measure, plateau):
            yield plateau
        left &= ~plateau.members


_PLATEAUS_MOST = 3
"""Values that one rate is looked at for: that of credits, that without, one of another limit."""


def levels_of(asked: Asked, settings: Settings) -> list[Cap]:
    """Two or more even values of one rate that hold nearly all of the waiting, one at a time; none where there is one.

    So it looks when credits end, or when a limit is set anew.
    """
    for measure in MEASURES:
        found = [
            plateau
            for plateau in plateaus_of(asked, settings, measure, asked.waits)
            if float(seconds(asked.series)[plateau.members].sum()) >= settings["plateau_s"]
            and not is_as_when_calm(asked, measure, plateau, settings["width_ratio"])
        ]
        held = sum(plateau.count for plateau in found)
        if len(found) > 1 and held >= _LEVELS_SHARE * int(asked.waits.sum()):
            return [cap_at(asked, settings, measure, plateau) for plateau in found]
    return []


_LEVELS_SHARE = 0.8
"""Part of the intervals with waiting that several values must hold to be levels (ours): one alone must hold 0.6."""


def _stands(asked: Asked, settings: Settings, plateau: Plateau) -> bool:
    """Whether there are enough intervals, alike enough, with hardly any above them."""
    lasted_s = float(seconds(asked.series)[plateau.members].sum())
    enough = plateau.count >= settings["samples_min"] and lasted_s >= settings["plateau_s"]
    above = int(plateau.above.sum())
    alike = plateau.spread <= settings["spread_ratio_max"]
    return enough and alike and above <= settings["above_share_max"] * plateau.count


def _is_part_of(settings: Settings, plateau: Plateau, other: Plateau) -> bool:
    """Whether it has only intervals of the other, and far fewer: bytes at a limit of operations, of one size."""
    own = int((plateau.members & ~other.members).sum())
    return own < settings["samples_min"] and plateau.count < _ALL_OF_IT * other.count


_ALL_OF_IT = 0.8
"""Part of another plateau's intervals from which two are one, seen in operations and in bytes (ours)."""


def _holds_most(asked: Asked, settings: Settings, plateau: Plateau, others: Sequence[Plateau]) -> bool:
    """Whether most of the intervals in which operations wait are at it; those at another plateau wait for that."""
    elsewhere = np.zeros(len(plateau.members), dtype=bool)
    for other in others:
        elsewhere |= other.members & ~plateau.members
    waiting = int((asked.waits & ~elsewhere & ~plateau.above).sum())
    return plateau.count >= settings["members_share_min"] * waiting


def goes_with_nothing(asked: Asked, settings: Settings, measure: str, plateau: Plateau) -> bool:
    """Whether the rate at the plateau goes with nothing that moves the rate of storage that does what it can."""
    rate = asked.rates[measure][plateau.members]
    for quantity, least in ((asked.size, _SIZES_DIFFER), (asked.in_flight, _QUEUES_DIFFER)):
        at = quantity[plateau.members]
        if spread_factor(at) >= least and not abs(elasticity(rate, at)) <= settings["elasticity_max"]:
            return False
    share = asked.read_share[plateau.members]
    return not _width(share) >= _MIXES_DIFFER or abs(swing(rate, share)) <= settings["mix_swing_ratio_max"]


_SIZES_DIFFER = 1.3
_QUEUES_DIFFER = 1.5
_MIXES_DIFFER = 0.2
"""Of sizes, operations in flight (factors) and read shares, from the tenth with the least to that with the most, from
which on how a rate goes with them can be told (ours)."""


def _width(share: FloatArray) -> float:
    """From the tenth with the least to the tenth with the most."""
    known = share[np.isfinite(share)]
    return float(np.quantile(known, 0.9) - np.quantile(known, 0.1)) if len(known) else float("nan")


def cap_at(asked: Asked, settings: Settings, measure: str, plateau: Plateau) -> Cap:
    """What a plateau is as a cap."""
    alone_in_flight = median(asked.alone_in_flight[plateau.members])
    is_idle = alone_in_flight <= settings["alone_in_flight_max"] or _is_one_idle(asked, settings, plateau)
    is_idle = is_idle and median(asked.done_share[plateau.members]) >= _DONE_MIN
    known = known_limits(measure, plateau.level, settings["known_ratio"])
    varied = _was_varied(asked, settings, measure, plateau)
    return Cap(asked, measure, plateau, alone_in_flight, is_idle, varied, known)


def _is_one_idle(asked: Asked, settings: Settings, plateau: Plateau) -> bool:
    """Whether of several devices one has work all the time and is idle for a part of it, at a sum that is very even.

    Together they would keep fewer operations in flight than there are devices with work. One storage behind all of
    them keeps one busy at the least, flash with its many dies far more: so this is for what is known to be quick.
    """
    if not asked.are_apart or plateau.spread > settings["spread_ratio_exact"]:
        return False
    members = plateau.members
    alone, working = asked.parts_alone_in_flight[:, members], asked.parts_in_flight[:, members] >= IN_FLIGHT_MIN
    is_fewer = median(alone.sum(axis=0)) < median(working.sum(axis=0).astype(float))
    often = [bool(row.mean() >= _WORKS_OFTEN) for row in working]
    idle = [median(row) <= settings["alone_in_flight_max"] for row in alone]
    return is_fewer and any(one and other for one, other in zip(often, idle, strict=True))


_WORKS_OFTEN = 0.5
"""Part of the intervals at a limit in which a device must have work waiting to be told idle there (ours)."""


def _was_varied(asked: Asked, settings: Settings, measure: str, plateau: Plateau) -> bool:
    """Whether sizes or the mix differed so much that storage by itself would have shown it.

    A disk spends its time on positioning, and its sequential rate is one of bytes: only far larger operations tell
    there, and none of bytes.
    """
    quick = asked.is_quick(plateau.members)
    if not quick and measure == "bytes":
        return False
    alone_ns = median(asked.alone_ns[plateau.members])
    size = asked.size[plateau.members]
    apart = _width(size) * NS_PER_S / LARGE_BYTES_PER_S
    least = _VARIED_SHARE * (alone_ns if quick else max(alone_ns, DISK_NS))
    if spread_factor(size) >= settings["size_factor"] and apart >= least:
        return True
    return quick and _width(asked.read_share[plateau.members]) >= settings["mix_share"]
