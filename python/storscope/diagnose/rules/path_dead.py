"""Paths are dead, or some devices have fewer paths than their like.

Looks for
    Paths in the state dead, paths that went down in a log and did not come back, devices that lost every path, and
    devices of one array with fewer active paths than the others, on one host or between hosts.

Why it matters
    A dead path takes bandwidth and the redundancy it was there for: the next failure takes the volume.

Evidence
    Paths per device and their states (`esxcli storage nmp path list`, `esxcfg-mpath -b`, `multipath -ll`), or host
    logs with the events of paths.

When it is wrong
    Paths of a volume that was removed on purpose stay dead until the next re-scan. Maintenance of a controller or
    switch takes paths down for its time. A test volume may be shown through one port on purpose.

References
    VMware vSphere Storage 6.0, "Path Management and Manual, or Static, Load Balancing" for the states, and "Handling
    Transient APD Conditions" for the 140 s after which a host fails I/O to a device at once; no threshold is involved.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings
from storscope.diagnose.rules._entities import by_system, counted, joined, listed, where
from storscope.diagnose.rules._logs import HOST_LOG, event_rows, events_by_system, host_logs, window_of
from storscope.diagnose.rules._paths import PATH_LIST, adapter_of, is_dead, paths_by_device, state_of
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.store.events import Event

_NAME = "path-dead"
_WORLDWIDE = re.compile(r"(naa|eui|nvme)\.|3[0-9a-f]{16,}$")
"""Names that mean the same volume on every host; sda and dm-0 do not."""
_APD = ("apd_start", "apd_timeout")
_GONE = (*_APD, "device_lost")
_EVENTS = ("path_dead", "path_up", *_GONE, "apd_end")


def _evaluate(case: Case, _settings: Settings) -> Sequence[Outcome]:
    known = [entity for entity in case.entities if entity.kind == "path" and state_of(case, entity) is not None]
    dead = by_system(path for path in known if is_dead(case, path))
    events = events_by_system(case, *_EVENTS)
    events = {system: found for system, found in events.items() if any(e.type in ("path_dead", *_GONE) for e in found)}
    outcomes: list[Outcome] = [
        _down(case, system, dead.get(system, []), events.get(system, [])) for system in sorted({*dead, *events})
    ]
    outcomes += _uneven(case, skip=set(dead))
    if outcomes:
        return outcomes
    if known:
        return [Healthy(_NAME, _healthy_words(case, known))]
    logs = host_logs(case)
    if logs is not None:
        return [Healthy(_NAME, f"No path or device went down in {logs}.")]
    return [NotEvaluated(_NAME, f"{PATH_LIST}, or {HOST_LOG}")]


def _healthy_words(case: Case, known: list[EntityRef]) -> str:
    counts = Counter(len(paths) for paths in paths_by_device(case).values())
    words = f"None of {counted(len(known), 'path')} is dead"
    if counts:
        each = joined([f"{paths} {'paths' if paths != 1 else 'path'}" for paths in sorted(counts)], 3)
        words += f"; {counted(sum(counts.values()), 'device')} with {each}"
    return words + "."


# Down --------------------------------------------------------------------------------------------------------------


def _down(case: Case, system: str, dead: list[EntityRef], events: list[Event]) -> Finding:
    still = sorted(set(dead) | set(_not_back(events, ("path_dead",), "path_up")))
    back = sorted({event.entity for event in events if event.type == "path_dead"} - set(still))
    gone = sorted({event.entity for event in events if event.type in _GONE})
    dropped = {event.entity for event in events if event.type == "device_lost"}
    lost = sorted(dropped | set(_not_back(events, _APD, "apd_end")))
    given_up = sorted({event.entity for event in events if event.type == "apd_timeout"})
    start, end = window_of(events)
    ways = Counter(adapter_of(case, path) for path in (still or back))
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if still or gone else Severity.WARNING,
        confidence=0.95 if dead else 0.8,
        title=_title(system, still, back, gone),
        summary=" ".join([*_gone_words(case, gone, lost, given_up), *_path_words(case, still, back, ways)]),
        why=(
            "Redundancy and bandwidth of these paths are gone while they are down; the next failure takes the volumes."
            if not gone
            else "A device without a path stops every virtual machine on it."
        ),
        innocent=(
            "Maintenance of a controller, switch or cable at that time; or volumes that were removed on purpose and "
            "stay listed until the next re-scan."
        ),
        check=(
            "esxcli storage core path list (multipath -ll): do the dead paths share an adapter, a switch or an array "
            "port? Ask whether someone worked there."
        ),
        remedy=(
            "Follow what the dead paths have in common: port, cable, SFP, zoning or address; then re-scan and see each "
            "path active. Remove devices that are gone on purpose."
        ),
        source="A dead path is a fault by itself; no threshold is involved.",
        entities=tuple(still or gone or back),
        start_ns=start,
        end_ns=end,
        evidence=_evidence(case, system, dead, events),
        weight=0.9 if gone else 0.7 if still else 0.4,
        numbers={"paths_dead": len(still), "paths_back": len(back), "devices_lost": len(gone),
                 "devices_given_up": len(given_up)},
    )  # fmt: skip


def _not_back(events: Sequence[Event], downs: Sequence[str], up: str) -> list[EntityRef]:
    """Those whose last word was one of `downs`; without times, those that said one more often than `up`."""
    last: dict[EntityRef, str] = {}
    counts: dict[EntityRef, Counter[str]] = defaultdict(Counter)
    for event in events:
        if event.type in (*downs, up):
            counts[event.entity][event.type] += 1
            if event.time_ns is not None:
                last[event.entity] = event.type
    without_times = {entity for entity, said in counts.items() if max(said[down] for down in downs) > said[up]}
    return [entity for entity in counts if (last[entity] != up if entity in last else entity in without_times)]


def _title(system: str, still: list[EntityRef], back: list[EntityRef], gone: list[EntityRef]) -> str:
    if gone:
        return f"{counted(len(gone), 'device')} of {system} lost every path"
    if still:
        return f"{counted(len(still), 'path')} of {system} {'is' if len(still) == 1 else 'are'} dead"
    return f"{counted(len(back), 'path')} of {system} went down and came back"


def _gone_words(case: Case, gone: list[EntityRef], lost: list[EntityRef], given_up: list[EntityRef]) -> list[str]:
    if not gone:
        return []
    after = "all came back" if not lost else f"{listed(case, lost, 3)} did not come back in this evidence"
    words = [f"Every path was down for {listed(case, gone, 3)}; {after}."]
    if given_up:
        words.append(f"For {listed(case, given_up, 3)} so long that the host gave up and failed I/O at once.")
    return words


def _path_words(case: Case, still: list[EntityRef], back: list[EntityRef], ways: Counter[str]) -> list[str]:
    words = []
    if still:
        words.append(f"Dead: {listed(case, still)}.")
    if back:
        words.append(f"Down and back: {listed(case, back)}.")
    if ways:
        share = ", ".join(f"{adapter} ({paths})" for adapter, paths in ways.most_common(3))
        words.append(f"By adapter: {share}.")
    return words


def _evidence(case: Case, system: str, dead: list[EntityRef], events: list[Event]) -> tuple[EvidenceRows, ...]:
    rows = []
    if dead:
        condition = where(dead, "name IN ('state', 'group_state')")
        sql = f"SELECT entity AS path, name, value FROM facts WHERE {condition} ORDER BY entity, name"
        rows.append(case.evidence(f"Dead paths of {system}", sql))
    if events:
        rows.append(event_rows(case, f"Paths and devices in the log of {system}", system, *_EVENTS))
    return tuple(rows)


# Uneven ------------------------------------------------------------------------------------------------------------


def _uneven(case: Case, skip: set[str]) -> list[Outcome]:
    """Devices with fewer paths than most of their like on the same host, or than themselves on other hosts."""
    alike: dict[tuple[str, str], dict[EntityRef, int]] = defaultdict(dict)
    named: dict[str, dict[EntityRef, int]] = defaultdict(dict)
    for device, paths in paths_by_device(case).items():
        array = case.fact(device, "array_type")
        if device.system in skip or not _lists_paths(case, paths):
            continue
        if array is not None and "LOCAL" not in array.value.upper():
            alike[device.system, array.value][device] = len(paths)
        if _WORLDWIDE.match(device.name):
            named[device.name][device] = len(paths)
    groups = [(f"the other {array} devices of {system}", group) for (system, array), group in sorted(alike.items())]
    found: list[Outcome] = []
    seen: set[EntityRef] = set()
    for like, group in groups:
        usual = Counter(group.values()).most_common(1)[0][0]
        fewer = {device: count for device, count in group.items() if count < usual}
        if fewer and len(group) >= 3:
            found.append(_fewer(case, fewer, usual, like))
            seen |= set(fewer)
    between = {
        device: (count, max(hosts.values()))
        for hosts in named.values()
        for device, count in hosts.items()
        if count < max(hosts.values()) and device not in seen
    }
    for devices in by_system(between).values():
        counts = {device: between[device][0] for device in devices}
        found.append(_fewer(case, counts, max(between[device][1] for device in devices), "the same on other hosts"))
    return found


def _lists_paths(case: Case, paths: list[EntityRef]) -> bool:
    """True when a path list was read: a log alone names only the paths it has something to say about."""
    return any("state" in case.facts_by_entity.get(path, {}) for path in paths)


def _fewer(case: Case, fewer: dict[EntityRef, int], usual: int, like: str) -> Finding:
    paths = [path for device in fewer for path in paths_by_device(case)[device]]
    least = min(fewer.values())
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.75,
        title=f"{counted(len(fewer), 'device')} of {next(iter(fewer)).system} "
        f"{'has' if len(fewer) == 1 else 'have'} fewer paths than their like",
        summary=f"{listed(case, fewer)} {'has' if len(fewer) == 1 else 'have'} {least} of {usual} paths, "
        f"compared with {like}.",
        why="What is missing was meant to be there when a path fails, and to carry its part until then.",
        innocent="The volume is presented through fewer ports on purpose, or is about to be removed.",
        check="Compare esxcli storage core path list (multipath -ll) of these devices with one that has all its paths.",
        remedy="Complete zoning, LUN masking or iSCSI sessions, re-scan, and see the same number of paths everywhere.",
        source="Equal numbers of paths for equal devices; no threshold is involved.",
        entities=tuple(sorted(fewer)),
        evidence=(
            case.evidence(
                "Paths of these devices",
                f"""SELECT system, target AS device, entity AS path FROM links
                WHERE {where(paths, "relation = 'leads_to'")} ORDER BY system, target, entity""",
            ),
        ),
        weight=0.3,
        numbers={"devices": len(fewer), "paths_min": least, "paths_usual": usual},
    )


RULE = Rule(name=_NAME, title="paths are dead or missing", evaluate=_evaluate)
