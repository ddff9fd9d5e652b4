"""Importing: files, folders, archives and streams into the store."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from storscope.domain.errors import DamagedStore, InputError, UsageError
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, shown_name
from storscope.sources.expand import STANDARD_INPUT, Progress, Unreadable, expand, spooled
from storscope.sources.foreign import foreign
from storscope.sources.importer import Importer, ImportOptions
from storscope.sources.importers import importers, recognise
from storscope.store import CaptureInfo, Store
from storscope.workbench.captures import capture_id, capture_info
from storscope.workbench.held_parts import OPTION, HeldParts
from storscope.workbench.hosts_beside import hosts_of_unnamed
from storscope.workbench.not_evidence import not_evidence
from storscope.workbench.parts import Joined, Parts

_ANEW = "--replace reads it anew."
_ANEW_TOGETHER = "It holds other files, too: import these together with --replace to have them read anew."
_HASHED_MEANWHILE_BYTES = 8 * 1024**2
"""A larger file is hashed while it is read; a smaller one before, so that a known one is not read at all."""


@dataclass(frozen=True)
class Imported:
    """One file that is now in the store."""

    name: str
    capture: str
    format: str
    rows: Counter[str]
    omitted: Counter[str]
    warnings: Sequence[str]
    clock: str | None
    system: str | None


@dataclass(frozen=True)
class Known:
    """One file whose content the store had already."""

    name: str
    capture: str
    read_otherwise: bool = False
    """It was imported without an option that is given now, or with another value of it."""


@dataclass(frozen=True)
class Skipped:
    """One file that is not, and why. `is_error` when the user will want to know at once."""

    name: str
    reason: str
    is_error: bool = False


@dataclass
class ImportSummary:
    """What an import did."""

    imported: list[Imported] = field(default_factory=list)
    known: list[Known] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def captures(self) -> list[str]:
        """The captures the named files stand for, whether new or known."""
        return [item.capture for item in self.imported] + [item.capture for item in self.known]

    @property
    def failures(self) -> list[Skipped]:
        """What must not be passed over in silence."""
        return [item for item in self.skipped if item.is_error]


def import_paths(
    store: Store,
    paths: Sequence[Path],
    *,
    options: ImportOptions | None = None,
    as_format: str | None = None,
    replace: bool = False,
    standard_input: BinaryIO | None = None,
    progress: Progress | None = None,
) -> ImportSummary:
    """Imports files, folders, archives and standard input ('-') into `store`.

    A file that breaks off leaves nothing behind; the others are imported all the same and the summary says so.
    A file the user named that no importer recognises is a failure; one found in a folder is merely skipped.
    Raises UsageError for paths or formats that do not exist.
    """
    with spooled(standard_input if Path("-") in paths else None) as stdin_file:
        return _import_all(store, list(paths), options or ImportOptions(), as_format, replace, stdin_file, progress)


def _import_all(
    store: Store,
    paths: list[Path],
    options: ImportOptions,
    as_format: str | None,
    replace: bool,
    stdin_file: Path | None,
    progress: Progress | None,
) -> ImportSummary:
    summary = ImportSummary()
    with tempfile.TemporaryDirectory(prefix="storscope-") as directory:
        parts = Parts(Path(directory))
        _import_each(store, paths, options, as_format, replace, stdin_file, progress, parts, summary)
        held = HeldParts(store)
        for whole in parts.joined():
            fault = _fault_of_joined(store, whole, held, options, replace, summary)
            if fault is not None and whole.leader is not None:
                parts.refuse(whole.leader)
            elif fault is not None:
                summary.skipped.append(fault)
        _name_the_unnamed(store, paths, options, stdin_file, parts, summary)
    return summary


def _import_each(
    store: Store,
    paths: list[Path],
    options: ImportOptions,
    as_format: str | None,
    replace: bool,
    stdin_file: Path | None,
    progress: Progress | None,
    parts: Parts,
    summary: ImportSummary,
) -> None:
    """Imports every file but those that are parts of one capture, which `parts` gathers."""
    forced = _importer_named(as_format) if as_format else None
    named = {shown_name(str(path)) for path in paths} | {STANDARD_INPUT}
    for item in expand(paths, stdin_file, progress):
        is_named = item.name in named
        if isinstance(item, Unreadable):
            summary.skipped.append(Skipped(item.name, item.reason, is_named or item.is_broken))
            continue
        importer = forced or recognise(item.head)
        if importer is None:
            summary.skipped.append(Skipped(item.name, _not_recognised(item), is_named))
            continue
        if parts.take(item, importer):
            continue
        fault = _fault_of_importing(store, item, importer, options, replace, summary)
        summary.skipped.extend([fault] if fault is not None else [])


def _fault_of_joined(
    store: Store, whole: Joined, held: HeldParts, options: ImportOptions, replace: bool, summary: ImportSummary
) -> Skipped | None:
    """Imports what may be several files, so that none of them is in the store twice; what is wrong where it cannot."""
    apart = [capture_id(_sha256(path)) for path in whole.apart]
    holder = None if apart else held.holder_of(capture_id(_sha256(whole.evidence.path)))
    if holder is not None and (damage := store.fault_of(holder)) is not None:
        return Skipped(whole.evidence.name, _damaged(holder, damage, _ANEW_TOGETHER), is_error=True)
    if holder is not None:
        summary.known.append(Known(whole.evidence.name, holder, _was_read_otherwise(store, holder, options)))
        return None
    importer, told = importers()[whole.importer], {OPTION: " ".join(apart)} if apart else {}
    fault = _fault_of_importing(store, whole.evidence, importer, options, replace, summary, held.note_on(apart), told)
    if fault is None and apart:
        held.take_the_place_of(apart, capture_id(_sha256(whole.evidence.path)))
    return fault


def _fault_of_importing(
    store: Store,
    evidence: Evidence,
    importer: Importer,
    options: ImportOptions,
    replace: bool,
    summary: ImportSummary,
    note: str | None = None,
    told: Mapping[str, str] | None = None,
) -> Skipped | None:
    """Imports a file; what is wrong with it where it cannot be."""
    try:
        _import_one(store, evidence, importer, options, replace, summary, note, told)
    except InputError as error:
        return Skipped(evidence.name, error.message(), is_error=True)
    return None


def _name_the_unnamed(
    store: Store,
    paths: list[Path],
    options: ImportOptions,
    stdin_file: Path | None,
    parts: Parts,
    summary: ImportSummary,
) -> None:
    """Gives captures that do not name their host the name of the one host beside them that fits (`hosts_beside.py`).

    They are imported again under that name, with a note that says so.
    """
    found = hosts_of_unnamed(store, {item.capture: item.system for item in summary.imported})
    if not found:
        return
    for item in itertools.chain(expand(paths, stdin_file), (whole.evidence for whole in parts.joined())):
        if isinstance(item, Unreadable) or (capture := capture_id(_sha256(item.path))) not in found:
            continue
        before = next(one for one in summary.imported if one.capture == capture)
        summary.imported.remove(before)
        note = (
            f"The source names no host or array; taken as part of {found[capture]}, imported beside it with the same "
            "devices or volumes. "
            "Say otherwise with --system NAME."
        )
        named = dataclasses.replace(options, system=found.pop(capture))
        holds = dict((store.capture(capture) or {}).get("options", ())).get(OPTION)
        told = None if holds is None else {OPTION: holds}
        _import_one(store, item, importers()[before.format], named, True, summary, note, told)


def _import_one(
    store: Store,
    evidence: Evidence,
    importer: Importer,
    options: ImportOptions,
    replace: bool,
    summary: ImportSummary,
    note: str | None = None,
    told: Mapping[str, str] | None = None,
) -> None:
    with ThreadPoolExecutor(1, "storscope-hash") as pool:
        digest = pool.submit(_sha256, evidence.path)
        if evidence.size_bytes < _HASHED_MEANWHILE_BYTES:
            wait([digest])
        try:
            recorder = _read_into(store, evidence, importer, options, digest, replace, note, told)
        except _AlreadyKnown:
            known = capture_id(digest.result())
            if (fault := store.fault_of(known)) is not None:  # said to be there it would stay as it is
                summary.skipped.append(Skipped(evidence.name, _damaged(known, fault), is_error=True))
                return
            summary.known.append(Known(evidence.name, known, _was_read_otherwise(store, known, options)))
            return
        capture = capture_id(digest.result())
    notes = recorder.notes
    summary.imported.append(
        Imported(
            evidence.name,
            capture,
            importer.name,
            recorder.row_counts,
            notes.omitted,
            notes.warnings,
            notes.clock,
            notes.system,
        )
    )


class _AlreadyKnown(Exception):
    """The store has a capture of this content; what was read of it is dropped."""


def _read_into(
    store: Store,
    evidence: Evidence,
    importer: Importer,
    options: ImportOptions,
    digest: Future[str],
    replace: bool,
    note: str | None,
    told: Mapping[str, str] | None,
) -> Recorder:
    """Reads and publishes a file whose hash may still be on its way. Raises _AlreadyKnown as soon as it can tell."""

    def drop_what_is_known() -> None:
        if not replace and digest.done() and store.has_capture(capture_id(digest.result())):
            raise _AlreadyKnown

    def sink(table: str, batch: pa.RecordBatch) -> None:
        drop_what_is_known()
        writer.write(table, batch)

    drop_what_is_known()
    with store.writer(lambda: _capture_info(evidence, importer, options, digest.result(), told)) as writer:
        recorder = Recorder(sink)
        try:
            importer.read(evidence, recorder, options)
        except InputError:
            wait([digest])
            drop_what_is_known()
            raise
        if evidence.lines_not_utf8:
            recorder.warn(f"{evidence.lines_not_utf8:,} lines are not UTF-8; they were read as Windows-1252.")
        if note:
            recorder.warn(note)
        recorder.finish()
        if recorder.is_empty:
            raise InputError(
                f"data of the format {importer.name}", "none", where=evidence.name, hint=_why_empty(recorder)
            )
        wait([digest])
        drop_what_is_known()
        writer.commit(recorder)
    return recorder


def _damaged(capture: str, fault: DamagedStore, remedy: str = _ANEW) -> str:
    return (
        f"the store has this content as capture {capture}, which is damaged ({fault.where}: expected {fault.expected}, "
        f"found {fault.found}). {remedy}"
    )


def _was_read_otherwise(store: Store, capture: str, options: ImportOptions) -> bool:
    told = options.as_text()
    before = store.capture(capture) if told else None
    return before is not None and any(dict(before["options"]).get(name) != value for name, value in told.items())


def _capture_info(
    evidence: Evidence, importer: Importer, options: ImportOptions, digest: str, told: Mapping[str, str] | None
) -> CaptureInfo:
    noted = options.as_text() | dict(told or {})
    version = importer.version
    return capture_info(evidence.name, digest, evidence.size_bytes, importer.name, version=version, options=noted)


def _why_empty(recorder: Recorder) -> str:
    said = [*recorder.notes.warnings, *(f"{count:,} left out: {why}." for why, count in recorder.notes.omitted.items())]
    return " ".join(f"{sentence.rstrip('.')}." for sentence in said) or "The file holds headings only."


def _importer_named(name: str) -> Importer:
    try:
        return importers()[name]
    except KeyError:
        raise UsageError(
            "a format for --as", repr(name), hint="Known are: " + ", ".join(importers()) + ". See: storscope formats."
        ) from None


def _not_recognised(evidence: Evidence) -> str:
    head = evidence.head
    if head.is_binary:
        return foreign(head) or "is binary, and no importer reads it"
    unknown = "no importer recognises its content (see: storscope formats; force one with --as FORMAT)"
    return not_evidence(head.text) or foreign(head) or unknown


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
