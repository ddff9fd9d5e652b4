"""Writes the intervals of a run into the tables: the job and, of several streams or targets, each as a part of it.

Block by block and column by column: a row at a time takes longer than many a simulation. Flushes count among all
operations and their latency, as fio's do, and have histograms and counters of their own (`domain.flush`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

from storscope.bench.figures import DIRECTIONS, FLUSHES, MEASURES, PARTS_OF_SERVICE, Interval
from storscope.bench.histograms import Histograms
from storscope.bench.joining import nothing_of
from storscope.domain.arrays import FloatArray, IntArray
from storscope.domain.entity import EntityRef
from storscope.domain.flush import LATENCY, OPERATION, RATE
from storscope.domain.recorder import HistogramColumns, Recorder
from storscope.domain.units import NS_PER_S

_PERCENTILES = (0.5, 0.99)
_TALLIES_AT_ONCE = 4096
"""How many are held as columns; a day's run has millions."""
Cell = tuple[int, int]
"""Numbers of a stream and of a target."""
_OF_FLUSHES = ((RATE, "1/s"), (LATENCY, "ns"))


class IntervalWriter:
    """Writes intervals of one job; `seen` is the measure that stands for the latency a user sees.

    Where there are several `cells`, each is a part of the job, an entity that `part_of` names. All are in every
    interval, so that they add up to the job: what has not begun or has ended makes no I/O. What compare and reports add
    up is the job alone. In virtual time the generator's own cost is that of the simulator: not written.
    """

    def __init__(
        self, recorder: Recorder, job: EntityRef, start_ns: int, seen: str, part_of: Callable[[Cell], EntityRef],
        cells: Sequence[Cell], *, is_virtual: bool = False,
    ) -> None:  # fmt: skip
        self._recorder, self._job, self._start_ns, self._seen = recorder, job, start_ns, seen
        self._is_virtual = is_virtual
        self.parts = {cell: part_of(cell) for cell in cells} if len(cells) > 1 else {}
        """What is written beside the job."""

    def write(self, intervals: Iterable[Interval], run: str) -> int:
        """All of them, in order; returns how long they are, in ns."""
        pending: list[Interval] = []
        tallies = duration_ns = 0
        for interval in intervals:
            pending.append(interval)
            tallies += len(DIRECTIONS) * max(len(self.parts), len(interval.form["cells"]))
            duration_ns += interval.duration_ns
            if tallies >= _TALLIES_AT_ONCE:
                self._write(pending, run)
                pending, tallies = [], 0
        if pending:
            self._write(pending, run)
        return duration_ns

    def _write(self, intervals: Sequence[Interval], run: str) -> None:
        block = _Block(intervals, self._start_ns, tuple(self.parts))
        whole = block.by_interval()
        self._observe(block, [self._job], whole, run)
        self._count(block, intervals, whole, run)
        self._count_flushes(block, [self._job], whole, run)
        self._distribute(block, [self._job], whole.directed, run)
        if self.parts:
            self._write_parts(block, run)

    def _write_parts(self, block: _Block, run: str) -> None:
        sums = block.by_cell()
        entities = [self.parts[cell] for cell in block.cells]
        self._observe(block, entities, sums, run)
        self._count_flushes(block, entities, sums, run)
        self._distribute(block, entities, {measure: sums.directed[measure] for measure in MEASURES}, run)

    def _observe(self, block: _Block, entities: Sequence[EntityRef], sums: _Sums, run: str) -> None:
        shape = (len(entities), len(block.times))
        seen, service = sums.both[self._seen], sums.both["service"]
        columns: dict[str, FloatArray] = {
            "ops_per_s": block.per_s(sums.ios.sum(axis=0)),
            "bytes_per_s": block.per_s(sums.bytes.sum(axis=0)),
            "latency_ns_mean": seen.means_ns,
            "latency_ns_max": seen.max_ns,
            "device_latency_ns_mean": service.means_ns,
        }
        if entities == [self._job]:  # what is in flight is only counted in sum
            columns["queue_depth_mean"] = block.outstanding
        for number, word in enumerate(DIRECTIONS.values()):
            columns[f"{word}_ops_per_s"] = block.per_s(sums.ios[number])
            columns[f"{word}_bytes_per_s"] = block.per_s(sums.bytes[number])
            columns[f"{word}_latency_ns_mean"] = sums.directed[self._seen][number].means_ns
        self._recorder.observe_columns(
            entities, block.times, block.durations, {name: values.reshape(shape) for name, values in columns.items()},
            run=run,
        )  # fmt: skip

    def _distribute(
        self, block: _Block, entities: Sequence[EntityRef], latencies: Mapping[str, Sequence[Histograms]], run: str
    ) -> None:
        for measure, directed in latencies.items():
            for word, found in zip(block.operations.values(), directed, strict=True):
                # The engine's buckets include both ends, the tables' only the upper one.
                columns = HistogramColumns(
                    found.offsets, (found.low - 1).astype(np.float64), found.high.astype(np.float64), found.count
                )
                self._recorder.histogram_columns(
                    entities, block.times, block.durations, word, measure, columns, run=run
                )

    def _count_flushes(self, block: _Block, entities: Sequence[EntityRef], sums: _Sums, run: str) -> None:
        """Rate and mean latency of those of a run that has any; of the latter, in an interval without one, nothing."""
        if FLUSHES not in block.operations:
            return
        number = list(block.operations).index(FLUSHES)
        shape = (len(entities), len(block.times))
        rates = block.per_s(sums.ios[number]).reshape(shape)
        means = sums.directed[self._seen][number].means_ns.reshape(shape)
        for entity, *columns in zip(entities, rates.tolist(), means.tolist(), strict=True):
            for time_ns, length_ns, *values in zip(
                block.times.tolist(), block.durations.tolist(), *columns, strict=True
            ):
                self._recorder.counters(entity, time_ns, length_ns, zip(_OF_FLUSHES, values, strict=True), run=run)

    def _count(self, block: _Block, intervals: Sequence[Interval], whole: _Sums, run: str) -> None:
        lateness, ios = whole.both["lateness"], whole.ios[: len(DIRECTIONS)].sum(axis=0)
        late = {share: lateness.quantiles_ns(share) for share in _PERCENTILES}
        means = lateness.means_ns
        for at, interval in enumerate(intervals):
            counted: list[tuple[str, str, float | None]] = [
                ("lateness mean", "ns", means[at]),
                ("offered", "1/s", interval.offered_per_s),
                ("failed", "", interval.failed),
                *(() if self._is_virtual else _own_cost(interval, int(ios[at]))),
                *((f"lateness p{share:.0%}".rstrip("%"), "ns", late[share][at]) for share in _PERCENTILES),
            ]
            time_ns, length_ns = int(block.times[at]), int(block.durations[at])
            for name, unit, value in counted:
                self._recorder.counter(self._job, time_ns, length_ns, name, unit, value, run=run)


def _own_cost(interval: Interval, ios: int) -> list[tuple[str, str, float | None]]:
    return [
        ("cpu per I/O", "ns", interval.cpu_ns / ios if ios else None),
        ("context switches", "", interval.context_switches),
    ]


class _Sums:
    """I/Os, bytes and latencies added up: a row for each of the block's operations, a column for each group."""

    def __init__(self, block: _Block, group_of: IntArray, groups: int) -> None:
        self.ios, self.bytes = (
            np.stack([_integers_summed(each, group_of, groups) for each in of]) for of in (block.ios, block.bytes)
        )
        self.directed: dict[str, list[Histograms]] = {}
        self.both: dict[str, Histograms] = {}
        for measure, pair in block.latencies.items():
            if measure == "service" and pair is block.latencies["response"]:
                self.directed[measure], self.both[measure] = self.directed["response"], self.both["response"]
                continue
            self.directed[measure] = [found.summed(group_of, groups) for found in pair]
            if measure in MEASURES:
                self.both[measure] = _together(self.directed[measure], groups)


class _Block:
    """Some intervals as columns; `cells` are streams on targets, those of the run before others that are in them."""

    def __init__(self, intervals: Sequence[Interval], start_ns: int, cells: Sequence[Cell]) -> None:
        self.times = np.asarray([start_ns + one.start_ns for one in intervals], np.int64)
        self.durations = np.asarray([one.duration_ns for one in intervals], np.int64)
        self.outstanding = np.asarray(
            [math.nan if one.outstanding_mean is None else one.outstanding_mean for one in intervals], np.float64
        )
        forms = [(at, cell) for at, one in enumerate(intervals) for cell in one.form["cells"]]
        keys = [(int(cell["stream"]), int(cell["target"])) for _, cell in forms]
        self.cells = list(dict.fromkeys((*cells, *keys)))
        self._interval_of = np.asarray([at for at, _ in forms], np.int64)
        numbers = {cell: number for number, cell in enumerate(self.cells)}
        self._cell_of = np.asarray([numbers[key] for key in keys], np.int64)
        flushes = any(cell.get(FLUSHES) is not None for _, cell in forms)
        self.operations = {**DIRECTIONS, FLUSHES: OPERATION} if flushes else DIRECTIONS
        """The engine's words and the tables': reads, writes, and flushes where a stream makes any."""
        tallies = [[cell.get(name) or nothing_of(cell["writes"]) for _, cell in forms] for name in self.operations]
        self.ios, self.bytes = (
            [np.asarray([tally[name] for tally in directed], np.int64) for directed in tallies]
            for name in ("ios", "bytes")
        )
        everywhere = [
            part for part in PARTS_OF_SERVICE if forms and all(part in one for one in chain.from_iterable(tallies))
        ]
        is_shared = all(one["service"] is one["response"] for one in chain.from_iterable(tallies))
        self.latencies: dict[str, list[Histograms]] = {}
        for measure in (*MEASURES, *everywhere):
            if measure == "service" and is_shared:
                self.latencies[measure] = self.latencies["response"]
            else:
                found = [Histograms.from_forms([tally[measure] for tally in directed]) for directed in tallies]
                self.latencies[measure] = found

    def by_interval(self) -> _Sums:
        """Over all streams and targets."""
        return _Sums(self, self._interval_of, len(self.times))

    def by_cell(self) -> _Sums:
        """Each alone: group `cell * intervals + interval`."""
        instants = len(self.times)
        return _Sums(self, self._cell_of * instants + self._interval_of, len(self.cells) * instants)

    def per_s(self, counts: IntArray) -> FloatArray:
        """As rates; NaN in an empty interval."""
        durations = np.tile(self.durations, len(counts) // len(self.durations))
        rates = np.full(len(counts), np.nan)
        np.divide(counts, durations, out=rates, where=durations > 0)
        return rates * NS_PER_S


def _integers_summed(values: IntArray, group_of: IntArray, groups: int) -> IntArray:
    """Exact, where the weights of bincount would be floats."""
    sums = np.zeros(groups, np.int64)
    np.add.at(sums, group_of, values)
    return sums


def _together(pair: Sequence[Histograms], groups: int) -> Histograms:
    """All operations as one."""
    both = Histograms.concatenated(pair)
    return both.summed(np.tile(np.arange(groups), len(pair)), groups)
