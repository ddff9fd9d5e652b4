"""Proving that a store is whole, and taking captures out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from storscope.cli.show_store import series_of
from storscope.cli.text_table import harmless
from storscope.domain.errors import DamagedStore, UsageError
from storscope.domain.units import format_bytes, format_count
from storscope.store import Store

_FEWEST_CHARACTERS = 4
"""Of the beginning of an id: with fewer, a slip of the finger would be another capture."""
_MOST_NAMED = 5


def print_check(store: Store) -> int:
    """Says of every capture that is damaged which file it is, then what to do. Returns 1 if there is any, else 0."""
    captures = list(store.check())
    damaged = [one for one in captures if one.fault is not None]
    unproved = [one for one in captures if one.fault is None and not one.has_sums]
    for one in damaged:
        if (fault := one.fault) is not None:
            what = f"{fault.where}: expected {fault.expected}, found {fault.found}"
            click.echo(f"{click.style('DAMAGED', fg='red')}  {harmless(what)}")
    for one in unproved:
        said = f"readable {one.directory}: has no checksums, so that changed values would not be seen"
        click.echo(harmless(said))
    parts = [f"{format_count(len(captures) - len(damaged) - len(unproved))} as written"]
    parts += [f"{format_count(len(unproved))} readable"] if unproved else []
    parts += [f"{format_count(len(damaged))} DAMAGED"] if damaged else []
    files, size = sum(one.files for one in captures), format_bytes(sum(one.size_bytes for one in captures))
    noun = "capture" if len(captures) == 1 else "captures"
    click.echo(
        f"store {store.path}: {format_count(len(captures))} {noun}, {format_count(files)} files, {size}: "
        + ", ".join(parts)
    )
    if damaged:
        ids = " ".join(one.id for one in damaged)
        click.echo(
            f"Take them out (storscope store remove --store {store.path} {ids}) and import them again.", err=True
        )
    return 1 if damaged else 0


def remove_captures(store: Store, names: Sequence[str], *, dry_run: bool) -> None:
    """Takes the captures of these names out of the store. Raises UsageError, and removes none, where one is wrong."""
    series = _series(store)
    captures = dict.fromkeys(one for name in names for one in _named(store, name, series))
    contents = _contents(store)
    for capture in captures:
        if not dry_run:
            store.remove_capture(capture)
        said = f"{'would remove' if dry_run else 'removed'} {capture}  {contents.get(capture, '')}".rstrip()
        click.echo(harmless(said))


def _series(store: Store) -> Mapping[str, str]:
    """Capture -> the sweep that it is a part of; empty in a store that is damaged."""
    try:
        return series_of(store)
    except DamagedStore:
        return {}


def _contents(store: Store) -> Mapping[str, str]:
    """Capture -> what it is of; empty where one of them cannot say so."""
    try:
        return {row["capture"]: f"{row['format']}  {row['path']}" for row in store.captures()}
    except DamagedStore:
        return {}


def _named(store: Store, name: str, series: Mapping[str, str]) -> list[str]:
    of_series = [capture for capture, of in series.items() if of == name]
    if of_series:
        return of_series
    ids = store.capture_ids()
    found = [one for one in ids if one == name] or [one for one in ids if one.startswith(name)]
    if len(found) == 1 and (len(name) >= _FEWEST_CHARACTERS or found == [name]):
        return found
    several = f"{len(found)} that begin so: " if len(found) > 1 else "one that begins so: " if found else "none"
    shown = ", ".join(found[:_MOST_NAMED]) + (" ..." if len(found) > _MOST_NAMED else "")
    raise UsageError(
        f"the id of a capture, its beginning of at least {_FEWEST_CHARACTERS} characters, or the name of a sweep",
        f"{name!r}, and {several}{shown}", where=str(store.path),
        hint=f"`storscope store info --all --store {store.path}` lists them. Nothing was removed.",
    )  # fmt: skip
