"""The space behind a thin volume is used up, or nearly.

Looks for
    Writes that the array refused because it has no space left for them, and its warning that a threshold is passed.

Why it matters
    Writes to blocks that were never written fail for every volume of the pool, whatever its own size: virtual
    machines are paused, file systems go read-only, databases stop. Reads still work, so it looks like half a fault.

Evidence
    Host logs with sense data of failed commands: 0x7 0x27 0x7 (DATA PROTECT, SPACE ALLOCATION FAILED WRITE PROTECT)
    and 0x6 0x38 0x7 (UNIT ATTENTION, THIN PROVISIONING SOFT THRESHOLD REACHED).

When it is wrong
    It is not the pool but a quota or a snapshot reserve of this one volume that is full. Space was given in the
    meantime, which a host is not told: the last failure has a time.

References
    T10 SPC-4, annex of additional sense codes; T10 SBC-3, "Logical block provisioning", for what a device server does
    when its resources are exhausted. One refused write is a fault by itself; no threshold is involved.
"""

from __future__ import annotations

from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings
from storscope.diagnose.rules._entities import counted
from storscope.diagnose.rules._logs import HOST_LOG, host_logs, window_of
from storscope.diagnose.rules._sense import Sense, by_count, failed_with, failures, sense_rows, times_each, when_words
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.store.events import Event

_NAME = "thin-pool-full"
_FULL = Sense(0x7, 0x27, 0x7)
_NEARLY = Sense(0x6, 0x38, 0x7)


def _evaluate(case: Case, _settings: Settings) -> Sequence[Outcome]:
    full = failed_with(case, lambda sense: sense == _FULL)
    nearly = failed_with(case, lambda sense: sense == _NEARLY)
    outcomes: list[Outcome] = [
        _finding(case, system, full.get(system, []), nearly.get(system, [])) for system in sorted({*full, *nearly})
    ]
    logs = host_logs(case)
    if logs is not None and not outcomes:
        outcomes.append(Healthy(_NAME, f"No write failed for want of space in {logs}."))
    return outcomes or [NotEvaluated(_NAME, HOST_LOG)]


def _finding(case: Case, system: str, full: list[Event], nearly: list[Event]) -> Finding:
    events = [*full, *nearly]
    start, end = window_of(full or nearly)
    devices = counted(len(by_count(full or nearly)), "device")
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if full else Severity.WARNING,
        confidence=0.95 if full else 0.85,
        title=f"No space left behind {devices} of {system}" if full else f"Space behind {devices} of {system} runs out",
        summary=" ".join(_summary(case, full, nearly)),
        why=(
            "The array has no space left for new blocks: writes fail on every volume of the pool, virtual machines "
            "are paused and file systems go read-only."
            if full
            else "When the pool is full, writes fail on all its volumes at once."
        ),
        innocent="A quota or snapshot reserve of this volume is full and not the pool; or space was given since.",
        check=(
            "Read the use of the pool behind these volumes on the array, its snapshots and reserves; then the last "
            "time of a failure here."
        ),
        remedy=(
            "Extend the pool, delete snapshots, or move volumes away; give back what was deleted (esxcli storage vmfs "
            "unmap -l DATASTORE). Then resume paused virtual machines, and set alarms below the end of the pool."
        ),
        source="A write refused for want of space is a fault by itself; no threshold is involved.",
        entities=tuple(entity for entity, _ in by_count(events)),
        start_ns=start,
        end_ns=end,
        evidence=(sense_rows(case, f"Commands refused for want of space on {system}", system, events),),
        weight=0.95 if full else 0.5,
        numbers={"writes_refused": len(full), "warnings": len(nearly)},
    )


def _summary(case: Case, full: list[Event], nearly: list[Event]) -> list[str]:
    words = []
    if full:
        words.append(
            f"{failures(len(full))} with DATA PROTECT, space allocation failed ({_FULL}), {when_words(case, full)}: "
            f"{times_each(case, full)}."
        )
    if nearly:
        words.append(
            f"The array warned {counted(len(nearly), 'time')} that its threshold of used space is passed ({_NEARLY}), "
            f"{when_words(case, nearly)}: {times_each(case, nearly)}."
        )
    return words


RULE = Rule(name=_NAME, title="the space behind a thin volume is used up", evaluate=_evaluate)
