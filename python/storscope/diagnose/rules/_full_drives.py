"""All drives of a group, or a part of them, whose deep queues make the mean of all deep: they are at their limit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Settings
from storscope.diagnose.rules._drive_findings import (
    EACH_DRIVE,
    NAME,
    group_words,
    span_of_instants,
    tier_of,
    told_sql,
)
from storscope.diagnose.rules._drive_groups import DriveGroup
from storscope.diagnose.rules._drives_at_work import DrivesAtWork
from storscope.diagnose.rules._entities import listed
from storscope.diagnose.rules._harm import harm_to, volumes_on
from storscope.diagnose.rules._intervals import in_runs, mean
from storscope.diagnose.rules.drive_failed import worked_on
from storscope.domain.arrays import BoolArray
from storscope.domain.finding import EvidenceRows, Finding, Severity
from storscope.domain.units import format_ratio


def depth_bound(case: Case, settings: Settings, group: DriveGroup) -> float:
    """Flash serves many requests side by side: what is deep for a disk is nothing to it."""
    is_flash = tier_of(case, group) == "flash"
    return settings["group_queue_depth_max_flash" if is_flash else "group_queue_depth_max"]


def deep_instants(settings: Settings, at_work: DrivesAtWork, bound: float) -> BoolArray:
    """The instants, in runs, at which the drives' mean queue is deep and most drives take part."""
    values = np.where(at_work.out, np.nan, np.nan_to_num(at_work.group.columns["queue_depth_mean"]))
    values[:, at_work.out.all(axis=0)] = 0.0
    deep = (np.nanmean(values, axis=0) > bound) & (np.nanmedian(values, axis=0) > bound / 2)
    return in_runs(deep, at_work.group.anew, int(settings["samples_min"]))


def full_drives(case: Case, settings: Settings, at_work: DrivesAtWork, deep: BoolArray, bound: float) -> Finding:
    """The drives of a group that are at their limit at the instants `deep`, above a mean queue of `bound`."""
    group = at_work.group
    values = group.columns["queue_depth_mean"]
    share = float(deep.mean())
    level = float(np.nanmean(values[:, deep]))
    drives = int((~at_work.out[:, deep].all(axis=1)).sum())
    part = _part_that_is_deep(group, deep, bound)
    start, end = span_of_instants(group, deep)
    is_worked_on = group.whole in worked_on(case)
    is_flash = tier_of(case, group) == "flash"
    harm = harm_to(case, volumes_on(case, group.whole))
    whose = f"{len(part)} of {drives} drives" if 2 * len(part) <= drives else "Most drives"
    return Finding(
        rule=NAME,
        severity=_severity_of_deep(share, harm, is_worked_on=is_worked_on),
        confidence=0.8 * (0.7 if group.is_guess else 1.0),
        title=(f"{whose} of {group.whole.name} have deep queues" if part else _every_words(group))
        + ("" if share >= _SHARE_SEVERE else " at times"),
        summary=(
            f"The {drives} drives of {group.whole.name} had {level:.1f} operations each in their queues on average, "
            f"in {format_ratio(share)} of the time; above {bound:.0f} a group has "
            f"little more to give.{_part_words(case, group, deep, part)}" + group_words(case, at_work)
        ),
        why=_WHY_DEEP_PART if part else _WHY_DEEP,
        innocent="Backups or a rebuild run at that time and fill the queues on purpose, with nobody waiting.",
        check="See whether operations per second still rise with deeper queues; if not, the drives are the limit.",
        remedy=(_PART_FIRST if part else "") + remedy_of_full_drives(is_flash=is_flash, is_worked_on=is_worked_on),
        source="Group mean above 4: ours, from published cases of MSA arrays; above 32 of flash: what a SATA drive "
        "takes at a time.",
        entities=(group.whole, *group.drives),
        start_ns=start,
        end_ns=end,
        evidence=_rows_deep(case, settings, at_work, bound),
        weight=min(1.0, 0.3 + share) * min(1.0, share / _SHARE_REAL),
        numbers={"queue_depth_mean": level, "time_share": share, "drives": drives}
        | ({"drives_deep": len(part)} if part else {}),
    )


def _every_words(group: DriveGroup) -> str:
    return f"Every drive of {group.whole.name} has a deep queue"


def _part_that_is_deep(group: DriveGroup, deep: BoolArray, bound: float) -> list[int]:
    """The rows of the drives whose queue is deep while the group's is; empty where that is all that take part."""
    told = [(row, mean(group.columns["queue_depth_mean"][row][deep])) for row in range(len(group.drives))]
    told = [(row, level) for row, level in told if np.isfinite(level)]
    found = [row for row, level in told if level > bound / 2]
    return [] if len(found) == len(told) else found


def _part_words(case: Case, group: DriveGroup, deep: BoolArray, part: Sequence[int]) -> str:
    if not part:
        return ""
    values = group.columns["queue_depth_mean"]
    others = [row for row in range(len(group.drives)) if row not in part]
    own, rest = (float(np.nanmean(values[rows][:, deep])) for rows in (list(part), others))
    names = listed(case, [group.drives[row] for row in part])
    return f" Not all alike: {names} had {own:.1f}, the others {rest:.1f}."


_WHY_DEEP = "All drives work at their limit: more load brings longer waits and no more I/Os for any volume on them."
_WHY_DEEP_PART = "Who needs the full drives waits for them, and so does every stripe that lies on them."
_PART_FIRST = (
    "See first what gathers at these drives (a small volume, streams that meet there) and spread it over all. If all "
    "are full then: "
)
_SHARE_REAL, _SHARE_SEVERE = 0.1, 0.5
"""Shares of the time with deep queues from which that is more than information, and more than at times (ours)."""


def _severity_of_deep(share: float, harm: Severity | None, *, is_worked_on: bool) -> Severity:
    """As for what is used to the full: where nobody is slow, or the array fills the drives itself, a warning at most.

    `harm`: that to the volumes of the group; None where it is not known.
    """
    if share < _SHARE_REAL:
        return Severity.INFO
    if share < _SHARE_SEVERE:
        return Severity.INFO if harm is Severity.INFO else Severity.WARNING
    return Severity.WARNING if harm is Severity.INFO or is_worked_on else Severity.CRITICAL


def remedy_of_full_drives(*, is_flash: bool, is_worked_on: bool = False) -> str:
    """What helps drives of which all are at their limit; `is_worked_on`: while a rebuild, restripe or scrub runs.

    Disks wait for their arms. Flash under lasting writes is bound by the bytes that it programs: eight NVMe drives in
    RAID 5 made 6 % fewer random writes of 4 KiB a second than in RAID 10, and 25 % more of 128 KiB (simulated).
    """
    first = _WORK_FIRST if is_worked_on else ""
    if is_flash:
        return first + (
            "Move load to another group, add drives, or take quicker ones. Whether RAID 10 helps writes to a group "
            "with parity depends on their size, since mirrors write every byte twice: simulate both."
        )
    return f"{first}{_REMEDY_OF_DISKS}"


_REMEDY_OF_DISKS = (
    "Move load to another group, add drives, use flash, or RAID 10 for what writes to a group with parity."
)
_WORK_FIRST = (
    "Let what the array does by itself end, at a lower rate if hosts cannot wait, and judge the drives without it. If "
    "they are as full then: "
)


def _rows_deep(case: Case, settings: Settings, at_work: DrivesAtWork, bound: float) -> tuple[EvidenceRows, ...]:
    """How often and how deep the queues of all drives are, and those of each at these instants."""
    name = at_work.group.whole.name
    # Deep and other instants by turns: each stretch of them has a difference of row numbers of its own.
    deep = f"""WITH {told_sql(case, at_work)},
        together AS (SELECT start_ns, avg(coalesce(queue_depth_mean, 0)) > {bound:g}
            AND median(coalesce(queue_depth_mean, 0)) > {bound / 2:g} AS is_deep FROM told GROUP BY start_ns),
        stretches AS (SELECT *, row_number() OVER (ORDER BY start_ns)
            - row_number() OVER (PARTITION BY is_deep ORDER BY start_ns) AS stretch FROM together),
        chosen AS (SELECT start_ns FROM stretches WHERE is_deep
            QUALIFY count(*) OVER (PARTITION BY stretch) >= {settings["samples_min"]:g})"""
    return (
        case.evidence(
            f"The drives of {name} together",
            f"""{deep} SELECT (SELECT count(*) FROM together) AS intervals, count(DISTINCT start_ns) AS intervals_deep,
            avg(queue_depth_mean) AS queue_depth_mean FROM told JOIN chosen USING (start_ns)""",
        ),
        case.evidence(f"Drives of {name} in the intervals with deep queues", f"{deep} {EACH_DRIVE}"),
    )
