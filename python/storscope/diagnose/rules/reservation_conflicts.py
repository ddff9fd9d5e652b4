"""Hosts fight over SCSI reservations.

Looks for
    Reservation conflicts in counters, in logs and in the host's statistics, and reservations held for long.

Why it matters
    Without atomic test and set a host locks the whole volume to change file system metadata; every other host's
    commands fail and are retried. Latency climbs though almost no I/O is done, and deeper queues do not help.

Evidence
    Conflicts per second per device (esxtop: CONS/s); host logs ("reservation conflict", device status 0x18, "Long
    VMFS rsv time"); reservation conflicts and commands of a device (`vsish -e get /storage/scsifw/devices/ID/stats`).

When it is wrong
    Disks of a Microsoft cluster are reserved for good by one node, on purpose: the other hosts' conflicts are then
    harmless but slow down each re-scan. A few conflicts while many virtual machines start are normal.

References
    VMware knowledge base 1005009 on SCSI reservation conflicts, 1016106 on perennially reserved devices. The ratio
    of 10 % is common practice, no citation.
"""

from __future__ import annotations

from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._counts import Counted, count, rate_rows
from storscope.diagnose.rules._entities import counted, listed, where
from storscope.diagnose.rules._intervals import longest_run
from storscope.diagnose.rules._logs import HOST_LOG, event_rows, host_logs, most_in_window, times_of
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_duration, format_rate, format_ratio

_NAME = "reservation-conflicts"
_COLUMN = "conflicts_per_s"
_EVENTS = ("reservation_conflict", "reservation_held")
_COMMANDS = ("commands", "successful_commands")
_NEEDS = f"conflicts per second (esxtop batch CSV), {HOST_LOG}, or vsish -e get /storage/scsifw/devices/ID/stats"


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    systems = count(case, _COLUMN, *_EVENTS)
    counters = _since_reset(case)
    outcomes: list[Outcome] = []
    looked_at = 0
    for system in sorted(set(systems) | {entity.system for entity in counters}):
        seen = systems.get(system, Counted(column=_COLUMN))
        ratios = {entity: ratio for entity, ratio in counters.items() if entity.system == system}
        if _is_bad(settings, seen, ratios):
            outcomes.append(_finding(case, settings, system, seen, ratios))
        else:
            looked_at += len(set(seen.looked_at) | set(ratios))
    logs = host_logs(case)
    if looked_at:
        outcomes.append(Healthy(_NAME, f"No lasting reservation conflicts on {counted(looked_at, 'device')}."))
    elif logs is not None and not outcomes:
        lines = sum(len(seen.events) for seen in systems.values())
        outcomes.append(Healthy(_NAME, f"{counted(lines, 'line')} about reservations in {logs}."))
    return outcomes or [NotEvaluated(_NAME, _NEEDS)]


def _since_reset(case: Case) -> dict[EntityRef, float | None]:
    """Device -> conflicts per command since the counter was reset; None where the commands are not known."""
    found: dict[EntityRef, float | None] = {}
    for entity, facts in case.facts_by_entity.items():
        conflicts = facts.get("reservation_conflicts")
        if conflicts is None or conflicts.number is None:
            continue
        commands = next((facts[name].number for name in _COMMANDS if name in facts), None)
        found[entity] = conflicts.number / commands if commands else None
    return found


def _is_bad(settings: Settings, seen: Counted, ratios: dict[EntityRef, float | None]) -> bool:
    return (
        any(longest_run(series[_COLUMN] > 0, series.anew) >= settings["samples_min"] for series in seen.bad.values())
        or len(seen.events) >= settings["events_min_count"]
        or any((ratio or 0) > settings["conflict_ratio_max"] for ratio in ratios.values())
    )


def _finding(
    case: Case, settings: Settings, system: str, seen: Counted, ratios: dict[EntityRef, float | None]
) -> Finding:
    heavy = {entity: ratio for entity, ratio in ratios.items() if (ratio or 0) > settings["conflict_ratio_max"]}
    entities = list(dict.fromkeys([*seen.entities(), *sorted(heavy)]))
    start, end = seen.window()
    worst = max([seen.rate_max() / settings["conflicts_per_s_severe"], *(1.0 for _ in heavy), 0.0])
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if worst >= 1 else Severity.WARNING,
        confidence=0.85,
        title=f"Reservation conflicts on {counted(len(entities), 'device')} of {system}",
        summary=" ".join(_summary(seen, heavy)) + f" Hit most: {listed(case, entities[:3])}.",
        why=(
            "A reservation locks the whole volume against the other hosts: their commands fail and are tried again, "
            "which shows as kernel latency although little I/O is done."
        ),
        innocent=(
            "The devices belong to a Microsoft cluster, whose active node reserves them for good; or many machines "
            "were started at once."
        ),
        check=(
            "esxcli storage core device list -d ID: are these raw mappings of a cluster (Is Perennially Reserved)? "
            "esxcli storage core device vaai status get -d ID: is ATS supported?"
        ),
        remedy=(
            "Use VMFS volumes with ATS only, spread machines that are started or snapshotted at once, and mark cluster "
            "disks as perennially reserved: esxcli storage core device setconfig -d ID --perennially-reserved=true."
        ),
        source="Lasting conflicts per second above 0; above 10 % of commands: common practice, no citation.",
        entities=tuple(entities),
        start_ns=start,
        end_ns=end,
        evidence=_evidence(case, system, seen, heavy),
        weight=0.6,
        numbers={
            "conflicts_per_s_max": seen.rate_max(), "events": len(seen.events),
            "conflict_ratio_max": max((ratio or 0 for ratio in heavy.values()), default=0.0),
        },
    )  # fmt: skip


def _summary(seen: Counted, heavy: dict[EntityRef, float | None]) -> list[str]:
    words = []
    if seen.bad:
        words.append(
            f"About {counted(round(seen.total()) or 1, 'conflict')} on {counted(len(seen.bad), 'device')}, at most "
            f"{format_rate(seen.rate_max(), 'per second')}."
        )
    if seen.events:
        held = [event.value for event in seen.events if event.type == "reservation_held" and event.value is not None]
        per_hour = most_in_window(times_of(seen.events))
        words.append(
            f"The log has {counted(len(seen.events), 'line')} about reservations"
            + (f", at most {per_hour} within one hour" if per_hour else "")
            + (f"; one was held for {format_duration(max(held))}." if held else ".")
        )
    for entity, ratio in sorted(heavy.items())[:3]:
        words.append(f"On {entity.name} {format_ratio(ratio)} of all commands ended in a conflict.")
    return words


def _evidence(case: Case, system: str, seen: Counted, heavy: dict[EntityRef, float | None]) -> tuple[EvidenceRows, ...]:
    rows = []
    if seen.bad:
        rows.append(rate_rows(case, f"Conflicts per second on {system}", list(seen.bad), _COLUMN))
    if seen.events:
        rows.append(event_rows(case, f"Reservations in the log of {system}", system, *_EVENTS))
    if heavy:
        condition = where(heavy, "name IN ('reservation_conflicts', 'commands', 'successful_commands')")
        sql = f"SELECT entity, name, number FROM facts WHERE {condition} ORDER BY entity, name"
        rows.append(case.evidence(f"Conflicts since the counters of {system} were reset", sql))
    return tuple(rows)


RULE = Rule(
    name=_NAME,
    title="hosts fight over SCSI reservations",
    evaluate=_evaluate,
    thresholds=(
        Threshold("samples_min", 3, "consecutive intervals with conflicts that count as lasting", "ours"),
        Threshold("events_min_count", 3, "log lines from which it is a finding", "ours"),
        Threshold("conflict_ratio_max", 0.1, "conflicts per command since the reset of the counter",
                  "common practice, no citation"),
        Threshold("conflicts_per_s_severe", 20, "conflicts per second from which it is critical",
                  "common practice, no citation"),
    ),
)  # fmt: skip
