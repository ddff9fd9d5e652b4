"""What entities did over time, read from a store: one series per entity, out of the pieces that captures tell of it.

Benchmark results are kept apart from counters of running systems. Where two captures of one entity overlap in time, the
fuller one is used and the other set aside, so that nothing is counted twice. Which one is fuller is decided once, by
`fuller`, on all canonical columns; who reads fewer of them takes over what was set aside.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from storscope.domain.arrays import BoolArray, FloatArray, IntArray
from storscope.domain.entity import EntityRef
from storscope.store.directory import Store
from storscope.store.time_frame import TimeFrame
from storscope.store.views import DERIVED

_LATENCY = "latency_ns_mean"
_MANY_ROWS = 200_000
"""Observations of a kind of entity that are worth a query of their own: 2,000 drives have millions."""


@dataclass(frozen=True)
class Series:
    """What one entity did over time. Arrays have one value an interval, in time order; NaN is absent."""

    entity: EntityRef
    time_ns: IntArray
    duration_ns: IntArray
    """0 where the source gave none."""
    columns: Mapping[str, FloatArray]
    captures: tuple[str, ...] = ()
    has_derived_latency: bool = False
    """Whether `latency_ns_mean` is the mean queue over the rate, as its source told no latency."""

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, column: str) -> FloatArray:
        """A canonical column; all NaN when the source did not have it."""
        values = self.columns.get(column)
        return values if values is not None else np.full(len(self), np.nan)

    def has(self, *columns: str) -> bool:
        """True when every one of the columns has at least one value."""
        return all(column in self.columns for column in columns)

    def within(self, start_ns: int, end_ns: int) -> Series:
        """The intervals that begin in [start, end)."""
        keep = (self.time_ns >= start_ns) & (self.time_ns < end_ns)
        return self.where(keep)

    def where(self, keep: BoolArray) -> Series:
        """The intervals for which `keep` is true."""
        columns = {name: values[keep] for name, values in self.columns.items()}
        return replace(self, time_ns=self.time_ns[keep], duration_ns=self.duration_ns[keep], columns=columns)

    @property
    def interval_ns(self) -> int:
        """The usual interval: the median duration, or the median gap where durations are unknown."""
        known = self.duration_ns[self.duration_ns > 0]
        if len(known):
            return int(np.median(known))
        return median_step(self.time_ns)

    @property
    def anew(self) -> BoolArray:
        """True for the intervals that do not follow on the one before: time was not measured between them.

        Where each of the intervals is a sample of a longer time, 20 s of every five minutes, they follow on each other.
        """
        return after_gaps(self.time_ns, self.duration_ns, max(self.interval_ns, median_step(self.time_ns)))


def read_pieces(
    store: Store, running: str, frame: TimeFrame, columns: Sequence[str], kinds: Sequence[str] = ()
) -> dict[EntityRef, list[Series]]:
    """The observations that `running` (an SQL condition) is true for, of these kinds or of all: one series per entity
    and capture, in the order of entities. A column that a piece has no value of is left out of it."""
    where = f"{running} AND time IS NOT NULL AND {frame.condition()}"
    pieces: dict[EntityRef, list[Series]] = defaultdict(list)
    for block, names, has_derived in _blocks(store, where, columns, kinds):
        flag = f", {DERIVED}, queue_depth_mean AS queue" if has_derived else ""
        table = store.query(
            f"SELECT capture, system, kind, entity, {frame.instant()} AS time_ns, "
            f"coalesce(duration_ns, 0) AS duration_ns{''.join(', ' + name for name in names)}{flag} FROM observations "
            f"WHERE {where} AND list_contains($kinds, kind) "
            "ORDER BY system, kind, entity, capture, time",
            {"kinds": block},
        )
        for (system, kind, name, capture), rows in groups(table, ["system", "kind", "entity", "capture"]):
            entity = EntityRef(system, kind, name)
            held = {column: floats(rows, column) for column in names if rows.column(column).null_count < rows.num_rows}
            piece = Series(entity, ints(rows, "time_ns"), ints(rows, "duration_ns"), held, (capture,))
            if has_derived:
                piece = _with_one_latency(piece, rows.column(DERIVED).to_numpy().astype(bool), floats(rows, "queue"))
            pieces[entity].append(_without_repeats(piece))
    return {entity: pieces[entity] for entity in sorted(pieces)}


def _with_one_latency(piece: Series, derived: BoolArray, queue: FloatArray) -> Series:
    """Latency is measured all along, or derived from the queue: what is measured is not filled up with what is derived.

    A queue in whole numbers alone is no mean: it was counted at moments, and what it gives is no latency.
    """
    if not derived.any():
        return piece
    measured = np.isfinite(piece[_LATENCY]) & ~derived
    if not measured.any() and not (queue[derived] == np.floor(queue[derived])).all():
        return replace(piece, has_derived_latency=True)
    columns = {name: values for name, values in piece.columns.items() if name != _LATENCY}
    if measured.any():
        columns[_LATENCY] = np.where(measured, piece[_LATENCY], np.nan)
    return replace(piece, columns=columns)


def _blocks(
    store: Store, where: str, columns: Sequence[str], kinds: Sequence[str]
) -> list[tuple[list[str], list[str], bool]]:
    """Kinds to read together, with the columns they have, and whether latency is derived in some rows: a kind of very
    many rows is read alone, so that of millions no empty columns are held."""
    counts = ", ".join(f"count({name}) AS {name}" for name in columns)
    rows = store.query(
        f"SELECT kind, count(*) AS rows, count(*) FILTER ({DERIVED}) AS derived, {counts} FROM observations "
        f"WHERE {where} GROUP BY kind"
    ).to_pylist()
    rows = [row for row in rows if not kinds or row["kind"] in kinds]
    alone = [[row] for row in rows if row["rows"] > _MANY_ROWS]
    others = [row for row in rows if row["rows"] <= _MANY_ROWS]
    return [
        (
            [row["kind"] for row in block],
            [name for name in columns if any(row[name] for row in block)],
            _LATENCY in columns and any(row["derived"] for row in block),
        )
        for block in (others, *alone)
        if block
    ]


def clashes(series: Series) -> int:
    """How many intervals begin before half of the one before is over and tell the same columns: there the times of the
    source are wrong, by a clock that was set back or captures of unlike machines joined in one file."""
    if len(series) < 2:
        return 0
    starts_early = np.diff(series.time_ns) < series.duration_ns[:-1] / 2
    tells_same = np.zeros(len(starts_early), dtype=bool)
    for values in series.columns.values():
        told = np.isfinite(values)
        tells_same |= told[1:] & told[:-1]
    return int((starts_early & tells_same).sum())


def _without_repeats(piece: Series) -> Series:
    """Intervals that a capture has twice, to the last figure, once: it was joined with itself."""
    if len(piece) < 2 or np.diff(piece.time_ns).all():
        return piece
    again = (np.diff(piece.time_ns) == 0) & (np.diff(piece.duration_ns) == 0)
    for values in piece.columns.values():
        again &= (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    return piece.where(np.concatenate(([True], ~again)))


def fuller(pieces: Sequence[Series]) -> tuple[list[Series], list[tuple[str, str]]]:
    """Of an entity's pieces with all their columns those to use, and (capture, the fuller one) of those set aside."""
    kept: list[Series] = []
    aside: list[tuple[str, str]] = []
    for piece in sorted(pieces, key=lambda piece: (-_told(piece), -len(piece), piece.captures)):
        rival = next((other for other in kept if _overlap(piece, other)), None)
        if rival is None:
            kept.append(piece)
        else:
            aside.append((piece.captures[0], rival.captures[0]))
    return kept, aside


def _told(piece: Series) -> int:
    """How many columns the source told."""
    return len(piece.columns) - piece.has_derived_latency


def joined(pieces: Sequence[Series]) -> Series:
    """One series out of pieces of an entity that do not overlap."""
    if len(pieces) == 1:
        return pieces[0]
    ordered = sorted(pieces, key=lambda piece: int(piece.time_ns[0]))
    names = sorted({name for piece in ordered for name in piece.columns})
    return Series(
        ordered[0].entity,
        np.concatenate([piece.time_ns for piece in ordered]),
        np.concatenate([piece.duration_ns for piece in ordered]),
        {name: np.concatenate([piece[name] for piece in ordered]) for name in names},
        tuple(capture for piece in ordered for capture in piece.captures),
        any(piece.has_derived_latency for piece in ordered),
    )


def with_durations(series: Series) -> Series:
    """Unknown durations replaced by the usual one; a second where an only interval has none."""
    usual = series.interval_ns or 1_000_000_000
    return replace(series, duration_ns=np.where(series.duration_ns > 0, series.duration_ns, np.int64(usual)))


def median_step(time_ns: IntArray) -> int:
    """The usual time from one instant to the next; 0 of a single one."""
    return int(np.median(np.diff(time_ns))) if len(time_ns) > 1 else 0


def after_gaps(time_ns: IntArray, duration_ns: IntArray, step_ns: int) -> BoolArray:
    """True for the rows before which more than two steps were not measured: a lost sample or two end nothing."""
    result = np.zeros(len(time_ns), dtype=bool)
    ends_ns = time_ns + np.where(duration_ns > 0, duration_ns, step_ns)
    result[1:] = time_ns[1:] - ends_ns[:-1] > 2 * step_ns
    return result


def groups(table: pa.Table, keys: Sequence[str]) -> Iterable[tuple[tuple[str, ...], pa.Table]]:
    """Runs of equal keys in a table sorted by them."""
    if not table.num_rows:
        return
    change = np.zeros(table.num_rows, dtype=bool)
    change[0] = True
    for key in keys:
        codes = table.column(key).combine_chunks().dictionary_encode()
        indices = codes.indices.to_numpy(zero_copy_only=False)
        change[1:] |= indices[1:] != indices[:-1]
    starts = [*np.flatnonzero(change).tolist(), table.num_rows]
    for start, end in itertools.pairwise(starts):
        rows = table.slice(start, end - start)
        yield tuple(rows.column(key)[0].as_py() for key in keys), rows


def floats(rows: pa.Table, column: str) -> FloatArray:
    """A column of numbers; NaN is absent."""
    values: FloatArray = rows.column(column).to_numpy().astype(np.float64, copy=False)
    return values


def ints(rows: pa.Table, column: str) -> IntArray:
    """A column of whole numbers, none of them absent."""
    values: IntArray = rows.column(column).to_numpy().astype(np.int64, copy=False)
    return values


def _overlap(one: Series, other: Series) -> bool:
    return bool(one.time_ns[0] <= other.time_ns[-1] and other.time_ns[0] <= one.time_ns[-1])
