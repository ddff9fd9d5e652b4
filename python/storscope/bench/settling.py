"""When a run has settled, and how sure its figures are.

Warm-up: MSER-5 (White, Cobb and Spratt, WSC 2000) says where to cut; a cut counts only if the level really changed
(by four standard deviations of a mean as long as the start) and from the beginning on, since MSER cuts a little off any
noise, and everything before a stall. Where MSER finds its best cut in the second half, the run has not settled if the
level moved there (CUSUM, see change.rs in the same crate); else the best cut of the first half is taken. Where that is
late in this half, or where nothing is cut, what is kept must not move either: a drift all the way through is cut there
as well. Bursts may hide it; so what is kept is asked in any case for a trend that leaves the interval of its mean. What
is kept in the end, behind the later of two figures' warm-ups, is asked once more where bursts make up for each other: a
line is surer then than that interval (line.rs).

Intervals: batch means or the effective number of independent samples, whichever is wider, so that neighbouring samples
may depend on each other (interval.rs). A rate is a mean over time; a mean latency is a ratio, whose residuals are
taken (delta method); a quantile's interval is in quantile_interval.py.

Beware: all of it speaks of this run. How much another run on another day would differ, no single run can tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from storscope import _core
from storscope.bench.buckets import Buckets
from storscope.bench.quantile_interval import quantile_bounds
from storscope.bench.samples import IOPS, MEAN, Figure, Sample
from storscope.domain.arrays import FloatArray

CONFIDENCE = 0.95
LEAST_SAMPLES = 20
"""Fewer do not show a warm-up (MSER-5 works on means of five)."""
_BATCH = 5
"""Values of which MSER-5 takes means: the shortest start that it leaves out."""
_DEVIATIONS = 4.0
"""So far must the start be from the rest, in standard deviations of a mean of its length, to count as a warm-up."""
_CHANCE = 0.01
"""A change of level that chance explains with more than this probability is none."""
_DRIFT_WIDTHS = 1.3
"""Half widths of a 95 % interval, that chance passes with a probability of 0.01."""
_LEAST_CHANGE = 0.01
"""A start that differs by less makes no difference to anybody."""
_LATE_SHARE = 0.25
"""A cut in the second half of where it may be: what is kept may still move as what was cut did."""
_PARTS, _LEAST_LENGTH = 20, 4
"""Means whose order tells of a trend: enough for a chance of 0.01; of so many values each at least, as neighbours
are alike."""
_MUCH = 0.1
"""A trend by less than this share of the mean is left to the line, whose noise is known better then."""
_LEAST_IOS, _LEAST_OBSERVED = 10, 8
"""Of fewer I/Os, or of fewer samples with any, a mean latency has no interval. The first is measured: with 5 I/Os at
one simulated drive the interval held the mean of two hours in 45 of 60 runs, with 10 in 56; the second is what the
interval of any mean asks for (interval.rs)."""
_FARTHER = 2.0
"""Of two figures that move that is told which goes so many times as far: arrivals that scatter by 2 % explain nothing
where the response rises by 10 %."""
_SURELY = 0.001
_NOTICED = 0.05
_WATCHED = (Figure(IOPS), Figure(MEAN))


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval, in the figure's unit. A bound that cannot be told is None."""

    value: float
    low: float | None
    high: float | None
    independent: float | None = None
    """About how many independent samples it rests on."""

    @property
    def half_width(self) -> float | None:
        """The greater distance of a bound from the value."""
        if self.low is None or self.high is None:
            return None
        return max(self.value - self.low, self.high - self.value)

    @property
    def relative(self) -> float | None:
        """The half width as a share of the value."""
        half = self.half_width
        return None if half is None or not self.value else half / abs(self.value)

    @property
    def without_interval(self) -> Estimate:
        """The value alone, where an interval would mean nothing."""
        return Estimate(self.value, None, None)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` reads them again."""
        return asdict(self)

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Estimate:
        """What `to_json` wrote."""
        return cls(**form)


@dataclass(frozen=True)
class WarmUp:
    """What the start of a run looks like."""

    samples: int | None
    """How many to leave out; None when the run has not settled, or is too short to tell."""
    is_too_short: bool = False
    figure: Figure | None = None
    """What moved; None when nothing did."""
    before: float | None = None
    after: float | None = None
    """The figure's mean in what is left out and in what is kept; for one that has not settled, around its change."""


# Warm-up --------------------------------------------------------------------------------------------------------------


def warm_up(samples: Sequence[Sample]) -> WarmUp:
    """How many samples at the start to leave out: where both the rate and the response have settled."""
    if len(samples) < LEAST_SAMPLES:
        return WarmUp(None, is_too_short=True)
    found = [warm_up_of(figure, figure.series(samples)) for figure in _WATCHED]
    moving = [one for one in found if one.samples is None]
    if moving:
        return _told(moving)
    latest = max(found, key=lambda one: one.samples or 0)
    drifting = _drifting_among_bursts(samples[latest.samples :])
    return _told(drifting) if drifting else latest


def _told(moving: Sequence[WarmUp]) -> WarmUp:
    """Of several figures that move the one to speak of."""
    farthest = max(moving, key=_distance)
    return farthest if _distance(farthest) > _FARTHER * _distance(moving[0]) else moving[0]


def _distance(moving: WarmUp) -> float:
    """How far a figure went, as a ratio, so that half is as far as twice."""
    if not moving.before or not moving.after or moving.before < 0 or moving.after < 0:
        return 0.0
    return abs(math.log(moving.after / moving.before))


def warm_up_of(figure: Figure, series: FloatArray) -> WarmUp:
    """The same for one figure; samples without a value are passed over."""
    places = np.flatnonzero(np.isfinite(series))
    values = series[places]
    if len(values) < LEAST_SAMPLES:
        return WarmUp(0)
    cut = _core.warm_up(values.tolist())
    if cut is None:
        late = values[len(values) // 2 :]
        moved = _moved(late) or _drift(late)
        if moved is not None:
            return WarmUp(None, figure=figure, before=moved[0], after=moved[1])
        cut = _core.warm_up_within_half(values.tolist())
    if not cut or not _is_apart(values[:cut], values[cut:]):
        cut = 0
    start = _without_stalls(values[:cut], values[cut:]) if cut else 0
    is_clear = start > 0 and cut < _LATE_SHARE * len(values)
    drift = _trend(values[cut:]) or (None if is_clear else _drift(values[cut:]))
    if drift is not None:
        return WarmUp(None, figure=figure, before=drift[0], after=drift[1])
    if not start:
        return WarmUp(0)
    return WarmUp(int(places[start]), False, figure, float(values[:start].mean()), float(values[start:].mean()))


def _moved(values: FloatArray) -> tuple[float, float] | None:
    """The level before and after its strongest change; None if that may be chance or is small."""
    change = _core.strongest_change(values.tolist())
    if change is None or change[3] > _CHANCE or _small(change[1], change[2]):
        return None
    return change[1], change[2]


def _drift(values: FloatArray) -> tuple[float, float] | None:
    """From where to where the line of least squares goes; None if that may be chance or is small.

    A mean of noise as it is around the line is sure to a standard error; the change from end to end of the line to the
    square root of 12 of them (the slope's error is that of the noise over the spread of evenly spaced times).
    """
    times = np.linspace(-0.5, 0.5, len(values))
    slope, centre = np.polyfit(times, values, 1)
    found = _core.mean_interval((values - centre - slope * times).tolist(), CONFIDENCE)
    before, after = float(centre - slope / 2), float(centre + slope / 2)
    if found is None or _small(before, after) or abs(slope) <= _DRIFT_WIDTHS * math.sqrt(12.0) * found[1]:
        return None
    return _measured(before, after, values)


def _trend(values: FloatArray) -> tuple[float, float] | None:
    """From where to where the line goes, if the level goes one way all along, and so far that a mean means little.

    Bursts much shorter than the run hide a drift from an interval, which counts them as if they could last, but not
    from the order of the means of a few long parts (Kendall 1938; Mann 1945). That alone also tells of what only
    wanders, so that the ends of the line must lie outside of the interval of the mean as well.
    """
    length = len(values) // _PARTS
    if length < _LEAST_LENGTH:
        return None
    means = values[len(values) - _PARTS * length :].reshape(_PARTS, length).mean(axis=1)
    score = float(np.triu(np.sign(means[None, :] - means[:, None])).sum())
    deviation = math.sqrt(_PARTS * (_PARTS - 1) * (2 * _PARTS + 5) / 18.0)
    if abs(score) - 1.0 <= NormalDist().inv_cdf(1.0 - _CHANCE / 2.0) * deviation:
        return None
    slope, centre = np.polyfit(np.linspace(-0.5, 0.5, _PARTS), means, 1)
    found = _core.mean_interval(values.tolist(), CONFIDENCE)
    before, after = float(centre - slope / 2), float(centre + slope / 2)
    if found is None or abs(slope) <= max(2.0 * found[1], _MUCH * abs(centre)):
        return None
    return _measured(before, after, means)


def _drifting_among_bursts(samples: Sequence[Sample]) -> list[WarmUp]:
    """What still drifts, by a line that is surer than any interval of this module."""
    series = [(figure, figure.series(samples)) for figure in _WATCHED]
    found = [(figure, _drift_among_bursts(values[np.isfinite(values)])) for figure, values in series]
    return [WarmUp(None, figure=figure, before=ends[0], after=ends[1]) for figure, ends in found if ends is not None]


def _drift_among_bursts(values: FloatArray) -> tuple[float, float] | None:
    """From where to where the line goes, if it goes farther than noise that makes up for itself tilts it.

    A cache that is full until much is destaged at once has a burst then and little in between. Intervals count such a
    series for no more than it has values, and are far too wide for it; the model of line.rs knows that the next burst
    is due. Of other noise `_drift` is the more careful judge. What hardly anybody would notice is no drift: where a
    warm-up ends exactly is a matter of taste.
    """
    found = _core.line_through(values.tolist())
    if found is None:
        return None
    centre, change, deviation, deviation_if_independent = found
    reach = NormalDist().inv_cdf(1.0 - _CHANCE / 2.0) * deviation
    if deviation >= deviation_if_independent or abs(change) <= max(reach, _NOTICED * abs(centre)):
        return None
    return _measured(centre - change / 2, centre + change / 2, values)


def _measured(before: float, after: float, values: FloatArray) -> tuple[float, float]:
    """The ends of a line through values, no farther than any of them went.

    A line through a level that falls ever more slowly ends below all of it: 6 µs of a response that is never below 10.
    """
    least, most = float(values.min()), float(values.max())
    return min(max(before, least), most), min(max(after, least), most)


def _is_apart(start: FloatArray, rest: FloatArray) -> bool:
    """Whether the start's mean is farther from the rest's than noise like the rest's takes it.

    MSER chooses the start that differs most, so that more is demanded than of one chosen beforehand.
    """
    before, after = float(start.mean()), float(rest.mean())
    return not _small(before, after) and abs(before - after) > _reach_of_noise(len(start), rest)


def _without_stalls(start: FloatArray, rest: FloatArray) -> int:
    """How much of a start that differs from the rest is a warm-up, and not a stall that the cut lies behind.

    MSER cuts behind any outlier of the first half. What came before a stall is like the rest, so that the median of the
    start's first half is; of what warms up it is what differs most. Else only those values are left out that differ
    from the beginning on: a stall at the very beginning counts as warm-up.
    """
    if _is_unusual(start[: (len(start) + 1) // 2], rest):
        return len(start)
    batches = [start[at : at + _BATCH] for at in range(0, len(start), _BATCH)]
    unusual = next((index for index, batch in enumerate(batches) if not _is_unusual(batch, rest)), len(batches))
    return _BATCH * max(unusual, int(_is_unusual(start[:1], rest)))


def _is_unusual(values: FloatArray, rest: FloatArray) -> bool:
    """Whether their median is farther from the rest's than noise takes it."""
    usual, found = float(np.median(rest)), float(np.median(values))
    return not _small(found, usual) and abs(found - usual) > _reach_of_noise(len(values), rest)


def _reach_of_noise(count: int, rest: FloatArray) -> float:
    """How far noise like that of the rest takes a mean of so many values."""
    found = _core.mean_interval(rest.tolist(), CONFIDENCE)
    alike = 1.0 if found is None else len(rest) / found[2]
    spread = float(rest.std(ddof=1)) if len(rest) > 1 else 0.0
    return _DEVIATIONS * spread * math.sqrt(alike / max(count, alike))


@dataclass(frozen=True)
class LevelChange:
    """Where the level of a figure changed for good, in a run that had settled."""

    figure: Figure
    at_ns: int
    before: float
    after: float


def level_change(samples: Sequence[Sample]) -> LevelChange | None:
    """A change that is hardly chance and that somebody would notice; None without one."""
    for figure in _WATCHED:
        series = figure.series(samples)
        places = np.flatnonzero(np.isfinite(series))
        change = _core.strongest_change(series[places].tolist()) if len(places) >= LEAST_SAMPLES else None
        if change is not None and change[3] < _SURELY and abs(change[2] - change[1]) > _NOTICED * abs(change[1]):
            return LevelChange(figure, samples[int(places[change[0]])].start_ns, change[1], change[2])
    return None


def _small(before: float, after: float) -> bool:
    return abs(after - before) < _LEAST_CHANGE * abs(before)


# Intervals ------------------------------------------------------------------------------------------------------------


def estimate(figure: Figure, samples: Sequence[Sample]) -> Estimate | None:
    """The figure over settled samples, with its 95 % interval; None where there is no value at all."""
    value = figure.of(samples)
    if value is None:
        return None
    parts = [sample.part(figure.direction) for sample in samples]
    if figure.share is not None:
        return _quantile(figure.share, [part.response for part in parts])
    if figure.statistic == MEAN:
        return _mean(value, [part.ios for part in parts], [part.response.sum_ns for part in parts])
    return _around(value, figure.series(samples) - value)


def latency_estimate(share: float | None, parts: Sequence[Buckets]) -> Estimate | None:
    """The same of latencies alone: their quantile, or their mean where `share` is None."""
    value = Buckets.merged(parts).mean_ns
    if value is None:
        return None
    if share is not None:
        return _quantile(share, parts)
    return _mean(value, [part.total for part in parts], [part.sum_ns for part in parts])


def _mean(value: float, counts: Sequence[int], sums: Sequence[float]) -> Estimate:
    """Of a mean latency. Samples without any I/O observe nothing: their deviation is none by construction."""
    weights = np.asarray(counts, dtype=np.float64)
    if weights.sum() < _LEAST_IOS or np.count_nonzero(weights) < _LEAST_OBSERVED:
        return Estimate(value, None, None)
    return _around(value, (np.asarray(sums) - value * weights) / weights.mean(), most=float(weights.sum()))


def _around(value: float, deviations: FloatArray, most: float = math.inf) -> Estimate:
    """At most so many independent samples are told."""
    found = _core.mean_interval(deviations.tolist(), CONFIDENCE)
    if found is None:
        return Estimate(value, None, None)
    _, half_width, independent = found
    return Estimate(value, max(0.0, value - half_width), value + half_width, min(independent, most))


def _quantile(share: float, parts: Sequence[Buckets]) -> Estimate:
    value = Buckets.merged(parts).quantile_ns(share)
    assert value is not None  # there are I/Os, or the figure would have no value
    return Estimate(float(value), *quantile_bounds(share, parts, CONFIDENCE))
