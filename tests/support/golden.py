"""Golden tables: the expected rows of a sample, as JSON lines beside it.

STORSCOPE_UPDATE_GOLDEN=1 rewrites them; read the difference before you commit it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa

from tests.support.tables import Tables


def check_golden(tables: Tables, path: Path) -> None:
    """Compares every row of every table, nulls left out, and the notes, with the file at `path`."""
    found = "".join(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n" for line in _lines(tables))
    if os.environ.get("STORSCOPE_UPDATE_GOLDEN"):
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8"), f"{path.name} differs; see tests/support/golden.py"


def _lines(tables: Tables) -> list[dict[str, object]]:
    notes = tables.notes
    lines: list[dict[str, object]] = [
        {
            "notes": {
                "tool": notes.tool, "tool_version": notes.tool_version, "system": notes.system, "clock": notes.clock,
                "omitted": dict(notes.omitted), "warnings": notes.warnings,
            }
        }
    ]  # fmt: skip
    for name, table in tables.tables.items():
        lines.extend(
            {name: {column: _rounded(value) for column, value in row.items() if value not in (None, [])}}
            for row in _plain(table).to_pylist()
        )
    return lines


def _plain(table: pa.Table) -> pa.Table:
    """Times as integers, so that nothing is lost below a microsecond."""
    for index, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(index, field.name, table.column(index).cast(pa.int64()))
        elif pa.types.is_list(field.type) and pa.types.is_timestamp(field.type.value_type):
            table = table.set_column(index, field.name, table.column(index).cast(pa.list_(pa.int64())))
    return table


def _rounded(value: object) -> object:
    """Floats to twelve digits: the last bits may differ between machines."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, tuple):
        return [_rounded(item) for item in value]
    return value
