"""The storage refuses commands: its queue is full, or it says that it is busy.

Looks for
    Commands that came back with TASK SET FULL (device status 0x28) or BUSY (0x8), in number.

Why it matters
    A refused command is sent again later: it waits in the host, where the array's own latency does not show it. Many
    hosts behind one array port fill its queue together though none of them is over its own limit.

Evidence
    Host logs with the status of failed commands ("failed H:0x0 D:0x28 P:0x0"). The NMP throttles its lines, so what
    is counted is a lower bound.

When it is wrong
    A few of them in a burst are the way in which a target asks for patience, and hosts obey. BUSY is also said while a
    controller starts, or while its firmware is updated.

References
    T10 SAM-5, "Status", for what the two mean; Broadcom knowledge base 289902 for how ESXi prints them, and 1008113 for
    its adaptive queue depth (QFullSampleSize, QFullThreshold). The number of lines is ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted
from storscope.diagnose.rules._logs import (
    HOST_LOG,
    event_rows,
    events_by_system,
    host_logs,
    most_in_window,
    times_of,
    window_of,
)
from storscope.diagnose.rules._paths import way_of
from storscope.diagnose.rules._sense import by_count, times_each, when_words
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.store.events import Event

_NAME = "array-queue-full"
_EVENTS = ("task_set_full", "device_busy")


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    systems = events_by_system(case, *_EVENTS)
    outcomes: list[Outcome] = [
        _finding(case, system, events)
        for system, events in systems.items()
        if _per_hour(events) >= settings["refused_per_h_max"]
    ]
    logs = host_logs(case)
    if logs is not None and not outcomes:
        refused = sum(len(events) for events in systems.values())
        words = f"{counted(refused, 'command')} refused" if refused else "No command was refused"
        outcomes.append(Healthy(_NAME, f"{words} for a full queue or a busy target in {logs}."))
    return outcomes or [NotEvaluated(_NAME, HOST_LOG)]


def _per_hour(events: Sequence[Event]) -> int:
    """The most within one hour; those without a time count as of one hour, for nothing tells them apart."""
    times = times_of(events)
    return max(most_in_window(times), len(events) - len(times))


def _finding(case: Case, system: str, events: list[Event]) -> Finding:
    hit = by_count(events)
    start, end = window_of(events)
    full = sum(event.type == "task_set_full" for event in events)
    ways = Counter(way_of(path) for event in events if (path := event.attributes.get("path")))
    over = f" By path: {', '.join(f'{way} ({number:,})' for way, number in ways.most_common(3))}." if ways else ""
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.85,
        title=f"{_what(full, len(events))} for {counted(len(hit), 'device')} of {system}",
        summary=(
            f"{counted(len(events), 'command')} came back with {_statuses(full, len(events))}, "
            f"{when_words(case, events)}, {_per_hour(events):,} of them within one hour: {times_each(case, events)}."
            f"{over} The host throttles these lines, so there were at least as many."
        ),
        why=(
            "A refused command is sent again later and waits meanwhile in the host, where the array does not count it; "
            "deeper queues in the hosts make it worse."
        ),
        innocent="A burst at the start of many machines, or a controller that was restarted or updated at that time.",
        check=(
            "Add up what all hosts may have in flight to this array port (hosts x volumes x queue depth) and compare "
            "it with the port's limit; look whether one port or one volume collects the refusals."
        ),
        remedy=(
            "Lower the queue depth of the hosts or spread volumes over more array ports; let ESXi adapt: esxcli "
            "storage core device set -d ID --queue-full-sample-size 32 --queue-full-threshold 4."
        ),
        source="20 refused commands within one hour of a log that throttles: ours.",
        entities=tuple(entity for entity, _ in hit),
        start_ns=start,
        end_ns=end,
        evidence=(event_rows(case, f"Commands refused by the storage of {system}", system, *_EVENTS),),
        weight=0.65,
        numbers={"task_set_full": full, "device_busy": len(events) - full, "refused_per_h_max": _per_hour(events)},
    )


def _statuses(full: int, refused: int) -> str:
    if full == refused:
        return "TASK SET FULL"
    return f"TASK SET FULL ({full:,}) or BUSY ({refused - full:,})" if full else "BUSY"


def _what(full: int, refused: int) -> str:
    if full == refused:
        return "Storage queue full"
    return "Storage busy" if not full else "Storage queue full or busy"


RULE = Rule(
    name=_NAME,
    title="the storage refuses commands for a full queue",
    evaluate=_evaluate,
    thresholds=(
        Threshold("refused_per_h_max", 20, "refused commands in the log within one hour from which it is a finding",
                  "ours"),
    ),
)  # fmt: skip
