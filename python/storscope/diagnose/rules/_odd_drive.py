"""One drive, or a few, among the others of a group: whose queue or latency is several times theirs, and why.

Whether a drive is at fault is told by what it did beside the others: a drive that gets more is a hot spot; one that is
busy with each I/O for as long is none that fails, however many stand before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
from storscope.diagnose.rules._drives_at_work import DrivesAtWork
from storscope.diagnose.rules._entities import listed
from storscope.diagnose.rules._harm import harm_to, volumes_on
from storscope.diagnose.rules._intervals import mean, told_at
from storscope.diagnose.rules._simulated import is_simulated
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Severity
from storscope.domain.units import NS_PER_S, format_duration, format_rate, format_ratio
from storscope.store.sql import sql_text

MEASURES = (("queue_depth_mean", "queue"), ("latency_ns_mean", "latency"))


def odd_drive(case: Case, settings: Settings, at_work: DrivesAtWork) -> Finding | None:
    """What stands out of a group, by its queue or else by its latency; None where no drive or too many do."""
    group = at_work.group
    for column, word in MEASURES:
        values = group.columns[column]
        least = settings["queue_depth_min"] if word == "queue" else settings[f"latency_ns_{tier_of(case, group)}"]
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
    is_flash = tier_of(case, at_work.group) == "flash"
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
        _Does(*(mean(which(values)[row][working]) for values in (ops, moved, service_ns, access_ns)))
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
    worst = int(odd[np.argmax([mean(group.columns[column][row][working]) for row in odd])])
    drive = group.drives[worst]
    own, others = mean(group.columns[column][worst][working]), mean(usual[worst][working])
    work = _work(case, settings, at_work, worst, len(odd), working)
    verdict = work.verdict
    drives = [group.drives[row] for row in odd]
    failed = [one for one in at_work.failed if one not in drives]
    start, end = span_of_instants(group, working)
    return Finding(
        rule=NAME,
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
            + group_words(case, at_work)
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


def _rows(case: Case, at_work: DrivesAtWork, working: str) -> EvidenceRows:
    """Each drive at the instants at which its group works: `working` says of the drives together whether it does."""
    return case.evidence(
        f"Drives of {at_work.group.whole.name} while it works",
        f"""WITH {told_sql(case, at_work)},
        chosen AS (SELECT start_ns FROM told GROUP BY start_ns HAVING {working})
        {EACH_DRIVE}""",
    )


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
        f"""WITH {told_sql(case, at_work)}, together AS
        (SELECT {own}, {others} FROM told GROUP BY start_ns HAVING max(coalesce({column}, 0)) >= {least:g})
        SELECT {sql_text(case.label(drive))} AS drive, count(*) AS intervals,
        count(*) FILTER ({is_high}) AS intervals_above, {means["own"]} FROM together
        UNION ALL SELECT 'median of the others', count(*), NULL, {means["others"]} FROM together""",
    )
