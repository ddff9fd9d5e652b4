"""Evidence brought into a store: into one that is kept, or into one that lives as long as a question is asked of it.

The command line and programs bring it in the same way; what is said of files that could not be used is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from storscope.domain.errors import InputError
from storscope.sources.expand import Progress
from storscope.sources.importer import ImportOptions
from storscope.store import Store
from storscope.workbench.import_summary import ImportSummary
from storscope.workbench.importing import import_paths
from storscope.workbench.temporary_stores import folder_for_stores, named_for


@dataclass(frozen=True)
class Reading:
    """How evidence is read, and who hears of it meanwhile."""

    options: ImportOptions | None = None
    as_format: str | None = None
    standard_input: BinaryIO | None = None
    progress: Progress | None = None
    told: Callable[[ImportSummary], None] | None = None
    """Hears what was read and what could not be, also where that is everything."""


def bring(store: Store, paths: Sequence[Path], reading: Reading, *, where: str = "") -> ImportSummary:
    """Imports evidence into a store. Raises InputError, about `where`, if the store has nothing of it then."""
    summary = import_paths(
        store,
        paths,
        options=reading.options,
        as_format=reading.as_format,
        standard_input=reading.standard_input,
        progress=reading.progress,
    )
    if reading.told is not None:
        reading.told(summary)
    if not summary.captures:
        raise InputError(
            "evidence that an importer understands", "none", where=where, hint="What is understood: storscope formats."
        )
    return summary


@contextmanager
def store_of(paths: Sequence[Path], reading: Reading) -> Iterator[tuple[Store, ImportSummary]]:
    """A store of what the paths hold, gone after the block. Raises as `bring`; errors name what was read, not it."""
    with folder_for_stores() as folder, named_for(folder, paths):
        store = Store.open(folder / "store", create=True)
        try:
            yield store, bring(store, paths, reading)
        finally:
            store.forget()
