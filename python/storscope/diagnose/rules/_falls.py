"""Falls: a rate that was higher for a while, and from one moment on stands at a lower value though as much is asked.

So credits end. The higher rate need not be even; the lower one is, and operations wait there. What is asked is the
same as far as it is seen: as many in flight or more, of about the same size and mix.

Where two or more are in flight all the time, nothing shows who waits, and latency rises as the rate falls whatever the
reason (Little 1961). Then both rates must be as even as limits are, which storage that gets slower seldom is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from storscope.diagnose.rule import Settings
from storscope.diagnose.rules._asked import Asked
from storscope.diagnose.rules._caps import MEASURES, cap_at, plateaus_of
from storscope.diagnose.rules._intervals import median, seconds
from storscope.diagnose.tier_limits import LARGE_BYTES
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.units import NS_PER_S
from storscope.model.overload import bridged, runs_of
from storscope.model.plateau import Plateau

_CHANGE_INTERVALS = 2
"""Intervals that the fall may take: the one in which it happens is of both, and samples are not exact (ours)."""
_BEFORE_MIN = 3
"""Intervals above that are no chance (ours)."""
_EVEN_MIN = 5
"""Intervals before from which it can be told whether they are even (ours)."""
_KEPT = 0.8
"""Part of what was in flight before that must be after, for as much to be asked (ours)."""
_MIX_CHANGE = 0.2
"""Change of the read share from which another load may have begun (ours)."""


@dataclass(frozen=True)
class Fall:
    """A rate of 'ops' or 'bytes' before and after one moment."""

    asked: Asked
    measure: str
    plateau: Plateau
    before: slice
    """The intervals above the plateau."""
    after: slice
    """Those at it."""
    is_waiting_seen: bool = True
    """False where operations were never few enough to show how quick they are alone."""

    @property
    def high(self) -> float:
        """The rate before."""
        return median(self.asked.rates[self.measure][self.before])

    @property
    def low(self) -> float:
        """The rate after."""
        return median(self.asked.rates[self.measure][self.after])

    @property
    def is_natural(self) -> bool:
        """Whether small operations are told in number, or large ones in bytes."""
        return (median(self.asked.size[self.after]) > LARGE_BYTES) == (self.measure == "bytes")

    @property
    def spread(self) -> float:
        """Deviation over mean after it."""
        rate = self.asked.rates[self.measure][self.after][self.plateau.members[self.after]]
        return float(rate.std() / rate.mean())

    @property
    def spread_before(self) -> float:
        """The same before it, without the first and the last interval, in which it may have begun and ended."""
        rate = self.asked.rates[self.measure][self.before][1:-1]
        return float(np.nanstd(rate) / np.nanmean(rate))

    @property
    def start_ns(self) -> int:
        """When the rate before began, as far as it was seen."""
        return int(self.asked.series.time_ns[self.before.start])

    @property
    def fell_ns(self) -> int:
        """The end of the last interval of the rate before."""
        return self._end_ns(self.before)

    @property
    def end_ns(self) -> int:
        """Until when it was seen at the lower rate."""
        return self._end_ns(self.after)

    @property
    def credits(self) -> float:
        """Operations or bytes above the lower rate, of the time before."""
        rate, length_s = self.asked.rates[self.measure][self.before], seconds(self.asked.series)[self.before]
        return float(np.nansum((rate - self.low) * length_s))

    @property
    def waiting_share(self) -> float:
        """Part of all waiting that is after it."""
        waiting = np.nan_to_num(self.asked.in_flight) * seconds(self.asked.series)
        return float(waiting[self.after].sum() / max(waiting.sum(), 1e-9))

    def both(self, values: FloatArray) -> tuple[float, float]:
        """Medians of something before and after."""
        return median(values[self.before]), median(values[self.after])

    @property
    def is_of_writes(self) -> bool:
        """Whether writes alone fell: hardly anything else was done, or reads went on as before."""
        if self.asked.of:
            return self.asked.of == "writes"
        reads = self.both(self.asked.read_share)
        if max(reads) <= _FEW_READS:
            return True
        read, written = (self.both(self.asked.series[f"{one}_{self.measure}_per_s"]) for one in ("read", "write"))
        return read[1] >= _KEPT * read[0] and written[1] < _KEPT * written[0]

    @property
    def is_asked_as_before(self) -> bool:
        """Whether as many are in flight after it; of several things together also of those that do less after it, since
        others that go on waiting ask for nothing of what these did."""
        every = self.asked.in_flight
        return all(self._is_kept(in_flight) for in_flight in (every, *self._in_flight_of_fallen()))

    def _is_kept(self, in_flight: FloatArray) -> bool:
        before, after = self.both(in_flight)
        return after >= _KEPT * before

    def _in_flight_of_fallen(self) -> list[FloatArray]:
        """Of several things together the operations in flight of all that do less after it."""
        rates = [self.both(np.nan_to_num(part[f"{self.measure}_per_s"])) for part in self.asked.parts]
        fallen = [row for row, (before, after) in enumerate(rates) if after < before]
        return [self.asked.parts_in_flight[fallen].sum(axis=0)] if fallen else []

    @property
    def is_of_the_mix(self) -> bool:
        """Whether reads (or writes) fell while writes (or reads) rose by a good part of it: another mix is asked for.

        Where both share a limit, what the ones do the others lack, and nothing of it fell.
        """
        return any(self._taken_over(measure) >= _TAKEN_OVER for measure in MEASURES)

    def _taken_over(self, measure: str) -> float:
        """What the other direction did more after it, as a part of what this one did less; 0 where that is not told."""
        if self.asked.whole is None:
            return 0.0
        own, other = ("read", "write") if self.asked.of == "reads" else ("write", "read")
        lost, gained = (
            after - before
            for before, after in (self.both(self.asked.whole.series[f"{way}_{measure}_per_s"]) for way in (own, other))
        )
        return gained / -lost if lost < 0 and np.isfinite(gained) else 0.0

    def _end_ns(self, part: slice) -> int:
        series = self.asked.series
        return int(series.time_ns[part.stop - 1]) + int(seconds(series)[part.stop - 1] * NS_PER_S)


_TAKEN_OVER = 0.2
"""Part of what reads do less from which on writes that do as much more have taken it (ours); the reverse as well."""
_FEW_READS = 0.1
"""Part of reads up to which what fell is the writes (ours)."""


def falls_of(asked: Asked, settings: Settings, measure: str, is_known: Callable[[Fall], bool]) -> list[Fall]:
    """Every fall of one rate to one value, in order of time; by the thresholds of throughput-cap and those of falls.

    `is_known` says of a fall whether something else shows what happened, so that it need not be between even rates.
    """
    found = _falls_among(asked, settings, measure, asked.waits)
    if found or not asked.is_never_alone:
        return found
    unseen = (replace(fall, is_waiting_seen=False) for fall in _falls_among(asked, settings, measure, asked.queues))
    return [fall for fall in unseen if _is_between_even_rates(settings, fall) or is_known(fall)]


def _is_between_even_rates(settings: Settings, fall: Fall) -> bool:
    """Whether both rates are as even as limits are, with a queue all the time."""
    lasted = fall.before.stop - fall.before.start >= _EVEN_MIN
    even = max(fall.spread, fall.spread_before) <= settings["spread_ratio_exact"]
    return lasted and even and bool(fall.asked.queues[fall.before].all())


def _falls_among(asked: Asked, settings: Settings, measure: str, waits: BoolArray) -> list[Fall]:
    """The falls to the first even value of the intervals in which operations wait that has any."""
    for plateau in plateaus_of(asked, settings, measure, waits):
        unmoved = cap_at(asked, settings, measure, plateau).is_unmoved
        found = [fall for fall in _falls_to(asked, settings, measure, plateau) if _is_fall(settings, fall, unmoved)]
        if found:
            return found
    return []


def _falls_to(asked: Asked, settings: Settings, measure: str, plateau: Plateau) -> Iterator[Fall]:
    anew, rate = asked.series.anew, asked.rates[measure]
    above: BoolArray = bridged(np.nan_to_num(rate) >= settings["fall_factor"] * plateau.level, 1, anew)
    stays_before = runs_of(above, anew)
    for first, last in runs_of(bridged(plateau.members, _CHANGE_INTERVALS, anew), anew):
        if last - first + 1 < settings["samples_min"] or above[first : last + 1].any():
            continue
        for begin, end in stays_before:
            follows = 0 < first - end <= _CHANGE_INTERVALS + 1 and not anew[end + 1 : first + 1].any()
            if follows and end - begin + 1 >= _BEFORE_MIN:
                yield Fall(asked, measure, plateau, slice(begin, end + 1), slice(first, last + 1))


def _is_fall(settings: Settings, fall: Fall, unmoved: bool) -> bool:
    """Whether it was higher and lower long enough, and as much was asked of it as before, as far as that is seen.

    Where the lower rate is `unmoved` by sizes and the mix, these say nothing of it.
    """
    length_s = seconds(fall.asked.series)
    if min(float(length_s[part].sum()) for part in (fall.before, fall.after)) < settings["phase_s"]:
        return False
    size, reads = (fall.both(each) for each in (fall.asked.size, fall.asked.read_share))
    if not fall.is_asked_as_before or fall.is_of_the_mix:
        return False
    if unmoved:
        return True
    if not fall.is_of_writes and abs(reads[1] - reads[0]) > _MIX_CHANGE:
        return False
    # Larger operations are fewer, smaller ones fewer bytes: what that explains is no fall.
    explained = size[1] / size[0] if fall.measure == "ops" else size[0] / size[1]
    return not explained > 1 or fall.high >= settings["fall_factor"] * explained * fall.low
