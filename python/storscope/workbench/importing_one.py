"""Importing one capture: a file, or several as one, that one importer reads into the store."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa

from storscope.domain.errors import DamagedStore, InputError
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence
from storscope.sources.importer import Importer, ImportOptions
from storscope.store import CaptureInfo, Store
from storscope.workbench.captures import capture_id, capture_info
from storscope.workbench.import_summary import Imported, Known, Skipped

_ANEW: Final = "--replace reads it anew."
_HASHED_MEANWHILE_BYTES = 8 * 1024**2
"""A larger file is hashed while it is read; a smaller one before, so that a known one is not read at all."""


@dataclass(frozen=True)
class Reading:
    """What is to become one capture, and what is said of it besides its content."""

    evidence: Evidence
    importer: Importer
    options: ImportOptions
    note: str | None = None
    """A doubt that the capture is to tell."""
    told: Mapping[str, str] = field(default_factory=dict)
    """Options of the capture besides those of the user."""


def import_one(store: Store, reading: Reading, *, replace: bool) -> Imported | Known | Skipped:
    """Reads a capture into the store, unless it is known and not to be replaced; says what became of it.

    Raises InputError where the importer cannot read it; nothing is in the store then.
    """
    evidence = reading.evidence
    with ThreadPoolExecutor(1, "storscope-hash") as pool:
        digest = pool.submit(sha256_of, evidence.path)
        if evidence.size_bytes < _HASHED_MEANWHILE_BYTES:
            wait([digest])
        try:
            recorder = _read_into(store, reading, digest, replace=replace)
        except _AlreadyKnown:
            return known_as(store, capture_id(digest.result()), evidence.name, reading.options)
        capture = capture_id(digest.result())
    notes = recorder.notes
    return Imported(
        evidence.name,
        capture,
        reading.importer.name,
        recorder.row_counts,
        notes.omitted,
        notes.warnings,
        notes.clock,
        notes.system,
    )


def known_as(store: Store, capture: str, name: str, options: ImportOptions, remedy: str = _ANEW) -> Known | Skipped:
    """What is said of a file whose content the store has: of a damaged capture, that it is, and what to do."""
    if (fault := store.fault_of(capture)) is not None:  # said to be there it would stay as it is
        return Skipped(name, _damaged(capture, fault, remedy), is_error=True)
    return Known(name, capture, _was_read_otherwise(store, capture, options))


def sha256_of(path: Path) -> str:
    """The digest of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _AlreadyKnown(Exception):
    """The store has a capture of this content; what was read of it is dropped."""


def _read_into(store: Store, reading: Reading, digest: Future[str], *, replace: bool) -> Recorder:
    """Reads and publishes a file whose hash may still be on its way. Raises _AlreadyKnown as soon as it can tell."""
    evidence, importer = reading.evidence, reading.importer

    def drop_what_is_known() -> None:
        if not replace and digest.done() and store.has_capture(capture_id(digest.result())):
            raise _AlreadyKnown

    def sink(table: str, batch: pa.RecordBatch) -> None:
        drop_what_is_known()
        writer.write(table, batch)

    drop_what_is_known()
    with store.writer(lambda: _capture_info(reading, digest.result())) as writer:
        recorder = Recorder(sink)
        try:
            importer.read(evidence, recorder, reading.options)
        except InputError:
            wait([digest])
            drop_what_is_known()
            raise
        if evidence.lines_not_utf8:
            recorder.warn(f"{evidence.lines_not_utf8:,} lines are not UTF-8; they were read as Windows-1252.")
        if reading.note:
            recorder.warn(reading.note)
        recorder.finish()
        if recorder.is_empty:
            raise InputError(
                f"data of the format {importer.name}", "none", where=evidence.name, hint=_why_empty(recorder)
            )
        wait([digest])
        drop_what_is_known()
        writer.commit(recorder)
    return recorder


def _capture_info(reading: Reading, digest: str) -> CaptureInfo:
    evidence, importer = reading.evidence, reading.importer
    noted = reading.options.as_text() | dict(reading.told)
    version = importer.version
    return capture_info(evidence.name, digest, evidence.size_bytes, importer.name, version=version, options=noted)


def _why_empty(recorder: Recorder) -> str:
    said = [*recorder.notes.warnings, *(f"{count:,} left out: {why}." for why, count in recorder.notes.omitted.items())]
    return " ".join(f"{sentence.rstrip('.')}." for sentence in said) or "The file holds headings only."


def _damaged(capture: str, fault: DamagedStore, remedy: str) -> str:
    return (
        f"the store has this content as capture {capture}, which is damaged ({fault.where}: expected {fault.expected}, "
        f"found {fault.found}). {remedy}"
    )


def _was_read_otherwise(store: Store, capture: str, options: ImportOptions) -> bool:
    told = options.as_text()
    before = store.capture(capture) if told else None
    return before is not None and any(dict(before["options"]).get(name) != value for name, value in told.items())
