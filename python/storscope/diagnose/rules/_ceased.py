"""Paths of a device that carried their part and then nothing any more, while the others went on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.rules._intervals import greatest, seconds, told_at
from storscope.domain.arrays import FloatArray
from storscope.domain.entity import EntityRef
from storscope.store.series import Series

_OPS = "ops_per_s"


@dataclass(frozen=True, slots=True)
class Ceased:
    """A path that stopped: since when, and operations of it and of all paths of its device."""

    since_ns: int
    end_ns: int
    before: float
    since: float
    of_all_since: float


def ceased(
    paths: Mapping[EntityRef, Series], *, even_share_min: float, samples_min: float, ops_min_count: float
) -> dict[EntityRef, Ceased]:
    """The paths below that part of an even share in every interval after one, to the end of what they tell.

    The intervals count in which the device has load: at least `samples_min` of them, with at least `ops_min_count`
    operations for each path. An interval that does not tell a path's operations is no sign of rest.
    """
    peak = max((greatest(series[_OPS]) for series in paths.values()), default=float("nan"))
    found = {}
    for path, series in paths.items():
        told = np.flatnonzero(np.isfinite(series[_OPS]))
        if not len(told) or series[_OPS][told[-1]] >= even_share_min * peak > 0:
            continue  # An even share is never above the peak: this path carries to the end.
        rates = _of_all(paths, series)
        last = _last_carrying(series[_OPS][told], rates[told] / len(paths), even_share_min)
        resting = told[last + 1 :][rates[told[last + 1 :]] > 0] if last is not None else told[:0]
        operations = rates * seconds(series)
        if len(resting) < samples_min or operations[resting].sum() < ops_min_count * len(paths):
            continue
        own = series[_OPS] * seconds(series)
        found[path] = Ceased(
            since_ns=int(series.time_ns[resting[0]]),
            end_ns=int(series.time_ns[resting[-1]] + seconds(series)[resting[-1]] * 1e9),
            before=float(np.nansum(own[: resting[0]])),
            since=float(own[resting].sum()),
            of_all_since=float(operations[resting].sum()),
        )
    return found


def _of_all(paths: Mapping[EntityRef, Series], one: Series) -> FloatArray:
    """Operations per second of all paths together in the intervals of one."""
    rates = [told_at(series, _OPS, one.time_ns) for series in paths.values() if series is not one]
    total: FloatArray = np.nansum(np.vstack([one[_OPS], *rates]), axis=0)
    return total


def _last_carrying(own: FloatArray, even: FloatArray, even_share_min: float) -> int | None:
    carrying = np.flatnonzero((own > 0) & (own >= even_share_min * even))
    return int(carrying[-1]) if len(carrying) else None
