"""A controller, a link, drives, a flash cache or a limit of rates is used to the full.

Looks for
    Processors of controllers, links, groups of drives, flash caches of hosts and limits of rates that are at least 85 %
    busy for several intervals in a row, with more requests at them than they serve, where that is known. Where
    operations spend little of their time in the array at a processor or a link that has some room left, it does not
    decide alone, and is no more than a warning. Nor is it more where no volume's operations, reads or writes are above
    the latency limits of their tier meanwhile.

Why it matters
    What is used to the full decides what the whole array does: more load brings longer waits and no more operations,
    whatever the rest of the array could do, and more drives do not help a processor or a link.

Evidence
    Processor load per controller (evaperf cs), or how busy controllers, links, groups of drives, flash caches and
    limits of rates are (a simulation). Of limits on measured storage throughput-cap tells.

When it is wrong
    A single stream in sequence keeps a drive or a link busy and waits for nobody else: then hardly more than one
    request stands there, and nothing is said. A rebuild, restripe or scrub fills drives on purpose, and is named.
    Some arrays use idle processors for work that gives way, and count that as load; then nobody is slow, and the
    finding is no more than a warning. Groups of which uneven-drives tells for as much of the time, and as severely,
    are left to it.

References
    The station with the greatest utilisation bounds the throughput (Denning and Buzen 1978). At 85 % a queue with
    random arrivals holds 6 (M/M/1). 85 % and three intervals in a row are ours. Time at it is requests at it
    over operations in flight (Little 1961): the most that it can be at a processor, which also has work of the array's
    own; not told of links to drives and of drives, which have mostly that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.directions import directions
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, in_use, joined
from storscope.diagnose.rules._full_drives import remedy_of_full_drives
from storscope.diagnose.rules._harm import mean_and_limit_ns
from storscope.diagnose.rules._intervals import ends, greatest, in_runs, mean
from storscope.diagnose.rules._mirror_link import remedy_of_full_mirror_link
from storscope.diagnose.rules._simulated import is_simulated
from storscope.diagnose.rules.drive_failed import work_words, worked_on
from storscope.diagnose.rules.uneven_drives import told_as_deep
from storscope.diagnose.tier_limits import tier_limits
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import NS_PER_S, format_duration, format_ratio
from storscope.store.series import Series

_NAME = "component-saturated"
_COLUMNS = {
    "controller": "cpu_busy_ratio", "port": "busy_ratio", "disk_group": "busy_ratio", "rate_limit": "busy_ratio",
    "flash_cache": "busy_ratio",
}  # fmt: skip
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
    for one in _components(case, settings):
        systems[one.entity.system].append(one)
    if not systems:
        return [NotEvaluated(_NAME, "how busy the controllers of an array are (evaperf cs), or a simulation")]
    outcomes = [_outcome(case, settings, system, found) for system, found in sorted(systems.items())]
    return [one for one in outcomes if one is not None] or [NotEvaluated(_NAME, _TOLD)]


def _components(case: Case, settings: Settings) -> list[_Component]:
    return [
        _component(settings, series, series[column])
        for kind, column in _COLUMNS.items()
        for _, series in sorted(case.series(kind, needs=(column,)).items())
        if not series.has("queue_limit")  # a full limit is host-queue-full's
    ]


@dataclass(frozen=True)
class FullComponent:
    """Something that is used to the full for a good part of the time, as it is told."""

    words: str
    time_share: float
    finding: Finding
    """That of uneven-drives where it tells of deep queues at drives."""


def used_to_the_full(case: Case) -> dict[EntityRef, FullComponent]:
    """What is used to the full for a good part of the time; deep queues at drives count, too."""
    if (_NAME, "full") not in case.memo:
        case.memo[_NAME, "full"] = _used_to_the_full(case, RULE.defaults() | dict(case.settings.get(_NAME, {})))
    found: dict[EntityRef, FullComponent] = case.memo[_NAME, "full"]
    return found


def _used_to_the_full(case: Case, settings: Settings) -> dict[EntityRef, FullComponent]:
    told = {entity: one for one in _evaluate(case, settings) if isinstance(one, Finding) for entity in one.entities}
    shares = {one.entity: one.time_share for one in _components(case, settings)}
    found = {
        entity: FullComponent(_words(case, entity), shares[entity], finding)
        for entity, finding in told.items()
        if shares[entity] >= settings["time_share_real"]
    }
    for entity, finding in told_as_deep(case).items():
        found.setdefault(entity, FullComponent(_words(case, entity), finding.numbers["time_share"], finding))
    return dict(sorted(found.items()))


def most_used_behind(case: Case, behind: Collection[EntityRef], system: str) -> tuple[str, float] | None:
    """What of these is used most, and how much on average; of nothing named, what is of the whole system.

    None where that says little of how much room there is: how busy the drives are is not told, or one of them is busy
    most of the time though its group is not.
    """
    settings = RULE.defaults() | dict(case.settings.get(_NAME, {}))
    every = [one for one in _components(case, settings) if one.entity.system == system]
    found = [one for one in every if not behind or one.entity in behind]
    groups = [one.entity for one in found if one.entity.kind == "disk_group"]
    if not groups or any(_has_a_busy_drive(case, group, settings["busy_ratio_max"]) for group in groups):
        return None
    most = max(found, key=lambda one: (mean(one.busy), one.entity))
    return _words(case, most.entity), mean(most.busy)


def _has_a_busy_drive(case: Case, group: EntityRef, busy_max: float) -> bool:
    """Flash is busy with one request as with many, so that it says nothing of it."""
    if case.tier(group).name == "flash":
        return False
    drives = [case.all_series.get(one) for one in case.linked_from(group, "member_of") if one.kind == "disk"]
    return any(one is not None and mean(one["busy_ratio"]) >= busy_max for one in drives)


_TOLD = "anything besides drives with deep queues, which uneven-drives tells of"


def _component(settings: Settings, series: Series, busy: FloatArray) -> _Component:
    depth = series["queue_depth_mean"]
    with np.errstate(invalid="ignore"):
        waits = ~(depth < settings["requests_min"])  # where nobody counts them they may wait
        full = (busy >= settings["busy_ratio_max"]) & waits
    return _Component(series, busy, in_runs(full, series.anew, int(settings["samples_min"])))


def _outcome(case: Case, settings: Settings, system: str, components: list[_Component]) -> Outcome | None:
    """Groups of which uneven-drives tells as much are told once; None if nothing else is there."""
    left = [one for one in components if _is_told_as_deep(case, settings, system, one)]
    own = [one for one in components if one not in left]
    full = [one for one in own if one.time_share >= settings["time_share_min"]]
    if not own:
        return None
    if not full:
        return Healthy(_NAME, _healthy_words(case, settings, system, own, left))
    severity = {one.entity: _severity(case, settings, system, one) for one in full}
    held = sum(_held(one) for one in full)
    full.sort(key=lambda one: (-severity[one.entity], -_weight(one, held), one.entity))
    return _finding(case, settings, system, full, components)


def _held(one: _Component) -> float:
    """Requests that a limit of rates held back over the whole time, on average; 0 of what is no limit."""
    return one.queue * one.time_share if one.entity.kind == "rate_limit" and np.isfinite(one.queue) else 0.0


def _weight(one: _Component, held: float) -> float:
    """How much it matters: how busy it is for how much of the time. Limits stand one behind the other, and each is used
    to the full by what it lets through; so of them that matters most which holds most back."""
    return _held(one) / held if held and one.entity.kind == "rate_limit" else one.time_share * one.level


def _is_told_as_deep(case: Case, settings: Settings, system: str, one: _Component) -> bool:
    """Whether uneven-drives tells of it for about as long, and as severely."""
    told = told_as_deep(case).get(one.entity)
    if told is None:
        return False
    severity = _severity(case, settings, system, one) if one.full.any() else Severity.INFO
    return told.numbers["time_share"] >= _ABOUT * one.time_share and told.severity >= severity


_LONGEST_TITLE = 90
"""Characters; longer ones are two lines of a list of findings, and more of what names it as a cause."""
_ABOUT = 0.8
"""Part of a share of the time, or of how busy another component is, that is about as much (ours)."""


def _healthy_words(
    case: Case, settings: Settings, system: str, components: list[_Component], left: list[_Component]
) -> str:
    most = max(components, key=lambda one: (mean(one.busy), one.entity))
    level = f"{format_ratio(mean(most.busy))} on average, {format_ratio(greatest(most.busy))} at most"
    busiest = f"{_words(case, most.entity)} {_are(case, most)} busy to {level}"
    of_all = f"of {counted(len(components), 'other component' if left else 'component')} of {system}"
    queue = mean(most.series["queue_depth_mean"])
    if mean(most.busy) >= settings["busy_ratio_max"] and queue < settings["requests_min"]:
        each = "" if _is_single(case, most.entity) else " each"
        said = f"None {of_all} is used to the full with requests that wait: {busiest}, with {queue:.1f} there{each}."
    else:
        said = f"None {of_all} is used to the full: {busiest}."
    if left:
        said += f" Left out, as uneven-drives tells of them: {joined([_words(case, one.entity) for one in left], 3)}."
    return said


def _title(case: Case, entity: EntityRef, said: str) -> str:
    """What is said of a component, without what a limit allows where that is long: the summary has it."""
    full, short = (f"{words} {said}" for words in (_words(case, entity), _words(case, entity, is_short=True)))
    title = full if len(full) <= _LONGEST_TITLE else short
    return title[:1].upper() + title[1:]


def _words(case: Case, entity: EntityRef, *, is_short: bool = False) -> str:
    """'controller A', 'front-end-link A out', 'the drives of pool', 'the rate limit of volume data (3,000 IOPS)'."""
    label = case.label(entity)
    if entity.kind == "rate_limit":
        allowed = None if is_short else case.fact(entity, "allowed")
        return f"the rate limit of {label}" + (f" ({allowed.value})" if allowed is not None else "")
    if entity.kind == "flash_cache":
        return f"the flash cache of {label}"
    if entity.kind != "disk_group":
        return f"controller {label}" if entity.kind == "controller" else label
    return f"the drive{'' if _is_single(case, entity) else 's'} of {label}"


def _is_single(case: Case, entity: EntityRef) -> bool:
    members = [one for one in case.linked_from(entity, "member_of") if one.kind == "disk"]
    return entity.kind != "disk_group" or len(members) == 1


def _finding(
    case: Case, settings: Settings, system: str, full: list[_Component], components: list[_Component]
) -> Finding:
    worst = full[0]
    span = ends(worst.series, worst.full)
    start, end = span if span is not None else (None, None)
    share = worst.time_share
    decides = _decides(case, settings, system, worst)
    near = [one for one in components if one not in full and mean(one.busy) >= _ABOUT * worst.level]
    drives_help = not decides or any(one.entity.kind == "disk_group" for one in (*full, *near))
    return Finding(
        rule=_NAME,
        severity=_severity(case, settings, system, worst),
        confidence=0.9 if np.isfinite(worst.queue) else 0.7,
        title=_title(
            case,
            worst.entity,
            f"{_are(case, worst)} {'used to the full' if decides else f'busy to {format_ratio(worst.level)}'}"
            + ("" if share >= settings["time_share_severe"] else " at times"),
        ),
        summary=_summary(case, system, full, near),
        why=_WHY if decides else _WHY_OF_PART,
        innocent="Backups, copies or a rebuild fill it on purpose, with nobody waiting.",
        check=_CHECK_SIMULATED if is_simulated(case, system) else _CHECK,
        remedy=_remedy(case, system, worst)
        + ("" if drives_help or worst.entity.kind != "controller" else _DRIVES_DO_NOT),
        source="85 % busy in three intervals in a row: ours; at 85 % a queue with random arrivals holds 6 (M/M/1).",
        entities=tuple(one.entity for one in full),
        start_ns=start,
        end_ns=end,
        evidence=(_rows(case, settings, full),),
        weight=min(1.0, 0.4 + share / 2) * min(1.0, worst.level) ** 2,
        numbers={"busy_ratio": worst.level, "time_share": share, "components": len(full)}
        | ({"requests_mean": worst.queue} if np.isfinite(worst.queue) else {}),
    )


def _are(case: Case, one: _Component) -> str:
    return "is" if _is_single(case, one.entity) else "are"


def _severity(case: Case, settings: Settings, system: str, one: _Component) -> Severity:
    severe = one.time_share >= settings["time_share_severe"]
    if one.time_share < settings["time_share_real"]:
        return Severity.INFO
    if not _slow(case, system, one):
        return Severity.WARNING if severe else Severity.INFO
    is_bound = severe and _decides(case, settings, system, one) and one.entity not in worked_on(case)
    return Severity.CRITICAL if is_bound else Severity.WARNING


def _decides(case: Case, settings: Settings, system: str, one: _Component) -> bool:
    """Whether it decides how long operations take: it has next to no room, or they spend much of their time there."""
    if one.level >= settings["busy_ratio_sure"]:
        return True
    share = _share_of_operations(case, system, one)
    return not share < settings["operation_share_min"]


def _share_of_operations(case: Case, system: str, one: _Component) -> float:
    """Share of their time below the hosts that operations spend at it, by Little's law; NaN where it is not told.

    Not told of drives either, nor of links to them: writes that wait for room in a cache, and reads for what is read
    ahead, wait for them elsewhere, and most of what stands there is work of the array's own.
    """
    if one.entity.kind == "disk_group" or _is_link(one.entity, "back-end-link"):
        return float("nan")
    in_flight = sum(_in_flight(series) for series in _users(case, system, one).values())
    held_back = sum(
        float(np.nan_to_num(mean(limit["queued_mean"][_within(one, limit)])))
        for entity, limit in case.series(needs=("queue_limit", "queued_mean")).items()
        if entity.system == system
    )
    below = in_flight - held_back
    return min(1.0, one.queue / below) if below > 0 else float("nan")


def _in_flight(volume: Series) -> float:
    ops = volume["ops_per_s"]
    return mean(np.where(ops > 0, ops * volume["latency_ns_mean"] / NS_PER_S, 0.0)) if len(volume) else 0.0


def _users(case: Case, system: str, one: _Component) -> dict[EntityRef, Series]:
    """Volumes that use it, and what they did while it was used to the full."""
    volumes = {
        entity: series
        for entity, series in case.series("vdisk", needs=("latency_ns_mean", "ops_per_s")).items()
        if entity.system == system
    }
    own = {one.entity, *(other for other in case.linked(one.entity, "member_of") if other.kind == "controller")}
    users = {entity for entity in volumes if own & case.components(entity)}
    # Where nothing tells who uses it, all may.
    return {entity: volumes[entity].where(_within(one, volumes[entity])) for entity in users or volumes}


def _slow(case: Case, system: str, one: _Component) -> dict[EntityRef, tuple[float, str]]:
    """Volumes that use it and were above the warning latency of their tier meanwhile: their mean latency in ns, and of
    what: that of 'reads' or 'writes' where only these were slow, empty of all."""
    found = {}
    for entity, inside in _users(case, system, one).items():
        for of, part in {"": inside, **directions(inside)}.items():
            mean_ns, limit_ns = mean_and_limit_ns(case, part, tier_limits(case, entity).warning_ns)
            if mean_ns > limit_ns:
                found[entity] = mean_ns, of
                break
    return found


def _within(worst: _Component, series: Series) -> BoolArray:
    """The intervals of another series that begin while it is used to the full."""
    place = np.searchsorted(worst.series.time_ns, series.time_ns, side="right") - 1
    length_ns = worst.series.interval_ns
    known = (place >= 0) & (series.time_ns < worst.series.time_ns[place] + length_ns)
    result: BoolArray = known & worst.full[place]
    return result


def _summary(case: Case, system: str, full: list[_Component], near: list[_Component]) -> str:
    worst = full[0]
    slow, share = _slow(case, system, worst), _share_of_operations(case, system, worst)
    words = _words(case, worst.entity)
    said = f"{words[:1].upper()}{words[1:]} of {system} {_are(case, worst)} busy to {format_ratio(worst.level)} in "
    said += f"{format_ratio(worst.time_share)} of the time"
    if np.isfinite(worst.queue):
        each = "" if _is_single(case, worst.entity) else " each"
        said += f", with {worst.queue:.1f} requests there{each} on average"
    if np.isfinite(share):
        # At a processor parity and what is destaged or rebuilt stand among the operations.
        most = "up to " if worst.entity.kind == "controller" else ""
        where = "" if worst.entity.kind == "flash_cache" else " in the array"
        said += f"; operations spend {most}{format_ratio(share)} of their time{where} there"
    also = [
        f"{_words(case, one.entity)} ({format_ratio(one.level)} in {format_ratio(one.time_share)} of the time)"
        for one in full[1:]
    ]
    if also:
        said += f". So {'are' if len(also) > 1 else _are(case, full[1])} {joined(also, 3)}"
    if near:
        named = [f"{_words(case, one.entity)} ({format_ratio(mean(one.busy))})" for one in near]
        said += f". About as busy: {joined(named, 3)}"
    if slow:
        named = [
            f"{f'{of} of ' if of else ''}{case.label(entity)} {format_duration(mean_ns)}"
            for entity, (mean_ns, of) in sorted(slow.items(), key=lambda item: -item[1][0])
        ]
        said += f". Meanwhile operations took: {joined(named, 3)}"
    return f"{said}. {work_words(case, [worst.entity])}".rstrip()


_WHY = "What is used to the full decides what the array does: more load brings longer waits, and nothing more."
_WHY_OF_PART = "It has little room left, so more load will wait there; now most of the time is spent elsewhere."
_CHECK = "See whether operations per second still rise when more is asked; if not, it is the limit."
_CHECK_SIMULATED = (
    "Give the design more of it, or less work for it, simulate again and compare the two runs: if operations per "
    "second rise, it was the limit."
)
_REMEDIES = {
    "controller": (
        "Take work off the processor: give volumes to another controller, use mirrors where parity is computed by it, "
        "send larger I/Os, move backups and copies to another time; or take a faster controller."
    ),
    "flash_cache": (
        "Take faster flash for the host, or more of it side by side. Or ask for less: fewer or smaller I/Os of this "
        "volume. A larger cache does not help, nor do drives of the array."
    ),
    "port": "Take more or faster links of this kind, or move backups and copies to another time.",
    "rate_limit": (
        "Allow more: a larger size or class of the volume or machine, or another policy of the array. Or ask for less: "
        "larger I/Os where it is I/Os that are counted, a cache before it, several volumes with a limit each. Faster "
        "drives do not help."
    ),
}
_LINK_REMEDIES = {
    "front-end-link": (
        "Spread the hosts over more front-end ports, take faster links, or move backups and copies to another time."
    ),
    "back-end-link": (
        "Spread the drives over more back-end ports, take faster links, or move backups, copies, rebuilds to another "
        "time. Front-end ports do not help."
    ),
}
"""By what the name of a simulated array's link begins with: what one kind lacks, another does not give."""
_DRIVES_DO_NOT = " Drives do not help."


def _remedy(case: Case, system: str, one: _Component) -> str:
    entity = one.entity
    if entity.kind == "disk_group":
        is_flash = case.tier(entity).name == "flash"
        return remedy_of_full_drives(is_flash=is_flash, is_worked_on=entity in worked_on(case))
    if _is_link(entity, "mirror-link"):
        return remedy_of_full_mirror_link(case, _users(case, system, one))
    kinds = [kind for kind in _LINK_REMEDIES if _is_link(entity, kind)]
    return _LINK_REMEDIES[kinds[0]] if kinds else _REMEDIES[entity.kind]


def _is_link(entity: EntityRef, kind: str) -> bool:
    """Whether it is a link of a simulated array of this kind."""
    return entity.kind == "port" and entity.name.startswith(kind)


def _rows(case: Case, settings: Settings, full: list[_Component]) -> EvidenceRows:
    """How busy each is while it is used to the full, and how often that is; then of the whole time."""
    whose = "PARTITION BY kind, entity"
    # Full and other intervals by turns: each stretch of them has a difference of row numbers of its own.
    return case.evidence(
        "What is used to the full",
        f"""WITH told AS (SELECT kind, entity, {case.instant()} AS start_ns, queue_depth_mean,
            coalesce(cpu_busy_ratio, busy_ratio) AS busy,
            coalesce(busy >= {settings["busy_ratio_max"]:g}, false)
            AND NOT coalesce(queue_depth_mean < {settings["requests_min"]:g}, false) AS is_full
            FROM observations WHERE {in_use(case, [one.entity for one in full])}),
        stretches AS (SELECT *, row_number() OVER ({whose} ORDER BY start_ns)
            - row_number() OVER ({whose}, is_full ORDER BY start_ns) AS stretch FROM told),
        judged AS (SELECT *, is_full AND count(*) OVER ({whose}, is_full, stretch) >= {settings["samples_min"]:g}
            AS counts FROM stretches)
        SELECT kind, entity, count(*) AS intervals, count(*) FILTER (counts) AS intervals_full,
        avg(busy) FILTER (counts) AS busy_ratio_full, avg(queue_depth_mean) FILTER (counts) AS queue_depth_full,
        avg(busy) AS busy_ratio_mean, max(busy) AS busy_ratio_max, avg(queue_depth_mean) AS queue_depth_mean
        FROM judged GROUP BY kind, entity ORDER BY intervals_full * busy_ratio_full DESC, kind, entity""",
    )


RULE = Rule(
    name=_NAME,
    title="a controller, a link, drives, a flash cache or a limit of rates is used to the full",
    evaluate=_evaluate,
    thresholds=(
        Threshold("busy_ratio_max", 0.85, "how busy from which it is used to the full",
                  "ours; at 85 % a queue with random arrivals holds 6 (M/M/1)"),
        Threshold("busy_ratio_sure", 0.95, "how busy from which it decides, however short the stay at it", "ours"),
        Threshold("operation_share_min", 0.3, "share of the time of operations at a processor or a link that decides",
                  "ours"),
        Threshold("requests_min", 1.5, "requests at it, of a group at each drive, below which nobody waits", "ours"),
        Threshold("samples_min", 3, "consecutive intervals in which it must be so", "ours"),
        Threshold("time_share_min", 0.01, "share of the time below which it is not worth telling", "ours"),
        Threshold("time_share_real", 0.1, "share of the time from which it is more than information", "ours"),
        Threshold("time_share_severe", 0.5, "share of the time from which it is more than at times", "ours"),
    ),
)  # fmt: skip
