"""A store for what a command is about to make: opened before the work, gone again if nothing came into it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from storscope.cli.options import DEFAULT_STORE

if TYPE_CHECKING:
    from storscope.store import Store


def check_store_for_work(chosen: Path | None) -> None:
    """Raises what `store_for_work` would of the store that was chosen, or the default one, and makes none."""
    from storscope.store import Store

    Store.check_place(chosen or Path(DEFAULT_STORE))


@contextmanager
def store_for_work(chosen: Path | None) -> Iterator[Store]:
    """The store that was chosen, or the default one; made where there is none.

    So a place where no store can be, or one that takes nothing, is told before the work that would be lost. Raises as
    `Store.check_place`.
    """
    from storscope.store import Store

    path = chosen or Path(DEFAULT_STORE)
    is_new = not path.exists()
    Store.check_place(path)
    store = Store.open(path, create=True)
    try:
        yield store
    finally:
        if is_new:
            store.remove_if_empty()
