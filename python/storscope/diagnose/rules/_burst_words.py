"""What is said of a fall: from what to what, what was done above, whose credits it may have been, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rules._asked_words import flight_words, rate_words, subject_words
from storscope.diagnose.rules._balance_words import credits_words
from storscope.diagnose.rules._balances import AtFall
from storscope.diagnose.rules._falls import Fall
from storscope.domain.units import (
    MIB,
    NS_PER_S,
    format_bandwidth,
    format_bytes,
    format_duration,
    format_rate,
    format_ratio,
    format_rounded,
    format_span,
)

_TIB_OF_ST1, _TIB_OF_SC1 = (40 * MIB, 250 * MIB), (12 * MIB, 80 * MIB)
"""Base and burst of each TiB of EBS st1 and sc1, bytes per second (AWS, EBS volume types)."""
_GP2_BURST, _GP2_PER_GIB, _GP2_LEAST, _GP2_CREDITS = 3_000, 3, 100, 5.4e6
"""EBS gp2: operations per second of the burst, of the base for each GiB and at the least; credits when full."""
_AZURE_BURST = {"ops": 3_500.0, "bytes": 170e6}
"""Of Premium SSD up to P20, 30 minutes at most (Azure, managed disk bursting)."""
_FEW_WRITES = 0.1
"""Part of writes below which no write cache explains a fall (ours)."""
_NEAR = 0.03
"""Part by which a rate may differ from a documented one (ours)."""


def title_words(case: Case, fall: Fall, is_imposed: bool, spent: AtFall | None) -> str:
    """'Device sdb spent credits: 3,000 to 300 IOPS'; of others 'fell to a limit', or only 'fell'."""
    words = subject_words(case, fall.asked)
    happened = "spent credits" if spent is not None or documented(fall) else "fell to a limit" if is_imposed else "fell"
    if fall.measure == "ops":
        rates = f"{format_rate(fall.high, '').strip()} to {format_rate(fall.low)}"
    else:
        rates = f"{format_bandwidth(fall.high)} to {format_bandwidth(fall.low)}"
    return f"{words[:1].upper()}{words[1:]} {happened}: {rates}"


def fall_words(case: Case, falls: Sequence[Fall]) -> str:
    """What happened, when, and what was asked meanwhile."""
    fall = falls[0]
    before, after = fall.both(fall.asked.in_flight)
    quick, slow = fall.both(fall.asked.series["latency_ns_mean"])
    even = (
        "" if fall.is_waiting_seen else " Never were so few in flight that it shows how long one takes alone; but both "
        f"rates were even, the earlier one to {format_ratio(fall.spread_before)}, as limits are."
    )  # fmt: skip
    again = (
        f" It fell so {len(falls):,} times; told is the one with the most waiting after it." if len(falls) > 1 else ""
    )
    return (
        f"For {format_span(fall.fell_ns - fall.start_ns)} until {case.time_words(fall.fell_ns)} "
        f"{subject_words(case, fall.asked)} did {rate_words(fall.measure, fall.high)}, then "
        f"{rate_words(fall.measure, fall.low)} for {format_span(fall.end_ns - fall.fell_ns)}, deviating by "
        f"{format_ratio(fall.spread)}. As much was asked, with {flight_words(after)} in flight instead of "
        f"{flight_words(before)}: an operation took {format_duration(slow)} instead of {format_duration(quick)}."
        f"{even}{again}"
    )


def balance_words(case: Case, spent: AtFall | None) -> str:
    """What was left of the credits before and after it; empty where no balance tells it."""
    if spent is None:
        return ""
    words = credits_words(case, spent.balance)
    return (
        f"Of {words} {format_ratio(spent.at_first)} were left when this began, and {format_ratio(spent.left)} when it "
        "fell: they were spent."
    )


def credit_words(fall: Fall, spent: AtFall | None) -> str:
    """How much was done above the lower rate, and how long it takes to earn that again."""
    done = format_rounded(fall.credits) + " operations" if fall.measure == "ops" else format_bytes(fall.credits)
    if spent is None and fall.is_of_writes and not documented(fall):
        return f"Above the lower rate {done} were written in that time: so much a cache, or an SSD's quick cells, took."
    if_so = "if these were credits, they come back" if spent is None else "they come back"
    return (
        f"Above the lower rate {done} were done in that time; {if_so} in "
        f"{format_span(fall.credits / fall.low * NS_PER_S)} without any load, and more slowly with some."
    )


def hint_words(fall: Fall) -> str:
    """Documented credits that look so; empty where none do."""
    told = documented(fall)
    return f"A hint and no proof: {'; '.join(told)}." if told else ""


def documented(fall: Fall) -> list[str]:
    """Credits that providers document with these rates."""
    told = []
    if fall.measure == "ops" and _is_near(fall.high, _GP2_BURST) and _GP2_LEAST * 0.97 <= fall.low < _GP2_BURST:
        size = f"of {fall.low / _GP2_PER_GIB:,.0f} GiB" if fall.low > 1.03 * _GP2_LEAST else "of up to 33 GiB"
        told.append(
            f"EBS gp2 bursts to {format_rate(_GP2_BURST)}, with {_GP2_CREDITS / 1e6:g} million credits when full, and "
            f"{format_rate(fall.low)} is its base {size} (AWS, EBS volume types)"
        )
    if _is_near(fall.high, _AZURE_BURST[fall.measure]):
        rate = rate_words(fall.measure, _AZURE_BURST[fall.measure])
        told.append(f"Azure Premium SSD up to P20 bursts to {rate} for 30 min at most (Azure, managed disk bursting)")
    for name, (base, burst) in {"st1": _TIB_OF_ST1, "sc1": _TIB_OF_SC1}.items():
        in_bytes = fall.measure == "bytes" and fall.is_natural
        if in_bytes and _is_near(fall.high / fall.low, burst / base):
            told.append(
                f"the burst of EBS {name} is {burst / base:.3g} times its base, which would be that of "
                f"{fall.low / base:.1f} TiB (AWS, EBS volume types)"
            )
    return told


def _is_near(rate: float, known: float) -> bool:
    return abs(rate / known - 1) <= _NEAR


def innocent_words(fall: Fall, spent: AtFall | None) -> str:
    """What would make it another matter, or harmless."""
    if spent is not None:
        return "Nobody minds what waits since then (a backup, a batch), or little is asked for the rest of the day."
    if fall.is_of_writes:
        return (
            "Only writes fell: a write cache is full and they now go at the rate at which it is emptied, or an SSD has "
            "filled the cells that it writes quickly (SLC cache)."
        )
    written = min(fall.both(fall.asked.read_share)) < 1 - _FEW_WRITES
    first = "A write cache is full; or somebody" if written else "Somebody"
    return (
        f"{first} set a limit at that time; or the load became another one of the same size (reads that no cache "
        "answers any more, random ones after ones in sequence); or the storage got slower (heat, rebuild, neighbour)."
    )


def check_words(fall: Fall, spent: AtFall | None) -> str:
    """What decides."""
    if spent is not None:
        return (
            "See that the balance rises when less is asked for than the lower rate, and that as much is done again "
            "then: how long that lasts tells what the load may be."
        )
    aws, azure = ("IO", "IO") if fall.measure == "ops" else ("Byte", "BPS")
    cloud = (
        f"EBS: BurstBalance in CloudWatch (EBS{aws}Balance% of the instance) falls to 0 at that time. Azure: 'Data "
        f"Disk Used Burst {azure} Credits Percentage' reaches 100."
    )
    if fall.is_of_writes:
        return f"See how full the write cache was at that time. {cloud}"
    return f"{cloud} Else: let it rest and ask for as much again; with credits it is quick at first."


def remedy_words(fall: Fall, spent: AtFall | None) -> str:
    """What it takes to keep the earlier rate, or to live with the lower one."""
    keep = f"To keep {rate_words(fall.measure, fall.high)}, "
    if spent is None and fall.is_of_writes:
        return keep + "take storage that writes so quickly for good; else spread the writes over time."
    return keep + (
        "take a volume (or machine) that has it as its base (EBS: gp3, io2 or a larger gp2 or st1; Azure: a greater "
        "size or tier). Else keep the load below the base on average, and heavy jobs apart in time."
    )
