"""Both sides of a comparison over the time since their start: IOPS, bandwidth and mean latency, where both have them.

A side of several runs has a line for each of the first few. Long runs are drawn with fewer points, each the mean of its
neighbours, latency weighted by operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from storscope.domain.comparison import AFTER, BEFORE, ComparedSubject, Comparison, PairResult
from storscope.domain.comparison_words import name_of, side_words
from storscope.domain.entity import said_of
from storscope.domain.units import NS_PER_S, format_count, format_span
from storscope.report.downsample import Downsampled, downsample
from storscope.report.pack import Packer
from storscope.report.sweep_chart import PANELS

_POINTS_MAX: Final = 240
_RUNS_MAX: Final = 3
_PAIRS_MAX: Final = 8
_LOG_FROM: Final = 30.0
_LATENCY: Final = "latency_ns_mean"


@dataclass(frozen=True)
class Course:
    """A pair over time: `chart` goes to the data island."""

    name: str
    note: str
    chart: dict[str, object]
    aria: str


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
    end_s = max(float(line.time_ns[-1]) for line in lines) / NS_PER_S
    labels = _labels(drawn, words)
    panels = [
        {
            "name": name,
            "title": PANELS[name],
            "log": _spans(name, lines),
            "lines": [[packer.add_values(_values(line, name))] for line in lines],
        }
        for name in names
    ]
    chart: dict[str, object] = {
        "kind": "sweep",
        "axis": {"title": "Time since the start", "is_time": True, "values": [0.0, end_s], "labels": ["", ""]},
        "labels": labels,
        "looks": [0 if one.side == BEFORE else 1 for one in drawn],
        "x": [packer.add_values(line.time_ns / NS_PER_S) for line in lines],
        "invalid": [packer.add_counts(np.zeros(len(line.time_ns))) for line in lines],
        "panels": panels,
    }
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
    operations = over_time.columns.get("ops_per_s")
    weights = {} if operations is None else {_LATENCY: operations}
    return downsample(over_time.begin_ns, over_time.end_ns, over_time.columns, weights, _POINTS_MAX)


def _values(line: Downsampled, name: str) -> list[float]:
    column = line.columns.get(name)
    return [float("nan")] * len(line.time_ns) if column is None else column.mean.tolist()


def _spans(name: str, lines: Sequence[Downsampled]) -> bool:
    values = np.concatenate([np.asarray(_values(line, name)) for line in lines])
    known = values[np.isfinite(values) & (values > 0)]
    return bool(len(known)) and bool(known.max() > _LOG_FROM * known.min())


def _note(drawn: Sequence[ComparedSubject], lines: Sequence[Downsampled], left_out: int) -> str:
    parts = ["Points are intervals, each at its beginning."]
    most = max(line.samples_per_bucket for line in lines)
    if most > 1:
        parts = [f"Points are means of up to {format_count(most)} intervals, each at the beginning of its first."]
    lengths_ns = {
        int(np.median(one.over_time.end_ns - one.over_time.begin_ns)) for one in drawn if one.over_time is not None
    }
    parts.append(f"Intervals are of {' and '.join(format_span(length) for length in sorted(lengths_ns))}.")
    if left_out:
        runs = "run is" if left_out == 1 else "runs are"
        parts.append(f"{format_count(left_out)} more {runs} compared but not drawn.")
    return " ".join(parts)
