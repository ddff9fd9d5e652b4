"""Data of a volume is lost: more drives of a group failed than its layout survives, or a cache without copies.

Looks for
    Events that say that data of a volume is lost.

Why it matters
    What those blocks held is gone, and reads of them fail. Whatever else is wrong with the array comes after it.

Evidence
    Events of lost data. A simulated run has them. Importers do not yet read them from the logs of arrays, which hardly
    ever say it in so many words: failed drives are told there by drive-failed.

When it is wrong
    It is not, where the evidence is a simulation: it counts what the layout survives. In a real array a drive that
    dropped out for a moment may come back with its data, and so may a controller with what its battery kept.

References
    Patterson, Gibson and Katz, "A Case for Redundant Arrays of Inexpensive Disks" (1988), on how many failures each
    layout survives. No threshold is involved.
"""

from __future__ import annotations

from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings
from storscope.diagnose.rules._entities import by_system, counted
from storscope.diagnose.rules._logs import event_rows, events_by_system, window_of
from storscope.diagnose.rules._simulated import is_simulated
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.store.events import Event

_NAME = "data-lost"
_TYPE = "data_lost"
_NEEDS = "events of lost data: a simulated run has them, and no importer reads them yet"
_MOST_TOLD = 4


def _evaluate(case: Case, _settings: Settings) -> Sequence[Outcome]:
    lost = events_by_system(case, _TYPE)
    outcomes: list[Outcome] = [_finding(case, system, events) for system, events in lost.items()]
    whole = [system for system in by_system(case.entities) if system not in lost and is_simulated(case, system)]
    outcomes += [Healthy(_NAME, f"No data of {system} is lost.") for system in whole]
    return outcomes or [NotEvaluated(_NAME, _NEEDS)]


def _finding(case: Case, system: str, events: Sequence[Event]) -> Finding:
    volumes = sorted({event.entity for event in events})
    start, end = window_of(events)
    with_cache = all(event.attributes.get("with") == "cache" for event in events)
    innocent, check, remedy = _WITH_CACHE if with_cache else _WITH_DRIVES
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL,
        confidence=1.0 if is_simulated(case, system) else 0.9,
        title=f"Data of {counted(len(volumes), 'volume')} of {system} is lost",
        summary=_summary(events),
        why="What those blocks held is gone: reads of them fail, and only a backup has it.",
        innocent=innocent,
        check=check,
        remedy=f"Bring the data back from a backup. Then {remedy}",
        source="Lost data is a fault by itself; no threshold is involved.",
        entities=tuple(volumes),
        start_ns=start,
        end_ns=end,
        evidence=(event_rows(case, f"Lost data, and the failures before it, in the events of {system}", system, _TYPE,
                             "disk_failed", "controller_failed"),),
        weight=1.0,
        numbers={"volumes": len(volumes)},
    )  # fmt: skip


_WITH_DRIVES = (
    "In a real array: the drives dropped out for a moment only, and come back with their data.",
    "See which drives failed, how many of them their group survives, and whether a rebuild ended between.",
    "make the group survive more: a layout with more redundancy, spares, smaller groups, a rebuild that ends sooner.",
)
_WITH_CACHE = (
    "In a real array: the controller has a battery, and comes back with what its cache held.",
    "See whether the write cache is mirrored, and what the controller's battery kept.",
    "mirror the write cache, or let writes go through.",
)


def _summary(events: Sequence[Event]) -> str:
    told = [event.text.rstrip(".") for event in events[:_MOST_TOLD]]
    more = f" And {counted(len(events) - _MOST_TOLD, 'further event')}." if len(events) > _MOST_TOLD else ""
    return " ".join(f"{text[:1].upper()}{text[1:]}." for text in told) + more


RULE = Rule(name=_NAME, title="data of a volume is lost", evaluate=_evaluate)
