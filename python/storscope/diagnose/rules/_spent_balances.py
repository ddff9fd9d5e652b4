"""Balances of burst credits by themselves: at nothing for a time, whether or not a rate was seen to fall."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Settings
from storscope.diagnose.rules._balance_words import credits_words, left_words, rows_of_balances
from storscope.diagnose.rules._balances import Balance, balances_by_system, spent_runs
from storscope.diagnose.rules._entities import joined
from storscope.diagnose.rules._harm import harm_to
from storscope.diagnose.rules._intervals import seconds
from storscope.diagnose.rules._load import opening
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, Outcome, Severity
from storscope.domain.units import NS_PER_S, format_ratio, format_span

_NAME = "burst-credits-spent"


def judged_balances(case: Case, settings: Settings, system: str, told_of: Collection[EntityRef]) -> list[Outcome]:
    """A finding of balances that were at nothing, without those of things that a fall tells of already; and what is
    known of the others."""
    every = [one for found in balances_by_system(case).get(system, {}).values() for one in found]
    spent = [one for one in every if one.entity not in told_of and spent_runs(settings, one)]
    there = [one for one in every if one.entity not in told_of and one not in spent]
    outcomes: list[Outcome] = [_finding(case, settings, spent)] if spent else []
    if there:
        outcomes.append(Healthy(_NAME, f"{left_words(there)} was left."))
    return outcomes


def _spent_s(settings: Settings, balance: Balance) -> float:
    length_s = seconds(balance.series)
    return float(sum(length_s[first : last + 1].sum() for first, last in spent_runs(settings, balance)))


def _finding(case: Case, settings: Settings, spent: Sequence[Balance]) -> Finding:
    told = sorted(spent, key=lambda one: -_spent_s(settings, one))
    first, spent_s = told[0], _spent_s(settings, told[0])
    runs, series = spent_runs(settings, first), first.series
    start_ns = int(series.time_ns[runs[0][0]])
    end_ns = int(series.time_ns[runs[-1][1]]) + int(seconds(series)[runs[-1][1]] * NS_PER_S)
    is_over = runs[-1][1] < len(series) - 1
    since = f"; at the end {format_ratio(first.last)} were left" if is_over else ""
    times = f", {len(runs):,} times" if len(runs) > 1 else ""
    also = f" So were {joined([credits_words(case, one) for one in told[1:]], 3)}." if len(told) > 1 else ""
    return Finding(
        rule=_NAME,
        severity=max(_severity(case, settings, one) for one in told),
        confidence=0.9,
        title=f"{opening(case, first.entity)} has spent its burst credits",
        summary=(
            f"Nothing was left of {credits_words(case, first)} for {format_span(spent_s * NS_PER_S)} from "
            f"{case.time_words(start_ns)} on{times}{since}. As long as a balance stays at nothing, all that comes back "
            f"is used at once: no more than the base rate is done.{also}"
        ),
        why="What is asked for beyond the base rate waits until less is asked for hours.",
        innocent="Nobody waits: no more is asked for than the base rate, or what waits may wait (a backup, a batch).",
        check="Compare the rate while nothing is left with the base rate of the volume or machine, and look who waits.",
        remedy=(
            "Take a volume (or machine) whose base is what is asked for (EBS: gp3, io2, a larger gp2 or st1, a larger "
            "instance; Azure: a greater size or tier). Else keep the load below the base on average, and heavy jobs "
            "apart in time."
        ),
        source=f"A balance of at most {format_ratio(settings['left_ratio_spent'])} over two intervals or more: ours. "
        "Credits: AWS, EBS volume types; Azure, managed disk bursting.",
        entities=tuple(dict.fromkeys(one.entity for one in told)),
        start_ns=start_ns,
        end_ns=end_ns,
        evidence=(rows_of_balances(case, "Credits left", told),),
        weight=0.6,
        numbers={"spent_s": spent_s, "left_ratio_min": first.least, "left_ratio_last": first.last},
    )


def _severity(case: Case, settings: Settings, balance: Balance) -> Severity:
    """The harm to a volume of which most waiting is while it has nothing left; else a warning."""
    series = case.all_series.get(balance.entity)
    if series is None or not series.has("ops_per_s", "latency_ns_mean"):
        return Severity.WARNING
    waiting = np.nan_to_num(series["ops_per_s"] * series["latency_ns_mean"]) * seconds(series)
    starts, times = balance.series.time_ns, balance.series.time_ns + seconds(balance.series) * NS_PER_S
    inside = np.zeros(len(series), dtype=bool)
    for first, last in spent_runs(settings, balance):
        inside |= (series.time_ns >= starts[first]) & (series.time_ns < times[last])
    is_severe = waiting[inside].sum() >= settings["waiting_share_severe"] * max(float(waiting.sum()), 1e-9)
    harm = harm_to(case, [balance.entity])
    return max(harm, Severity.WARNING) if is_severe and harm is not None else Severity.WARNING
