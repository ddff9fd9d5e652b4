"""Which time is looked at, and by which clocks: the same for what is judged of a store and what is drawn of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from storscope.store.sql import sql_text


@dataclass(frozen=True)
class TimeFrame:
    """Rows that begin in [since, until), by clocks that were brought together. None is open."""

    since_ns: int | None = None
    until_ns: int | None = None
    clock_offsets_ns: Mapping[str, int] = field(default_factory=dict)
    """Capture -> what is added to its times so that clocks agree."""

    def instant(self, column: str = "time") -> str:
        """The SQL expression of a row's time in ns, its capture's clock offset applied."""
        moved = {capture: offset for capture, offset in self.clock_offsets_ns.items() if offset}
        if not moved:
            return f"epoch_ns({column})"
        cases = " ".join(f"WHEN {sql_text(capture)} THEN {int(offset)}" for capture, offset in sorted(moved.items()))
        table, dot, _ = column.rpartition(".")
        return f"(epoch_ns({column}) + CASE {table}{dot}capture {cases} ELSE 0 END)"

    def condition(self, column: str = "time") -> str:
        """An SQL condition for the rows that are in it."""
        conditions = []
        if self.since_ns is not None:
            conditions.append(f"{self.instant(column)} >= {self.since_ns}")
        if self.until_ns is not None:
            conditions.append(f"{self.instant(column)} < {self.until_ns}")
        return " AND ".join(conditions) or "true"

    def overlap_condition(self, column: str = "time", duration: str = "duration_ns") -> str:
        """An SQL condition for what lasts and is partly in it; where no duration is known it may still go on."""
        end = f"{self.instant(column)} + {duration}"
        begun = TimeFrame(None, self.until_ns, self.clock_offsets_ns).condition(column)
        return begun if self.since_ns is None else f"{begun} AND ({duration} IS NULL OR {end} > {self.since_ns})"
