"""The host's queue to a device is full.

Looks for
    Devices whose operations in flight reach the queue limit for several intervals in a row while more wait above it, or
    before which operations spend a good part of their time; and how much of it that is. A short queue that is full
    most of the time never has a mean near its limit: there the waiting tells, and it is as bad as the latency of the
    volumes behind it. It stands behind what of the array is used to the full below.
    Of several queues that an operation stands in one after the other, the last one that is full makes those before it
    full.
    What is used to the full behind a part of what passes a host's queue holds up the rest of it there, too: that rest
    would go on quicker with more places, or with fewer for what is slow. Simulated hosts tell what passes them.
    Whether the array has room is told by the latency below the host, against that of the same device while its queue
    was not full; where it was full all the time, by how much of what is behind is used, if drives tell it.

Why it matters
    What does not fit in the queue waits inside the host, whatever the array could do: latency rises with load as if
    the array were slow.

Evidence
    Operations in flight, queued operations and the queue limit per device (esxtop: ACTV, QUED, DQLEN), or operations in
    flight with a known limit. Of a simulated array all limits of its design: of LUNs, adapters, hosts and ports.

When it is wrong
    When the array itself answers slowly, the queue fills for that reason, and a deeper queue would only move the
    waiting into the array. Storage I/O Control lowers the limit on purpose to be fair between hosts.

References
    esxtop: %USD at 100 with QUED above 0 (VMware, "Interpreting esxtop Statistics"); three intervals in a row are
    ours, and so is an array that gets slower at 1.5 times its latency with room in the queue. The share of an
    operation's time before a queue is the number there over all in flight (Little 1961). What random arrivals wait for
    a place at a given use: Sakasegawa 1977. Common limits: 32 (VIC fixed,
    DSNRO), 64 (Fibre Channel), 128 (software iSCSI).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, joined, listed, observed
from storscope.diagnose.rules._harm import harm_behind
from storscope.diagnose.rules._host_queues import (
    MOST,
    HostQueue,
    full_behind,
    full_ports,
    held_by,
    host_queues,
    queued_meanwhile,
    used_min,
)
from storscope.diagnose.rules._intervals import ends, greatest, hull, mean, weighted_mean
from storscope.diagnose.rules._simulated import is_simulated
from storscope.diagnose.rules.component_saturated import FullComponent, most_used_behind, used_to_the_full
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_count, format_duration, format_ratio
from storscope.store.series import Series

_NAME = "host-queue-full"


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    judged = host_queues(case, settings)
    if not judged:
        return [NotEvaluated(_NAME, "operations in flight, queued, and the queue limit per device (esxtop batch CSV)")]
    groups: dict[tuple[str, str, float], list[HostQueue]] = defaultdict(list)
    for full in judged:
        if full.bad.any():
            groups[full.series.entity.system, full.word, full.limit].append(full)
    if groups:
        return [_finding(case, settings, limit, fulls, judged) for (_, _, limit), fulls in sorted(groups.items())]
    runs = settings["samples_min"]
    closest = max(judged, key=lambda full: greatest(full.series["queue_depth_mean"]) / full.limit)
    peak = greatest(closest.series["queue_depth_mean"])
    return [
        Healthy(
            _NAME,
            f"No queue of {_counted(judged)} was full for {runs:.0f} intervals in a row; "
            f"the fullest held {format_count(peak)} of {format_count(closest.limit)} ({closest.series.entity.name}).",
        )
    ]


def _partly_words(case: Case, ports: Sequence[HostQueue]) -> str:
    """Of ports that are full beside others that are not."""
    if not ports:
        return ""
    full = joined([_places_words(case, one) for one in ports], 3)
    return f" Full meanwhile are {full}, too: what goes there would only wait there."


def _places_words(case: Case, queue: HostQueue) -> str:
    return f"the {queue.limit:.0f} places of {case.label(queue.series.entity)}"


def _held_words(case: Case, held: Sequence[HostQueue], queued: float) -> str:
    """' and 46 for it before the queue of h1'."""
    if not held:
        return ""
    which = "queue" if len(held) == 1 else "queues"
    names = joined([case.label(one.series.entity) for one in held], 3)
    return f" and {_queued_words(queued)} for it before the {which} of {names}"


def _queued_words(queued: float) -> str:
    return format_count(round(queued)) if queued >= 1 else f"{queued:.1f}"


def _counted(fulls: Sequence[HostQueue]) -> str:
    """'2 devices and 1 host'."""
    words = Counter(full.word for full in fulls)
    return joined([counted(count, word) for word, count in sorted(words.items())])


def _finding(
    case: Case, settings: Settings, limit: float, fulls: list[HostQueue], judged: Sequence[HostQueue]
) -> Finding:
    fulls = sorted(fulls, key=lambda full: (-int(full.bad.sum()), full.series.entity))
    worst = fulls[0]
    entities = [full.series.entity for full in fulls]
    share = float(worst.bad.mean())
    bad = worst.series.where(worst.bad)
    below = _latency_below(bad)
    quiet = _latency_below(worst.series.where(~worst.filled))
    simulated = is_simulated(case, entities[0].system)
    behind = _busy_behind(case, entities[:1])
    later, held = full_behind(case, worst, judged), held_by(case, worst, judged)
    blocking = [*(one.words for one in behind), *(_places_words(case, one) for one in later)]
    busy = joined(blocking, 3) if blocking else ""
    held_up = sum(queued_meanwhile(one, worst) for one in held)
    waited = _waited_share(bad, held_up)
    costs_little = waited < settings["waiting_share_min"]
    causes = [one for one in _busy_behind(case, entities) if one.time_share >= MOST * share]
    apart = _apart_words(case, entities[0])
    slow = below > settings[f"device_latency_ns_{_tier_name(case, entities[0])}"]
    rose = below > settings["latency_rise_max"] * quiet
    limited = slow or rose or bool(busy)
    most_used = None if limited or np.isfinite(quiet) else _most_used_behind(case, entities[:1])
    is_little = most_used is not None and most_used[1] <= _ROOM
    has_room = (below <= settings["latency_rise_max"] * quiet or is_little) and not limited
    severities = [_severity(settings, share, waited)]
    if worst.is_often and (harm := max(filter(None, (harm_behind(case, one) for one in entities)), default=None)):
        severities.append(harm)
    start, end = hull([span for full in fulls if (span := ends(full.series, full.bad)) is not None])
    return Finding(
        rule=_NAME,
        severity=min([*severities, *(one.finding.severity for one in causes)]),
        confidence=0.85,
        title=(
            f"Queue of {limit:.0f} is {'often ' if worst.is_often else ''}full on {counted(len(fulls), worst.word)} "
            f"of {entities[0].system}"
        ),
        summary=(
            f"{case.label(entities[0])} had {_taken(worst, bad)} taken for {int(worst.bad.sum())} intervals "
            f"({format_ratio(share)} of the time){_waiting(bad, waited, _held_words(case, held, held_up))}. "
            f"{_lowered_words(worst)}{_below(below, quiet, slow, rose, busy, most_used, apart)}"
            f"{'' if later else _partly_words(case, full_ports(worst, judged))}"
            + (f" Also: {listed(case, entities[1:], 3)}." if len(entities) > 1 else "")
        ),
        why="What does not fit waits inside the host, so latency rises with load whatever the array could do.",
        innocent=(
            "The array answers slowly, and the full queue is the effect; or Storage I/O Control holds the limit low to "
            "be fair between hosts."
        ),
        check=_CHECK_SIMULATED if simulated else _CHECK,
        remedy=_REMEDY_LEAVE if costs_little else _remedy(
            worst, is_later=bool(later) and not (behind or slow), is_apart=bool(apart), limited=limited,
            simulated=simulated, has_room=has_room,
        ),
        source='VMware, "Interpreting esxtop Statistics": %USD 100 with QUED above 0; three intervals in a row: ours.',
        entities=tuple(entities),
        start_ns=start,
        end_ns=end,
        evidence=(_rows(case, settings, entities, limit),),
        # Where the array is slow the queue is the effect, and stands behind what makes it so.
        weight=min(
            [min(1.0, 0.4 + share / 2) * (0.7 if limited else 1.0), *(0.7 * one.finding.weight for one in causes)]
        ),
        numbers={"queue_limit": limit, "devices": len(fulls), "time_share": share}
        | ({"waiting_share": waited} if np.isfinite(waited) else {}),
    )  # fmt: skip


def _counts(settings: Settings, limit: float) -> str:
    """An SQL condition for the intervals that count, in runs or not."""
    in_force = f"coalesce(queue_limit, {limit:g})"
    full = f"queue_depth_mean >= {settings['full_ratio']} * {in_force}"
    costly = (
        f"queued_mean >= {settings['waiting_share_min']} * (queued_mean + queue_depth_mean) "
        f"AND queue_depth_mean >= {used_min(settings, limit):.4g} * {in_force}"
    )
    return f"({full} OR ({costly}))"


def _taken(worst: HostQueue, bad: Series) -> str:
    mean_words = f"{mean(bad['queue_depth_mean']):.1f} of " if worst.is_often else ""
    return f"{mean_words}its {worst.limit:.0f} places"


def _lowered_words(worst: HostQueue) -> str:
    if not worst.limit < worst.lowered_from:
        return ""
    return f"The limit was lowered: it had {worst.lowered_from:.0f} places before. "


def _waited_share(bad: Series, held_up: float) -> float:
    """Share of an operation's time that it waits for a place, by Little's law; NaN where waiting is not counted.

    `held_up` wait for the same before other queues.
    """
    queued, depth = mean(bad["queued_mean"]) + held_up, mean(bad["queue_depth_mean"])
    return queued / (queued + depth)


def _severity(settings: Settings, share: float, waited: float) -> Severity:
    """By the share of the time that it is full, and of an operation's time that it costs where that is known."""
    if waited < settings["waiting_share_min"]:
        return Severity.INFO
    costs = not waited < settings["waiting_share_severe"]
    return Severity.CRITICAL if costs and share >= settings["time_share_severe"] else Severity.WARNING


def _remedy(
    queue: HostQueue, *, is_later: bool, is_apart: bool, limited: bool, simulated: bool, has_room: bool
) -> str:  # fmt: skip
    """Where operations wait long enough. `is_later`: another limit behind this one makes it full."""
    lowered = _REMEDY_LOWERED if queue.limit < queue.lowered_from else ""
    return lowered + _remedy_of_the_limit(is_later, is_apart, limited, simulated, has_room)


def _remedy_of_the_limit(is_later: bool, is_apart: bool, limited: bool, simulated: bool, has_room: bool) -> str:
    if is_later:
        return _REMEDY_LATER
    if is_apart:
        return _REMEDY_APART
    if limited:
        return "Look for what makes the array slow before touching the queue."
    return _REMEDY_SIMULATED if simulated else ("" if has_room else _IF_ROOM) + _REMEDY


def _rows(case: Case, settings: Settings, entities: Sequence[EntityRef], limit: float) -> EvidenceRows:
    return case.evidence(
        "Intervals with the queue at its limit",
        f"""SELECT kind, entity, time, queue_depth_mean, queue_limit, queued_mean, busy_ratio, ops_per_s,
        device_latency_ns_mean, kernel_latency_ns_mean FROM observations
        WHERE {observed(case, entities, _counts(settings, limit))}
        ORDER BY coalesce(queued_mean, queue_depth_mean) DESC, time, entity""",
    )


_REMEDY_LOWERED = (
    "Find out why the host lowered the limit: Storage I/O Control at its latency threshold, or throttling after the "
    "array answered TASK SET FULL or BUSY (vmkernel.log); a greater limit works against that. Else: "
)
_SIOC = "A queue limit that changes over time is the sign of Storage I/O Control."
_CHECK = (
    "Compare the device's latency (DAVG) in these intervals with quiet ones: low means the limit itself holds I/O "
    "back, high means look at the array first. " + _SIOC
)
_CHECK_SIMULATED = (
    "Raise the limit in the design, simulate again and compare the two runs: more operations per second mean that the "
    "limit held them back, longer times below it that the array is the limit."
)
_REMEDY_SIMULATED = "Spread the load over more volumes, or raise the limit, within what the array's ports can take."
_REMEDY = (
    "Spread the machines over more devices; or raise the queue depth of adapter and device together with "
    "Disk.SchedNumReqOutstanding, within what the array ports can take."
)
_IF_ROOM = "Find out first whether the array has room: its latency while this queue is not full. If it has: "
_REMEDY_LATER = "Raise the limit behind this one first, or let less come to it: this one is full because of it."
_REMEDY_APART = (
    "Give what rests on the full part fewer places than the whole queue has (a limit of its own), or move it "
    "elsewhere, so that the others find places; a deeper queue lets the others through, and moves the waiting of this "
    "one."
)
_REMEDY_LEAVE = "Leave the limit: operations hardly wait for a place, so a higher one would change next to nothing."


def _waiting(bad: Series, waited: float, held: str) -> str:
    queued = mean(bad["queued_mean"])
    if not queued > 0:
        return ""
    more = f"{_queued_words(queued)} more waiting on average{held}"
    return f", with {more}, {format_ratio(waited)} of an operation's time"


def _busy_behind(case: Case, entities: Sequence[EntityRef]) -> list[FullComponent]:
    """What of the array behind these queues is used to the full; of a host's or a port's queue all of it is behind."""
    behind = frozenset().union(*(case.components(entity) for entity in entities))
    full = {one: found for one, found in used_to_the_full(case).items() if one.system == entities[0].system}
    return [found for one, found in full.items() if one in behind or not behind]


def _apart(case: Case, queue: EntityRef) -> tuple[list[EntityRef], list[EntityRef]]:
    """Of the volumes that pass a queue those behind which something is used to the full, and those that meet nothing of
    that; none where it is all of them, or none, or not known which pass it. Volumes without I/Os do not count."""
    passing = [one for one in case.linked(queue, "uses") if one.kind == "vdisk" and _works(case, one)]
    full = used_to_the_full(case).keys()
    slow = [one for one in passing if full & case.components(one)]
    free = [one for one in passing if one not in slow]
    return (sorted(slow), sorted(free)) if slow and free else ([], [])


def _works(case: Case, volume: EntityRef) -> bool:
    series = case.all_series.get(volume)
    return series is not None and series.has("ops_per_s") and greatest(series["ops_per_s"]) > 0


def _apart_words(case: Case, queue: EntityRef) -> str:
    """Which volume what is used to the full is behind, and which others wait for the same places; empty without."""
    slow, free = _apart(case, queue)
    if not free:
        return ""
    other = "rests on something else and waits" if len(free) == 1 else "rest on something else and wait"
    there = f"{listed(case, slow, 3)} {'is' if len(slow) == 1 else 'are'} on"
    return f"which {there}; {listed(case, free, 3)} {other} for the same places"


def _tier_name(case: Case, queue: EntityRef) -> str:
    """That of the volumes that pass it; of several the slower one."""
    names = {case.tier(one).name for one in case.linked(queue, "uses") if one.kind == "vdisk"}
    return "disk" if "disk" in names else case.tier(queue).name


def _most_used_behind(case: Case, entities: Sequence[EntityRef]) -> tuple[str, float] | None:
    behind = frozenset().union(*(case.components(entity) for entity in entities))
    return most_used_behind(case, behind, entities[0].system)


_ROOM = 0.7
"""Load of the most used up to which at least two fifths more fit behind a queue (ours)."""


def _latency_below(series: Series) -> float:
    """Mean latency below the host, by operations where they are counted; NaN where it is not told."""
    told = series["device_latency_ns_mean"]
    return weighted_mean(told, series["ops_per_s"]) if series.has("ops_per_s") else mean(told)


def _below(
    latency_ns: float,
    quiet_ns: float,
    slow: bool,
    rose: bool,
    busy: str,
    most_used: tuple[str, float] | None,
    apart: str,
) -> str:
    """What the latency below the host says of the array, against that of the same device with room in its queue.

    `apart` tells of what passes the queue and meets nothing that is used to the full, if there is such.
    """
    moved = apart or "so a deeper queue would only move the waiting"
    if not np.isfinite(latency_ns):
        told = "The latency below the host is not in the evidence"
        return f"{told}; used to the full: {busy}, {moved}." if busy else f"{told}.{_most_used_words(most_used)}"
    told = f"Below the host an I/O then took {format_duration(latency_ns)}"
    if np.isfinite(quiet_ns):
        told += f" ({format_duration(quiet_ns)} while the queue was not full)"
    if busy:
        return f"{told}: used to the full: {busy}, {moved}."
    if slow or rose:
        return f"{told}: the array is {'slow' if slow else 'slower then, too'}, {moved}."
    if np.isfinite(quiet_ns):
        return f"{told}: the array has room."
    if most_used is not None:
        return f"{told}.{_most_used_words(most_used)}"
    return (
        f"{told}; whether the array has room is not known, as its latency with a shorter queue is not in the evidence."
    )


def _most_used_words(most_used: tuple[str, float] | None) -> str:
    """What the load of the array says of its room; empty where it is not told."""
    if most_used is None:
        return ""
    words, ratio = most_used
    room = ": the array has room" if ratio <= _ROOM else ""
    return f" Nothing behind it is used to the full, most of all {words}, {format_ratio(ratio)}{room}."


RULE = Rule(
    name=_NAME,
    title="the host's queue to a device is full",
    evaluate=_evaluate,
    thresholds=(
        Threshold("full_ratio", 0.95, "operations in flight over the queue limit from which the queue is full", "ours"),
        Threshold("samples_min", 3, "consecutive intervals in which it must be full", "ours"),
        Threshold("time_share_severe", 0.5, "share of the time from which it can be critical", "ours"),
        Threshold("waiting_share_min", 0.1, "share of an operation's time before the queue below which it costs little",
                  "ours"),
        Threshold("waiting_share_severe", 0.3, "share of an operation's time before the queue from which it costs much",
                  "ours"),
        Threshold("latency_rise_max", 1.5, "latency below the host over that of the same device while its queue is not "
                  "full, from which the array is slower, too", "ours"),
        Threshold("device_latency_ns_disk", 25e6, "latency below the host from which the array is slow, disk",
                  "Broadcom knowledge base 318927; VMware community practice"),
        Threshold("device_latency_ns_flash", 2e6, "latency below the host from which the array is slow, flash",
                  "Broadcom knowledge base 318927"),
    ),
)  # fmt: skip
