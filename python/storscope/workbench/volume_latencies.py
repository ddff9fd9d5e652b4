"""Writes the latencies that hosts saw of each simulated volume, interval by interval, as distributions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from storscope.bench.figures import DIRECTIONS, FLUSHES, Interval
from storscope.bench.histograms import Histograms
from storscope.domain.entity import EntityRef
from storscope.domain.flush import OPERATION
from storscope.domain.recorder import HistogramColumns, Recorder

_MEASURE = "service"
"""From submission to completion: what the array took. What its generator added is in the run's own."""

_NOTHING = {_MEASURE: {"count": 0}}
"""The tally of flushes of a stream without any."""


def record_volume_latencies(
    recorder: Recorder, system: str, volume_of: Sequence[str], intervals: Sequence[Interval], start_ns: int
) -> None:
    """`volume_of` names the volume behind each target; hosts and streams are added up."""
    volumes = list(dict.fromkeys(volume_of))
    numbers = {name: number for number, name in enumerate(volumes)}
    number_of = [numbers[name] for name in volume_of]
    cells = [(at, cell) for at, interval in enumerate(intervals) for cell in interval.form["cells"]]
    if not cells:
        return
    instants = len(intervals)
    group_of = np.asarray([number_of[cell["target"]] * instants + at for at, cell in cells], np.int64)
    times = np.asarray([start_ns + interval.start_ns for interval in intervals], np.int64)
    durations = np.asarray([interval.duration_ns for interval in intervals], np.int64)
    entities = [EntityRef(system, "vdisk", volume) for volume in volumes]
    flushes = any(cell.get(FLUSHES) is not None for _, cell in cells)
    for name, word in {**DIRECTIONS, **({FLUSHES: OPERATION} if flushes else {})}.items():
        found = Histograms.from_forms([(cell.get(name) or _NOTHING)[_MEASURE] for _, cell in cells])
        summed = found.summed(group_of, len(volumes) * instants)
        # The engine's buckets include both ends, the tables' only the upper one.
        columns = HistogramColumns(
            summed.offsets, (summed.low - 1).astype(np.float64), summed.high.astype(np.float64), summed.count
        )
        recorder.histogram_columns(entities, times, durations, word, _MEASURE, columns)
