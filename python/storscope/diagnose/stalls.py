"""Stalls: time in which an entity completed nothing although operations waited.

No operation, no latency: an interval without completions has none, so a hang leaves a hole where latency should be
worst. What shows it are a queue, or a device that is busy all the time, with no read or write completed; or operations
that report afterwards that they waited that long (Linux before 5.17 shows nothing while it lasts: 86d7331299fd).

Beware: in-flight counters of some kernels get stuck, and an idle device then looks busy for ever. A stall is `proven`
only where the first operations after it were slow, or where the same counters told light load as such before.
Discards and flushes count as work where they are known. A job's queue is what it was told to keep, and proves nothing.

An interval of a minute or more hides a stall, since operations complete before and after it. Its mean tells of it only
where most of them waited: `hidden_stalls`. A mean of less may as well come of a short flood of requests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.domain.arrays import BoolArray, FloatArray, IntArray
from storscope.domain.entity import EntityRef
from storscope.domain.units import NS_PER_S
from storscope.model.overload import runs_of
from storscope.store.series import Series

SHORTEST_NS = 30 * NS_PER_S
"""Linux lets a SCSI command wait 30 s before it aborts it (SD_TIMEOUT, drivers/scsi/sd.h)."""
_FULL = 0.95
"""Share of the time busy, or operations in flight, from which something was outstanding all the time (ours)."""
_LIGHT = 0.5
"""Operations in flight by Little's law below which a counter that says `_FULL` is wrong (ours)."""
_HIDDEN_NS = SHORTEST_NS / 2
"""What operations that came evenly over the shortest stall waited in the mean."""
HIDDEN_WAITING_S = 3_600.0
"""Seconds of waiting, summed over operations, in one interval that a drive that spins up does not reach (ours)."""
_SLOWER_FACTOR = 10.0
"""Times the usual latency that the first operations after a stall took (ours)."""
_UNFIT_KINDS = frozenset({"job", "process"})
_OTHER_WORK = ("d/s", "f/s")
"""Discards and flushes per second, as iostat calls them."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A stretch of intervals without a completion."""

    first: int
    """Index of its first interval in the series."""
    last: int
    start_ns: int
    end_ns: int
    in_flight: float
    """Operations that waited, in the mean; NaN where no counter tells."""
    proven: bool

    @property
    def length_ns(self) -> int:
        """How long it lasted at the least."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True, slots=True)
class HiddenStall:
    """An interval in which something completed, but so late that it stalled inside."""

    start_ns: int
    end_ns: int
    latency_ns: float
    operations: float


def hidden_stalls(series: Series, operations_min: float) -> BoolArray:
    """True for the long intervals whose own mean shows a stall.

    Fewer operations than `operations_min` show none. The series may be one of only reads, or only writes, too.
    """
    latency = series["latency_ns_mean"]
    operations = _operations(series)
    shown = (latency >= _HIDDEN_NS) & (_lengths_ns(series) >= SHORTEST_NS) & (operations >= operations_min)
    return shown & (operations * latency >= HIDDEN_WAITING_S * NS_PER_S) & (series.entity.kind not in _UNFIT_KINDS)


def worst_hidden(series: Series, among: BoolArray) -> HiddenStall | None:
    """The interval with the most waiting `among` those that hide a stall; None when there is none."""
    if not among.any():
        return None
    operations, latency = _operations(series), series["latency_ns_mean"]
    worst = int(np.argmax(np.where(among, operations * latency, 0.0)))
    start_ns = int(series.time_ns[worst])
    end_ns = start_ns + int(_lengths_ns(series)[worst])
    return HiddenStall(start_ns, end_ns, float(latency[worst]), float(operations[worst]))


def _lengths_ns(series: Series) -> IntArray:
    return np.where(series.duration_ns > 0, series.duration_ns, series.interval_ns)


def _operations(series: Series) -> FloatArray:
    """How many there were in each interval; NaN where no rate is known."""
    return series["ops_per_s"] * _lengths_ns(series) / NS_PER_S


def stalls_of(case: Case, entity: EntityRef) -> list[Stall]:
    """The stalls of an entity in order of time; none where its kind or its counters cannot tell."""
    key = ("stalls", entity)
    if key not in case.memo:
        series = case.all_series.get(entity)
        usable = series is not None and series.has("ops_per_s") and entity.kind not in _UNFIT_KINDS
        case.memo[key] = _find(case, series) if series is not None and usable else []
    found: list[Stall] = case.memo[key]
    return found


def _find(case: Case, series: Series) -> list[Stall]:
    nothing = series["ops_per_s"] == 0
    told = nothing & ((series["busy_ratio"] >= _FULL) | (series["queue_depth_mean"] >= _FULL))
    waited = nothing & _waited_for(series)
    found = [stall for stall in _stalls(series, told | waited, waited) if stall.length_ns >= SHORTEST_NS]
    if not found or not (other := _other_work(case, series)).any():
        return found
    return [stall for stall in _stalls(series, (told | waited) & ~other, waited) if stall.length_ns >= SHORTEST_NS]


def _waited_for(series: Series) -> BoolArray:
    """True for the intervals in which operations waited that an interval of slow completions ends."""
    result = np.zeros(len(series), dtype=bool)
    ends_ns = series.time_ns + series.duration_ns
    latency = series["latency_ns_mean"]
    for index in np.flatnonzero(np.nan_to_num(latency) >= SHORTEST_NS):
        first = int(np.searchsorted(series.time_ns, ends_ns[index] - latency[index]))
        result[first:index] = True
    return result


def _stalls(series: Series, held: BoolArray, waited: BoolArray) -> list[Stall]:
    latency, trusted = series["latency_ns_mean"], _counters_fit(series)
    usual_ns = float(np.nanmedian(latency)) if np.isfinite(latency).any() else np.nan
    found = []
    for first, last in runs_of(held, series.anew):
        inside = series["queue_depth_mean"][first : last + 1]
        in_flight = float(np.nanmean(inside)) if (np.nan_to_num(inside) > 0).any() else np.nan
        slow_after = last + 1 < len(series) and bool(latency[last + 1] >= _SLOWER_FACTOR * usual_ns)
        end_ns = int(series.time_ns[last]) + int(series.duration_ns[last] or series.interval_ns)
        proven = trusted or slow_after or bool(waited[first : last + 1].any())
        found.append(Stall(first, last, int(series.time_ns[first]), end_ns, in_flight, proven))
    return found


def _counters_fit(series: Series) -> bool:
    """False where there is no interval to tell, or light load was mostly told as something in flight all the time."""
    ops, latency = series["ops_per_s"], series["latency_ns_mean"]
    working = (ops > 0) & np.isfinite(latency)
    light = working & (ops * latency / NS_PER_S < _LIGHT)
    wrong = light & ((series["busy_ratio"] >= _FULL) | (series["queue_depth_mean"] >= _FULL))
    return bool(working.any()) and int(wrong.sum()) * 2 <= int(light.sum())


def _other_work(case: Case, series: Series) -> BoolArray:
    """True for the intervals in which the entity completed discards or flushes."""
    if "other_work" not in case.memo:
        case.memo["other_work"] = case.counters(_OTHER_WORK)
    counters: dict[str, Series] = case.memo["other_work"].get(series.entity, {})
    result = np.zeros(len(series), dtype=bool)
    for counter in counters.values():
        result |= np.isin(series.time_ns, counter.time_ns[counter["value"] > 0])
    return result


def stalled(series: Series, found: list[Stall]) -> BoolArray:
    """True for the intervals that lie in one of the stalls."""
    result = np.zeros(len(series), dtype=bool)
    for stall in found:
        result[stall.first : stall.last + 1] = True
    return result


def latency_with_stalls_ns(series: Series, found: list[Stall]) -> FloatArray:
    """The mean latencies; where nothing completed the length of the stall, which its first operations waited at least.

    An estimate from below, of no use but to compare with a limit.
    """
    latency = series["latency_ns_mean"].copy()
    for stall in found:
        latency[stall.first : stall.last + 1] = stall.length_ns
    return latency
