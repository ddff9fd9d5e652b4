"""What a cloud's monitoring keeps of a thing: a value of each metric a period, gathered, and written as observations.

Both clouds stamp a value with the start of its period (recalled: CloudWatch, "Timestamp" of a Datapoint; Azure
Monitor, "timeStamp" of a MetricValue), and leave out periods of which they know nothing: a gap stays a gap. The period
is what the source says, or --interval, or else the shortest step between values that is no exception.

Beware: metrics of one thing may have unlike periods. Those of an observation have the same one; values of another
period than most of a thing's are left out of it, and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from storscope.domain import units
from storscope.domain.arrays import FloatArray, IntArray
from storscope.domain.entity import EntityRef
from storscope.domain.errors import MalformedInput
from storscope.domain.recorder import Recorder

_LEAST_SHARE: Final = 0.1
"""Of all steps, from which the shortest one is the period and no exception (ours)."""
_ROUNDING: Final = 1e-6
"""Per cent by which a mean of shares may pass 0 or 100 by the arithmetic alone (ours)."""
_MOST_CLASHES: Final = 1 / 3
"""Of all values, from which several things have been taken as one (ours)."""

Points = dict[int, float]
"""Start of a period, ns -> value."""


@dataclass(frozen=True)
class Kept:
    """One metric of one thing, by one statistic (Sum, Average; empty where the source does not say)."""

    metric: str
    statistic: str


@dataclass
class CloudSamples:
    """Takes values in any order; each time of a metric counts once."""

    recorder: Recorder
    things: dict[EntityRef, dict[Kept, Points]] = field(default_factory=dict)
    said_ns: dict[tuple[EntityRef, Kept], int] = field(default_factory=dict)
    """Periods that the source says."""
    _taken: int = 0
    _clashes: int = 0

    def add(self, entity: EntityRef, kept: Kept, time_ns: int, value: float) -> None:
        """One value."""
        self._taken += 1
        points = self.things.setdefault(entity, {}).setdefault(kept, {})
        before = points.setdefault(time_ns, value)
        if before != value:
            self._clashes += 1
            self.recorder.omit("values of a metric that has another value at that time")

    def refuse_mixtures(self, where: str, hint: str) -> None:
        """Raises MalformedInput where so many values clash that they are of several things."""
        if self._clashes > _MOST_CLASHES * self._taken:
            raise MalformedInput(
                "one value of each metric, volume and time",
                f"{self._clashes:,} times another value of the same one", where=where, hint=hint,
            )  # fmt: skip

    def periods(self, interval_s: float | None) -> dict[tuple[EntityRef, Kept], int]:
        """The period of each metric, ns. A single value has that of its thing's others, else that of all."""
        found = {entity: self._told(entity, interval_s) for entity in self.things}
        usual = _most_common(length_ns for lengths in found.values() for length_ns in lengths.values())
        periods: dict[tuple[EntityRef, Kept], int] = {}
        for entity, metrics in self.things.items():
            of_thing = _most_common(found[entity].values()) or usual
            lengths = ((kept, found[entity].get(kept) or of_thing) for kept in metrics)
            periods |= {(entity, kept): length_ns for kept, length_ns in lengths if length_ns}
        return periods

    def _told(self, entity: EntityRef, interval_s: float | None) -> dict[Kept, int]:
        """The periods of a thing's metrics that are said, or that their own steps tell."""
        asked_ns = round(interval_s * units.NS_PER_S) if interval_s else 0
        lengths = (
            (kept, asked_ns or self.said_ns.get((entity, kept)) or usual_step(points))
            for kept, points in self.things[entity].items()
        )
        return {kept: length_ns for kept, length_ns in lengths if length_ns}


def usual_step(times_ns: Iterable[int]) -> int | None:
    """The shortest step that is no exception: idle periods may be absent, so that the most frequent one is longer."""
    steps = np.diff(np.array(sorted(times_ns), dtype=np.int64))
    if not len(steps):
        return None
    lengths, counts = np.unique(steps, return_counts=True)
    return int(lengths[counts >= _LEAST_SHARE * len(steps)].min(initial=int(np.median(steps))))


def _most_common(lengths_ns: Iterable[int]) -> int | None:
    counts = Counter(lengths_ns)
    return min(counts, key=lambda length: (-counts[length], length)) if counts else None


# Writing ---------------------------------------------------------------------------------------------------------


def write_columns(recorder: Recorder, entity: EntityRef, columns: Mapping[str, Points], period_ns: int) -> None:
    """Observations of a thing: canonical column -> values in its unit."""
    times_ns, values = _grid(recorder, columns, period_ns)
    if len(times_ns):
        lengths_ns = np.full(len(times_ns), period_ns, dtype=np.int64)
        arrays = {name: row[None, :] for name, row in zip(columns, values, strict=True)}
        recorder.observe_columns([entity], times_ns, lengths_ns, arrays)


def write_counters(
    recorder: Recorder, entity: EntityRef, counters: Mapping[tuple[str, str], Points], period_ns: int
) -> None:
    """Counters of a thing that have no canonical column: (name, unit) -> values."""
    times_ns, values = _grid(recorder, counters, period_ns)
    if len(times_ns):
        timeline = recorder.timeline(times_ns, np.full(len(times_ns), period_ns, dtype=np.int64))
        names, said = zip(*counters, strict=True)
        recorder.series(timeline, [entity] * len(names), names, said, values)


def left_of_percent(recorder: Recorder, points: Points, *, is_used: bool = False) -> Points:
    """The share of credits that is left, 0 to 1, of per cent that are left or that are used; others are counted."""
    near = ((time_ns, value, min(max(0.0, value), 100.0)) for time_ns, value in points.items())
    kept = {time_ns: share / 100 for time_ns, value, share in near if abs(value - share) <= _ROUNDING}
    recorder.omit("balances of credits below 0 or above 100 %", len(points) - len(kept))
    return {time_ns: 1 - share for time_ns, share in kept.items()} if is_used else kept


def _grid(
    recorder: Recorder, some: Mapping[str, Points] | Mapping[tuple[str, str], Points], period_ns: int
) -> tuple[IntArray, FloatArray]:
    """All times in order, and a row of values for each metric, NaN where it has none."""
    every = sorted({time_ns for points in some.values() for time_ns in points})
    kept: list[int] = []
    for time_ns in every:
        if not kept or time_ns - kept[-1] >= period_ns:
            kept.append(time_ns)
    recorder.omit("values less than a period after the one before", len(every) - len(kept))
    values = np.array([[points.get(time_ns, np.nan) for time_ns in kept] for points in some.values()])
    return np.array(kept, dtype=np.int64), values.reshape(len(some), len(kept))
