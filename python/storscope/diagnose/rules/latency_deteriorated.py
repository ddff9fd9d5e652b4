"""The host logged deteriorated latency, and the latency itself was high.

Looks for
    Log lines "performance has deteriorated" whose new latency is high in itself, how often they come and at what time
    of day.

Why it matters
    The line is written when latency is 30 times the level of the last such line, or has doubled since. It says that
    latency changed, not that it is bad: on flash 70 µs to 2 ms writes a line, on disk a steady 40 ms writes none. The
    latency in the line decides whether anyone was hurt.

Evidence
    Host logs with the lines: vmkernel.log and vobd.log of ESX and ESXi.

When it is wrong
    Large I/Os take longer without anything being wrong: backups and file copies of 64 to 256 KiB raise the mean. A
    device that is disk or flash is told from facts or from your settings, else disk is assumed. Lines without times
    may be old and say nothing of how often they come: they are never called critical.

References
    Broadcom knowledge base 318927 (the trigger, and 10 ms for disk and 1 to 2 ms for flash as a rule of thumb).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from storscope.diagnose.case import Case, Tier
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, listed
from storscope.diagnose.rules._logs import (
    HOST_LOG,
    HOUR_NS,
    event_rows,
    events_by_system,
    host_logs,
    most_in_window,
    said,
    times_of,
    window_of,
)
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_duration, format_ratio
from storscope.store.events import Event
from storscope.store.sql import sql_text

_NAME = "latency-deteriorated"
_TYPE = "latency_deteriorated"
_BROADCOM = "Broadcom knowledge base 318927"
_BAND_HOURS = 4


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    systems = events_by_system(case, _TYPE)
    if not systems:
        logs = host_logs(case)
        if logs is None:
            return [NotEvaluated(_NAME, f"{HOST_LOG} of the hosts")]
        return [Healthy(_NAME, f"No line about deteriorated latency in {logs}.")]
    return [_judge(case, settings, system, events) for system, events in systems.items()]


def _judge(case: Case, settings: Settings, system: str, events: list[Event]) -> Outcome:
    known = [event for event in events if event.value is not None]
    if not known:
        return NotEvaluated(_NAME, f"the latencies in the lines of {system}, which are cut off")
    bounds = {entity: _bound(case, settings, entity) for entity in {event.entity for event in known}}
    above = [event for event in known if (event.value or 0) >= bounds[event.entity]]
    if above:
        return _finding(case, settings, system, known, above)
    return Healthy(_NAME, _harmless(case, system, known, bounds))


def _bound(case: Case, settings: Settings, entity: EntityRef) -> float:
    return settings[f"latency_ns_{case.tier(entity).name}"]


def _harmless(case: Case, system: str, events: list[Event], bounds: dict[EntityRef, float]) -> str:
    worst = max(events, key=lambda event: event.value or 0)
    tier = case.tier(worst.entity)
    return (
        f"{counted(len(events), 'line')} about deteriorated latency on {system}, but none reached what hurts: the "
        f"greatest latency was {format_duration(worst.value)}, under {format_duration(bounds[worst.entity])} for "
        f"{tier.name}{' (assumed)' if tier.is_assumed else ''}. The ratio wrote the line, not the latency."
    )


def _finding(case: Case, settings: Settings, system: str, events: list[Event], above: list[Event]) -> Finding:
    values = np.array([event.value for event in above])
    worst = max(above, key=lambda event: event.value or 0)
    entities = [entity for entity, _ in Counter(event.entity for event in above).most_common()]
    times = times_of(above)
    per_hour = most_in_window(times)
    tier = case.tier(worst.entity)
    start, end = window_of(above)
    return Finding(
        rule=_NAME,
        severity=_severity(case, settings, above, per_hour),
        confidence=_confidence(tier, above),
        title=f"{system} logged latency up to {format_duration(worst.value)}",
        summary=(
            f"{counted(len(above), 'line')} of {len(events):,} about deteriorated latency name a latency that hurts: "
            f"median {format_duration(float(np.median(values)))}, greatest {format_duration(worst.value)} on "
            f"{case.label(worst.entity)} ({tier.name}{', assumed' if tier.is_assumed else ''}; "
            f"bound {format_duration(settings[f'latency_ns_{tier.name}'])}). {_frequency(times, per_hour, len(above))}"
            f"Named: {listed(case, entities, 3)}."
        ),
        why="The virtual machines on these devices waited that long for their data at those times.",
        innocent=(
            "Backups or copies with large I/Os ran at those times: then latency is high since each I/O is large, and "
            "throughput is what counts."
        ),
        check=(
            "Look at I/O size and throughput of these devices at those times (esxtop, view u: MBREAD/s over READS/s): "
            "above 64 KB an I/O explains much of the latency."
        ),
        remedy=(
            "Find what runs at that time of day and move, limit or spread it; if nothing does, look for the finding "
            "that explains the latency of these devices."
        ),
        source=f"{_BROADCOM}: lines are relative; 10 ms for disk and 1 to 2 ms for flash as a rule of thumb.",
        entities=tuple(entities),
        start_ns=start,
        end_ns=end,
        evidence=(_per_device(case, system), event_rows(case, "The lines as they were written", system, _TYPE)),
        weight=min(1.0, len(above) / len(events)) * 0.6,
        numbers={
            "lines_above": len(above), "lines": len(events), "lines_per_h_max": per_hour,
            "latency_ns_max": float(values.max()), "latency_ns_median": float(np.median(values)),
        },
    )  # fmt: skip


def _confidence(tier: Tier, above: list[Event]) -> float:
    """Lines without times may be of any age, and say nothing of how often they come."""
    if len(above) == 1:
        return 0.5
    return (0.7 if tier.is_assumed else 0.85) - (0 if times_of(above) else 0.15)


def _severity(case: Case, settings: Settings, above: list[Event], per_hour: int) -> Severity:
    factor = settings["severe_factor"]
    severe = sum((event.value or 0) >= factor * _bound(case, settings, event.entity) for event in above)
    often = per_hour >= settings["lines_per_h_severe"]  # 0 without times: how often is not known, so not critical
    if severe and often and 2 * severe >= len(above):
        return Severity.CRITICAL
    return Severity.WARNING if len(above) >= settings["lines_min_count"] or severe else Severity.INFO


def _frequency(times: list[int], per_hour: int, lines: int) -> str:
    if not times:
        return "The lines carry no times, so nothing is known of how often they come. "
    of = f" of the {len(times):,} with a time" if len(times) < lines else ""
    words = f"At most {per_hour}{of} came within one hour. "
    share, start = _busiest_band(times)
    if len(times) >= 5 and share >= 0.6 and max(times) - min(times) >= 24 * HOUR_NS:
        words += f"{format_ratio(share)} came between {start:02d}:00 and {(start + _BAND_HOURS) % 24:02d}:00 UTC. "
    return words


def _busiest_band(times: list[int]) -> tuple[float, int]:
    """The share of instants within the fullest four hours of the day, and the hour in UTC at which they begin."""
    hours = np.bincount((np.array(times, dtype=np.int64) // HOUR_NS) % 24, minlength=24)
    sums = [int(np.take(hours, range(start, start + _BAND_HOURS), mode="wrap").sum()) for start in range(24)]
    start = int(np.argmax(sums))
    return sums[start] / len(times), start


def _per_device(case: Case, system: str) -> EvidenceRows:
    return case.evidence(
        f"Latency in the lines of {system}",
        f"""SELECT kind, entity, count(*) AS lines, median(value) AS latency_ns_median, max(value) AS latency_ns_max,
        min(baseline) AS latency_ns_before_min, min(time) AS first_time, max(time) AS last_time
        FROM events WHERE system = {sql_text(system)} AND value IS NOT NULL AND {said(case, _TYPE)}
        GROUP BY kind, entity ORDER BY latency_ns_max DESC, kind, entity""",
    )


RULE = Rule(
    name=_NAME,
    title="the host logged deteriorated latency that is high in itself",
    evaluate=_evaluate,
    thresholds=(
        Threshold("latency_ns_disk", 10e6, "latency in a line from which it counts, for disk", _BROADCOM),
        Threshold("latency_ns_flash", 2e6, "latency in a line from which it counts, for flash", _BROADCOM),
        Threshold("severe_factor", 10, "times that latency from which a line is severe", "ours"),
        Threshold("lines_per_h_severe", 3, "lines within one hour that make severe ones critical", "ours"),
        Threshold("lines_min_count", 3, "lines above the bound, below which a finding only informs", "ours"),
    ),
)  # fmt: skip
