"""Reading evidence into plain Python rows, without a store."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from storscope.domain.recorder import CaptureNotes, Recorder
from storscope.domain.schema import TABLES
from storscope.sources.evidence import Evidence
from storscope.sources.importer import Importer, ImportOptions


@dataclass
class Tables:
    """Everything an importer wrote, a pyarrow table per name, and its notes."""

    tables: dict[str, pa.Table]
    notes: CaptureNotes

    def rows(self, table: str) -> list[dict[str, Any]]:
        return self.tables[table].to_pylist()

    def facts(self, kind: str, entity: str) -> dict[str, str]:
        return {
            row["name"]: row["value"] for row in self.rows("facts") if (row["kind"], row["entity"]) == (kind, entity)
        }

    def links(self) -> set[tuple[str, str, str, str, str]]:
        return {(r["kind"], r["entity"], r["relation"], r["target_kind"], r["target"]) for r in self.rows("links")}


def read_tables(importer: Importer, path: Path, options: ImportOptions | None = None) -> Tables:
    batches: dict[str, list[pa.RecordBatch]] = defaultdict(list)
    recorder = Recorder(lambda table, batch: batches[table].append(batch))
    importer.read(Evidence(path, path.name), recorder, options or ImportOptions())
    recorder.finish()
    tables = {name: pa.Table.from_batches(batches[name], schema) for name, schema in TABLES.items()}
    return Tables(tables, recorder.notes)


def read_text(importer: Importer, text: str | bytes, tmp_path: Path, options: ImportOptions | None = None) -> Tables:
    path = tmp_path / "evidence"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_tables(importer, path, options)
