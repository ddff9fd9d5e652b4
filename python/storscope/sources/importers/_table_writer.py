"""From the rows of a table of counters over time to observations: what a row is of, its interval, its values.

Each row is of the first thing that it names, from VMs and volumes down to hosts and arrays; what else it names is
where that thing is. Rows of totals are left out, as they count everything twice. A time is the end of its interval
unless its heading says start; the interval is what a column says (`interval_s`), or --interval, or the step from the
row before, at most one and a half times the usual one: a gap in a recording is none of its intervals.

Tables of other shapes (`wide_table.py`, `long_table.py`) are brought into such rows first (`_table_rows.py`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from storscope.domain import units
from storscope.domain.arrays import FloatArray, IntArray
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.importer import ImportOptions
from storscope.sources.importers._decimal_comma import Commas, plain
from storscope.sources.importers._headings import words_of
from storscope.sources.importers._table_heading import (
    KINDS,
    ORDER,
    Heading,
)
from storscope.sources.importers._table_times import TableTimes

_DEFAULT_SYSTEM: Final = "counter-table"
_OF_HOSTS: Final = frozenset({"vm", "vm_disk", "datastore", "device", "partition", "filesystem", "adapter"})
"""Kinds whose names mean something within a host only."""
_PLACES: Final = {
    ("vdisk", "disk_group"): "lives_on", ("vdisk", "controller"): "owned_by", ("disk", "disk_group"): "member_of",
    ("port", "controller"): "member_of", ("device", "host"): "member_of", ("vm", "datastore"): "lives_on",
    ("vm_disk", "vm"): "member_of", ("vm_disk", "datastore"): "lives_on", ("partition", "device"): "lives_on",
    ("adapter", "host"): "member_of", ("controller", "array"): "member_of", ("disk_group", "array"): "member_of",
}  # fmt: skip
"""What a row's thing and another one that it names have to do with each other."""
_TOTALS: Final = frozenset({"total", "_total", "totals", "all", "sum", "average", "(total)", "grand total"})
ABSENT: Final = frozenset({"", "-", "--", "n/a", "na", "nan", "null", "none", "nil", "undefined"})
_LONGEST_STEP: Final = 1.5
"""Of the usual steps; longer ones are gaps."""
_PER_CENT_FROM: Final = 1.5
"""A share that is ever greater is in per cent."""


@dataclass
class Table:
    """The rows below a heading, as text."""

    heading: Heading
    separator: str
    rows: list[list[str]]
    above: int
    repeated: int = 0
    short: int = 0
    is_cut: bool = False
    commas: Commas = field(default_factory=Commas)

    @cached_property
    def has_decimal_comma(self) -> bool:
        """As all measured cells tell, which are learnt before any number is asked for."""
        return self.commas.are_decimal(self.separator)

    def number(self, cell: str) -> float:
        """NaN for a cell without a number."""
        text = cell.strip().rstrip("%")
        if "," in text or self.has_decimal_comma:
            text = plain(text.strip(), decimal_comma=self.has_decimal_comma)
        try:
            value = float(text)
        except ValueError:
            return math.nan
        return value if math.isfinite(value) else math.nan


@dataclass
class _Rows:
    """The rows of one thing."""

    entity: EntityRef
    rows: list[list[str]] = field(default_factory=list)
    places: set[tuple[str, EntityRef]] = field(default_factory=set)


class TableWriter:
    """Turns the rows of each thing into observations."""

    def __init__(self, table: Table, recorder: Recorder, options: ImportOptions) -> None:
        self._table = table
        self._heading = table.heading
        self._recorder = recorder
        self._options = options
        self._times = TableTimes(options)
        self._times.learn(self._time(row) for row in table.rows)
        self._per_cent = {index for index in table.heading.measured if self._is_per_cent(index)}
        self._texts: Counter[str] = Counter()
        self._others = [index for index in table.heading.others if self._has_numbers(index)]

    def write(self) -> None:
        """Everything."""
        for one in self._things().values():
            self._write(one)
        notes = self._recorder.notes
        notes.clock = (
            f"{self._times.words}; a time is the {'start' if self._heading.is_start else 'end'} of its interval"
        )
        if doubt := self._times.doubt:
            self._recorder.warn(doubt)
        for count in self._texts.values():
            self._recorder.omit("cells that are no number", count)

    def _time(self, row: Sequence[str]) -> str:
        return " ".join(row[index].strip() for index in self._heading.times)

    def _is_per_cent(self, index: int) -> bool:
        if not self._heading.measured[index].is_share:
            return False
        values = [self._table.number(row[index]) for row in self._table.rows]
        return any(value > _PER_CENT_FROM for value in values)

    def _has_numbers(self, index: int) -> bool:
        return any(not math.isnan(self._table.number(row[index])) for row in self._table.rows)

    # What a row is of --------------------------------------------------------------------------------------------

    def _things(self) -> dict[EntityRef, _Rows]:
        found: dict[EntityRef, _Rows] = {}
        kept = [(row, named) for row in self._table.rows if (named := self._named(row)) is not None]
        apart = self._apart(kept)
        for row, named in kept:
            entity, places = self._entity(named, apart)
            rows = found.setdefault(entity, _Rows(entity))
            rows.rows.append(row)
            rows.places |= places
        systems = Counter(entity.system for entity in found)
        if _DEFAULT_SYSTEM in systems and not self._options.system:
            self._recorder.warn("The table names no array or host: --system NAME tells it from the tables of others.")
        self._recorder.notes.system = self._options.system or next(iter(systems), None)
        return found

    def _named(self, row: Sequence[str]) -> dict[str, str] | None:
        """Kind -> name of all that a row names; None for a row of totals."""
        named = {kind: row[index].strip() for kind, index in self._heading.things.items() if row[index].strip()}
        if any(name.lower() in _TOTALS for name in named.values()):
            self._recorder.omit("rows of totals, which count everything twice")
            return None
        if self._heading.kind is not None and "vdisk" in named:
            said = " ".join(words_of(row[self._heading.kind]))
            kind = KINDS.get(said) or KINDS.get(said.removesuffix("s")) or "vdisk"
            named[kind] = named.pop("vdisk")
        return named

    def _apart(self, kept: Sequence[tuple[Sequence[str], dict[str, str]]]) -> dict[str, set[str]]:
        """Kind -> kinds that tell rows of one such thing and time apart: a volume as each of its hosts sees it."""
        first: dict[tuple[EntityRef, str], dict[str, str]] = {}
        apart: dict[str, set[str]] = {}
        for row, named in kept:
            entity, _ = self._entity(named, {})
            other = first.setdefault((entity, self._time(row)), named)
            if other is not named:
                apart.setdefault(entity.kind, set()).update(
                    kind for kind in named if kind != entity.kind and named[kind] != other.get(kind)
                )
        return apart

    def _entity(
        self, named: dict[str, str], apart: dict[str, set[str]]
    ) -> tuple[EntityRef, set[tuple[str, EntityRef]]]:
        """What a row is of, and where that is."""
        kind = next((kind for kind in ORDER if kind in named), "array")
        of_host = kind in _OF_HOSTS or (kind == "host" and "array" not in named)
        within = named.get("host") if of_host else None
        system = self._options.system or within or named.get("array") or _DEFAULT_SYSTEM
        before = [named[other] for other in sorted(apart.get(kind, ())) if other in named]
        entity = EntityRef(system, kind, "/".join([*before, named.get(kind, system)]))
        places = {
            (relation, EntityRef(system, other, name))
            for other, name in named.items()
            if (relation := _PLACES.get((kind, other))) is not None
        }
        return entity, places

    # Values ------------------------------------------------------------------------------------------------------

    def _write(self, one: _Rows) -> None:
        instants = self._instants(one.rows)
        if not instants:
            return
        times_ns = np.array([time_ns for time_ns, _ in instants], dtype=np.int64)
        rows = [row for _, row in instants]
        lengths_ns = self._lengths(times_ns, rows)
        if lengths_ns is None:
            self._recorder.omit("rows of things that have one row only: its interval is not known (say it: --interval)")
            return
        starts_ns = times_ns if self._heading.is_start else times_ns - lengths_ns
        columns = self._columns(rows)
        self._recorder.observe_columns(
            [one.entity], starts_ns, lengths_ns, {name: values[None, :] for name, values in columns.items()}
        )
        self._write_others(one.entity, starts_ns, lengths_ns, rows)
        for relation, place in sorted(one.places):
            self._recorder.link(one.entity, relation, place)

    def _write_others(
        self, entity: EntityRef, starts_ns: IntArray, lengths_ns: IntArray, rows: Sequence[Sequence[str]]
    ) -> None:
        """The counters that have no canonical column."""
        values = np.array([[self._table.number(row[index]) for row in rows] for index in self._others])
        kept = [place for place in range(len(self._others)) if np.isfinite(values[place]).any()]
        if kept:
            names = [self._heading.names[self._others[place]] for place in kept]
            timeline = self._recorder.timeline(starts_ns, lengths_ns)
            self._recorder.series(timeline, [entity] * len(kept), names, [""] * len(kept), values[kept])

    def _instants(self, rows: list[list[str]]) -> list[tuple[int, list[str]]]:
        """Rows in order of time, each instant once."""
        clock = self._times.clock()
        found: dict[int, list[str]] = {}
        for row in rows if self._goes_forward(rows) else reversed(rows):
            time_ns = self._times.instant(self._time(row), clock)
            if time_ns is None:
                self._recorder.omit("rows whose time is none")
            elif time_ns in found:
                same = found[time_ns] == row
                self._recorder.omit(
                    "rows that are in the file twice" if same else "rows of a thing that has another row at that time"
                )
            else:
                found[time_ns] = row
        return sorted(found.items())

    def _goes_forward(self, rows: Sequence[Sequence[str]]) -> bool:
        """Whether the last row is no earlier than the first one: exports may have the newest first."""

        def first_of(some: Iterable[Sequence[str]]) -> int | None:
            instants = (self._times.instant(self._time(row), self._times.clock()) for row in some)
            return next((time_ns for time_ns in instants if time_ns is not None), None)

        first, last = first_of(rows), first_of(reversed(rows))
        return first is None or last is None or last >= first

    def _lengths(self, times_ns: IntArray, rows: Sequence[Sequence[str]]) -> IntArray | None:
        """How long each row's interval is; None if nothing tells."""
        steps = np.diff(times_ns)
        usual_ns = round(self._options.interval_s * units.NS_PER_S) if self._options.interval_s else 0
        if not usual_ns and len(steps):
            usual_ns = int(np.quantile(steps, 0.5, method="lower"))  # of two middle ones none that is between
        if self._heading.length is not None:
            index, unit_s = self._heading.length
            said = np.array([self._table.number(row[index]) for row in rows]) * unit_s * units.NS_PER_S
            if np.isfinite(said).all() and (said > 0).all():
                found: IntArray = np.rint(said).astype(np.int64)
                return found
        if not usual_ns:
            return None
        if self._options.interval_s:
            return np.full(len(times_ns), usual_ns, dtype=np.int64)
        edge = np.array([usual_ns], dtype=np.int64)
        around = np.concatenate([steps, edge]) if self._heading.is_start else np.concatenate([edge, steps])
        return np.where(around > _LONGEST_STEP * usual_ns, usual_ns, around)

    def _columns(self, rows: Sequence[Sequence[str]]) -> dict[str, FloatArray]:
        columns: dict[str, FloatArray] = {}
        for index, meaning in self._heading.measured.items():
            factor = 0.01 if index in self._per_cent else meaning.factor
            cells = [row[index] for row in rows]
            values = np.array([self._table.number(cell) for cell in cells]) * factor
            self._texts[meaning.column] += sum(
                math.isnan(value) and cell.strip().lower() not in ABSENT
                for value, cell in zip(values, cells, strict=True)
            )
            with np.errstate(invalid="ignore"):
                negative = values < 0
            self._recorder.omit("values below zero: a counter was reset or wrapped", int(negative.sum()))
            columns[meaning.column] = np.where(negative, np.nan, values)
        for way in ("", "read_", "write_"):
            # Without an operation there is no latency, whatever the table prints.
            if (rate := columns.get(f"{way}ops_per_s")) is not None and f"{way}latency_ns_mean" in columns:
                latency = columns[f"{way}latency_ns_mean"]
                columns[f"{way}latency_ns_mean"] = np.where(rate == 0, np.nan, latency)
        return columns
