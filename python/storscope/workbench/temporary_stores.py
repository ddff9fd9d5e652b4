"""Stores that live as long as a command: among the temporary files, whose place TMPDIR names, and not --store."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from storscope.domain.errors import StoreError

_HINT: Final = "That is among the temporary files. Make room there, or set TMPDIR to a directory with more."


@contextmanager
def folder_for_stores() -> Iterator[Path]:
    """A new folder, gone after the block. Raises StoreError, with what helps, where it or a store in it has no room."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="storscope-")
    except OSError as error:
        found, where = error.strerror or str(error), str(error.filename or "")
        raise StoreError("a place for temporary files", found, where=where, hint=_HINT) from error
    with folder as name:
        try:
            yield Path(name)
        except StoreError as error:
            if not error.where.startswith(name) or "--store" not in error.hint:
                raise
            raise StoreError(error.expected, error.found, where=error.where, hint=_HINT) from error
