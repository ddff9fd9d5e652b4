"""From the rows of a table of counters over time to observations: what a row is of, its interval, its values.

What a row is of is in `_table_things.py`. A time is the end of its interval unless its heading says start; the interval
is what a column says (`interval_s`; without a unit it is in seconds or minutes, as the steps between rows tell), or
--interval, or the step from the row before, at most one and a half times the usual one: a gap in a recording is none of
its intervals.

Tables of other shapes (`wide_table.py`, `long_table.py`) are brought into such rows first (`_table_rows.py`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from storscope.domain import units, write_cache
from storscope.domain.arrays import FloatArray, IntArray
from storscope.domain.entity import EntityRef
from storscope.domain.errors import MalformedInput
from storscope.domain.recorder import Recorder
from storscope.sources.importer import ImportOptions, shortened
from storscope.sources.importers._headings import write_cache_factor
from storscope.sources.importers._table_cells import ABSENT, Table
from storscope.sources.importers._table_heading import zone_of
from storscope.sources.importers._table_things import DEFAULT_SYSTEM, RowsOfThing, things_of
from storscope.sources.importers._table_times import FORMS, TableTimes
from storscope.sources.importers._table_unread import UnreadNames

_LONGEST_STEP: Final = 1.5
"""Of the usual steps; longer ones are gaps."""
_ABOUT: Final = 1.1
"""What an interval is said to be and the step between rows differ by less."""
_UNITS_OF_LENGTHS: Final = {"seconds": 1.0, "minutes": 60.0, "milliseconds": 1e-3}
_PLACES_THAT_ARE_NO_NAMES: Final = frozenset({"array", "host"})


class TableWriter:
    """Turns the rows of each thing into observations."""

    def __init__(self, table: Table, recorder: Recorder, options: ImportOptions) -> None:
        self._table = table
        self._heading = table.heading
        self._recorder = recorder
        self._options = options
        names = [table.heading.names[index] for index in table.heading.times]
        self._times = TableTimes(options, next((zone for name in names if (zone := zone_of(name))), None), table.name)
        self._times.learn(table.time(row) for row in table.rows)
        self._texts: Counter[str] = Counter()
        self._others = [index for index in table.heading.others if table.has_numbers(index)]
        self._unread = UnreadNames(table)
        self._not_read: list[str] = []
        """Times that are none."""

    def write(self) -> None:
        """Everything."""
        for one in self._things().values():
            self._write(one)
        self._unread.tell(self._recorder)
        self._tell_of_times()
        notes = self._recorder.notes
        notes.clock = (
            f"{self._times.words}; a time is the {'start' if self._heading.is_start else 'end'} of its interval"
        )
        for doubt in (self._times.doubt, self._times.zone_doubt):
            if doubt is not None:
                self._recorder.warn(doubt)
        for count in self._texts.values():
            self._recorder.omit("cells that are no number", count)

    def _tell_of_times(self) -> None:
        if not self._not_read:
            return
        first = shortened(self._not_read[0], 60)
        if len(self._not_read) == len(self._table.rows):
            names = " and ".join(self._heading.names[index] for index in self._heading.times)
            raise MalformedInput(
                f"a time that is read ({FORMS})", f"'{first}' in the column '{names}'", where=self._table.name
            )
        self._recorder.warn(f"{len(self._not_read):,} rows have no time that is read, the first '{first}'.")

    def _things(self) -> dict[EntityRef, RowsOfThing]:
        found = things_of(self._table, self._recorder, self._options)
        systems = Counter(entity.system for entity in found)
        if DEFAULT_SYSTEM in systems and not self._options.system:
            self._recorder.warn("The table names no array or host: --system NAME tells it from the tables of others.")
        self._recorder.notes.system = self._options.system or next(iter(systems), None)
        return found

    # Values ------------------------------------------------------------------------------------------------------

    def _write(self, one: RowsOfThing) -> None:
        instants = self._instants(one.rows)
        if not instants:
            return
        times_ns = np.array([time_ns for time_ns, _ in instants], dtype=np.int64)
        rows = [row for _, row in instants]
        if not self._heading.things.keys() - _PLACES_THAT_ARE_NO_NAMES:
            self._unread.take_turns(rows)
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
        """The counters that have no canonical column; how full a write cache is by the name that a rule reads."""
        values = np.array([[self._table.number(row[index]) for row in rows] for index in self._others])
        kept = [place for place in range(len(self._others)) if np.isfinite(values[place]).any()]
        if kept:
            names = [self._heading.names[self._others[place]] for place in kept]
            told_in = [""] * len(kept)
            for number, (place, name) in enumerate(zip(kept, names, strict=True)):
                factor = write_cache_factor(name)
                if factor is not None and write_cache.USED not in names:
                    names[number], told_in[number] = write_cache.USED, write_cache.UNIT
                    values[place] *= factor
            timeline = self._recorder.timeline(starts_ns, lengths_ns)
            self._recorder.series(timeline, [entity] * len(kept), names, told_in, values[kept])

    def _instants(self, rows: list[list[str]]) -> list[tuple[int, list[str]]]:
        """Rows in order of time, each instant once."""
        clock = self._times.clock()
        found: dict[int, list[str]] = {}
        for row in rows if self._goes_forward(rows) else reversed(rows):
            time_ns = self._times.instant(self._table.time(row), clock)
            if time_ns is None:
                self._recorder.omit("rows whose time is none")
                self._not_read.append(self._table.time(row))
            elif time_ns in found:
                same = found[time_ns] == row
                if not same:
                    self._unread.collide(row, found[time_ns])
                self._recorder.omit(
                    "rows that are in the file twice" if same else "rows of a thing that has another row at that time"
                )
            else:
                found[time_ns] = row
        return sorted(found.items())

    def _goes_forward(self, rows: Sequence[Sequence[str]]) -> bool:
        """Whether the last row is no earlier than the first one: exports may have the newest first."""

        def first_of(some: Iterable[Sequence[str]]) -> int | None:
            instants = (self._times.instant(self._table.time(row), self._times.clock()) for row in some)
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
            said = np.array([self._table.number(row[index]) for row in rows]) * units.NS_PER_S
            if self._heading.length_lacks_unit:
                unit_s = self._unit_of_lengths(said, usual_ns)
            said = said * unit_s
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

    def _unit_of_lengths(self, said_ns: FloatArray, usual_ns: int) -> float:
        """The unit, s, in which lengths are about as long as the steps between rows; NaN if there is none."""
        name = self._heading.names[self._heading.length[0]] if self._heading.length else ""
        length_ns = float(np.nanmedian(said_ns)) if np.isfinite(said_ns).any() else math.nan
        for unit, unit_s in _UNITS_OF_LENGTHS.items():
            if usual_ns and 1 / _ABOUT < length_ns * unit_s / usual_ns < _ABOUT:
                if unit != "seconds":
                    self._recorder.warn(f"'{shortened(name)}' was taken as {unit}, as the steps between rows tell.")
                return unit_s
        if not math.isnan(length_ns):
            self._recorder.warn(
                f"'{shortened(name)}' has no unit and is not as long as the steps between rows; it was not used. Write "
                "interval_s or interval_min."
            )
        return math.nan

    def _columns(self, rows: Sequence[Sequence[str]]) -> dict[str, FloatArray]:
        columns: dict[str, FloatArray] = {}
        for index, meaning in self._heading.measured.items():
            cells = [row[index] for row in rows]
            values = np.array([self._table.number(cell) for cell in cells]) * meaning.factor
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
