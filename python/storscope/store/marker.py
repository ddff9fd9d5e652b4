"""The file that says that a directory is a store, and of which version."""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from pathlib import Path

from storscope.domain.errors import DamagedStore, NewerStore, NotAStore, StoreError
from storscope.domain.schema import SCHEMA_VERSION
from storscope.store.lock import STORE_LOCK

MARKER = "storscope-store.json"
_DRAFT = f".{MARKER}."


def make_store(path: Path) -> None:
    """Makes a store of an absent or empty directory; leaves one that is there, also if it was made meanwhile.

    Raises NotAStore for a directory that is something else, StoreError where there is no place.
    """
    marker = path / MARKER
    if marker.exists():
        return
    if path.exists() and (not path.is_dir() or _has_other_things(path)):
        raise NotAStore(
            "an empty or new directory for the store",
            "a file" if not path.is_dir() else "a directory with other things in it",
            where=str(path),
            hint="Name another directory with --store DIR.",
        )
    is_new = not path.exists()
    draft = path / f"{_DRAFT}{secrets.token_hex(8)}"
    try:
        path.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps({"schema_version": SCHEMA_VERSION, "made_by": "storscope"}) + "\n")
        draft.replace(marker)
    except OSError as error:
        _unmake(path, draft, is_new=is_new)
        raise StoreError(
            "a place for a new store", error.strerror or str(error), where=str(path),
            hint="Choose another one with --store DIR.",
        ) from error  # fmt: skip


def unmake_if_empty(path: Path) -> None:
    """Takes a store that nobody uses off the disk. Called with the store to itself."""
    if {one.name for one in path.iterdir()} <= {MARKER, STORE_LOCK}:
        (path / MARKER).unlink(missing_ok=True)
        (path / STORE_LOCK).unlink(missing_ok=True)
        path.rmdir()


def check_version(marker: Path) -> None:
    """Raises NewerStore, or DamagedStore if it cannot be read."""
    try:
        version = json.loads(marker.read_text())["schema_version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedStore("a JSON object with schema_version", str(error), where=str(marker)) from error
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise NewerStore(
            f"a store of schema version {SCHEMA_VERSION} or older",
            f"version {version}",
            where=str(marker.parent),
            hint="It was written by a later storscope. Update this one, or use another store with --store DIR.",
        )


def _has_other_things(path: Path) -> bool:
    """Than what is there for a moment while another process makes a store of it."""
    names = {one.name for one in path.iterdir()}
    return MARKER not in names and any(name != STORE_LOCK and not name.startswith(_DRAFT) for name in names)


def _unmake(path: Path, draft: Path, *, is_new: bool) -> None:
    """What there is of a store that could not be made."""
    with suppress(OSError):
        draft.unlink(missing_ok=True)
        if is_new:
            path.rmdir()
