"""A device says that it cannot read or write its medium, or that its hardware is broken.

Looks for
    Failed commands whose sense key is MEDIUM ERROR (0x3) or HARDWARE ERROR (0x4).

Why it matters
    A block that cannot be read is data lost, unless a mirror or a backup has it. Before it gives up, a drive tries
    for seconds, which every command behind it waits for; and drives that begin so seldom stop there.

Evidence
    Host logs with sense data of failed commands ("failed H:0x0 D:0x2 P:0x0 Valid sense data: 0x3 0x11 0x0").

When it is wrong
    A disc in an optical drive or a card in a reader has such errors and concerns nobody. Arrays answer with HARDWARE
    ERROR while a controller restarts or is replaced; disks do so to queries of health (opcode 0x85) they do not know.

References
    T10 SPC-4, "Sense key and sense code definitions" and its annex of additional sense codes. The thresholds are ours.
    Recovered errors (0x1), illegal requests (0x5) and unit attentions (0x6) are common and not looked at here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import counted, joined
from storscope.diagnose.rules._logs import HOST_LOG, host_logs, window_of
from storscope.diagnose.rules._sense import (
    Sense,
    by_count,
    failed_with,
    failures,
    sense_of,
    sense_rows,
    times_each,
    when_words,
)
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.store.events import Event

_NAME = "media-errors"
_MEDIUM, _HARDWARE = 0x3, 0x4
_KEYS = {_MEDIUM: "MEDIUM ERROR", _HARDWARE: "HARDWARE ERROR"}
_CODES = {
    0x03: "write fault", 0x0C: "write error", 0x11: "unrecovered read error", 0x15: "positioning error",
    0x31: "format corrupted", 0x32: "no spare sectors left", 0x44: "internal target failure",
}  # fmt: skip


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    outcomes: list[Outcome] = []
    isolated = 0
    for system, events in failed_with(case, lambda sense: sense.key in _KEYS).items():
        bad = _bad(events, settings)
        concerned = [event for event in events if event.entity in bad]
        isolated += len(events) - len(concerned)
        if concerned:
            outcomes.append(_finding(case, settings, system, concerned))
    logs = host_logs(case)
    if logs is not None and not outcomes:
        words = f"{failures(isolated)} with HARDWARE ERROR" if isolated else "No medium and no hardware error"
        outcomes.append(Healthy(_NAME, f"{words} in {logs}."))
    return outcomes or [NotEvaluated(_NAME, HOST_LOG)]


def _bad(events: Sequence[Event], settings: Settings) -> set[EntityRef]:
    """The devices with enough errors of one of the two kinds."""
    least = {_MEDIUM: settings["medium_min_count"], _HARDWARE: settings["hardware_min_count"]}
    counts = Counter((event.entity, sense.key) for event in events if (sense := sense_of(event)) is not None)
    return {entity for (entity, key), number in counts.items() if number >= least[key]}


def _finding(case: Case, settings: Settings, system: str, events: list[Event]) -> Finding:
    hit = by_count(events)
    start, end = window_of(events)
    kinds = Counter(sense for event in events if (sense := sense_of(event)) is not None)
    medium = sum(number for sense, number in kinds.items() if sense.key == _MEDIUM)
    return Finding(
        rule=_NAME,
        severity=Severity.CRITICAL if hit[0][1] >= settings["errors_severe_count"] else Severity.WARNING,
        confidence=0.85,
        title=f"{'Medium' if medium else 'Hardware'} errors on {counted(len(hit), 'device')} of {system}",
        summary=(
            f"{failures(len(events))} {when_words(case, events)}: {times_each(case, events)}. "
            f"The devices said {joined([_words(sense, number) for sense, number in kinds.most_common()], 3)}."
        ),
        why=(
            "What cannot be read is lost unless a copy has it, and a drive that tries for seconds makes every command "
            "behind it wait."
        ),
        innocent=(
            "An optical disc or a card in a reader; or an array whose controller was restarted or replaced at that "
            "time."
        ),
        check=(
            "Look whether the same blocks fail again, and read the health of these devices: esxcli storage core device "
            "smart get -d ID, or the array's own log for the drives behind the volume."
        ),
        remedy=(
            "See that a copy or backup is good, then replace the drive that fails; on an array, let it verify (scrub) "
            "the disk group and restore what is lost."
        ),
        source="One medium error, three hardware errors, five of them severe: ours.",
        entities=tuple(entity for entity, _ in hit),
        start_ns=start,
        end_ns=end,
        evidence=(sense_rows(case, f"Medium and hardware errors of {system}", system, events),),
        weight=0.85 if medium else 0.7,
        numbers={"medium_errors": medium, "hardware_errors": len(events) - medium, "errors_of_worst": hit[0][1]},
    )


def _words(sense: Sense, number: int) -> str:
    meaning = f", {_CODES[sense.code]}" if sense.code in _CODES else ""
    return f"{_KEYS[sense.key]} {sense}{meaning} ({number:,})"


RULE = Rule(
    name=_NAME,
    title="a device has medium or hardware errors",
    evaluate=_evaluate,
    thresholds=(
        Threshold("medium_min_count", 1, "medium errors of a device from which it is a finding", "ours"),
        Threshold("hardware_min_count", 3, "hardware errors of a device from which it is a finding", "ours"),
        Threshold("errors_severe_count", 5, "errors of one device from which it is critical", "ours"),
    ),
)  # fmt: skip
