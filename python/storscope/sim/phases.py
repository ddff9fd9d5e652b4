"""The phases of a simulated run: the time between changes, each with its own figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from storscope.sim.happenings import Happening

MOST = 24
"""More boundaries than a page has lines: a volume that moves to and fro for hours. The first ones are kept."""


@dataclass(frozen=True)
class Phase:
    """A stretch of the run in which nothing changes; instants since the run's start."""

    from_ns: int
    to_ns: int
    begins: tuple[Happening, ...] = ()
    """What begins it; nothing of the first."""
    changes_within: int = 0
    """Of the last phase that is told apart: changes within it, when there were too many."""

    @property
    def words(self) -> str:
        """What begins it, and what is not told apart."""
        begins = "; ".join(one.words for one in self.begins) or "as designed"
        return begins + (f"; then {self.changes_within} more changes" if self.changes_within else "")

    @property
    def duration_ns(self) -> int:
        """Its length."""
        return self.to_ns - self.from_ns


def phases_of(happenings: Sequence[Happening], end_ns: int) -> list[Phase]:
    """The run cut where something changes within it; a single phase without changes."""
    changes: dict[int, list[Happening]] = {}
    for one in happenings:
        if one.is_change and one.time_ns < end_ns:
            changes.setdefault(one.time_ns, []).append(one)
    told = sorted(changes)[:MOST]
    starts = sorted({0, *told})
    ends = [*starts[1:], end_ns]
    left_out = sum(len(found) for at_ns, found in changes.items() if told and at_ns > told[-1])
    return [
        Phase(start, end, tuple(changes.get(start, ())), left_out if end == end_ns else 0)
        for start, end in zip(starts, ends, strict=True)
        if end > start
    ]


def first_change_ns(phases: Sequence[Phase]) -> int | None:
    """When the first of several phases ends; None of a single one."""
    return phases[0].to_ns if len(phases) > 1 else None
