"""Commands were aborted.

Looks for
    Aborted commands in counters and logs, and resets that follow when an abort does not help.

Why it matters
    A host or guest aborts a command after waiting for 5 to 60 seconds. Whoever issued it has stood still that long;
    file systems go read-only and databases fail over soon after.

Evidence
    Aborts per second per device (esxtop: ABRTS/s), or host logs (host status 0x5, "Abort Task", "Reset request").

When it is wrong
    A controller restart, a firmware update or a cable that was moved aborts what was in flight, once. A device that
    is gone on purpose is aborted until it is removed.

References
    esxtop: ABRTS/s above 0 deserves a look, above 1 is trouble (VMware community practice, no citation);
    Broadcom knowledge base 289902 for the host status.
"""

from __future__ import annotations

from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._counts import Counted, count, rate_rows
from storscope.diagnose.rules._entities import counted, listed
from storscope.diagnose.rules._logs import HOST_LOG, event_rows, host_logs, most_in_window, times_of
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_rate

_NAME = "commands-aborted"
_COLUMN = "aborts_per_s"
_EVENTS = ("command_aborted", "bus_reset")


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    systems = count(case, _COLUMN, *_EVENTS)
    outcomes: list[Outcome] = [
        _finding(case, settings, system, seen) for system, seen in systems.items() if seen.bad or seen.events
    ]
    clean = [len(seen.looked_at) for seen in systems.values() if seen.looked_at and not seen.bad and not seen.events]
    logs = host_logs(case)
    if clean:
        outcomes.append(Healthy(_NAME, f"No command was aborted on {counted(sum(clean), 'entity', 'entities')}."))
    elif logs is not None and not outcomes:
        outcomes.append(Healthy(_NAME, f"No aborted command and no reset in {logs}."))
    return outcomes or [NotEvaluated(_NAME, f"aborts per second (esxtop batch CSV: Aborts/sec), or {HOST_LOG}")]


def _finding(case: Case, settings: Settings, system: str, seen: Counted) -> Finding:
    entities = seen.entities()
    start, end = seen.window()
    rate, per_hour = seen.rate_max(), most_in_window(times_of(seen.events))
    trouble = rate > settings["aborts_per_s_max"] or per_hour >= settings["events_per_h_max"]
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if trouble else Severity.WARNING,
        confidence=0.9,
        title=f"Commands were aborted on {counted(len(entities), 'entity', 'entities')} of {system}",
        summary=_summary(seen, rate, per_hour) + f" Hit most: {listed(case, entities[:3])}.",
        why=(
            "Whoever issued an aborted command had waited for seconds to a minute: guests stall, file systems turn "
            "read-only, clusters fail over."
        ),
        innocent="A controller restart, a firmware update or work on the fabric aborted what was in flight then.",
        check=(
            "Ask for maintenance in that time window, and look whether the aborts keep to one path, one array port or "
            "one volume (vmkernel.log: H:0x5 with the path's name)."
        ),
        remedy=(
            "Look for what made commands hang: a failing drive or path, an array at its limit (see the other findings "
            "for the same time), then replace or relieve it."
        ),
        source="ABRTS/s above 0 notable, above 1 trouble: common practice, no citation.",
        entities=tuple(entities),
        start_ns=start,
        end_ns=end,
        evidence=_evidence(case, system, seen),
        weight=0.8 if trouble else 0.5,
        numbers={"aborts_per_s_max": rate, "aborts": seen.total(), "events": len(seen.events),
                 "events_per_h_max": per_hour},
    )  # fmt: skip


def _summary(seen: Counted, rate: float, per_hour: int) -> str:
    words = []
    if seen.bad:
        words.append(
            f"About {counted(round(seen.total()) or 1, 'command')} aborted on {len(seen.bad)} of "
            f"{len(seen.looked_at)} entities, at most {format_rate(rate, 'per second')}."
        )
    if seen.events:
        resets = sum(event.type == "bus_reset" for event in seen.events)
        words.append(
            f"The log has {counted(len(seen.events) - resets, 'abort')} and {counted(resets, 'reset')}"
            + (f", at most {per_hour} within one hour." if per_hour else "; its lines carry no times.")
        )
    return " ".join(words)


def _evidence(case: Case, system: str, seen: Counted) -> tuple[EvidenceRows, ...]:
    rows = []
    if seen.bad:
        rows.append(rate_rows(case, f"Aborts per second on {system}", list(seen.bad), _COLUMN))
    if seen.events:
        rows.append(event_rows(case, f"Aborts and resets in the log of {system}", system, *_EVENTS))
    return tuple(rows)


RULE = Rule(
    name=_NAME,
    title="commands were aborted",
    evaluate=_evaluate,
    thresholds=(
        Threshold("aborts_per_s_max", 1, "aborts per second above which it is trouble", "common practice, no citation"),
        Threshold("events_per_h_max", 10, "aborts and resets within one hour from which it is trouble", "ours"),
    ),
)  # fmt: skip
