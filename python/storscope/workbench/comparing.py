"""Comparing: two sides, brought into stores where they are none, and judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import storscope
from storscope.compare import Side, compare_sides, parse_side
from storscope.compare.selection import Selector
from storscope.domain.comparison import Comparison, Settings
from storscope.domain.errors import UsageError
from storscope.store import Store
from storscope.workbench.brought import Reading, bring
from storscope.workbench.temporary_stores import folder_for_stores


@dataclass(frozen=True)
class SideSource:
    """One side, and what gives the store that has it: at the path, which is free, where it is in none yet."""

    side: Side
    store_at: Callable[[Path], Store]
    is_read: bool = False
    """Whether it is evidence that has to be read first."""


def compare(
    before: str,
    after: str,
    settings: Settings,
    *,
    store_path: Path | None = None,
    reading: Reading | None = None,
) -> Comparison:
    """Compares two sides, each evidence or part of a store (see compare/selection.py).

    Evidence is imported into a store that lives as long as the call. A side without a path is part of the store at
    `store_path`.
    """
    one, other = (named_side(text, store_path, reading or Reading()) for text in (before, after))
    return compare_sources(one, other, settings)


def compare_sources(before: SideSource, after: SideSource, settings: Settings) -> Comparison:
    """Compares two sides; stores that had to be made for them live as long as the call."""
    with folder_for_stores() as folder:
        stores: list[Store] = []
        try:
            for number, one in enumerate((before, after)):
                stores.append(one.store_at(folder / f"side-{number}"))
            return compare_sides((stores[0], before.side), (stores[1], after.side), settings,
                                 version=storscope.__version__)  # fmt: skip
        finally:
            for store in stores:
                store.forget()


def named_side(text: str, store_path: Path | None, reading: Reading) -> SideSource:
    """The side that a text names: a store or a part of one, or evidence to be read."""
    side = parse_side(text)
    if side.path is None or Store.is_store(side.path):
        return SideSource(side, lambda _: _store_of_side(side, store_path))
    return SideSource(side, _filled(lambda store: bring(store, [_path(side)], reading, where=side.text)), is_read=True)


def read_side(text: str, paths: Sequence[Path], reading: Reading) -> SideSource:
    """All that several paths hold as one side, which is called by `text`."""
    side = Side(text, None, Selector())
    return SideSource(side, _filled(lambda store: bring(store, paths, reading, where=text)), is_read=True)


def made_side(text: str, fill: Callable[[Store], object]) -> SideSource:
    """What `fill` writes into a store as one side, which is called by `text`."""
    return SideSource(Side(text, None, Selector()), _filled(fill))


def _filled(fill: Callable[[Store], object]) -> Callable[[Path], Store]:
    def store_at(path: Path) -> Store:
        store = Store.open(path, create=True)
        fill(store)
        return store

    return store_at


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


def _store_of_side(side: Side, store_path: Path | None) -> Store:
    """The store that the side names, or the one that is in use."""
    if side.path is not None:
        return Store.open(side.path)
    if store_path is None:
        raise UsageError("a store for the selection", "none", where=side.text, hint="Name it with --store DIR.")
    return Store.open(store_path)
