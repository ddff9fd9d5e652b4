"""Rows of every table, gathered and handed on as Arrow batches of the schemas in `schema.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

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
        self._rows: dict[str, list[tuple[object, ...]]] = {}
        self.row_counts: Counter[str] = Counter()
        """Rows handed on, by table."""

    @property
    def is_empty(self) -> bool:
        """True when nothing is held and nothing was handed on, but what entities there are."""
        pending = any(table != "entities" for table in self._rows)
        return not (pending or any(count for table, count in self.row_counts.items() if table != "entities"))

    def add(self, table: str, **row: object) -> None:
        """One row, with a value for each column of the table. Raises KeyError for a column too few or too many."""
        names = TABLES[table].names
        if len(row) > len(names):
            raise KeyError(f"no columns of {table}: {sorted(row.keys() - set(names))}")
        self.add_row(table, tuple(row[name] for name in names))

    def add_row(self, table: str, row: tuple[object, ...]) -> None:
        """One row with a value for each column of the table, in their order."""
        rows = self._rows.setdefault(table, [])
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
        rows = self._rows.pop(table, None)
        if rows:
            schema = TABLES[table]
            columns = zip(schema, zip(*rows, strict=True), strict=True)
            self.emit(table, {field.name: pa.array(values, field.type) for field, values in columns})

    def flush_all(self) -> None:
        """Hands on all that is held."""
        for table in list(self._rows):
            self.flush(table)
