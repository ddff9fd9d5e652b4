"""A controller, a link or a group of drives of an array is used to the full.

Looks for
    Processors of controllers, links and groups of drives that are at least 85 % busy for several intervals in a row,
    with more requests at them than they serve, where that is known.

Why it matters
    What is used to the full decides what the whole array does: more load brings longer waits and no more operations,
    whatever the rest of the array could do, and more drives do not help a processor or a link.

Evidence
    Processor load per controller (evaperf cs), or how busy controllers, links and groups of drives are (a simulation).

When it is wrong
    A single stream in sequence keeps a drive or a link busy and waits for nobody else: then hardly more than one
    request stands there, and nothing is said. A rebuild, restripe or scrub fills drives on purpose, and is named.
    Some arrays use idle processors for work that gives way, and count that as load; then nobody is slow, and the
    finding is no more than a warning.

References
    The station with the greatest utilisation bounds the throughput (Denning and Buzen 1978). At 85 % a queue with
    random arrivals holds 6 (M/M/1). 85 % and three intervals in a row are ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case, Series
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, joined, observed
from storscope.diagnose.rules._intervals import ends, greatest, in_runs, mean, weighted_mean
from storscope.diagnose.rules._simulated import is_simulated
from storscope.diagnose.rules.drive_failed import worked_on
from storscope.diagnose.rules.uneven_drives import told_as_deep
from storscope.diagnose.windows import ENTITY_OPS_MIN, tier_limits
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_duration, format_ratio

_NAME = "component-saturated"
_COLUMNS = {"controller": "cpu_busy_ratio", "port": "busy_ratio", "disk_group": "busy_ratio"}
"""Of what an array's volumes share, how busy it is. Devices of hosts are left out: the kernel counts them as busy with
one request at a time, which says nothing of what serves many."""


@dataclass(frozen=True)
class _Component:
    series: Series
    busy: FloatArray
    full: BoolArray
    """The intervals, in runs, in which it is used to the full and more stand at it than it serves."""

    @property
    def entity(self) -> EntityRef:
        return self.series.entity

    @property
    def time_share(self) -> float:
        return float(self.full.mean())

    @property
    def level(self) -> float:
        """How busy it was meanwhile."""
        return float(self.busy[self.full].mean())

    @property
    def queue(self) -> float:
        """Requests at it meanwhile; NaN where nobody counts them."""
        depths = self.series["queue_depth_mean"][self.full]
        depths = depths[np.isfinite(depths)]
        return float(depths.mean()) if len(depths) else float("nan")


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    systems: dict[str, list[_Component]] = defaultdict(list)
    deep = told_as_deep(case)
    for kind, column in _COLUMNS.items():
        for entity, series in sorted(case.series(kind, needs=(column,)).items()):
            if not series.has("queue_limit"):  # a full limit is host-queue-full's
                systems[entity.system].append(_component(settings, series, series[column]))
    if not systems:
        return [NotEvaluated(_NAME, "how busy the controllers of an array are (evaperf cs), or a simulation")]
    outcomes = [_outcome(case, settings, system, found, deep) for system, found in sorted(systems.items())]
    return [one for one in outcomes if one is not None] or [NotEvaluated(_NAME, _TOLD)]


def used_to_the_full(case: Case) -> dict[EntityRef, str]:
    """What is used to the full for a good part of the time, and its words; deep queues at drives count, too."""
    settings = RULE.defaults() | dict(case.settings.get(_NAME, {}))
    found = set(told_as_deep(case))
    for kind, column in _COLUMNS.items():
        for entity, series in case.series(kind, needs=(column,)).items():
            one = _component(settings, series, series[column])
            if not series.has("queue_limit") and one.time_share >= settings["time_share_real"]:
                found.add(entity)
    return {entity: _words(case, entity) for entity in sorted(found)}


_TOLD = "anything besides drives with deep queues, which uneven-drives tells of"


def _component(settings: Settings, series: Series, busy: FloatArray) -> _Component:
    depth = series["queue_depth_mean"]
    with np.errstate(invalid="ignore"):
        waits = ~(depth < settings["requests_min"])  # where nobody counts them they may wait
        full = (busy >= settings["busy_ratio_max"]) & waits
    return _Component(series, busy, in_runs(full, int(settings["samples_min"])))


def _outcome(
    case: Case, settings: Settings, system: str, components: list[_Component], deep: frozenset[EntityRef]
) -> Outcome | None:
    """Groups that are known for their `deep` queues are told once; None if nothing else is there."""
    components = [one for one in components if one.entity not in deep]
    full = [one for one in components if one.time_share >= settings["time_share_min"]]
    if not components:
        return None
    if not full:
        most = max(components, key=lambda one: (mean(one.busy), one.entity))
        level = f"{format_ratio(mean(most.busy))} on average, {format_ratio(greatest(most.busy))} at most"
        of_all = counted(len(components), "component")
        return Healthy(
            _NAME, f"None of {of_all} of {system} is used to the full: {_words(case, most.entity)} is busy to {level}."
        )
    full.sort(key=lambda one: (-one.time_share * one.level, one.entity))
    return _finding(case, settings, system, full)


def _words(case: Case, entity: EntityRef) -> str:
    """'controller A', 'front-end-link A out', 'the drives of pool', 'the drive of log'."""
    label = case.label(entity)
    if entity.kind != "disk_group":
        return f"controller {label}" if entity.kind == "controller" else label
    return f"the drive{'' if _is_single(case, entity) else 's'} of {label}"


def _is_single(case: Case, entity: EntityRef) -> bool:
    members = [one for one in case.linked_from(entity, "member_of") if one.kind == "disk"]
    return entity.kind != "disk_group" or len(members) == 1


def _finding(case: Case, settings: Settings, system: str, full: list[_Component]) -> Finding:
    worst = full[0]
    slow, at_work = _slow(case, system, worst), worst.entity in worked_on(case)
    words = _words(case, worst.entity)
    span = ends(worst.series, worst.full)
    start, end = span if span is not None else (None, None)
    share = worst.time_share
    return Finding(
        rule=_NAME,
        severity=min(_severity(settings, share, has_victims=bool(slow)), _AT_WORK if at_work else Severity.CRITICAL),
        confidence=0.9 if np.isfinite(worst.queue) else 0.7,
        title=f"{words[:1].upper()}{words[1:]} {_are(case, worst)} used to the full"
        + ("" if share >= settings["time_share_severe"] else " at times"),
        summary=_summary(case, system, full, slow) + (_WORK_WORDS if at_work else ""),
        why="What is used to the full decides what the array does: more load brings longer waits, and nothing more.",
        innocent="Backups, copies or a rebuild fill it on purpose, with nobody waiting.",
        check=_CHECK_SIMULATED if is_simulated(case, system) else _CHECK,
        remedy=_REMEDIES[worst.entity.kind],
        source="85 % busy in three intervals in a row: ours; at 85 % a queue with random arrivals holds 6 (M/M/1).",
        entities=tuple(one.entity for one in full),
        start_ns=start,
        end_ns=end,
        evidence=(_rows(case, full),),
        weight=min(1.0, 0.4 + share / 2) * min(1.0, worst.level) ** 2,
        numbers={"busy_ratio": worst.level, "time_share": share, "components": len(full)}
        | ({"requests_mean": worst.queue} if np.isfinite(worst.queue) else {}),
    )


def _are(case: Case, one: _Component) -> str:
    return "is" if _is_single(case, one.entity) else "are"


def _severity(settings: Settings, share: float, *, has_victims: bool) -> Severity:
    if share < settings["time_share_real"]:
        return Severity.INFO
    if not has_victims:
        return Severity.WARNING if share >= settings["time_share_severe"] else Severity.INFO
    return Severity.CRITICAL if share >= settings["time_share_severe"] else Severity.WARNING


def _slow(case: Case, system: str, worst: _Component) -> dict[EntityRef, float]:
    """Volumes that use it and were above the warning latency of their tier meanwhile, and their mean latency in ns."""
    found = {}
    volumes = {
        entity: series
        for entity, series in case.series("vdisk", needs=("latency_ns_mean", "ops_per_s")).items()
        if entity.system == system
    }
    own = {worst.entity, *(one for one in case.linked(worst.entity, "member_of") if one.kind == "controller")}
    users = {entity for entity in volumes if own & case.components(entity)}
    for entity in users or volumes:  # where nothing tells who uses it, all may
        inside = volumes[entity].where(_within(worst, volumes[entity]))
        ops = inside["ops_per_s"]
        mean_ns = weighted_mean(inside["latency_ns_mean"], np.where(ops >= ENTITY_OPS_MIN, ops, 0.0))
        if mean_ns > tier_limits(case, entity).warning_ns:
            found[entity] = mean_ns
    return found


def _within(worst: _Component, series: Series) -> BoolArray:
    """The intervals of another series that begin while it is used to the full."""
    place = np.searchsorted(worst.series.time_ns, series.time_ns, side="right") - 1
    length_ns = worst.series.interval_ns
    known = (place >= 0) & (series.time_ns < worst.series.time_ns[place] + length_ns)
    result: BoolArray = known & worst.full[place]
    return result


def _summary(case: Case, system: str, full: list[_Component], slow: dict[EntityRef, float]) -> str:
    worst = full[0]
    words = _words(case, worst.entity)
    said = f"{words[:1].upper()}{words[1:]} of {system} {_are(case, worst)} busy to {format_ratio(worst.level)} in "
    said += f"{format_ratio(worst.time_share)} of the time"
    if np.isfinite(worst.queue):
        each = "" if _is_single(case, worst.entity) else " each"
        said += f", with {worst.queue:.1f} requests there{each} on average"
    also = [
        f"{_words(case, one.entity)} ({format_ratio(one.level)} in {format_ratio(one.time_share)} of the time)"
        for one in full[1:]
    ]
    if also:
        said += f". So {'are' if len(also) > 1 else _are(case, full[1])} {joined(also, 3)}"
    if slow:
        named = [f"{case.label(one)} {format_duration(slow[one])}" for one in sorted(slow, key=lambda e: -slow[e])]
        said += f". Meanwhile operations took: {joined(named, 3)}"
    return f"{said}."


_AT_WORK = Severity.WARNING
"""What fills drives on purpose is expected to end."""
_WORK_WORDS = " A rebuild, a restripe or a scrub is running there, which takes what the drives can give."
_CHECK = "See whether operations per second still rise when more is asked; if not, it is the limit."
_CHECK_SIMULATED = (
    "Give the design more of it, or less work for it, simulate again and compare the two runs: if operations per "
    "second rise, it was the limit."
)
_REMEDIES = {
    "controller": (
        "Take work off the processor: give volumes to another controller, use mirrors where parity is computed by it, "
        "send larger I/Os, move backups and copies to another time; or take a faster controller. Drives do not help."
    ),
    "port": "Spread the hosts over more ports, take faster links, or move backups and copies to another time.",
    "disk_group": (
        "Move load to another group, add drives, use flash, or RAID 10 for what writes to a group with parity."
    ),
}


def _rows(case: Case, full: list[_Component]) -> EvidenceRows:
    return case.evidence(
        "What is used to the full",
        f"""SELECT kind, entity, count(*) AS intervals, avg(coalesce(cpu_busy_ratio, busy_ratio)) AS busy_ratio_mean,
        max(coalesce(cpu_busy_ratio, busy_ratio)) AS busy_ratio_max, avg(queue_depth_mean) AS queue_depth_mean
        FROM observations WHERE {observed(case, [one.entity for one in full])}
        GROUP BY kind, entity ORDER BY busy_ratio_mean DESC, kind, entity""",
    )


RULE = Rule(
    name=_NAME,
    title="a controller, a link or a group of drives is used to the full",
    evaluate=_evaluate,
    thresholds=(
        Threshold("busy_ratio_max", 0.85, "how busy from which it is used to the full",
                  "ours; at 85 % a queue with random arrivals holds 6 (M/M/1)"),
        Threshold("requests_min", 1.5, "requests at it, of a group at each drive, below which nobody waits", "ours"),
        Threshold("samples_min", 3, "consecutive intervals in which it must be so", "ours"),
        Threshold("time_share_min", 0.01, "share of the time below which it is not worth telling", "ours"),
        Threshold("time_share_real", 0.1, "share of the time from which it is more than information", "ours"),
        Threshold("time_share_severe", 0.5, "share of the time from which it is more than at times", "ours"),
    ),
)  # fmt: skip
