"""Bad things counted in two ways: as a rate in counters and as lines in a log. Shared by aborts and reservations."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from storscope.diagnose.case import Case
from storscope.diagnose.rules._entities import observed
from storscope.diagnose.rules._intervals import ends, greatest, hull, total
from storscope.diagnose.rules._logs import events_by_system, window_of
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows
from storscope.store.events import Event
from storscope.store.series import Series

FINEST_KINDS = (
    "device", "vdisk", "disk", "datastore", "path", "vm_disk", "adapter", "vm", "port", "host", "controller", "array",
)  # fmt: skip
"""Which kind's counter is used where several count the same commands: the first one that a system has."""


@dataclass
class Counted:
    """What one system shows: the series whose rate was ever positive, all that were looked at, and the events."""

    bad: dict[EntityRef, Series] = field(default_factory=dict)
    looked_at: dict[EntityRef, Series] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    column: str = ""

    def rate_max(self) -> float:
        """The greatest rate of any interval and entity; 0 when nothing was counted."""
        return max((greatest(series[self.column]) for series in self.bad.values()), default=0.0)

    def total(self) -> float:
        """How many the counters saw."""
        return sum(total(series, self.column) for series in self.bad.values())

    def entities(self) -> list[EntityRef]:
        """Those that were hit, hardest first."""
        hits: dict[EntityRef, float] = defaultdict(float)
        for entity, series in self.bad.items():
            hits[entity] += total(series, self.column)
        for event in self.events:
            hits[event.entity] += 1
        return sorted(hits, key=lambda entity: (-hits[entity], entity))

    def window(self) -> tuple[int | None, int | None]:
        """From the first to the last bad interval or event."""
        spans = [
            span for series in self.bad.values() if (span := ends(series, series[self.column] > 0)) is not None
        ]  # fmt: skip
        start, end = window_of(self.events)
        if start is not None and end is not None:
            spans.append((start, end))
        return hull(spans)


def count(case: Case, column: str, *types: str) -> dict[str, Counted]:
    """System -> what its counter `column` and its events of these types show."""
    found: dict[str, Counted] = defaultdict(lambda: Counted(column=column))
    for entity, series in finest(case, column).items():
        found[entity.system].looked_at[entity] = series
        if greatest(series[column]) > 0:
            found[entity.system].bad[entity] = series
    for system, events in events_by_system(case, *types).items():
        found[system].events = events
    return dict(sorted(found.items()))


def finest(case: Case, *columns: str) -> dict[EntityRef, Series]:
    """Series with the columns, of one kind a system, so that a command counted twice counts once."""
    having = case.series(needs=columns)
    kinds: dict[str, str] = {}
    for kind in reversed(FINEST_KINDS):
        kinds |= {entity.system: kind for entity in having if entity.kind == kind}
    return {entity: series for entity, series in having.items() if kinds.get(entity.system) == entity.kind}


def rate_rows(case: Case, caption: str, entities: list[EntityRef], column: str) -> EvidenceRows:
    """How often and how strongly the rate of `column` was positive, per entity."""
    return case.evidence(
        caption,
        f"""SELECT kind, entity, count(*) AS intervals, count(*) FILTER ({column} > 0) AS intervals_with,
        max({column}) AS {column}_max, arg_max(time, {column}) AS worst_time
        FROM observations WHERE {observed(case, entities, f"{column} IS NOT NULL")}
        GROUP BY kind, entity ORDER BY {column}_max DESC, kind, entity""",
    )
