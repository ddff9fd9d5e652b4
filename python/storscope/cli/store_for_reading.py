"""A store that is asked: with what a killed run had measured in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from storscope.cli.options import DEFAULT_STORE
from storscope.cli.text_table import harmless

if TYPE_CHECKING:
    from storscope.store import Store


def store_for_reading(chosen: Path | None) -> Store:
    """The store that was chosen, or the default one, complete (`complete`). Raises as `Store.open`."""
    from storscope.store import Store

    store = Store.open(chosen or Path(DEFAULT_STORE))
    complete(store)
    return store


def complete(store: Store) -> None:
    """Brings in what runs had measured whose process was killed, and says so on standard error.

    A store that cannot be written is asked as it is: then it says that something is missing, and why.
    """
    from storscope.workbench.completing import completed

    for said in completed(store):
        click.echo(harmless(said), err=True)
