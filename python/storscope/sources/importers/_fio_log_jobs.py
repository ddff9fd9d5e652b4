"""What the logs of one job of fio say together: of each interval what was done, and how long it took."""

from __future__ import annotations

import dataclasses
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from storscope.domain.arrays import IntArray
from storscope.domain.fio_buckets import NS_OF, bucket_from_value, lowest_values
from storscope.sources.importers._fio import Direction
from storscope.sources.importers._fio_log_averages import MOMENT_MS, USUAL_MS, Stretch, averaged, interval_of
from storscope.sources.importers._fio_log_rows import DIRECTIONS, HISTOGRAM, Bins, Entries

_SAME: Final = 0.25
"""Histograms that end no further apart than this share of an interval end together."""
_COUNTED: Final = ("lat", "clat", "iops")
"""Logs of single I/Os, in the order in which they are taken to count them."""


@dataclass
class _Singles:
    """I/Os of one log and direction, summed up by interval."""

    ios: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    values: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    sizes: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    greatest: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    buckets: dict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    """Interval -> the least value of a bucket of fio -> I/Os."""

    def add(self, slots: IntArray, values: IntArray, sizes: IntArray) -> None:
        """Some entries; which interval each of them is in stands in `slots`."""
        numbers, places, counts = np.unique(slots, return_inverse=True, return_counts=True)
        sums = np.zeros(len(numbers), dtype=np.int64), np.zeros(len(numbers), dtype=np.int64)
        most = np.zeros(len(numbers), dtype=np.int64)
        np.add.at(sums[0], places, values)
        np.add.at(sums[1], places, sizes)
        np.maximum.at(most, places, values)
        for number, count, value, size, top in zip(numbers.tolist(), counts, *sums, most, strict=True):
            self.ios[number] += int(count)
            self.values[number] += int(value)
            self.sizes[number] += int(size)
            self.greatest[number] = max(self.greatest[number], int(top))
        pairs, counts = np.unique(np.stack((slots, lowest_values(values))), axis=1, return_counts=True)
        for number, low, count in zip(*pairs.tolist(), counts.tolist(), strict=True):
            self.buckets[number][low] += count


@dataclass
class LoggedJob:
    """The logs of one job. `width_ms` is the interval into which single I/Os are put."""

    width_ms: float = USUAL_MS
    last_ms: float = 0.0
    first_ms: float | None = None
    has_offsets: bool = False
    bins: list[Bins] = field(default_factory=list)
    bandwidths: int = 0
    """Entries of a bandwidth log of single I/Os: the size of each by its latency, which is no bandwidth."""
    unrated: int = 0
    """Latencies of a last interval, of which fio writes no rate."""
    rests: int = 0
    """Entries behind the last interval of a log, at the same instant."""
    sharing: int = 1
    """Jobs whose averages were put together."""
    shared_until_ms: float | None = None
    """Until when all of these have rates, as far as they ended together; None of single I/Os."""
    _sizes: set[int] = field(default_factory=set)
    """Of single reads and writes; no more than tell that there are several."""
    _base_ms: float | None = None
    """When the first interval of single I/Os begins."""
    _averages: dict[str, list[Entries]] = field(default_factory=lambda: defaultdict(list))
    _singles: dict[tuple[str, str], _Singles] = field(default_factory=lambda: defaultdict(_Singles))

    @property
    def is_moment(self) -> bool:
        """Whether its times are since 1970."""
        return (self.first_ms or 0.0) >= MOMENT_MS

    @property
    def unit(self) -> str:
        """Of latencies: us where the histograms are those of fio before 3.0."""
        return "us" if any(bins.unit == "us" for bins in self.bins) else "ns"

    @property
    def kinds(self) -> frozenset[str]:
        """What its logs are of: 'lat', 'iops' and so on."""
        timed = {*self._averages, *(kind for kind, _ in self._singles)}
        return frozenset(timed | ({HISTOGRAM} if self.bins else set()) | ({"bw"} if self.bandwidths else set()))

    @property
    def block_bytes(self) -> float | None:
        """The size of its reads and writes, where every one is logged and all are alike."""
        return float(min(self._sizes)) if len(self._sizes) == 1 and not self._averages else None

    @property
    def origin_ms(self) -> float:
        """When it began: at 0, or about when its first entry was made."""
        if not self.is_moment or self.first_ms is None:
            return 0.0
        return self.first_ms - self._interval_ms() if self._base_ms is None else self._base_ms

    def add(self, kind: str, entries: Entries) -> None:
        """Some entries of a log of it."""
        if not len(entries.times_ms):
            return
        self.has_offsets |= entries.has_offsets
        self._see(entries.times_ms)
        if not entries.sizes.any():
            self._averages[kind].append(entries)
            return
        if len(self._sizes) < 2:
            self._sizes |= set(np.unique(entries.sizes[entries.directions < DIRECTIONS.index("trim")]).tolist())
        if kind == "bw":
            self.bandwidths += len(entries.times_ms)
        else:
            if self._base_ms is None:
                self._base_ms = float(entries.times_ms[0]) if self.is_moment else 0.0
            slots = np.maximum(0, (entries.times_ms - self._base_ms) // self.width_ms).astype(np.int64)
            for number, name in enumerate(DIRECTIONS):
                is_its = entries.directions == number
                if is_its.any():
                    self._singles[kind, name].add(slots[is_its], entries.values[is_its], entries.sizes[is_its])

    def add_bins(self, bins: Bins) -> None:
        """A histogram of it."""
        self._see(np.array([bins.time_ms]))
        self.bins.append(bins)

    def _see(self, times_ms: IntArray) -> None:
        least, most = float(times_ms.min()), float(times_ms.max())
        self.first_ms = least if self.first_ms is None else min(self.first_ms, least)
        self.last_ms = max(self.last_ms, most)

    # Intervals ------------------------------------------------------------------------------------------------------

    def stretches(self) -> list[Stretch]:
        """Its intervals in order: those of the averages, else of single I/Os, else of the histograms."""
        if self._averages:
            found = averaged(self._averages, None if self.is_moment else 0.0, self.measure())
            self.unrated, self.rests, self.sharing = found.unrated, found.rests, found.sharing
            self.shared_until_ms = found.shared_until_ms
            return found.stretches
        if self._singles:
            return list(self._of_singles())
        return list(self._of_bins())

    def measure(self) -> str | None:
        """Which time of an I/O is taken as its latency."""
        return next((kind for kind in ("lat", "clat", HISTOGRAM) if kind in self.kinds), None)

    def _interval_ms(self) -> float:
        """The usual time between two entries of a log and direction."""
        if self._averages:
            return interval_of(self._averages)
        gaps: list[float] = []
        last: dict[int, int] = {}
        for bins in self.bins:
            if bins.time_ms > last.get(bins.direction, bins.time_ms):
                gaps.append(bins.time_ms - last[bins.direction])
            last[bins.direction] = bins.time_ms
        first_ms = self.first_ms or 0.0
        return statistics.median(gaps) if gaps else (first_ms if 0 < first_ms < MOMENT_MS else USUAL_MS)

    def _of_singles(self) -> Iterator[Stretch]:
        counted = next(kind for kind in _COUNTED if any(of == kind for of, _ in self._singles) or kind == "iops")
        parts = {name: found for (kind, name), found in self._singles.items() if kind == counted}
        for slot in sorted({slot for part in parts.values() for slot in part.ios}):
            done = {}
            for name, part in parts.items():
                ios = part.ios.get(slot, 0)
                is_timed = ios and counted != "iops"
                done[name] = Direction(
                    ops=float(ios), size_bytes=float(part.sizes.get(slot, 0)),
                    latency_ns_mean=part.values[slot] / ios if is_timed else None,
                    latency_ns_max=float(part.greatest[slot]) if is_timed else None,
                )  # fmt: skip
            means = {
                (name, kind): found.values[slot] / found.ios[slot]
                for (kind, name), found in self._singles.items()
                if kind not in (counted, "iops") and found.ios.get(slot)
            }
            yield Stretch(*self._slot(slot), done, means)

    def _slot(self, slot: int) -> tuple[float, float]:
        """When an interval of single I/Os begins and ends; the last one with the last I/O."""
        begin_ms = (self._base_ms or 0.0) + slot * self.width_ms
        return begin_ms, max(min(begin_ms + self.width_ms, self.last_ms + 1.0), begin_ms + 1.0)

    def _of_bins(self) -> Iterator[Stretch]:
        done: dict[tuple[float, float], dict[str, Direction]] = defaultdict(dict)
        for begin_ms, bins in self._placed():
            ios = sum(count for _, _, count in bins.buckets)
            total = sum((low + high) / 2 * count for low, high, count in bins.buckets)
            name = DIRECTIONS[bins.direction]
            mean = total / ios / NS_OF[self.unit] if ios else None  # as all values of logs: in its unit
            done[begin_ms, bins.time_ms][name] = Direction(float(ios), latency_ns_mean=mean)
        for (begin_ms, end_ms), parts in sorted(done.items()):
            yield Stretch(begin_ms, end_ms, parts, {})

    # Distributions --------------------------------------------------------------------------------------------------

    def distributions(self) -> Iterator[tuple[float, float, str, str, tuple[tuple[float, float, int], ...]]]:
        """(begin, end in ms, direction, measure, buckets) of what single I/Os and histograms tell."""
        for begin_ms, bins in self._placed():
            yield begin_ms, bins.time_ms, DIRECTIONS[bins.direction], "clat", bins.buckets
        for (kind, name), part in self._singles.items():
            if kind == "iops" or (kind == "clat" and self.bins):
                continue
            for slot, counts in sorted(part.buckets.items()):
                top_ns = part.greatest[slot] * NS_OF[self.unit]
                buckets = ((*bucket_from_value(low, self.unit, top_ns), count) for low, count in sorted(counts.items()))
                yield *self._slot(slot), name, kind, tuple(buckets)

    def _placed(self) -> Iterator[tuple[float, Bins]]:
        """Each histogram with the beginning of its interval; none whose interval has no length."""
        return ((begin_ms, bins) for begin_ms, bins in self._summed() if bins.time_ms > begin_ms)

    def _summed(self) -> Iterator[tuple[float, Bins]]:
        """Each histogram, and the end of the one before.

        Those that end together are one: fio writes several at an instant, and jobs that share a log one each.
        """
        near_ms = _SAME * self._interval_ms() if self.bins else 0.0
        for direction in range(len(DIRECTIONS)):
            begin_ms, together = self.origin_ms, list[Bins]()
            for bins in sorted((one for one in self.bins if one.direction == direction), key=lambda one: one.time_ms):
                if together and bins.time_ms - together[0].time_ms > near_ms:
                    yield begin_ms, _sum_of(together)
                    begin_ms, together = float(together[-1].time_ms), []
                together.append(bins)
            if together:
                yield begin_ms, _sum_of(together)


def _sum_of(bins: Sequence[Bins]) -> Bins:
    """Histograms of one time as one, which ends with the last."""
    counts: dict[tuple[float, float], int] = defaultdict(int)
    for one in bins:
        for low, high, count in one.buckets:
            counts[low, high] += count
    buckets = tuple((low, high, count) for (low, high), count in sorted(counts.items()))
    return dataclasses.replace(bins[-1], buckets=buckets)
