"""Flushes take the time of a device, while its reads and writes are quick.

Looks for
    Devices on which a flush is under way for most of the time of an interval, and takes a multiple of what a write
    takes. So it is with a database, a journal or a guest that makes every commit durable (fsync, fdatasync, write
    barriers) on a drive whose cache must be emptied for it.

Why it matters
    A commit returns when its flush does, so commits one after the other are at most as many as flushes. Neither the
    rate nor the latency of reads and writes shows it, and faster reads or a deeper queue change nothing.

Evidence
    Flushes and their latency per device: iostat -x of sysstat 12 or later, or pages of node_exporter or /proc/diskstats
    over time, of Linux 5.5 or later; or a simulation; with the rate and latency of writes. Ten intervals and half a
    minute of it.

When it is wrong
    A batch that syncs all the time (the installation of packages, a restore) has it for as long as it lasts, and nobody
    waits. One flush may be of many commits that a database put together: then it is fine, however much of the time it
    takes. A flush is counted where the kernel sends it: a volume of the device mapper shows none, its disk does.

References
    Documentation/block/writeback_cache_control.rst of Linux: a flush makes a drive write its volatile cache before it
    answers; a drive with power-loss protection need not. blk-flush.c sends one flush at a time for all that wait, and
    counts how long it took since Linux 5.5 (f/s and f_await of iostat). The part of the time that they take is rate
    times latency (Little 1961). The limits are ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._asked_words import things_words
from storscope.diagnose.rules._entities import in_use, joined
from storscope.diagnose.rules._intervals import ends, mean, median, seconds, weighted_mean
from storscope.diagnose.rules._load import headed, named, opening
from storscope.diagnose.rules._simulated import is_simulated
from storscope.domain.arrays import BoolArray, FloatArray, IntArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import NS_PER_S, format_duration, format_rate, format_ratio, format_span, ns_from_ms
from storscope.store.series import Series

_NAME = "flush-bound"
_RATE, _LATENCY_MS = "f/s", "f_await"
_NEEDS = "flushes and their latency per device (iostat -x of sysstat 12 on Linux 5.5 or later, node_exporter)"


@dataclass(frozen=True)
class _Flushes:
    """What flushed a device in each of its intervals."""

    series: Series
    per_s: FloatArray
    latency_ns: FloatArray
    bound: BoolArray
    """The intervals in which flushes take the time."""

    @property
    def entity(self) -> EntityRef:
        return self.series.entity

    @property
    def busy(self) -> FloatArray:
        """Part of the time with a flush under way."""
        return self.per_s * self.latency_ns / NS_PER_S

    @property
    def time_share(self) -> float:
        """Part of the intervals with flushes in which they take the time."""
        return float(self.bound.sum() / max(int((self.per_s > 0).sum()), 1))


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    systems: dict[str, list[_Flushes]] = defaultdict(list)
    found = {
        entity: of for kind in ("device", "vdisk") for entity, of in case.counters((_RATE, _LATENCY_MS), kind).items()
    }
    for entity, counters in sorted(found.items()):
        series = case.all_series.get(entity)
        if series is not None and {_RATE, _LATENCY_MS} <= counters.keys():
            systems[entity.system].append(_flushes(settings, series, counters[_RATE], counters[_LATENCY_MS]))
    if not systems:
        return [NotEvaluated(_NAME, _NEEDS)]
    return [_judge(case, settings, system, found) for system, found in systems.items()]


def _flushes(settings: Settings, series: Series, rate: Series, latency_ms: Series) -> _Flushes:
    per_s, latency_ns = _at(rate, series.time_ns), ns_from_ms(1.0) * _at(latency_ms, series.time_ns)
    busy = per_s * latency_ns / NS_PER_S
    others = np.nan_to_num(series["ops_per_s"] * series["latency_ns_mean"]) / NS_PER_S
    with np.errstate(invalid="ignore"):
        slow = (latency_ns >= settings["flush_ns_min"]) & ~(
            latency_ns < settings["write_factor"] * series["write_latency_ns_mean"]
        )
        bound = (busy >= settings["busy_ratio_min"]) & slow & (others <= busy)
    return _Flushes(series, per_s, latency_ns, bound)


def _at(counter: Series, times_ns: IntArray) -> FloatArray:
    """The values of a counter that were told with these intervals; NaN where none was."""
    place = np.minimum(np.searchsorted(counter.time_ns, times_ns), len(counter) - 1)
    return np.where(counter.time_ns[place] == times_ns, counter["value"][place], np.nan)


def _judge(case: Case, settings: Settings, system: str, every: Sequence[_Flushes]) -> Outcome:
    told = [one for one in every if _lasts(settings, one)]
    if told:
        return _finding(case, settings, sorted(told, key=lambda one: (-int(one.bound.sum()), one.entity)))
    short = [one for one in every if one.bound.any()]
    if short:
        return NotEvaluated(_NAME, _longer(settings, max(short, key=lambda one: int(one.bound.sum()))))
    things = things_words(one.entity for one in every)
    most = max(every, key=lambda one: (_most(one.busy), one.entity))
    if not _most(most.busy) > 0:
        return Healthy(_NAME, f"Nothing flushed {things} of {system}.")
    usual_ns, share = weighted_mean(most.latency_ns, most.per_s), _most(most.busy)
    when = (
        "where one was under way for most of an interval, it was quick, or reads and writes waited as long"
        if share >= settings["busy_ratio_min"]
        else f"one was under way for at most {format_ratio(share)} of an interval"
    )
    held_up = f"any of {things}" if len(every) > 1 else f"the {things.removeprefix('1 ')}"
    return Healthy(
        _NAME,
        f"Flushes are not what holds up {held_up} of {system}: they take {format_duration(usual_ns)} each in the "
        f"mean ({named(case, most.entity)}), and {when}.",
    )


def _longer(settings: Settings, one: _Flushes) -> str:
    """What is needed to tell of flushes that took the time for too short a while."""
    lasted, needed = (format_span(length * NS_PER_S) for length in (_lasted_s(one), settings["bound_s"]))
    return (
        f"flushes of {one.entity.name} over a longer time: they took the time for {lasted}, and {needed} of it in "
        f"{settings['samples_min']:g} intervals are no chance"
    )


def _lasted_s(one: _Flushes) -> float:
    return float(seconds(one.series)[one.bound].sum())


def _most(values: FloatArray) -> float:
    return float(np.nanmax(values)) if np.isfinite(values).any() else 0.0


def _lasts(settings: Settings, one: _Flushes) -> bool:
    return int(one.bound.sum()) >= settings["samples_min"] and _lasted_s(one) >= settings["bound_s"]


_CHECK_SIMULATED = (
    "Give the drives power_loss_protection, or the array a write cache, simulate again and compare the two runs: if "
    "writes per second rise, it was the flushes."
)


def _finding(case: Case, settings: Settings, told: Sequence[_Flushes]) -> Finding:
    worst = told[0]
    bound = worst.series.where(worst.bound)
    latency_ns = weighted_mean(worst.latency_ns[worst.bound], worst.per_s[worst.bound])
    per_s, write_ns = mean(worst.per_s[worst.bound]), median(bound["write_latency_ns_mean"])
    share = per_s * latency_ns / NS_PER_S
    commit_ns = latency_ns + (write_ns if np.isfinite(write_ns) else 0.0)
    start, end = ends(worst.series, worst.bound) or (None, None)
    lasted = format_span(_lasted_s(worst) * NS_PER_S)
    writes = f", a write {format_duration(write_ns)}" if np.isfinite(write_ns) else ""
    also = f" Also: {joined([case.label(one.entity) for one in told[1:]], 3)}." if len(told) > 1 else ""
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING if worst.time_share >= settings["time_share_real"] else Severity.INFO,
        confidence=0.7,
        title=f"{headed(opening(case, worst.entity))} flushes take {format_ratio(min(share, 1.0))} of the time",
        summary=(
            f"For {lasted} ({format_ratio(worst.time_share)} of the intervals with flushes) a flush of "
            f"{named(case, worst.entity)} took {format_duration(latency_ns)}{writes}, and "
            f"{format_rate(per_s, 'flushes a second')} took {format_ratio(min(share, 1.0))} of the time. So commits "
            f"that wait for each other are at most {format_rate(NS_PER_S / commit_ns, 'a second')}.{also}"
        ),
        why="Commits wait for flushes, which no rate or latency of reads and writes shows.",
        innocent="A batch syncs all the time and nobody waits; or the database puts many commits into each flush.",
        check=(
            _CHECK_SIMULATED
            if is_simulated(case, worst.entity.system)
            else "Compare commits (or fsyncs) a second of the application with flushes: as many mean that each waits "
            "for one. What a flush takes by itself: storscope bench DIRECTORY --workload commits, in a quiet time."
        ),
        remedy=(
            "Put commits together (group commit, larger transactions, commit delay); put the log on a drive with "
            "power-loss protection, or behind a controller cache with a battery, which need not empty a cache. Without "
            "such protection leave flushes and barriers on: switched off, a power failure loses what was committed."
        ),
        source=f"A flush under way for {format_ratio(settings['busy_ratio_min'])} of the time, of "
        f"{format_duration(settings['flush_ns_min'])} or more: ours.",
        entities=tuple(one.entity for one in told),
        start_ns=start,
        end_ns=end,
        evidence=(_rows(case, settings, told),),
        weight=min(1.0, 0.4 + worst.time_share / 2),
        numbers={
            "flush_busy_ratio": share, "flush_latency_ns": latency_ns, "flushes_per_s": per_s,
            "time_share": worst.time_share, "devices": len(told),
        } | ({"write_latency_ns": write_ns} if np.isfinite(write_ns) else {}),
    )  # fmt: skip


def _rows(case: Case, settings: Settings, told: Sequence[_Flushes]) -> EvidenceRows:
    busy = "flushes * flush_ms / 1e3"
    where = in_use(case, [one.entity for one in told])
    return case.evidence(
        "Flushes and writes of the intervals in which a flush was under way most of the time",
        f"""WITH flushed AS (SELECT capture, system, kind, entity, time,
        max(value) FILTER (name = '{_RATE}') AS flushes, max(value) FILTER (name = '{_LATENCY_MS}') AS flush_ms
        FROM counters WHERE name IN ('{_RATE}', '{_LATENCY_MS}') GROUP BY ALL)
        SELECT entity, count(*) AS intervals, round(avg({busy}), 3) AS flush_busy_ratio,
        round(avg(flushes), 1) AS flushes_per_s, round(sum({busy}) / sum(flushes) * 1e9) AS flush_latency_ns,
        round(median(write_ops_per_s), 1) AS write_ops_per_s, round(median(write_latency_ns_mean)) AS write_latency_ns,
        round(median(read_ops_per_s), 1) AS read_ops_per_s, round(median(read_latency_ns_mean)) AS read_latency_ns
        FROM observations JOIN flushed USING (capture, system, kind, entity, time)
        WHERE {where} AND {busy} >= {settings["busy_ratio_min"]:g} GROUP BY entity ORDER BY intervals DESC, entity""",
    )


RULE = Rule(
    name=_NAME,
    title="flushes take the time of a device, while its reads and writes are quick",
    evaluate=_evaluate,
    thresholds=(
        Threshold("busy_ratio_min", 0.6, "share of an interval with a flush under way, from which they take the time",
                  "ours; between two commits there is also the write of the log"),
        Threshold("flush_ns_min", 500_000, "latency of a flush below which it is quick",
                  "ours; drives with power-loss protection need some 0.1 ms"),
        Threshold("write_factor", 3.0, "latency of a flush over that of a write, below which both are slow", "ours"),
        Threshold("samples_min", 10, "intervals below which nothing is said", "ours"),
        Threshold("bound_s", 30, "time below which nothing is said", "ours"),
        Threshold("time_share_real", 0.1, "share of the intervals with flushes from which it is a warning", "ours"),
    ),
)  # fmt: skip
