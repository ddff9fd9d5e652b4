"""What of a store was judged although it is not of the evidence that was just brought into it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from storscope.domain.verdict import Note, NotePlace, Verdict


def with_beside(verdict: Verdict, own: Collection[str]) -> Verdict:
    """The verdict with a note of what was judged beside the captures `own`, if anything was."""
    words = _beside(verdict, own)
    return with_first(verdict, words) if words else verdict


def with_first(verdict: Verdict, *sentences: str) -> Verdict:
    """The verdict with these sentences before all its notes."""
    notes = [*(Note(words, NotePlace.FIRST) for words in sentences), *verdict.provenance.notes]
    return replace(verdict, provenance=replace(verdict.provenance, notes=notes))


def _beside(verdict: Verdict, own: Collection[str]) -> str:
    count = sum(capture["capture"] not in own for capture in verdict.provenance.captures)
    if not count:
        return ""
    captures = "1 capture that was" if count == 1 else f"{count:,} captures that were"
    return (
        f"also judged: {captures} in the store {verdict.provenance.store} already. To judge the paths alone, leave "
        "--store out."
    )
