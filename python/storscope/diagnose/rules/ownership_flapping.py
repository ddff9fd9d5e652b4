"""Volumes move between controllers again and again.

Looks for
    Two and more changes of a volume's owner within an hour, from events or between samples; and owners that differ
    between captures.

Why it matters
    Each move flushes the cache and holds the volume for seconds. Moves that follow each other mean that hosts, or
    hosts and array, do not agree on which controller to use.

Evidence
    Events about ownership (array event log, evaperf vd samples with a changed "Online To"), or the owner in two
    captures.

When it is wrong
    A firmware update moves every volume away and back, once per controller. A published trespass storm turned out to
    be the administrator's own maintenance: ask before you alarm. Moves within a minute after the failure or the return
    of a controller are left out: controller-failed tells of that.

References
    Two per hour is ours. HP StorageWorks 4400 Enterprise Virtual Array user guide, "Implicit LUN transition".
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import by_system, counted, listed, where
from storscope.diagnose.rules._logs import event_rows, events_by_system, most_in_window, times_of, window_of
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import NS_PER_S
from storscope.store.events import Event

_NAME = "ownership-flapping"
_TYPE = "ownership_changed"
_SAME_WITHIN_NS = 120 * NS_PER_S
"""An event log and samples tell one move at slightly different times."""
_NEEDS = "events about ownership (array event log), or the owner of each volume in two captures (evaperf vd)"


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    events = {system: _once(found) for system, found in events_by_system(case, _TYPE).items()}
    seen = _owners_over_time(case)
    several = {entity: owners for entity, owners in seen.items() if len(owners) > 1}
    if not events and not several:
        return [NotEvaluated(_NAME, _NEEDS)]
    outcomes: list[Outcome] = []
    for system in sorted({*events, *(entity.system for entity in several)}):
        own = {entity: owners for entity, owners in several.items() if entity.system == system}
        outcomes.append(_judge(case, settings, system, events.get(system, []), own))
    return outcomes


def _once(events: list[Event]) -> list[Event]:
    """The events without those that tell the same move again from another source."""
    kept: list[Event] = []
    last: dict[tuple[EntityRef, str], Event] = {}
    for event in events:
        key = (event.entity, event.attributes.get("owner", ""))
        before = last.get(key)
        echo = (
            before is not None and before.capture != event.capture and before.time_ns is not None
            and event.time_ns is not None and event.time_ns - before.time_ns <= _SAME_WITHIN_NS
        )  # fmt: skip
        last[key] = event
        if not echo:
            kept.append(event)
    return kept


def _owners_over_time(case: Case) -> dict[EntityRef, list[str]]:
    """Volume -> its owner in each capture that says one, in the order of the captures."""
    order = {row["capture"]: number for number, row in enumerate(_captures(case))}
    facts = [fact for fact in case.facts if fact.name == "online_to" and fact.entity.kind == "vdisk"]
    found: dict[EntityRef, list[str]] = defaultdict(list)
    for fact in sorted(facts, key=lambda fact: (order.get(fact.capture, 0), fact.capture)):
        found[fact.entity].append(fact.value)
    return dict(found)


def _captures(case: Case) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = case.store.query(
        "SELECT capture FROM captures ORDER BY coalesce(first_time, imported_at), capture"
    ).to_pylist()
    return rows


def _judge(
    case: Case, settings: Settings, system: str, events: list[Event], owners: Mapping[EntityRef, list[str]]
) -> Outcome:
    per_volume: dict[EntityRef, list[Event]] = defaultdict(list)
    by_themselves = _without_takeovers(case, system, events)
    for event in by_themselves:
        per_volume[event.entity].append(event)
    flapping = {
        volume: most_in_window(times_of(own)) or len(own)
        for volume, own in per_volume.items()
        if (most_in_window(times_of(own)) or len(own)) >= settings["changes_per_h_max"]
    }
    turns = {volume: _turns(names) for volume, names in owners.items() if _turns(names)}
    if flapping:
        return _finding(case, system, by_themselves, flapping)
    if turns:
        return _changed(case, system, turns)
    if events:
        return Healthy(_NAME, _calm_words(system, by_themselves, per_volume, len(events) - len(by_themselves)))
    return Healthy(_NAME, f"{counted(len(owners), 'volume')} of {system} kept the owner from capture to capture.")


def _calm_words(
    system: str, moves: Sequence[Event], per_volume: Mapping[EntityRef, Sequence[Event]], with_controllers: int
) -> str:
    with_it = "with the failure or the return of a controller (controller-failed)"
    if not moves:
        return f"Volumes of {system} changed their owner only {with_it}: {counted(with_controllers, 'change')}."
    most = max(most_in_window(times_of(own)) for own in per_volume.values())
    words = f"{counted(len(moves), 'change')} of ownership on {system}, at most {most} per volume within one hour."
    return words + (f" Another {with_controllers:,} came {with_it}." if with_controllers else "")


def _without_takeovers(case: Case, system: str, moves: Sequence[Event]) -> list[Event]:
    """The moves that no failure or return of a controller of the system explains."""
    causes = times_of(events_by_system(case, "controller_failed", "controller_returned").get(system, []))
    return [
        move
        for move in moves
        if move.time_ns is None or not any(0 <= move.time_ns - cause <= _NEAR_NS for cause in causes)
    ]


def _turns(names: list[str]) -> int:
    return sum(one != other for one, other in itertools.pairwise(names))


def _finding(case: Case, system: str, events: list[Event], flapping: Mapping[EntityRef, int]) -> Finding:
    start, end = window_of([event for event in events if event.entity in flapping])
    most = max(flapping.values())
    timed = start is not None
    cache = _cache_words(case, system, [event for event in events if event.entity in flapping])
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if most >= _STORM else Severity.WARNING,
        confidence=0.8 if timed else 0.5,
        title=f"{counted(len(flapping), 'volume')} of {system} moved between controllers repeatedly",
        summary=(
            f"{listed(case, flapping)} changed owner up to {most} times "
            + ("within one hour" if timed else "(the lines carry no times)")
            + f"; {counted(len(events), 'change')} on {system} in all."
            + cache
        ),
        why=_HOLDS + (_OF_THE_CACHE if cache else _OF_THE_PATHS),
        innocent="A firmware update or other maintenance moved the volumes away and back: ask for the change calendar.",
        check="Compare the times with the change calendar, and see from which host each move was triggered.",
        remedy=_SEE_TO_THE_CACHE if cache else _SEE_TO_THE_PATHS,
        source="Two changes within an hour: ours.",
        entities=tuple(sorted(flapping)),
        start_ns=start,
        end_ns=end,
        evidence=(event_rows(case, f"Changes of ownership on {system}", system, _TYPE),),
        weight=0.6,
        numbers={"changes_per_h_max": most, "volumes": len(flapping), "changes": len(events)},
    )


_HOLDS = "Each move flushes the cache and holds the volume for seconds; "
_OF_THE_CACHE = "a controller that does not trust its cache or battery gives its volumes away."
_OF_THE_PATHS = "hosts and array disagree on the controller."
_SEE_TO_THE_CACHE = (
    "See to the cache and the battery first (cache-policy-flood): restart the controller in a quiet hour, update its "
    "firmware, replace the battery. If the moves go on, look at the paths of the hosts."
)
_SEE_TO_THE_PATHS = (
    "Give every host the same ALUA policy without non-optimised paths, repair missing optimised paths, and stop "
    "automatic fail-back while you do."
)


def _cache_words(case: Case, system: str, moves: Sequence[Event]) -> str:
    """That most moves come with events about a cache or a battery, and of whom; empty if they do not."""
    cache = [event for event in events_by_system(case, *_CACHE_TYPES).get(system, []) if event.time_ns is not None]
    times = np.array(sorted(times_of(cache)), dtype=np.int64)
    moved = np.array(times_of(moves), dtype=np.int64)
    if not len(times) or not len(moved):
        return ""
    place = np.searchsorted(times, moved)
    before = np.abs(moved - times[np.maximum(place - 1, 0)])
    after = np.abs(times[np.minimum(place, len(times) - 1)] - moved)
    near = int((np.minimum(before, after) <= _NEAR_NS).sum())
    if near < _MOST_SHARE * len(moved):
        return ""
    names = listed(case, sorted({event.entity for event in cache}))
    return (
        f" {near} of these {len(moved)} moves come within a minute of an event about the cache or a battery of {names}."
    )


_CACHE_TYPES = ("cache_policy_changed", "battery_changed")
_NEAR_NS = 60 * NS_PER_S
_MOST_SHARE = 0.8
"""Of the moves, from which the cache is taken for what they have in common (ours)."""
_STORM = 10
"""Moves of one volume within an hour that nobody makes on purpose (ours)."""


def _changed(case: Case, system: str, turns: Mapping[EntityRef, int]) -> Finding:
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING if max(turns.values()) > 1 else Severity.INFO,
        confidence=0.6,
        title=f"{counted(len(turns), 'volume')} of {system} changed owner between captures",
        summary=f"{listed(case, turns)} had another owner in a later capture; at most {max(turns.values())} changes.",
        why="A volume that moves by itself brings its load to the other controller.",
        innocent="Someone moved the volumes on purpose between the captures.",
        check="Look in the array's event log for the moves and who or what made them.",
        remedy="Nothing, if it was on purpose; else treat it as flapping and look at paths and cache batteries.",
        source="Any change between captures; no threshold is involved.",
        entities=tuple(by_system(turns)[system]),
        evidence=(_owner_rows(case, turns),),
        weight=0.2,
        numbers={"volumes": len(turns), "changes_max": max(turns.values())},
    )


def _owner_rows(case: Case, volumes: Mapping[EntityRef, int]) -> EvidenceRows:
    return case.evidence(
        "The owner in each capture",
        f"""SELECT f.entity AS volume, f.capture, c.first_time, f.value AS owner FROM facts f
        LEFT JOIN captures c ON c.capture = f.capture
        WHERE f.name = 'online_to' AND f.entity IN (SELECT entity FROM facts WHERE {where(volumes)})
        ORDER BY f.entity, c.first_time, f.capture""",
    )


RULE = Rule(
    name=_NAME,
    title="volumes move between controllers again and again",
    evaluate=_evaluate,
    thresholds=(
        Threshold("changes_per_h_max", 2, "changes of one volume's owner within an hour that are too many", "ours"),
    ),
)
