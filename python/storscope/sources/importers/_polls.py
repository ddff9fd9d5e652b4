"""Polls of an array's cumulative counters, each object with a time of its own: what happened from one poll to the next.

Polls are put in order of their own times, since files of a folder come in that of their names. An interval in which a
counter fell, or in which the time that the counters began at changed, has a reset in it and is left out. What a poll
does not tell of an object (NaN) stays unknown in both intervals that it bounds.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from storscope.domain import units
from storscope.domain.arrays import BoolArray, FloatArray, IntArray
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder

NO_RESET_TOLD: Final = float("nan")
"""Since when counters count, of sources that do not say."""


@dataclass(frozen=True)
class Changes:
    """What happened to one object, interval by interval: all arrays have one value for each."""

    entity: EntityRef
    starts_ns: IntArray
    spans_ns: IntArray
    _by_name: dict[str, FloatArray]

    def per_s(self, name: str) -> FloatArray:
        """Of a counter, for each second."""
        return self._by_name[name] / (self.spans_ns / units.NS_PER_S)

    def per(self, name: str, other: str) -> FloatArray:
        """Of a counter, for each of another; NaN where there was none of these."""
        others = self._by_name[other]
        shares: FloatArray = np.divide(self._by_name[name], others, out=np.full(len(others), np.nan), where=others > 0)
        return shares

    def share(self, recorder: Recorder, what: str, values: FloatArray) -> FloatArray:
        """Values of a ratio; those above 1, as of counters that are not read at once, are cut to it and counted."""
        recorder.omit(f"{what} above 1 cut to 1", int((values > 1.0).sum()))
        cut: FloatArray = np.minimum(values, 1.0)
        return cut

    def observe(self, recorder: Recorder, **more: FloatArray) -> None:
        """Writes rates and latencies, of counters called read_ops, read_bytes, read_us (microseconds), and `more`."""
        columns = dict(more)
        for kind in ("read", "write"):
            columns[f"{kind}_ops_per_s"] = self.per_s(f"{kind}_ops")
            columns[f"{kind}_bytes_per_s"] = self.per_s(f"{kind}_bytes")
            columns[f"{kind}_latency_ns_mean"] = self.per(f"{kind}_us", f"{kind}_ops") * units.NS_PER_US
        with_axis = {name: values[None, :] for name, values in columns.items()}
        recorder.observe_columns([self.entity], self.starts_ns, self.spans_ns, with_axis)

    def count(self, recorder: Recorder, name: str, unit: str, values: FloatArray) -> None:
        """Writes values of a counter that has no canonical column."""
        timeline = recorder.timeline(self.starts_ns, self.spans_ns)
        recorder.series(timeline, [self.entity], [name], [unit], values[None, :])


@dataclass
class _Seen:
    """Polls of one object, in the order in which they came."""

    times_ns: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))
    """Since when the counters count, then each of them, poll by poll."""


@dataclass
class Polls:
    """Takes the polls of all objects; gives what happened between them."""

    recorder: Recorder
    names: Sequence[str]
    """Of the counters, in the order in which `see` has them."""
    _seen: dict[EntityRef, _Seen] = field(default_factory=dict)

    def see(self, entity: EntityRef, time_ns: int, counters: Sequence[float], since: float = NO_RESET_TOLD) -> None:
        """The counters of an object at one time, in the source's units."""
        seen = self._seen.setdefault(entity, _Seen())
        seen.times_ns.append(time_ns)
        seen.values.extend((since, *counters))

    @property
    def entities(self) -> list[EntityRef]:
        """All objects that were seen, in order of their first poll."""
        return list(self._seen)

    def changes(self) -> Iterator[Changes]:
        """Of each object with an interval that is whole."""
        for entity, seen in self._seen.items():
            times_ns = np.asarray(seen.times_ns, dtype=np.int64)
            values = np.asarray(seen.values, dtype=np.float64).reshape(len(times_ns), -1)
            times_ns, kept = np.unique(times_ns, return_index=True)
            self.recorder.omit("polls of an object at a time of which it has one", len(values) - len(kept))
            values = values[kept]
            whole = self._without_reset(values)
            if not whole.any():
                continue
            steps = np.diff(values[:, 1:], axis=0)[whole]
            by_name = {name: steps[:, column] for column, name in enumerate(self.names)}
            yield Changes(entity, times_ns[:-1][whole], np.diff(times_ns)[whole], by_name)

    def _without_reset(self, values: FloatArray) -> BoolArray:
        """Which intervals have none."""
        steps = np.diff(values, axis=0)  # a comparison with NaN is false: what is not told is no reset
        reset = (np.abs(steps[:, 0]) > 0) | (steps[:, 1:] < 0).any(axis=1)
        self.recorder.omit("intervals with a counter reset", int(reset.sum()))
        kept: BoolArray = ~reset
        return kept


def write_changes(polls: Polls, recorder: Recorder, write: Callable[[Changes], None]) -> None:
    """Writes what happened to each object by the array's own clock, and says so where nothing did."""
    recorder.notes.clock = "the array's own, zone in the file"
    found = 0
    for changes in polls.changes():
        found += 1
        write(changes)
    if not found and polls.entities:
        recorder.warn("No object was seen twice without a reset between: rates need two polls, in one file or folder.")


def counted(value: object) -> float:
    """A counter of an answer in JSON, where it may be a number or a text; NaN for what is none, or below zero."""
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else np.nan
    except (ValueError, OverflowError):
        return float("nan")
    return number if 0 <= number < np.inf else float("nan")
