"""Operations or bytes per second stand at one value while operations wait.

Looks for
    Devices, volumes and machines whose operations per second, or bytes per second, are the same in most of the
    intervals in which operations wait: whatever the size of operations, the part of reads and the length of the queue.
    And several of them whose rates change while their sum is the same. So a limiter looks: that of a cloud volume
    (EBS, Azure managed disks, Persistent Disk), of the machine it is attached to, of an array's or a hypervisor's QoS,
    of io.max of a control group. It is told by one of two things: the rate is below what operations one at a time
    gave, when nobody waited (of several quick devices: one of them was idle for a part of the time while all had work);
    or sizes or the mix changed and the rate did not. Where neither was seen, only a rate
    that a provider documents is told, for information. Which documented limit it may be is a hint and no proof.

Why it matters
    A limiter makes operations wait on storage that has room. It looks like slow storage, and no faster drive, deeper
    queue or better layout helps; what does is a setting, or another size of operations.

Evidence
    Operations and latency over at least 10 intervals at the limit and some of light load (iostat -x -t, esxtop -b,
    sar -d, perfmon), half a minute at the least. With bytes for sizes, and reads and writes apart, it is surer.

When it is wrong
    The rate of bytes of a link, or of an SSD at its own, is as flat; rates that a link would carry are told as such. A
    file system or cache above may have answered the light load. Of an array's volume with a full write cache writes
    stand at the rate of destaging: so writes must change in size or mix to be told. A limiter above the place that is
    watched is not seen: of a device that io.max limits, iostat counts no time of waiting. An application that paces
    itself has no queue, and nothing is said of it; nor where as much was done while nobody waited, since then storage
    got slow under a steady load, and nothing was asked beyond it. Of one that always has as much in flight nothing
    tells waiting from what the storage does at once: there a time of light load is asked for.

References
    Serving while work waits: a queue that is "work-conserving" does at least what one operation at a time does
    (Kleinrock 1975). Time in a queue at a fixed rate grows with what is in it (Little 1961). Token buckets: RFC 2697;
    blk-throttle of Linux lets pass so many in each 100 ms. Documented limits: "Amazon EBS volume types", which counts
    MiB/s, merges small operations in sequence and splits ones of more than 256 KiB on SSD; "Azure managed disk types";
    "Performance limits for Persistent Disk". The widths are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.peers import rests_on
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._asked import NEEDS, Asked, asked_by_system, asked_together
from storscope.diagnose.rules._asked_words import is_plural, subject_words, things_words
from storscope.diagnose.rules._cap_doubts import depth_doubt, levels_doubt, of_provider, plateau_doubt
from storscope.diagnose.rules._cap_words import (
    check_words,
    confidence_of,
    held_words,
    hint_words,
    innocent_words,
    level_words,
    reason_words,
    remedy_words,
)
from storscope.diagnose.rules._caps import Cap, caps_of, levels_of, unasked_of
from storscope.diagnose.rules._entities import in_use, joined
from storscope.diagnose.rules._harm import harm_to
from storscope.diagnose.rules._intervals import ends, hull, median, seconds
from storscope.diagnose.rules._simulated import is_simulated
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_ratio

_NAME = "throughput-cap"


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    outcomes = [one for system, every in asked_by_system(case).items() for one in _judge(case, settings, system, every)]
    return outcomes or [NotEvaluated(_NAME, NEEDS)]


def cap_settings(case: Case) -> Settings:
    """What is even, and what shows that a limit is imposed: the thresholds in force."""
    return RULE.defaults() | dict(case.settings.get(_NAME, {}))


@dataclass(frozen=True)
class HeldRate:
    """What is held, at which rate, and when: what was asked for beyond it is not known."""

    cap: Cap

    @property
    def entities(self) -> tuple[EntityRef, ...]:
        """One thing, or those that share the limit."""
        return self.cap.asked.entities

    @property
    def level(self) -> str:
        """'3,000 IOPS'."""
        return level_words(self.cap)

    def share_of(self, start_ns: int, end_ns: int) -> float:
        """Part of what was measured of a time that it was held."""
        series = self.cap.asked.series
        length_s = np.where((series.time_ns >= start_ns) & (series.time_ns < end_ns), seconds(series), 0.0)
        return float(length_s[self.cap.members].sum() / max(float(length_s.sum()), 1e-9))


def held_rates(case: Case) -> list[HeldRate]:
    """Every rate that is told to be held, by the thresholds in force; only supposed ones as well."""
    settings = cap_settings(case)
    return [
        HeldRate(cap)
        for system, every in asked_by_system(case).items()
        for cap in _caps_of_system(case, settings, system, _judged(settings, every))[0]
    ]


def _judged(settings: Settings, every: Mapping[EntityRef, Sequence[Asked]]) -> dict[EntityRef, Sequence[Asked]]:
    return {entity: asked for entity, asked in every.items() if len(asked[0].series) >= settings["samples_min"]}


def _judge(case: Case, settings: Settings, system: str, every: Mapping[EntityRef, Sequence[Asked]]) -> list[Outcome]:
    judged = _judged(settings, every)
    if not judged:
        return []
    told, doubtful = _caps_of_system(case, settings, system, judged)
    if told:
        return [_finding(case, settings, sorted(told, key=lambda cap: (-_severity(case, settings, cap), *_rank(cap))))]
    if doubtful:
        return [NotEvaluated(_NAME, plateau_doubt(case, min(doubtful, key=_rank)))]
    return _without_any(case, settings, system, {entity: asked[0] for entity, asked in judged.items()})


def _caps_of_system(
    case: Case, settings: Settings, system: str, judged: Mapping[EntityRef, Sequence[Asked]]
) -> tuple[list[Cap], list[Cap]]:
    """The caps that are told, of single things or else of several together; and those that may be none."""
    best = {entity: caps for entity, asked in judged.items() if (caps := _best(case, settings, asked))}
    told = [cap for cap in _lowest(case, best) if _is_told(case, settings, cap)]
    sums = [] if told else _of_sums(case, settings, system)
    told = told or [cap for cap in sums if _is_told(case, settings, cap)][:1]
    return told, [caps[0] for caps in best.values()] or sums


def _without_any(case: Case, settings: Settings, system: str, judged: Mapping[EntityRef, Asked]) -> list[Outcome]:
    """What is said where no rate stands at one value in nearly all of the waiting."""
    levels = {entity: found for entity, asked in judged.items() if (found := levels_of(asked, settings))}
    never_alone = {entity: asked for entity, asked in judged.items() if entity not in levels and asked.is_never_alone}
    outcomes: list[Outcome] = [NotEvaluated(_NAME, levels_doubt(case, found)) for found in list(levels.values())[:1]]
    if never_alone:
        outcomes.append(NotEvaluated(_NAME, depth_doubt(case, list(never_alone.values()), settings)))
    clear = sorted(judged.keys() - levels.keys() - never_alone.keys())
    if clear:
        unasked = [cap for one in clear if (cap := unasked_of(judged[one], settings)) is not None]
        waits = any(judged[one].waits.any() for one in clear)
        outcomes.append(Healthy(_NAME, _healthy(case, system, clear, unasked, waits=waits)))
    return outcomes


def _healthy(case: Case, system: str, clear: Sequence[EntityRef], unasked: Sequence[Cap], *, waits: bool) -> str:
    things = f"{things_words(clear)} of {system}"
    if unasked:
        worst = max(unasked, key=lambda cap: cap.waiting_share)
        return (
            f"No limit holds {things}: where a rate is the same whenever operations wait, it is so when none does (of "
            f"{subject_words(case, worst.asked)} {level_words(worst)}), and nothing was asked beyond it."
        )
    if waits:
        return f"No rate of {things} is the same whenever operations wait."
    return f"Operations on {things} never wait behind each other for all of an interval."


def _best(case: Case, settings: Settings, every: Sequence[Asked]) -> list[Cap]:
    """Of the plateaus of one thing the surest, of all operations rather than of reads or of writes; then the other
    limit, of bytes or of operations, that holds it at other times."""
    found = sorted((of_provider(case, cap) for asked in every for cap in caps_of(asked, settings)), key=_rank)
    others = [
        cap for cap in found[1:]
        if cap.asked is found[0].asked and (cap.members & ~found[0].members).sum() >= settings["samples_min"]
    ]  # fmt: skip
    return found[:1] + others[:1]


def _rank(cap: Cap) -> tuple[bool, bool, bool, bool, float]:
    return not cap.is_shown, bool(cap.asked.of), not cap.known, not cap.is_natural, -cap.time_share


def _is_told(case: Case, settings: Settings, cap: Cap) -> bool:
    """Shown to be imposed, or very evenly at a documented rate of something quick: disks have any rate, and simulated
    storage has no provider."""
    if cap.is_shown:
        return True
    documented = bool(cap.known) and cap.plateau.spread <= settings["spread_ratio_exact"]
    return documented and cap.asked.is_quick(cap.members) and not is_simulated(case, cap.asked.series.entity.system)


def _lowest(case: Case, best: Mapping[EntityRef, Sequence[Cap]]) -> list[Cap]:
    """Without what rests on something that is held at as much: a partition on its disk."""
    return [
        cap
        for entity, caps in best.items()
        for cap in caps
        if not any(_is_same(cap, other) for below in rests_on(case, entity) & best.keys() for other in best[below])
    ]


def _is_same(cap: Cap, other: Cap) -> bool:
    return cap.measure == other.measure and abs(cap.plateau.level / other.plateau.level - 1) <= _SAME


_SAME = 0.1
"""Part by which limits of a part and its whole may differ that are one (ours)."""


def _of_sums(case: Case, settings: Settings, system: str) -> list[Cap]:
    """What several hold in turn, the surest first: each changes, their sum does not."""
    every = (of_provider(case, cap) for asked in asked_together(case, system) for cap in caps_of(asked, settings))
    return sorted((cap for cap in every if _is_traded(settings, cap)), key=_rank)


def _is_traded(settings: Settings, cap: Cap) -> bool:
    """Whether two or more have a good part of it, and what each has changes far more than the sum."""
    rates = np.stack([np.nan_to_num(one[f"{cap.measure}_per_s"][cap.members]) for one in cap.asked.parts])
    apart = float(np.sqrt(rates.var(axis=1).sum())) / cap.plateau.level
    several = int((rates.mean(axis=1) >= 0.1 * cap.plateau.level).sum()) > 1
    return several and apart >= settings["traded_factor"] * max(cap.plateau.spread, 0.5 * settings["spread_ratio_max"])


def _severity(case: Case, settings: Settings, cap: Cap) -> Severity:
    harm = harm_to(case, cap.asked.entities) or Severity.WARNING
    if not cap.is_shown:
        return Severity.INFO
    if cap.time_share < settings["time_share_real"]:
        return min(harm, Severity.INFO)
    return harm if cap.waiting_share >= settings["waiting_share_severe"] else min(harm, Severity.WARNING)


def _finding(case: Case, settings: Settings, told: Sequence[Cap]) -> Finding:
    cap = told[0]
    series = cap.asked.series
    start, end = hull([span for one in told if (span := ends(one.asked.series, one.members)) is not None])
    words = subject_words(case, cap.asked)
    return Finding(
        rule=_NAME,
        severity=_severity(case, settings, cap),
        confidence=confidence_of(cap),
        title=f"{words[:1].upper()}{words[1:]} {'are' if is_plural(cap.asked) else 'is'} "
        f"{'held' if cap.is_shown else 'perhaps held'} at {level_words(cap)}",
        summary=" ".join(
            part for part in (held_words(cap), reason_words(cap), hint_words(cap), _also(case, told)) if part
        ),
        why="Operations wait for a limit and not for storage: faster drives or deeper queues would change nothing.",
        innocent=innocent_words(cap),
        check=check_words(cap),
        remedy=remedy_words(cap),
        source=_source(settings),
        entities=tuple(dict.fromkeys(entity for one in told for entity in one.asked.entities)),
        start_ns=start,
        end_ns=end,
        evidence=(_rows(case, cap),),
        weight=min(1.0, 0.8 + 0.2 * cap.waiting_share) * (1.0 if cap.is_shown else 0.5),
        numbers={
            f"limit_{cap.measure}_per_s": cap.plateau.level, "spread_ratio": cap.plateau.spread,
            "time_share": cap.time_share, "waiting_share": cap.waiting_share, "intervals": cap.plateau.count,
            "latency_ns_alone": median(cap.asked.alone_ns[cap.members]),
            "latency_ns_waiting": median(series["latency_ns_mean"][cap.members]),
            "in_flight_p10": cap.at(cap.asked.in_flight, 0.1), "in_flight_p90": cap.at(cap.asked.in_flight, 0.9),
            "alone_in_flight": cap.alone_in_flight,
        },
    )  # fmt: skip


def _also(case: Case, told: Sequence[Cap]) -> str:
    own = [level_words(one) for one in told[1:] if one.asked is told[0].asked]
    others = [
        f"{subject_words(case, one.asked)} ({level_words(one)})" for one in told[1:] if one.asked is not told[0].asked
    ]
    said = f"At other times it is held at {joined(own)}. " if own else ""
    return (said + (f"Also held: {joined(others, 3)}." if others else "")).rstrip()


def _source(settings: Settings) -> str:
    width, spread, above = (settings[name] for name in ("width_ratio", "spread_ratio_max", "above_share_max"))
    return (
        f"Rates within {format_ratio(width)} of one value, deviating by at most {format_ratio(spread)}, with at most "
        f"{format_ratio(above)} as many above: ours. That storage which does what it can does at least what it did one "
        "at a time: Kleinrock 1975."
    )


def _rows(case: Case, cap: Cap) -> EvidenceRows:
    """What was done with how much in flight: a rate that stays while the queue doubles."""
    begin = {"reads": "read_", "writes": "write_"}.get(cap.asked.of, "")
    ops, moved, latency = (f"{begin}{name}" for name in ("ops_per_s", "bytes_per_s", "latency_ns_mean"))
    rows = f"SELECT {ops} AS ops, {moved} AS moved, {latency} AS latency_ns FROM observations"
    where = in_use(case, cap.asked.entities)
    if cap.asked.parts:
        rows = (
            f"SELECT sum({ops}) AS ops, sum({moved}) AS moved, sum({ops} * {latency}) / nullif(sum({ops}), 0) "
            f"AS latency_ns FROM observations WHERE {where} GROUP BY {case.instant()}"
        )
    else:
        rows += f" WHERE {where}"
    return case.evidence(
        f"What was done by how much was in flight{f', {cap.asked.of}' if cap.asked.of else ''}",
        f"""SELECT pow(2, floor(log2(ops * latency_ns / 1e9))) AS in_flight_from, count(*) AS intervals,
        round(quantile_cont(ops, 0.1), 1) AS ops_per_s_p10, round(median(ops), 1) AS ops_per_s_median,
        round(quantile_cont(ops, 0.9), 1) AS ops_per_s_p90, round(quantile_cont(moved, 0.1)) AS bytes_per_s_p10,
        round(median(moved)) AS bytes_per_s_median, round(quantile_cont(moved, 0.9)) AS bytes_per_s_p90,
        CAST(median(moved / ops) AS BIGINT) AS size_bytes_median, round(median(latency_ns)) AS latency_ns_median
        FROM ({rows}) WHERE ops > 0 AND latency_ns > 0 GROUP BY 1 ORDER BY 1 DESC""",
    )


RULE = Rule(
    name=_NAME,
    title="operations or bytes per second stand at one value while operations wait",
    evaluate=_evaluate,
    thresholds=(
        Threshold("width_ratio", 0.12, "how far, as a part of it, rates may be from the value they stand at",
                  "ours; twice the deviation of 5 % and more that uneven intervals of a tool make"),
        Threshold("spread_ratio_max", 0.06, "deviation over mean of the rates there; of rates spread evenly over "
                  "the width it is 0.069", "ours"),
        Threshold("spread_ratio_exact", 0.02, "the same, up to which a documented rate alone is told", "ours"),
        Threshold("samples_min", 10, "intervals at the value below which nothing is said", "ours"),
        Threshold("plateau_s", 30, "time at the value, in all, below which nothing is said", "ours"),
        Threshold("above_share_max", 0.05, "intervals with waiting and a greater rate, over those at the value, up to "
                  "which it is one", "ours"),
        Threshold("members_share_min", 0.6, "share of the intervals with waiting that must be at the value", "ours"),
        Threshold("elasticity_max", 0.1, "exponent by which the rate may go with size or with operations in flight",
                  "ours; disks that sort have about 0.25 of what is in flight, SSDs -0.5 and less of size"),
        Threshold("mix_swing_ratio_max", 0.15, "difference between reads alone and writes alone, as a part of the rate",
                  "ours"),
        Threshold("alone_in_flight_max", 0.7, "operations that the rate would keep in flight if none waited, up to "
                  "which the storage is idle at times", "ours; storage that does what it can has 1 at the least"),
        Threshold("size_factor", 2.0, "sizes of the largest tenth over the smallest from which they differ", "ours"),
        Threshold("mix_share", 0.3, "difference of read shares from which the mix differs", "ours"),
        Threshold("traded_factor", 2.0, "changes of several entities over those of their sum, from which they share a "
                  "limit", "ours; 1 if they had nothing to do with one another"),
        Threshold("known_ratio", 0.025, "distance of a documented limit, as a part of it, that is named", "ours"),
        Threshold("time_share_real", 0.1, "share of the time at work from which it is more than information", "ours"),
        Threshold("waiting_share_severe", 0.5, "share of all waiting that is at it, from which it can be critical",
                  "ours"),
    ),
)  # fmt: skip
