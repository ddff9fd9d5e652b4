"""Operations x latency does not give the queue depth that was counted.

Looks for
    Entities whose operations per second times latency differ from the counted queue depth by more than 20 %, over the
    whole time and beyond what noise explains.

Why it matters
    The three counters cannot all be right, or they do not speak of the same operations. What else is concluded from
    them inherits the error.

Evidence
    Operations, latency and queue depth of the same entity over at least 20 intervals, and ten times as long as an
    operation takes: a queue that only grows obeys no such law.

When it is wrong
    A queue counted at the moment of the sample needs many samples. Some tools count commands that carry no data among
    the operations, or time only reads and writes: of flushes sar tells neither. A part that waits above the queue
    counts in the latency alone.

References
    J. D. C. Little, "A Proof for the Queuing Formula: L = lambda W", Operations Research 9 (1961). The bound of 20 %
    is ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, listed, observed
from storscope.diagnose.rules._little import NEEDS, Comparison, comparisons, unit_factor
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import format_rounded

_NAME = "littles-law"


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    compared = comparisons(case, settings)
    if not compared:
        return [NotEvaluated(_NAME, NEEDS)]
    groups: dict[tuple[str, str, bool], list[Comparison]] = defaultdict(list)
    for one in compared:
        # A ratio near 1,000 and the like is a matter of units: units-suspected speaks of it.
        if _differs(settings, one) and unit_factor(one.ratio) is None:
            groups[one.entity.system, one.entity.kind, one.ratio.estimate > 1].append(one)
    if groups:
        return [_finding(case, found) for _, found in sorted(groups.items())]
    worst = max(compared, key=Comparison.distance)
    return [
        Healthy(
            _NAME,
            f"Operations x latency gives the counted queue depth on {counted(len(compared), 'entity', 'entities')}; "
            f"the worst ratio is {worst.ratio.estimate:.2f} ({worst.entity.name}).",
        )
    ]


def _differs(settings: Settings, one: Comparison) -> bool:
    bound = settings["mismatch_ratio_max"]
    return one.ratio.low > 1 + bound or one.ratio.high < 1 - bound


def _finding(case: Case, compared: list[Comparison]) -> Finding:
    compared = sorted(compared, key=lambda one: (-one.distance(), one.entity))
    worst = compared[0]
    above = worst.ratio.estimate > 1
    entities = [one.entity for one in compared]
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.75,
        title=f"Counters of {counted(len(compared), worst.entity.kind)} of {worst.entity.system} contradict each other",
        summary=(
            f"On {case.label(worst.entity)} operations x latency gives {format_rounded(worst.in_flight)} in flight, "
            f"the counter says {format_rounded(worst.depth)}: a ratio of {worst.ratio.estimate:.2f} (95 % interval "
            f"{worst.ratio.low:.2f} to {worst.ratio.high:.2f}, {worst.samples:,} intervals). "
            f"Concerned: {listed(case, entities)}."
        ),
        why="Findings that rest on these counters may be wrong; treat them as doubtful until one counter is ruled out.",
        innocent=(
            "The latency includes waiting above the queue that is counted."
            if above
            else "The queue also holds commands without data (Linux counts flushes in aqu-sz, and in no await of reads "
            "and writes), or the latency leaves out part of the way."
        ),
        check="Compare with a second tool on the same machine for some minutes: which of the three numbers differs?",
        remedy=("" if above or worst.entity.kind != "device" else _FLUSHES)
        + (
            "Leave the wrong counter out of your judgement; report it to the maker of the tool or array if it is a "
            "bug of theirs, to us if our reading of it is wrong."
        ),
        source="More than 20 % beyond the 95 % interval: ours; Little's law itself is exact.",
        entities=tuple(entities),
        evidence=(
            case.evidence(
                "Operations x latency against the counted queue depth",
                f"""SELECT kind, entity, count(*) AS intervals,
                avg(ops_per_s * {worst.latency_column} / 1e9) AS operations_in_flight,
                avg(queue_depth_mean) AS queue_depth_mean, avg(queued_mean) AS queued_mean,
                avg(ops_per_s * {worst.latency_column} / 1e9) / nullif(avg(queue_depth_mean), 0) AS ratio
                FROM observations WHERE {observed(case, entities, "queue_depth_mean IS NOT NULL")}
                GROUP BY kind, entity ORDER BY ratio DESC, kind, entity""",
            ),
        ),
        weight=0.1,
        numbers={"ratio": worst.ratio.estimate, "in_flight": worst.in_flight, "queue_depth_mean": worst.depth},
    )


_FLUSHES = (
    "See first whether flushes make the queue (a database that syncs its log): iostat -x of sysstat 12 and later has "
    "them as f/s and f_await, sar has not. If so, both counters are right, and what is slow is the flush. Else: "
)


RULE = Rule(
    name=_NAME,
    title="operations x latency does not give the counted queue depth",
    evaluate=_evaluate,
    thresholds=(
        Threshold("mismatch_ratio_max", 0.2, "difference from 1 that the ratio may have", "ours"),
        Threshold("samples_min", 20, "intervals below which nothing is said", "ours"),
        Threshold("queue_depth_min", 0.5, "mean operations in flight, below which nothing is said", "ours"),
    ),
)  # fmt: skip
