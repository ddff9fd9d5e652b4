"""The findings that tell a cause, named by one that tells what was felt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from storscope.diagnose.case import Case
from storscope.diagnose.rules._ended_work import ended_work
from storscope.diagnose.rules._entities import counted
from storscope.diagnose.rules._slowed import is_logged
from storscope.diagnose.rules.drive_failed import worked_on
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Outcome, Severity

CAUSES = frozenset({
    "heavy-hitter", "noisy-neighbour", "load-at-limit", "latency-follows-io-size", "component-saturated",
    "controller-failed", "controller-imbalance", "proxied-operations", "ownership-flapping", "cache-policy-flood",
    "drive-failed", "uneven-drives", "convoy", "path-dead", "path-slow", "host-queue-full", "kernel-latency",
    "commands-aborted", "reservation-conflicts", "round-robin-limit", "array-queue-full", "media-errors",
    "throughput-cap", "burst-credits-spent", "flush-bound", "member-slow", "write-cache-full",
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
_LOGGED = "If that is the cause, mend it; take no load away before that is known."
_ENDED = (
    "None of the other findings names a cause, but the array worked on its drives meanwhile: see whether it is slow "
    f"without that. If not, give such work a lower rate or another time; else f{_FIND}"
)
_NONE = f"None of the other findings names a cause. F{_FIND}"


def with_causes(case: Case, finding: Finding, outcomes: Sequence[Outcome]) -> Finding:
    """The finding with a remedy that begins with the causes found in its systems and those that they rest on.

    What is information at most is no cause, but for work on its drives, such as a rebuild, and where nothing else is
    found what a log says of the moment at which it began, a limit that may be set for it, or work on its drives that
    ran meanwhile and has ended. Nor is what began when it was over.
    """
    there = [one for one in _told_there(case, finding, outcomes) if _began_before(one, finding)]
    causes, work = _causes(there), _work(case, finding, there)
    if not causes and work:
        return replace(finding, remedy=f"See the finding that may be its cause: {_named(work[0])}. {work[0].remedy}")
    logged = [one for one in there if is_logged(one) and _meet(one, finding)]
    if not causes and logged:
        said = f"See when it began, and what a log says of that: {_named(logged[0])}."
        return replace(finding, remedy=f"{said} {_LOGGED}")
    whole = _whole(case, finding)
    perhaps = [one for one in there if one.rule in _PERHAPS and not whole.isdisjoint(one.entities)]
    if not causes and perhaps:
        return replace(finding, remedy=f"See first whether this is so: {_named(perhaps[0])}. If not, f{_FIND}")
    ended = ended_work(case, whole, finding.start_ns, finding.end_ns)
    if not causes and ended.words:
        said, rows = ("", ()) if ended.words in finding.summary else (f"{ended.words} ", ended.evidence)
        return replace(finding, remedy=f"{said}{_ENDED}", evidence=(*finding.evidence, *rows))
    return replace(finding, remedy=_remedy(causes, work) if causes else _NONE)


def with_causes_at_the_time(case: Case, finding: Finding, outcomes: Sequence[Outcome]) -> Finding:
    """The finding with a remedy that names what other rules found of its systems in its time; as it is if nothing."""
    there = [one for one in _told_there(case, finding, outcomes) if one.rule != finding.rule and _meet(one, finding)]
    causes, work = _causes(there), _work(case, finding, there)
    return replace(finding, remedy=f"{_see(causes, work)}.") if causes or work else finding


def _whole(case: Case, finding: Finding) -> set[EntityRef]:
    return {one for entity in finding.entities for one in (entity, *case.components(entity))}


def _told_there(case: Case, finding: Finding, outcomes: Sequence[Outcome]) -> list[Finding]:
    """What is told of causes in its systems and those that they rest on."""
    systems = {one.system for one in _whole(case, finding)}
    return [
        one
        for one in outcomes
        if isinstance(one, Finding) and one.rule in CAUSES and any(entity.system in systems for entity in one.entities)
    ]


def _causes(there: Sequence[Finding]) -> list[Finding]:
    causes = [one for one in there if one.severity is not Severity.INFO]
    return sorted(causes, key=lambda one: (-one.severity, -one.weight))


def _work(case: Case, finding: Finding, there: Sequence[Finding]) -> list[Finding]:
    """What is told for information of work on its drives."""
    if not _whole(case, finding) & worked_on(case):
        return []
    return [one for one in there if one.rule == _WORK and one.severity is Severity.INFO]


def _meet(one: Finding, finding: Finding) -> bool:
    """Whether one was there in the time of the other, as far as both tell theirs."""
    ended = one.end_ns is not None and finding.start_ns is not None and one.end_ns < finding.start_ns
    return _began_before(one, finding) and not ended


def _began_before(work: Finding, finding: Finding) -> bool:
    """Whether it began before what was felt had ended."""
    return work.start_ns is None or finding.end_ns is None or work.start_ns < finding.end_ns


def _named(cause: Finding) -> str:
    return f"'{cause.title}' ({cause.rule})"


def _remedy(causes: Sequence[Finding], work: Sequence[Finding]) -> str:
    return f"{_see(causes, work)}. Take load away or spread it before buying."


def _see(causes: Sequence[Finding], work: Sequence[Finding]) -> str:
    """'See the findings that may be its causes: ...', without a full stop."""
    named = ", ".join(map(_named, causes[:_NAMED_MOST]))
    more = f" and {counted(len(causes) - _NAMED_MOST, 'more finding')}" if len(causes) > _NAMED_MOST else ""
    beside = f"{', beside what runs on its drives: ' if causes else ''}{_named(work[0])}" if work else ""
    first = "the finding that may be its cause" if len(causes) + len(work[:1]) == 1 else _SEVERAL
    return f"See {first}: {named}{more}{beside}"


_SEVERAL = "the findings that may be its causes"
