"""PDH-CSV text and what was read from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tests.support.tables import Tables


def pdh_text(
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str = "(PDH-CSV 4.0) (UTC)(0)",
    stamps: Sequence[str] | None = None,
    separator: str = ",",
) -> str:
    """A file with a row every five seconds from 2026-11-02 00:00:00, or at `stamps`."""
    stamps = stamps or [f"11/02/2026 00:{row * 5 // 60:02d}:{row * 5 % 60:02d}" for row in range(len(rows))]
    table = [[title, *names], *([stamp, *row] for stamp, row in zip(stamps, rows, strict=True))]
    return "".join(separator.join(f'"{cell}"' for cell in row) + "\n" for row in table)


def observed(tables: Tables, kind: str, entity: str) -> list[dict[str, Any]]:
    """The observations of an entity, in order of time."""
    rows = [row for row in tables.rows("observations") if (row["kind"], row["entity"]) == (kind, entity)]
    return sorted(rows, key=lambda row: row["time"])


def intervals(tables: Tables, kind: str, entity: str) -> list[tuple[str, float]]:
    """Starts in UTC and lengths in seconds."""
    return [
        (row["time"].replace(tzinfo=None).isoformat(), row["duration_ns"] / 1e9)
        for row in observed(tables, kind, entity)
    ]


def counters(tables: Tables, kind: str, entity: str) -> dict[str, list[float | None]]:
    """Series by name, chunks joined in the order they were written."""
    found: dict[str, list[float | None]] = {}
    wanted = tables.tables["series"].select(["timeline", "kind", "entity", "name", "values"])
    for row in sorted(pa.Table.to_pylist(wanted), key=lambda row: row["timeline"]):
        if (row["kind"], row["entity"]) == (kind, entity):
            found.setdefault(row["name"], []).extend(row["values"])
    return found
