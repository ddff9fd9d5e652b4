"""Findings: what a rule concludes, with the rows it rests on."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

from storscope.domain.entity import EntityRef
from storscope.domain.units import format_ratio


class Severity(enum.IntEnum):
    """How much a finding matters. INFO explains, WARNING will hurt or hurts a little, CRITICAL hurts now."""

    INFO = 1
    WARNING = 2
    CRITICAL = 3

    @property
    def word(self) -> str:
        """The word a person reads."""
        return self.name.lower()


Cell = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class EvidenceRows:
    """Rows a finding rests on, and the SQL that gives them again from the store.

    Column names carry units, as in the tables. `rows` may be cut; `total_rows` counts them all.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    query: str
    total_rows: int | None = None

    @property
    def unknown_columns(self) -> list[str]:
        """Columns without a value in any of the rows; the query has them too."""
        return [name for name, known in zip(self.columns, self._known(), strict=True) if not known]

    def without_unknown(self) -> EvidenceRows:
        """The same without these columns, which a person would only see to be empty."""
        known = self._known()
        return replace(
            self, columns=list(compress(self.columns, known)), rows=[list(compress(row, known)) for row in self.rows]
        )

    def _known(self) -> list[bool]:
        """For each column; all of them in a table that has nothing else."""
        known = [any(row[index] is not None for row in self.rows) for index in range(len(self.columns))]
        return known if any(known) else [True] * len(known)


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """A conclusion. Texts are sentences for a tired person; numbers in them carry units."""

    rule: str
    severity: Severity
    confidence: float
    """0 to 1: how sure we are that the condition holds and matters, given the evidence at hand."""
    title: str
    """The verdict in at most a dozen words: 'vmk2 carries no iSCSI traffic'."""
    summary: str
    """Two or three sentences with the decisive numbers."""
    why: str
    innocent: str
    """The innocent explanation that would make this finding harmless."""
    check: str
    """The check that would decide between the finding and its innocent explanation."""
    remedy: str
    source: str
    """Where the threshold comes from."""
    entities: Sequence[EntityRef] = ()
    start_ns: int | None = None
    end_ns: int | None = None
    evidence: Sequence[EvidenceRows] = ()
    weight: float = 0.0
    """Orders findings of one severity: the share of the harm this explains, 0 to 1."""
    numbers: dict[str, float] = field(default_factory=dict)
    """The decisive numbers by name, units in the name, for machines."""

    def __repr__(self) -> str:
        """What was found, how bad and how sure that is."""
        return (
            f"<Finding {self.severity.word} {self.title!r} ({self.rule}, confidence {format_ratio(self.confidence)})>"
        )

    def __hash__(self) -> int:
        """So that findings can be in sets: lists that it has have no hash."""
        return hash((self.rule, self.severity, self.title, self.summary, self.start_ns, self.end_ns))


@dataclass(frozen=True, slots=True)
class Healthy:
    """A condition that was looked for, with evidence, and is not there."""

    rule: str
    statement: str


@dataclass(frozen=True, slots=True)
class NotEvaluated:
    """A rule without its evidence, and what it would need."""

    rule: str
    needs: str


Outcome = Finding | Healthy | NotEvaluated
