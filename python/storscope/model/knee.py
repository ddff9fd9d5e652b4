"""The knee of latency against load, from what was observed in passing.

The curve is that of a queue with c servers, L(x) = L0 (1 + u^(sqrt(2 (c + 1)) - 1) / (c (1 - u))), u = x / C
(Sakasegawa 1977; exact for c = 1, where it is L0 / (1 - x / C); within a few per cent of M/M/c otherwise). L0 is the
latency at light load, C the capacity, c says how long the curve stays flat before it rises. The knee is the load at
which latency is `ratio` times L0; at ratio 2 and c = 1 that is where load / latency is greatest (Kleinrock 1979).

Intervals are binned by load, and the curve is fitted to the bins' robust means of log latency, so a few wild
intervals, or many at one load, do not decide. Bounds come from resampling blocks of time.

It refuses when there are too few intervals, when the load hardly varies, when latency does not rise with load, when
the rise is not explained by load, and when latency only steps up across a range of load in which nothing was seen: a
backup that is switched on shows two states, not the way between them. Beware: load is one number here. Where the mix
of sizes or of reads and writes changes with the load, the knee is that of the mixture; and what another entity does
to this one is noise here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from storscope.domain.arrays import FloatArray, IntArray
from storscope.model.bootstrap import Interval, block_length, interval_from_replicates, resampled_sums

KNEE_RATIO = 2.0
INTERVALS_MIN = 30
_BINS = 24
_BIN_ROWS_MIN = 3
_GAP_SHARE = 0.15
"""A range of load without intervals is a gap from this share of the highest load."""
_RISE_BEFORE_GAP_MIN = 1.15
"""Latency must have risen by this factor before the gap, else where it climbs is anybody's guess."""
_WIDE_RATIO = 3.0
_FLAT_RATIO, _FLAT_SPREAD = 1.6, 2.5
"""Latency is flat where no bin's latency is more than the former times the median, and the 90th percentile of single
intervals is no more than the latter times the 10th; said only of a load that varied by `_WIDE_RATIO`."""
_EXTRAPOLATED_RATIO = 1.2
_REPLICATES = 300
_SHAPES_RESAMPLED = 400
"""Only this many of the best shapes compete in the resamples; the others never win."""
_SERVERS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
_CAPACITY_GRID = np.concatenate([np.linspace(0.94, 1.3, 73), np.geomspace(1.31, 6.0, 200)])
"""Capacities tried, in units of the highest load that was seen often enough to make a bin."""
_MODEL_ERROR = 0.03
"""Bounds are never nearer to the estimate than this: the curve is an approximation, and resampling cannot see that."""
_RISE_MIN = 1.4
_SPARSE_INTERVALS = 240
"""With fewer intervals a gap is sought between single ones, not between bins of at least three."""
_UTILISATION_MAX = 0.985
"""Beyond it the curve is held: noise in the load must not make an infinite latency."""


@dataclass(frozen=True, slots=True)
class Knee:
    """What the curve says. When `seen` is false, `reason` says why and only `load_max` is to be trusted."""

    seen: bool
    reason: str
    load_max: float
    """Highest load of a bin (operations per second): as far as the evidence reaches."""
    light_latency_ns: Interval
    capacity: Interval
    """Load at which the curve has its pole. Extrapolated: trust the knee more."""
    knee: Interval
    servers: float
    explained: float
    """Share of the variance of the bins' log latency that the curve explains."""
    rise: Interval
    """Fitted latency at the highest load over that at light load."""
    load_min: float = np.nan
    """Lowest load of a bin."""
    latency_min_load_ns: float = np.nan
    """Latency observed there."""
    flat: bool = False
    """True when the load varied widely and latency stayed flat."""

    @property
    def light_is_extrapolated(self) -> bool:
        """True when nobody observed the light-load latency: even at the least load it was clearly higher."""
        return self.latency_min_load_ns > _EXTRAPOLATED_RATIO * self.light_latency_ns.estimate

    def latency_ns(self, load: FloatArray) -> FloatArray:
        """The fitted latency at these loads."""
        return self.light_latency_ns.estimate * rise_of(load / self.capacity.estimate, self.servers)


def rise_of(utilisation: FloatArray, servers: float | FloatArray) -> FloatArray:
    """Latency over light-load latency at a utilisation (held below 1), after Sakasegawa 1977."""
    u = np.clip(utilisation, 0.0, _UTILISATION_MAX)
    result: FloatArray = 1.0 + u ** (np.sqrt(2.0 * (servers + 1.0)) - 1.0) / (servers * (1.0 - u))
    return result


@cache
def knee_utilisation(servers: float, ratio: float = KNEE_RATIO) -> float:
    """The utilisation at which latency is `ratio` times that at light load."""
    grid = np.linspace(0.0, _UTILISATION_MAX, 2_000)
    return float(np.interp(ratio, rise_of(grid, servers), grid))


def find_knee(load: FloatArray, latency_ns: FloatArray, *, ratio: float = KNEE_RATIO, seed: int = 0) -> Knee:
    """The knee of latency against load; arrays have one value an interval, in time order, NaN where absent."""
    usable = np.isfinite(load) & np.isfinite(latency_ns) & (load > 0) & (latency_ns > 0)
    load, latency_ns = load[usable], latency_ns[usable]
    if len(load) < INTERVALS_MIN:
        return _none(f"only {len(load)} intervals with load and latency; {INTERVALS_MIN} are needed", load)
    busy = load >= 0.01 * np.quantile(load, 0.99)
    load, latency_ns = load[busy], latency_ns[busy]
    bins = _Bins.of(load, latency_ns)
    if len(bins.centre) < 4 or bins.centre[0] > 0.7 * bins.centre[-1]:
        return _none("the load hardly varies, so latency cannot be set against it", load)
    knee = _judged(_fitted(bins, ratio, seed))
    if knee.seen and (reason := _step_across_gap(bins, load, ratio * knee.light_latency_ns.estimate)):
        knee = replace(knee, seen=False, reason=reason)
    means = bins.means
    flat = knee.rise.estimate < _RISE_MIN and float(means.max() / np.median(means)) <= _FLAT_RATIO
    flat &= float(np.divide(*np.quantile(latency_ns, [0.9, 0.1]))) <= _FLAT_SPREAD
    wide = bins.centre[-1] >= _WIDE_RATIO * bins.centre[0]
    return replace(knee, load_min=float(bins.centre[0]), latency_min_load_ns=float(means[0]), flat=bool(flat and wide))


def _step_across_gap(bins: _Bins, load: FloatArray, limit_ns: float) -> str:
    """Why latency passes the limit where nothing was observed; empty when it was observed, or had begun to rise."""
    known, means = np.sort(load) if len(load) < _SPARSE_INTERVALS else bins.centre, bins.means
    wide = np.flatnonzero(np.diff(known) > _GAP_SHARE * bins.centre[-1])
    for low, high in ((known[at], known[at + 1]) for at in wide):
        middle = (low + high) / 2
        below, above = means[bins.centre < middle], means[bins.centre > middle]
        if not len(below) or not len(above) or below[-1] > limit_ns or above[0] < limit_ns:
            continue
        third = max(len(below) // 3, 1)
        if len(below) < 3 or below[-third:].mean() < _RISE_BEFORE_GAP_MIN * below[:third].mean():
            half = bins.centre[-1] / (2 * _BINS)
            low, high = load[load <= low + half].max(), load[load >= high - half].min()
            seen = "hardly any" if ((load > low) & (load < high)).any() else "no"
            return (
                f"{seen} load between {low:,.0f} and {high:,.0f} operations per second was seen, and latency steps "
                f"from {below[-1] / 1e6:.3g} ms to {above[0] / 1e6:.3g} ms across that gap"
            )
    return ""


@dataclass(frozen=True)
class _Bins:
    """Intervals sorted into bins by load: mean load, and the rows whose sums give the mean log latency."""

    centre: FloatArray
    weight: FloatArray
    rows: FloatArray
    """(intervals, 2 bins): member or not, and log latency where member."""
    block: int

    @property
    def means(self) -> FloatArray:
        """Mean latency of each bin, in ns."""
        count, total = np.split(self.rows.sum(axis=0), 2)
        result: FloatArray = total / count
        return result

    @classmethod
    def of(cls, load: FloatArray, latency_ns: FloatArray) -> _Bins:
        edges = np.linspace(0.0, float(np.quantile(load, 0.995)), _BINS + 1)
        index = np.clip(np.searchsorted(edges, load, side="right") - 1, 0, _BINS - 1)
        counts = np.bincount(index, minlength=_BINS)
        kept = np.flatnonzero(counts >= _BIN_ROWS_MIN)
        member = index[:, None] == kept[None, :]
        values = latency_ns.copy()
        for column in range(len(kept)):
            inside = member[:, column]
            values[inside] = np.clip(values[inside], *np.quantile(values[inside], [0.05, 0.95]))
        centre = np.array([load[member[:, column]].mean() for column in range(len(kept))])
        sums = (member * values[:, None]).sum(axis=0)
        residual = values / np.interp(load, centre, sums / counts[kept]) if len(kept) else values
        rows = np.concatenate([member, member * values[:, None]], axis=1).astype(np.float64)
        return cls(centre, np.sqrt(counts[kept]), rows, max(block_length(residual), block_length(load)))


@dataclass(frozen=True)
class _Fit:
    """Best curve of the evidence (first in every array), then of each resample."""

    load_max: float
    capacity: FloatArray
    servers: FloatArray
    knee: FloatArray
    light_ns: FloatArray
    rise: FloatArray
    explained: float
    blocks: int
    loss_of_shape: FloatArray


def _fitted(bins: _Bins, ratio: float, seed: int) -> _Fit:
    """The best curve, and where it rises and explains enough to matter, the best curves of resampled blocks."""
    shapes = _shapes(bins.centre / bins.centre[-1])
    every = np.arange(len(shapes))
    estimate = _best_curves(bins, bins.rows.sum(axis=0)[None, :], shapes, every, ratio)
    if _reason(float(estimate.rise[0]), estimate.explained, 0.0, estimate.load_max):
        return estimate
    near = np.argsort(estimate.loss_of_shape)[:_SHAPES_RESAMPLED]
    sums = resampled_sums(bins.rows, bins.block, _REPLICATES, np.random.default_rng(seed))
    replicated = _best_curves(bins, sums, shapes[near], near, ratio)
    return replace(
        estimate,
        capacity=np.concatenate([estimate.capacity, replicated.capacity]),
        servers=np.concatenate([estimate.servers, replicated.servers]),
        knee=np.concatenate([estimate.knee, replicated.knee]),
        light_ns=np.concatenate([estimate.light_ns, replicated.light_ns]),
        rise=np.concatenate([estimate.rise, replicated.rise]),
    )


def _best_curves(bins: _Bins, sums: FloatArray, shapes: FloatArray, which: IntArray, ratio: float) -> _Fit:
    """For each row of `sums` the best of `shapes`, whose places in the grid are `which`."""
    top = float(bins.centre[-1])
    count, total = np.split(sums, 2, axis=1)
    present = count > 0.5
    logs = np.log(np.where(present, total / np.where(present, count, 1.0), 1.0))
    weight = np.where(present, bins.weight, 0.0)
    loss, offset = _losses(shapes, logs, weight)
    row, best = np.arange(len(logs)), np.argmin(loss, axis=1)
    servers, capacity = (column[which[best]] for column in _grid())
    mean = (weight[0] * logs[0]).sum() / weight[0].sum()
    spread = float((weight[0] * (logs[0] - mean) ** 2).sum())
    knee_at = np.array([knee_utilisation(each, ratio) for each in _SERVERS])
    return _Fit(
        load_max=top,
        capacity=capacity * top,
        servers=servers,
        knee=knee_at[np.searchsorted(_SERVERS, servers)] * capacity * top,
        light_ns=np.exp(offset[row, best]),
        rise=rise_of(1.0 / capacity, servers),
        explained=1.0 - float(loss[0, best[0]]) / spread if spread > 0 else 0.0,
        blocks=len(bins.rows) // bins.block,
        loss_of_shape=loss[0],
    )


@cache
def _grid() -> tuple[FloatArray, FloatArray]:
    """Every shape tried: (servers, capacity over highest load)."""
    servers, capacity = np.meshgrid(np.array(_SERVERS), _CAPACITY_GRID, indexing="ij")
    return servers.ravel(), capacity.ravel()


def _shapes(relative_load: FloatArray) -> FloatArray:
    """Log rise at each bin for each shape: (shapes, bins)."""
    servers, capacity = _grid()
    result: FloatArray = np.log(rise_of(relative_load[None, :] / capacity[:, None], servers[:, None]))
    return result


def _losses(shapes: FloatArray, logs: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted squares left by each shape for each row of `logs`, and the offset (log L0) that leaves the least."""
    total = weight.sum(axis=1, keepdims=True)
    mean_shape = weight @ shapes.T / total
    mean_log = (weight * logs).sum(axis=1, keepdims=True) / total
    square_log = (weight * logs**2).sum(axis=1, keepdims=True) - total * mean_log**2
    loss: FloatArray = (weight * (logs - mean_log)) @ shapes.T
    loss *= -2.0
    loss += weight @ (shapes**2).T
    loss -= total * mean_shape**2
    loss += square_log
    return loss, mean_log - mean_shape


def _reason(rise: float, explained: float, knee: float, load_max: float) -> str:
    """Why there is no knee to speak of; empty when there is one."""
    if rise < _RISE_MIN:
        return f"on average latency stays flat up to {load_max:,.0f} operations per second"
    if explained < 0.5:
        return f"operations per second explain only {100 * explained:.0f} % of the differences in latency"
    if knee > 2.0 * load_max:
        return f"latency has only begun to rise at {load_max:,.0f} operations per second"
    return ""


def _judged(fit: _Fit) -> Knee:
    def interval(values: FloatArray) -> Interval:
        found = interval_from_replicates(float(values[0]), values[1:], blocks=fit.blocks)
        low, high = found.estimate * (1.0 - _MODEL_ERROR), found.estimate * (1.0 + _MODEL_ERROR)
        if not np.isfinite(found.low):
            return found
        return Interval(found.estimate, min(low, found.low), max(high, found.high), found.level, found.blocks)

    rise, knee = interval(fit.rise), interval(fit.knee)
    sure = not rise.low < 1.2
    reason = _reason(rise.estimate if sure else 1.0, fit.explained, knee.high, fit.load_max)
    return Knee(
        seen=not reason, reason=reason, load_max=fit.load_max, light_latency_ns=interval(fit.light_ns),
        capacity=interval(fit.capacity), knee=knee, servers=float(fit.servers[0]), explained=fit.explained, rise=rise,
    )  # fmt: skip


def _none(reason: str, load: FloatArray) -> Knee:
    unknown = Interval(np.nan, np.nan, np.nan)
    top = float(load.max()) if len(load) else np.nan
    return Knee(False, reason, top, unknown, unknown, unknown, np.nan, np.nan, unknown)
