"""One member of an array of disks is several times as slow as the others with the same load.

Looks for
    Disks of a host that have the same load, as members of a stripe or a mirror have: rates and sizes alike interval by
    interval, and either three of them at the least, or a device above (md, LVM) that reads what they read together.
    One of them, or fewer than half, takes three times as long as the median of the others, and longer than the warning
    limit of its tier, in most intervals from the first to the last in which it does: for a minute and ten intervals at
    the least.

Why it matters
    A stripe is as fast as its slowest member, and a mirror writes at the pace of the slower one. The array looks slow
    as a whole, and neither more members nor less load helps as long as one drive retries, or fails slowly.

Evidence
    Rates and latency of all members at the same instants (iostat -x, sar -d, node_exporter, diskstats); sizes, and
    reads and writes apart, make it surer.

When it is wrong
    Members of another model or speed, one with its write cache off, or one behind another controller differ by design.
    Disks with the same load by chance are no members of anything. A drive that does more than the others is not looked
    at here. Of an array's own drives see uneven-drives, of paths path-slow.

References
    Slow members as a cause of slow arrays: Gunawi et al., "Fail-Slow at Scale", FAST 2018, whose drives were up to
    tens of times as slow without failing. Three times the median and the likeness of loads are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.directions import directions
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, in_use, joined
from storscope.diagnose.rules._intervals import ends, seconds, weighted_mean
from storscope.diagnose.rules._load import named, opening
from storscope.diagnose.rules._members import ALIKE_FACTOR, Members, members_of
from storscope.diagnose.tier_limits import ENTITY_OPS_MIN, tier_limits
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import NS_PER_S, format_duration, format_rate, format_span
from storscope.store.series import Series

_NAME = "member-slow"
_NEEDS = (
    "latency at the same instants of three disks with the same load, or of two whose reads a device above shows "
    "together (iostat -x, sar -d)"
)
_OF = ("", "reads", "writes")


@dataclass(frozen=True)
class _Slow:
    """A member that is slow beside the others."""

    members: Members
    disk: Series
    of: str
    """'reads' or 'writes' where only these are; else empty."""
    when: BoolArray
    latency_ns: float
    """Its mean latency then."""
    others_ns: float
    """The mean, over the same time, of the median of the others."""

    @property
    def factor(self) -> float:
        return self.latency_ns / self.others_ns

    @property
    def waiting(self) -> float:
        """Its operations in flight then, summed over intervals."""
        return float(np.nansum((self.disk["ops_per_s"] * self.disk["latency_ns_mean"])[self.when]))


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    found = [members for members in members_of(case) if len(members.disks[0]) >= settings["intervals_min_count"]]
    if not found:
        return [NotEvaluated(_NAME, _NEEDS)]
    outcomes: list[Outcome] = []
    for members in found:
        slow = [one for disk in members.disks if (one := _slow(case, settings, members, disk)) is not None]
        if 0 < len(slow) <= max(1, (len(members.disks) - 1) // 2):
            outcomes.append(_finding(case, settings, sorted(slow, key=lambda one: -one.waiting)))
        else:
            outcomes.append(_healthy(case, members))
    return outcomes


def _parts(series: Series) -> dict[str, Series]:
    return {"": series, **directions(series)}


def _slow(case: Case, settings: Settings, members: Members, disk: Series) -> _Slow | None:
    """What is slow of it: all of its operations, else its reads or writes; None where nothing is."""
    limits, others = tier_limits(case, disk.entity), [one for one in members.disks if one is not disk]
    for of in _OF:
        part = _parts(disk).get(of)
        beside = [found for one in others if (found := _parts(one).get(of)) is not None]
        if part is None or not beside:
            continue
        usual_ns = _median_of([_timed(one) for one in beside])
        latency_ns = _timed(part)
        with np.errstate(invalid="ignore"):
            slow = (latency_ns >= settings["slow_factor"] * usual_ns) & (
                latency_ns > limits.along(part, limits.warning_ns)
            )
        if _lasts(settings, part, slow) and not _does_more(disk, others, slow):
            ops = np.nan_to_num(part["ops_per_s"][slow])
            return _Slow(
                members, disk, of, slow, weighted_mean(latency_ns[slow], ops), weighted_mean(usual_ns[slow], ops)
            )
    return None


def _does_more(disk: Series, others: Sequence[Series], when: BoolArray) -> bool:
    """Whether it has more to do than the others: of a mirror the writes are alike, and the reads may not be."""
    own, *beside = (float(np.nan_to_num(one["ops_per_s"])[when].mean()) for one in (disk, *others))
    return own > ALIKE_FACTOR * float(np.median(beside))


def _timed(series: Series) -> FloatArray:
    """The latency of the intervals with operations enough to tell it."""
    result: FloatArray = np.where(series["ops_per_s"] >= ENTITY_OPS_MIN, series["latency_ns_mean"], np.nan)
    return result


def _median_of(rows: Sequence[FloatArray]) -> FloatArray:
    """The median of each interval over what is told; NaN where nothing is."""
    stacked = np.stack(rows)
    told = np.isfinite(stacked).any(axis=0)
    result: FloatArray = np.full(stacked.shape[1], np.nan)
    result[told] = np.nanmedian(stacked[:, told], axis=0)
    return result


def _lasts(settings: Settings, series: Series, slow: BoolArray) -> bool:
    """Whether it is slow for long enough, and for most of the time between the first and the last of it."""
    where = np.flatnonzero(slow)
    if len(where) < settings["intervals_min_count"] or seconds(series)[slow].sum() < settings["slow_s"]:
        return False
    return bool(slow[where[0] : where[-1] + 1].mean() >= settings["time_share_min"])


def _finding(case: Case, settings: Settings, slow: Sequence[_Slow]) -> Finding:
    worst = slow[0]
    disk, members = worst.disk, worst.members
    limits = tier_limits(case, disk.entity)
    critical_ns = weighted_mean(limits.along(disk, limits.critical_ns), np.nan_to_num(disk["ops_per_s"]))
    others = [one for one in members.disks if all(one is not each.disk for each in slow)]
    start, end = ends(disk, worst.when) or (None, None)
    label = case.label(disk.entity)
    beside = f"other members of {case.label(members.whole)}" if members.whole else f"{len(others):,} disks like it"
    what = (
        f"{worst.of.capitalize()} of {named(case, disk.entity)} are" if worst.of else f"{opening(case, disk.entity)} is"
    )
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if worst.latency_ns > critical_ns else Severity.WARNING,
        confidence=0.9 if members.whole else 0.7,
        title=f"{what} {worst.factor:.0f} times as slow as {beside}",
        summary=_summary(case, worst, others, slow[1:]),
        why="An array waits for its slowest member: neither more members nor less load makes up for one slow drive.",
        innocent=(
            "It is another model, or behind another controller, or its write cache is off, and was always so; or the "
            "disks have the same load by chance and nothing to do with each other."
        ),
        check=(
            f"Read its own state: smartctl -a /dev/{label} (pending and reallocated sectors, media and interface "
            f"errors, wear, temperature) and the kernel's log of {label} in this time; then change its cable or bay "
            "with that of another, and see which of them is slow."
        ),
        remedy=(
            f"Where SMART or the log show errors, or the slowness goes with the drive: take {label} out of the array "
            "and replace it. Where it stays with the place: replace the cable, or the port."
        ),
        source=f"{settings['slow_factor']:g} times the median of the others: ours, from published cases.",
        entities=(*(one.disk.entity for one in slow), *([members.whole] if members.whole else [])),
        start_ns=start,
        end_ns=end,
        evidence=(_rows(case, members, start, end),),
        weight=0.95,
        numbers={
            "latency_ns_mean": worst.latency_ns, "latency_ns_others": worst.others_ns, "slower_factor": worst.factor,
            "slow_s": float(seconds(disk)[worst.when].sum()), "members": float(len(members.disks)),
        },
    )  # fmt: skip


def _summary(case: Case, worst: _Slow, others: Sequence[Series], more: Sequence[_Slow]) -> str:
    disk, when = worst.disk, worst.when
    lasted = format_span(float(seconds(disk)[when].sum()) * NS_PER_S)
    rate = format_rate(float(np.nan_to_num(disk["ops_per_s"])[when].mean()))
    rates = [float(np.nan_to_num(one["ops_per_s"])[when].mean()) for one in others]
    whole = worst.members.whole
    tied = f" {opening(case, whole)} reads what they read together: they are its members." if whole else ""
    also = f" So is {joined([case.label(one.disk.entity) for one in more])}." if more else ""
    names = joined([case.label(one.entity) for one in others], 4)
    return (
        f"In {counted(int(when.sum()), 'interval')} ({lasted}) {worst.of or 'operations'} of "
        f"{named(case, disk.entity)} took {format_duration(worst.latency_ns)}, those of {names} "
        f"{format_duration(worst.others_ns)} (median), with the same load: {rate}, and {format_rate(min(rates))}"
        + (f" to {format_rate(max(rates))}" if len(rates) > 1 else "")
        + f" of the others.{tied}{also}"
    )


def _healthy(case: Case, members: Members) -> Healthy:
    means = {one.entity: weighted_mean(_timed(one), np.nan_to_num(one["ops_per_s"])) for one in members.disks}
    quickest, *_, slowest = sorted(means, key=lambda one: (means[one], one))
    of = f"members of {case.label(members.whole)}" if members.whole else f"disks of {slowest.system} with like load"
    return Healthy(
        _NAME,
        f"None of {len(means):,} {of} is slow beside the others: {case.label(slowest)} takes "
        f"{format_duration(means[slowest])} in the mean, {case.label(quickest)} {format_duration(means[quickest])}.",
    )


def _rows(case: Case, members: Members, start: int | None, end: int | None) -> EvidenceRows:
    entities = [*(one.entity for one in members.disks), *([members.whole] if members.whole else [])]
    instant = case.instant()
    span = [] if start is None or end is None else [f"{instant} >= {start}", f"{instant} < {end}"]
    return case.evidence(
        "Load and latency of the members in this time",
        f"""SELECT entity, round(avg(ops_per_s), 1) AS ops_per_s, round(avg(bytes_per_s)) AS bytes_per_s,
        round(sum(ops_per_s * latency_ns_mean) / nullif(sum(ops_per_s) FILTER (latency_ns_mean IS NOT NULL), 0))
        AS latency_ns_mean, round(quantile_cont(latency_ns_mean, 0.95)) AS latency_ns_p95
        FROM observations WHERE {in_use(case, entities, *span)} GROUP BY entity ORDER BY latency_ns_mean DESC""",
    )


RULE = Rule(
    name=_NAME,
    title="one member of an array of disks is slow beside the others",
    evaluate=_evaluate,
    thresholds=(
        Threshold("slow_factor", 3.0, "latency over the median of the other members that is slow",
                  "ours, as for uneven-drives"),
        Threshold("intervals_min_count", 10, "slow intervals below which nothing is said", "ours"),
        Threshold("slow_s", 60, "time it must be slow in all", "ours"),
        Threshold("time_share_min", 0.5, "part of the time between the first and the last slow interval that must be "
                  "slow", "ours"),
    ),
)  # fmt: skip
