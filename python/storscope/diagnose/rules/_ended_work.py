"""Work of an array on its drives that ran while something was slow and has ended: a rebuild, a restripe, a scrub.

What still runs is a finding of `drive-failed`. What has ended is none, since nothing is to be done about it, but it may
be why hosts were slow, and nothing else may tell that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from storscope.diagnose.case import Case
from storscope.domain.entity import EntityRef
from storscope.store.events import Event

_LEAST = 0.5
"""Share of the slow time for which the work ran: less does not speak for it. Ours."""
_BEGINS, _ENDS = "rebuild_started", "rebuild_finished"


@dataclass(frozen=True)
class _Run:
    work: str
    on: EntityRef
    start_ns: int
    end_ns: int


def ended_work_words(case: Case, whole: Collection[EntityRef], start_ns: int | None, end_ns: int | None) -> str:
    """'Meanwhile, from 02:00 to 04:00, a scrub ran on g.' for what ran on these and has ended; '' if nothing did.

    Without times of the events, or of what was slow, nothing is known.
    """
    if start_ns is None or end_ns is None:
        return ""
    least_ns = _LEAST * (end_ns - start_ns)
    found = [
        f"Meanwhile, from {case.time_words(one.start_ns)} to {case.time_words(one.end_ns)}, a {one.work} ran on "
        f"{case.label(one.on)}."
        for one in _runs(case)
        if min(one.end_ns, end_ns) - max(one.start_ns, start_ns) >= max(least_ns, 1)
        and not {one.on, *case.components(one.on)}.isdisjoint(whole)
    ]
    return " ".join(found)


def _runs(case: Case) -> Iterator[_Run]:
    since: dict[tuple[EntityRef, str], int] = {}
    for event in case.events_of(_BEGINS, _ENDS, "array_event"):
        work = event.attributes.get("work", "rebuild or restripe")
        if event.time_ns is None:
            continue
        if _begins(event):
            since[event.entity, work] = event.time_ns
        elif _ends(event) and (began := since.pop((event.entity, work), None)) is not None:
            yield _Run(work, event.entity, began, event.time_ns)


def _begins(event: Event) -> bool:
    return event.type == _BEGINS or (event.type == "array_event" and _scrub_is(event, "running"))


def _ends(event: Event) -> bool:
    return event.type == _ENDS or (event.type == "array_event" and _scrub_is(event, "ended"))


def _scrub_is(event: Event, state: str) -> bool:
    return event.attributes.get("work") == "scrub" and event.attributes.get("state") == state
