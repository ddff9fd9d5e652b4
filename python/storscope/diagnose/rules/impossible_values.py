"""Counters hold values that cannot be.

Looks for
    Negative values, ratios above 1, latencies of exactly 0 under load, parts greater than their whole, means above
    their maximum, and numbers beyond any storage.

Why it matters
    A counter that was reset, wrapped or read wrongly gives one such value and many wrong ones that look possible.

Evidence
    Any counters over time.

When it is wrong
    Tools round: a share of 100.4 % is noise, and esxtop prints 0.00 ms for less than 5 µs, which a cache can reach.

References
    The definitions of the counters themselves. Real examples: read-ahead operations of 4,804,068,203,594,569,116 and
    cache hits that exceed reads in a published MSA dump. The bounds of magnitude are ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, listed, observed
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.schema import CANONICAL
from storscope.domain.units import format_ratio

_NAME = "impossible-values"
_RATIOS = ("busy_ratio", "read_hit_ratio", "cpu_busy_ratio")
_LATENCIES = tuple(name for name in CANONICAL if name.endswith(("latency_ns_mean", "latency_ns_max")))
_DEPTHS = ("queue_depth_mean", "queue_depth_max", "queued_mean")


@dataclass(frozen=True)
class _Check:
    """One way to be impossible: an SQL condition over an observation, and the words for it."""

    key: str
    title: str
    words: str
    condition: str
    columns: Sequence[str]
    remedy: str
    out_of: str = "true"
    """The rows that could show it; a share of them is required where one row may be rounding."""
    share_min: float = 0.0


def _any(columns: Sequence[str], test: str) -> str:
    return "(" + " OR ".join(f"{column} {test}" for column in columns) + ")"


def _checks(settings: Settings) -> list[_Check]:
    loaded = f"ops_per_s >= {settings['ops_per_s_min']}"
    return [
        _Check("negative", "Negative values", "are negative", _any(CANONICAL, "< 0"), CANONICAL,
               "Leave the intervals out: the counter was reset or wrapped between two samples."),
        _Check("ratio", "Shares above 100 %", "are shares above 100 %",
               _any(_RATIOS, f"> {1 + settings['ratio_excess_max']}"), _RATIOS,
               "Do not use the share: it is over another base than it seems, or sums several entities."),
        _Check("parts", "Parts exceed their whole", "have more reads and writes than operations",
               f"read_ops_per_s + write_ops_per_s > ops_per_s * {1 + settings['parts_excess_max']} + 1",
               ("ops_per_s", "read_ops_per_s", "write_ops_per_s"),
               "Use the parts and leave the whole out: they come from different samples or count differently."),
        _Check("mean", "Means above their maximum", "have a mean latency above the greatest",
               "latency_ns_mean > latency_ns_max * 1.01 + 1000", ("latency_ns_mean", "latency_ns_max"),
               "Leave the greater of both out until the source explains it."),
        _Check("zero", "Latency of zero under load", "have a latency of exactly 0 under load",
               f"{loaded} AND latency_ns_mean = 0", ("ops_per_s", "latency_ns_mean"),
               "Do not use this latency: the tool did not measure it or cannot resolve it.",
               out_of=f"{loaded} AND latency_ns_mean IS NOT NULL", share_min=settings["zero_latency_share_max"]),
        _Check("magnitude", "Values beyond any storage", "are beyond any storage",
               " OR ".join([
                   _any(("ops_per_s", "read_ops_per_s", "write_ops_per_s"), f"> {settings['ops_per_s_max']}"),
                   _any(("bytes_per_s", "read_bytes_per_s", "write_bytes_per_s"), f"> {settings['bytes_per_s_max']}"),
                   _any(_LATENCIES, f"> {settings['latency_ns_max']}"),
                   _any(_DEPTHS, f"> {settings['queue_depth_max']}"),
               ]),
               ("ops_per_s", "bytes_per_s", "latency_ns_mean", "latency_ns_max", "queue_depth_mean"),
               "Leave the intervals out: a counter wrapped, or garbage was read as a number."),
    ]  # fmt: skip


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    checks = _checks(settings)
    counts = ", ".join(
        f"count(*) FILTER ({check.condition}) AS {check.key}, count(*) FILTER ({check.out_of}) AS {check.key}_of"
        for check in checks
    )
    rows = case.store.query(
        f"SELECT system, kind, entity, {counts} FROM observations WHERE {case.running} AND {case.time_condition()} "
        "GROUP BY system, kind, entity ORDER BY ALL"
    ).to_pylist()
    if not rows:
        return [NotEvaluated(_NAME, "counters over time (any importer of observations)")]
    outcomes: list[Outcome] = []
    for check in checks:
        hit: dict[str, dict[EntityRef, tuple[int, int]]] = defaultdict(dict)
        for row in rows:
            bad, of = row[check.key], row[f"{check.key}_of"]
            if bad and bad > check.share_min * of:
                hit[row["system"]][EntityRef(row["system"], row["kind"], row["entity"])] = (bad, of)
        outcomes += [_finding(case, check, system, entities) for system, entities in sorted(hit.items())]
    if outcomes:
        return outcomes
    seen = sum(row["negative_of"] for row in rows)
    return [
        Healthy(
            _NAME, f"None of {counted(seen, 'interval')} of {counted(len(rows), 'entity', 'entities')} is impossible."
        )
    ]


def _finding(case: Case, check: _Check, system: str, hit: dict[EntityRef, tuple[int, int]]) -> Finding:
    bad, of = (sum(pair[place] for pair in hit.values()) for place in (0, 1))
    columns = ", ".join(check.columns)
    return Finding(
        rule=_NAME,
        severity=Severity.WARNING,
        confidence=0.95,
        title=f"{check.title} on {counted(len(hit), 'entity', 'entities')} of {system}",
        summary=(f"{bad:,} of {of:,} intervals ({format_ratio(bad / of)}) {check.words}: {listed(case, hit)}."),
        why="Neighbouring values that look possible may be wrong for the same reason, and findings on them with it.",
        innocent="The tool rounds, or the source defines the counter in another way than its name says.",
        check="Look at the rows below beside the source, and read the counter's definition in its manual.",
        remedy=check.remedy,
        source="The counters' own definitions; bounds of magnitude: ours.",
        entities=tuple(sorted(hit)),
        evidence=(
            case.evidence(
                f"Rows with {check.title.lower()}",
                f"""SELECT kind, entity, time, {columns} FROM observations
                WHERE {observed(case, hit, f"({check.condition})")} ORDER BY time, kind, entity""",
            ),
        ),
        weight=0.1,
        numbers={"intervals": bad, "intervals_seen": of, "entities": len(hit)},
    )


RULE = Rule(
    name=_NAME,
    title="counters hold values that cannot be",
    evaluate=_evaluate,
    thresholds=(
        Threshold("ratio_excess_max", 0.05, "excess over 1 that rounding may give a share", "ours"),
        Threshold("parts_excess_max", 0.05, "excess of reads and writes over all operations", "ours"),
        Threshold("ops_per_s_min", 10, "operations per second from which a latency of 0 is doubted", "ours"),
        Threshold("zero_latency_share_max", 0.5, "share of loaded intervals that may show a latency of 0", "ours"),
        Threshold("ops_per_s_max", 1e8, "operations per second beyond any storage", "ours"),
        Threshold("bytes_per_s_max", 1e13, "bytes per second beyond any storage", "ours"),
        Threshold("latency_ns_max", 3.6e12, "latency beyond any time-out: an hour", "ours"),
        Threshold("queue_depth_max", 1e6, "operations in flight beyond any queue", "ours"),
    ),
)  # fmt: skip
