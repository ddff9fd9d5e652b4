"""Importing: files, folders, archives and streams into the store."""

from __future__ import annotations

import dataclasses
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from storscope.domain.errors import InputError, UsageError
from storscope.sources.evidence import Evidence, shown_name
from storscope.sources.expand import STANDARD_INPUT, Progress, Unreadable, expand, spooled
from storscope.sources.foreign import foreign
from storscope.sources.importer import Importer, ImportOptions
from storscope.sources.importers import importers, recognise
from storscope.store import Store
from storscope.workbench.captures import capture_id
from storscope.workbench.held_parts import OPTION, HeldParts
from storscope.workbench.hosts_beside import hosts_of_unnamed
from storscope.workbench.import_summary import ImportSummary, Skipped
from storscope.workbench.importing_one import Reading, import_one, known_as, sha256_of
from storscope.workbench.not_evidence import not_evidence
from storscope.workbench.parts import Joined, Parts

_ANEW_TOGETHER: Final = "It holds other files, too: import these together with --replace to have them read anew."


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
    with (
        spooled(standard_input if Path("-") in paths else None) as stdin_file,
        tempfile.TemporaryDirectory(prefix="storscope-") as directory,
    ):
        parts = Parts(Path(directory))
        run = _Import(store, list(paths), options or ImportOptions(), as_format, replace, stdin_file, progress, parts)
        run.each_file()
        run.each_joined()
        run.name_the_unnamed()
        return run.summary


@dataclass
class _Import:
    """One call: what was asked for, and what became of it so far."""

    store: Store
    paths: list[Path]
    options: ImportOptions
    as_format: str | None
    replace: bool
    stdin_file: Path | None
    progress: Progress | None
    parts: Parts
    """Files that are parts of one capture."""
    summary: ImportSummary = field(default_factory=ImportSummary)

    def each_file(self) -> None:
        """Imports every file but those that `parts` gathers."""
        forced = _importer_named(self.as_format) if self.as_format else None
        named = {shown_name(str(path)) for path in self.paths} | {STANDARD_INPUT}
        for item in expand(self.paths, self.stdin_file, self.progress):
            is_named = item.name in named
            if isinstance(item, Unreadable):
                self.summary.add(Skipped(item.name, item.reason, is_named or item.is_broken))
                continue
            importer = forced or recognise(item.head)
            if importer is None:
                self.summary.add(Skipped(item.name, _not_recognised(item), is_named))
            elif not self.parts.take(item, importer):
                self._read(Reading(item, importer, self.options))

    def each_joined(self) -> None:
        """Imports what is several files as one; those that cannot be come apart again."""
        held = HeldParts(self.store)
        for whole in self.parts.joined():
            fault = self._fault_of_joined(whole, held)
            if fault is not None and whole.leader is not None:
                self.parts.refuse(whole.leader)
            elif fault is not None:
                self.summary.add(fault)

    def _fault_of_joined(self, whole: Joined, held: HeldParts) -> Skipped | None:
        """Imports what may be several files, so that none of them is in the store twice; what is wrong if it cannot."""
        apart = [capture_id(sha256_of(path)) for path in whole.apart]
        holder = None if apart else held.holder_of(capture_id(sha256_of(whole.evidence.path)))
        if holder is not None:
            found = known_as(self.store, holder, whole.evidence.name, self.options, _ANEW_TOGETHER)
            if isinstance(found, Skipped):
                return found
            self.summary.add(found)
            return None
        told = {OPTION: " ".join(apart)} if apart else {}
        reading = Reading(whole.evidence, importers()[whole.importer], self.options, held.note_on(apart), told)
        try:
            outcome = import_one(self.store, reading, replace=self.replace)
        except InputError as error:
            return Skipped(whole.evidence.name, error.message(), is_error=True)
        self.summary.add(outcome)
        if apart and not isinstance(outcome, Skipped):
            held.take_the_place_of(apart, capture_id(sha256_of(whole.evidence.path)))
        return None

    def _read(self, reading: Reading) -> None:
        try:
            self.summary.add(import_one(self.store, reading, replace=self.replace))
        except InputError as error:
            self.summary.add(Skipped(reading.evidence.name, error.message(), is_error=True))

    def name_the_unnamed(self) -> None:
        """Gives captures that do not name their host the name of the one host beside them that fits.

        Which one that is, `hosts_beside.py` says. They are imported again under its name, with a note that says so.
        """
        found = hosts_of_unnamed(self.store, {item.capture: item.system for item in self.summary.imported})
        if not found:
            return
        for item in self._files_again():
            if (capture := capture_id(sha256_of(item.path))) not in found:
                continue
            before = next(one for one in self.summary.imported if one.capture == capture)
            self.summary.imported.remove(before)
            note = (
                f"The source names no host or array; taken as part of {found[capture]}, imported beside it with the "
                "same devices or volumes. Say otherwise with --system NAME."
            )
            named = dataclasses.replace(self.options, system=found.pop(capture))
            holds = dict((self.store.capture(capture) or {}).get("options", ())).get(OPTION)
            told = {} if holds is None else {OPTION: holds}
            reading = Reading(item, importers()[before.format], named, note, told)
            self.summary.add(import_one(self.store, reading, replace=True))

    def _files_again(self) -> Iterator[Evidence]:
        for item in itertools.chain(
            expand(self.paths, self.stdin_file), (whole.evidence for whole in self.parts.joined())
        ):
            if not isinstance(item, Unreadable):
                yield item


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
