"""The verdict: every outcome of a diagnosis, in the order a tired person should read them."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Outcome, Severity


class NotePlace(enum.Enum):
    """Where a verdict on a terminal tells a note; pages and JSON hold all of them."""

    FIRST = "before the findings: it says what was judged"
    LAST = "after them: it says how far their times can be trusted, and may change what they mean"
    DETAILS = "after them, where all was asked for"


@dataclass(frozen=True)
class Note:
    """What was done to the evidence, or chosen of it, in a sentence."""

    words: str
    place: NotePlace = NotePlace.DETAILS


@dataclass(frozen=True)
class JudgedPart:
    """The part of a store that was judged, where that is not all of it."""

    run: str | None
    """The run that was judged alone; None where all that was measured was judged, or several runs were."""
    left_out: Sequence[str]
    """Simulated runs of the store that were not judged, the latest first."""
    words: str
    """What was judged, what was not, and how to judge that."""


@dataclass(frozen=True)
class Provenance:
    """What the verdict rests on, so that it can be repeated."""

    storscope_version: str
    host: str
    made_at_ns: int
    store: str
    captures: Sequence[Mapping[str, object]]
    """Rows of the `captures` table."""
    thresholds: Mapping[str, Mapping[str, float]]
    """Rule -> threshold -> value in force."""
    overridden: Sequence[str] = ()
    """'rule.threshold' names that the user's file changed."""
    notes: Sequence[Note] = ()
    """What was done to the evidence: clocks brought together, overlapping captures set aside."""
    part: JudgedPart | None = None
    """None: everything in the store was judged."""
    seed: int = 0


OF_THE_DATA: Final = frozenset({"littles-law", "units-suspected", "impossible-values", "outstanding-mismatch"})
"""Rules that look whether the numbers fit together: that they do tells nothing of the storage."""

LATENCY_RULE: Final = "latency-above-tier"
"""The rule that judges how long I/Os take: what it did not judge is not known to be healthy, whatever else is."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """Findings first by severity then by weight and confidence; healthy conditions; rules without evidence.

    It equals no other, as no two are made at the same time; their findings do.
    """

    findings: Sequence[Finding]
    healthy: Sequence[Healthy]
    not_evaluated: Sequence[NotEvaluated]
    start_ns: int | None
    end_ns: int | None
    provenance: Provenance
    bad_windows: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    """System -> intervals (start, end) in which its latency was bad."""
    clock_offsets_ns: Mapping[str, int] = field(default_factory=dict)
    """Capture -> what was added to its times to bring clocks together."""
    until_ns: int | None = None
    """What began then or later was not judged, as an end of the time was asked for; None: no end was."""
    set_aside: Mapping[EntityRef, Collection[str]] = field(default_factory=dict)
    """Entity -> captures that were not used for it, as fuller ones cover the same time."""
    zero_ns: int | None = None
    """Where the virtual clock of the one simulated run that was judged began: its times are told since then. None where
    times are those of a real clock."""

    @property
    def worst(self) -> Severity | None:
        """The greatest severity, None when there is no finding."""
        return max((finding.severity for finding in self.findings), default=None)

    @property
    def is_of_storage(self) -> bool:
        """Whether anything was found or found healthy besides that the numbers fit together."""
        return bool(self.findings) or any(one.rule not in OF_THE_DATA for one in self.healthy)

    @property
    def is_healthy(self) -> bool:
        """Whether nothing was found, and how long I/Os take was judged."""
        return not self.findings and any(one.rule == LATENCY_RULE for one in self.healthy)

    @property
    def latency_needs(self) -> str:
        """What it would take to judge how long I/Os take, of the first system that lacks it; empty where all was."""
        return next((one.needs for one in self.not_evaluated if one.rule == LATENCY_RULE), "")


def ordered(outcomes: Sequence[Outcome]) -> tuple[list[Finding], list[Healthy], list[NotEvaluated]]:
    """Outcomes sorted into the three lists; findings with the one that matters most first."""
    findings = sorted(
        (outcome for outcome in outcomes if isinstance(outcome, Finding)),
        key=lambda finding: (-finding.severity, -finding.weight * finding.confidence, finding.rule, finding.title),
    )
    healthy = [outcome for outcome in outcomes if isinstance(outcome, Healthy)]
    return findings, healthy, [outcome for outcome in outcomes if isinstance(outcome, NotEvaluated)]
