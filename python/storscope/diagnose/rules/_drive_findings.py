"""What the findings on the drives of a group share: the tier, words on the group, and its rows."""

from __future__ import annotations

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rules._drive_groups import DriveGroup
from storscope.diagnose.rules._drives_at_work import DrivesAtWork
from storscope.diagnose.rules._entities import in_use
from storscope.diagnose.rules.drive_failed import work_words
from storscope.domain.arrays import BoolArray
from storscope.domain.units import NS_PER_S
from storscope.store.sql import sql_text

NAME = "uneven-drives"


def tier_of(case: Case, group: DriveGroup) -> str:
    """The name of the tier of its drives, which are alike."""
    return case.tier(group.drives[0]).name


def group_words(case: Case, at_work: DrivesAtWork) -> str:
    """What else a reader of a finding must know of its group."""
    guess = "No group is named in the evidence: all drives were taken as one." if at_work.group.is_guess else ""
    works = work_words(case, [at_work.group.whole])
    return "".join(f" {words}" for words in (guess, at_work.words(case), works) if words)


def span_of_instants(group: DriveGroup, which: BoolArray) -> tuple[int, int]:
    """From the first of these instants to the end of the last, in ns."""
    times = group.times_ns[which]
    step = int(np.median(np.diff(group.times_ns))) if len(group.times_ns) > 1 else 0
    return int(times[0]), int(times[-1]) + step


def told_sql(case: Case, at_work: DrivesAtWork) -> str:
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


EACH_DRIVE = """SELECT entity AS drive, count(*) AS intervals, avg(queue_depth_mean) AS queue_depth_mean,
    max(queue_depth_mean) AS queue_depth_max, avg(latency_ns_mean) AS latency_ns_mean,
    max(latency_ns_mean) AS latency_ns_mean_max, avg(ops_per_s) AS ops_per_s_mean, avg(busy_ratio) AS busy_ratio_mean
    FROM told JOIN chosen USING (start_ns)
    GROUP BY entity ORDER BY queue_depth_mean DESC NULLS LAST, latency_ns_mean DESC NULLS LAST, entity"""
