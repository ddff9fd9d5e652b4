"""A store that is asked: with what a killed run had measured in it."""

from __future__ import annotations

from collections.abc import Iterator

from storscope.domain.errors import StoreError
from storscope.store import Store
from storscope.workbench.benchmarking import recover_runs


def completed(store: Store) -> Iterator[str]:
    """Brings in what runs had measured whose process was killed, and says so of each.

    A store that cannot be written is asked as it is: then it says that something is missing, and why.
    """
    try:
        yield from recover_runs(store)
    except (StoreError, OSError) as error:
        yield f"A run that was killed is not in the store yet, as it cannot be written: {error}"
    for capture in store.not_put_back():
        yield (
            f"{store.path}: capture {capture} is not in the store, as its replacement broke off. The next command that "
            "may write to the store puts it back."
        )
