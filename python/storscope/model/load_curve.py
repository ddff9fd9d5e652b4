"""Latency against load from visits at chosen loads: the curve, and the loads at which it crosses a limit.

The curve is L(x) = L0 (1 + a u^b / (1 - u)), u = x / C: for a = 1/c and b = sqrt(2 (c + 1)) - 1 that is a queue with c
servers (Sakasegawa 1977, exact for c = 1), and a also carries how regular arrivals and service are (Allen-Cunneen). All
four are free, for percentiles have the same shape with other numbers and real storage is no textbook queue.

The curve only carries information between loads. Where it misses the visits near a crossing, it is shifted there by
what it misses them by (residuals of log latency, weighted by nearness). Visits that were overloaded say that latency is
at least what they saw, a little above their load. Points are weighted by how steep the curve is: noise moves the load,
and latency by as much as the curve is steep. Single wild visits are weighted down (Huber 1964).

Intervals come from weighting whole visits at random (Rubin 1981, "The Bayesian bootstrap"), widened for their number.
Drawing them with replacement would leave out, now and then, all of the few visits that hold a steep curve in its place.
Beware: all visits share what was wrong throughout, for example a machine that was busy all the time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storscope.domain.load_curve import Bounds
from storscope.model.bootstrap import LEVEL, FloatArray
from storscope.model.load_shares import log_at_limit
from storscope.model.student import two_sided_quantile

BoolArray = npt.NDArray[np.bool_]

_CAPACITIES = np.concatenate([np.geomspace(0.88, 1.5, 60), np.geomspace(1.53, 6.0, 16)])
"""Tried, in units of the highest load that was served."""
_EXPONENTS = np.array([1.0, 1.45, 2.16, 3.24, 4.83, 7.12, 10.4, 15.1, 22.0, 32.0])
"""Those of 1, 2, 4, ... 512 servers. Fewer than one there cannot be: latency would rise the steepest at no load."""
_FACTORS = np.geomspace(0.004, 8.0, 14)
_FINE = (np.geomspace(0.955, 1.047, 37), np.geomspace(0.72, 1.39, 9), np.geomspace(0.6, 1.67, 9))
"""Around the best of the coarse ones."""
_UTILISATION_MAX = 0.9995
_NOISE, _NOISE_OF_LOAD = 0.015, 0.005
"""Deviation of log latency that no number of requests takes away: where the curve is flat, and for each unit of its
elasticity."""
_LOAD_VARIANCE = 5.0
"""Over the number of requests: the variance of a visit's load, in effect. The mean sojourn in M/M/1 at u = 0.5 and 0.8
has a relative deviation of 2.7 and 8.9 over the root of the requests (Whitt 1989, "Planning queueing simulations"),
with elasticities of 1 and 4."""
_FACTOR_SPREAD = 0.5
"""Deviation, in log, of a c from 1 (exponential service) in storage; weakly held, see `_Losses`."""
_HUBER = 2.0
_BOUND_SLACK, _BOUND_MOST = 0.01, 1.0
"""A lower bound has to be reached at so much more load, and missing it by more than this, in log latency, is no worse:
that a visit was overloaded says little about by how much, and now and then something else did it."""
_NEAR = 0.35
"""Width, in log latency, of the weights of visits near a crossing..."""
_NEAR_LOAD = 0.05
"""...or, in load, of visits on either side of a step..."""
_NEAR_LIGHT = 0.12
"""...and near light load, where the curve is flat."""
_SHRINKAGE = 4
"""How many visits' weight the curve itself has near a crossing."""
_WALL = 30.0
"""An elasticity as that within a thirtieth of the pole: which visits were overloaded tells the load there (ours)."""
_LEAST_HALF_WIDTH = 0.01
"""No interval is narrower: the rate that is made, and the curve, are not more exact."""
_PARAMETERS = 4
VISITS_MIN = 6


@dataclass(frozen=True)
class Points:
    """Visits as arrays.

    `is_bound`: latency is a lower bound. `variance` is of log latency by the number of requests alone.
    """

    load: FloatArray
    log_latency: FloatArray
    is_bound: BoolArray
    requests: FloatArray
    variance: FloatArray
    above: FloatArray
    """Share of the requests that took longer than the limit that is looked for; NaN where that is not told."""

    @property
    def is_enough(self) -> bool:
        """Whether a curve with four parameters can be put through them."""
        return int((~self.is_bound).sum()) >= VISITS_MIN


@dataclass(frozen=True)
class _Shapes:
    """Capacity, exponent and factor of curves that are tried."""

    capacity: FloatArray
    exponent: FloatArray
    factor: FloatArray

    @classmethod
    def grid(cls, capacity: FloatArray, exponent: FloatArray, factor: FloatArray) -> _Shapes:
        axes = np.meshgrid(capacity, exponent, factor, indexing="ij")
        tried = cls(*(axis.ravel() for axis in axes))
        return cls(tried.capacity, np.maximum(tried.exponent, _EXPONENTS[0]), tried.factor)

    def joined(self, other: _Shapes) -> _Shapes:
        return _Shapes(
            np.concatenate([self.capacity, other.capacity]),
            np.concatenate([self.exponent, other.exponent]),
            np.concatenate([self.factor, other.factor]),
        )

    def log_rise(self, load: FloatArray) -> FloatArray:
        """Log of latency over that at no load: (shapes, loads)."""
        u = np.minimum(load[None, :] / self.capacity[:, None], _UTILISATION_MAX)
        result: FloatArray = np.log1p(self.factor[:, None] * u ** self.exponent[:, None] / (1.0 - u))
        return result


@dataclass(frozen=True)
class CurveFit:
    """The best curve (first in every array), then those of the resamples."""

    points: Points
    weight: FloatArray
    """(curves, visits): steepness, number of requests, robustness, and the random weight of the resample."""
    capacity: FloatArray
    exponent: FloatArray
    factor: FloatArray
    log_light: FloatArray
    draw: FloatArray
    """(curves, visits): the random weight of the resample alone."""

    def log_latency(self, load: FloatArray) -> FloatArray:
        """(curves, loads)."""
        shapes = _Shapes(self.capacity, self.exponent, self.factor)
        return self.log_light[:, None] + shapes.log_rise(load)

    @property
    def light_log(self) -> FloatArray:
        """Log latency at light load, for each curve."""
        predicted = self.log_latency(self.points.load)
        near = np.exp(-0.5 * ((predicted - self.log_light[:, None]) / _NEAR_LIGHT) ** 2)
        return self.log_light + self._shift(predicted, near)

    def crossing(self, target_log: FloatArray) -> FloatArray:
        """The load at which each curve has that log latency; 0 where it is higher at no load already."""
        predicted = self.log_latency(self.points.load)
        near = np.exp(-0.5 * ((predicted - target_log[:, None]) / _NEAR) ** 2)
        return self._reached(target_log - self._shift(predicted, near))

    def crossing_by_share(self, limit_log: float, share: float) -> FloatArray:
        """The load at which the percentile of that share is at the limit, by the visits' shares of requests above it.

        Where no visit tells such a share, or latency rises like a wall, `crossing`. See `model.load_shares`.
        """
        known, by_curve = ~np.isnan(self.points.above), self.crossing(np.full(len(self.capacity), limit_log))
        if not known.any() or self.elasticity(by_curve[:1])[0] > _WALL:
            return by_curve
        log_excess = self.log_latency(self.points.load[known]) - limit_log
        weight = self.draw[:, known] * self.points.requests[known]
        return self._reached(limit_log + log_at_limit(log_excess, self.points.above[known], weight, share))

    def _reached(self, latency_log: FloatArray) -> FloatArray:
        """The load at which each curve is there; 0 where it is higher at no load already."""
        rise = np.expm1(latency_log - self.log_light)
        low, high = np.zeros_like(rise), np.ones_like(rise)
        for _ in range(45):
            middle = (low + high) / 2
            is_below = self.factor * middle**self.exponent < rise * (1.0 - middle)
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        result: FloatArray = np.where(rise > 0, low, 0.0) * self.capacity
        return result

    def elasticity(self, load: FloatArray) -> FloatArray:
        """By how many per cent the best curve's latency rises when load rises by one."""
        return _elasticity(load, float(self.capacity[0]), float(self.exponent[0]), float(self.factor[0]))

    def visits_near(self, load: float) -> float:
        """How many visits tell where the curve crosses its latency at that load: by latency, or by load if steep."""
        at = self.log_latency(np.array([load]))[0, 0]
        predicted = self.log_latency(self.points.load)[0]
        by_latency = np.exp(-0.5 * ((predicted - at) / _NEAR) ** 2)
        by_load = np.exp(-0.5 * ((self.points.load / load - 1) / _NEAR_LOAD) ** 2) if load > 0 else by_latency
        near = np.where(self.points.is_bound, np.maximum(by_load, 0.5), np.maximum(by_latency, by_load))
        return float(near.sum())

    def _shift(self, predicted: FloatArray, near: FloatArray) -> FloatArray:
        free = ~self.points.is_bound
        weight = self.weight * near * free
        usual = np.median(self.weight[0][free]) * _SHRINKAGE
        residual = np.where(free, self.points.log_latency, 0.0) - predicted
        result: FloatArray = (weight * residual).sum(axis=1) / (weight.sum(axis=1) + usual)
        return result


def fit_curve(points: Points, *, replicates: int, seed: int = 0) -> CurveFit:
    """The curve through enough points, and those of so many resamples."""
    scale = float(points.load[~points.is_bound].max())
    coarse = _Shapes.grid(_CAPACITIES * scale, _EXPONENTS, _FACTORS)
    weight, shapes = np.ones(len(points.load)), coarse
    for _ in range(3):
        losses = _Losses(points, shapes, weight)
        best = losses.best
        weight = _robust(points, losses, best)
        fine = (axis * step[best] for axis, step in
                zip(_FINE, (shapes.capacity, shapes.exponent, shapes.factor), strict=True))  # fmt: skip
        shapes = coarse.joined(_Shapes.grid(*fine))
    losses = _Losses(points, shapes, weight)
    draws = np.random.default_rng(seed).exponential(size=(replicates, len(weight)))
    counts = draws / draws.mean(axis=1, keepdims=True)
    weights = np.concatenate([weight[None, :], counts * weight[None, :]])
    return losses.fits(weights, np.concatenate([np.ones((1, len(weight))), counts]))


class _Losses:
    """How well each shape goes with the points."""

    def __init__(self, points: Points, shapes: _Shapes, weight: FloatArray) -> None:
        self._points, self._shapes, self._weight = points, shapes, weight
        self._rise = shapes.log_rise(points.load)
        self._free = np.where(points.is_bound, 0.0, 1.0)
        self._log = np.where(points.is_bound, 0.0, points.log_latency)
        _, offset = self._free_loss(weight[None, :])
        load = points.load * (1 + _BOUND_SLACK)
        below = points.log_latency[None, :] - offset[0][:, None] - shapes.log_rise(load)
        is_open = points.is_bound[None, :] & (load[None, :] < shapes.capacity[:, None])
        self._short = np.clip(below, 0.0, _BOUND_MOST) ** 2 * is_open
        """By how much each shape stays below the lower bounds, squared."""
        servers = ((shapes.exponent + 1.0) ** 2 / 2.0 - 1.0).clip(1.0)
        self._unlikely = (_NOISE * np.log(shapes.factor * servers) / _FACTOR_SPREAD) ** 2
        """As much as one good visit would say against a shape that no queue has: it decides where visits do not."""

    @property
    def best(self) -> int:
        return int(np.argmin(self._loss(self._weight[None, :])[0][0]))

    def fits(self, weights: FloatArray, draw: FloatArray) -> CurveFit:
        """The best curve for each row of weights."""
        loss, offset = self._loss(weights)
        best = np.argmin(loss, axis=1)
        shapes = self._shapes
        return CurveFit(
            self._points, weights, shapes.capacity[best], shapes.exponent[best], shapes.factor[best],
            offset[np.arange(len(best)), best], draw,
        )  # fmt: skip

    def residual(self, best: int) -> FloatArray:
        """Of log latency; 0 where a lower bound is kept."""
        _, offset = self._free_loss(self._weight[None, :])
        free = self._log - offset[0, best] - self._rise[best]
        result: FloatArray = np.where(self._points.is_bound, np.sqrt(self._short[best]), free)
        return result

    def elasticity(self, best: int) -> FloatArray:
        shapes = self._shapes
        return _elasticity(self._points.load, shapes.capacity[best], shapes.exponent[best], shapes.factor[best])

    def _loss(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        loss, offset = self._free_loss(weights)
        loss += weights @ self._short.T
        loss += self._unlikely[None, :]
        return loss, offset

    def _free_loss(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(rows, shapes): squares that are left, and the log latency at no load that leaves the least."""
        weight = weights * self._free
        total = np.maximum(weight.sum(axis=1, keepdims=True), 1e-12)
        mean_rise = weight @ self._rise.T / total
        mean_log = (weight * self._log).sum(axis=1, keepdims=True) / total
        loss: FloatArray = weight @ (self._rise**2).T - total * mean_rise**2
        loss -= 2.0 * ((weight * (self._log - mean_log)) @ self._rise.T)
        loss += (weight * (self._log - mean_log) ** 2).sum(axis=1, keepdims=True)
        return loss, mean_log - mean_rise


def _robust(points: Points, losses: _Losses, best: int) -> FloatArray:
    """Weights from how much noise is expected at each point, less for the wild; 1 for a point without any.

    A bound has no noise of its load: that is what its slack is for.
    """
    steep = np.where(points.is_bound, 0.0, np.minimum(losses.elasticity(best), 60.0))
    of_load = _NOISE_OF_LOAD**2 + _LOAD_VARIANCE / points.requests
    deviation = np.sqrt(_NOISE**2 + points.variance + of_load * steep**2)
    scaled = np.abs(losses.residual(best)) / deviation
    spread = max(1.0, 1.4826 * float(np.median(scaled)))
    huber = np.where(points.is_bound, 1.0, np.minimum(1.0, _HUBER / np.maximum(scaled / spread, 1e-9)))
    result: FloatArray = huber * (_NOISE / (deviation * spread)) ** 2
    return result


def _elasticity(load: FloatArray, capacity: float, exponent: float, factor: float) -> FloatArray:
    u: FloatArray = np.minimum(load / capacity, _UTILISATION_MAX)
    rise: FloatArray = factor * u**exponent / (1.0 - u)
    result: FloatArray = rise * (exponent + u / (1.0 - u)) / (1.0 + rise)
    return result


def bounds_of(values: FloatArray, visits: float) -> Bounds:
    """Estimate (the first value) and its interval from resamples (the rest), widened for few visits."""
    estimate, replicated = float(values[0]), values[1:]
    tail = (1.0 - LEVEL) / 2.0
    low, middle, high = np.quantile(replicated, [tail, 0.5, 1.0 - tail])
    freedom = max(visits - _PARAMETERS, 1.0)
    widen = math.sqrt(max(visits, 2.0) / freedom) * two_sided_quantile(LEVEL, max(freedom, 2.0)) / 1.96
    below = max(_LEAST_HALF_WIDTH * estimate, widen * (middle - low))
    above = max(_LEAST_HALF_WIDTH * estimate, widen * (high - middle))
    return Bounds(estimate, max(0.0, estimate - below), estimate + above)
