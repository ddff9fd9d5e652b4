"""I/O waits inside the host's kernel.

Looks for
    Kernel latency above 2 ms for several intervals in a row on devices with I/O; and the same on devices with almost no
    I/O, which has another cause.

Why it matters
    The kernel needs some microseconds for an I/O. Milliseconds mean that I/O waits in the host: for a place in a
    queue, or for a reservation that another host holds.

Evidence
    Kernel latency and operations per device (esxtop: KAVG, CMDS/s).

When it is wrong
    Throttling on purpose (an IOPS limit on a virtual disk, Storage I/O Control) is waiting in the kernel, too.

References
    VMware, "Troubleshooting Storage Performance in vSphere": KAVG above 2 ms (others take 3). High KAVG with almost no
    I/O points to reservation conflicts rather than to queue depth (Microsoft cluster disks on raw mappings).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._counts import finest
from storscope.diagnose.rules._entities import by_system, counted, listed, observed
from storscope.diagnose.rules._intervals import ends, greatest, hull, in_runs, weighted_mean
from storscope.domain.arrays import BoolArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_duration, format_ratio
from storscope.store.series import Series

_NAME = "kernel-latency"
_COLUMN = "kernel_latency_ns_mean"
_Bad = dict[EntityRef, tuple[Series, BoolArray]]


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    judged = finest(case, _COLUMN)
    if not judged:
        return [NotEvaluated(_NAME, "kernel latency per device (esxtop batch CSV: KAVG)")]
    busy: _Bad = {}
    idle: _Bad = {}
    for entity, series in judged.items():
        with np.errstate(invalid="ignore"):
            above = series[_COLUMN] > settings["kernel_latency_ns_max"]
            bad = in_runs(above, series.anew, int(settings["samples_min"]))
            loaded = bad & ~(series["ops_per_s"] < settings["ops_per_s_min"])
        # One cause per device: with I/O in at least half of its bad intervals it is a queue, else it is not.
        if bad.any():
            (busy if 2 * loaded.sum() >= bad.sum() else idle)[entity] = (series, bad)
    outcomes: list[Outcome] = [_queueing(case, settings, _part(busy, group)) for group in by_system(busy).values()]
    outcomes += [_blocked(case, settings, _part(idle, group)) for group in by_system(idle).values()]
    return outcomes or [Healthy(_NAME, _healthy_words(settings, judged))]


def _part(bad: _Bad, entities: list[EntityRef]) -> _Bad:
    return {entity: bad[entity] for entity in entities}


def _healthy_words(settings: Settings, judged: dict[EntityRef, Series]) -> str:
    worst = max(judged.values(), key=lambda series: greatest(series[_COLUMN]))
    return (
        f"Kernel latency of {counted(len(judged), 'device')} never stayed above "
        f"{format_duration(settings['kernel_latency_ns_max'])}; the highest single value was "
        f"{format_duration(greatest(worst[_COLUMN]))} on {worst.entity.name}."
    )


def _worst(bad: _Bad) -> tuple[EntityRef, float, float]:
    """The worst entity, its mean kernel latency in bad intervals, and their share of the time."""

    def level(entity: EntityRef) -> float:
        series, which = bad[entity]
        kept = series.where(which)
        weights = kept["ops_per_s"] if kept.has("ops_per_s") else np.ones(len(kept))
        found = weighted_mean(kept[_COLUMN], weights)
        return found if np.isfinite(found) else greatest(kept[_COLUMN])

    entity = max(bad, key=lambda entity: (level(entity) * float(bad[entity][1].sum()), entity))
    return entity, level(entity), float(bad[entity][1].mean())


def _queueing(case: Case, settings: Settings, bad: _Bad) -> Finding:
    entity, level, share = _worst(bad)
    queued = sum(bool((series.where(which)["queued_mean"] > 0).any()) for series, which in bad.values())
    start, end = hull([span for series, which in bad.values() if (span := ends(series, which)) is not None])
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING if level < settings["kernel_latency_ns_severe"] else Severity.CRITICAL,
        confidence=0.85,
        title=f"I/O waits in the kernel of {entity.system} on {counted(len(bad), 'device')}",
        summary=(
            f"On {case.label(entity)} an I/O waits {format_duration(level)} in the kernel, in {format_ratio(share)} of "
            f"the time. {_queued_words(queued, len(bad))} Devices: {listed(case, bad)}."
        ),
        why="Milliseconds in the kernel are spent waiting in a queue of the host: the array has not seen the I/O yet.",
        innocent="An IOPS limit of a virtual disk or Storage I/O Control delays I/O on purpose.",
        check="Look at QUED and %USD of the device at these times, and at IOPS limits of the virtual disks on it.",
        remedy=(
            "Lift limits that nobody wants; spread the machines over more devices; raise the queue depth with "
            "Disk.SchedNumReqOutstanding when the array has room."
        ),
        source='VMware, "Troubleshooting Storage Performance in vSphere": KAVG above 2 ms.',
        entities=tuple(bad),
        start_ns=start,
        end_ns=end,
        evidence=(_rows(case, settings, bad),),
        weight=min(1.0, 0.3 + share),
        numbers={"kernel_latency_ns": level, "time_share": share, "devices": len(bad)},
    )  # fmt: skip


def _queued_words(queued: int, devices: int) -> str:
    if not queued:
        return "No operation was counted as queued, so look for limits first."
    return f"Operations were queued on {queued} of {devices} of these devices at the time."


def _blocked(case: Case, settings: Settings, bad: _Bad) -> Finding:
    entity, level, _ = _worst(bad)
    conflicts = [device for device, (series, which) in bad.items() if _has_conflicts(case, series.where(which))]
    start, end = hull([span for series, which in bad.values() if (span := ends(series, which)) is not None])
    seen = (
        f"Reservation conflicts are counted on {listed(case, conflicts, 3)}."
        if conflicts
        else "Reservation conflicts, the usual cause, are not in the evidence."
    )
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING if conflicts else Severity.INFO,
        confidence=0.8 if conflicts else 0.5,
        title=f"High kernel latency with almost no I/O on {counted(len(bad), 'device')}",
        summary=(
            f"On {case.label(entity)} an I/O waits up to {format_duration(level)} in the kernel although fewer than "
            f"{settings['ops_per_s_min']:.0f} I/Os a second are done, so no queue is full. {seen} "
            f"Devices: {listed(case, bad)}."
        ),
        why="A command that meets another host's reservation is tried again in the kernel; re-scans take minutes.",
        innocent="The few I/Os are management commands of an idle device, and nobody waits for them.",
        check="vsish -e get /storage/scsifw/devices/ID/stats: do reservationConflicts grow between two readings?",
        remedy="Mark raw mappings of clusters as perennially reserved, use ATS; do not touch queue depths for this.",
        source='VMware, "Troubleshooting Storage Performance in vSphere": KAVG above 2 ms; fewer than 10 I/Os/s: ours.',
        entities=tuple(bad),
        start_ns=start,
        end_ns=end,
        evidence=(_rows(case, settings, bad),),
        weight=0.2,
        numbers={"kernel_latency_ns": level, "devices": len(bad), "devices_with_conflicts": len(conflicts)},
    )  # fmt: skip


def _has_conflicts(case: Case, series: Series) -> bool:
    counted_since_reset = case.fact(series.entity, "reservation_conflicts")
    return greatest(series["conflicts_per_s"]) > 0 or bool(counted_since_reset and counted_since_reset.number)


def _rows(case: Case, settings: Settings, bad: _Bad) -> EvidenceRows:
    return case.evidence(
        "Intervals with high kernel latency",
        f"""SELECT kind, entity, time, kernel_latency_ns_mean, device_latency_ns_mean, ops_per_s, queued_mean,
        queue_depth_mean, queue_limit, conflicts_per_s FROM observations
        WHERE {observed(case, bad, f"{_COLUMN} > {settings['kernel_latency_ns_max']}")}
        ORDER BY kernel_latency_ns_mean DESC, time, entity""",
    )


RULE = Rule(
    name=_NAME,
    title="I/O waits inside the host's kernel",
    evaluate=_evaluate,
    thresholds=(
        Threshold("kernel_latency_ns_max", 2e6, "kernel latency above which I/O waits in the host",
                  'VMware, "Troubleshooting Storage Performance in vSphere"'),
        Threshold("kernel_latency_ns_severe", 20e6, "kernel latency from which it is critical", "ours"),
        Threshold("samples_min", 3, "consecutive intervals in which it must be high", "ours"),
        Threshold("ops_per_s_min", 10, "I/Os per second below which a device has almost no I/O", "ours"),
    ),
)  # fmt: skip
