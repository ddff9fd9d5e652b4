"""The write cache is not trusted: write-through, bad batteries, or floods of events about them.

Looks for
    The last known state of each controller's cache and batteries: write-through or a disabled cache that never went
    back to write-back, batteries that are not good, and volumes that are not in write-back mode. What makes it worse:
    many events about cache policy or batteries within an hour, and a controller that gives up all its volumes. Times
    of write-through that are over are told with what is healthy.

Why it matters
    Without write-back every write waits for the disks: latency grows tenfold on disk. A controller that believes its
    battery bad hands its volumes to the partner, which then carries everything, however often you move them back.

Evidence
    Array events about cache policy and batteries (the last one of each controller and battery decides), the write
    mode of volumes (evaperf vd: "Wr Mode"), the state of cache batteries and of the controllers' write cache. Where
    events and settings contradict each other, the finding says so and is less severe.

When it is wrong
    Some batteries are tested on a schedule, and the cache is off for the test: the evidence may end within it.
    Firmware may report a wrong battery state. Volumes are set to write-through on purpose where a database or an
    all-flash array wants it.

References
    A published case of an EVA 4400: a flood of "changed Battery Cache policy" events from a wrong battery state, cured
    by a restart of the controller and new firmware. Ten events within an hour are ours.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, joined, listed, where
from storscope.diagnose.rules._logs import HOUR_NS, event_rows, events_by_system, most_in_window, times_of, window_of
from storscope.diagnose.rules._owners import controllers, owners
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_span
from storscope.store.events import Event

_NAME = "cache-policy-flood"
_EVENTS = ("cache_policy_changed", "battery_changed")
_WRITE_BACK = re.compile(r"(?i)\s*(wb|back|write.?back(.*mirror.*)?|enabled|on)\s*")
_WRITE_THROUGH = re.compile(r"(?i)\s*(wt|thr(u|ough)|write.?th(ru|rough)|disabled|off)\s*")
_BATTERY_GOOD = re.compile(r"(?i)\s*(good|ok|normal|charged|fully charged|optimal|working)\s*")
_NEEDS = "array events about cache and batteries, or the write mode of volumes (evaperf vd: 'Wr Mode')"


_MOST_TIMES = 3
_UNKNOWN = frozenset({"n/a", "none", "unknown", ""})
_BATTERY_NUMBER = re.compile(r"(?i)\bbatter(?:y|ies)\s+(?:(?:assembly|module|pack)\s+)?#?(\d+)\b")


@dataclass
class _Cache:
    """What is known of the caches of one system."""

    modes: dict[EntityRef, str] = field(default_factory=dict)
    """Volume or controller -> its write mode, from facts."""
    batteries: dict[EntityRef, str] = field(default_factory=dict)
    """Controller -> the state of its battery, from facts."""
    events: list[Event] = field(default_factory=list)

    @cached_property
    def policies(self) -> dict[EntityRef, Event]:
        """Controller or volume -> its last event that names the policy."""
        named = [event for event in self.events if _is_policy(event) and _mode(event)]
        return {entity: _last(found, _goes_bad) for entity, found in _by_entity(named).items()}

    @cached_property
    def battery_events(self) -> dict[EntityRef, Event]:
        """Controller -> the last event of its worst battery: each numbered battery is judged for itself."""
        named: dict[tuple[EntityRef, str], list[Event]] = defaultdict(list)
        for event in self.events:
            if event.type == "battery_changed" and event.attributes.get("state"):
                number = _BATTERY_NUMBER.search(event.text)
                named[event.entity, number[1] if number else ""].append(event)
        found: dict[EntityRef, Event] = {}
        for (entity, _), events in sorted(named.items()):
            last = _last(events, _goes_bad)
            if entity not in found or _goes_bad(last):
                found[entity] = last
        return found

    def through_by_events(self) -> dict[EntityRef, Event]:
        """Those whose last event left them in write-through mode."""
        return {entity: event for entity, event in sorted(self.policies.items()) if _goes_bad(event)}

    def through(self) -> list[EntityRef]:
        """Volumes, or controllers, that write through."""
        said = {entity for entity, mode in self.modes.items() if _WRITE_THROUGH.fullmatch(mode)}
        return sorted(said | set(self.through_by_events()))

    def times_through(self) -> list[tuple[EntityRef, int, int]]:
        """(who, from, until) of each time that one wrote through and then back again."""
        found = []
        named = [event for event in self.events if _is_policy(event) and _mode(event)]
        for entity, events in sorted(_by_entity(named).items()):
            since: int | None = None
            timed = sorted((event.time_ns, _goes_bad(event)) for event in events if event.time_ns is not None)
            for time_ns, goes_bad in timed:
                if goes_bad:
                    since = time_ns if since is None else since
                elif since is not None:
                    found.append((entity, since, time_ns))
                    since = None
        return found

    def back(self) -> list[EntityRef]:
        """Volumes, or controllers, that write back as far as anything says."""
        said = {entity for entity, mode in self.modes.items() if _WRITE_BACK.fullmatch(mode)}
        said |= {entity for entity, event in self.policies.items() if _WRITE_BACK.fullmatch(_mode(event))}
        return sorted(said - set(self.through()))

    def bad_batteries(self) -> dict[EntityRef, str]:
        """Controller -> the state of its battery that is not good."""
        said = {entity: state for entity, state in self.batteries.items() if _is_bad_battery(state)}
        told = {e: event.attributes["state"] for e, event in self.battery_events.items() if _goes_bad(event)}
        return dict(sorted((said | told).items()))

    def good_batteries(self) -> list[EntityRef]:
        """Controllers whose battery is good as far as anything says."""
        said = {entity for entity, state in self.batteries.items() if state.strip().lower() not in _UNKNOWN}
        return sorted((said | set(self.battery_events)) - set(self.bad_batteries()))

    def contradicted(self) -> list[EntityRef]:
        """Those that events call bad and settings call good."""
        modes = {e for e in self.through_by_events() if _WRITE_BACK.fullmatch(self.modes.get(e, ""))}
        states = {e for e, event in self.battery_events.items() if _goes_bad(event)}
        return sorted(modes | {e for e in states if _BATTERY_GOOD.fullmatch(self.batteries.get(e, ""))})


def _is_policy(event: Event) -> bool:
    return event.type == "cache_policy_changed"


def _mode(event: Event) -> str:
    return event.attributes.get("policy") or ""


def _is_bad_battery(state: str) -> bool:
    return not _BATTERY_GOOD.fullmatch(state) and state.strip().lower() not in _UNKNOWN


def _goes_bad(event: Event) -> bool:
    """True when the event leaves its cache in write-through mode or its battery in a state that is not good."""
    if _is_policy(event):
        return _WRITE_THROUGH.fullmatch(_mode(event)) is not None
    return _is_bad_battery(event.attributes.get("state") or "")


def _by_entity(events: Sequence[Event]) -> dict[EntityRef, list[Event]]:
    found: dict[EntityRef, list[Event]] = defaultdict(list)
    for event in events:
        found[event.entity].append(event)
    return found


def _last(events: Sequence[Event], bad: Callable[[Event], bool]) -> Event:
    """The last event; where none has a time, a bad one if those outnumber the good ones."""
    timed = [event for event in events if event.time_ns is not None]
    if timed:
        return timed[-1]
    ill = [event for event in events if bad(event)]
    fine = [event for event in events if not bad(event)]
    return ill[-1] if len(ill) > len(fine) else fine[-1]


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
        return [_distrusted(case, settings, system, cache)]
    back, good = cache.back(), cache.good_batteries()
    if back or good:
        words = [f"{counted(len(back), 'volume or controller', 'volumes and controllers')} in write-back mode"] * bool(
            back
        )
        words += [f"{counted(len(good), 'cache battery', 'cache batteries')} good"] * bool(good)
        events = counted(len(cache.events), "cache event")
        return [Healthy(_NAME, f"{system}: {joined(words)}; {events}.{_times_words(case, cache)}")]
    if cache.events:
        most = f"at most {per_hour} within one hour" if per_hour else "without times"
        return [Healthy(_NAME, f"{counted(len(cache.events), 'cache or battery event')} on {system}, {most}.")]
    return []


def _times_words(case: Case, cache: _Cache) -> str:
    """When writes went through and no longer do: latency of that time is not what the array does otherwise."""
    times = [
        f"{entity.kind} {case.label(entity)} wrote through for {format_span(until - since)} "
        f"from {case.time_words(since)} on"
        for entity, since, until in cache.times_through()
    ]
    if not times:
        return ""
    more = f", and {len(times) - _MOST_TIMES:,} more" if len(times) > _MOST_TIMES else ""
    return f" Before that {joined(times[:_MOST_TIMES])}{more}."


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
        severity=Severity.CRITICAL if gone else _severity(cache),
        confidence=0.85,
        title=f"Flood of cache events on {system}" + (f"; controller {gone} gave up its volumes" if gone else ""),
        summary=(
            f"{rate}; {most:,} of them from {source.kind} {case.label(source)}. "
            + (f"Controller {gone} owns no volume: the other one serves all of them. " if gone else "")
            + _states(case, system, cache)
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


# The state ---------------------------------------------------------------------------------------------------------


def _states(case: Case, system: str, cache: _Cache) -> str:
    """The last known state of caches and batteries, in sentences."""
    words = []
    changed = cache.through_by_events()
    said = [entity for entity in cache.through() if entity not in changed]
    for entity, event in list(changed.items())[:4]:
        since = f" since {case.time_words(event.time_ns)}" if event.time_ns is not None else ""
        end = _end_ns(case, system)
        until = f"; not changed back when the events end at {case.time_words(end)}" if since and end is not None else ""
        words.append(f"{entity.kind.capitalize()} {case.label(entity)} writes through{since}{until}.")
    if said:
        words.append(f"{listed(case, said)} of {len(cache.modes)} with a known mode write through.")
    bad = cache.bad_batteries()
    if bad:
        words.append("Batteries: " + ", ".join(f"{entity.name} {state}" for entity, state in bad.items()) + ".")
    if cache.contradicted():
        words.append(f"The settings read of {listed(case, cache.contradicted())} say otherwise.")
    return " ".join(words)


def _end_ns(case: Case, system: str) -> int | None:
    """The last instant of any event of a system."""
    times = times_of([event for event in case.events if event.entity.system == system])
    return max(times) if times else None


def _severity(cache: _Cache) -> Severity:
    """Write-through that came and stayed, of a whole controller, or with a bad battery, is no setting of choice."""
    through = cache.through()
    lasting = any(entity.kind == "controller" for entity in through) or bool(cache.through_by_events())
    if through and (lasting or cache.bad_batteries()) and not cache.contradicted():
        return Severity.CRITICAL
    return Severity.WARNING


def _confidence(case: Case, settings: Settings, system: str, cache: _Cache) -> float:
    if cache.contradicted():
        return 0.5
    changed = cache.through_by_events()
    if not changed:
        return 0.85 if cache.through() else 0.75
    since, end = min(times_of(list(changed.values())), default=None), _end_ns(case, system)
    lasts = since is not None and end is not None and end - since >= settings["test_max_hours"] * HOUR_NS
    return 0.9 if lasts else 0.7


def _title(system: str, through: list[EntityRef]) -> str:
    if not through:
        return f"Cache battery of {system} is not good"
    kind = "volume" if through[0].kind == "vdisk" else "controller"
    return f"{counted(len(through), kind)} of {system} without write-back cache"


def _distrusted(case: Case, settings: Settings, system: str, cache: _Cache) -> Finding:
    through, bad = cache.through(), cache.bad_batteries()
    changed = [*cache.through_by_events().values()]
    changed += [event for entity, event in cache.battery_events.items() if entity in bad and _goes_bad(event)]
    times = times_of(changed)
    log = (event_rows(case, f"Cache and battery events of {system}", system, *_EVENTS),) if changed else ()
    return Finding(
        rule=_NAME,
        severity=_severity(cache),
        confidence=_confidence(case, settings, system, cache),
        title=_title(system, through),
        summary=_states(case, system, cache),
        why=(
            "Without write-back every write waits for the disks, which is about ten times slower on disk."
            if through
            else "When the battery cannot keep the cache alive, the controller writes through or gives up its volumes."
        ),
        innocent=(
            "Set so on purpose (a database that wants it, an all-flash array), or a battery test was running when "
            "the evidence ends."
        ),
        check="Compare the configured with the actual write mode, and the battery's state and age in the management.",
        remedy="Replace the battery or restore the mirror; then set the volumes back to write-back.",
        source="The last known state, anything but write-back or a good battery; no threshold is involved.",
        entities=tuple(sorted({*through, *bad})),
        start_ns=min(times) if times else None,
        end_ns=_end_ns(case, system) if times else None,
        evidence=(*log, *_facts(case, cache)),
        weight=0.6 if through else 0.3,
        numbers={"write_through": len(through), "batteries_not_good": len(bad), "events": len(cache.events)},
    )


def _facts(case: Case, cache: _Cache) -> tuple[EvidenceRows, ...]:
    entities = [entity for entity in {*cache.through(), *cache.bad_batteries()} if _has_facts(cache, entity)]
    if not entities:
        return ()
    condition = where(entities, "name IN ('write_mode', 'write_cache', 'cache_battery')")
    sql = f"SELECT kind, entity, name, value FROM facts WHERE {condition} ORDER BY kind, entity, name"
    return (case.evidence("Write modes and batteries", sql),)


def _has_facts(cache: _Cache, entity: EntityRef) -> bool:
    return entity in cache.modes or entity in cache.batteries


RULE = Rule(
    name=_NAME,
    title="the write cache is not trusted",
    evaluate=_evaluate,
    thresholds=(
        Threshold("events_per_h_max", 10, "cache and battery events within an hour that make a flood", "ours"),
        Threshold("volumes_min_count", 4, "volumes that must all have left a controller that gave them up", "ours"),
        Threshold("test_max_hours", 1, "hours of write-through until the evidence ends, from which no battery test "
                  "explains it and confidence is high", "ours"),
    ),
)  # fmt: skip
