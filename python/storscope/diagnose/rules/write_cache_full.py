"""The write cache is full, and writes wait for the drives.

Looks for
    Times in which a write cache holds as much as it may of what the drives do not have yet, and in which writes, or
    those of one of its volumes, take a multiple of what they take at other times. Where it is full whenever something
    is written, writes that take milliseconds.

Why it matters
    A write-back cache answers in a fraction of a millisecond for as long as it has room. It takes bursts, not rates:
    what comes in faster than the drives take it fills the cache, and from then on writes go at the pace of the drives,
    for everybody who writes to that cache.

Evidence
    How full the cache is: MSA, P2000, ME (write-cache-used of show controller-statistics) or a simulation; with the
    latency of writes of its volumes, or of the controller, at the same times.

When it is wrong
    Some caches are kept nearly full on purpose, to coalesce as much as possible, and still have room for each write:
    then writes are as quick as at other times, and nothing is said. Where the cache is full all the time, or whenever
    something is written, nothing tells what writes would take with room: the link to the host may be what is slow.

References
    All limits are ours. That what comes in goes out at the same pace while the cache is full is conservation of what it
    holds; data that is overwritten in the cache goes out once, so that the pace is a little more than the drives'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import in_use, joined, where
from storscope.diagnose.rules._intervals import ends, greatest, in_runs, mean, median, seconds, told_at, told_once
from storscope.diagnose.rules._load import headed, named, opening
from storscope.diagnose.rules._simulated import is_simulated
from storscope.domain import write_cache
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import NS_PER_S, format_bandwidth, format_duration, format_ratio, format_span
from storscope.store.series import Series

_NAME = "write-cache-full"
_NEEDS = "how full the write cache is (MSA, P2000, ME: show controller-statistics), or a simulation with a cache"
_WRITTEN = "write_bytes_per_s"


@dataclass(frozen=True)
class _Cache:
    """A write cache over time, and what was written meanwhile to the volumes behind it."""

    series: Series
    """The share of it that is used, in the column 'value', at the end of each interval."""
    full: BoolArray
    stays_full: BoolArray
    """Of these, those that it was full before: in the one that fills it, it takes more than the drives do."""
    has_room: BoolArray
    """Intervals at whose beginning and end there is room: in one that it was full before, writes waited as well."""
    write_ns: FloatArray
    """Mean latency of all writes in each interval; NaN where none is told."""
    written: dict[EntityRef, FloatArray]
    """Volume -> bytes written per second in each interval."""
    of_volumes: dict[EntityRef, FloatArray]
    """Volume -> mean latency of its own writes in each interval, of those that tell it."""

    @property
    def entity(self) -> EntityRef:
        """The controller or the array that has it."""
        return self.series.entity

    @property
    def full_ns(self) -> float:
        """What a write takes while it is full, the median of the intervals."""
        return median(self.write_ns[self.full])

    @property
    def usual_ns(self) -> float:
        """The same where it has room; NaN where it is full whenever something is written."""
        return median(self.write_ns[self.has_room])

    def of_one(self) -> tuple[EntityRef, float, float] | None:
        """The volume whose own writes are slowest while it is full, over where it has room, with both.

        Of those that write in half of the intervals of either kind: what another one waits for besides, say a limit of
        rates, says nothing of the cache.
        """
        found = [
            (one, median(values[self.full]), median(values[self.has_room]))
            for one, values in self.of_volumes.items()
            if all(2 * np.isfinite(values[when]).sum() >= when.sum() > 0 for when in (self.full, self.has_room))
        ]
        return max(found, key=lambda one: (one[1] / max(one[2], 1.0), one[0]), default=None)

    @property
    def time_share(self) -> float:
        """Part of the time in which it is full."""
        lengths = seconds(self.series)
        return float(lengths[self.full].sum() / lengths.sum())

    @property
    def lasted_s(self) -> float:
        """For how long it is full."""
        return float(seconds(self.series)[self.full].sum())

    @property
    def full_bytes_per_s(self) -> float:
        """Bytes written per second while it is full all the time, by all who are told; NaN where nobody is."""
        told = np.array([values[self.stays_full] for values in self.written.values()])
        known = np.isfinite(told).any(axis=0) if len(told) else np.zeros(0, dtype=bool)
        return mean(np.nansum(told[:, known], axis=0)) if known.any() else float("nan")

    def writers(self) -> list[tuple[EntityRef, float]]:
        """Who writes while it is full, with the share of the bytes, the most first."""
        sums = {one: float(np.nansum(values[self.full])) for one, values in self.written.items()}
        whole = sum(sums.values())
        found = [(one, moved / whole) for one, moved in sums.items() if whole > 0 and moved > 0]
        return sorted(found, key=lambda one: (-one[1], one[0]))


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    told = [told_once(counters[write_cache.USED]) for _, counters in sorted(case.counters((write_cache.USED,)).items())]
    caches = [_cache(case, settings, series) for series in told if len(series)]
    if not caches:
        return [NotEvaluated(_NAME, _NEEDS)]
    return [_judge(case, settings, one) for one in caches]


def _cache(case: Case, settings: Settings, series: Series) -> _Cache:
    volumes = _volumes(case, series.entity)
    at_end = series["value"] >= settings["full_ratio_min"]
    at_start = np.append(False, at_end[:-1]) & ~series.anew
    full = in_runs(at_end, series.anew, round(settings["samples_min"]))
    written = {one.entity: told_at(one, _WRITTEN, series.time_ns) for one in volumes if one.has(_WRITTEN)}
    timed = [one for one in volumes if one.has("write_latency_ns_mean")]
    own = {one.entity: told_at(one, "write_latency_ns_mean", series.time_ns) for one in timed}
    write_ns = _write_ns(case, series, volumes)
    return _Cache(series, full, full & at_start, ~(at_start | at_end), write_ns, written, own)


def _volumes(case: Case, owner: EntityRef) -> list[Series]:
    """Those behind a controller, or all of the array; where no owner is known, all of the system."""
    found = [one for entity, one in sorted(case.series("vdisk").items()) if entity.system == owner.system]
    if owner.kind == "array":
        return found
    owned = [one for one in found if owner in case.linked(one.entity, "owned_by")]
    return owned or found


def _write_ns(case: Case, cache: Series, volumes: Sequence[Series]) -> FloatArray:
    """By the writes of its volumes; where these have no latency of writes, by the controller's own."""
    timed = [one for one in volumes if one.has("write_latency_ns_mean") and one.has("write_ops_per_s")]
    if timed:
        latency, ops = (
            np.array([told_at(one, column, cache.time_ns) for one in timed])
            for column in ("write_latency_ns_mean", "write_ops_per_s")
        )
        ops = np.where(np.isfinite(latency), np.nan_to_num(ops), 0.0)
        with np.errstate(invalid="ignore"):
            of_all: FloatArray = np.nansum(latency * ops, axis=0) / ops.sum(axis=0)
        return of_all
    own = case.all_series.get(cache.entity)
    if own is not None and own.has("write_latency_ns_mean"):
        return told_at(own, "write_latency_ns_mean", cache.time_ns)
    return np.full(len(cache), np.nan)


def _judge(case: Case, settings: Settings, cache: _Cache) -> Outcome:
    who = named(case, cache.entity)
    most = greatest(cache.series["value"])
    if not cache.full.any():
        return Healthy(_NAME, f"The write cache of {who} is at most {format_ratio(min(most, 1.0))} full.")
    if not np.isfinite(cache.full_ns):
        return NotEvaluated(_NAME, f"the latency of writes of {who} in the time in which its write cache is full")
    is_always = not np.isfinite(cache.usual_ns)
    least_ns = settings["slow_ns_min"] if is_always else settings["factor_min"] * cache.usual_ns
    one = cache.of_one()
    if cache.full_ns >= least_ns:
        return _finding(case, settings, cache, f"a write takes {_instead_words(cache.full_ns, cache.usual_ns)}")
    if one is not None and one[1] >= settings["factor_min"] * one[2]:
        own = f"a write of {named(case, one[0])} takes {_instead_words(one[1], one[2])}"
        all_words = f"all together {format_duration(cache.full_ns)} instead of {format_duration(cache.usual_ns)}"
        return _finding(case, settings, cache, f"{own}, {all_words}")
    usual = "" if is_always else f", {format_duration(cache.usual_ns)} at other times"
    return Healthy(
        _NAME,
        f"The write cache of {who} is full for {format_ratio(cache.time_share)} of the time, and a write takes "
        f"{format_duration(cache.full_ns)} then{usual}.",
    )


def _instead_words(full_ns: float, usual_ns: float) -> str:
    """'12.0 ms instead of 300 µs (medians)'."""
    full = format_duration(full_ns)
    return f"{full} instead of {format_duration(usual_ns)} (medians)" if np.isfinite(usual_ns) else f"{full} (median)"


def _finding(case: Case, settings: Settings, cache: _Cache, takes: str) -> Finding:
    """`takes` says what a write takes while it is full, and else."""
    start, end = ends(cache.series, cache.full) or (None, None)
    writers = cache.writers()
    is_short = cache.time_share < settings["time_share_real"]
    is_always = not np.isfinite(cache.usual_ns)
    return Finding(
        rule=_NAME,
        severity=Severity.INFO if is_short else Severity.WARNING,
        confidence=0.6 if is_always else 0.85,
        title=f"{headed(opening(case, cache.entity))} write cache full {format_ratio(cache.time_share)} of the time",
        summary=(
            f"For {format_span(cache.lasted_s * NS_PER_S)} in all the write cache of {named(case, cache.entity)} has "
            f"no room, and {takes}."
            f"{_writer_words(case, writers)}{_pace_words(cache)}"
        ),
        why="A full cache takes a write only when the drives have taken another one: it then hides nothing of them.",
        innocent="A bulk load or a restore fills it, nobody else writes meanwhile, and it ends by itself.",
        check=_check(case, cache, writers),
        remedy=(
            "Slow down or move what fills it (limit its rate, other hours, other drives), or let the drives take more: "
            "more of them, or a layout that writes less for each write (RAID 1 or 10 instead of 5 or 6). A larger "
            "cache takes longer bursts, and no higher rate."
        ),
        source=f"Full from {format_ratio(settings['full_ratio_min'])} on, and writes {settings['factor_min']:g} times "
        "as slow as at other times: ours.",
        entities=(cache.entity, *(one for one, _ in writers[:1])),
        start_ns=start,
        end_ns=end,
        evidence=(_rows(case, settings, cache),),
        weight=min(1.0, 0.4 + cache.time_share / 2),
        numbers={
            "time_share": cache.time_share, "write_latency_ns": cache.full_ns,
        } | ({} if is_always else {"write_latency_ns_usual": cache.usual_ns})
        | ({"share_of_writer": writers[0][1]} if writers else {}),
    )  # fmt: skip


def _writer_words(case: Case, writers: Sequence[tuple[EntityRef, float]]) -> str:
    if not writers:
        return ""
    told = [f"{named(case, one)} ({format_ratio(share)} of the bytes)" for one, share in writers[:2]]
    return f" Meanwhile {joined(told)} write{'s' if len(told) == 1 else ''} most."


def _pace_words(cache: _Cache) -> str:
    """What comes in while it is full is what the drives take, and what overwrites data that is still in it."""
    pace = cache.full_bytes_per_s
    return f" Writes go on at {format_bandwidth(pace)} (mean): about what the drives take." if pace > 0 else ""


def _check(case: Case, cache: _Cache, writers: Sequence[tuple[EntityRef, float]]) -> str:
    if is_simulated(case, cache.entity.system):
        return "Simulate it again with a larger cache, and without who writes most, and compare the runs."
    who = named(case, writers[0][0]) if writers else "who writes most"
    return f"Pause {who} for some minutes: the cache must empty, and writes of all others must be quick again."


def _rows(case: Case, settings: Settings, cache: _Cache) -> EvidenceRows:
    """Each volume while the cache is full and while it has room; how full it is where no volume tells its writes."""
    used = where([cache.entity], f"name = '{write_cache.USED}'", case.time_condition())
    if not cache.written:
        return case.evidence(
            "When the write cache was fullest",
            f"""SELECT time, entity, round(value, 3) AS {write_cache.USED} FROM counters
            WHERE {used} ORDER BY value DESC, time LIMIT 20""",
        )
    return case.evidence(
        f"Writes while the write cache of {case.label(cache.entity)} is full and while it has room",
        f"""WITH ends AS (SELECT {case.instant()} AS at_ns, value >= {settings["full_ratio_min"]:g} AS is_full
        FROM counters WHERE {used}),
        cache AS (SELECT *, NOT is_full AND NOT lag(is_full, 1, false) OVER (ORDER BY at_ns) AS has_room FROM ends),
        writes AS (SELECT entity, {case.instant()} AS start_ns, duration_ns, {_WRITTEN}, write_latency_ns_mean
        FROM observations WHERE {in_use(case, cache.written)})
        SELECT entity, count(*) FILTER (is_full) AS intervals_full,
        round(median(write_latency_ns_mean) FILTER (is_full)) AS write_latency_ns_full,
        round(median(write_latency_ns_mean) FILTER (has_room)) AS write_latency_ns_with_room,
        round(avg({_WRITTEN}) FILTER (is_full)) AS {_WRITTEN}_full,
        round(avg({_WRITTEN}) FILTER (has_room)) AS {_WRITTEN}_with_room
        FROM writes JOIN cache ON at_ns >= start_ns AND at_ns < start_ns + duration_ns
        GROUP BY entity ORDER BY {_WRITTEN}_full DESC NULLS LAST, entity""",
    )


RULE = Rule(
    name=_NAME,
    title="the write cache is full, and writes wait for the drives",
    evaluate=_evaluate,
    thresholds=(
        Threshold("full_ratio_min", 0.95, "share of what the cache may hold from which it is full", "ours"),
        Threshold("samples_min", 2, "intervals on end in which it must be", "ours"),
        Threshold("slow_ns_min", 5_000_000, "latency of writes from which a cache that is full at all of them is told",
                  "ours; with room it is below a millisecond"),
        Threshold("factor_min", 2.0, "latency of writes while it is full over that of other times", "ours"),
        Threshold("time_share_real", 0.02, "share of the time from which it is a warning", "ours"),
    ),
)  # fmt: skip
