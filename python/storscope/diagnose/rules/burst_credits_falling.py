"""Burst credits are used faster than they come back, and will be spent.

Looks for
    Balances of burst credits, as a cloud counts them, that fall and are not spent yet: how much is left, and how long
    it lasts at the pace since it was fullest last, with an interval. What fell early and stands still since is none.

Why it matters
    Until the credits are spent nothing is slow, and no rate or latency shows that they will be. From then on there is
    no more than the base rate, which may be a tenth.

Evidence
    Balances over time: BurstBalance, EBSIOBalance% and EBSByteBalance% of CloudWatch, '... Used Burst IO Credits
    Percentage' and '... BPS ...' of Azure Monitor.

When it is wrong
    The pace is that of the time that was seen. A load that ends in the evening leaves the night for credits to come
    back; hours of work by themselves look as if they would go on. A week tells.

References
    "Amazon EBS volume types" (burst credits of gp2, st1 and sc1), "Managed disk bursting" (Azure). The interval: block
    bootstrap (Künsch 1989) of what was lost in each interval, with the chance of the time to come on top. What is
    worth telling is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._balance_words import credits_words, left_words, rows_of_balances
from storscope.diagnose.rules._balances import Balance, balances_by_system
from storscope.diagnose.rules._entities import joined
from storscope.diagnose.rules._intervals import ends
from storscope.diagnose.rules._load import between, opening
from storscope.domain.entity import said_of
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import NS_PER_S, format_ratio, format_span
from storscope.model.draining import Draining, draining

_NAME = "burst-credits-falling"
_NEEDS = (
    "balances of burst credits over time (BurstBalance of CloudWatch, '... Used Burst IO Credits Percentage' of Azure "
    "Monitor)"
)


@dataclass(frozen=True)
class _Falling:
    """A balance that will be spent."""

    balance: Balance
    found: Draining


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    outcomes = [
        _judge(case, settings, system, [one for found in things.values() for one in found])
        for system, things in balances_by_system(case).items()
    ]
    return outcomes or [NotEvaluated(_NAME, _NEEDS)]


def _judge(case: Case, settings: Settings, system: str, balances: Sequence[Balance]) -> Outcome:
    told = [one for balance in balances if (one := _falling(case, settings, balance)) is not None]
    if told:
        return _finding(case, settings, sorted(told, key=lambda one: one.found.lasts_s.estimate))
    there = [one for one in balances if one.last > settings["left_ratio_spent"]]
    if not there:
        return NotEvaluated(_NAME, f"balances that are not spent yet: of those of {system} burst-credits-spent tells")
    return Healthy(_NAME, f"{left_words(there)} was left, and none is being used up.")


def _falling(case: Case, settings: Settings, balance: Balance) -> _Falling | None:
    series = balance.series
    if balance.last <= settings["left_ratio_spent"]:
        return None
    found = draining((series.time_ns - series.time_ns[0]) / NS_PER_S, series["value"], seed=case.seed)
    is_told = found is not None and found.lost >= settings["lost_ratio_min"]
    return _Falling(balance, found) if found is not None and is_told else None


def _finding(case: Case, settings: Settings, told: Sequence[_Falling]) -> Finding:
    first = told[0]
    series, found = first.balance.series, first.found
    start_ns = int(series.time_ns[found.first])
    _, end_ns = ends(series) or (None, None)
    lasts = format_span(found.lasts_s.estimate * NS_PER_S)
    is_soon = found.lasts_s.estimate <= settings["lasts_s_soon"]
    also = joined([_short(case, one) for one in told[1:]], 3)
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING if is_soon else Severity.INFO,
        confidence=0.7,
        title=said_of(opening(case, first.balance.entity), f"burst credits last {lasts} more"),
        summary=(
            f"Of {credits_words(case, first.balance)} {format_ratio(found.level + found.lost)} were left at "
            f"{case.time_words(start_ns)} and {format_ratio(found.level)} at the end. At this pace they last {lasts} "
            f"more ({between(found.lasts_s, lambda s: format_span(s * NS_PER_S))})."
            + (f" Also: {also}." if len(told) > 1 else "")
        ),
        why="When they are spent, no more than the base rate is done, and what is asked for beyond it waits for hours.",
        innocent="The load ends before that (a backup, a day of work), and the credits come back meanwhile.",
        check="Look at the balance over a week: if each night fills it, nothing runs out.",
        remedy=(
            "Take what has the rate as its base (EBS: gp3 or a larger volume, a larger instance; Azure: a greater size "
            "or tier), or keep the load below the base on average. To see first when it would be slow: simulate a "
            "design with a preset of its volume under `storscope workload derive` (docs/simulate.md)."
        ),
        source=f"A balance that lost {format_ratio(settings['lost_ratio_min'])} and falls still; a warning if it lasts "
        f"no longer than {format_span(settings['lasts_s_soon'] * NS_PER_S)}: ours.",
        entities=tuple(dict.fromkeys(one.balance.entity for one in told)),
        start_ns=start_ns,
        end_ns=end_ns,
        evidence=(rows_of_balances(case, "Credits left", [one.balance for one in told]),),
        weight=0.3,
        numbers={
            "left_ratio": found.level, "lost_ratio": found.lost, "lasts_s": found.lasts_s.estimate,
            "lasts_low_s": found.lasts_s.low, "lasts_high_s": found.lasts_s.high,
        },
    )  # fmt: skip


def _short(case: Case, one: _Falling) -> str:
    left, lasts = format_ratio(one.found.level), format_span(one.found.lasts_s.estimate * NS_PER_S)
    return f"{credits_words(case, one.balance)} ({left} left, for {lasts})"


RULE = Rule(
    name=_NAME,
    title="burst credits are used faster than they come back",
    evaluate=_evaluate,
    thresholds=(
        Threshold("left_ratio_spent", 0.02, "share of the credits that is as good as none", "ours"),
        Threshold("lost_ratio_min", 0.05, "share that must be lost since it was fullest last", "ours"),
        Threshold("lasts_s_soon", 86_400, "time that the rest lasts up to which it is a warning: a day shows what the "
                  "night gives back", "ours"),
    ),
)  # fmt: skip
