"""One controller of an array does most of the work.

Looks for
    Two controllers of which one has more than 70 % of the operations or of the processor load, and arrays with
    several controllers of which one owns every volume.

Why it matters
    The busy controller saturates while the other rests: half of what was paid for is idle, and after a fail-over
    nobody notices a difference until both halves are needed.

Evidence
    Operations or processor load per controller (evaperf cs), or operations and owner per volume (evaperf vd: "Online
    To").

When it is wrong
    One controller is in service or was just restarted. Arrays that are active/passive by design have one working
    controller. With two or three volumes a fair split may not exist. Where the processors are known to be nearly idle,
    and at no time half busy, unequal operations harm nobody yet and are told for information only; so is what a single
    volume brings while the controller is loaded, which one controller serves, until its processor is saturated. So it
    is beside a rebuild, a restripe or a scrub while no processor is half busy: what anybody waits for is the drives,
    and the work itself loads a processor.

References
    At half busy a processor makes an operation wait as long as it takes (M/M/1).
    HP configuration best practices for the EVA: balance volumes over the controllers. The bound of 70/30 is common
    practice, no citation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, in_use, listed, observed, where
from storscope.diagnose.rules._intervals import ends, hull, mean, told_at
from storscope.diagnose.rules._logs import events_by_system
from storscope.diagnose.rules._owners import OWNERS, controllers, owners
from storscope.diagnose.rules.drive_failed import work_words, worked_on
from storscope.domain.arrays import BoolArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_rate, format_ratio
from storscope.store.series import Series
from storscope.store.sql import sql_text

_NAME = "controller-imbalance"


@dataclass(frozen=True)
class _Split:
    """How one quantity divides over the controllers of a system."""

    what: str
    """'operations' or 'processor load'."""
    values: Mapping[str, float]
    """Controller -> mean."""

    @property
    def busiest(self) -> str:
        return max(self.values, key=lambda name: (self.values[name], name))

    @property
    def share(self) -> float:
        """The busiest one's part of its own and the least busy one's: 0.5 is even, with two or with eight."""
        most, least = max(self.values.values()), min(self.values.values())
        return most / (most + least) if most + least > 0 else 0.5

    def words(self) -> str:
        total = sum(self.values.values())
        if self.what == "processor load":
            return ", ".join(f"{name} {format_ratio(value)} busy" for name, value in sorted(self.values.items()))
        return ", ".join(f"{name} {format_ratio(value / total)}" for name, value in sorted(self.values.items()))


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    owned = owners(case)
    systems = sorted({e.system for e in case.entities if e.kind == "controller"} | set(owned))
    outcomes = [outcome for system in systems if (outcome := _judge(case, settings, system, owned.get(system, {})))]
    return outcomes or [NotEvaluated(_NAME, f"load per controller of an array with two, or {OWNERS}")]


def _judge(case: Case, settings: Settings, system: str, owned: Mapping[EntityRef, str]) -> Outcome | None:
    names = controllers(case, system)
    if len(names) < 2:
        return None
    if failed := events_by_system(case, "controller_failed").get(system):
        away = listed(case, {event.entity for event in failed})
        return NotEvaluated(_NAME, f"a time in which all controllers of {system} work: {away} failed")
    splits = [split for split in (_cpu(case, system), _operations(case, system, owned, names)) if split is not None]
    loaded = [split for split in splits if _is_loaded(settings, split)]
    uneven = [split for split in loaded if split.share > settings["share_max"]]
    one_owner = len(set(owned.values())) == 1 and len(owned) >= settings["volumes_min_count"]
    if uneven or one_owner:
        has_room = not _is_felt(case, settings, system, splits)
        return _finding(case, settings, system, uneven, splits, owned if one_owner else {}, has_room=has_room)
    if loaded:
        split = max(loaded, key=lambda split: split.share)
        return Healthy(_NAME, f"The controllers of {system} share the {split.what}: {split.words()}.")
    if len(set(owned.values())) > 1:
        parts = ", ".join(f"{name} {count}" for name, count in sorted(Counter(owned.values()).items()))
        return Healthy(_NAME, f"The volumes of {system} are divided between the controllers: {parts}.")
    return None


def _is_loaded(settings: Settings, split: _Split) -> bool:
    if split.what == "processor load":
        return max(split.values.values()) >= settings["cpu_busy_ratio_min"]
    return sum(split.values.values()) >= settings["ops_per_s_min"]


def _is_felt(case: Case, settings: Settings, system: str, splits: Sequence[_Split]) -> bool:
    """Whether operations may wait for a processor: one is loaded on average, or half busy for a while; or not known."""
    on_average = any(split.what == "processor load" and _is_loaded(settings, split) for split in splits)
    return on_average or _busiest_ever(case, system) >= _HALF_BUSY


def _busiest_ever(case: Case, system: str) -> float:
    """The greatest load of any processor in any interval; infinite where one's load is never known, as it may be."""
    loads = [
        series["cpu_busy_ratio"]
        for entity, series in case.series("controller", needs=("cpu_busy_ratio",)).items()
        if entity.system == system
    ]
    most = [float(np.max(load[~np.isnan(load)], initial=-np.inf)) for load in loads]
    return max(most) if len(most) >= 2 and min(most) > -np.inf else np.inf


@dataclass(frozen=True)
class _Load:
    """What tells when a controller is loaded: its column is at least so much then."""

    controller: EntityRef
    column: str
    least: float

    @property
    def words(self) -> str:
        if self.column == "cpu_busy_ratio":
            return f"while the processor of {self.controller.name} was at least {format_ratio(self.least)} busy"
        return f"while {self.controller.name} did at least its mean of {format_rate(self.least, 'operations/s')}"


def _load(case: Case, settings: Settings, controller: EntityRef) -> _Load | None:
    """By its processor, where that is ever loaded, else by its operations, which are most at or above their mean; None
    where neither is told."""
    series = case.all_series.get(controller)
    if series is None:
        return None
    busy = settings["cpu_busy_ratio_min"]
    if (np.nan_to_num(series["cpu_busy_ratio"]) >= busy).any():
        return _Load(controller, "cpu_busy_ratio", busy)
    return _Load(controller, "ops_per_s", mean(series["ops_per_s"])) if series.has("ops_per_s") else None


@dataclass(frozen=True)
class _Sole:
    """A volume with nearly all operations of its system while the controller is loaded."""

    volume: EntityRef
    share: float
    load: _Load | None
    """None: of the whole time."""


def _sole_volume(case: Case, system: str, load: _Load | None) -> _Sole | None:
    """The volume that is the load, if one is; a volume has one owner at a time.

    What is done while the controller rests loads nobody. None where the operations of any volume are not known, as they
    may be many.
    """
    ops = {
        entity: mean(series["ops_per_s"][_loaded(case, series, load)])
        for entity, series in case.series("vdisk", needs=("ops_per_s",)).items()
        if entity.system == system
    }
    told = {entity for entity, mean_per_s in ops.items() if np.isfinite(mean_per_s)}
    if any(one.kind == "vdisk" and one.system == system and one not in told for one in case.entities):
        return None
    most = max(ops, key=lambda entity: (ops[entity], entity), default=None)
    if most is None or ops[most] <= 0 or ops[most] < _SOLE_SHARE * sum(ops.values()):
        return None
    return _Sole(most, ops[most] / sum(ops.values()), load)


def _loaded(case: Case, series: Series, load: _Load | None) -> BoolArray:
    """The intervals of a volume that begin while the controller is loaded."""
    if load is None:
        return np.ones(len(series), dtype=bool)
    values = told_at(case.all_series[load.controller], load.column, series.time_ns)
    result: BoolArray = np.nan_to_num(values) >= load.least
    return result


def _cpu(case: Case, system: str) -> _Split | None:
    found = {
        entity.name: mean(series["cpu_busy_ratio"])
        for entity, series in case.series("controller", needs=("cpu_busy_ratio",)).items()
        if entity.system == system
    }
    return _Split("processor load", found) if len(found) >= 2 else None


def _operations(case: Case, system: str, owned: Mapping[EntityRef, str], names: set[str]) -> _Split | None:
    """Operations as the controllers count them, else those of the volumes each owns."""
    own = {
        entity.name: mean(series["ops_per_s"])
        for entity, series in case.series("controller", needs=("ops_per_s",)).items()
        if entity.system == system
    }
    if len(own) >= 2:
        return _Split("operations", own)
    found: dict[str, float] = defaultdict(float)
    for entity, series in case.series("vdisk", needs=("ops_per_s",)).items():
        if entity in owned:
            found[owned[entity]] += mean(series["ops_per_s"])
    return _Split("operations", {name: found.get(name, 0.0) for name in names}) if found else None


def _finding(
    case: Case, settings: Settings, system: str, uneven: list[_Split], splits: list[_Split],
    all_owned: Mapping[EntityRef, str], *, has_room: bool,
) -> Finding:  # fmt: skip
    busiest = next(iter(all_owned.values())) if all_owned else uneven[0].busiest
    cpu = next((split.values.get(busiest, 0.0) for split in splits if split.what == "processor load"), 0.0)
    entities = sorted(EntityRef(system, "controller", name) for name in controllers(case, system))
    spans = [span for entity in entities if (series := case.all_series.get(entity)) and (span := ends(series))]
    start, end = hull(spans)
    share = max((split.share for split in uneven), default=1.0)
    load = _load(case, settings, EntityRef(system, "controller", busiest))
    sole = None if all_owned else _sole_volume(case, system, load)
    most = _busiest_ever(case, system)
    nothing_to_divide = sole is not None and most < _SATURATED
    works = work_words(case, (group for group in worked_on(case) if group.system == system))
    waits_for_drives = bool(works) and most < _HALF_BUSY
    is_harmless = ((has_room or waits_for_drives) and not all_owned) or nothing_to_divide
    summary = _summary(system, busiest, splits, all_owned)
    if sole is not None:
        when = f" {sole.load.words}" if sole.load is not None else ""
        words = f"Volume {case.label(sole.volume)} brings {format_ratio(sole.share)} of what the volumes do{when}."
        summary.append(words)
    if has_room and not all_owned:
        at_most = f": {format_ratio(most)} at most" if most >= settings["cpu_busy_ratio_min"] else ""
        summary.append(f"No processor was busy enough for anybody to wait for it{at_most}.")
    elif cpu < most < np.inf:
        summary.append(f"In the busiest interval a processor was {format_ratio(most)} busy.")
    summary += [works] if works else []
    return Finding(
        rule=_NAME,
        severity=Severity.INFO if is_harmless else Severity.CRITICAL if cpu >= _SATURATED else Severity.WARNING,
        confidence=0.85 if uneven else 0.7,
        title=f"Controller {busiest} of {system} "
        + (f"owns all {len(all_owned)} volumes" if all_owned else "does most of the work"),
        summary=" ".join(summary),
        why="One controller saturates while the other rests; its processor and its cache limit every volume.",
        innocent=(
            "The other controller is in service or was just restarted, the array is active/passive by design, or too "
            "few volumes exist to split them fairly."
        ),
        check=(
            "Compare owner and preferred controller of each volume, look for events about controllers and cache "
            "batteries, and see whether ownership returns when you move one volume."
        ),
        remedy=(
            "Nothing can be divided while one volume brings the load: give the other volumes to the other controller; "
            "if a processor becomes the limit, spread this one's data over two volumes."
            if sole is not None
            else "Divide the volumes by load over the controllers (preferred path or owner). If they fall back within "
            "seconds, a controller gives its volumes away: see cache and battery events, restart or replace it."
        ),
        source="70/30: common practice, no citation; HP configuration best practices for the EVA.",
        entities=tuple(entities),
        start_ns=start,
        end_ns=end,
        evidence=_evidence(case, system, entities, all_owned, sole),
        weight=_INFO_WEIGHT if is_harmless else 0.7 if cpu >= _SATURATED else 0.45,
        numbers={"share": share, "cpu_busy_ratio": float(np.nan_to_num(cpu)), "volumes_of_one_owner": len(all_owned)},
    )


_SOLE_SHARE = 0.9
"""Part of the operations of all volumes, while the controller is loaded, from which one volume is the load (ours)."""
_INFO_WEIGHT = 0.1
"""What hurts nobody is told after what is under way: a rebuild, a restripe, a scrub."""
_HALF_BUSY = 0.5
"""Processor load up to which waiting for it is no more than the work itself (M/M/1)."""
_SATURATED = 0.8
"""Processor load from which waiting grows quickly: at 80 % a queue with random arrivals is 4 long (M/M/1)."""


def _summary(system: str, busiest: str, splits: list[_Split], all_owned: Mapping[EntityRef, str]) -> list[str]:
    words = [f"By {split.what}: {split.words()}." for split in splits]
    if all_owned:
        words.insert(0, f"Every one of {len(all_owned)} volumes of {system} is served by controller {busiest}.")
    operations = next((split for split in splits if split.what == "operations"), None)
    if operations is not None:
        # Not IOPS of hosts: controllers may also count what they do for the cache, the mirror and the drives.
        words.append(f"In all {format_rate(sum(operations.values.values()), 'operations/s')}.")
    return words


def _evidence(
    case: Case, system: str, entities: list[EntityRef], all_owned: Mapping[EntityRef, str], sole: _Sole | None
) -> tuple[EvidenceRows, ...]:
    rows = []
    if any(entity in case.all_series for entity in entities):
        sql = f"""SELECT entity AS controller, count(*) AS intervals, avg(cpu_busy_ratio) AS cpu_busy_ratio_mean,
            max(cpu_busy_ratio) AS cpu_busy_ratio_max, avg(ops_per_s) AS ops_per_s_mean
            FROM observations WHERE {observed(case, entities)} GROUP BY entity ORDER BY entity"""
        rows.append(case.evidence(f"Load per controller of {system}", sql))
    if all_owned or not rows:
        volumes = list(all_owned) or list(owners(case).get(system, {}))
        sql = f"""SELECT coalesce(f.owner, l.target) AS owner, count(*) AS volumes FROM
            (SELECT DISTINCT entity FROM entities WHERE {where(volumes)}) v
            LEFT JOIN (SELECT entity, any_value(target) AS target FROM links WHERE system = {sql_text(system)}
                       AND kind = 'vdisk' AND relation = 'owned_by' GROUP BY entity) l USING (entity)
            LEFT JOIN (SELECT entity, any_value(value) AS owner FROM facts WHERE system = {sql_text(system)}
                       AND kind = 'vdisk' AND name = 'online_to' GROUP BY entity) f USING (entity)
            GROUP BY 1 ORDER BY volumes DESC, owner"""
        rows.append(case.evidence(f"{counted(len(volumes), 'volume')} of {system} by owner", sql))
    return (*rows, *([_sole_rows(case, system, sole)] if sole is not None else []))


def _sole_rows(case: Case, system: str, sole: _Sole) -> EvidenceRows:
    """What each volume did while the controller was loaded."""
    volumes = [entity for entity in case.series("vdisk", needs=("ops_per_s",)) if entity.system == system]
    instant, load = case.instant(), sole.load
    loaded = ""
    if load is not None:
        loaded = f"""ASOF JOIN (SELECT {instant} AS start_ns, duration_ns, {load.column} AS load FROM observations
            WHERE {in_use(case, [load.controller], f"{load.column} IS NOT NULL")}) loads
            ON volumes.start_ns >= loads.start_ns
            WHERE volumes.start_ns < loads.start_ns + loads.duration_ns AND load >= {load.least:.17g}"""
    sql = f"""SELECT entity AS volume, count(*) AS intervals, avg(ops_per_s) AS ops_per_s_mean FROM
        (SELECT entity, {instant} AS start_ns, ops_per_s FROM observations
         WHERE {in_use(case, volumes, "ops_per_s IS NOT NULL")}) volumes {loaded}
        GROUP BY entity ORDER BY ops_per_s_mean DESC, entity"""
    return case.evidence(f"Operations of the volumes of {system}" + (f" {load.words}" if load else ""), sql)


RULE = Rule(
    name=_NAME,
    title="one controller of an array does most of the work",
    evaluate=_evaluate,
    thresholds=(
        Threshold("share_max", 0.7, "greatest part of its own and the least busy controller's load that one may have",
                  "common practice, no citation"),
        Threshold("cpu_busy_ratio_min", 0.3, "processor load of the busiest, below which it is not compared, and "
                  "unequal operations are for information", "ours"),
        Threshold("ops_per_s_min", 100, "operations per second in all, below which nothing is said", "ours"),
        Threshold("volumes_min_count", 4, "volumes that one controller must own alone to be said", "ours"),
    ),
)  # fmt: skip
