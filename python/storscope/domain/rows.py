"""Arrow tables as plain Python rows, for showing."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_SHOWN = pa.timestamp("us", tz="UTC")


def plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as dictionaries. Instants are cut to microseconds: Python's datetime holds no more."""
    for index, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            zone = _SHOWN if field.type.tz else pa.timestamp("us")
            table = table.set_column(index, field.name, table.column(index).cast(zone, safe=False))
        elif pa.types.is_list(field.type) and pa.types.is_timestamp(field.type.value_type):
            table = table.set_column(index, field.name, table.column(index).cast(pa.list_(_SHOWN), safe=False))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
