"""Rows of every table, gathered and handed on as Arrow batches of the schemas in `schema.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from storscope.domain.arrow_columns import without_times
from storscope.domain.capture_notes import CaptureNotes
from storscope.domain.schema import TABLES

ROWS_PER_BATCH = 50_000

Sink = Callable[[str, pa.RecordBatch], None]
"""Receives (table name, batch of that table's schema)."""


class Batches:
    """Holds at most `ROWS_PER_BATCH` rows of a table, so memory does not grow with what is written."""

    def __init__(self, sink: Sink, notes: CaptureNotes) -> None:
        """Times become null while `notes` says that the source has none."""
        self._sink, self._notes = sink, notes
        self._rows: dict[str, dict[str, list[object]]] = {}
        self._whole_rows: dict[str, list[tuple[object, ...]]] = {}
        self.row_counts: Counter[str] = Counter()
        """Rows handed on, by table."""

    @property
    def is_empty(self) -> bool:
        """True when nothing is held and nothing was handed on, but what entities there are."""
        pending = any(table != "entities" and next(iter(rows.values())) for table, rows in self._rows.items())
        if pending or any(self._whole_rows.values()):
            return False
        return not any(count for table, count in self.row_counts.items() if table != "entities")

    def add(self, table: str, **row: object) -> None:
        """One row, with a value for each column of the table."""
        rows = self._rows.setdefault(table, {name: [] for name in TABLES[table].names})
        for name, value in row.items():
            rows[name].append(value)
        if len(rows["system" if "system" in rows else "run"]) >= ROWS_PER_BATCH:
            self.flush(table)

    def add_row(self, table: str, row: tuple[object, ...]) -> None:
        """The same with the values in the order of the table's columns, which takes a third of the time."""
        rows = self._whole_rows.get(table)
        if rows is None:
            rows = self._whole_rows[table] = []
        rows.append(row)
        if len(rows) >= ROWS_PER_BATCH:
            self.flush(table)

    def emit(self, table: str, arrays: Mapping[str, pa.Array]) -> None:
        """Many rows at once, as a column for each of the table's."""
        schema = TABLES[table]
        if not self._notes.has_times:
            arrays = dict(arrays) | {name: without_times(arrays[name]) for name in ("time", "times") if name in arrays}
        columns = [
            array if array.type == (wanted := schema.field(name).type) else array.cast(wanted)
            for name, array in ((name, arrays[name]) for name in schema.names)
        ]
        batch = pa.RecordBatch.from_arrays(columns, schema=schema)
        self.row_counts[table] += batch.num_rows
        self._sink(table, batch)

    def flush(self, table: str) -> None:
        """Hands on what is held of a table."""
        rows: Mapping[str, Sequence[object]] | None = self._rows.pop(table, None)
        if rows:
            self._emit_rows(table, rows)
        whole = self._whole_rows.pop(table, None)
        if whole:
            self._emit_rows(table, dict(zip(TABLES[table].names, zip(*whole, strict=True), strict=True)))

    def _emit_rows(self, table: str, rows: Mapping[str, Sequence[object]]) -> None:
        self.emit(table, {name: pa.array(values, TABLES[table].field(name).type) for name, values in rows.items()})

    def flush_all(self) -> None:
        """Hands on all that is held."""
        for table in [*self._rows, *self._whole_rows]:
            self.flush(table)
