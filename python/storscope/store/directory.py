"""The store as a whole: opening it, asking it, listing what it holds."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from storscope.domain.errors import DamagedStore, NotAStore, QueryError, StoreError
from storscope.domain.rows import plain_rows
from storscope.domain.schema import CAPTURES, TABLES
from storscope.store import leftovers
from storscope.store.capture import CaptureInfo, CaptureWriter
from storscope.store.checking import CheckedCapture, check_captures
from storscope.store.checksums import Proofs, Seen, look_at
from storscope.store.engine import Engine, damaged, id_of
from storscope.store.lock import alone, alone_if_free
from storscope.store.machine_limits import limit_of
from storscope.store.marker import (
    MARKER,
    check_path,
    check_place,
    check_version,
    make_store,
    unmake_if_empty,
    what_is_there,
)
from storscope.store.part import of_part
from storscope.store.published import published

_LOOKS = 5
"""How often a question is asked again because others replaced or removed captures meanwhile."""


class Store:
    """A directory of captures. Open with `Store.open`; it is cheap, files are read when asked for."""

    def __init__(self, path: Path, part: frozenset[str] | None = None, whole: Store | None = None) -> None:
        """The store at `path`; of `part`, where given, only these captures are read, of the store `whole`."""
        self.path = path
        self._part = part
        self._proofs: Proofs = Proofs() if whole is None else whole._proofs
        self._own_rows: dict[Path, tuple[Seen, dict[str, Any]]] = {} if whole is None else whole._own_rows
        """What captures say of themselves, as long as their files are the same: listing them opens each file once."""
        self._engine: Engine | None = None

    @classmethod
    def open(cls, path: Path, *, create: bool = False) -> Self:
        """Opens the store at `path`; with `create` makes it when the directory is absent or empty.

        Raises NotAStore for a directory that is something else, NewerStore for one written by a later version,
        StoreError for a path that cannot be read.
        """
        check_path(path)
        marker = path / MARKER
        if not marker.exists():
            if not create:
                found = what_is_there(path) or "no such directory"
                raise NotAStore(
                    "a storscope store",
                    f"{found} without {MARKER}" if path.is_dir() else found,
                    where=str(path),
                    hint="Import something first (storscope import FILE...), or name the store with --store DIR.",
                )
            make_store(path)
        check_version(marker)
        leftovers.clear(path)
        return cls(path)

    @staticmethod
    def check_place(path: Path) -> None:
        """Raises what `open` with `create`, or a capture that is to be written there, would; makes nothing."""
        check_place(path)

    @staticmethod
    def is_store(path: Path) -> bool:
        """Whether the directory at `path` says that it is a store, readable or not."""
        return (path / MARKER).is_file()

    def only(self, captures: Collection[str]) -> Store:
        """The same store with these captures only, for questions; the store itself where they are all."""
        kept = frozenset(captures)
        return self if kept >= {id_of(one) for one in self._directories()} else Store(self.path, kept, self)

    def repeatable(self, sql: str) -> str:
        """The statement that gives on the whole store the rows that `sql` gives here."""
        return sql if self._part is None else of_part(sql, self._part, [*TABLES, "counters", "captures"])

    def writer(self, info: CaptureInfo | Callable[[], CaptureInfo]) -> CaptureWriter:
        """A writer for one capture; see CaptureWriter."""
        self.forget()
        return CaptureWriter(self.path, info)

    def forget(self) -> None:
        """Drops what the engine remembers of the files; the next query looks again."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def captures(self) -> list[dict[str, Any]]:
        """Every capture, oldest import first, as rows of the `captures` table with its id under `capture`."""
        rows = [{"capture": id_of(one)} | row for one in self._directories() if (row := self._own_row(one)) is not None]
        return sorted(rows, key=lambda row: (row["imported_at"], row["capture"]))

    def capture(self, capture_id: str) -> dict[str, Any] | None:
        """The row that `captures` has of one capture, whatever is wrong with others; None if there is none."""
        directory = self.path / f"capture={capture_id}"
        row = self._own_row(directory) if directory.is_dir() else None
        return None if row is None else {"capture": capture_id} | row

    def _own_row(self, directory: Path) -> dict[str, Any] | None:
        """What a capture says of itself; None if it was removed meanwhile.

        Raises DamagedStore, or StoreError where the process ran out of something.
        """
        file = directory / "captures.parquet"
        seen = look_at(file)
        known = self._own_rows.get(file)
        if known is not None and known[0] == seen:
            return known[1]
        try:
            if seen is not None:
                self._proofs.prove({file: seen})
            row = plain_rows(_as_it_should_be(pq.read_table(file, partitioning=None)))[0]
            if seen is not None:
                self._own_rows[file] = seen, row
            return row
        except (DamagedStore, OSError, IndexError, MemoryError, pa.ArrowException) as error:
            if look_at(file) != seen:  # replaced meanwhile
                return self._own_row(directory)
            if not directory.exists():
                return None
            if isinstance(error, DamagedStore):
                raise
            found = "none" if isinstance(error, FileNotFoundError) else str(error)
            raise limit_of(error, file) or damaged(file, found) from error

    def capture_ids(self) -> list[str]:
        """Of every capture, in order, also of those whose files are damaged."""
        return [id_of(directory) for directory in self._directories()]

    def has_capture(self, capture_id: str) -> bool:
        """True when a capture of that id is published."""
        return (self.path / f"capture={capture_id}").is_dir()

    def check(self) -> Iterator[CheckedCapture]:
        """Reads every file of every capture to its end; a capture's fault does not keep the others from being read."""
        return check_captures(self._directories())

    def fault_of(self, capture_id: str) -> DamagedStore | None:
        """What is wrong with a capture's files, which are read to their end; None if nothing is, or it is gone."""
        directory = self.path.absolute() / f"capture={capture_id}"
        return next(check_captures([directory])).fault if directory.is_dir() else None

    def not_put_back(self) -> list[str]:
        """Ids of captures that a crash left aside while they were replaced, in a store that cannot be written."""
        return leftovers.waiting(self.path)

    def remove_capture(self, capture_id: str) -> None:
        """Takes a capture out of the store, by one rename and then a deletion.

        Raises StoreError if there is none of that id, or the store cannot be written.
        """
        directory = self.path / f"capture={capture_id}"
        if not directory.is_dir():
            raise StoreError(f"a capture with the id {capture_id}", "none", where=str(self.path))
        aside = leftovers.removed(self.path, capture_id)
        try:
            with alone(self.path):
                directory.rename(aside)
        except OSError as error:
            raise StoreError(
                "a store that can be written to", error.strerror or str(error), where=str(self.path)
            ) from error
        shutil.rmtree(aside, ignore_errors=True)
        self.forget()

    def remove_if_empty(self) -> None:
        """Takes a store without captures that nobody writes to off the disk again: an import yielded nothing."""
        if not any(self.path.glob("capture=*")):
            self.forget()
            with alone_if_free(self.path) as is_ours:
                if is_ours:
                    unmake_if_empty(self.path)

    def query(self, sql: str, parameters: dict[str, Any] | list[Any] | None = None) -> pa.Table:
        """The answer to one SQL statement over the tables and views, as Arrow.

        The tables are those of `domain.schema`, each with the column `capture`; `counters` unpacks `series`.
        Raises QueryError with the engine's words when the SQL is refused, DamagedStore when a file is at fault.
        """
        for look in range(_LOOKS):
            if self._engine is None:
                self._engine = Engine(self._directories(), self._proofs)
            try:
                return self._engine.ask(sql, parameters)
            except (DamagedStore, QueryError):
                if look == _LOOKS - 1 or not self._engine.is_outdated():
                    raise
                self.forget()
        raise AssertionError

    def _directories(self) -> list[Path]:
        """Of the captures, in order of their ids."""
        found = published(self.path.resolve())
        return found if self._part is None else [one for one in found if id_of(one) in self._part]


def _as_it_should_be(captures: pa.Table) -> pa.Table:
    """With the columns' own types. Raises ArrowException for what is another thing in a file of another hand."""
    kinds = (CAPTURES.field(name) if name in CAPTURES.names else captures.field(name) for name in captures.column_names)
    return captures.cast(pa.schema(kinds))
