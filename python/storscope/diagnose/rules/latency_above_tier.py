"""Latency stays above what its tier (disk or flash) should deliver.

Looks for
    Entities with a tenth or more of their operations, or ten minutes on end, above the latency limits of their tier.
    What stalls completes few operations, so a share of them hides it. At no more than the usual load these count too:
    two minutes on end as many times above the limit as they are shorter than ten minutes; a tenth of the time with half
    of all waiting. So do 30 s without a completion while operations wait, or a mean of 15 s over 30 s or more with an
    hour of waiting in it: a stall that a long interval hides. On end are two intervals or more (three of what does
    twice the usual); one alone with an hour of waiting, far above its limit, is information. Reads and writes are
    judged each by their own rate as well, where the evidence tells rate and latency of both. Nearly idle intervals do
    not count, nor does a direction with less than 2 % of the operations. For I/O of more than 64 KiB the limits grow by
    the time that it takes at 125 MB/s, on disk at least to 1.4 times. Less than 30 s or 200 operations above the limit,
    or a mean above it by a few spikes, are information and no warning.

Why it matters
    Applications wait for storage one operation after another. On disk 15 ms is slow and 25 ms is felt by everyone; on
    flash 1 and 2 ms mean that something queues, since the medium answers in a fraction of that. Reads are what is
    waited for most: a mean of all hides them behind writes that a cache takes at once.

Evidence
    Operations per second and mean latency per interval, from a host or an array (iostat -x, esxtop, perfmon, EVAperf);
    best of reads and writes apart. Where only the mean of both is told, slow reads may hide in it.

When it is wrong
    The tier is assumed where nothing in the evidence names it: name it in your settings. Backups and copies with large
    I/O are slow per operation and fast per byte. A stuck counter of operations in flight looks like a stall. Guest and
    datastore latencies include throttling by limits on I/O. A host that writes behind its applications sends writes in
    bulk, and nobody waits for them.

References
    PAL threshold files for Windows Server (15 ms and 25 ms of reads and of writes apart; 35 ms for I/O above 64 KiB);
    125 MB/s: 1 Gbit/s (IEEE 802.3, 1000BASE-T), the slowest link in use for storage; Broadcom knowledge base 318927
    (25 ms for disk); 1 and 2 ms for flash and the tenth of the operations are common practice, no citation.
    Stalls hidden by counting operations: "coordinated omission" (Tene, How NOT to Measure Latency, 2013).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.directions import DIRECTION_SHARE_MIN, DIRECTIONS
from storscope.diagnose.peers import LAYER_KINDS
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._causes import with_causes
from storscope.diagnose.rules._ended_work import ended_work
from storscope.diagnose.rules._entities import counted, in_use, listed
from storscope.diagnose.rules._load import headed, kind_word, named, opening, rhythm_words
from storscope.diagnose.rules._simulated import is_simulated
from storscope.diagnose.rules._tier_needs import needs_words
from storscope.diagnose.rules._tier_verdict import Verdict, judge
from storscope.diagnose.rules.drive_failed import work_words
from storscope.diagnose.stalls import Stall, stalls_of
from storscope.diagnose.tier_limits import (
    CRITICAL_NS,
    LARGE_BYTES,
    LARGE_BYTES_PER_S,
    LARGE_FACTOR,
    TIER_RULE,
    WARNING_NS,
    TierLimits,
)
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import NS_PER_S, format_duration, format_ratio, format_span

_NAME = TIER_RULE
_KINDS = (*LAYER_KINDS, "host")


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    verdicts: dict[str, list[Verdict]] = defaultdict(list)
    for entity, series in sorted(case.series(*_KINDS).items()):
        timed = series.has("latency_ns_mean") or bool(stalls_of(case, entity))
        verdict = judge(case, settings, series) if timed else None
        if verdict is not None:
            verdicts[entity.system].append(verdict)
    if not verdicts:
        return [NotEvaluated(_NAME, needs_words(case, settings, case.series(*_KINDS).values()))]
    return [_outcome(case, settings, system, found) for system, found in verdicts.items()]


def _outcome(case: Case, settings: Settings, system: str, verdicts: list[Verdict]) -> Outcome:
    bad = [verdict for verdict in verdicts if verdict.severity]
    if not bad:
        return Healthy(_NAME, _good(case, system, verdicts))
    sure = [verdict for verdict in bad if verdict.severity is not Severity.INFO]
    return _finding(case, settings, system, verdicts, sure or bad)


def _good(case: Case, system: str, verdicts: list[Verdict]) -> str:
    kind = min((verdict.entity.kind for verdict in verdicts), key=_KINDS.index)
    own = [verdict for verdict in verdicts if verdict.entity.kind == kind]
    worst = max(own, key=lambda verdict: verdict.mean_ns / verdict.mean_limit_ns)
    limit = _limit_words(worst)
    above = (
        f"{format_ratio(worst.share)} of {worst.of or 'its operations'} lie in intervals with a mean above {limit}"
        if worst.above_ns
        else f"no interval's mean is above {limit}"
    )
    label = case.label(worst.entity)
    subject = f"{worst.of} of {label}, have" if worst.of else f"{label}, has"
    return (
        f"Latency of {counted(len(own), kind_word(kind), kind_word(kind, 2))} of {system} is within its tier"
        f"{_but_words(own)}: the "
        f"worst, {subject} a mean of {format_duration(worst.mean_ns)}{_mean_words(worst)}, and {above} "
        f"({_tier_words(worst.limits)})."
    )


def _but_words(verdicts: list[Verdict]) -> str:
    """The time that is not within, so that nobody takes the mean for all of it."""
    longest_ns = max(verdict.above_ns for verdict in verdicts)
    if not longest_ns:
        return ""
    return f" but for {'' if len(verdicts) == 1 else 'up to '}{format_span(longest_ns)}"


def _mean_words(verdict: Verdict) -> str:
    """What the mean is one of, where that is not plain."""
    others = [f"{of} {format_duration(ns)}" for of, ns in verdict.means_ns.items() if of != verdict.of]
    if len(verdict.means_ns) > 1:
        parts = verdict.means_ns.values()
        # Another source, or other times, may tell the mean of all alone: then its parts need not add up to it.
        apart = not verdict.of and not 0.99 * min(parts) <= verdict.mean_ns <= 1.01 * max(parts)
        return f" ({'where they are told apart: ' if apart else ''}{', '.join(others)})"
    return " over reads and writes together" if verdict.is_mixed else ""


def _limit_words(verdict: Verdict) -> str:
    limit = format_duration(verdict.limit_ns)
    if np.isclose(verdict.wide_limit_ns, verdict.limit_ns):
        return limit
    return f"{limit}, or {format_duration(verdict.wide_limit_ns)} for I/O of its size"


def _tier_words(limits: TierLimits) -> str:
    told = "assumed" if limits.known_from == "assumed" else f"told from {limits.known_from}"
    return f"{limits.tier}, {told}" if limits.assumed else limits.tier


def _finding(case: Case, settings: Settings, system: str, verdicts: list[Verdict], bad: list[Verdict]) -> Finding:
    severity = max(verdict.severity for verdict in bad if verdict.severity)
    kind = min((verdict.entity.kind for verdict in bad), key=_KINDS.index)
    main = sorted((v for v in bad if v.entity.kind == kind), key=lambda v: (-(v.severity or 0), -v.waiting))
    others = sorted({kind_word(v.entity.kind, 2) for v in bad if v.entity.kind != kind})
    worst = main[0]
    harm = sum(v.waiting for v in main) / max(sum(v.waiting for v in verdicts if v.entity.kind == kind), 1e-12)
    entities = [verdict.entity for verdict in main]
    alike = [v for v in main if v.alike == worst.alike]
    stalls = worst.is_stall or worst.is_hidden_stall
    what = _what(case, worst, len(alike))
    milder = [v.entity for v in main if v not in alike]
    whole = {one for entity in entities for one in (entity, *case.components(entity))}
    start_ns, end_ns = min(verdict.start_ns for verdict in main), max(verdict.end_ns for verdict in main)
    ended = ended_work(case, whole, start_ns, end_ns)
    works = (work_words(case, whole), ended.words)
    return Finding(
        rule=_NAME,
        severity=severity,
        confidence=_confidence(worst, severity),
        title=_title(what, worst, severity),
        summary=(
            _stall_words(case, worst)
            + _share_words(case, settings, worst)
            + _evidence_words(settings, worst, severity)
            + (f"Above it on {system}: {listed(case, [v.entity for v in alike])}. " if len(alike) > 1 else "")
            + (f"Above a limit of their own: {listed(case, milder)}. " if milder else "")
            + (f"Seen again at {' and '.join(others)}. " if others else "")
            + (f"{rhythm.strip()} " if (rhythm := rhythm_words(case, system)) else "")
            + " ".join(words for words in works if words)
        ).strip(),
        why="Applications wait for each operation in turn, so this latency is added to every transaction they make.",
        innocent=_INNOCENT_STALL if stalls else _INNOCENT + _INNOCENT_OF.get(worst.of, ""),
        check=_CHECK_SIMULATED if is_simulated(case, system) else _CHECK_STALL if stalls else _CHECK,
        remedy=_REMEDY_STALL if stalls else _REMEDY,
        source=f"{format_duration(worst.limit_ns)} for {worst.limits.tier}: " + _SOURCES[worst.limits.tier] + ".",
        entities=entities,
        start_ns=start_ns,
        end_ns=end_ns,
        evidence=(*_evidence(case, settings, entities, worst), *ended.evidence),
        weight=min(1.0, 0.5 * harm * max(worst.share, worst.share_of_time, 0.2)),
        numbers=_numbers(worst, entities),
    )  # fmt: skip


def _completed(case: Case, finding: Finding, outcomes: Sequence[Outcome]) -> Finding:
    """What failed or timed out is looked for in logs, whatever else was found."""
    return finding if finding.remedy == _REMEDY_STALL else with_causes(case, finding, outcomes)


def _what(case: Case, worst: Verdict, alike: int) -> str:
    """'Volume v03', '3 volumes', 'Reads of volume v03', to begin a title with."""
    several = f"{alike:,} {kind_word(worst.entity.kind, alike)}"
    if worst.of:
        return f"{worst.of.capitalize()} of {several if alike > 1 else named(case, worst.entity)}"
    return several if alike > 1 else opening(case, worst.entity)


def _numbers(worst: Verdict, entities: list[EntityRef]) -> dict[str, float]:
    numbers = {
        "latency_ns_mean": worst.mean_ns, "latency_ns_limit": worst.limit_ns, "share_of_operations": worst.share,
        "share_of_time": worst.share_of_time, "share_of_waiting": worst.share_of_waiting,
        "longest_s": worst.longest_ns / NS_PER_S, "entities": float(len(entities)),
        "stalled_s": worst.stall.length_ns / NS_PER_S if worst.stall else 0.0,
    }  # fmt: skip
    return {name: value for name, value in numbers.items() if np.isfinite(value)}


_CHECK = (
    "Ask who waits: compare with the application's own waits (SQL Server file stalls, database I/O waits) in the same "
    "minutes, and split the latency: device against kernel on ESX (DAVG, KAVG), volume against drives on the array."
)
_CHECK_SIMULATED = (
    "See in which part of the array the time went (the simulation prints it, and its report has it): change that part "
    "of the design, simulate again, and compare the two runs."
)


_INNOCENT = (
    "The tier is not what we take it for; or a backup or copy with large I/O runs, which is slow per operation and "
    "fast per byte, and nobody waits for it."
)
_INNOCENT_OF = {"writes": " Or a host writes behind its applications, in bulk, and nobody waits for it."}
_REMEDY = "Take load away or spread it before buying."
_INNOCENT_STALL = (
    "A path or a controller failed over in that time, or somebody pulled it; or its counter of operations in flight is "
    "stuck, as in some kernels, and nobody waited."
)
_CHECK_STALL = (
    "Read the logs of these minutes on the host (time-outs, aborts, resets, hung tasks, paths lost) and on the array; "
    "if it says so still, read one block of it."
)

_REMEDY_STALL = (
    "Find what failed, timed out or was taken over (path, port, drive, controller) and repair it; more speed is of no "
    "use here."
)


def _confidence(worst: Verdict, severity: Severity) -> float:
    if severity is Severity.INFO:
        return 0.3
    if worst.is_stall and worst.stall:
        return 0.9 if worst.stall.proven else 0.5
    return 0.7 if worst.limits.assumed else 0.9


def _title(what: str, worst: Verdict, severity: Severity) -> str:
    limit = format_duration(worst.limit_ns)
    if worst.is_stall and worst.stall:
        span = format_span(worst.stall.length_ns)
        if not worst.stall.proven:
            return f"{headed(what)} nothing seems to complete for {span}"
        return f"{what} completed nothing for {span} while operations waited"
    if worst.is_hidden_stall and worst.hidden:
        span = format_span(worst.hidden.end_ns - worst.hidden.start_ns)
        return f"{what} stalled: {format_duration(worst.hidden.latency_ns)} an operation over {span}"
    if severity is Severity.INFO:
        return f"{what} above {limit}, only {format_span(worst.above_ns)} of evidence"
    return f"{what} above {limit}, too slow for {worst.limits.tier}"


def _stall_words(case: Case, worst: Verdict) -> str:
    """From when to when nothing came of what was asked; nothing when there is no stall."""
    stall = worst.stall
    if stall is None:
        return _hidden_words(case, worst)
    many = "operations" if not stall.in_flight >= 1 else f"{stall.in_flight:,.0f} in the mean"
    doubt = (
        ""
        if stall.proven
        else "Only counters of what is in flight say so, and nothing in the capture shows that they can be trusted. "
    )
    name = named(case, worst.entity)
    when = f"From {case.time_words(stall.start_ns)} to {case.time_words(stall.end_ns)}"
    return f"{when} {name} completed no operation while {many} waited. {doubt}"


def _hidden_words(case: Case, worst: Verdict) -> str:
    hidden = worst.hidden
    if hidden is None:
        return ""
    return (
        f"From {case.time_words(hidden.start_ns)} to {case.time_words(hidden.end_ns)} the {hidden.operations:,.0f} "
        f"{worst.of or 'operations'} of {named(case, worst.entity)} took {format_duration(hidden.latency_ns)} in the "
        "mean: it stalled within this interval. "
    )


def _share_words(case: Case, settings: Settings, worst: Verdict) -> str:
    if not np.isfinite(worst.mean_ns):
        return "No operation was timed. "
    if worst.is_stall and not worst.above_ns:
        return f"What it completed took {format_duration(worst.mean_ns)} in the mean. "
    words = (
        f"{format_ratio(worst.share)} of the {worst.of or 'operations'} of {named(case, worst.entity)} were done in "
        f"intervals whose mean is more than {_limit_words(worst)} ({_tier_words(worst.limits)}), "
        f"{format_span(worst.longest_ns)} on end at the longest; the mean of all is {format_duration(worst.mean_ns)}"
        f"{_mean_words(worst)}. "
    )
    if worst.share >= settings["sustained_share"] or not worst.share_of_waiting > worst.share:
        return words
    little = ": what is slow completes little" if worst.share_of_time > 1.5 * worst.share else ""
    return words + (
        f"That is {format_ratio(worst.share_of_time)} of the time and {format_ratio(worst.share_of_waiting)} of all "
        f"waiting{little}. "
    )


def _evidence_words(settings: Settings, worst: Verdict, severity: Severity) -> str:
    if severity is not Severity.INFO or worst.is_stall:
        return ""
    some = f" and {worst.operations:,.0f} {worst.of or 'operations'}" if np.isfinite(worst.operations) else ""
    enough = worst.above_ns >= settings["above_min_s"] * NS_PER_S
    if enough and worst.operations >= settings["above_min_operations"]:
        return (
            f"That is {format_span(worst.above_ns)}{some}, in intervals too long, too few or too rare to tell a stall "
            "from a short flood of requests: capture at 10 s. "
        )
    return f"That is only {format_span(worst.above_ns)}{some} of evidence, too little to judge. "


_SOURCES = {
    "disk": "PAL threshold files for Windows Server, Broadcom knowledge base 318927",
    "flash": "common practice, no citation",
}


def _evidence(
    case: Case, settings: Settings, entities: list[EntityRef], worst: Verdict
) -> tuple[EvidenceRows, ...]:  # fmt: skip
    stall = [_stall_rows(case, worst.entity, worst.stall)] if worst.stall else []
    timed = [_rows(case, settings, entities, worst)] if np.isfinite(worst.mean_ns) else []
    return (*timed, *stall)


def _stall_rows(case: Case, entity: EntityRef, stall: Stall) -> EvidenceRows:
    instant = case.instant()
    return case.evidence(
        "Intervals without a completion",
        f"""SELECT time, ops_per_s, queue_depth_mean, busy_ratio FROM observations WHERE {
            in_use(case, [entity], f"{instant} >= {stall.start_ns}", f"{instant} < {stall.end_ns}")
        } ORDER BY time""",
    )


def _rows(case: Case, settings: Settings, entities: list[EntityRef], worst: Verdict) -> EvidenceRows:
    idle, begin = settings["idle_ops_per_s"], f"{DIRECTIONS[worst.of]}_" if worst.of else ""
    latency, rate, size = f"{begin}latency_ns_mean", f"{begin}ops_per_s", f"{begin}bytes_per_s / {begin}ops_per_s"
    what, limits = worst.of.capitalize() or "Operations", worst.limits
    factor, ns_per_byte = limits.large_factor, NS_PER_S / max(limits.large_bytes_per_s, 1e-9)
    limit = (
        f"CASE WHEN {size} > {LARGE_BYTES} THEN greatest({worst.limit_ns * factor:.0f}, {worst.limit_ns:.0f} + "
        f"{ns_per_byte:g} * {size}) ELSE {worst.limit_ns:.0f} END"
    )
    return case.evidence(
        f"{what} above {format_duration(worst.limit_ns)} (intervals with at least {idle:g} {what.lower()} per second)",
        f"""SELECT kind, entity, count(*) AS intervals,
        count(*) FILTER ({latency} > {limit}) AS intervals_above,
        round(sum(coalesce({rate}, 1) * {latency}) / sum(coalesce({rate}, 1))) AS {latency},
        round(quantile_cont({latency}, 0.95)) AS {begin}latency_ns_p95, round(avg({rate}), 1) AS {rate}
        FROM observations WHERE {
            in_use(case, entities, f"{latency} IS NOT NULL", f"coalesce({rate}, {idle:g} + 1) >= {idle:g}")
        }
        GROUP BY kind, entity ORDER BY intervals_above DESC, {latency} DESC""",
    )


RULE = Rule(
    name=_NAME,
    title="latency stays above what its tier should deliver",
    evaluate=_evaluate,
    completed=_completed,
    thresholds=(
        Threshold("latency_ns_warning_disk", WARNING_NS["disk"], "mean latency of an interval that is slow for disk",
                  "PAL threshold files for Windows Server: 15 ms"),
        Threshold("latency_ns_critical_disk", CRITICAL_NS["disk"], "mean latency of an interval that is bad for disk",
                  "PAL threshold files for Windows Server and Broadcom 318927: 25 ms"),
        Threshold("latency_ns_warning_flash", WARNING_NS["flash"], "mean latency of an interval that is slow for flash",
                  "common practice, no citation"),
        Threshold("latency_ns_critical_flash", CRITICAL_NS["flash"], "mean latency of an interval bad for flash",
                  "common practice, no citation"),
        Threshold("large_io_factor_disk", LARGE_FACTOR["disk"], "factor by which the limits of disk are wider at "
                  "least for a mean I/O of more than 64 KiB",
                  "PAL threshold files for Windows Server: 35 ms instead of 25 ms"),
        Threshold("large_io_bytes_per_s", LARGE_BYTES_PER_S, "rate at which the limits grow with the size of a mean "
                  "I/O of more than 64 KiB", "1 Gbit/s (IEEE 802.3, 1000BASE-T), the slowest link in use for storage"),
        Threshold("direction_share_min", DIRECTION_SHARE_MIN, "share of an entity's operations below which its reads, "
                  "or its writes, are not judged apart", "ours"),
        Threshold("sustained_share", 0.1, "share of operations above the limit that makes it sustained", "ours"),
        Threshold("sustained_s", 600, "time on end above the limit that makes it sustained", "ours"),
        Threshold("held_up_s", 120, "time on end above the limit that is sustained when it is as much further above as "
                  "it is shorter than sustained_s, at no more than the usual load", "ours"),
        Threshold("time_share", 0.1, "share of the time at work above the limit that makes it sustained, at no more "
                  "than the usual load, together with waiting_share", "ours"),
        Threshold("waiting_share", 0.5, "share of operations x latency above the limit, for time_share", "ours"),
        Threshold("pushed_factor", 2.0, "operations or bytes over their median at work that are more than the usual "
                  "load", "ours"),
        Threshold("above_min_s", 30, "time above the limit in all, below which it is information only", "ours"),
        Threshold("above_min_operations", 200, "operations above the limit, below which it is information only",
                  "ours"),
        Threshold("idle_ops_per_s", 5, "operations per second below which an interval is nearly idle", "ours"),
        Threshold("intervals_min_count", 3, "busy intervals below which nothing is said; of two, if they last for "
                  "held_up_s together, something is", "ours"),
    ),
)  # fmt: skip
