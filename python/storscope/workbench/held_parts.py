"""What a store has already of files that are imported as one: the same evidence must not count twice.

A capture of a file with others beside it says which captures these would be by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from storscope.domain.errors import DamagedStore
from storscope.store import Store

OPTION: Final = "holds"
"""The option of a capture that names what it holds."""


@dataclass(frozen=True)
class HeldParts:
    """The captures of a store that hold others."""

    store: Store

    def holder_of(self, capture: str) -> str | None:
        """The capture that holds what would be this one."""
        return self._holders.get(capture)

    def note_on(self, captures: Iterable[str]) -> str | None:
        """What is said where some of them are there by themselves."""
        there = self._there(captures)
        return f"Takes the place of {' and '.join(there)}, which had a part of it." if there else None

    def take_the_place_of(self, captures: Iterable[str], holder: str) -> None:
        """Removes those that are there by themselves, now that one holds them; none if that one is damaged."""
        there = self._there(captures)
        if there and self.store.fault_of(holder) is not None:
            return
        for capture in there:
            self.store.remove_capture(capture)
        self._holders.update(dict.fromkeys(captures, holder))

    def _there(self, captures: Iterable[str]) -> list[str]:
        return [capture for capture in captures if self.store.has_capture(capture)]

    @cached_property
    def _holders(self) -> dict[str, str]:
        """Of each part; what a damaged capture holds cannot be told, and need not keep others from being read."""
        found: dict[str, str] = {}
        for capture in self.store.capture_ids():
            try:
                row = self.store.capture(capture) or {}
            except DamagedStore:
                continue
            found |= dict.fromkeys(dict(row.get("options") or ()).get(OPTION, "").split(), capture)
        return found
