"""Columns and metrics that an importer leaves out, gathered so that the capture says which, why, and what to rename."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from storscope.domain.recorder import Recorder
from storscope.sources.importer import shortened

_MOST_NAMED: Final = 8
"""Of one reason; the others are counted."""


@dataclass
class LeftOut:
    """Names by reason, each with how many values it had."""

    _names: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, name: str, reason: str, values: int = 1) -> None:
        """Takes note of values of one name."""
        self._names.setdefault(reason, Counter())[name] += values

    def tell(self, recorder: Recorder, remedy: str) -> None:
        """Counts the values by reason, and names them with what can be done."""
        for reason, names in self._names.items():
            recorder.omit(f"values left out: {reason}", names.total())
            shown = ", ".join(f"'{shortened(name, 60)}'" for name in list(names)[:_MOST_NAMED])
            more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
            recorder.warn(f"Left out: {shown}{more}: {reason}. {remedy}".rstrip())
