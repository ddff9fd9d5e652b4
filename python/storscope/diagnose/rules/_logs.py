"""Which logs were read, so that silence can be told from absence: no abort in a log is healthy, no log is not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.domain.finding import EvidenceRows
from storscope.domain.units import NS_PER_S, format_span
from storscope.store.events import Event
from storscope.store.sql import sql_list, sql_text

HOST_LOG = "a host log (vmkernel.log, vobd.log)"
_HOST_FORMATS = ("vmware_log",)
_HOST_EVENTS = (
    "latency_deteriorated", "latency_improved", "scsi_error", "command_aborted", "bus_reset", "task_set_full",
    "device_busy", "reservation_conflict", "reservation_held", "path_dead", "path_up", "path_failed_io",
    "path_in_doubt", "apd_start", "apd_end", "apd_timeout", "device_lost", "heartbeat_lost", "nfs_disconnected",
    "iscsi_disconnected",
)  # fmt: skip
HOUR_NS = 3600 * NS_PER_S


@dataclass(frozen=True, slots=True)
class LogsRead:
    """The host logs of a case: how many, and how long a time they span (0 when their lines carry none)."""

    files: int
    span_ns: int

    def __str__(self) -> str:
        files = "1 host log" if self.files == 1 else f"{self.files} host logs"
        if self.span_ns:
            return f"{files} over {format_span(self.span_ns)}"
        return f"{files} that tell{'s' if self.files == 1 else ''} no length of time"


def host_logs(case: Case) -> LogsRead | None:
    """The host logs in the store; None when there is none, so that nothing can be said of what they lack."""
    captures = {event.capture for event in case.events_of(*_HOST_EVENTS)}
    times = []
    for row in case.store.captures():
        if row["capture"] in captures or row["format"] in _HOST_FORMATS:
            captures.add(row["capture"])
            times += [time for time in (row["first_time"], row["last_time"]) if time is not None]
    if not captures:
        return None
    span = (max(times) - min(times)).total_seconds() if times else 0
    return LogsRead(len(captures), int(span * NS_PER_S))


def most_in_window(times_ns: Sequence[int], window_ns: int = HOUR_NS) -> int:
    """The greatest number of instants within any window of that length."""
    times = np.sort(np.asarray(times_ns, dtype=np.int64))
    if not len(times):
        return 0
    return int((np.searchsorted(times, times + window_ns, side="left") - np.arange(len(times))).max())


def times_of(events: Sequence[Event]) -> list[int]:
    """The instants of the events that have one."""
    return [event.time_ns for event in events if event.time_ns is not None]


def said(case: Case, *types: str) -> str:
    """An SQL condition that selects events of these types in the time range of the case."""
    return f"type IN {sql_list(types)} AND (time IS NULL OR {case.time_condition()})"


def event_rows(case: Case, caption: str, system: str, *types: str) -> EvidenceRows:
    """The events of one system, counted per entity and type, with the first line of each as it was said."""
    return case.evidence(
        caption,
        f"""SELECT kind, entity, type, count(*) AS events, min(time) AS first_time, max(time) AS last_time,
        any_value(text) AS example FROM events WHERE system = {sql_text(system)} AND {said(case, *types)}
        GROUP BY kind, entity, type ORDER BY events DESC, kind, entity, type""",
    )


def events_by_system(case: Case, *types: str) -> dict[str, list[Event]]:
    """System -> its events of these types, in time order."""
    found: dict[str, list[Event]] = defaultdict(list)
    for event in case.events_of(*types):
        found[event.entity.system].append(event)
    return dict(sorted(found.items()))


def window_of(events: Sequence[Event]) -> tuple[int | None, int | None]:
    """(first, last) instant of the events; (None, None) when none has a time."""
    times = times_of(events)
    return (min(times), max(times)) if times else (None, None)
