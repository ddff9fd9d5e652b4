"""The store as a whole: opening it, asking it, listing what it holds."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from storscope.domain.errors import DamagedStore, NewerStore, NotAStore, QueryError, StoreError
from storscope.domain.rows import plain_rows
from storscope.domain.schema import CAPTURES, SCHEMA_VERSION, TABLES
from storscope.store.capture import CaptureInfo, CaptureWriter
from storscope.store.part import of_part
from storscope.store.views import VIEWS, stored_columns

if TYPE_CHECKING:
    import duckdb

MARKER = "storscope-store.json"
_ROWS_AT_ONCE = 10_000
"""Rows in a part of an answer. Texts of a column have 2 GiB together in each part (offsets of Arrow have 32 bits), and
a single one may be a whole design."""
_CAPTURE_OF_FILE = "split_part(split_part(file, '/', -2), 'capture=', 2)"
"""In SQL. Where a question names captures, the engine opens their files only."""


class Store:
    """A directory of captures. Open with `Store.open`; it is cheap, files are read when asked for."""

    def __init__(self, path: Path, part: frozenset[str] | None = None) -> None:
        """The store at `path`; of `part`, where given, only these captures are read."""
        self.path = path
        self._part = part
        self._connection: duckdb.DuckDBPyConnection | None = None

    @classmethod
    def open(cls, path: Path, *, create: bool = False) -> Self:
        """Opens the store at `path`; with `create` makes it when the directory is absent or empty.

        Raises NotAStore for a directory that is something else, NewerStore for one written by a later version.
        """
        marker = path / MARKER
        if not marker.exists():
            if not create:
                raise NotAStore(
                    "a storscope store",
                    "no such directory" if not path.exists() else "a directory without " + MARKER,
                    where=str(path),
                    hint="Import something first (storscope import FILE...), or name the store with --store DIR.",
                )
            _make(path, marker)
        _check_version(marker)
        _remove_stale(path)
        return cls(path)

    @staticmethod
    def is_store(path: Path) -> bool:
        """Whether the directory at `path` says that it is a store, readable or not."""
        return (path / MARKER).is_file()

    def only(self, captures: Collection[str]) -> Store:
        """The same store with these captures only, for questions; the store itself where they are all."""
        kept = frozenset(captures)
        return self if kept >= {_id_of(one) for one in self._directories()} else Store(self.path, kept)

    def repeatable(self, sql: str) -> str:
        """The statement that gives on the whole store the rows that `sql` gives here."""
        return sql if self._part is None else of_part(sql, self._part, [*TABLES, "counters", "captures"])

    def writer(self, info: CaptureInfo | Callable[[], CaptureInfo]) -> CaptureWriter:
        """A writer for one capture; see CaptureWriter."""
        self.forget()
        return CaptureWriter(self.path, info)

    def forget(self) -> None:
        """Drops what the engine remembers of the files; the next query looks again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def captures(self) -> list[dict[str, Any]]:
        """Every capture, oldest import first, as rows of the `captures` table with its id under `capture`."""
        rows = []
        for directory in self._directories():
            file = directory / "captures.parquet"
            try:
                row = plain_rows(pq.read_table(file, partitioning=None))[0]
            except (OSError, IndexError, pa.ArrowException) as error:
                raise _damaged(file, error) from error
            rows.append({"capture": _id_of(directory)} | row)
        return sorted(rows, key=lambda row: (row["imported_at"], row["capture"]))

    def has_capture(self, capture_id: str) -> bool:
        """True when a capture of that id is published."""
        return (self.path / f"capture={capture_id}").is_dir()

    def remove_capture(self, capture_id: str) -> None:
        """Takes a capture out of the store, by one rename and then a deletion."""
        directory = self.path / f"capture={capture_id}"
        if not directory.is_dir():
            raise StoreError(f"a capture with the id {capture_id}", "none", where=str(self.path))
        aside = self.path / f".incoming-{capture_id}-{os.getpid()}-removed"
        directory.rename(aside)
        shutil.rmtree(aside)
        self.forget()

    def remove_if_empty(self) -> None:
        """Takes a store without captures off the disk again, for an import that yielded nothing."""
        if not any(self.path.glob("capture=*")):
            self.forget()
            (self.path / MARKER).unlink()
            self.path.rmdir()

    def query(self, sql: str, parameters: dict[str, Any] | list[Any] | None = None) -> pa.Table:
        """The answer to one SQL statement over the tables and views, as Arrow.

        The tables are those of `domain.schema`, each with the column `capture`; `counters` unpacks `series`.
        Raises QueryError with the engine's words when the SQL is refused.
        """
        import duckdb  # noqa: PLC0415  only questions need the engine, and it takes 80 ms to load

        try:
            engine = self._engine()
            relation = engine.sql(sql, params=parameters) if len(engine.extract_statements(sql)) == 1 else None
            if relation is not None:
                return relation.to_arrow_table(_ROWS_AT_ONCE)
        except duckdb.Error as error:
            damaged = re.search(r"(/[^\s'\"]*\.parquet)", str(error))
            if damaged and isinstance(error, duckdb.IOException | duckdb.InvalidInputException):
                raise _damaged(Path(damaged[1]), error) from error
            raise QueryError(
                _first_lines(str(error)),
                hint="The tables are: " + ", ".join([*TABLES, "counters", "captures"]) + ".",
            ) from error
        raise QueryError("one statement that returns rows", "none or several", hint="Start with SELECT.")

    def _directories(self) -> list[Path]:
        """Of the captures, in order of their ids."""
        found = sorted(self.path.glob("capture=*"))
        return found if self._part is None else [one for one in found if _id_of(one) in self._part]

    def _engine(self) -> duckdb.DuckDBPyConnection:
        import duckdb  # noqa: PLC0415

        if self._connection is None:
            self._connection = connection = duckdb.connect(":memory:")
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("SET enable_progress_bar = false")
            for table, schema in (TABLES | {"captures": CAPTURES}).items():
                self._define(connection, table, schema)
            for statement in VIEWS.values():
                connection.execute(statement)
            # The store is read through views only: no statement of a user's can reach other files or extensions.
            connection.execute(f"SET allowed_directories = ['{_quoted(str(self.path.resolve()))}']")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
        return self._connection

    def _define(self, connection: duckdb.DuckDBPyConnection, table: str, schema: pa.Schema) -> None:
        root = self.path.resolve()
        paths = (root / one.name / f"{table}.parquet" for one in self._directories())
        files = [path for path in paths if path.exists()]
        columns = stored_columns(table, schema)
        if files:
            names = ", ".join(f"'{_quoted(str(file))}'" for file in files)
            # Without hive partitioning: that makes columns of the folders above the store, too, if they have a '='.
            connection.execute(
                f"CREATE VIEW stored_{table} AS SELECT {columns} FROM (SELECT {_CAPTURE_OF_FILE} AS capture, * "
                f"FROM read_parquet([{names}], hive_partitioning = false, filename = 'file', union_by_name = true))"
            )
        else:
            empty = schema.append(pa.field("capture", pa.string())).empty_table()
            connection.register(f"empty_{table}", empty)
            connection.execute(f"CREATE VIEW stored_{table} AS SELECT {columns} FROM empty_{table}")


def _id_of(directory: Path) -> str:
    return directory.name.removeprefix("capture=")


def _damaged(file: Path, error: Exception) -> DamagedStore:
    return DamagedStore(
        "a readable Parquet file",
        _first_lines(str(error)).splitlines()[0],
        where=str(file),
        hint=f"Move {file.parent} out of the store and import that capture again.",
    )


def _make(path: Path, marker: Path) -> None:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise NotAStore(
            "an empty or new directory for the store",
            "a file" if not path.is_dir() else "a directory with other things in it",
            where=str(path),
            hint="Name another directory with --store DIR.",
        )
    is_new = not path.exists()
    incoming = marker.with_name(f".{MARKER}.{os.getpid()}")
    try:
        path.mkdir(parents=True, exist_ok=True)
        incoming.write_text(json.dumps({"schema_version": SCHEMA_VERSION, "made_by": "storscope"}) + "\n")
        incoming.replace(marker)
    except OSError as error:
        _unmake(path, incoming, is_new=is_new)
        raise StoreError(
            "a place for a new store", error.strerror or str(error), where=str(path),
            hint="Choose another one with --store DIR.",
        ) from error  # fmt: skip


def _unmake(path: Path, incoming: Path, *, is_new: bool) -> None:
    """What there is of a store that could not be made."""
    with suppress(OSError):
        incoming.unlink(missing_ok=True)
        if is_new:
            path.rmdir()


def _check_version(marker: Path) -> None:
    try:
        version = json.loads(marker.read_text())["schema_version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedStore("a JSON object with schema_version", str(error), where=str(marker)) from error
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise NewerStore(
            f"a store of schema version {SCHEMA_VERSION} or older",
            f"version {version}",
            where=str(marker.parent),
            hint="It was written by a later storscope. Update this one, or use another store with --store DIR.",
        )


def _remove_stale(path: Path) -> None:
    for leftover in path.glob(".incoming-*"):
        match = re.fullmatch(r"\.incoming-[0-9a-f]+-(\d+)(-replaced|-removed)?", leftover.name)
        if match is None or _is_running(int(match[1])):
            continue
        published = path / leftover.name.split("-")[1]
        if match[2] == "-replaced" and not (path / f"capture={published.name}").exists():
            leftover.rename(path / f"capture={published.name}")
            continue
        shutil.rmtree(leftover, ignore_errors=True)


def _is_running(pid: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def _first_lines(text: str) -> str:
    return "\n".join(text.strip().splitlines()[:4]).rstrip(".")
