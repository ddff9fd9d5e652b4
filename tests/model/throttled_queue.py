"""A device limited by tokens as Linux limits one (blk-throttle), in virtual time: the limit itself is the truth.

In each slice of 0.1 s (DFL_THROTL_SLICE_HD of block/blk-throttle.c) so many requests may pass, and what a slice left
over passes in the next one. What may not pass waits for the next slice. Apart from that latency is small, and as
uneven as on a busy machine.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from storscope.domain.load_curve import PointKind, Visit
from storscope.domain.units import NS_PER_S

FloatArray = npt.NDArray[np.float64]

_SLICE_S = 0.1
_BASE_S = 1e-4
_FIRST = 0.2
_CUT_S = 0.25


class ThrottledQueue:
    """`noise`: deviation of the log of a visit's latency apart from the limit."""

    def __init__(self, limit_per_s: float, seed: int, noise: float) -> None:
        self._limit_per_s, self._noise = limit_per_s, noise
        self._random = np.random.default_rng(seed)

    def visit(self, rate_per_s: float, duration_ns: int, cut_ns: float | None) -> Visit:
        """As storage is visited: on an empty queue, its first fifth left out, ended when latency stays too long."""
        length_s = duration_ns / NS_PER_S
        arrivals = np.sort(self._random.uniform(0, length_s, self._random.poisson(rate_per_s * length_s)))
        passed = self._passed(arrivals)
        usual = _BASE_S * math.exp(self._random.normal(0, self._noise))
        latency = passed - arrivals + usual * self._random.exponential(1, len(arrivals))
        late = passed[latency * NS_PER_S > (cut_ns or math.inf)]
        is_cut = len(late) > 0 and late[0] + _CUT_S < length_s
        end_s = late[0] + _CUT_S if is_cut else length_s
        done = np.sort(latency[(passed >= _FIRST * end_s) & (passed < end_s)])
        waits = latency[(passed >= 0.75 * end_s) & (passed < end_s)]
        is_over = is_cut or bool(waits.mean() > 0.03 * end_s)
        figures = {"mean": float(done.mean()) * NS_PER_S, "p99": float(np.quantile(done, 0.99)) * NS_PER_S}
        return Visit(
            rate_per_s, len(done) / (1 - _FIRST) / end_s, PointKind.OVERLOADED if is_over else PointKind.VALID,
            "more arrived than was served" if is_over else "", figures, round((1 - _FIRST) * end_s * NS_PER_S),
            round(end_s * NS_PER_S),
        )  # fmt: skip

    def _passed(self, arrivals: FloatArray) -> FloatArray:
        """When each may pass."""
        each = round(self._limit_per_s * _SLICE_S)
        passed, slice_, left = np.empty_like(arrivals), 0, each
        for index, arrival in enumerate(arrivals):
            here = int(arrival / _SLICE_S)
            if here > slice_:
                slice_, left = here, min(2 * each, left + (here - slice_) * each)
            elif left == 0:
                slice_, left = slice_ + 1, each
            left -= 1
            passed[index] = max(arrival, slice_ * _SLICE_S)
        return passed
