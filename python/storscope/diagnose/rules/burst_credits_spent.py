"""A rate fell at one moment to a lower value and stands there, though as much is asked as before.

Looks for
    Devices, volumes and machines whose operations or bytes per second were higher for a while, fell within an
    interval or two, and then stood at one lower value while as many operations as before, or more, of the same size
    and mix were in flight and waited. So it is when credits are spent that let a volume do more than its base for some
    time: EBS gp2, st1 and sc1, Azure disks up to P20, machines with burst credits for all of their volumes. It
    says when it fell, from what to what, and how much was done above the lower rate: so many credits there were.
    What reads and writes do alone is looked at, too, but is no fall where the others do more by a fifth of it.
    Where a cloud counts the credits, its balance decides: one that came to nothing when the rate fell shows that they
    were spent, and where one had credits left the rate fell for another reason, and is none of this; nor is it
    where a log says that a limit was changed at that moment. A balance at nothing is told by itself, too.

Why it matters
    What was measured or accepted in the first half hour is not what there is. The lower rate lasts until less is asked
    for long: credits come back at the base rate, hours for half an hour of burst.

Evidence
    Operations and latency over time (iostat -x -t, sar -d, esxtop -b, perfmon), with at least three intervals before
    the fall and 10 after it, each half a minute or more. What is even, and what no storage does by itself, is judged by
    the thresholds of throughput-cap. Balances over time (BurstBalance and EBSIOBalance% of CloudWatch, '... Used Burst
    IO Credits Percentage' of Azure Monitor), of the same things or of their one machine.

When it is wrong
    Where only writes fell, a write cache is full, or an SSD has filled the part of its cells that it writes quickly
    (SLC cache): both look the same, and are told as such. Another kind of load that has the same size and mix looks the
    same: reads that a cache no longer answers, random ones after ones in sequence. So where nothing but the fall speaks
    for credits, it is information. Where two or more are in flight all the time, nobody saw how quick one is alone, and
    anything that gets slower has a longer latency (Little 1961): there both rates must be even, what they are moved by
    shows nothing, and of uneven ones it is said that they cannot be judged. A drive
    that gets too hot does less, too, and so does one that is rebuilt. With a balance none of this is in question; but
    that of a volume says nothing of the credits of its machine, and the other way round.

References
    "Amazon EBS volume types": gp2 has a base of 3 IOPS for each GiB, at least 100, bursts to 3,000 and holds 5.4
    million credits; st1 has a base of 40 MiB/s and a burst of 250 MiB/s for each TiB, sc1 of 12 and 80. "Managed disk
    bursting" (Azure): up to 3,500 IOPS and 170 MB/s, 30 minutes at most. How long a bucket of tokens lasts: RFC 2697.
    The factor of 1.3 and the widths are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.peers import rests_on
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._asked import NEEDS, Asked, asked_by_system, asked_together
from storscope.diagnose.rules._asked_words import never_alone_words, rate_words, subject_words, things_words
from storscope.diagnose.rules._balance_words import rows_of_balances
from storscope.diagnose.rules._balances import AtFall, balances_by_system, is_told, ruled_out_by, spent_at
from storscope.diagnose.rules._burst_words import (
    balance_words,
    check_words,
    credit_words,
    documented,
    fall_words,
    hint_words,
    innocent_words,
    remedy_words,
    title_words,
)
from storscope.diagnose.rules._caps import MEASURES, cap_at
from storscope.diagnose.rules._changed_limits import limit_changed_at
from storscope.diagnose.rules._entities import counted, in_use, joined
from storscope.diagnose.rules._falls import Fall, falls_of
from storscope.diagnose.rules._harm import harm_to
from storscope.diagnose.rules._spent_balances import judged_balances
from storscope.diagnose.rules.throughput_cap import cap_settings
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import NS_PER_S, format_ratio
from storscope.model.plateau import spread_factor

_NAME = "burst-credits-spent"


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    both = {**cap_settings(case), **settings}
    every, balances = asked_by_system(case), balances_by_system(case)
    systems = sorted(every.keys() | balances.keys())
    outcomes = [one for system in systems for one in _judge(case, both, system, every.get(system, {}))]
    return outcomes or [NotEvaluated(_NAME, f"{NEEDS}; or {_BALANCES}")]


_BALANCES = "balances of burst credits (BurstBalance of CloudWatch)"


def _judge(case: Case, settings: Settings, system: str, every: Mapping[EntityRef, Sequence[Asked]]) -> list[Outcome]:
    judged = {entity: asked for entity, asked in every.items() if len(asked[0].series) > settings["samples_min"]}
    fallen = {entity: _falls(case, settings, asked) for entity, asked in judged.items()}
    found = {entity: falls for entity, (falls, _) in fallen.items() if falls}
    others = {entity: fall for entity, (_, fall) in fallen.items() if fall is not None}
    told = _lowest(case, found) or _together(case, settings, system, others.values())
    told.sort(key=lambda falls: (-_severity(case, settings, falls[0]), -falls[0].waiting_share))
    decided = [spent_at(case, settings, falls[0]) for falls in told]
    outcomes: list[Outcome] = [_finding(case, settings, told)] if told else []
    outcomes += judged_balances(case, settings, system, {one.balance.entity for one in decided if one is not None})
    if told:
        return outcomes
    unclear = {entity: asked[0] for entity, asked in judged.items() if _is_unclear(settings, asked[0])}
    doubted = [asked for asked in unclear.values() if not is_told(case, settings, asked)]
    if doubted:
        outcomes.append(NotEvaluated(_NAME, _doubt(case, doubted)))
    if others:
        outcomes.append(_with_credits_left(case, settings, list(others.values())))
    if clear := judged.keys() - unclear.keys() - others.keys():
        outcomes.append(Healthy(_NAME, f"No rate of {things_words(clear)} of {system} fell while as much was asked."))
    return outcomes


def _together(case: Case, settings: Settings, system: str, others: Iterable[Fall]) -> list[list[Fall]]:
    """What fell of several things together, where it is not what one of them did though it had credits left."""
    found = [falls for one in asked_together(case, system) if (falls := _falls(case, settings, [one])[0])]
    ruled_out = list(others)
    return [
        falls
        for falls in found
        if spent_at(case, settings, falls[0]) is not None or not any(_is_same(falls[0], other) for other in ruled_out)
    ]


def _with_credits_left(case: Case, settings: Settings, others: Sequence[Fall]) -> Healthy:
    """That what fell had credits left, or had its limit changed."""
    fall = others[0]
    left, changed = ruled_out_by(case, settings, fall), limit_changed_at(case, fall)
    why = f"{format_ratio(left.left) if left is not None else 'enough'} of them were left"
    if changed is not None:
        why = f"{changed.text}, the log says"
    low, high = (rate_words(fall.measure, rate) for rate in (fall.low, fall.high))
    more = f" So it is with {counted(len(others) - 1, 'more thing')}." if len(others) > 1 else ""
    return Healthy(
        _NAME,
        f"Credits are not why the rate of {subject_words(case, fall.asked)} fell from {high} to {low} at "
        f"{case.time_words(fall.fell_ns)}: {why}.{more}",
    )


def _is_unclear(settings: Settings, asked: Asked) -> bool:
    """Whether its rate changed as much as in a fall while nothing shows if operations waited."""
    return asked.is_never_alone and spread_factor(asked.rates["ops"][asked.queues]) >= settings["fall_factor"]


def _doubt(case: Case, unclear: Iterable[Asked]) -> str:
    every = list(unclear)
    first = every[0]
    low, high = (rate_words("ops", float(rate)) for rate in np.quantile(first.rates["ops"][first.queues], (0.1, 0.9)))
    return (
        f"{never_alone_words(case, every)}: the rate of {subject_words(case, first)} went from {low} to {high}, and "
        "nothing shows whether operations waited then"
    )


def _falls(case: Case, settings: Settings, every: Sequence[Asked]) -> tuple[list[Fall], Fall | None]:
    """Of the rates of one thing that fell the one that says most, with all of its falls, those first of which a balance
    tells that credits were spent, then those with most waiting; and one that fell though credits were left, or when its
    limit was changed."""
    found: list[list[Fall]] = []
    others: list[Fall] = []
    for asked in every:
        for measure in MEASURES:
            falls = falls_of(asked, settings, measure, lambda fall: spent_at(case, settings, fall) is not None)
            ruled_out = [
                fall for fall in falls
                if ruled_out_by(case, settings, fall) is not None or limit_changed_at(case, fall) is not None
            ]  # fmt: skip
            others += ruled_out
            if kept := [fall for fall in falls if fall not in ruled_out]:
                found.append(kept)
    best = min(found, key=lambda falls: _rank(case, settings, falls[0]), default=[])
    return sorted(best, key=lambda fall: (spent_at(case, settings, fall) is None, -fall.waiting_share)), next(
        iter(others), None
    )


def _rank(case: Case, settings: Settings, fall: Fall) -> tuple[bool, bool, bool, bool]:
    is_decided = spent_at(case, settings, fall) is not None
    return not is_decided, bool(fall.asked.of), not documented(fall), not fall.is_natural


def _lowest(case: Case, found: Mapping[EntityRef, list[Fall]]) -> list[list[Fall]]:
    """Without what rests on something that fell at the same time."""
    return [
        falls
        for entity, falls in found.items()
        if not any(_is_same(falls[0], found[below][0]) for below in rests_on(case, entity) & found.keys())
    ]


def _is_same(one: Fall, other: Fall) -> bool:
    return abs(one.fell_ns - other.fell_ns) <= 2 * one.asked.series.interval_ns


def _is_imposed(settings: Settings, fall: Fall) -> bool:
    return cap_at(fall.asked, settings, fall.measure, fall.plateau).is_shown


def _is_shown(settings: Settings, fall: Fall) -> bool:
    """Whether more than the fall speaks for credits: documented rates, or a lower one that no storage has by itself.

    Where nobody saw how quick it is alone, what sizes and mix do not move may be what all of them take.
    """
    return bool(documented(fall)) or (fall.is_waiting_seen and _is_imposed(settings, fall))


def _confidence(settings: Settings, fall: Fall, spent: AtFall | None) -> float:
    if spent is not None:
        return 0.95
    if not _is_shown(settings, fall):
        return 0.4
    if fall.is_of_writes or not fall.is_waiting_seen:
        return 0.5
    return 0.85 if documented(fall) else 0.7


def _severity(case: Case, settings: Settings, fall: Fall) -> Severity:
    is_decided = spent_at(case, settings, fall) is not None
    if not (is_decided or _is_shown(settings, fall)):
        return Severity.INFO
    harm = harm_to(case, fall.asked.entities) or Severity.WARNING
    is_sure = is_decided or (not fall.is_of_writes and fall.is_waiting_seen)
    is_severe = is_sure and fall.waiting_share >= settings["waiting_share_severe"]
    return harm if is_severe else min(harm, Severity.WARNING)


def _finding(case: Case, settings: Settings, told: Sequence[Sequence[Fall]]) -> Finding:
    falls = told[0]
    fall, spent = falls[0], spent_at(case, settings, falls[0])
    shown = spent is not None or _is_shown(settings, fall)
    quick, slow = fall.both(fall.asked.series["latency_ns_mean"])
    also = f"So fell: {joined([_short(case, one[0]) for one in told[1:]], 3)}." if len(told) > 1 else ""
    return Finding(
        rule=_NAME,
        severity=_severity(case, settings, fall),
        confidence=_confidence(settings, fall, spent),
        title=title_words(case, fall, shown, spent),
        summary=" ".join(
            part
            for part in (fall_words(case, falls), balance_words(case, spent), credit_words(fall, spent),
                         hint_words(fall), also)
            if part
        ),
        why="The earlier rate does not last: what waits now goes on waiting until less is asked for hours.",
        innocent=innocent_words(fall, spent),
        check=check_words(fall, spent),
        remedy=remedy_words(fall, spent),
        source=f"A rate {settings['fall_factor']:g} times as high as the even one after it: ours. Credits: AWS, EBS "
        "volume types; Azure, managed disk bursting.",
        entities=tuple(dict.fromkeys(entity for one in told for entity in one[0].asked.entities)),
        start_ns=fall.start_ns,
        end_ns=fall.end_ns,
        evidence=(_rows(case, fall), *_rows_of_credits(case, spent)),
        weight=min(1.0, 0.8 + 0.2 * fall.waiting_share) * (1.0 if shown else 0.5),
        numbers={
            f"{fall.measure}_per_s_before": fall.high, f"{fall.measure}_per_s_after": fall.low,
            f"credits_{'count' if fall.measure == 'ops' else 'bytes'}": fall.credits, "falls": len(falls),
            "before_s": (fall.fell_ns - fall.start_ns) / NS_PER_S, "after_s": (fall.end_ns - fall.fell_ns) / NS_PER_S,
            "refill_s": fall.credits / fall.low, "latency_ns_before": quick, "latency_ns_after": slow,
            "waiting_share": fall.waiting_share, **_left(spent),
        },
    )  # fmt: skip


def _left(spent: AtFall | None) -> dict[str, float]:
    return {} if spent is None else {"left_ratio_before": spent.at_first, "left_ratio_after": spent.left}


def _rows_of_credits(case: Case, spent: AtFall | None) -> list[EvidenceRows]:
    return [] if spent is None else [rows_of_balances(case, "Credits left", [spent.balance])]


def _short(case: Case, fall: Fall) -> str:
    low, high = (rate_words(fall.measure, rate) for rate in (fall.low, fall.high))
    return f"{subject_words(case, fall.asked)} ({high} to {low}, {case.time_words(fall.fell_ns)})"


def _rows(case: Case, fall: Fall) -> EvidenceRows:
    """What was done before and after."""
    begin = {"reads": "read_", "writes": "write_"}.get(fall.asked.of, "")
    ops, moved, latency = (f"{begin}{name}" for name in ("ops_per_s", "bytes_per_s", "latency_ns_mean"))
    instant = case.instant()
    where = in_use(case, fall.asked.entities, f"{instant} >= {fall.start_ns} AND {instant} < {fall.end_ns}")
    return case.evidence(
        f"Before and after it fell{f', {fall.asked.of}' if fall.asked.of else ''}",
        f"""WITH told AS (SELECT {instant} AS start_ns, min(time) AS time, sum({ops}) AS ops, sum({moved}) AS moved,
        sum({ops} * {latency}) / nullif(sum({ops}), 0) AS latency_ns FROM observations WHERE {where} GROUP BY 1)
        SELECT CASE WHEN start_ns < {fall.fell_ns} THEN 'before' ELSE 'after' END AS phase, min(time) AS first_time,
        count(*) AS intervals, round(median(ops), 1) AS ops_per_s_median,
        round(quantile_cont(ops, 0.1), 1) AS ops_per_s_p10, round(quantile_cont(ops, 0.9), 1) AS ops_per_s_p90,
        round(median(moved)) AS bytes_per_s_median, round(median(latency_ns)) AS latency_ns_median,
        round(median(ops * latency_ns) / 1e9, 2) AS in_flight_median FROM told GROUP BY 1 ORDER BY first_time""",
    )


RULE = Rule(
    name=_NAME,
    title="a rate fell at one moment and stands there, though as much is asked",
    evaluate=_evaluate,
    thresholds=(
        Threshold("fall_factor", 1.3, "the rate before over that after it", "ours"),
        Threshold("phase_s", 30, "time before and after it below which nothing is said", "ours"),
        Threshold("left_ratio_spent", 0.02, "share of the credits that is as good as none", "ours"),
        Threshold("left_ratio_there", 0.1, "share of the credits that must be left to say that they were not spent",
                  "ours"),
        Threshold("waiting_share_severe", 0.5, "share of all waiting that is after it, from which it can be critical",
                  "ours"),
    ),
)  # fmt: skip
