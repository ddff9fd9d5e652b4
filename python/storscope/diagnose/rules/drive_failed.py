"""A drive has failed and nothing says that its data is whole again, or a rebuild is running.

Looks for
    Drives whose failure was logged without a later end of a rebuild, drives whose state is failed, and rebuilds,
    restripes and scrubs that began and did not end.

Why it matters
    Until the data of a failed drive has been rebuilt, its group has less redundancy or none: the next failure loses
    data. While a rebuild runs it takes drive time from everybody, and the group is slower than usual.

Evidence
    Array events about drives, rebuilds, levelling, restriping and scrubs, and the state of drives (fact: state).

When it is wrong
    A drive that was pulled to be replaced is logged like one that failed. A rebuild whose end stands in a later log
    looks as if it was still running. Logs do not say when a drive was replaced, only that the data is whole again.

References
    Patterson, Gibson and Katz, "A Case for Redundant Arrays of Inexpensive Disks" (1988), on the exposure while a
    drive is being rebuilt. No threshold is involved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings
from storscope.diagnose.rules._drive_states import STATE_BAD, STATE_BUSY, STATE_GOOD, STATE_SPARE
from storscope.diagnose.rules._entities import counted, joined, listed, where
from storscope.diagnose.rules._logs import event_rows, events_by_system, times_of, window_of
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.store.events import Event

_NAME = "drive-failed"
_FAILED, _STARTED, _FINISHED = "disk_failed", "rebuild_started", "rebuild_finished"
_EVENTS = (_FAILED, _STARTED, _FINISHED)
_RESTRIPE = "restripe"
"""The `work` that moves data and makes none whole again; where a log does not tell, it may be a rebuild."""
_LOG_EVENTS = ("array_event", "battery_changed")
"""Events that only a log of an array has: where one is, the failure of a drive would be logged too. Owners and write
modes also change between two samples of counters, which know nothing of failures.
"""


@dataclass
class _Drives:
    """What is known of the drives of one system."""

    states: dict[EntityRef, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    """Without those of restripes."""
    restripes: list[Event] = field(default_factory=list)
    has_log: bool = False
    """Whether a failure would be among the events."""

    def failed_by_state(self) -> set[EntityRef]:
        return {drive for drive, state in self.states.items() if STATE_BAD.fullmatch(state)}

    def contradicted(self, drives: Sequence[EntityRef]) -> list[EntityRef]:
        """Drives that failed in the log and whose state is good."""
        return [drive for drive in drives if STATE_GOOD.fullmatch(self.states.get(drive, ""))]

    def logged(self, *types: str) -> list[Event]:
        return [event for event in self.events if event.type in types]

    def running(self) -> list[EntityRef]:
        """What a rebuild has begun on that has not ended, or whose state says so."""
        begun = [e for e in _entities(self.logged(_STARTED)) if _left_open(self.events, e)]
        return sorted({*begun, *(drive for drive, state in self.states.items() if STATE_BUSY.fullmatch(state))})


def _entities(events: Sequence[Event]) -> list[EntityRef]:
    return sorted({event.entity for event in events})


def _left_open(events: Sequence[Event], entity: EntityRef) -> bool:
    """True when a rebuild's last word is its beginning; without times, when it began more often than it ended."""
    own = [event for event in events if event.entity == entity and event.type in (_STARTED, _FINISHED)]
    timed = [event for event in own if event.time_ns is not None]
    if timed:
        return timed[-1].type == _STARTED
    return 2 * sum(event.type == _STARTED for event in own) > len(own)


def _evaluate(case: Case, _settings: Settings) -> Sequence[Outcome]:
    outcomes = [outcome for system, drives in _drives(case).items() for outcome in _judge(case, system, drives)]
    return outcomes or [NotEvaluated(_NAME, "the event log of the array, or the state of its drives")]


def _drives(case: Case) -> dict[str, _Drives]:
    found: dict[str, _Drives] = {}
    for entity, facts in sorted(case.facts_by_entity.items()):
        state = facts.get("state")
        known = state is not None and any(p.fullmatch(state.value) for p in (STATE_BAD, STATE_BUSY, STATE_GOOD))
        if entity.kind == "disk" and state is not None and known:
            found.setdefault(entity.system, _Drives()).states[entity] = state.value
    for system, events in events_by_system(case, *_EVENTS, *_LOG_EVENTS).items():
        drives = found.setdefault(system, _Drives())
        drives.has_log = True
        told = [event for event in events if event.type in _EVENTS]
        drives.restripes = [event for event in told if event.attributes.get("work") == _RESTRIPE]
        drives.events = [event for event in told if event.attributes.get("work") != _RESTRIPE]
    return dict(sorted(found.items()))


def _judge(case: Case, system: str, drives: _Drives) -> list[Outcome]:
    failed = _entities(drives.logged(_FAILED))
    whole = [drive for drive in failed if _is_whole(case, drives, drive)]
    exposed = sorted((set(failed) - set(whole)) | drives.failed_by_state())
    running = drives.running()
    moving = [group for group in _entities(drives.restripes) if _left_open(drives.restripes, group)]
    restriped: list[Outcome] = [_running(case, system, _RESTRIPING, moving, drives.restripes)] if moving else []
    scrubbed = [group for group in _scrubbed(case) if group.system == system]
    restriped += [_running(case, system, _SCRUBBING, scrubbed, _scrubs(case))] if scrubbed else []
    if exposed or running:
        served = [drive for drive in exposed if _is_served(case, drive, running)]
        bare = [drive for drive in exposed if drive not in served]
        parts = [(served, running)] * bool(running) + [(bare, [])] * bool(bare)
        return [_finding(case, system, drives, of_part, rebuilt) for of_part, rebuilt in parts] + restriped
    if restriped:
        return restriped
    if whole:
        return [Healthy(_NAME, _rebuilt_words(case, system, drives, whole))]
    if not drives.has_log or not all(STATE_SPARE.fullmatch(state) for state in drives.states.values()):
        return [Healthy(_NAME, f"None of {counted(len(drives.states), 'drive')} of {system} has failed.")]
    return [Healthy(_NAME, f"No drive failed in the events of {system}.")]


def _is_served(case: Case, drive: EntityRef, running: list[EntityRef]) -> bool:
    """Whether a rebuild that is running may concern the drive: one of its group, or one whose group is not known."""
    own = _groups(case, drive)
    if not own:
        return bool(running)
    return any(one == drive or not (of := _groups(case, one)) or own & of for one in running)


def _groups(case: Case, entity: EntityRef) -> set[EntityRef]:
    """The disk groups that a drive belongs to; a group is its own."""
    if entity.kind == "disk_group":
        return {entity}
    return {target for target in case.components(entity) if target.kind == "disk_group"}


def _is_whole(case: Case, drives: _Drives, drive: EntityRef) -> bool:
    """True when a rebuild that may concern the drive ended after the drive last failed."""
    group = {target for target in case.components(drive) if target.kind == "disk_group"} | {drive}
    known = len(group) > 1
    ends = [
        event for event in drives.logged(_FINISHED)
        if not known or event.entity in group or event.entity.kind not in ("disk", "disk_group")
    ]  # fmt: skip
    failures = [event for event in drives.logged(_FAILED) if event.entity == drive]
    times = times_of(failures)
    if times:
        return any(event.time_ns is not None and event.time_ns >= max(times) for event in ends)
    return bool(ends) and len(ends) >= len(failures)


def _rebuilt_words(case: Case, system: str, drives: _Drives, whole: list[EntityRef]) -> str:
    ended = max(times_of(drives.logged(_FINISHED)), default=None)
    at = f", the last rebuild at {case.time_words(ended)}" if ended is not None else ""
    drive = f"{counted(len(whole), 'drive')} of {system} failed ({listed(case, whole)})"
    return f"{drive} and the data was rebuilt since{at}; see that each was replaced."


def _severity(drives: _Drives, exposed: list[EntityRef], running: list[EntityRef]) -> Severity:
    """A rebuild under way is expected; several drives without one are close to losing data."""
    certain = len(exposed) - len(drives.contradicted(exposed))
    if certain > 1:
        return Severity.WARNING if running else Severity.CRITICAL
    return Severity.INFO if running or not certain else Severity.WARNING


def _finding(
    case: Case, system: str, drives: _Drives, exposed: list[EntityRef], running: list[EntityRef]
) -> Finding:  # fmt: skip
    start, end = window_of([event for event in drives.events if event.entity in {*exposed, *running}])
    doubtful = drives.contradicted(exposed)
    return Finding(
        rule=_NAME,
        severity=_severity(drives, exposed, running),
        confidence=0.5 if doubtful else 0.9 if drives.failed_by_state() else 0.8,
        title=_title(system, exposed, running),
        summary=_summary(case, drives, exposed, running, doubtful),
        why=(
            "A rebuild reads and writes whole drives: a slow-down of its group is expected until it ends."
            if running
            else "The group of a failed drive has less redundancy until it is rebuilt: the next failure may lose data."
        ),
        innocent=(
            "The rebuild ended, or the drive was replaced, after the evidence ends; or the drive was pulled on purpose."
        ),
        check="Look at the state of drives and groups in the array's management: redundant, rebuilding or degraded?",
        remedy=(
            "Let the rebuild end before judging performance, keep heavy jobs off its group, replace the failed drive."
            if running
            else "Replace the drive and see a rebuild begin and end; have a backup before anything else is touched."
        ),
        source="A failed drive is a fault by itself; no threshold is involved.",
        entities=tuple(sorted({*exposed, *running})),
        start_ns=start,
        end_ns=end,
        evidence=_evidence(case, system, drives, [*exposed, *running]),
        weight=0.2 if running else 0.5,
        numbers={"drives_failed": len(exposed), "rebuilds_running": len(running)},
    )


@dataclass(frozen=True)
class _Work:
    """What an array does by itself and in good order, in words."""

    word: str
    does: str
    why: str
    check: str
    remedy: str
    events: tuple[str, ...]
    """The types of events that tell of it."""


_RESTRIPING = _Work(
    "restripe",
    "data is moved",
    "A restripe reads and writes all that it moves: a slow-down of its group is expected until it ends.",
    "Look at the progress of the restripe (levelling, migration, expansion) in the array's management.",
    "Let it end before judging performance, give it a lower priority, keep heavy jobs off its group.",
    _EVENTS,
)
_SCRUBBING = _Work(
    "scrub",
    "all data is read",
    "A scrub reads whole drives to find what cannot be read: a slow-down of its group is expected meanwhile.",
    "Compare latency with a time without it, and look at its progress in the array's management.",
    "Throttle it, or give it another time. Judge the performance of its group without it.",
    ("array_event",),
)


def _running(case: Case, system: str, work: _Work, groups: list[EntityRef], events: Iterable[Event]) -> Finding:
    """Says that it has begun on these groups and not ended; `events` are those of the work."""
    start, end = window_of([event for event in events if event.entity in groups])
    return Finding(
        rule=_NAME,
        severity=Severity.INFO,
        confidence=0.8,
        title=f"A {work.word} is running on {system}: expect a slow-down",
        summary=f"A {work.word} has begun and not ended on {listed(case, groups)}: no drive is missing, {work.does}.",
        why=work.why,
        innocent="It ended after the evidence ends.",
        check=work.check,
        remedy=work.remedy,
        source=f"A {work.word} is work by itself; no threshold is involved.",
        entities=tuple(groups),
        start_ns=start,
        end_ns=end,
        evidence=(event_rows(case, f"Drives and {work.word}s in the events of {system}", system, *work.events),),
        weight=0.2,
        numbers={f"{work.word}s_running": len(groups)},
    )


def _scrubs(case: Case) -> list[Event]:
    return [event for event in case.events_of("array_event") if event.attributes.get("work") == "scrub"]


def _scrubbed(case: Case) -> list[EntityRef]:
    """The disk groups on which a scrub has begun and not ended."""
    last = {event.entity: event for event in _scrubs(case)}
    return sorted(group for group, event in last.items() if event.attributes.get("state") == "running")


def work_words(case: Case, groups: Iterable[EntityRef]) -> str:
    """What runs on these groups and takes time of their drives, as a sentence; '' where nothing does."""
    busy = sorted(worked_on(case) & set(groups))
    if not busy:
        return ""
    scrubs = [group for group in busy if group in _scrubbed(case)]
    others = [group for group in busy if group not in scrubs]
    scrub = f"Meanwhile a scrub runs on {listed(case, scrubs)}: throttle it, or give it another time."
    other = f"Meanwhile a rebuild or restripe runs on {listed(case, others)}: a slow-down is expected until it ends."
    return " ".join(words for words, groups in ((scrub, scrubs), (other, others)) if groups)


def worked_on(case: Case) -> frozenset[EntityRef]:
    """The disk groups on which a rebuild, a restripe or a scrub has begun and not ended."""
    found = set(_scrubbed(case))
    for drives in _drives(case).values():
        for entity in {*drives.running(), *(e for e in _entities(drives.restripes) if _left_open(drives.restripes, e))}:
            found |= _groups(case, entity)
    return frozenset(found)


def _title(system: str, exposed: list[EntityRef], running: list[EntityRef]) -> str:
    if running:
        return f"A rebuild is running on {system}: expect a slow-down"
    return f"{counted(len(exposed), 'failed drive')} of {system} not rebuilt"


def _summary(
    case: Case, drives: _Drives, exposed: list[EntityRef], running: list[EntityRef], doubtful: list[EntityRef]
) -> str:
    words = []
    if exposed:
        named = []
        for drive in exposed[:4]:
            times = times_of([e for e in drives.logged(_FAILED) if e.entity == drive])
            at = f" at {case.time_words(max(times))}" if times else ""
            named.append(f"{case.label(drive)}{at}")
        rest = [f"{len(exposed) - 4:,} more"] if len(exposed) > 4 else []
        words.append(f"Failed: {joined([*named, *rest], 5)}.")
    if running:
        words.append(f"A rebuild has begun and not ended on {listed(case, running)}: an expected slow-down.")
    elif exposed:
        words.append("No end of a rebuild follows in the evidence.")
    if doubtful:
        words.append(f"The state read of {listed(case, doubtful)} is good, so it may have been replaced since.")
    return " ".join(words)


def _evidence(case: Case, system: str, drives: _Drives, entities: list[EntityRef]) -> tuple[EvidenceRows, ...]:
    rows = []
    if drives.events:
        rows.append(event_rows(case, f"Drives and rebuilds in the events of {system}", system, *_EVENTS))
    stated = [entity for entity in entities if entity in drives.states]
    if stated:
        condition = where(stated, "name = 'state'")
        sql = f"SELECT entity AS drive, value AS state FROM facts WHERE {condition} ORDER BY entity"
        rows.append(case.evidence(f"State of drives of {system}", sql))
    return tuple(rows)


RULE = Rule(name=_NAME, title="a drive has failed or a rebuild is running", evaluate=_evaluate)
