"""The write cache is not trusted: floods of cache or battery events, or write-through.

Looks for
    Many events about cache policy or cache batteries within an hour, a controller that gives up all its volumes,
    cache batteries that are not good, and volumes that are not in write-back mode.

Why it matters
    Without write-back every write waits for the disks: latency grows tenfold on disk. A controller that believes its
    battery bad hands its volumes to the partner, which then carries everything, however often you move them back.

Evidence
    Array events about cache policy and batteries, the write mode of volumes (evaperf vd: "Wr Mode"), the state of
    cache batteries and of the controllers' write cache.

When it is wrong
    Some batteries are tested on a schedule, and the cache is off for the test. Firmware may report a wrong battery
    state. Volumes are set to write-through on purpose where a database or an all-flash array wants it.

References
    A published case of an EVA 4400: a flood of "changed Battery Cache policy" events from a wrong battery state, cured
    by a restart of the controller and new firmware. Ten events within an hour are ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from storscope.diagnose.case import Case, Event
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, joined, listed, where
from storscope.diagnose.rules._logs import event_rows, events_by_system, most_in_window, times_of, window_of
from storscope.diagnose.rules._owners import controllers, owners
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity

_NAME = "cache-policy-flood"
_EVENTS = ("cache_policy_changed", "battery_changed")
_WRITE_BACK = re.compile(r"(?i)\s*(wb|back|write.?back(.*mirror.*)?|enabled|on)\s*")
_WRITE_THROUGH = re.compile(r"(?i)\s*(wt|thr(u|ough)|write.?th(ru|rough)|disabled|off)\s*")
_BATTERY_GOOD = re.compile(r"(?i)\s*(good|ok|normal|charged|fully charged|optimal|working)\s*")
_NEEDS = "array events about cache and batteries, or the write mode of volumes (evaperf vd: 'Wr Mode')"


@dataclass
class _Cache:
    """What is known of the caches of one system."""

    modes: dict[EntityRef, str] = field(default_factory=dict)
    batteries: dict[EntityRef, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def through(self) -> list[EntityRef]:
        """Volumes, or controllers, that write through."""
        return sorted(entity for entity, mode in self.modes.items() if _WRITE_THROUGH.fullmatch(mode))

    def back(self) -> list[EntityRef]:
        return sorted(entity for entity, mode in self.modes.items() if _WRITE_BACK.fullmatch(mode))

    def bad_batteries(self) -> list[EntityRef]:
        known = {"n/a", "none", "unknown", ""}
        return sorted(
            entity
            for entity, state in self.batteries.items()
            if not _BATTERY_GOOD.fullmatch(state) and state.strip().lower() not in known
        )


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    systems = _caches(case)
    outcomes = [outcome for system, cache in systems.items() for outcome in _judge(case, settings, system, cache)]
    return outcomes or [NotEvaluated(_NAME, _NEEDS)]


def _caches(case: Case) -> dict[str, _Cache]:
    found: dict[str, _Cache] = {}
    for entity, facts in sorted(case.facts_by_entity.items()):
        for name, kinds in (("write_mode", ("vdisk",)), ("write_cache", ("controller",))):
            if name in facts and entity.kind in kinds:
                found.setdefault(entity.system, _Cache()).modes[entity] = facts[name].value
        if "cache_battery" in facts and entity.kind == "controller":
            found.setdefault(entity.system, _Cache()).batteries[entity] = facts["cache_battery"].value
    for system, events in events_by_system(case, *_EVENTS).items():
        found.setdefault(system, _Cache()).events = events
    return dict(sorted(found.items()))


def _judge(case: Case, settings: Settings, system: str, cache: _Cache) -> list[Outcome]:
    per_hour = most_in_window(times_of(cache.events))
    flood = per_hour >= settings["events_per_h_max"] or (
        not times_of(cache.events) and len(cache.events) >= settings["events_per_h_max"]
    )
    if flood:
        return [_flood(case, settings, system, cache, per_hour)]
    if cache.through() or cache.bad_batteries():
        return [_write_through(case, system, cache)]
    back = cache.back()
    if back or cache.batteries:
        words = [f"{counted(len(back), 'volume or controller', 'volumes and controllers')} in write-back mode"] * bool(
            back
        )
        words += [f"{counted(len(cache.batteries), 'cache battery', 'cache batteries')} good"] * bool(cache.batteries)
        return [Healthy(_NAME, f"{system}: {joined(words)}; {counted(len(cache.events), 'cache event')}.")]
    if cache.events:
        most = f"at most {per_hour} within one hour" if per_hour else "without times"
        return [Healthy(_NAME, f"{counted(len(cache.events), 'cache or battery event')} on {system}, {most}.")]
    return []


# The flood ---------------------------------------------------------------------------------------------------------


def _given_up(case: Case, settings: Settings, system: str, cache: _Cache) -> str | None:
    """The controller that owns nothing while another owns every volume."""
    owned = owners(case).get(system, {})
    if len(owned) >= settings["volumes_min_count"] and len(set(owned.values())) == 1:
        idle = controllers(case, system) - set(owned.values())
        return min(idle) if idle else None
    moved = [event for event in case.events_of("ownership_changed") if event.entity.system == system]
    takers = {event.attributes.get("owner") for event in moved} - {None}
    sources = {event.entity.name for event in cache.events if event.entity.kind == "controller"}
    if len({event.entity for event in moved}) >= settings["volumes_min_count"] and len(takers) == 1:
        left = sources - takers
        return min(left) if left else None
    return None


def _flood(case: Case, settings: Settings, system: str, cache: _Cache, per_hour: int) -> Finding:
    by_entity = Counter(event.entity for event in cache.events)
    source, most = by_entity.most_common(1)[0]
    gone = _given_up(case, settings, system, cache)
    through = cache.through()
    start, end = window_of(cache.events)
    often = f"up to {per_hour:,} within one hour" if per_hour else "without times"
    rate = f"{len(cache.events):,} events about cache policy and batteries on {system}, {often}"
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if gone or through else Severity.WARNING,
        confidence=0.85,
        title=f"Flood of cache events on {system}" + (f"; controller {gone} gave up its volumes" if gone else ""),
        summary=(
            f"{rate}; {most:,} of them from {source.kind} {case.label(source)}. "
            + (f"Controller {gone} owns no volume: the other one serves all of them. " if gone else "")
            + (f"In write-through mode: {listed(case, through)}. " if through else "")
            + _batteries(cache)
        ).strip(),
        why=(
            "A controller that distrusts its cache battery writes through or hands over its volumes: the other "
            "controller carries everything, and volumes moved back return within seconds."
        ),
        innocent="A scheduled battery test or a battery that was being replaced.",
        check=(
            "Compare the battery state that the array's management shows with the events, and see whether they begin "
            "with a firmware update, a restart or a battery's end of life."
        ),
        remedy="Restart the controller that raises the events (in a quiet hour), update firmware, replace the battery.",
        source="Ten events within an hour: ours, after a published case of an EVA 4400.",
        entities=tuple(sorted(by_entity)),
        start_ns=start,
        end_ns=end,
        evidence=(event_rows(case, f"Cache and battery events of {system}", system, *_EVENTS), *_facts(case, cache)),
        weight=0.9 if gone else 0.6,
        numbers={"events": len(cache.events), "events_per_h_max": per_hour, "volumes_write_through": len(through)},
    )


def _batteries(cache: _Cache) -> str:
    bad = cache.bad_batteries()
    return "Batteries: " + ", ".join(f"{e.name} {cache.batteries[e]}" for e in bad) + "." if bad else ""


# Write-through -----------------------------------------------------------------------------------------------------


def _write_through(case: Case, system: str, cache: _Cache) -> Finding:
    through, bad = cache.through(), cache.bad_batteries()
    volumes = (
        counted(len(through), "volume")
        if through and through[0].kind == "vdisk"
        else counted(len(through), "controller")
    )
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if bad and through else Severity.WARNING,
        confidence=0.85 if through else 0.6,
        title=f"{volumes} of {system} without write-back cache"
        if through
        else f"Cache battery of {system} is not good",
        summary=(
            (f"{listed(case, through)} of {len(cache.modes)} with a known mode write through. " if through else "")
            + _batteries(cache)
        ).strip(),
        why="Without write-back every write waits for the disks, which is about ten times slower on disk.",
        innocent="Set so on purpose (a database that wants it, an all-flash array), or a battery test is running.",
        check="Compare the configured with the actual write mode, and the battery's state and age in the management.",
        remedy="Replace the battery or restore the mirror; then set the volumes back to write-back.",
        source="Anything but write-back; no threshold is involved.",
        entities=tuple(through or bad),
        evidence=_facts(case, cache),
        weight=0.6 if through else 0.3,
        numbers={"write_through": len(through), "batteries_not_good": len(bad)},
    )


def _facts(case: Case, cache: _Cache) -> tuple[EvidenceRows, ...]:
    entities = [*cache.through(), *cache.bad_batteries()]
    if not entities:
        return ()
    condition = where(entities, "name IN ('write_mode', 'write_cache', 'cache_battery')")
    sql = f"SELECT kind, entity, name, value FROM facts WHERE {condition} ORDER BY kind, entity, name"
    return (case.evidence("Write modes and batteries", sql),)


RULE = Rule(
    name=_NAME,
    title="the write cache is not trusted",
    evaluate=_evaluate,
    thresholds=(
        Threshold("events_per_h_max", 10, "cache and battery events within an hour that make a flood", "ours"),
        Threshold("volumes_min_count", 4, "volumes that must all have left a controller that gave them up", "ours"),
    ),
)  # fmt: skip
