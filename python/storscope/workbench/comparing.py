"""Comparing: two sides, brought into stores where they are files, and judged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import storscope
from storscope.compare import Side, compare_sides, parse_side
from storscope.domain.comparison import Comparison, Settings
from storscope.domain.errors import InputError, UsageError
from storscope.sources.expand import Progress
from storscope.sources.importer import ImportOptions
from storscope.store import Store
from storscope.workbench.importing import ImportSummary, import_paths
from storscope.workbench.temporary_stores import folder_for_stores


def compare(
    before: str,
    after: str,
    settings: Settings,
    *,
    store_path: Path | None = None,
    options: ImportOptions | None = None,
    as_format: str | None = None,
    progress: Progress | None = None,
    told: Callable[[ImportSummary], None] | None = None,
) -> Comparison:
    """Compares two sides, each evidence or part of a store (see compare/selection.py).

    Evidence is imported into a store that lives as long as the call; `told` hears what could not be read. A side
    without a path is part of the store at `store_path`.
    """
    sides = (parse_side(before), parse_side(after))

    def imported(side: Side, into: Path) -> Store:
        store = Store.open(into, create=True)
        summary = import_paths(store, [_path(side)], options=options, as_format=as_format, progress=progress)
        if told is not None:
            told(summary)
        if not summary.captures:
            raise InputError(
                "evidence that an importer understands",
                "none",
                where=side.text,
                hint="What is understood: storscope formats.",
            )
        return store

    with folder_for_stores() as folder:
        stores = [
            _store_of_side(side, store_path) or imported(side, folder / f"side-{number}")
            for number, side in enumerate(sides)
        ]
        try:
            return compare_sides((stores[0], sides[0]), (stores[1], sides[1]), settings, version=storscope.__version__)
        finally:
            for store in stores:
                store.forget()


def are_stored(before: str, after: str) -> bool:
    """Whether both sides are parts of stores, so that nothing is imported."""
    sides = (parse_side(before), parse_side(after))
    return all(side.path is None or Store.is_store(side.path) for side in sides)


def paths_of(before: str, after: str) -> list[Path]:
    """What the sides name by a path: evidence and stores."""
    return [side.path for side in (parse_side(before), parse_side(after)) if side.path is not None]


def _path(side: Side) -> Path:
    if side.path is None or not side.path.exists():
        raise UsageError("a file, folder, archive or store that exists", repr(side.text))
    return side.path


def _store_of_side(side: Side, store_path: Path | None) -> Store | None:
    """The store that the side names or that is in use; None when it names evidence."""
    if side.path is None:
        if store_path is None:
            raise UsageError("a store for the selection", "none", where=side.text, hint="Name it with --store DIR.")
        return Store.open(store_path)
    return Store.open(side.path) if Store.is_store(side.path) else None
