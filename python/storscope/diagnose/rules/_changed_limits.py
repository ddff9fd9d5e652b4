"""Limits of rates that somebody changed when a rate fell: then that is why, and no credits were spent."""

from __future__ import annotations

from storscope.diagnose.case import Case
from storscope.diagnose.peers import rests_on
from storscope.diagnose.rules._falls import Fall
from storscope.store.events import Event

_INTERVALS_APART = 2
"""An interval within which a limit changes has both rates; the fall is told at the one behind it."""


def limit_changed_at(case: Case, fall: Fall) -> Event | None:
    """The line of a log that a limit, which what fell rests on, was changed when it fell; None where there is none."""
    apart_ns = _INTERVALS_APART * fall.asked.series.interval_ns
    below = {one for entity in fall.asked.entities for one in rests_on(case, entity)}
    for event in case.events_of("limit_changed"):
        if event.entity in below and event.time_ns is not None and abs(fall.fell_ns - event.time_ns) <= apart_ns:
            return event
    return None
