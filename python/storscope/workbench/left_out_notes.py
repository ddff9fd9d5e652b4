"""What importers left out of files that were judged, where that is much of them: a verdict is of the rest alone.

Told by the reasons and counts of the captures, in the words of `storscope import`, for files of this call and of a
store alike. A reason counts values, cells, lines or rows as its importer does, so the share is a rough one: it tells
whether to look, not how much is gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from storscope.domain.units import format_count
from storscope.domain.verdict import Note, NotePlace

_SHARE_MIN: Final = 0.1
"""Of what was kept and left out together; below, it is a row that broke off or the like (ours)."""
_KEPT: Final = ("observations", "events", "facts", "histograms", "runs")
_MOST_REASONS: Final = 4
_NO_LOSS: Final = (
    "follow from", "twice", "the same occurrence", "that sums", "the sum of", "sums of", "repeat", "shown again",
    "averages and the like", "of other activities", "not about storage", "not read", "of other objects",
    "of other families", "(iostat -n)", "(prios)", "first report", "first sample", "first snapshot", "first reading",
    "start-up", "never did an operation", "moved no data", "unused places", "of their worker", "are kept",
    "kept as counters", "earlier status", "beyond the first five", "cut to ", "taken as 100 %", "messages",
    "blank lines", "above the heading", "annotations", "beside the JSON", "of text that are no result",
    "marks of restarts", "given as -1", "further columns of live updates", "before the first",
    "outside every known section", "outside the tables", "behind the last interval",
)  # fmt: skip
"""What reasons say of things that hold nothing more: sums, repetitions, first samples, other subjects than storage. Any
other reason may have taken evidence."""


def left_out_notes(captures: Sequence[Mapping[str, Any]]) -> list[Note]:
    """One for all files that lost much for the same reasons; `captures` are rows of that table."""
    files: dict[tuple[str, ...], list[str]] = {}
    counts: dict[tuple[str, ...], Counter[str]] = {}
    for capture in captures:
        lost = _lost(capture)
        if lost:
            reasons = tuple(sorted(lost))
            files.setdefault(reasons, []).append(str(capture["path"]))
            counts.setdefault(reasons, Counter()).update(lost)
    return [_note(files[reasons], counts[reasons]) for reasons in files]


def _lost(capture: Mapping[str, Any]) -> Counter[str]:
    """Reason -> count of what a capture is without; empty where that is little."""
    omitted = dict(capture.get("omitted") or ())
    lost = Counter({why: count for why, count in omitted.items() if count and not any(w in why for w in _NO_LOSS)})
    rows = dict(capture.get("row_counts") or ())
    kept = sum(rows.get(table, 0) for table in _KEPT)
    return lost if lost.total() > _SHARE_MIN * (lost.total() + kept) else Counter()


def _note(names: Sequence[str], lost: Counter[str]) -> Note:
    where = names[0] if len(names) == 1 else f"{names[0]} and {format_count(len(names) - 1)} more"
    said = [f"{format_count(count)}: {why}" for why, count in lost.most_common(_MOST_REASONS)]
    said += [f"{len(lost) - _MOST_REASONS} more reasons"] if len(lost) > _MOST_REASONS else []
    much = "which is much of it" if len(names) == 1 else "which is much of them"
    return Note(f"{where}: left out {'; '.join(said)}; {much}, and was not judged.", NotePlace.FIRST)
