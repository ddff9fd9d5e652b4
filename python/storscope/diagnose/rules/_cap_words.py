"""What is said of a cap: what was seen, why it is none of the storage's own, whose it may be, and what to do."""

from __future__ import annotations

import math
from collections.abc import Callable

from storscope.diagnose.rules._asked_words import flight_words, rate_words
from storscope.diagnose.rules._caps import Cap
from storscope.diagnose.rules._entities import counted, joined
from storscope.diagnose.rules._intervals import median, seconds
from storscope.diagnose.rules._known_limits import LINK_PAYLOAD
from storscope.domain.arrays import FloatArray
from storscope.domain.units import (
    NS_PER_S,
    format_bandwidth,
    format_bytes,
    format_duration,
    format_ratio,
    format_span,
)

_NAMED_MOST = 2


def level_words(cap: Cap) -> str:
    """'3,000 IOPS', '131 MB/s (125 MiB/s)'."""
    return rate_words(cap.measure, cap.plateau.level)


def held_words(cap: Cap) -> str:
    """What stood still, what moved meanwhile, and what it cost."""
    asked = cap.asked
    lasted_s = float(seconds(asked.series)[cap.members].sum())
    moved = [
        _range(cap, asked.in_flight, flight_words, "in flight"),
        _range(cap, asked.size, format_bytes, "an operation"),
        "" if asked.of else _range(cap, asked.read_share, format_ratio, "reads"),
    ]
    what = "their sum" if asked.parts else f"the rate{f' of {asked.of}' if asked.of else ''}"
    alone, waiting = median(asked.alone_ns[cap.members]), median(asked.series["latency_ns_mean"][cap.members])
    return (
        f"In {counted(cap.plateau.count, 'interval')} ({format_span(lasted_s * NS_PER_S)}, "
        f"{format_ratio(cap.time_share)} of the time at work) operations waited and {what} was {level_words(cap)}, "
        f"deviating by {format_ratio(cap.plateau.spread)}, with {joined([words for words in moved if words])}. "
        f"What was asked for beyond that waited: an operation took {format_duration(waiting)} instead of "
        f"{format_duration(alone)} under light load."
    )


def _range(cap: Cap, values: FloatArray, form: Callable[[float], str], what: str) -> str:
    """From the tenth with the least to the tenth with the most; empty where it is not told."""
    low, high = cap.at(values, 0.1), cap.at(values, 0.9)
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    one, other = form(low), form(high)
    return f"{one} {what}" if one == other else f"{one} to {other} {what}"


def reason_words(cap: Cap) -> str:
    """Why the storage by itself would not do so; or that this was not seen."""
    told = []
    if cap.is_idle:
        told.append(_idle_words(cap))
    if cap.is_unmoved:
        told.append("no storage does as much whatever its operations are like")
    if cap.asked.parts:
        told.append(
            f"{'both' if len(cap.asked.parts) == 2 else 'all'} share the limit, and what one does another lacks"
        )
    if told:
        words = "; ".join(told)
        return f"{words[:1].upper()}{words[1:]}."
    return "Size and mix hardly changed, so that it may be all that the storage can do of these."


def _idle_words(cap: Cap) -> str:
    """Why a rate is less than what storage does that does what it can."""
    rate = f"at the latency of light load this rate would keep {cap.alone_in_flight:.2f} operations in flight"
    if cap.alone_in_flight < 1:
        return f"{rate}, so storage that does what it can would do more of them even one at a time"
    return f"{rate} on {len(cap.asked.parts)} of them: while all had work, one was idle for a part of the time"


def hint_words(cap: Cap) -> str:
    """Documented limits at this rate, and a link that it would fill."""
    rates: dict[float, list[str]] = {}
    for one in cap.known[:_NAMED_MOST]:
        rates.setdefault(one.rate_per_s, []).append(f"{one.whose} ({one.source})")
    told = [f"{rate_words(cap.measure, rate)} is {' or '.join(whose)}" for rate, whose in rates.items()]
    if cap.link_gbit_per_s is not None:
        low, high = (format_bandwidth(part * cap.link_gbit_per_s * 1e9 / 8) for part in LINK_PAYLOAD)
        told.append(f"a link of {cap.link_gbit_per_s} Gbit/s carries {low} to {high} in one direction")
    return f"A hint and no proof: {'; '.join(told)}." if told else ""


def confidence_of(cap: Cap) -> float:
    """How sure it is that the limit is imposed."""
    if not cap.is_shown:
        return 0.4
    own_rate = cap.measure == "bytes" and not cap.is_idle
    sure = (0.65 if own_rate else 0.8) + (0.1 if cap.known else 0.0)
    return sure - (0.15 if cap.link_gbit_per_s is not None else 0.0)


def innocent_words(cap: Cap) -> str:
    """What would make it harmless, or another matter."""
    told = "The limit is what was ordered, and nobody minds the wait (a backup, a batch)"
    if cap.measure == "bytes":
        own = "a link" if cap.link_gbit_per_s is None else f"a link of {cap.link_gbit_per_s} Gbit/s"
        told += f"; or {own}, or the interface of the storage, is full, which is as flat"
    elif not cap.is_shown:
        told += "; or the storage itself can do no more operations of this kind"
    else:
        told += "; or the light load was answered by a cache, and what is behind it can do no more"
    if cap.asked.of == "writes":
        told += "; or a write cache is full, and this is the rate at which it is emptied"
    return f"{told}."


def check_words(cap: Cap) -> str:
    """What decides: the one who limits counts it."""
    own = (
        "Linux: io.max of the control groups; vSphere: the IOPS limit of the virtual disk; an array: the QoS of the "
        "volume. If nobody does, the storage can do no more."
    )
    begin = "See who counts a limit at these times."
    if not cap.may_be_granted:
        return f"{begin} {own}"
    aws, azure = ("IOPS", "IOPS") if cap.measure == "ops" else ("Throughput", "Bandwidth")
    if cap.asked.parts:
        clouds = f"InstanceEBS{aws}ExceededCheck in CloudWatch; Azure: 'VM Uncached {azure} Consumed Percentage'"
    else:
        clouds = f"Volume{aws}ExceededCheck in CloudWatch; Azure: 'Data Disk {azure} Consumed Percentage'"
    return f"{begin} EBS: {clouds}; {own}"


def remedy_words(cap: Cap) -> str:
    """What to do, by what is limited, and how to try it first."""
    whole = (
        "that of the machine over all of its volumes" if cap.asked.parts else "and see that the machine's is not next"
    )
    return f"Raise the limit ({whole}), or take load away. {_lighter_words(cap)} {_trial_words(cap)}"


def _lighter_words(cap: Cap) -> str:
    if cap.measure == "ops":
        own = " (on SSD, EBS counts up to 256 KiB as one)" if cap.may_be_granted else ""
        return f"Fewer and larger operations pass as one each: larger blocks, read-ahead, merging{own}."
    if cap.asked.parts:
        return "Keep what is heavy (backup, scan) apart in time."
    return "Spread the data over several volumes, compress, or keep what is heavy (backup, scan) apart in time."


def _trial_words(cap: Cap) -> str:
    """How to see what a higher limit would bring before it is ordered."""
    what, on = "iops" if cap.measure == "ops" else "bandwidth", "host" if cap.asked.parts else "volume"
    return (
        "To try a higher one: `storscope workload derive ... --closed`, then `storscope simulate` a design with "
        f"`limit = {{ {what} = ... }}` on its {on} (docs/simulate.md), as it is and higher, and compare."
    )
