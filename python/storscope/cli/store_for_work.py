"""A store for what a command is about to make: opened before the work, gone again if nothing came into it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from storscope.cli.options import DEFAULT_STORE

if TYPE_CHECKING:
    from storscope.store import Store


@contextmanager
def store_for_work(chosen: Path | None) -> Iterator[Store]:
    """The store that was chosen, or the default one; made where there is none.

    So a place where no store can be is told before the work that would be lost. Raises as `Store.open`.
    """
    from storscope.store import Store

    path = chosen or Path(DEFAULT_STORE)
    is_new = not path.exists()
    store = Store.open(path, create=True)
    try:
        yield store
    finally:
        if is_new:
            store.remove_if_empty()
