"""Work of an array on its drives that ran while something was slow and has ended: a rebuild, a restripe, a scrub.

What still runs is a finding of `drive-failed`. What has ended is none, since nothing is to be done about it, but it may
be why hosts were slow, and nothing else may tell that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from storscope.diagnose.case import Case
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows
from storscope.store.events import Event
from storscope.store.sql import sql_text

_LEAST = 0.5
"""Share of the slow time for which the work ran: less does not speak for it. Ours."""
_SLOW_BEFORE = 0.1
"""Share of the slow time that lay before the work from which on that is said: it is not why it began. Ours."""
_BEGINS, _ENDS, _TOLD = "rebuild_started", "rebuild_finished", "array_event"


@dataclass(frozen=True)
class _Run:
    work: str
    on: EntityRef
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class EndedWork:
    """What ran while something was slow and has ended; of nothing there are no words and no rows."""

    words: str = ""
    """'Meanwhile, from 02:00 to 04:00, a scrub ran on g.'"""
    evidence: tuple[EvidenceRows, ...] = ()
    """The events that say so."""


def ended_work(case: Case, whole: Collection[EntityRef], start_ns: int | None, end_ns: int | None) -> EndedWork:
    """Work on these that ran while something was slow, and has ended.

    Without times of the events, or of what was slow, nothing is known.
    """
    if start_ns is None or end_ns is None:
        return EndedWork()
    least_ns = _LEAST * (end_ns - start_ns)
    found = [
        one
        for one in _runs(case)
        if min(one.end_ns, end_ns) - max(one.start_ns, start_ns) >= max(least_ns, 1)
        and not {one.on, *case.components(one.on)}.isdisjoint(whole)
    ]
    if not found:
        return EndedWork()
    words = [
        f"Meanwhile, from {case.time_words(one.start_ns)} to {case.time_words(one.end_ns)}, a {one.work} ran on "
        f"{case.label(one.on)}."
        for one in found
    ]
    first_ns = min(one.start_ns for one in found)
    if first_ns - start_ns > _SLOW_BEFORE * (end_ns - start_ns):
        words.append(f"It was slow before that already, from {case.time_words(start_ns)}.")
    return EndedWork(" ".join(words), (_rows(case, found),))


def _rows(case: Case, runs: Sequence[_Run]) -> EvidenceRows:
    of = {one.on for one in runs}
    told = " OR ".join(
        f"(system = {sql_text(on.system)} AND kind = {sql_text(on.kind)} AND entity = {sql_text(on.name)})"
        for on in sorted(of)
    )
    times = ", ".join(str(time_ns) for one in runs for time_ns in (one.start_ns, one.end_ns))
    return case.evidence(
        "Work that ran meanwhile and has ended",
        f"""SELECT time, kind, entity, type, attributes['work'] AS work, text FROM events
        WHERE type IN ('{_BEGINS}', '{_ENDS}', '{_TOLD}') AND ({told}) AND {case.instant()} IN ({times})
        ORDER BY time, entity""",
    )


def _runs(case: Case) -> Iterator[_Run]:
    since: dict[tuple[EntityRef, str], int] = {}
    for event in case.events_of(_BEGINS, _ENDS, _TOLD):
        work = event.attributes.get("work", "rebuild or restripe")
        if event.time_ns is None:
            continue
        if _begins(event):
            since[event.entity, work] = event.time_ns
        elif _ends(event) and (began := since.pop((event.entity, work), None)) is not None:
            yield _Run(work, event.entity, began, event.time_ns)


def _begins(event: Event) -> bool:
    return event.type == _BEGINS or (event.type == _TOLD and _scrub_is(event, "running"))


def _ends(event: Event) -> bool:
    return event.type == _ENDS or (event.type == _TOLD and _scrub_is(event, "ended"))


def _scrub_is(event: Event, state: str) -> bool:
    return event.attributes.get("work") == "scrub" and event.attributes.get("state") == state
