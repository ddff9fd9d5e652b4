"""The file that says that a directory is a store, and of which version."""

from __future__ import annotations

import errno
import json
import os
import secrets
from contextlib import suppress
from pathlib import Path

from storscope.domain.errors import DamagedStore, NewerStore, NotAStore, StoreError
from storscope.domain.schema import SCHEMA_VERSION
from storscope.store.lock import STORE_LOCK
from storscope.store.unreachable import unreachable

MARKER = "storscope-store.json"
_DRAFT = f".{MARKER}."
_MOST_CHARACTERS = 4096


def make_store(path: Path) -> None:
    """Makes a store of an absent or empty directory; leaves one that is there, also if it was made meanwhile.

    Raises NotAStore for a directory that is something else, StoreError where there is no place.
    """
    marker = path / MARKER
    if marker.exists():
        return
    _refuse_other_things(path)
    is_new = not path.exists()
    draft = path / f"{_DRAFT}{secrets.token_hex(8)}"
    try:
        path.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps({"schema_version": SCHEMA_VERSION, "made_by": "storscope"}) + "\n")
        draft.replace(marker)
    except OSError as error:
        _unmake(path, draft, is_new=is_new)
        raise _no_place("a place for a new store", error.strerror or str(error), path) from error


def check_place(path: Path) -> None:
    """Raises what would keep a store from being made at `path`, or the one there from taking a capture; makes nothing.

    NotAStore, NewerStore, DamagedStore, or StoreError where nothing may be written. Not all is known before: file
    systems such as /proc let root write and then make no directory.
    """
    check_path(path)
    marker = path / MARKER
    if marker.exists():
        check_version(marker)
        _check_writable(path, "a store that can be written to", path)
        return
    _refuse_other_things(path)
    above = path.absolute()
    while not above.exists():
        above = above.parent
    _check_writable(above, "a place for a new store", path)


def check_path(path: Path) -> None:
    """Raises StoreError for one that cannot be reached, or of which nothing could be read."""
    if why := unreachable(path / MARKER):
        raise _no_place("a store that can be reached", why, path)
    if not is_readable(path):
        found = ascii(os.fsencode(path.resolve())).removeprefix("b")
        raise _no_place("a store whose path is in UTF-8, from the root on", found, path)


def is_readable(path: Path) -> bool:
    """Whether Arrow and DuckDB find what is there: they take every name as UTF-8, whatever the disk has."""
    name = str(path.resolve())
    try:
        return name.encode() == os.fsencode(name)
    except UnicodeEncodeError:
        return False


def _check_writable(directory: Path, expected: str, path: Path) -> None:
    if not directory.is_dir():
        raise _no_place(expected, os.strerror(errno.ENOTDIR), path)
    if not os.access(directory, os.W_OK | os.X_OK):
        is_read_only = os.statvfs(directory).f_flag & os.ST_RDONLY
        raise _no_place(expected, os.strerror(errno.EROFS if is_read_only else errno.EACCES), path)


def _no_place(expected: str, found: str, path: Path) -> StoreError:
    return StoreError(expected, found, where=str(path), hint="Choose another one with --store DIR.")


def _refuse_other_things(path: Path) -> None:
    """Raises NotAStore for what is there and neither an empty directory nor a store that is being made."""
    found = what_is_there(path)
    if found is not None and (not path.is_dir() or _has_other_things(path)):
        raise NotAStore(
            "an empty or new directory for the store",
            "a directory with other things in it" if path.is_dir() else found,
            where=str(path),
            hint="Name another directory with --store DIR.",
        )


def what_is_there(path: Path) -> str | None:
    """A directory, a file, or a link that leads nowhere, as to a disk that is not mounted; None for nothing."""
    if path.is_dir():
        return "a directory"
    if path.exists():
        return "a file" if path.is_file() else "no directory"
    return f"a link to {path.readlink()}, which is not there" if path.is_symlink() else None


def unmake_if_empty(path: Path) -> None:
    """Takes a store that nobody uses off the disk. Called with the store to itself."""
    if {one.name for one in path.iterdir()} <= {MARKER, STORE_LOCK}:
        (path / MARKER).unlink(missing_ok=True)
        (path / STORE_LOCK).unlink(missing_ok=True)
        path.rmdir()


def check_version(marker: Path) -> None:
    """Raises NewerStore, or DamagedStore if it cannot be read or says no version."""
    try:
        form = json.loads(_text_of(marker))
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(marker, str(error)) from error
    if not isinstance(form, dict):
        raise _damaged(marker, "JSON of another kind")
    if "schema_version" not in form:
        raise _damaged(marker, "none in it")
    version = form["schema_version"]
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise _damaged(marker, f"schema_version {json.dumps(version)}")
    if version > SCHEMA_VERSION:
        raise NewerStore(
            f"a store of schema version {SCHEMA_VERSION} or older",
            f"version {version}",
            where=str(marker.parent),
            hint="It was written by a later storscope. Update this one, or use another store with --store DIR.",
        )


def _damaged(marker: Path, found: str) -> DamagedStore:
    return DamagedStore(
        "a JSON object with schema_version, a number from 1 on", found, where=str(marker),
        hint="Restore this file from a copy of the store, or use another store with --store DIR.",
    )  # fmt: skip


def _text_of(marker: Path) -> str:
    """No more than a marker can have, and of a file: a link may lead to a device that never ends."""
    if not marker.is_file():
        raise OSError("no regular file")
    with marker.open(encoding="utf-8") as file:
        return file.read(_MOST_CHARACTERS)


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
