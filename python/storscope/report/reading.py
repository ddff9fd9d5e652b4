"""Reading what a report draws: one track per entity, out of the store.

What is drawn is what was judged: the same time by the same clocks, and of captures that overlap the same ones. The
verdict says which; nothing of it is decided here. Benchmark results (rows with a run) are left out; `runs` has them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from storscope.domain.arrays import FloatArray, IntArray
from storscope.domain.entity import EntityRef
from storscope.domain.verdict import Verdict
from storscope.store import Store
from storscope.store.competing import running_condition
from storscope.store.series import Series, joined, read_pieces, with_durations
from storscope.store.time_frame import TimeFrame

OPS, BYTES, LATENCY = "ops_per_s", "bytes_per_s", "latency_ns_mean"
COLUMNS = (OPS, BYTES, LATENCY)
"""What is drawn over time: load twice, latency once."""
DIRECTIONS = {"reads": "read", "writes": "write"}
"""What they are called, and how their columns begin."""


@dataclass(frozen=True)
class Judged:
    """What was judged of a store, and so is drawn of it."""

    store: Store
    frame: TimeFrame = field(default_factory=TimeFrame)
    set_aside: Mapping[EntityRef, Collection[str]] = field(default_factory=dict)
    """Entity -> captures that were not used for it."""

    @cached_property
    def running(self) -> str:
        """An SQL condition for rows of running systems."""
        return running_condition(self.store)


def judged_of(verdict: Verdict, store: Store) -> Judged:
    """What `verdict` judged of the store that it was made of. What has no real time beside others that have one is
    judged, but cannot be drawn beside them: the time that is drawn begins with the first real one."""
    store = store.only([str(row["capture"]) for row in verdict.provenance.captures])
    frame = TimeFrame(verdict.start_ns, verdict.until_ns, verdict.clock_offsets_ns)
    return Judged(store, frame, verdict.set_aside)


@dataclass(frozen=True)
class Track(Series):
    """What is drawn of one entity. A value holds from `time_ns` to `end_ns`; every duration is known or the usual."""

    label: str = ""

    @property
    def end_ns(self) -> IntArray:
        """Where each interval ends."""
        return self.time_ns + self.duration_ns

    @property
    def seconds(self) -> FloatArray:
        """The length of each interval."""
        return self.duration_ns / 1e9

    @property
    def operations(self) -> FloatArray:
        """Operations in each interval; NaN where the source gave no rate."""
        return self[OPS] * self.seconds


@dataclass
class Evidence:
    """Everything over time that a report draws."""

    tracks: list[Track]
    above: dict[EntityRef, list[EntityRef]] = field(default_factory=dict)
    """Entity -> what it lies on ('lives_on')."""


def read_evidence(judged: Judged) -> Evidence:
    """The tracks of every entity that has something to draw."""
    labels = read_labels(judged.store)
    tracks = [
        Track(entity, one.time_ns, one.duration_ns, one.columns, one.captures, label=labels.get(entity, entity.name))
        for entity, one in read_series(judged, *COLUMNS).items()
        if one.columns
    ]
    return Evidence(tracks, _read_lower(judged.store))


def read_directions(judged: Judged, kind: str) -> dict[str, dict[EntityRef, Track]]:
    """'reads' and 'writes' -> what each entity of a kind did of them, in the columns of what is drawn; only those of
    which rate and latency are told."""
    columns = {of: {f"{begin}_{name}": name for name in COLUMNS} for of, begin in DIRECTIONS.items()}
    series = read_series(judged, *(name for names in columns.values() for name in names), kind=kind)
    return {
        of: {entity: track for entity, one in series.items() if (track := _renamed(one, names)).has(OPS, LATENCY)}
        for of, names in columns.items()
    }


def _renamed(series: Series, names: Mapping[str, str]) -> Track:
    columns = {new: series[old] for old, new in names.items() if series.has(old)}
    return Track(series.entity, series.time_ns, series.duration_ns, columns, series.captures)


def read_series(judged: Judged, *columns: str, kind: str | None = None) -> dict[EntityRef, Series]:
    """The series of every entity (of one kind), with these columns and a duration for every interval."""
    found = read_pieces(judged.store, judged.running, judged.frame, columns, () if kind is None else (kind,))
    used = {
        entity: [piece for piece in pieces if piece.captures[0] not in judged.set_aside.get(entity, ())]
        for entity, pieces in found.items()
    }
    return {entity: joined([with_durations(piece) for piece in pieces]) for entity, pieces in used.items() if pieces}


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
