"""Times that a verdict prints as UTC though their source says no zone.

An hour that is looked up in a log, or in a backup's schedule, would be another one.

Told by the words of the captures' clocks (`ImportOptions.zone_words`), so for files of this call and of a store alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from storscope.domain.units import format_count
from storscope.domain.verdict import Note, NotePlace

_GUESSED: Final = "taken as UTC"


def guessed_zone_notes(captures: Sequence[Mapping[str, Any]], clock_offsets_ns: Mapping[str, int]) -> list[Note]:
    """One for all files whose times had no zone; none where every zone is known. `captures` are rows of that table.

    Not of those whose times were moved to another clock, which is told with the clock.
    """
    timed = [row for row in captures if row.get("first_time") is not None]
    guessed = [row for row in timed if _GUESSED in str(row.get("clock") or "")]
    names = [str(row["path"]) for row in guessed if not clock_offsets_ns.get(str(row["capture"]))]
    if not names:
        return []
    said = "imes are as the host wrote them, without a zone, and taken as UTC (--timezone)."
    if len(names) == len(timed):
        return [Note(f"T{said}", NotePlace.FIRST)]
    where = names[0] if len(names) == 1 else f"{names[0]} and {format_count(len(names) - 1)} more"
    return [Note(f"{where}: t{said}", NotePlace.FIRST)]
