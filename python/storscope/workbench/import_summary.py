"""What becomes of each file of an import, and of all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Imported:
    """One file that is now in the store."""

    name: str
    capture: str
    format: str
    rows: Counter[str]
    omitted: Counter[str]
    warnings: Sequence[str]
    clock: str | None
    system: str | None


@dataclass(frozen=True)
class Known:
    """One file whose content the store had already."""

    name: str
    capture: str
    read_otherwise: bool = False
    """It was imported without an option that is given now, or with another value of it."""


@dataclass(frozen=True)
class Skipped:
    """One file that is not, and why. `is_error` when the user will want to know at once."""

    name: str
    reason: str
    is_error: bool = False


@dataclass
class ImportSummary:
    """What an import did."""

    imported: list[Imported] = field(default_factory=list)
    known: list[Known] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def add(self, outcome: Imported | Known | Skipped) -> None:
        """Takes note of what became of a file."""
        match outcome:
            case Imported():
                self.imported.append(outcome)
            case Known():
                self.known.append(outcome)
            case Skipped():
                self.skipped.append(outcome)

    @property
    def captures(self) -> list[str]:
        """The captures the named files stand for, whether new or known."""
        return [item.capture for item in self.imported] + [item.capture for item in self.known]

    @property
    def failures(self) -> list[Skipped]:
        """What must not be passed over in silence."""
        return [item for item in self.skipped if item.is_error]
