"""Writing one capture: into a hidden directory, then into place with a single rename.

A crash at any moment leaves the store readable: it either has the capture or not. What a crashed process left behind
is removed when the store is opened next and nobody holds its lock (`lock.py`).
"""

from __future__ import annotations

import errno
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from storscope.domain.errors import StoreError
from storscope.domain.open_files import open_files_hint
from storscope.domain.recorder import Recorder
from storscope.domain.schema import CAPTURES, TABLES
from storscope.store.checksums import write_sums
from storscope.store.leftovers import incoming, set_aside
from storscope.store.lock import alone, hold, let_go
from storscope.store.marker import make_store
from storscope.store.outliving import sync

_DICTIONARY_COLUMNS = ["run", "system", "kind", "entity", "name", "unit", "type", "operation", "measure", "relation"]
_COMPRESSION_LEVEL = 1
_GROUP_BYTES = 2 * 1024**2
"""Batches of a table are gathered up to here, then encoded together on a thread of their own, as one row group."""
_NOT_WRITABLE: Final = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
"""Where no room that is made would help."""


@dataclass(frozen=True)
class CaptureInfo:
    """What is known of a capture from outside: the file, its content and the importer."""

    id: str
    path: str
    sha256: str
    size_bytes: int
    format: str
    importer_version: int
    imported_at_ns: int
    imported_on: str
    storscope_version: str
    options: Mapping[str, str]
    clock_offset_ns: int | None = None


@dataclass
class _Group:
    """Batches of one table that are to be encoded together."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    size_bytes: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Appends a batch."""
        self.batches.append(batch)
        self.size_bytes += batch.nbytes


class CaptureWriter:
    """A sink for a recorder. Use as a context manager: `commit()` publishes, leaving without it discards.

    `info` may be a function that is called when the capture is published, for what takes its time: the file's hash.
    """

    def __init__(self, store: Path, info: CaptureInfo | Callable[[], CaptureInfo]) -> None:
        self._info_of = info if callable(info) else lambda: info
        self._store = store
        self._incoming = incoming(store)
        self._lock: int | None = None
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._gathered: dict[str, _Group] = {}
        self._pending: dict[str, deque[Future[None]]] = {}

    def __enter__(self) -> CaptureWriter:
        with self._told(), alone(self._store):
            make_store(self._store)  # whoever found it empty has just removed it
            self._incoming.mkdir()
            try:
                self._lock = hold(self._incoming)
            except OSError:
                self._incoming.rmdir()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with self._told():
                self._close()
        except (StoreError, pa.ArrowInvalid):
            if error is None:  # else this is only what comes of it
                raise
        finally:
            shutil.rmtree(self._incoming, ignore_errors=True)
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Appends a batch; the sink given to a Recorder.

        Each table is encoded on a thread of its own, where at most two groups of batches wait, so that their order is
        kept and memory bounded. What goes wrong there is raised by a later call for the table, or by `commit`.
        """
        group = self._gathered.setdefault(table, _Group())
        group.add(batch)
        if group.size_bytes >= _GROUP_BYTES:
            with self._told():
                self._encode(table)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Says of an error which directory it is of, and what to try."""
        try:
            yield
        except OSError as error:
            hint = open_files_hint(error) or "Make room there, or choose another one with --store."
            if error.errno in _NOT_WRITABLE:
                hint = "Choose another one with --store."
            raise StoreError(
                "a store that takes a capture", _reason(error), where=str(self._store), hint=hint
            ) from error

    def _encode(self, table: str) -> None:
        batches = pa.Table.from_batches(self._gathered.pop(table).batches)
        if table not in self._writers:
            self._writers[table] = _parquet_writer(self._incoming / f"{table}.parquet", TABLES[table])
            self._threads[table] = ThreadPoolExecutor(1, f"storscope-{table}")
            self._pending[table] = deque()
        self._wait_for(table, at_most=1)
        self._pending[table].append(self._threads[table].submit(self._writers[table].write_table, batches))

    def _wait_for(self, table: str, *, at_most: int) -> None:
        """Until no more groups of the table than that are waiting; raises what went wrong with the others."""
        pending = self._pending[table]
        while len(pending) > at_most:
            pending.popleft().result()

    def commit(self, recorder: Recorder) -> None:
        """Writes the capture's own row and moves everything into place.

        A capture of the same id is replaced. The old one is moved aside first: between the two renames a reader sees
        neither, never both and never half of one. Raises StoreError if there is no room, for example.
        """
        with self._told():
            self._commit(recorder)

    def _commit(self, recorder: Recorder) -> None:
        for table in list(self._gathered):
            self._encode(table)
        self._close()
        info = self._info_of()
        captures = pa.RecordBatch.from_pylist([_capture_row(info, recorder)], schema=CAPTURES)
        with _parquet_writer(self._incoming / "captures.parquet", CAPTURES) as writer:
            writer.write_batch(captures)
        write_sums(self._incoming)
        for path in self._incoming.iterdir():
            sync(path)
        sync(self._incoming)
        with alone(self._store):
            let_go(self._incoming, self._lock)
            self._lock = None
            with set_aside(self._store, info.id) as replaced:
                self._incoming.rename(self._store / f"capture={info.id}")
        sync(self._store)
        if replaced is not None:
            shutil.rmtree(replaced, ignore_errors=True)

    def _close(self) -> None:
        """Waits for what is being written and ends the files; raises the first thing that went wrong."""
        try:
            for table in self._pending:
                self._wait_for(table, at_most=0)
        finally:
            for thread in self._threads.values():
                thread.shutdown()
            writers, self._writers = self._writers, {}
            self._threads.clear()
            self._pending.clear()
            with ExitStack() as files:  # each is closed, whatever the others say
                for writer in writers.values():
                    files.callback(writer.close)


class _ParquetFile(pq.ParquetWriter):
    """Is closed once: what went wrong then, pyarrow would try again when nobody listens, and print a traceback."""

    def close(self) -> None:
        """Ends the file. Raises OSError if there is no room for its end."""
        try:
            super().close()
        finally:
            self.is_open = False


def _parquet_writer(path: Path, schema: pa.Schema) -> _ParquetFile:
    dictionary = [name for name in schema.names if name in _DICTIONARY_COLUMNS]
    return _ParquetFile(
        path,
        schema,
        compression="zstd",
        compression_level=_COMPRESSION_LEVEL,
        use_dictionary=[*dictionary, "values.list.element"] if schema is TABLES["series"] else dictionary,
        write_statistics=[name for name in schema.names if name not in {"values", "times", "attributes"}],
    )


def _reason(error: OSError) -> str:
    """Arrow's errors have a number and a text of their own."""
    return os.strerror(error.errno) if error.errno else str(error)


def _capture_row(info: CaptureInfo, recorder: Recorder) -> dict[str, object]:
    notes = recorder.notes
    return {
        "path": info.path,
        "sha256": info.sha256,
        "size_bytes": info.size_bytes,
        "format": info.format,
        "importer_version": info.importer_version,
        "tool": notes.tool,
        "tool_version": notes.tool_version,
        "system": notes.system,
        "clock": notes.clock,
        "clock_offset_ns": info.clock_offset_ns,
        "first_time": recorder.first_time_ns,
        "last_time": recorder.last_time_ns,
        "imported_at": info.imported_at_ns,
        "imported_on": info.imported_on,
        "storscope_version": info.storscope_version,
        "options": list(info.options.items()),
        "row_counts": list(recorder.row_counts.items()),
        "omitted": list(notes.omitted.items()),
        "warnings": notes.warnings,
    }
