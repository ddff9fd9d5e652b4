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

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._drive_findings import NAME
from storscope.diagnose.rules._drive_groups import DriveGroup, drive_groups
from storscope.diagnose.rules._drives_at_work import DrivesAtWork, drives_at_work
from storscope.diagnose.rules._entities import counted
from storscope.diagnose.rules._full_drives import deep_instants, depth_bound, full_drives
from storscope.diagnose.rules._odd_drive import MEASURES, odd_drive
from storscope.diagnose.rules.convoy import convoyed
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity

_NEEDS = (
    "queue depth or latency per drive, of several drives at the same instants, and the disk group of each (evaperf pd)"
)
_NEEDS_NO_CONVOY = "drives that do not take turns at being the fullest (convoy found them to): their means say little"


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    working = [drives_at_work(case, group) for group in drive_groups(case)]
    working = [at_work for at_work in working if _can_compare(settings, at_work.group)]
    if not working:
        return [NotEvaluated(NAME, _NEEDS)]
    outcomes: list[Outcome] = []
    for at_work in working:
        odd = odd_drive(case, settings, at_work)
        bound = depth_bound(case, settings, at_work.group)
        deep = deep_instants(settings, at_work, bound)
        if odd is not None:
            outcomes.append(odd)
        elif deep.any():
            outcomes.append(full_drives(case, settings, at_work, deep, bound))
    if outcomes:
        return outcomes
    gathering = convoyed(case)
    alike = [at_work for at_work in working if at_work.group.whole not in gathering]
    return [Healthy(NAME, _healthy_words(case, alike))] if alike else [NotEvaluated(NAME, _NEEDS_NO_CONVOY)]


def _can_compare(settings: Settings, group: DriveGroup) -> bool:
    """Whether enough drives are told at any instant; drives with instants of their own stand beside no other."""
    told = (np.isfinite(group.columns[column]).sum(axis=0) for column, _ in MEASURES)
    return any((count >= settings["drives_min_count"]).any() for count in told)


def told_as_deep(case: Case) -> Mapping[EntityRef, Finding]:
    """The groups of which this rule tells, at least as a warning, that all drives have deep queues, and the finding."""
    if (NAME, "deep") not in case.memo:
        outcomes = _evaluate(case, RULE.defaults() | dict(case.settings.get(NAME, {})))
        case.memo[NAME, "deep"] = {
            one.entities[0]: one
            for one in outcomes
            if isinstance(one, Finding) and one.severity >= Severity.WARNING and one.entities[0].kind == "disk_group"
        }
    found: dict[EntityRef, Finding] = case.memo[NAME, "deep"]
    return found


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
    name=NAME,
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
