"""Stores that live as long as a command: among the temporary files, whose place TMPDIR names, and not --store."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from storscope.domain.errors import StoreError, StorscopeError
from storscope.sources.expand import STANDARD_INPUT
from storscope.store.marker import is_readable
from storscope.store.outliving import passing

_HINT: Final = "That is among the temporary files. Make room there, or set TMPDIR to a directory with more."
_HINT_OF_NAME: Final = "That is among the temporary files. Set TMPDIR to a directory whose path is."
_MOST_NAMED: Final = 3
"""Of what was read, in an error."""


@contextmanager
def folder_for_stores() -> Iterator[Path]:
    """A new folder, gone after the block. Raises StoreError, with what helps, where it or a store in it has no room."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="storscope-")
    except OSError as error:
        found, where = error.strerror or str(error), str(error.filename or "")
        raise StoreError("a place for temporary files", found, where=where, hint=_HINT) from error
    with folder as name, passing(Path(name)):
        try:
            yield Path(name)
        except StoreError as error:
            if not error.where.startswith(name) or "--store" not in error.hint:
                raise
            hint = _HINT if is_readable(Path(name)) else _HINT_OF_NAME
            raise StoreError(error.expected, error.found, where=error.where, hint=hint) from error


@contextmanager
def named_for(folder: Path, read: Sequence[Path | str]) -> Iterator[None]:
    """Errors about a store in `folder` name what was read into it: nobody knows the folder, and soon it is gone.

    Those about the store itself keep its place, as only there something can be done about it.
    """
    try:
        yield
    except StoreError:
        raise
    except StorscopeError as error:
        if not error.where.startswith(str(folder)):
            raise
        names = [STANDARD_INPUT if str(one) == "-" else str(one) for one in read[:_MOST_NAMED]]
        where = ", ".join(names) + (f" and {len(read) - len(names):,} more" if len(read) > len(names) else "")
        raise type(error)(error.expected, error.found, where=where, hint=error.hint) from error
