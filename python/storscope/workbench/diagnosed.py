"""What programs get of evidence: a verdict, a comparison, tables. In one line, as JSON, and with what was not read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa

from storscope.domain import comparison_answer, verdict_answer
from storscope.domain.comparison import Comparison, Outcome
from storscope.domain.comparison_json import comparison_to_json
from storscope.domain.verdict import Verdict
from storscope.domain.verdict_json import verdict_to_json
from storscope.workbench.import_summary import ImportSummary, Skipped


@dataclass(frozen=True, repr=False, eq=False)
class Diagnosed(Verdict):
    """What a diagnosis gave. Look at `not_read` first: files that broke off raise nothing while others are read."""

    not_read: tuple[Skipped, ...] = ()
    """Files of the evidence that were not read, each with its `name`, the `reason`, and whether that `is_error`: a file
    that was named or broke off, in place of one that is merely no evidence."""

    def __repr__(self) -> str:
        """The answer, how many of what was found, and whether there were files that could not be read."""
        return f"<Diagnosed {self.answer!r}; {verdict_answer.counted_outcomes(self)}{_failed(self.not_read)}>"

    @property
    def answer(self) -> str:
        """The finding that matters most, or what its absence means; as the command line says it."""
        return verdict_answer.answer(self)

    def to_json(self) -> dict[str, Any]:
        """Plain values, as `storscope diagnose --json` prints them; docs/verdict-json.md says what they mean."""
        return verdict_to_json(self)


@dataclass(frozen=True, repr=False, eq=False)
class Compared(Comparison):
    """What a comparison gave. `outcome` is of all of it; `pairs` have what differs, row by row."""

    not_read: tuple[Skipped, ...] = ()
    """Files of both sides that were not read, as those of a diagnosis."""

    def __repr__(self) -> str:
        """The answer, how many of what was found, and whether there were files that could not be read."""
        counts = [f"{self.count(outcome)} {outcome.value}" for outcome in Outcome if self.count(outcome)]
        return f"<Compared {self.answer!r}; {', '.join(counts) or 'nothing judged'}{_failed(self.not_read)}>"

    @property
    def answer(self) -> str:
        """What got worse or better and by how much, or why that cannot be told; as the command line says it."""
        if comparison_answer.is_judged(self):
            return comparison_answer.answer(self)[0]
        return f"PREDICTION: {comparison_answer.predictions_off_by(self)}"

    @property
    def outcome(self) -> str:
        """'worse' if anything is; else 'better', 'no difference shown' or 'cannot tell'. 'prediction': not judged."""
        return comparison_answer.answer(self)[1].value if comparison_answer.is_judged(self) else "prediction"

    def to_json(self) -> dict[str, Any]:
        """Plain values, as `storscope compare --json` prints them; docs/compare-json.md says what they mean."""
        return comparison_to_json(self)


class EvidenceTables(dict[str, pa.Table]):
    """The tables of evidence by name."""

    def __init__(self, tables: Mapping[str, pa.Table], summaries: Sequence[ImportSummary]) -> None:
        """With what was not read for them."""
        super().__init__(tables)
        self.not_read = _not_read(summaries)
        """Files that were not read, as those of a diagnosis."""

    def __repr__(self) -> str:
        """How many rows each has: the rows of all would fill many pages."""
        rows = ", ".join(f"{name} {table.num_rows:,}" for name, table in self.items())
        return f"<EvidenceTables of {rows}{_failed(self.not_read)}>"


def diagnosed(verdict: Verdict, summaries: Sequence[ImportSummary]) -> Diagnosed:
    """A verdict with what was not read for it."""
    return Diagnosed(**_values(verdict), not_read=_not_read(summaries))


def compared(comparison: Comparison, summaries: Sequence[ImportSummary]) -> Compared:
    """A comparison with what was not read for it."""
    return Compared(**_values(comparison), not_read=_not_read(summaries))


def _values(value: Verdict | Comparison) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _not_read(summaries: Sequence[ImportSummary]) -> tuple[Skipped, ...]:
    return tuple(one for summary in summaries for one in summary.skipped)


def _failed(not_read: Sequence[Skipped]) -> str:
    count = sum(one.is_error for one in not_read)
    return f"; not read: {count:,} file{'' if count == 1 else 's'}" if count else ""
