"""The averages of fio's logs (log_avg_msec) put together: of each interval what was done, and how long it took.

fio makes the entries of rates and those of latencies apart: the first by a clock of its own, which begins late and
drifts, the second with the first I/O behind an interval. So the intervals are those of the rates, and a latency is put
where most of its time lies. A rate is that of the tick that ends with it; of a tick in which nothing was done there is
no entry (`__add_samples` of fio's `stat.c`, and measured with 3.33 and thinktime), so a gap is one without I/O.

Beware: a tick that came late itself looks like a gap and a tick. Jobs that share a log (per_job_logs=0) stand in it one
after another, in an order that each log has for itself: their rates are added, their latencies count alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from storscope.domain import units
from storscope.domain.arrays import FloatArray, IntArray
from storscope.sources.importers._fio import Direction
from storscope.sources.importers._fio_log_rows import DIRECTIONS, Entries

MOMENT_MS: Final = 1e11
"""From here on a time is one since 1970 (log_unix_epoch), of the year 1973 and later; else since the job began."""
USUAL_MS: Final = 1000.0
"""An interval of which nothing is known, and the one into which single I/Os are put."""
_RATES: Final = ("iops", "bw")
_LEADING: Final = (*_RATES, "lat", "clat", "slat")
"""Logs in the order in which the intervals are taken from them."""
_SAME: Final = 0.25
"""Ends no further apart than this share of an interval are the same one; a shorter overlap is none."""
_LONG: Final = 1.5
"""A gap of more intervals than this has ticks without an entry."""


@dataclass(frozen=True)
class Stretch:
    """What was done in an interval; ms from the job's beginning, or since 1970."""

    begin_ms: float
    end_ms: float
    done: Mapping[str, Direction]
    means: Mapping[tuple[str, str], float]
    """(direction, measure) -> mean in ns, of what is not the latency."""


@dataclass(frozen=True)
class Averaged:
    """The intervals, and how many entries are in none of them."""

    stretches: list[Stretch]
    unrated: int
    """Latencies of a last interval, of which fio writes no rate."""
    rests: int
    """Entries behind the last interval of a log, at the same instant."""
    sharing: int
    """How many jobs' logs were put together."""
    shared_until_ms: float
    """Until when every one of them has rates, if they ended together: fio logs no last one, of each at its own time."""


@dataclass(frozen=True)
class _Course:
    """What one log has of one job and direction: each value from `begins` to `ends`, in order."""

    begins: FloatArray
    ends: FloatArray
    values: IntArray
    greatest: IntArray | None

    def over(self, begins: FloatArray, ends: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean over each time, and the greatest value; NaN of a time without an entry. Times are in order."""
        first, behind = np.searchsorted(self.ends, begins, "right"), np.searchsorted(self.begins, ends, "left")
        counts = np.maximum(0, behind - first)
        places = np.repeat(np.arange(len(begins)), counts)
        entries = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts) + first[places]
        shared = np.minimum(self.ends[entries], ends[places]) - np.maximum(self.begins[entries], begins[places])
        shorter = np.minimum(self.ends[entries] - self.begins[entries], (ends - begins)[places])
        is_in = shared >= _SAME * shorter
        places, entries, shared = places[is_in], entries[is_in], shared[is_in]
        weights = np.bincount(places, shared, len(begins)).astype(np.float64)  # of nothing it counts in whole numbers
        weights[weights == 0] = np.nan
        means = np.bincount(places, shared * self.values[entries], len(begins)) / weights
        tops = np.full(len(begins), np.nan)
        if self.greatest is not None:
            np.fmax.at(tops, places, self.greatest[entries])
        return means, tops

    def begun_behind(self, time_ms: float, near_ms: float) -> int:
        """How many entries are of a time behind one."""
        return int((self.begins > time_ms - near_ms).sum())


_Told = Mapping[tuple[str, int], tuple[list[float | None], list[float | None]]]
"""(kind, direction) -> mean and greatest value of each interval, of all jobs together."""


def averaged(parts: Mapping[str, Sequence[Entries]], begin_ms: float | None, timed: str | None) -> Averaged:
    """Of the logs of a job, by what they measure. It began at a time, else about when the first entry was made."""
    interval_ms = interval_of(parts)
    courses: dict[tuple[str, int], list[_Course]] = defaultdict(list)
    rests = 0
    for kind, of_kind in parts.items():
        for key, times, values, greatest in _of_each_job(kind, of_kind):
            is_end = np.concatenate(([True], np.diff(times) > _SAME * interval_ms))
            rests += int((~is_end).sum())
            ends = times[is_end].astype(np.float64)
            origin = ends[0] - interval_ms if begin_ms is None else begin_ms
            begins = np.concatenate(([min(origin, ends[0])], ends[:-1]))
            if kind in _RATES:
                begins = np.where(ends - begins > _LONG * interval_ms, ends - interval_ms, begins)
            picked = None if greatest is None else greatest[is_end]
            courses[key].append(_Course(begins, ends, values[is_end], picked))
    leading = next(kind for kind in _LEADING if kind in parts)
    pieces = _times([one for (kind, _), of_key in courses.items() if kind == leading for one in of_key], interval_ms)
    pieces = [(begin, end) for begin, end in pieces if end > begin]
    sharing = max(len(of_key) for of_key in courses.values())
    if not pieces:
        return Averaged([], 0, rests, sharing, 0.0)
    begins, ends = (np.array([piece[side] for piece in pieces]) for side in (0, 1))
    told = {key: _together(key[0], of_key, begins, ends) for key, of_key in courses.items()}
    stretches = [_stretch(place, begin, end, told) for place, (begin, end) in enumerate(pieces)]
    behind = [
        one.begun_behind(pieces[-1][1], _SAME * interval_ms)
        for (kind, _), of_key in courses.items()
        for one in of_key
        if kind == timed and kind != leading
    ]
    last_ms = pieces[-1][1]
    lasts = [float(one.ends[-1]) for (kind, _), of_key in courses.items() if kind == leading for one in of_key]
    shared_until_ms = min(end_ms for end_ms in lasts if end_ms >= last_ms - (1 + _SAME) * interval_ms)
    return Averaged(stretches, sum(behind), rests, sharing, shared_until_ms)


def interval_of(parts: Mapping[str, Sequence[Entries]]) -> float:
    """The time between two ticks: of the logs that lead, a short gap or the first time, since gaps may be many."""
    kind = next(kind for kind in _LEADING if kind in parts)
    found = [times for _, times, *_ in _of_each_job(kind, parts[kind])]
    gaps = sorted(gap for times in found for gap in np.diff(times).tolist() if gap > 0)
    first = min(int(times[0]) for times in found)
    some = [gaps[len(gaps) // 10]] if gaps else []
    return float(min([*some, *([first] if 0 < first < MOMENT_MS else [])], default=USUAL_MS))


def _of_each_job(
    kind: str, parts: Sequence[Entries]
) -> Iterator[tuple[tuple[str, int], IntArray, IntArray, IntArray | None]]:
    """((kind, direction), times, values, greatest values) of each job in a log: where time goes back, one begins."""
    times, values, directions = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("times_ms", "values", "directions")
    )
    tops = [part.greatest for part in parts if part.greatest is not None]
    greatest = np.concatenate(tops) if len(tops) == len(parts) else None
    for direction in range(len(DIRECTIONS)):
        (places,) = np.nonzero(directions == direction)
        if not len(places):
            continue
        for some in np.split(places, np.nonzero(np.diff(times[places]) < 0)[0] + 1):
            yield (kind, direction), times[some], values[some], None if greatest is None else greatest[some]


def _times(courses: Sequence[_Course], interval_ms: float) -> list[tuple[float, float]]:
    """The intervals of some courses together, and those between them in which there was nothing."""
    found: list[tuple[float, float]] = []
    spans = sorted({span for one in courses for span in zip(one.ends.tolist(), one.begins.tolist(), strict=True)})
    for end_ms, begin_ms in spans:
        if not found:
            found.append((begin_ms, end_ms))
            continue
        last_ms = found[-1][1]
        if end_ms - last_ms <= _SAME * interval_ms:
            continue
        if begin_ms - last_ms > _SAME * interval_ms:
            found.append((last_ms, begin_ms))
            last_ms = begin_ms
        found.append((last_ms, end_ms))
    return found


def _together(
    kind: str, courses: Sequence[_Course], begins: FloatArray, ends: FloatArray
) -> tuple[list[float | None], list[float | None]]:
    """What all jobs did in each interval: the sum of rates, 0 without an entry; the mean of latencies, None without."""
    means, tops = zip(*(one.over(begins, ends) for one in courses), strict=True)
    known = np.sum(~np.isnan(means), axis=0)
    sums = np.nansum(means, axis=0)
    found = sums if kind in _RATES else sums / np.where(known, known, np.nan)
    return _or_none(found), _or_none(np.fmax.reduce(tops))


def _or_none(values: FloatArray) -> list[float | None]:
    return [None if value != value else value for value in values.tolist()]  # noqa: PLR0124


def _stretch(place: int, begin_ms: float, end_ms: float, told: _Told) -> Stretch:
    seconds = (end_ms - begin_ms) * units.NS_PER_MS / units.NS_PER_S
    timed = "lat" if any(kind == "lat" for kind, _ in told) else "clat"
    done: dict[str, Direction] = {}
    means: dict[tuple[str, str], float] = {}
    for number, name in enumerate(DIRECTIONS):
        of_kind = {
            kind: (of_all[place], tops[place]) for (kind, direction), (of_all, tops) in told.items()
            if direction == number
        }  # fmt: skip
        rate, width = (of_kind.pop(kind, (None, None))[0] for kind in _RATES)
        if rate == 0.0 or (rate is None and width == 0.0):
            of_kind = {}
        latency, greatest = of_kind.pop(timed, (None, None))
        of_its = {(name, kind): mean for kind, (mean, _) in of_kind.items() if mean is not None}
        if latency is None and rate is None and width is None and not of_its:
            continue
        done[name] = Direction(
            ops=None if rate is None else rate * seconds,
            size_bytes=None if width is None else units.bytes_from_kib(width) * seconds,
            latency_ns_mean=latency,
            latency_ns_max=greatest,
        )
        means |= of_its
    return Stretch(begin_ms, end_ms, done, means)
