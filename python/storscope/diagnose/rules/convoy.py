"""Requests gather at one drive after another: a hot spot that moves.

Looks for
    Disk groups in which, at any instant, one drive holds far more of all queued requests than chance would give it,
    while it is another drive after a moment, so that all of them have much the same mean.

Why it matters
    The group works at the pace of a drive or two, although its drives are hardly busy on average. Averages over
    minutes show an even load, and more drives or a faster controller do not help.

Evidence
    Queue depth per drive in intervals shorter than the requests stay at a drive, a second at the most (a simulation;
    iostat or evaperf pd at the shortest interval they have). Only instants count that have all drives of the group.

When it is wrong
    One client that reads or writes in sequence with many requests at once keeps a drive or two busy at a time, and
    waits for nobody else: that is a stream, not a convoy. Drives of one group that serve volumes by turns look like
    it.

References
    Convoys on what is shared: Blasgen and others, The convoy phenomenon (1979). The yardstick of chance: product form
    (Gordon and Newell, 1967). Limits are ours: ten clones in a convoy on 46 mirrored drives, simulated, have an excess
    of 0.52, their remedy, backups and databases on 13 other designs at most 0.03.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._drive_groups import DriveGroup, drive_groups
from storscope.diagnose.rules._drives_at_work import drives_at_work
from storscope.diagnose.rules._entities import counted, observed
from storscope.domain.arrays import IntArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import NS_PER_S, format_ratio, format_span
from storscope.model.concentration import Concentration, concentration, slices_with_all

_NAME = "convoy"
_NEEDS = (
    "queue depth per drive in intervals of a second or less, of all drives at the same instants (a simulation, iostat "
    "or evaperf pd at 1 s)"
)
_QUEUE = "queue_depth_mean"


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    found = [
        (group, measured)
        for group in (_without_idle(case, group) for group in drive_groups(case))
        if len(group.drives) >= settings["drives_min_count"]
        and (measured := concentration(group.columns[_QUEUE], settings["requests_min"])) is not None
        and measured.slices >= settings["slices_min"]
    ]
    convoys = [(group, measured) for group, measured in found if is_convoy(measured, settings)]
    if convoys:
        return [_finding(case, group, measured) for group, measured in convoys]
    fine = [(group, measured) for group, measured in found if _step_ns(group) <= settings["interval_ns_max"]]
    if fine:
        return [Healthy(_NAME, _healthy_words(fine))]
    idle = [group for group in drive_groups(case) if len(_instants_ns(group))]
    if idle and not found and all(_step_ns(group) <= settings["interval_ns_max"] for group in idle):
        return [Healthy(_NAME, f"Fewer than {settings['requests_min']:.0f} requests wait at the drives of a group.")]
    return [NotEvaluated(_NAME, _NEEDS)]


def is_convoy(measured: Concentration, settings: Settings) -> bool:
    """Whether requests gather, and not always at the same drive."""
    return (
        measured.excess >= settings["excess_min"]
        and measured.moves >= settings["moves_min"]
        and measured.leaders >= settings["drives_min_count"]
    )


def convoyed(case: Case) -> frozenset[EntityRef]:
    """The groups in which there is one, by the thresholds in force: they are not loaded alike."""
    settings = RULE.defaults() | dict(case.settings.get(_NAME, {}))
    outcomes = _evaluate(case, settings)
    return frozenset(outcome.entities[0] for outcome in outcomes if isinstance(outcome, Finding))


def _without_idle(case: Case, group: DriveGroup) -> DriveGroup:
    """Without spares that wait and others that did nothing: no request could have been there by chance."""
    kept = set(drives_at_work(case, group).group.drives)
    rows = [row for row, drive in enumerate(group.drives) if drive in kept]
    columns = {name: values[rows] for name, values in group.columns.items()}
    return replace(group, drives=[group.drives[row] for row in rows], columns=columns)


def _instants_ns(group: DriveGroup) -> IntArray:
    """Those that have all drives."""
    return group.times_ns[slices_with_all(group.columns[_QUEUE])]


def _step_ns(group: DriveGroup) -> int:
    instants_ns = _instants_ns(group)
    return int(np.median(np.diff(instants_ns))) if len(instants_ns) > 1 else 0


def _finding(case: Case, group: DriveGroup, measured: Concentration) -> Finding:
    count, step = len(group.drives), _step_ns(group)
    shares = f"{format_ratio(measured.fullest_share)} of all requests"
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.8 * (0.7 if group.is_guess else 1.0),
        title=f"Requests follow each other from drive to drive in {group.whole.name}",
        summary=(
            f"At an average instant ({format_span(step)}) one of the {count} drives holds {shares} that are at drives, "
            f"where chance would give it {format_ratio(measured.chance_share)}; but it is not always the same one: "
            f"{counted(measured.leaders, 'drive')} held the most in turn, and over the whole time none holds more than "
            f"{format_ratio(measured.steady_share)}. {measured.requests_mean:.0f} requests were at drives on average."
            + (" No group is named in the evidence: all drives were taken as one." if group.is_guess else "")
        ),
        why=(
            "All clients wait for the same drive and then move to the next together, so that the group does as much as "
            "a drive or two, however many it has, and every volume on it is slow."
        ),
        innocent="One client alone reads or writes in sequence with many requests at once, and nobody else waits.",
        check="See whether several streams run through the group at once, and whether latency is high on all volumes.",
        remedy=(
            "Use a smaller segment, or several groups, so that streams do not meet; let fewer streams run at once; "
            "read from both drives of a mirror; let a write-back cache take the writes. storscope simulate tells what "
            "helps."
        ),
        source="Excess over equally likely spreads (Gordon and Newell, 1967); limits are ours, from simulated convoys.",
        entities=(group.whole, *group.drives),
        start_ns=int(group.times_ns[0]),
        end_ns=int(group.times_ns[-1]) + step,
        evidence=(_rows(case, group),),
        weight=min(1.0, 0.4 + measured.excess),
        numbers={
            "fullest_share": measured.fullest_share, "chance_share": measured.chance_share,
            "steady_share": measured.steady_share, "excess": measured.excess, "leaders": measured.leaders,
        },
    )  # fmt: skip


def _rows(case: Case, group: DriveGroup) -> EvidenceRows:
    return case.evidence(
        f"How often each drive of {group.whole.name} had the longest queue",
        f"""WITH told AS (SELECT time, entity, queue_depth_mean AS queue,
        count(*) OVER (PARTITION BY time) AS drives
        FROM observations WHERE queue_depth_mean IS NOT NULL AND {observed(case, group.drives)}),
        queues AS (SELECT entity, queue, sum(queue) OVER (PARTITION BY time) AS at_all,
        row_number() OVER (PARTITION BY time ORDER BY queue DESC, entity) AS place
        FROM told WHERE drives = (SELECT count(DISTINCT entity) FROM told))
        SELECT entity AS drive, count(*) FILTER (place = 1 AND queue > 0) AS slices_with_the_longest_queue,
        avg(queue / at_all) FILTER (place = 1 AND at_all > 0) AS share_then, avg(queue) AS queue_depth_mean
        FROM queues GROUP BY entity ORDER BY slices_with_the_longest_queue DESC, entity""",
    )


def _healthy_words(found: Sequence[tuple[DriveGroup, Concentration]]) -> str:
    group, measured = max(found, key=lambda pair: pair[1].excess)
    return (
        f"Requests spread over the drives of {counted(len(found), 'group')}, or stay where they are: at an average "
        f"instant the fullest drive of {group.whole.name} holds {format_ratio(measured.fullest_share)} of them, by "
        f"chance {format_ratio(measured.chance_share)}."
    )


RULE = Rule(
    name=_NAME,
    title="requests gather at one drive after another",
    evaluate=_evaluate,
    thresholds=(
        Threshold("excess_min", 0.25, "part of what chance leaves that the fullest drive holds",
                  "ours: 0.52 in a simulated convoy, at most 0.03 under other loads"),
        Threshold("moves_min", 2, "times what any drive holds over the whole time",
                  "ours: below it one drive stands out (uneven-drives)"),
        Threshold("requests_min", 4, "requests at the drives of a group below which an instant does not count",
                  "ours: two or three always look bunched"),
        Threshold("slices_min", 20, "intervals with so many requests", "ours"),
        Threshold("drives_min_count", 3, "drives a group must have, and that must have led", "ours"),
        Threshold("interval_ns_max", NS_PER_S, "longest interval whose evenness rules a convoy out",
                  "ours: it stays a tenth of a second at a drive"),
    ),
)  # fmt: skip
