"""The findings that tell a cause, named by one that tells what was felt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from storscope.diagnose.case import Case
from storscope.diagnose.rules._entities import counted
from storscope.domain.finding import Finding, Outcome, Severity

CAUSES = frozenset({
    "heavy-hitter", "noisy-neighbour", "load-at-limit", "latency-follows-io-size", "component-saturated",
    "controller-imbalance", "proxied-operations", "ownership-flapping", "cache-policy-flood", "drive-failed",
    "uneven-drives", "convoy", "path-dead", "path-slow", "host-queue-full", "kernel-latency", "commands-aborted",
    "reservation-conflicts", "round-robin-limit", "array-queue-full", "media-errors", "throughput-cap",
    "burst-credits-spent", "flush-bound",
})  # fmt: skip
"""Rules that tell why something is slow, and not only that it is, or when."""
_NAMED_MOST = 3
_NONE = (
    "None of the other findings names a cause. Find where the time goes: compare the latency that the host sees with "
    "that of the array and of its drives, import what is missing of them, and diagnose again; then take load away from "
    "what is full, or spread it, before buying."
)


def with_causes(case: Case, finding: Finding, outcomes: Sequence[Outcome]) -> Finding:
    """The finding with a remedy that begins with the causes found in its systems and those that they rest on."""
    whole = {one for entity in finding.entities for one in (entity, *case.components(entity))}
    systems = {one.system for one in whole}
    causes = [
        one
        for one in outcomes
        if isinstance(one, Finding)
        and one.rule in CAUSES
        and one.severity is not Severity.INFO
        and any(entity.system in systems for entity in one.entities)
    ]
    causes.sort(key=lambda one: (-one.severity, -one.weight))
    return replace(finding, remedy=_remedy(causes) if causes else _NONE)


def _remedy(causes: Sequence[Finding]) -> str:
    named = ", ".join(f"'{one.title}' ({one.rule})" for one in causes[:_NAMED_MOST])
    more = f" and {counted(len(causes) - _NAMED_MOST, 'more finding')}" if len(causes) > _NAMED_MOST else ""
    first = "the finding that may be its cause" if len(causes) == 1 else "the findings that may be its causes"
    return f"See {first}: {named}{more}. Take load away or spread it before buying."
