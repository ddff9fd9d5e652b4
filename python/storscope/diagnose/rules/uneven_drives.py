"""Drives of one group are not loaded alike, or all of them have deep queues.

Looks for
    A drive whose queue or latency is several times that of the other drives in its group, most of the time that the
    group works; and groups in which every drive, or a part of them, has a deep queue that makes the mean of all deep.

Why it matters
    A stripe is as fast as its slowest drive. One deep queue among idle ones is a hot spot or a drive about to fail;
    deep queues everywhere mean that the group has no more I/Os to give.

Evidence
    Queue depth or latency per drive, and which group it belongs to (evaperf pd, iostat with known groups; no importer
    reads the disk statistics of an MSA yet). Whether a drive is at fault takes its rate, and is surer with how busy it
    is: one that is busy with each I/O for as long as the others is not slow, however many stand before it, nor is one
    that seeks where the others are too quick to. A slow drive, and deep queues, are critical unless the volumes of the
    group are known to be within their latency limits, deep queues only where no rebuild, restripe or scrub fills the
    drives (events). Drives that
    failed (event: disk_failed, fact: state) and spares that wait (fact: state) are left out where they do nothing; a
    few drives that did nothing at all are named as idle and not compared.

When it is wrong
    A rebuild or a levelling reads one drive harder than the rest while it runs. Spares and drives of another speed in
    one group differ by design. A load with many I/Os in flight gathers them at a few healthy drives: both of a mirror,
    whichever fill first; so several that stand out with the same rate are only said to be slow where they are busier
    with it. Sequential streams meet at one drive, which seeks for each request while the others read on; a slow drive
    among them is told as such only from longer times than random I/Os take. The mirror of a failed drive does the work
    of both. A parity drive of RAID 3 or 4 is busier on writes.

References
    Three times the median and a group mean above 4 are ours, from published cases of MSA arrays (a failed drive left
    in the loop raised latency to 5 to 10 s; per-drive queues showed the drives as the limit). Streams that meet at one
    drive are ours, from simulated arrays of equal drives; how long requests are at a drive, by its queue and rate, is
    Little (1961). Flash serves requests side by side; a SATA drive takes 32 of them at a time (native command queueing,
    Serial ATA II).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._drive_groups import DriveGroup, drive_groups
from storscope.diagnose.rules._drives_at_work import DrivesAtWork, drives_at_work
from storscope.diagnose.rules._entities import counted, in_use, listed
from storscope.diagnose.rules._harm import harm_to, volumes_on
from storscope.diagnose.rules._intervals import in_runs, told_at
from storscope.diagnose.rules._simulated import is_simulated
from storscope.diagnose.rules.convoy import convoyed
from storscope.diagnose.rules.drive_failed import work_words, worked_on
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import NS_PER_S, format_duration, format_rate, format_ratio
from storscope.store.sql import sql_text

_NAME = "uneven-drives"
_NEEDS = (
    "queue depth or latency per drive, of several drives at the same instants, and the disk group of each (evaperf pd)"
)
_NEEDS_NO_CONVOY = "drives that do not take turns at being the fullest (convoy found them to): their means say little"
_MEASURES = (("queue_depth_mean", "queue"), ("latency_ns_mean", "latency"))


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    working = [drives_at_work(case, group) for group in drive_groups(case)]
    working = [at_work for at_work in working if _can_compare(settings, at_work.group)]
    if not working:
        return [NotEvaluated(_NAME, _NEEDS)]
    outcomes: list[Outcome] = []
    for at_work in working:
        odd = _odd(case, settings, at_work)
        bound = _depth_bound(case, settings, at_work.group)
        deep = _deep(settings, at_work, bound)
        if odd is not None:
            outcomes.append(odd)
        elif deep.any():
            outcomes.append(_at_limit(case, settings, at_work, deep, bound))
    if outcomes:
        return outcomes
    gathering = convoyed(case)
    alike = [at_work for at_work in working if at_work.group.whole not in gathering]
    return [Healthy(_NAME, _healthy_words(case, alike))] if alike else [NotEvaluated(_NAME, _NEEDS_NO_CONVOY)]


def _can_compare(settings: Settings, group: DriveGroup) -> bool:
    """Whether enough drives are told at any instant; drives with instants of their own stand beside no other."""
    told = (np.isfinite(group.columns[column]).sum(axis=0) for column, _ in _MEASURES)
    return any((count >= settings["drives_min_count"]).any() for count in told)


# One drive among the others ----------------------------------------------------------------------------------------


def _odd(case: Case, settings: Settings, at_work: DrivesAtWork) -> Finding | None:
    group = at_work.group
    for column, word in _MEASURES:
        values = group.columns[column]
        least = settings["queue_depth_min"] if word == "queue" else settings[f"latency_ns_{_tier(case, group)}"]
        usual = _medians_of_others(values)
        with np.errstate(invalid="ignore"):
            working = np.nan_to_num(values).max(axis=0) >= least
            high = (values > settings["median_factor_max"] * usual) & (values >= least)
        if working.sum() < settings["samples_min"]:
            continue
        shares = high[:, working].mean(axis=1)
        odd = np.flatnonzero(shares >= settings["time_share_min"])
        # When many drives stand out, they are not the exception.
        if 0 < len(odd) <= max(1, len(group.drives) // 4):
            return _finding(case, settings, at_work, word, column, odd, shares, usual, working, least)
    return None


def _tier(case: Case, group: DriveGroup) -> str:
    return case.tier(group.drives[0]).name


def _medians_of_others(values: FloatArray) -> FloatArray:
    """For each drive and instant the median over the other drives that have a value; NaN where there is none.

    From one sort per instant: taking the element of rank r out of a sorted column moves those above it down by one.
    """
    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(len(values))[:, None], axis=0)
    others = np.isfinite(values).sum(axis=0) - 1

    def element(place: npt.NDArray[np.int64]) -> FloatArray:
        moved = np.clip(place + (place >= ranks), 0, len(values) - 1)
        found: FloatArray = np.take_along_axis(ordered, moved, axis=0)
        return found

    found = (element((others - 1) // 2) + element(others // 2)) / 2
    return np.where(others >= 1, found, np.nan)


def _mean(values: FloatArray, which: BoolArray) -> float:
    kept = values[which]
    kept = kept[np.isfinite(kept)]
    return float(kept.mean()) if len(kept) else float("nan")


@dataclass(frozen=True)
class _Does:
    """What one drive does while its group works; NaN where not told."""

    ops_per_s: float
    bytes_per_s: float
    service_ns: float
    """Time for which it is busy with an I/O: its busy share over its rate, which waiting does not lengthen."""
    access_ns_max: float
    """The most that an I/O of it may take before data move. Where nobody tells how busy it is, that is the time between
    two I/Os of a drive that serves one after another, and the time that they are there."""


@dataclass(frozen=True)
class _Work:
    """What a drive that stands out did while its group worked, beside the median of the others."""

    own: _Does
    others: _Does
    odd: int
    """How many stand out with it."""
    is_alike: bool
    """Whether it is known to be as good as the others: drives of a simulated group are."""
    access_ns: tuple[float, float] | None
    """The least and the most that a random I/O takes before data move; None of flash, which takes many at once."""

    @property
    def verdict(self) -> str:
        """Why its queue or latency stands out, by what is told: a key of _REMEDIES."""
        if not np.isfinite(self.own.ops_per_s) or not np.isfinite(self.others.ops_per_s):
            return "unknown"
        if self.does_more:
            return "hot"
        if self.own.service_ns <= _MORE * self.others.service_ns:
            return "gathering"
        if not self.service_is_known and (self.odd > 1 or self.is_alike):
            return "gathering"
        return "meeting" if self.is_alike or self._may_seek_alone else "slow"

    @property
    def does_more(self) -> bool:
        """Requests that adjoin become one: as many bytes in more I/Os are no more work of its volumes."""
        more = self.own.ops_per_s > _MORE * self.others.ops_per_s
        return more and not self.own.bytes_per_s <= _MORE * self.others.bytes_per_s

    @property
    def _may_seek_alone(self) -> bool:
        """Whether it takes no longer than for random I/Os, while the others are too quick to do any."""
        if self.access_ns is None:
            return False
        least, most = self.access_ns
        return self.own.access_ns_max <= most and self.others.access_ns_max < least

    @property
    def service_is_known(self) -> bool:
        return bool(np.isfinite(self.own.service_ns) and np.isfinite(self.others.service_ns))


_MORE = 1.5
"""Times what the others do, or need for it, from which a drive does more or is slower (ours)."""
_TRANSFER_PER_S = 100e6
"""Bytes per second that a disk moves once it is in place: 60 to 250 million, by age and place on the disk."""


def _work(case: Case, settings: Settings, at_work: DrivesAtWork, row: int, odd: int, working: BoolArray) -> _Work:
    """Rates that are told for a longer time than queues are those of all the instants in it."""
    is_flash = _tier(case, at_work.group) == "flash"
    ops, moved = _told(case, at_work, "ops_per_s"), _told(case, at_work, "bytes_per_s")
    queue, latency = at_work.group.columns["queue_depth_mean"], at_work.group.columns["latency_ns_mean"]
    with np.errstate(invalid="ignore", divide="ignore"):
        service_ns = np.where(ops > 0, _told(case, at_work, "busy_ratio") * NS_PER_S / ops, np.nan)
        if is_flash:  # busy with many at once, for as long as with one
            service_ns[:] = np.nan
        there_ns = np.fmin(latency, queue * NS_PER_S / ops)  # Little 1961
        bound_ns = np.where(np.isfinite(service_ns), service_ns, np.fmin(NS_PER_S / ops, there_ns))
        access_ns = bound_ns - np.where(ops > 0, np.nan_to_num(moved) * NS_PER_S / ops / _TRANSFER_PER_S, 0.0)
    own, others = (
        _Does(*(_mean(which(values)[row], working) for values in (ops, moved, service_ns, access_ns)))
        for which in (lambda values: values, _medians_of_others)
    )
    random_ns = None if is_flash else (settings["access_ns_least"], settings["access_ns_most"])
    return _Work(own, others, odd, is_simulated(case, at_work.group.whole.system), random_ns)


def _told(case: Case, at_work: DrivesAtWork, column: str) -> FloatArray:
    """(drives, instants): a column at the instants of the group."""
    series = case.series("disk")
    values = [told_at(series[drive], column, at_work.group.times_ns) for drive in at_work.group.drives]
    return np.where(at_work.out, np.nan, values)


def _finding(
    case: Case, settings: Settings, at_work: DrivesAtWork, word: str, column: str, odd: np.ndarray, shares: FloatArray,
    usual: FloatArray, working: BoolArray, least: float,
) -> Finding:  # fmt: skip
    group = at_work.group
    worst = int(odd[np.argmax([_mean(group.columns[column][row], working) for row in odd])])
    drive = group.drives[worst]
    own, others = _mean(group.columns[column][worst], working), _mean(usual[worst], working)
    work = _work(case, settings, at_work, worst, len(odd), working)
    verdict = work.verdict
    drives = [group.drives[row] for row in odd]
    failed = [one for one in at_work.failed if one not in drives]
    start, end = _span(group, working)
    return Finding(
        rule=_NAME,
        severity=_severity(verdict, work, harm_to(case, volumes_on(case, group.whole))),
        confidence=(0.7 if verdict == "unknown" else 0.8) * (0.7 if group.is_guess else 1.0),
        title=(
            f"Requests gather at {listed(case, drives, 2)} of {group.whole.name}"
            if verdict in _NOT_AT_FAULT
            else f"{case.label(drive)} of {group.whole.name} has a far {_DEEPER[word]} than its group"
        ),
        summary=(
            f"{_DEEP[word]} of {case.label(drive)} was {_shown(word, own)} on average, the median of the other "
            f"{len(group.drives) - 1} drives {_shown(word, others)}, and it stood out in {format_ratio(shares[worst])} "
            f"of the intervals in which the group worked. {_work_words(verdict, work)}"
            + (f" Also: {listed(case, [d for d in drives if d != drive])}." if len(drives) > 1 else "")
            + _also(case, at_work)
        ),
        why=f"A stripe is as fast as its slowest drive{_WHY[verdict]}",
        innocent=(_DEGRADED_INNOCENT if failed else "") + _INNOCENT.get(verdict, _INNOCENT_OF_OTHERS),
        check=_CHECKS.get(verdict, _CHECK_OF_OTHERS),
        remedy=_remedy(case, failed, verdict),
        source="Three times the median of the other drives: ours, from published cases of MSA arrays.",
        entities=(*drives, group.whole),
        start_ns=start,
        end_ns=end,
        evidence=(
            _rows_beside(case, settings, at_work, worst, column, least),
            _rows(case, at_work, f"max(coalesce({column}, 0)) >= {least:g}"),
        ),
        weight=0.7 if verdict == "slow" else 0.5,
        numbers={f"{column}": own, f"{column}_of_others": others, "time_share": float(shares[worst])}
        | ({"service_ns": work.own.service_ns} if work.service_is_known else {}),
    )


_NOT_AT_FAULT = ("gathering", "meeting")


def _severity(verdict: str, work: _Work, harm: Severity | None) -> Severity:
    """`harm`: that to the volumes of the group; None where it is not known."""
    if verdict == "gathering" and (work.service_is_known or work.is_alike):
        return Severity.INFO  # no drive is at fault
    if verdict == "meeting" and harm is Severity.INFO:
        return Severity.INFO
    return Severity.CRITICAL if verdict == "slow" and harm is not Severity.INFO else Severity.WARNING


_DEGRADED_INNOCENT = "It is the mirror of a failed drive and does the work of both. "
_INNOCENT_OF_OTHERS = (
    "Sequential streams meet there, so that it seeks while the others read on; a rebuild or levelling runs on this "
    "drive; or it is of another size or speed, or a spare in use."
)
_INNOCENT = {
    "meeting": "Those streams are backups or copies that nobody waits for.",
    "gathering": (
        "The load keeps many I/Os in flight: those that wait pile up at whichever drives fill first, at both of a "
        "mirror, and stay there."
    ),
}
_WHY = {
    "hot": ", and this one gets more than its part of the work.",
    "gathering": ": where many requests wait, most of them stand before the drives that lag a little.",
    "meeting": ", and one at which streams meet seeks for each request, so that all of them wait for it.",
    **dict.fromkeys(
        ("slow", "unknown"),
        ". A drive that is slow with the same or less work is about to fail, and may hold up every volume of the "
        "group.",
    ),
}
_CHECK_OF_OTHERS = (
    "Look for a running rebuild, and at the drive's media and link errors; compare its model with the rest."
)
_CHECKS = {
    "meeting": (
        "Let one stream run alone, or compare a time in which it does: a drive that is then like the others is well. "
        "Look at its media and link errors."
    ),
    "gathering": (
        "See whether it is the same drives at another time, and look at their media and link errors: drives without "
        "any, and at which others gather next time, are well."
    ),
}
_REMEDIES = {
    "hot": "Find the volume that is small or badly spread enough to hit one drive, and spread it.",
    "slow": "Take the drive out of the group (with a spare ready) and replace it: one slow drive holds up all.",
    "gathering": (
        "Leave the drives in: nothing says that they are slower than the others. If the waiting hurts, let fewer I/Os "
        "be in flight, or add drives."
    ),
    "meeting": (
        "Leave the drive in. If the streams are too slow, give each a group of its own, of fewer drives, or let one "
        "run after the other."
    ),
    "unknown": (
        "Find out how much I/O each drive gets: spread the load if this one gets more than the others, and replace it "
        "only if it is slower with the same work."
    ),
}


def _remedy(case: Case, failed: Sequence[EntityRef], verdict: str) -> str:
    if failed:
        names = listed(case, failed)
        return (
            f"Leave the drive in: with {names} failed it may hold the only copy of what both had, and taking it out "
            f"may lose that. Replace {names}, let the rebuild end, and compare again."
        )
    return _REMEDIES[verdict]


def _also(case: Case, at_work: DrivesAtWork) -> str:
    """What else a reader of a finding must know of its group."""
    guess = "No group is named in the evidence: all drives were taken as one." if at_work.group.is_guess else ""
    works = work_words(case, [at_work.group.whole])
    return "".join(f" {words}" for words in (guess, at_work.words(case), works) if words)


_DEEPER = {"queue": "deeper queue", "latency": "higher latency"}
_DEEP = {"queue": "The queue", "latency": "The latency"}


def _shown(word: str, value: float) -> str:
    return f"{value:.1f}" if word == "queue" else format_duration(value)


def _work_words(verdict: str, work: _Work) -> str:
    if verdict == "unknown":
        return "Whether it also gets more I/O is not in the evidence."
    rates = f"({format_rate(work.own.ops_per_s)} against {format_rate(work.others.ops_per_s)})"
    if verdict == "hot":
        return f"It gets more I/O than the others {rates}: a hot spot."
    said = f"It gets no more I/O than the others {rates}"
    if work.own.ops_per_s > _MORE * work.others.ops_per_s:
        said = f"It moves no more bytes than the others, in more I/Os {rates}"
    if work.service_is_known:
        times = f"{format_duration(work.own.service_ns)} against {format_duration(work.others.service_ns)}"
        said += f" and is busy with each for {'as long' if verdict == 'gathering' else 'longer'} ({times})"
    return f"{said}: {_LOOKS[verdict]}"


_LOOKS = {
    "slow": "a failing drive looks like this.",
    "gathering": "requests gather there, and nothing says that it is at fault.",
    "meeting": (
        "it seeks, as for random requests, while the others read on. Sequential streams that meet at one drive look "
        "like this, and nothing says that it is slow."
    ),
}


# All of them -------------------------------------------------------------------------------------------------------


def _depth_bound(case: Case, settings: Settings, group: DriveGroup) -> float:
    """Flash serves many requests side by side: what is deep for a disk is nothing to it."""
    is_flash = _tier(case, group) == "flash"
    return settings["group_queue_depth_max_flash" if is_flash else "group_queue_depth_max"]


def _deep(settings: Settings, at_work: DrivesAtWork, bound: float) -> BoolArray:
    """The instants, in runs, at which the drives' mean queue is deep and most drives take part."""
    values = np.where(at_work.out, np.nan, np.nan_to_num(at_work.group.columns["queue_depth_mean"]))
    values[:, at_work.out.all(axis=0)] = 0.0
    deep = (np.nanmean(values, axis=0) > bound) & (np.nanmedian(values, axis=0) > bound / 2)
    return in_runs(deep, at_work.group.anew, int(settings["samples_min"]))


def _at_limit(case: Case, settings: Settings, at_work: DrivesAtWork, deep: BoolArray, bound: float) -> Finding:
    group = at_work.group
    values = group.columns["queue_depth_mean"]
    share = float(deep.mean())
    level = float(np.nanmean(values[:, deep]))
    drives = int((~at_work.out[:, deep].all(axis=1)).sum())
    part = _part_that_is_deep(group, deep, bound)
    start, end = _span(group, deep)
    is_worked_on = group.whole in worked_on(case)
    is_flash = _tier(case, group) == "flash"
    harm = harm_to(case, volumes_on(case, group.whole))
    whose = f"{len(part)} of {drives} drives" if 2 * len(part) <= drives else "Most drives"
    return Finding(
        rule=_NAME,
        severity=_severity_of_deep(share, harm, is_worked_on=is_worked_on),
        confidence=0.8 * (0.7 if group.is_guess else 1.0),
        title=(f"{whose} of {group.whole.name} have deep queues" if part else _every_words(group))
        + ("" if share >= _SHARE_SEVERE else " at times"),
        summary=(
            f"The {drives} drives of {group.whole.name} had {level:.1f} operations each in their queues on average, "
            f"in {format_ratio(share)} of the time; above {bound:.0f} a group has "
            f"little more to give.{_part_words(case, group, deep, part)}" + _also(case, at_work)
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
    told = [(row, _mean(group.columns["queue_depth_mean"][row], deep)) for row in range(len(group.drives))]
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


def told_as_deep(case: Case) -> Mapping[EntityRef, Finding]:
    """The groups of which this rule tells, at least as a warning, that all drives have deep queues, and the finding."""
    if (_NAME, "deep") not in case.memo:
        outcomes = _evaluate(case, RULE.defaults() | dict(case.settings.get(_NAME, {})))
        case.memo[_NAME, "deep"] = {
            one.entities[0]: one
            for one in outcomes
            if isinstance(one, Finding) and one.severity >= Severity.WARNING and one.entities[0].kind == "disk_group"
        }
    found: dict[EntityRef, Finding] = case.memo[_NAME, "deep"]
    return found


def _span(group: DriveGroup, which: BoolArray) -> tuple[int, int]:
    times = group.times_ns[which]
    step = int(np.median(np.diff(group.times_ns))) if len(group.times_ns) > 1 else 0
    return int(times[0]), int(times[-1]) + step


# Rows --------------------------------------------------------------------------------------------------------------


def _told_sql(case: Case, at_work: DrivesAtWork) -> str:
    """What the drives that take part did, by instant."""
    group, out = at_work.group, at_work.out
    rests = " AND ".join(f"coalesce({column}, 0) = 0" for column in group.columns)
    left_out = [
        f"NOT (entity = {sql_text(drive.name)} AND {case.instant()} >= {group.times_ns[out[row]][0]} AND {rests})"
        for row, drive in enumerate(group.drives)
        if out[row].any()
    ]
    return f"""told AS (SELECT entity, {case.instant()} AS start_ns, queue_depth_mean, latency_ns_mean, ops_per_s,
        busy_ratio, CASE WHEN ops_per_s > 0 THEN busy_ratio * {NS_PER_S} / ops_per_s END AS service_ns
        FROM observations WHERE {in_use(case, group.drives, *left_out)})"""


def _rows(case: Case, at_work: DrivesAtWork, working: str) -> EvidenceRows:
    """Each drive at the instants at which its group works: `working` says of the drives together whether it does."""
    return case.evidence(
        f"Drives of {at_work.group.whole.name} while it works",
        f"""WITH {_told_sql(case, at_work)},
        chosen AS (SELECT start_ns FROM told GROUP BY start_ns HAVING {working})
        {_EACH_DRIVE}""",
    )


_EACH_DRIVE = """SELECT entity AS drive, count(*) AS intervals, avg(queue_depth_mean) AS queue_depth_mean,
    max(queue_depth_mean) AS queue_depth_max, avg(latency_ns_mean) AS latency_ns_mean,
    max(latency_ns_mean) AS latency_ns_mean_max, avg(ops_per_s) AS ops_per_s_mean, avg(busy_ratio) AS busy_ratio_mean
    FROM told JOIN chosen USING (start_ns)
    GROUP BY entity ORDER BY queue_depth_mean DESC NULLS LAST, latency_ns_mean DESC NULLS LAST, entity"""


def _rows_beside(
    case: Case, settings: Settings, at_work: DrivesAtWork, row: int, column: str, least: float
) -> EvidenceRows:
    """A drive while its group works, and the median of the others at the same instants."""
    drive = at_work.group.drives[row]
    of_drive, of_others = (f"FILTER (entity {sign} {sql_text(drive.name)})" for sign in ("=", "<>"))
    columns = [column, "ops_per_s", "service_ns"]
    own = ", ".join(f"median({one}) {of_drive} AS own_{one}" for one in columns)
    others = ", ".join(f"median({one}) {of_others} AS others_{one}" for one in columns)
    is_high = f"own_{column} >= {least:g} AND own_{column} > {settings['median_factor_max']:g} * others_{column}"
    means = {who: ", ".join(f"avg({who}_{one}) AS {one}" for one in columns) for who in ("own", "others")}
    return case.evidence(
        f"{case.label(drive)} beside the others of {at_work.group.whole.name} while it works",
        f"""WITH {_told_sql(case, at_work)}, together AS
        (SELECT {own}, {others} FROM told GROUP BY start_ns HAVING max(coalesce({column}, 0)) >= {least:g})
        SELECT {sql_text(case.label(drive))} AS drive, count(*) AS intervals,
        count(*) FILTER ({is_high}) AS intervals_above, {means["own"]} FROM together
        UNION ALL SELECT 'median of the others', count(*), NULL, {means["others"]} FROM together""",
    )


def _rows_deep(case: Case, settings: Settings, at_work: DrivesAtWork, bound: float) -> tuple[EvidenceRows, ...]:
    """How often and how deep the queues of all drives are, and those of each at these instants."""
    name = at_work.group.whole.name
    # Deep and other instants by turns: each stretch of them has a difference of row numbers of its own.
    deep = f"""WITH {_told_sql(case, at_work)},
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
        case.evidence(f"Drives of {name} in the intervals with deep queues", f"{deep} {_EACH_DRIVE}"),
    )


def _healthy_words(case: Case, working: list[DrivesAtWork]) -> str:
    groups = [at_work.group for at_work in working]
    drives = sum(len(group.drives) for group in groups)
    depths = [
        group.columns["queue_depth_mean"] for group in groups if np.isfinite(group.columns["queue_depth_mean"]).any()
    ]
    words = f"{counted(drives, 'drive')} in {counted(len(groups), 'group')} are loaded alike"
    if depths:
        words += f"; the deepest mean queue of a group is {max(float(np.nanmean(depth)) for depth in depths):.1f}"
    return " ".join(filter(None, (f"{words}.", *(at_work.words(case) for at_work in working))))


RULE = Rule(
    name=_NAME,
    title="drives of one group are not loaded alike, or all have deep queues",
    evaluate=_evaluate,
    thresholds=(
        Threshold("median_factor_max", 3, "times the median of the other drives", "ours, from published cases"),
        Threshold("group_queue_depth_max", 4, "mean queue of a group's drives above which it is at its limit",
                  "ours, from published cases"),
        Threshold("group_queue_depth_max_flash", 32, "the same of drives that are known to be flash",
                  "the commands that a SATA drive takes at a time (NCQ)"),
        Threshold("queue_depth_min", 2, "queue below which a drive never stands out", "ours"),
        Threshold("latency_ns_disk", 20e6, "latency below which a drive never stands out, disk", "ours"),
        Threshold("latency_ns_flash", 2e6, "latency below which a drive never stands out, flash", "ours"),
        Threshold("access_ns_least", 3e6, "time before data move that random I/Os of a disk take at least",
                  "ours: half a turn at 15,000 a minute is 2 ms, and a short seek 1 ms"),
        Threshold("access_ns_most", 15e6, "time before data move that random I/Os of a disk take at most",
                  "ours: half a turn at 7,200 a minute is 4 ms, and data sheets give 8 to 10 ms for a seek"),
        Threshold("time_share_min", 0.5, "share of the group's working intervals in which it must stand out", "ours"),
        Threshold("samples_min", 3, "intervals in which the group must work", "ours"),
        Threshold("drives_min_count", 3, "drives a group must have to be compared", "ours"),
    ),
)  # fmt: skip
