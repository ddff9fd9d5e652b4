"""Latency stays above what its tier (disk or flash) should deliver.

Looks for
    Entities with a tenth or more of their operations, or ten minutes on end, above the latency limits of their tier.
    Latency is weighted by operations; nearly idle intervals do not count; on disk the limits are wider for I/O of more
    than 64 KiB. Less than 30 s or 200 operations above the limit are told as information, never as a warning.

Why it matters
    Applications wait for storage one operation after another. On disk 15 ms is slow and 25 ms is felt by everyone; on
    flash 1 and 2 ms mean that something queues, since the medium answers in a fraction of that.

Evidence
    Operations per second and mean latency per interval, from a host or an array (iostat -x, esxtop, perfmon, EVAperf).

When it is wrong
    The tier is assumed where nothing in the evidence names it: name it in your settings. Backups and copies with large
    I/O are slow per operation and fast per byte. Guest and datastore latencies include throttling by limits on I/O.

References
    PAL threshold files for Windows Server (15 ms and 25 ms; 35 ms for I/O above 64 KiB); Broadcom knowledge base
    318927 (25 ms for disk); 1 and 2 ms for flash and the tenth of the operations are common practice, no citation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from storscope.diagnose.case import Case, Series
from storscope.diagnose.peers import LAYER_KINDS
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, in_use, listed
from storscope.diagnose.rules._intervals import longest_run, seconds, weighted_mean
from storscope.diagnose.rules._load import kind_word, named, opening
from storscope.diagnose.rules._simulated import is_simulated
from storscope.diagnose.windows import CRITICAL_NS, TIER_RULE, WARNING_NS, TierLimits, tier_limits
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import KIB, NS_PER_S, format_duration, format_ratio, format_span

_NAME = TIER_RULE
_KINDS = (*LAYER_KINDS, "host")
_LARGE_BYTES = 64 * KIB


@dataclass(frozen=True)
class _Verdict:
    """How one entity did against its tier."""

    entity: EntityRef
    limits: TierLimits
    severity: Severity | None
    share: float
    """Share of operations above the limit of its severity (warning limit when healthy)."""
    longest_ns: int
    above_ns: int
    """Time above that limit in all."""
    operations: float
    """Operations above it in all; NaN when no rate is known."""
    mean_ns: float
    """Mean latency of all its operations."""
    waiting: float
    """Seconds of waiting a second, summed over intervals: its part of the system's harm."""
    limit_ns: float
    start_ns: int
    end_ns: int


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    verdicts: dict[str, list[_Verdict]] = defaultdict(list)
    for entity, series in sorted(case.series(*_KINDS, needs=("latency_ns_mean",)).items()):
        verdict = _judge(case, settings, series)
        if verdict is not None:
            verdicts[entity.system].append(verdict)
    if not verdicts:
        return [NotEvaluated(_NAME, "latency and operations per interval (iostat -x -t, esxtop -b, perfmon, EVAperf)")]
    return [_outcome(case, settings, system, found) for system, found in verdicts.items()]


def _judge(case: Case, settings: Settings, series: Series) -> _Verdict | None:
    """None when the entity was idle all the time."""
    latency, ops = series["latency_ns_mean"], series["ops_per_s"]
    weight = ops if series.has("ops_per_s") else np.ones(len(series))
    active = np.isfinite(latency) & (weight >= (settings["idle_ops_per_s"] if series.has("ops_per_s") else 0))
    if active.sum() < settings["intervals_min_count"]:
        return None
    limits = tier_limits(case, series.entity, settings)
    widened = _widening(settings, series, limits)
    weight = np.where(active, np.nan_to_num(weight), 0.0)
    slight = None
    for severity, limit in ((Severity.CRITICAL, limits.critical_ns), (Severity.WARNING, limits.warning_ns)):
        above = active & (latency > limit * widened)
        found = _verdict(series, limits, severity, weight, limit, above, above)
        long_enough = found.longest_ns >= settings["sustained_s"] * NS_PER_S and longest_run(above, series.anew) >= 3
        if found.share >= settings["sustained_share"] or long_enough:
            if _is_enough(settings, found):
                return found
            slight = slight or replace(found, severity=Severity.INFO)
    return slight or _verdict(series, limits, None, weight, limits.warning_ns, above, active)


def _is_enough(settings: Settings, verdict: _Verdict) -> bool:
    """False for a few seconds, or a few operations: whatever their share, they prove nothing."""
    few = verdict.operations < settings["above_min_operations"]
    return verdict.above_ns >= settings["above_min_s"] * NS_PER_S and not few


def _widening(settings: Settings, series: Series, limits: TierLimits) -> FloatArray:
    """Factor on the limits: above 1 where the mean I/O on disk is large."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size = series["bytes_per_s"] / series["ops_per_s"]
    return np.where((size > _LARGE_BYTES) & (limits.tier == "disk"), settings["large_io_factor_disk"], 1.0)


def _verdict(
    series: Series, limits: TierLimits, severity: Severity | None, weight: FloatArray, limit_ns: float,
    above: BoolArray, where: BoolArray,
) -> _Verdict:  # fmt: skip
    """What happened `above` the limit; it is told of the time `where`."""
    latency, inside = series["latency_ns_mean"], np.flatnonzero(where)
    lengths = seconds(series)
    operations = float((weight * lengths)[above].sum()) if series.has("ops_per_s") else float("nan")
    return _Verdict(
        series.entity, limits, severity, float(weight[above].sum() / weight.sum()),
        longest_run(above, series.anew) * series.interval_ns, round(float(lengths[above].sum()) * NS_PER_S), operations,
        weighted_mean(latency, weight), float(np.nansum(weight * latency) / 1e9), limit_ns,
        int(series.time_ns[inside[0]]) if len(inside) else 0,
        int(series.time_ns[inside[-1]]) + series.interval_ns if len(inside) else 0,
    )  # fmt: skip


def _outcome(case: Case, settings: Settings, system: str, verdicts: list[_Verdict]) -> Outcome:
    bad = [verdict for verdict in verdicts if verdict.severity]
    if not bad:
        return Healthy(_NAME, _good(case, system, verdicts))
    sure = [verdict for verdict in bad if verdict.severity is not Severity.INFO]
    return _finding(case, settings, system, verdicts, sure or bad)


def _good(case: Case, system: str, verdicts: list[_Verdict]) -> str:
    kind = min((verdict.entity.kind for verdict in verdicts), key=_KINDS.index)
    own = [verdict for verdict in verdicts if verdict.entity.kind == kind]
    worst = max(own, key=lambda verdict: verdict.mean_ns / verdict.limit_ns)
    return (
        f"Latency of {counted(len(own), kind_word(kind), kind_word(kind, 2))} of {system} is within its tier: the "
        f"worst, {case.label(worst.entity)}, has a mean of {format_duration(worst.mean_ns)} and "
        f"{format_ratio(worst.share)} of its operations above {format_duration(worst.limits.warning_ns)} "
        f"({_tier_words(worst.limits)})."
    )


def _tier_words(limits: TierLimits) -> str:
    told = "assumed" if limits.known_from == "assumed" else f"told from {limits.known_from}"
    return f"{limits.tier}, {told}" if limits.assumed else limits.tier


def _finding(case: Case, settings: Settings, system: str, verdicts: list[_Verdict], bad: list[_Verdict]) -> Finding:
    severity = max(verdict.severity for verdict in bad if verdict.severity)
    kind = min((verdict.entity.kind for verdict in bad), key=_KINDS.index)
    main = sorted((v for v in bad if v.entity.kind == kind), key=lambda v: (-(v.severity or 0), -v.waiting))
    others = sorted({kind_word(v.entity.kind, 2) for v in bad if v.entity.kind != kind})
    worst = main[0]
    harm = sum(v.waiting for v in main) / max(sum(v.waiting for v in verdicts if v.entity.kind == kind), 1e-12)
    entities = [verdict.entity for verdict in main]
    alike = [v for v in main if v.limit_ns == worst.limit_ns]
    what = opening(case, worst.entity) if len(alike) == 1 else f"{len(alike):,} {kind_word(kind, len(alike))}"
    milder = [v.entity for v in main if v.limit_ns != worst.limit_ns]
    return Finding(
        rule=_NAME,
        severity=severity,
        confidence=0.3 if severity is Severity.INFO else 0.7 if worst.limits.assumed else 0.9,
        title=_title(what, worst, severity),
        summary=(
            f"{format_ratio(worst.share)} of the operations of {named(case, worst.entity)} took more than "
            f"{format_duration(worst.limit_ns)} ({_tier_words(worst.limits)}) as interval means, "
            f"{format_span(worst.longest_ns)} on end at the longest; the mean of all is "
            f"{format_duration(worst.mean_ns)}. "
            + _evidence_words(worst, severity)
            + (f"Above it on {system}: {listed(case, [v.entity for v in alike])}. " if len(alike) > 1 else "")
            + (f"Above a limit of their own: {listed(case, milder)}. " if milder else "")
            + (f"Seen again at {' and '.join(others)}." if others else "")
        ).strip(),
        why="Applications wait for each operation in turn, so this latency is added to every transaction they make.",
        innocent=(
            "The tier is not what we take it for; or a backup or copy with large I/O runs, which is slow per operation "
            "and fast per byte, and nobody waits for it."
        ),
        check=_CHECK_SIMULATED if is_simulated(case, system) else _CHECK,
        remedy=(
            "See the findings on heavy hitters, noisy neighbours and limits for the cause; take load away or spread it "
            "before buying."
        ),
        source=f"{format_duration(worst.limit_ns)} for {worst.limits.tier}: " + _SOURCES[worst.limits.tier] + ".",
        entities=entities,
        start_ns=min(verdict.start_ns for verdict in main),
        end_ns=max(verdict.end_ns for verdict in main),
        evidence=(_rows(case, settings, entities, worst),),
        weight=min(1.0, 0.5 * harm * max(worst.share, 0.2)),
        numbers={
            "latency_ns_mean": worst.mean_ns, "latency_ns_limit": worst.limit_ns, "share_of_operations": worst.share,
            "longest_s": worst.longest_ns / NS_PER_S, "entities": float(len(entities)),
        },
    )  # fmt: skip


_CHECK = (
    "Ask who waits: compare with the application's own waits (SQL Server file stalls, database I/O waits) in the same "
    "minutes, and split the latency: device against kernel on ESX (DAVG, KAVG), volume against drives on the array."
)
_CHECK_SIMULATED = (
    "See in which part of the array the time went (the simulation prints it, and its report has it): change that part "
    "of the design, simulate again, and compare the two runs."
)


def _title(what: str, worst: _Verdict, severity: Severity) -> str:
    limit = format_duration(worst.limit_ns)
    if severity is Severity.INFO:
        return f"{what} above {limit}, only {format_span(worst.above_ns)} of evidence"
    return f"{what} above {limit}, too slow for {worst.limits.tier}"


def _evidence_words(worst: _Verdict, severity: Severity) -> str:
    if severity is not Severity.INFO:
        return ""
    some = f" and {worst.operations:,.0f} operations" if np.isfinite(worst.operations) else ""
    return f"That is only {format_span(worst.above_ns)}{some} of evidence, too little to judge. "


_SOURCES = {
    "disk": "PAL threshold files for Windows Server, Broadcom knowledge base 318927",
    "flash": "common practice, no citation",
}


def _rows(case: Case, settings: Settings, entities: list[EntityRef], worst: _Verdict) -> EvidenceRows:
    idle = settings["idle_ops_per_s"]
    return case.evidence(
        f"Operations above {format_duration(worst.limit_ns)} (intervals with at least {idle:g} operations per second)",
        f"""SELECT kind, entity, count(*) AS intervals,
        count(*) FILTER (latency_ns_mean > {worst.limit_ns:.0f}) AS intervals_above,
        round(sum(coalesce(ops_per_s, 1) * latency_ns_mean) / sum(coalesce(ops_per_s, 1))) AS latency_ns_mean,
        round(quantile_cont(latency_ns_mean, 0.95)) AS latency_ns_p95, round(avg(ops_per_s), 1) AS ops_per_s
        FROM observations WHERE {
            in_use(case, entities, "latency_ns_mean IS NOT NULL", f"coalesce(ops_per_s, {idle:g} + 1) >= {idle:g}")
        }
        GROUP BY kind, entity ORDER BY intervals_above DESC, latency_ns_mean DESC""",
    )


RULE = Rule(
    name=_NAME,
    title="latency stays above what its tier should deliver",
    evaluate=_evaluate,
    thresholds=(
        Threshold("latency_ns_warning_disk", WARNING_NS["disk"], "mean latency of an interval that is slow for disk",
                  "PAL threshold files for Windows Server: 15 ms"),
        Threshold("latency_ns_critical_disk", CRITICAL_NS["disk"], "mean latency of an interval that is bad for disk",
                  "PAL threshold files for Windows Server and Broadcom 318927: 25 ms"),
        Threshold("latency_ns_warning_flash", WARNING_NS["flash"], "mean latency of an interval that is slow for flash",
                  "common practice, no citation"),
        Threshold("latency_ns_critical_flash", CRITICAL_NS["flash"], "mean latency of an interval bad for flash",
                  "common practice, no citation"),
        Threshold("large_io_factor_disk", 1.4, "factor on the limits of disk for a mean I/O of more than 64 KiB",
                  "PAL threshold files for Windows Server: 35 ms instead of 25 ms"),
        Threshold("sustained_share", 0.1, "share of operations above the limit that makes it sustained", "ours"),
        Threshold("sustained_s", 600, "time on end above the limit that makes it sustained", "ours"),
        Threshold("above_min_s", 30, "time above the limit in all, below which it is information only", "ours"),
        Threshold("above_min_operations", 200, "operations above the limit, below which it is information only",
                  "ours"),
        Threshold("idle_ops_per_s", 5, "operations per second below which an interval is nearly idle", "ours"),
        Threshold("intervals_min_count", 3, "busy intervals below which nothing is said", "ours"),
    ),
)  # fmt: skip
