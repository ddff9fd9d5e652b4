"""Times in which an array was not as it is else: a rebuild ran, or a controller had failed.

Latency then is that of another array, one whose drives are busy with something else or whose controller has the load of
two. Who asks how it goes with the load has to leave these times out.
"""

from __future__ import annotations

import sys

from storscope.diagnose.case import Case
from storscope.domain.entity import EntityRef

_ENDED_BY = {"rebuild_started": "rebuild_finished", "controller_failed": "controller_returned"}
_BEGUN_BY = {end: begin for begin, end in _ENDED_BY.items()}


def other_states(case: Case, system: str) -> list[tuple[int, int]]:
    """From when to when; what did not end until the evidence does lasts for ever. Without times nothing is known."""
    found: list[tuple[int, int]] = []
    since: dict[tuple[EntityRef, str], int] = {}
    for event in case.events_of(*_ENDED_BY, *_BEGUN_BY):
        if event.entity.system != system or event.time_ns is None:
            continue
        if event.type in _ENDED_BY:
            since.setdefault((event.entity, event.type), event.time_ns)
        elif (began := since.pop((event.entity, _BEGUN_BY[event.type]), None)) is not None:
            found.append((began, event.time_ns))
    return found + [(began, sys.maxsize) for began in since.values()]
