"""One row of an evaperf table, and the names and sums that are made of its cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from storscope.sources.importers._evaperf_columns import Column


@dataclass(frozen=True)
class Row:
    """One line of a table: which object, when it was printed, numbers in their printed unit, and words."""

    object: str
    stamp: str | None
    columns: Sequence[Column]
    numbers: Mapping[str, float | None]
    words: Mapping[str, str]
    printed: Sequence[str] = ()
    """The numbers as they stand in the line."""
    separator: str = " "
    """What separates the cells of the line."""

    @property
    def controller(self) -> str | None:
        """The controller the row counts for."""
        return controller_name(self.words.get("controller"))

    @property
    def owner(self) -> str | None:
        """The controller that the virtual disk is online to."""
        return controller_name(self.words.get("online_to"))

    @property
    def name(self) -> str | None:
        """The friendly name without the folder all share, else the ID; '' for the array itself."""
        if self.object == "as":
            return ""
        if self.object == "cs":
            return self.controller or self.words.get("name") or self.words.get("serial")
        if self.object in ("vdg", "pdg"):
            return group_name(self.words.get("group") or self.words.get("name") or self.words.get("id"))
        return friendly(self.words.get("name") or self.words.get("id"))

    def value(self, key: str) -> float | None:
        """A measure in canonical units; None where the column is missing or empty."""
        number = self.numbers.get(key)
        column = next((column for column in self.columns if column.key == key), None)
        return None if number is None or column is None else number * column.factor

    def operations(self) -> float | None:
        """All host operations per second of the row."""
        return total(self.value(key) for key in ("read_hit_ops", "read_miss_ops", "read_ops", "write_ops"))


def controller_name(text: str | None) -> str | None:
    """'A' for 'Controller A', 'Ctlr A' and 'A', so that 'Online To' and 'Ctlr' can be compared."""
    words = [word for word in (text or "").split() if word.lower() not in ("controller", "ctlr", "ctrl")]
    return " ".join(words) or None


def friendly(text: str | None) -> str | None:
    r"""'ESX\vmfs01' for '\Virtual Disks\ESX\vmfs01\ACTIVE'; other names as they are."""
    if not text or not text.startswith("\\"):
        return text or None
    parts = [part for part in text.split("\\") if part]
    if parts and parts[0].lower() in ("virtual disks", "disk groups", "hardware", "hosts"):
        parts = parts[1:]
    if len(parts) > 1 and parts[-1] == "ACTIVE":
        parts = parts[:-1]
    return "\\".join(parts) or None


def group_name(text: str | None) -> str | None:
    """The disk group as a name: 'Default Disk Group'."""
    return friendly(text)


def total(values: Iterable[float | None]) -> float | None:
    """The sum of what is there; None when nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def weighted(parts: Iterable[tuple[float | None, float | None]]) -> float | None:
    """Mean of (weight, value) pairs; None when nothing weighs, or when something that weighs has no value."""
    known = [(weight, value) for weight, value in parts if weight]
    if not known or any(value is None for _, value in known):
        return None
    return sum(weight * value for weight, value in known if value is not None) / sum(weight for weight, _ in known)
