"""Both sides of a comparison over the time since their start: IOPS, bandwidth and mean latency, where both have them.

A side of several runs has a line for each of the first few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from storscope.domain.comparison import AFTER, BEFORE, ComparedSubject, Comparison, PairResult
from storscope.domain.comparison_words import name_of, side_words
from storscope.domain.entity import said_of
from storscope.domain.units import format_count
from storscope.report.course_chart import Course, course_chart, course_note, thinned
from storscope.report.downsample import Downsampled
from storscope.report.pack import Packer
from storscope.report.sweep_chart import PANELS

_RUNS_MAX: Final = 3
_PAIRS_MAX: Final = 8


def courses_of(comparison: Comparison, packer: Packer) -> tuple[list[Course], int]:
    """A chart for each of the first pairs that have intervals on both sides, and how many more there are."""
    found = [pair for pair in comparison.pairs if pair.rows and _shared(pair)]
    words = dict(zip((BEFORE, AFTER), side_words(comparison), strict=True))
    return [_course(pair, words, packer) for pair in found[:_PAIRS_MAX]], max(0, len(found) - _PAIRS_MAX)


def _shared(pair: PairResult) -> list[str]:
    """The figures that some run of either side has over time."""
    sides = [
        {name for one in pair.subjects if one.side == side and one.over_time for name in _known(one)}
        for side in (BEFORE, AFTER)
    ]
    return [name for name in PANELS if all(name in side for side in sides)]


def _known(subject: ComparedSubject) -> list[str]:
    columns = subject.over_time.columns if subject.over_time else {}
    return [name for name, values in columns.items() if np.isfinite(values).any()]


def _course(pair: PairResult, words: dict[str, str], packer: Packer) -> Course:
    names = _shared(pair)
    drawn, left_out = _drawn(pair)
    lines = [_thinned(one) for one in drawn]
    chart = course_chart(names, lines, _labels(drawn, words), packer)
    chart["looks"] = [0 if one.side == BEFORE else 1 for one in drawn]
    titles = ", ".join(PANELS[name] for name in names)
    return Course(
        name_of(pair),
        _note(drawn, lines, left_out),
        chart,
        said_of(name_of(pair), f"{titles} over the time since the start."),
    )


def _drawn(pair: PairResult) -> tuple[list[ComparedSubject], int]:
    """The first runs of each side that have a course, and how many are left out."""
    known = [one for one in pair.subjects if one.over_time is not None]
    drawn = [one for side in (BEFORE, AFTER) for one in [one for one in known if one.side == side][:_RUNS_MAX]]
    return drawn, len(known) - len(drawn)


def _labels(drawn: Sequence[ComparedSubject], words: dict[str, str]) -> list[str]:
    """'before', or 'before 1', 'before 2' of repetitions."""
    counts = {side: sum(one.side == side for one in drawn) for side in (BEFORE, AFTER)}
    seen = dict.fromkeys(counts, 0)
    labels = []
    for one in drawn:
        seen[one.side] += 1
        labels.append(words[one.side] + (f" {seen[one.side]}" if counts[one.side] > 1 else ""))
    return labels


def _thinned(subject: ComparedSubject) -> Downsampled:
    over_time = subject.over_time
    assert over_time is not None
    return thinned(over_time.begin_ns, over_time.end_ns, over_time.columns)


def _note(drawn: Sequence[ComparedSubject], lines: Sequence[Downsampled], left_out: int) -> str:
    known = [one.over_time for one in drawn if one.over_time is not None]
    note = course_note(lines, (int(np.median(one.end_ns - one.begin_ns)) for one in known))
    if not left_out:
        return note
    runs = "run is" if left_out == 1 else "runs are"
    return f"{note} {format_count(left_out)} more {runs} compared but not drawn."
