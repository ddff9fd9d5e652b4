"""Runs of a sweep that did not come to their end, where the sweep measured the same again.

Ctrl-C in the middle of a point leaves a run of some milliseconds, and the sweep that is continued measures that point
anew. Its own table leaves the first one out, and so does a comparison: as a repetition it would weigh as much as one
that is whole. A run without another in its place stays, as it is all that there is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from storscope.domain.sweep import MEASURED

Row = Mapping[str, Any]


def measured_again(runs: Sequence[Row]) -> tuple[list[Row], Counter[tuple[str, str]]]:
    """The runs without those, and of the ones in their place (capture, run) how many each stands for."""
    whole = {place: run for run in runs if run["status"] in MEASURED and (place := _place(run)) is not None}
    kept: list[Row] = []
    stands_for: Counter[tuple[str, str]] = Counter()
    for run in runs:
        place = _place(run)
        if place in whole and run["status"] not in MEASURED:
            stands_for[whole[place]["capture"], whole[place]["run"]] += 1
        else:
            kept.append(run)
    return kept, stands_for


def _place(run: Row) -> tuple[str, str, str] | None:
    """The point of a sweep, and which repetition of it; None of a run of no sweep."""
    parameters = dict(run["parameters"] or ())
    if not parameters.get("sweep"):
        return None
    return parameters["sweep"], parameters.get("sweep_point", ""), parameters.get("sweep_block", "")
