"""Runs over the time since their start: IOPS, bandwidth and mean latency, a panel each.

Long runs are drawn with fewer points, each the mean of its neighbours, latency weighted by operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from storscope.domain.arrays import FloatArray, IntArray
from storscope.domain.units import NS_PER_S, format_count, format_span
from storscope.report.downsample import Downsampled, downsample
from storscope.report.pack import Packer
from storscope.report.sweep_chart import PANELS

_POINTS_MAX: Final = 240
_LOG_FROM: Final = 30.0
"""The greatest value over the least at which a scale from zero hides the rest (ours)."""
_LATENCY: Final = "latency_ns_mean"


@dataclass(frozen=True)
class Course:
    """What is drawn over time: `chart` goes to the data island."""

    name: str
    note: str
    chart: dict[str, object]
    aria: str


def thinned(begin_ns: IntArray, end_ns: IntArray, columns: Mapping[str, FloatArray]) -> Downsampled:
    """The points of a line, from intervals in ns since its start and their columns (of PANELS)."""
    operations = columns.get("ops_per_s")
    weights = {} if operations is None else {_LATENCY: operations}
    return downsample(begin_ns, end_ns, columns, weights, _POINTS_MAX)


def course_chart(
    names: Iterable[str], lines: Sequence[Downsampled], labels: Sequence[str], packer: Packer
) -> dict[str, object]:
    """The chart of some lines, whose times are since each one's start; a panel for each of `names` (of PANELS)."""
    end_s = max(float(line.time_ns[-1]) for line in lines) / NS_PER_S
    panels = [
        {
            "name": name,
            "title": PANELS[name],
            "log": _spans(name, lines),
            "lines": [[packer.add_values(_values(line, name))] for line in lines],
        }
        for name in names
    ]
    return {
        "kind": "sweep",
        "axis": {"title": "Time since the start", "is_time": True, "values": [0.0, end_s], "labels": ["", ""]},
        "labels": list(labels),
        "x": [packer.add_values(line.time_ns / NS_PER_S) for line in lines],
        "invalid": [packer.add_counts(np.zeros(len(line.time_ns))) for line in lines],
        "panels": panels,
    }


def course_note(lines: Sequence[Downsampled], interval_ns: Iterable[int]) -> str:
    """What a point is, and how long the intervals are."""
    most = max(line.samples_per_bucket for line in lines)
    points = "Points are intervals, each at its beginning."
    if most > 1:
        points = f"Points are means of up to {format_count(most)} intervals, each at the beginning of its first."
    return f"{points} Intervals are of {' and '.join(format_span(length) for length in sorted(set(interval_ns)))}."


def _values(line: Downsampled, name: str) -> list[float]:
    column = line.columns.get(name)
    return [float("nan")] * len(line.time_ns) if column is None else column.mean.tolist()


def _spans(name: str, lines: Sequence[Downsampled]) -> bool:
    values = np.concatenate([np.asarray(_values(line, name)) for line in lines])
    known = values[np.isfinite(values) & (values > 0)]
    return bool(len(known)) and bool(known.max() > _LOG_FROM * known.min())
