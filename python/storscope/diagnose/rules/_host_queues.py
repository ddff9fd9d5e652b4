"""The queues of hosts, when each was full, and which of several in a row is full because of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Settings
from storscope.diagnose.rules._counts import finest
from storscope.diagnose.rules._intervals import greatest, in_runs, mean
from storscope.diagnose.rules._simulated import is_simulated
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.model.knee import knee_utilisation
from storscope.store.series import Series


@dataclass(frozen=True)
class HostQueue:
    series: Series
    bad: BoolArray
    filled: BoolArray
    """Intervals in which it was full, or much waited for it, however long."""
    is_often: bool
    """Whether it was full only for a part of most bad intervals, by their means."""
    limit: float
    """In force while it was full; of a queue that never was, the greatest."""
    lowered_from: float
    """The greatest limit before, where the host lowered it; else the same."""

    @property
    def word(self) -> str:
        """What kind of thing the queue is of."""
        kind = self.series.entity.kind
        return kind if kind in _NAMED_KINDS else "device"


_NAMED_KINDS = ("adapter", "host", "port")
_IN_TURN = ("device", *_NAMED_KINDS)
"""The order in which an operation takes its places (limits.rs of the simulator); it keeps those that it has."""


def host_queues(case: Case, settings: Settings) -> list[HostQueue]:
    """All whose limit is known, full or not."""
    return [full for series in _limited(case) if (full := _full(case, settings, series))]


def _limited(case: Case) -> list[Series]:
    """Queues of one kind a system, so that none counts twice; of a simulated array, whose limits are known, all."""
    limited = case.series(needs=("queue_depth_mean", "queue_limit"))
    simulated = {system for system in {entity.system for entity in limited} if is_simulated(case, system)}
    known = {entity: series for entity, series in limited.items() if entity.system in simulated}
    found = finest(case, "queue_depth_mean") | known
    return [found[entity] for entity in sorted(found)]


def full_behind(case: Case, queue: HostQueue, judged: Sequence[HostQueue]) -> list[HostQueue]:
    """The last queues that all behind one of a host or a LUN come to, and that are full most of the time that it is.

    Ports are not told apart by who passes them: all that are in use have to be full.
    """
    own = queue.series.entity
    ports = full_ports(queue, judged)
    if ports and len(ports) >= _ports_in_use(case, own.system, judged):
        return ports
    for word in ("host", "adapter"):
        hosts = (own.name, own.name.partition("/")[0]) if _comes_before(queue, word) else ()
        found = [one for one in _of(word, own.system, judged) if one.series.entity.name in hosts]
        if found and all(_is_full_with(queue, one) for one in found):
            return found
    return []


def full_ports(queue: HostQueue, judged: Sequence[HostQueue]) -> list[HostQueue]:
    """Ports that are full most of the time that a queue before them is."""
    ports = _of("port", queue.series.entity.system, judged) if _comes_before(queue, "port") else []
    return [one for one in ports if _is_full_with(queue, one)]


def _ports_in_use(case: Case, system: str, judged: Sequence[HostQueue]) -> int:
    """Of so many controllers ports are used, whether they have a limit or not."""
    limited = sum(greatest(one.series["queue_depth_mean"]) > 0 for one in _of("port", system, judged))
    told = case.series("controller", needs=("ops_per_s",))
    working = sum(one.system == system and greatest(series["ops_per_s"]) > 0 for one, series in told.items())
    return max(limited, working)


def _of(word: str, system: str, judged: Sequence[HostQueue]) -> list[HostQueue]:
    return [one for one in judged if (one.word, one.series.entity.system) == (word, system)]


def _comes_before(queue: HostQueue, word: str) -> bool:
    return _IN_TURN.index(queue.word) < _IN_TURN.index(word)


def _is_full_with(queue: HostQueue, other: HostQueue) -> bool:
    return not other.is_often and _meanwhile(queue, other) >= MOST


def held_by(case: Case, queue: HostQueue, judged: Sequence[HostQueue]) -> list[HostQueue]:
    """The queues that are full because this one is."""
    there = [one for one in judged if one.series.entity.system == queue.series.entity.system]
    later = [one for one in there if one.word in _NAMED_KINDS]  # few, where there may be thousands of devices
    before = [one for one in there if _comes_before(one, queue.word)]
    return [one for one in before if any(behind is queue for behind in full_behind(case, one, later))]


def _meanwhile(queue: HostQueue, other: HostQueue) -> float:
    """Part of the time of a full queue in which another one is full, too; 0 of one that is never full."""
    when = queue.series.time_ns[queue.bad]
    return float(np.isin(when, other.series.time_ns[other.bad]).mean()) if len(when) else 0.0


def queued_meanwhile(queue: HostQueue, other: HostQueue) -> float:
    """How many wait before a queue while another one is full, on average; 0 where that is not told."""
    series = queue.series
    return mean(np.nan_to_num(series["queued_mean"][np.isin(series.time_ns, other.series.time_ns[other.bad])]))


def _full(case: Case, settings: Settings, series: Series) -> HostQueue | None:
    """The intervals in which the queue was full, in runs; None when the limit is not known."""
    limits = series["queue_limit"]
    if not series.has("queue_limit"):
        fact = case.fact(series.entity, "queue_limit")
        if fact is None or not fact.number:
            return None
        limits = np.full(len(series), fact.number)
    depth, queued = series["queue_depth_mean"], series["queued_mean"]
    if not greatest(limits) > 0:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        full = depth / limits >= settings["full_ratio"]
        waiting = queued > 0 if series.has("queued_mean") else depth >= limits
        waits = queued / (queued + depth) >= settings["waiting_share_min"]
        costly = waits & (depth >= _used_mins(settings, limits) * limits)
    bad = in_runs((full & waiting) | costly, series.anew, int(settings["samples_min"]))
    is_often = 2 * int((bad & full).sum()) < int(bad.sum())
    return HostQueue(series, bad, full | costly, is_often, *_in_force(limits, bad))


def _in_force(limits: FloatArray, bad: BoolArray) -> tuple[float, float]:
    """The limit that was full most often, of equals the least, and the greatest one before that was."""
    if not bad.any():
        return (greatest(limits),) * 2
    values, counts = np.unique(limits[bad], return_counts=True)
    limit = float(values[np.argmax(counts)])
    first = int(np.flatnonzero(bad & (limits == limit))[0])
    return limit, max(limit, greatest(limits[: first + 1]))


MOST = 0.5
"""Part of the time of a full queue that something behind it is used to the full, to be taken for the cause (ours)."""


def used_min(settings: Settings, limit: float) -> float:
    """The least share of the places in use at which random arrivals wait for one for a good part of their time.

    Where less is in use, something else holds operations back: a limit behind this one, or bursts.
    """
    return knee_utilisation(max(limit, 1.0), 1 / (1 - min(settings["waiting_share_min"], 0.9)))


def _used_mins(settings: Settings, limits: FloatArray) -> FloatArray:
    """The same for the limit of each interval; of one that is not known, that of the shortest queue."""
    values, places = np.unique(np.nan_to_num(limits), return_inverse=True)
    return np.array([used_min(settings, float(limit)) for limit in values])[places]
