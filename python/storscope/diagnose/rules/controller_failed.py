"""A controller of the array has failed, and another one does its work.

Looks for
    Events that say that a controller failed, and whether a later one says that it works again.

Why it matters
    The one that is left carries all of the load, has nobody to mirror writes to, and if it fails, too, everything
    stops. Until it has taken over, what is sent to the failed one waits.

Evidence
    Events of controllers that failed and returned. A simulated run has them. Importers do not yet read them from the
    logs of arrays, where moves of volumes (ownership-flapping) and write modes (cache-policy-flood) hint at them.

When it is wrong
    An update of its firmware restarts a controller like a failure does, and is not one.

References
    None is needed: a failed controller is a fault by itself. No threshold is involved.
"""

from __future__ import annotations

from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings
from storscope.diagnose.rules._entities import by_system, counted, listed
from storscope.diagnose.rules._logs import event_rows, events_by_system, window_of
from storscope.diagnose.rules._simulated import is_simulated
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.store.events import Event

_NAME = "controller-failed"
_FAILED, _RETURNED = "controller_failed", "controller_returned"
_NEEDS = "events of failed controllers: a simulated run has them, and no importer reads them yet"
_EVENTS = (_FAILED, _RETURNED, "ownership_changed", "cache_policy_changed")
_CAPTION = "Controllers that failed, and what moved with them, in the events"
_MOST_TOLD = 4


def _evaluate(case: Case, _settings: Settings) -> Sequence[Outcome]:
    told = events_by_system(case, _FAILED, _RETURNED)
    outcomes: list[Outcome] = [_finding(case, system, events) for system, events in told.items()]
    whole = [system for system in by_system(case.entities) if system not in told and is_simulated(case, system)]
    outcomes += [Healthy(_NAME, f"No controller of {system} failed.") for system in whole]
    return outcomes or [NotEvaluated(_NAME, _NEEDS)]


def _finding(case: Case, system: str, events: Sequence[Event]) -> Finding:
    last = {event.entity: event.type for event in events}
    away = sorted(entity for entity, kind in last.items() if kind == _FAILED)
    failures = [event for event in events if event.type == _FAILED]
    start, end = window_of(events)
    left = _left_at_least(case, system, events)
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if away else Severity.WARNING,
        confidence=1.0 if is_simulated(case, system) else 0.8,
        title=_title(case, system, away, sorted(last)),
        summary=_told(events),
        why=_why(left),
        innocent="The controller was restarted on purpose, for new firmware.",
        check=(
            "See in the array's event log why it failed, and compare the latency before and after it: whether one "
            "controller carries the load of both."
        ),
        remedy=_remedy(left, len(away)),
        source="A failed controller is a fault by itself; no threshold is involved.",
        entities=tuple(away or sorted(last)),
        start_ns=start,
        end_ns=end,
        evidence=(event_rows(case, f"{_CAPTION} of {system}", system, *_EVENTS),),
        weight=0.9 if away else 0.5,
        numbers={"failures": len(failures), "failed_at_the_end": len(away)},
    )  # fmt: skip


def _title(case: Case, system: str, away: Sequence[EntityRef], all_: Sequence[EntityRef]) -> str:
    if away:
        word, have = ("Controller", "has") if len(away) == 1 else ("Controllers", "have")
        return f"{word} {listed(case, away)} of {system} {have} failed"
    return f"{'Controller' if len(all_) == 1 else 'Controllers'} {listed(case, all_)} of {system} failed for a time"


def _left_at_least(case: Case, system: str, events: Sequence[Event]) -> int:
    """How many of the controllers that are known worked while most had failed; an array has one at least."""
    known = sum((entity.system, entity.kind) == (system, "controller") for entity in case.entities)
    failed: set[EntityRef] = set()
    most = 0
    for event in events:
        (failed.add if event.type == _FAILED else failed.discard)(event.entity)
        most = max(most, len(failed))
    return max(1, known - most)


def _why(left: int) -> str:
    waits = "What is sent to a failed controller waits until another one has taken over."
    if left == 1:
        return (
            f"{waits} That one then carries the load of both, has nobody to mirror writes to, and there is none to "
            "follow it."
        )
    return f"{waits} That one then carries the load of both, and there is one less to follow if it fails, too."


def _remedy(left: int, away: int) -> str:
    if away:
        them = "it" if away == 1 else "them"
        first = f"Replace {them} or bring {them} back before anything else is changed."
    else:
        first = "Find out why it failed, before it does again."
    if left == 1:
        return (
            f"{first} If one controller is too slow for all of the load, neither may be used for more than about half "
            "as long as both work."
        )
    return f"{first} No controller may be used for so much that the one that takes over from it is too slow for both."


def _told(events: Sequence[Event]) -> str:
    told = [event.text.rstrip(".") for event in events[:_MOST_TOLD]]
    more = f" And {counted(len(events) - _MOST_TOLD, 'further event')}." if len(events) > _MOST_TOLD else ""
    return " ".join(f"{text[:1].upper()}{text[1:]}." for text in told) + more


RULE = Rule(name=_NAME, title="a controller of the array has failed", evaluate=_evaluate)
