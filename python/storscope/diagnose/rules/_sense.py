"""Sense data of failed commands as host logs print them: what the target itself said was wrong.

Sense keys and codes: T10 SPC-4, "Sense key and sense code definitions", and its annex of additional sense codes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from storscope.diagnose.case import Case
from storscope.diagnose.rules._entities import counted, joined
from storscope.diagnose.rules._logs import said
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows
from storscope.store.events import Event
from storscope.store.sql import sql_list, sql_text

_FAILED = ("scsi_error", "path_failed_io")
_CHECK_CONDITION = 0x2
_SENSE = re.compile(r"(?:0x)?([0-9a-f]{1,2}) (?:0x)?([0-9a-f]{1,2}) (?:0x)?([0-9a-f]{1,2})", re.IGNORECASE)


class Sense(NamedTuple):
    """Sense key, additional sense code and its qualifier."""

    key: int
    code: int
    qualifier: int

    def __str__(self) -> str:
        return " ".join(f"{part:#x}" for part in self)


def sense_of(event: Event) -> Sense | None:
    """What the target said; None without a check condition, beside which the sense data of a line mean nothing."""
    match = _SENSE.fullmatch(event.attributes.get("sense", ""))
    if match is None or _number(event.attributes.get("device_status", "")) != _CHECK_CONDITION:
        return None
    key, code, qualifier = (int(part, 16) for part in match.groups())
    return Sense(key, code, qualifier)


def _number(text: str) -> int | None:
    try:
        return int(text, 16)
    except ValueError:
        return None


def failed_with(case: Case, wanted: Callable[[Sense], bool]) -> dict[str, list[Event]]:
    """System -> its failed commands with such sense data, in time order."""
    found: dict[str, list[Event]] = defaultdict(list)
    for event in case.events_of(*_FAILED):
        sense = sense_of(event)
        if sense is not None and wanted(sense):
            found[event.entity.system].append(event)
    return dict(sorted(found.items()))


def by_count(events: Iterable[Event]) -> list[tuple[EntityRef, int]]:
    """Entity and number of its events, most first."""
    return sorted(Counter(event.entity for event in events).items(), key=lambda pair: (-pair[1], pair[0]))


def times_each(case: Case, events: Iterable[Event], most: int = 3) -> str:
    """'naa.1 (60) and naa.2 (3)': those hit, hardest first, with how often."""
    pairs = by_count(events)
    return joined([f"{case.label(entity)} ({number:,})" for entity, number in pairs], most)


def when_words(case: Case, events: Sequence[Event]) -> str:
    """'from TIME to TIME' of the events; that their lines carry no times, where none does."""
    times = [event.time_ns for event in events if event.time_ns is not None]
    if not times:
        return "at times that the lines do not tell"
    if min(times) == max(times):
        return f"at {case.time_words(min(times))}"
    return f"from {case.time_words(min(times))} to {case.time_words(max(times))}"


def failures(number: int) -> str:
    """'1 command failed', '60 commands failed'."""
    return f"{counted(number, 'command')} failed"


def sense_rows(case: Case, caption: str, system: str, events: Iterable[Event]) -> EvidenceRows:
    """The failed commands of one system with the sense data of these events, counted per entity and sense data."""
    told = sorted({event.attributes["sense"] for event in events})
    return case.evidence(
        caption,
        f"""SELECT kind, entity, attributes['sense'] AS sense, count(*) AS events, min(time) AS first_time,
        max(time) AS last_time, any_value(text) AS example FROM events
        WHERE system = {sql_text(system)} AND {said(case, *_FAILED)} AND attributes['sense'] IN {sql_list(told)}
        GROUP BY ALL ORDER BY events DESC, kind, entity, sense""",
    )
