"""How one entity did against the latency limits of its tier.

A share of operations says what most of them met. It is blind for a stall: who waits begins nothing new, so the worst
time has the fewest operations ("coordinated omission", Tene). So time on end, shares of time and of waiting, and time
without any completion are judged as well. These leave out the intervals that do far more than usual: a backup, a copy
or a flush is slow per operation because so much is asked at once, and is judged by its operations and by ten minutes on
end, as ever.

What is on end goes by time, from two intervals on: monitoring at 5 or 10 minutes has no more of an incident. One alone
is a spike, which a short flood of requests explains, but for a mean that shows a stall.

Reads and writes are judged each by their own rate, too, where the source parts them: who waits for storage waits for
reads, and the mean of many writes that a cache took at once hides them. What is worst is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.directions import are_mixed, directions
from storscope.diagnose.rule import Settings
from storscope.diagnose.rules._intervals import seconds, weighted_mean
from storscope.diagnose.stalls import (
    HIDDEN_WAITING_S,
    HiddenStall,
    Stall,
    hidden_stalls,
    latency_with_stalls_ns,
    stalled,
    stalls_of,
    worst_hidden,
)
from storscope.diagnose.tier_limits import TierLimits, tier_limits
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.units import NS_PER_S
from storscope.model.overload import runs_of
from storscope.store.series import Series

_QUEUED = 2.0
"""Operations in flight for ever that are more than one lost by a counter (ours)."""
_INTERVALS_ON_END = 2
"""One interval alone is a spike, however long it is (ours)."""
_INTERVALS_PUSHED = 3
"""Intervals on end for what does far more than usual: a short backup can lie in two (ours)."""
_INTERVALS_OF_FEW = 3
"""Intervals on end with few operations that count though they are shorter than `held_up_s` (ours)."""
_FAR_S = 6_000.0
"""Length of one interval times how far it is above its limit from which it is told: ten minutes at ten times (ours)."""


@dataclass(frozen=True)
class Verdict:
    """How one entity did against its tier."""

    entity: EntityRef
    of: str
    """'reads' or 'writes'; empty for all operations."""
    means_ns: Mapping[str, float]
    """The mean latencies of 'reads' and of 'writes', where they are told apart."""
    is_mixed: bool
    """True where the mean may be one of reads and writes that nothing tells apart."""
    limits: TierLimits
    severity: Severity | None
    share: float
    """Share of operations above the limit of its severity (warning limit when healthy)."""
    share_of_time: float
    """Share of the time in which it worked or stalled; what does far more than usual left out."""
    share_of_waiting: float
    """Share of operations x latency, as the share of time; NaN when no rate is known."""
    longest_ns: int
    above_ns: int
    """Time above that limit in all."""
    operations: float
    """Operations above it in all; NaN when no rate is known."""
    mean_ns: float
    """Mean latency of all its operations; NaN when none was completed."""
    waiting: float
    """Seconds of waiting a second, summed over intervals: its part of the system's harm."""
    limit_ns: float
    wide_limit_ns: float
    """The limit for the mean of all: wider as far as the I/O is large."""
    mean_limit_ns: float
    """The same of the warning limit."""
    start_ns: int
    end_ns: int
    stall: Stall | None
    """The longest time without a completion while operations waited."""
    hidden: HiddenStall | None
    """The worst interval whose own mean shows a stall."""

    @property
    def is_stall(self) -> bool:
        """True when a stall is the worst that is known of it."""
        return self.stall is not None and self.severity is not None

    @property
    def is_hidden_stall(self) -> bool:
        """True when all that is known of a stall is the mean of a long interval."""
        return self.hidden is not None and self.severity is not None and not self.is_stall

    @property
    def alike(self) -> tuple[object, ...]:
        """The same for verdicts that one title can tell together."""
        return self.limit_ns, self.is_stall, self.is_hidden_stall, self.of


@dataclass(frozen=True)
class _Seen:
    """What an entity did, as far as it counts."""

    series: Series
    of: str
    limits: TierLimits
    latency_ns: FloatArray
    """The length of the stall where nothing completed."""
    active: BoolArray
    """True where enough operations were timed, or few that kept it waiting all the time."""
    held: BoolArray
    """True where it is known to have stalled."""
    weight: FloatArray
    lengths_s: FloatArray
    in_flight: FloatArray
    """By Little's law, at least one where it stalled; NaN when no rate is known."""
    pushed: BoolArray
    """True where it does far more than usual."""
    hidden: BoolArray
    """True where the mean of the interval alone shows a stall."""

    @property
    def counted(self) -> BoolArray:
        """True for the intervals that can be above a limit."""
        return self.active | self.held

    def limit_ns(self, limit_ns: float) -> FloatArray:
        """One of the limits in each interval: wider where the I/O is large."""
        return self.limits.along(self.series, limit_ns)


def judge(case: Case, settings: Settings, series: Series) -> Verdict | None:
    """What is worst of all its operations, its reads and its writes; None when the entity was idle all the time."""
    stalls = stalls_of(case, series.entity)
    limits = tier_limits(case, series.entity, settings)
    whole = _seen(settings, series, limits, [stall for stall in stalls if stall.proven])
    worst = _judge(settings, whole, stalls)
    if worst is None:
        return None
    for of, part in directions(series, settings["direction_share_min"]).items():
        seen = replace(_seen(settings, part, limits, []), of=of)
        found = _judge(settings, replace(seen, pushed=seen.pushed | whole.pushed), [])
        if found is not None and _badness(found) > _badness(worst):
            worst = found
    means = {of: _mean_ns(part, part["ops_per_s"]) for of, part in directions(series, 0).items()}
    return replace(worst, means_ns=means, is_mixed=are_mixed(series, settings["direction_share_min"]))


def is_long_enough(settings: Settings, active: BoolArray, lengths_s: FloatArray) -> bool:
    """Whether there are intervals enough at work to judge by: a few, or two that are long."""
    count = int(active.sum())
    long = count >= _INTERVALS_ON_END and float(lengths_s[active].sum()) >= settings["held_up_s"]
    return count >= settings["intervals_min_count"] or long


def _badness(verdict: Verdict) -> tuple[int, float]:
    """What is as severe says more of all operations; of what is within its limits the nearest to them is told."""
    nearness = 0.0 if verdict.severity else verdict.mean_ns / verdict.mean_limit_ns
    return verdict.severity or 0, nearness


def _judge(settings: Settings, seen: _Seen, stalls: list[Stall]) -> Verdict | None:
    limits, proven = seen.limits, [stall for stall in stalls if stall.proven]
    if not is_long_enough(settings, seen.active, seen.lengths_s) and not stalls and not seen.hidden.any():
        return None
    longest = max(proven or stalls, key=lambda stall: stall.length_ns, default=None)
    slight = None
    for severity, limit_ns in ((Severity.CRITICAL, limits.critical_ns), (Severity.WARNING, limits.warning_ns)):
        above = seen.counted & (seen.latency_ns > seen.limit_ns(limit_ns))
        found = _verdict(seen, severity, limit_ns, above, above, longest)
        if proven or found.hidden or _held_up(settings, seen, found, above):
            return found
        if found.share >= settings["sustained_share"] or _on_end(settings, seen, above):
            if _is_enough(settings, found):
                return found
            slight = slight or replace(found, severity=Severity.INFO)
    if longest is not None or found.mean_ns > found.mean_limit_ns or _much_waits(settings, seen):
        slight = slight or replace(found, severity=_of_doubt(seen, longest))
    return slight or _verdict(seen, None, limits.warning_ns, above, seen.counted, longest)


def _of_doubt(seen: _Seen, stall: Stall | None) -> Severity:
    """What is told of too little evidence. One thing never seen to work is more likely hung the more wait for it."""
    never_worked = stall is not None and not seen.active.any()
    return Severity.WARNING if never_worked and stall and stall.in_flight >= _QUEUED else Severity.INFO


def _seen(settings: Settings, series: Series, limits: TierLimits, proven: list[Stall]) -> _Seen:
    latency, ops, known = series["latency_ns_mean"], series["ops_per_s"], series.has("ops_per_s")
    weight = ops if known else np.ones(len(series))
    held = stalled(series, proven)
    waiting = np.isfinite(latency) & (ops * latency >= NS_PER_S)
    active = np.isfinite(latency) & (weight >= (settings["idle_ops_per_s"] if known else 0))
    active |= _in_long_runs(settings, series, waiting | held) & waiting
    pushed = _pushed(settings, series, active)
    hidden = hidden_stalls(series, settings["above_min_operations"])
    active |= hidden
    return _Seen(
        series, "", limits, latency_with_stalls_ns(series, proven), active, held,
        np.where(active, np.nan_to_num(weight), 0.0), seconds(series),
        np.where(held, np.fmax(series["queue_depth_mean"], 1.0), ops * latency / NS_PER_S), pushed, hidden,
    )  # fmt: skip


def _in_long_runs(settings: Settings, series: Series, flags: BoolArray) -> BoolArray:
    result, lengths_s = np.zeros(len(flags), dtype=bool), seconds(series)
    for first, last in runs_of(flags, series.anew):
        lasted = last > first and lengths_s[first : last + 1].sum() >= settings["held_up_s"]
        result[first : last + 1] = lasted or last - first + 1 >= _INTERVALS_OF_FEW
    return result


def _pushed(settings: Settings, series: Series, active: BoolArray) -> BoolArray:
    """True where operations or bytes are far above their median at work."""
    result = np.zeros(len(series), dtype=bool)
    for column in ("ops_per_s", "bytes_per_s"):
        usual = series[column][active & np.isfinite(series[column])]
        if len(usual):
            result |= series[column] >= settings["pushed_factor"] * float(np.median(usual))
    return result


def _is_enough(settings: Settings, verdict: Verdict) -> bool:
    """False for a few seconds, or a few operations: whatever their share, they prove nothing."""
    few = verdict.operations < settings["above_min_operations"]
    return verdict.above_ns >= settings["above_min_s"] * NS_PER_S and not few


def _on_end(settings: Settings, seen: _Seen, above: BoolArray) -> bool:
    """True when it was above the limit for as long as counts without regard to how far."""
    return any(
        seen.lengths_s[first : last + 1].sum() >= settings["sustained_s"]
        for flags, intervals in ((above & ~seen.pushed, _INTERVALS_ON_END), (above, _INTERVALS_PUSHED))
        for first, last in runs_of(flags, seen.series.anew)
        if last - first + 1 >= intervals
    )


def _much_waits(settings: Settings, seen: _Seen) -> bool:
    """True when one interval has so much waiting, so far above, that it is told though nobody knows how it came."""
    free = seen.active & ~seen.pushed & (seen.in_flight * seen.lengths_s >= HIDDEN_WAITING_S)
    excess_s = seen.lengths_s * seen.latency_ns / seen.limit_ns(seen.limits.critical_ns)
    return bool((free & (seen.lengths_s >= settings["above_min_s"]) & (excess_s >= _FAR_S)).any())


def _held_up(settings: Settings, seen: _Seen, verdict: Verdict, above: BoolArray) -> bool:
    """True when it did no more than usual and was so far above, or so much of the time, that few operations count."""
    if not seen.series.has("ops_per_s"):
        return False
    free = above & ~seen.pushed
    at_work_s = float((seen.lengths_s * np.fmin(np.nan_to_num(seen.in_flight), 1.0))[free].sum())
    often = verdict.share_of_time >= settings["time_share"] and verdict.share_of_waiting >= settings["waiting_share"]
    if often and at_work_s >= settings["above_min_s"]:
        return True
    excess_s = seen.lengths_s * seen.latency_ns / seen.limit_ns(verdict.limit_ns)
    return any(
        last - first + 1 >= _INTERVALS_ON_END
        and seen.lengths_s[first : last + 1].sum() >= settings["held_up_s"]
        and excess_s[first : last + 1].sum() >= settings["sustained_s"]
        for first, last in runs_of(free, seen.series.anew)
    )


def _verdict(
    seen: _Seen, severity: Severity | None, limit_ns: float, above: BoolArray, where: BoolArray, stall: Stall | None,
) -> Verdict:  # fmt: skip
    """What happened `above` the limit; it is told of the time `where`."""
    series, weight, lengths, inside = seen.series, seen.weight, seen.lengths_s, np.flatnonzero(where)
    free, known = above & ~seen.pushed, series.has("ops_per_s")
    waiting = np.where(seen.counted, np.nan_to_num(seen.in_flight), 0.0) * lengths
    runs = [float(lengths[first : last + 1].sum()) for first, last in runs_of(above, series.anew)]
    return Verdict(
        series.entity, seen.of, {}, False, seen.limits, severity, _part(weight, above),
        _part(np.where(seen.counted, lengths, 0.0), free),
        _part(waiting, free) if known else float("nan"), round(max(runs, default=0.0) * NS_PER_S),
        round(float(lengths[above].sum()) * NS_PER_S),
        float((weight * lengths)[above].sum()) if known else float("nan"),
        _mean_ns(series, weight),
        float(np.nansum(weight * series["latency_ns_mean"]) / NS_PER_S + seen.in_flight[seen.held].sum()), limit_ns,
        _mean_limit_ns(seen, limit_ns), _mean_limit_ns(seen, seen.limits.warning_ns),
        int(series.time_ns[inside[0]]) if len(inside) else stall.start_ns if stall else 0,
        _end_ns(seen, int(inside[-1])) if len(inside) else stall.end_ns if stall else 0, stall,
        worst_hidden(series, seen.hidden & free),
    )  # fmt: skip


def _end_ns(seen: _Seen, interval: int) -> int:
    return int(seen.series.time_ns[interval]) + round(float(seen.lengths_s[interval]) * NS_PER_S)


def _mean_ns(series: Series, weight: FloatArray) -> float:
    return weighted_mean(series["latency_ns_mean"], weight)


def _mean_limit_ns(seen: _Seen, limit_ns: float) -> float:
    return float(np.average(seen.limit_ns(limit_ns), weights=seen.weight)) if seen.weight.any() else limit_ns


def _part(weight: FloatArray, chosen: BoolArray) -> float:
    """The share of the weight that the chosen have; 0 of nothing."""
    total = float(weight.sum())
    return float(weight[chosen].sum()) / total if total > 0 else 0.0
