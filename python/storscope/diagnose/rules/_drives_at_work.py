"""Which drives of a group work, so that failed ones and idle spares are not compared with the rest.

A drive is left out where it does nothing and is known to have failed (a logged failure, its state) or to be a spare
(its state), and the whole time if it does nothing in all of it while most others work: who did nothing has no part in
what the others do. What a drive did before it failed counts: a drive is often slow before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rules._drive_groups import DriveGroup
from storscope.diagnose.rules._drive_states import STATE_BAD, STATE_SPARE
from storscope.diagnose.rules._entities import counted, listed
from storscope.domain.arrays import BoolArray
from storscope.domain.entity import EntityRef

_BEGINNING_NS = -(2**63)


@dataclass(frozen=True)
class DrivesAtWork:
    """A group without the drives that take no part."""

    group: DriveGroup
    """NaN where a drive of it is out."""
    out: BoolArray
    """(drives, instants): where a drive of the group is known to have failed or to wait, and does nothing."""
    failed: Sequence[EntityRef]
    """Out the whole time, or from a time on."""
    spares: Sequence[EntityRef]
    idle: Sequence[EntityRef]
    """Those that did nothing, and nothing says why."""

    def words(self, case: Case) -> str:
        """What was left out, as sentences; '' if nothing was."""
        known = [
            f"{counted(len(drives), *words)} ({listed(case, drives)})"
            for drives, words in (
                (self.failed, ("failed drive",)),
                (self.spares, ("spare that waits", "spares that wait")),
            )
            if drives
        ]
        found = [f"Not compared where they did nothing: {' and '.join(known)}."] if known else []
        if self.idle:
            who = "a spare, or failed?" if len(self.idle) == 1 else "spares, or failed?"
            found.append(
                f"Idle the whole time while the others worked, so not compared: {listed(case, self.idle)} ({who})."
            )
        return " ".join(found)


def drives_at_work(case: Case, group: DriveGroup) -> DrivesAtWork:
    """The group as it can be compared."""
    rests = _rests(group)
    failed_ns = {drive: at_ns for drive in group.drives if (at_ns := _failed_ns(case, drive)) is not None}
    spares = {drive for drive in group.drives if drive not in failed_ns and _state_is(case, drive, STATE_SPARE)}
    since_ns = [failed_ns.get(drive, _BEGINNING_NS if drive in spares else None) for drive in group.drives]
    out = np.asarray([
        np.zeros(len(group.times_ns), dtype=bool) if since is None else own & (group.times_ns >= since)
        for since, own in zip(since_ns, rests, strict=True)
    ])  # fmt: skip
    idle = _idle(group, rests, {*failed_ns, *spares})
    keeps = np.asarray([drive not in idle and not out[row].all() for row, drive in enumerate(group.drives)])
    affected = [drive for row, drive in enumerate(group.drives) if out[row].any()]
    columns = {name: np.where(out, np.nan, values)[keeps] for name, values in group.columns.items()}
    kept = [drive for drive, keep in zip(group.drives, keeps, strict=True) if keep]
    return DrivesAtWork(
        replace(group, drives=kept, columns=columns), out[keeps], [drive for drive in affected if drive in failed_ns],
        [drive for drive in affected if drive in spares], idle,
    )  # fmt: skip


def _rests(group: DriveGroup) -> BoolArray:
    """Where a drive has nothing in its queue and does nothing, as far as it is told."""
    works = np.zeros((len(group.drives), len(group.times_ns)), dtype=bool)
    for values in group.columns.values():
        works |= np.nan_to_num(values) > 0
    return ~works


def _idle(group: DriveGroup, rests: BoolArray, known: set[EntityRef]) -> list[EntityRef]:
    """Those that rest the whole time, if they are few: else it is the work that is badly spread."""
    others = [row for row, drive in enumerate(group.drives) if drive not in known]
    idle = [group.drives[row] for row in others if rests[row].all()]
    return idle if 2 * len(idle) < len(others) else []


def _failed_ns(case: Case, drive: EntityRef) -> int | None:
    """Since when it is known to have failed; None if it is not known to have."""
    times = [event.time_ns for event in case.events_of("disk_failed") if event.entity == drive]
    if times:
        return min(_BEGINNING_NS if time_ns is None else time_ns for time_ns in times)
    return _BEGINNING_NS if _state_is(case, drive, STATE_BAD) else None


def _state_is(case: Case, drive: EntityRef, meant: re.Pattern[str]) -> bool:
    fact = case.fact(drive, "state")
    return fact is not None and meant.fullmatch(fact.value) is not None
