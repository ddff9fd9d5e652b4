"""The findings that tell a cause, named by one that tells what was felt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from storscope.diagnose.case import Case
from storscope.diagnose.rules._entities import counted
from storscope.diagnose.rules.drive_failed import worked_on
from storscope.domain.finding import Finding, Outcome, Severity

CAUSES = frozenset({
    "heavy-hitter", "noisy-neighbour", "load-at-limit", "latency-follows-io-size", "component-saturated",
    "controller-imbalance", "proxied-operations", "ownership-flapping", "cache-policy-flood", "drive-failed",
    "uneven-drives", "convoy", "path-dead", "path-slow", "host-queue-full", "kernel-latency", "commands-aborted",
    "reservation-conflicts", "round-robin-limit", "array-queue-full", "media-errors", "throughput-cap",
    "burst-credits-spent", "flush-bound", "member-slow",
})  # fmt: skip
"""Rules that tell why something is slow, and not only that it is, or when."""
_WORK = "drive-failed"
"""The rule that tells of rebuilds, restripes and scrubs."""
_PERHAPS = frozenset({"throughput-cap", "burst-credits-spent"})
"""Rules whose information is a cause that only somebody else can confirm: who sets limits."""
_NAMED_MOST = 3
_FIND = (
    "ind where the time goes: compare the latency that the host sees with that of the array and of its drives, import "
    "what is missing of them, and diagnose again; then take load away from what is full, or spread it, before buying."
)
_NONE = f"None of the other findings names a cause. F{_FIND}"


def with_causes(case: Case, finding: Finding, outcomes: Sequence[Outcome]) -> Finding:
    """The finding with a remedy that begins with the causes found in its systems and those that they rest on.

    What is information at most is no cause, but where nothing else is found work on its drives, such as a rebuild, and
    a limit that may be set for it.
    """
    whole = {one for entity in finding.entities for one in (entity, *case.components(entity))}
    systems = {one.system for one in whole}
    there = [
        one
        for one in outcomes
        if isinstance(one, Finding) and one.rule in CAUSES and any(entity.system in systems for entity in one.entities)
    ]
    causes = [one for one in there if one.severity is not Severity.INFO]
    causes.sort(key=lambda one: (-one.severity, -one.weight))
    work = [one for one in there if one.rule == _WORK and whole & worked_on(case) and _began_before(one, finding)]
    if not causes and work:
        return replace(finding, remedy=f"See the finding that may be its cause: {_named(work[0])}. {work[0].remedy}")
    perhaps = [one for one in there if one.rule in _PERHAPS and not whole.isdisjoint(one.entities)]
    if not causes and perhaps:
        return replace(finding, remedy=f"See first whether this is so: {_named(perhaps[0])}. If not, f{_FIND}")
    return replace(finding, remedy=_remedy(causes) if causes else _NONE)


def _began_before(work: Finding, finding: Finding) -> bool:
    """Whether it began before what was felt had ended."""
    return work.start_ns is None or finding.end_ns is None or work.start_ns < finding.end_ns


def _named(cause: Finding) -> str:
    return f"'{cause.title}' ({cause.rule})"


def _remedy(causes: Sequence[Finding]) -> str:
    named = ", ".join(map(_named, causes[:_NAMED_MOST]))
    more = f" and {counted(len(causes) - _NAMED_MOST, 'more finding')}" if len(causes) > _NAMED_MOST else ""
    first = "the finding that may be its cause" if len(causes) == 1 else "the findings that may be its causes"
    return f"See {first}: {named}{more}. Take load away or spread it before buying."
