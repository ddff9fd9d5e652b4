"""Writes a file beside its place and renames it: a reader never sees half of it, and a failure leaves what was there.

What is no regular file (a pipe, /dev/stdout) is written as it is.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from storscope.domain.errors import UsageError


@contextmanager
def whole_file(path: Path, hint: str = "") -> Iterator[BinaryIO]:
    """A file to write to, which takes its place when all went well.

    Raises UsageError, with the hint what to try, when it cannot be written there.
    """
    try:
        is_special = path.exists() and not path.is_file()
        with path.open("wb") if is_special else _beside(path.resolve()) as file:
            yield file
    except BrokenPipeError:
        raise  # whoever read it has enough
    except OSError as error:
        raise UsageError(
            "a place where the file can be written", error.strerror or str(error), where=str(path), hint=hint
        ) from error


def write_text(path: Path, text: str) -> None:
    """A text as UTF-8, with the ends of lines that it has."""
    with whole_file(path, "Name another file with --output FILE.") as file:
        file.write(text.encode("utf-8", "replace"))


def check_place(path: Path) -> None:
    """Raises UsageError for a place where no file can be, before the work that makes its content."""
    folder = path.resolve().parent
    if not folder.is_dir():
        raise UsageError("a folder that exists", "none", where=str(folder))
    if not os.access(folder, os.W_OK) and not os.access(path, os.W_OK):
        raise UsageError("a folder that can be written to", "one that cannot", where=str(folder))


@contextmanager
def _beside(place: Path) -> Iterator[BinaryIO]:
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _as_new_file(Path(name))
        Path(name).replace(place)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def _as_new_file(path: Path) -> None:
    """The permissions a plain open() would have given; mkstemp gives none to others."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
