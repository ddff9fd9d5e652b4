"""Reading what a report draws: one track per entity, out of the store.

Benchmark results (rows with a run) are left out; `runs` has them. Where two captures of one entity overlap in time, the
one with more columns, then more rows, is used and the other is set aside and named, so that nothing counts twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from storscope.domain.arrays import BoolArray, FloatArray, IntArray
from storscope.domain.entity import EntityRef
from storscope.store import Store
from storscope.store.competing import running_condition

OPS, BYTES, LATENCY = "ops_per_s", "bytes_per_s", "latency_ns_mean"
COLUMNS = (OPS, BYTES, LATENCY)
"""What is drawn over time: load twice, latency once."""


@dataclass(frozen=True)
class Track:
    """What one entity did over time, in time order; NaN is absent. A value holds from `time_ns` to `end_ns`."""

    entity: EntityRef
    label: str
    time_ns: IntArray
    end_ns: IntArray
    columns: Mapping[str, FloatArray]

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, column: str) -> FloatArray:
        values = self.columns.get(column)
        return values if values is not None else np.full(len(self), np.nan)

    def has(self, *columns: str) -> bool:
        """True when every one of the columns has at least one value."""
        return all(column in self.columns for column in columns)

    @property
    def seconds(self) -> FloatArray:
        """The length of each interval."""
        return (self.end_ns - self.time_ns) / 1e9

    @property
    def operations(self) -> FloatArray:
        """Operations in each interval; NaN where the source gave no rate."""
        return self[OPS] * self.seconds

    def where(self, keep: BoolArray) -> Track:
        """The intervals for which `keep` is true."""
        columns = {name: values[keep] for name, values in self.columns.items()}
        return Track(self.entity, self.label, self.time_ns[keep], self.end_ns[keep], columns)


@dataclass
class Evidence:
    """Everything over time that a report draws."""

    tracks: list[Track]
    above: dict[EntityRef, list[EntityRef]] = field(default_factory=dict)
    """Entity -> what it lies on ('lives_on')."""
    set_aside: list[str] = field(default_factory=list)
    """Sentences about captures that were not used for an entity."""


def time_condition(start_ns: int | None, end_ns: int | None) -> str:
    """An SQL condition for rows that begin in [start, end]."""
    bounds = [f"epoch_ns(time) >= {start_ns}"] if start_ns is not None else []
    bounds += [f"epoch_ns(time) <= {end_ns}"] if end_ns is not None else []
    return " AND ".join(bounds) or "true"


def read_evidence(store: Store, start_ns: int | None, end_ns: int | None) -> Evidence:
    """The tracks of every entity between two instants (None: open)."""
    table = store.query(
        "SELECT system, kind, entity, capture, epoch_ns(time) AS time_ns, coalesce(duration_ns, 0) AS duration_ns, "
        f"{', '.join(COLUMNS)} FROM observations "
        f"WHERE {running_condition(store)} AND {time_condition(start_ns, end_ns)} "
        "ORDER BY system, kind, entity, capture, time"
    )
    labels = read_labels(store)
    evidence = Evidence([], _read_lower(store))
    for entity, pieces in itertools.groupby(_pieces(table, labels), key=lambda piece: piece[0].entity):
        evidence.tracks.append(_joined(list(pieces), evidence.set_aside, entity))
    evidence.tracks = [track for track in evidence.tracks if track.columns]
    return evidence


def read_labels(store: Store) -> dict[EntityRef, str]:
    """Entity -> its friendly label, where a source gave one."""
    rows = store.query(
        "SELECT system, kind, entity, max(label) AS label FROM entities WHERE label IS NOT NULL GROUP BY ALL"
    )
    return {EntityRef(row["system"], row["kind"], row["entity"]): row["label"] for row in rows.to_pylist()}


def _read_lower(store: Store) -> dict[EntityRef, list[EntityRef]]:
    rows = store.query(
        "SELECT DISTINCT system, kind, entity, target_kind, target FROM links WHERE relation = 'lives_on' ORDER BY ALL"
    )
    found: dict[EntityRef, list[EntityRef]] = {}
    for row in rows.to_pylist():
        upper = EntityRef(row["system"], row["kind"], row["entity"])
        found.setdefault(upper, []).append(EntityRef(row["system"], row["target_kind"], row["target"]))
    return found


def _pieces(table: pa.Table, labels: Mapping[EntityRef, str]) -> Iterator[tuple[Track, str]]:
    """One track per entity and capture, with the capture's id."""
    if not table.num_rows:
        return
    change = np.zeros(table.num_rows, dtype=bool)
    change[0] = True
    for key in ("system", "kind", "entity", "capture"):
        codes = table.column(key).combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
        change[1:] |= codes[1:] != codes[:-1]
    starts = [*np.flatnonzero(change).tolist(), table.num_rows]
    for start, end in itertools.pairwise(starts):
        rows = table.slice(start, end - start)
        system, kind, name, capture = (rows.column(key)[0].as_py() for key in ("system", "kind", "entity", "capture"))
        entity = EntityRef(system, kind, name)
        yield _track(entity, labels.get(entity, name), rows), capture


def _track(entity: EntityRef, label: str, rows: pa.Table) -> Track:
    columns = {
        name: rows.column(name).to_numpy().astype(np.float64)
        for name in COLUMNS
        if rows.column(name).null_count < rows.num_rows
    }
    time_ns = rows.column("time_ns").to_numpy().astype(np.int64)
    duration_ns = rows.column("duration_ns").to_numpy().astype(np.int64)
    return Track(entity, label, time_ns, time_ns + _known(time_ns, duration_ns), columns)


def _known(time_ns: IntArray, duration_ns: IntArray) -> IntArray:
    """Durations with the unknown ones (0) replaced by the usual one: the median of the known, else of the steps."""
    known = duration_ns[duration_ns > 0]
    if len(known) == len(duration_ns):
        return duration_ns
    steps = np.diff(time_ns)
    usual = np.median(known) if len(known) else np.median(steps) if len(steps) else 1_000_000_000
    return np.where(duration_ns > 0, duration_ns, np.int64(usual))


def _joined(pieces: Sequence[tuple[Track, str]], set_aside: list[str], entity: EntityRef) -> Track:
    """One track out of those of several captures."""
    kept: list[tuple[Track, str]] = []
    for piece, capture in sorted(pieces, key=lambda pair: (-len(pair[0].columns), -len(pair[0]), pair[1])):
        rival = next((other for track, other in kept if _overlap(piece, track)), None)
        if rival is None:
            kept.append((piece, capture))
        else:
            set_aside.append(
                f"Of {entity}, capture {rival} is drawn; capture {capture} covers the same time with less and is not."
            )
    tracks = sorted((track for track, _ in kept), key=lambda track: int(track.time_ns[0]))
    if len(tracks) == 1:
        return tracks[0]
    return Track(
        entity,
        tracks[0].label,
        np.concatenate([track.time_ns for track in tracks]),
        np.concatenate([track.end_ns for track in tracks]),
        {
            name: np.concatenate([track[name] for track in tracks])
            for name in COLUMNS
            if any(name in t.columns for t in tracks)
        },
    )


def _overlap(one: Track, other: Track) -> bool:
    return bool(one.time_ns[0] <= other.time_ns[-1] and other.time_ns[0] <= one.time_ns[-1])
