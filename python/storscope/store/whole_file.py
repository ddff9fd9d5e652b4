"""Writes a file beside its place and renames it: a reader never sees half of it, and a failure leaves what was there.

What is no regular file (a pipe, /dev/stdout) is written as it is; a block device never. `check_place` holds the rule of
what may be replaced: an empty file, and by a report an earlier one. Tables, workloads and exports may have been edited
since or carry no mark: they, and files of any other origin, are replaced only when that is asked for.
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
from storscope.domain.units import format_bytes
from storscope.store.unreachable import unreachable

_MARK = b'<meta name="generator" content="storscope '
"""In the head of every page of the room `report`."""
_HEAD_BYTES = 8192
_DEVICES = Path("/dev")
_OF_YOURS = "Name a place in a folder of yours, such as /tmp"


@contextmanager
def whole_file(path: Path, hint: str = "") -> Iterator[BinaryIO]:
    """A file to write to, which takes its place when all went well.

    Raises UsageError, with the hint what to try, when it cannot be written there.
    """
    try:
        if path.is_block_device():
            raise _block_device(path)
        with path.open("wb") if _is_special(path) else _beside(path.resolve()) as file:
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


def make_folder(path: Path) -> None:
    """With those above it, if it is not there yet. Raises UsageError where it cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = f"{_OF_YOURS}/{path.name}."
        raise UsageError("a place for a folder", error.strerror or str(error), where=str(path), hint=hint) from error


def check_place(path: Path, *, is_page: bool = False, replaces: bool = False) -> None:
    """Raises UsageError for a place where no file can be or where one would be lost, before the work that makes it.

    A page may take the place of an earlier one; with `replaces` any file is given up.
    """
    if why := unreachable(path):
        raise UsageError("a place for a file", why, where=str(path), hint="Name another file.")
    folder = path.resolve().parent
    if not folder.is_dir():
        hint = "Make it, or name a file in another folder."
        raise UsageError("a folder that exists", "none", where=str(folder), hint=hint)
    if path.is_block_device():
        raise _block_device(path)
    if path.is_dir():
        raise UsageError("a file", "a folder", where=str(path), hint="Name a file in it.")
    if _is_special(path):
        return
    if _is_among_devices(folder):
        hint = "/dev keeps no files. Name one elsewhere, or check the name of the device with lsblk."
        raise UsageError("a file, or a device that exists", "neither", where=str(path), hint=hint)
    if not os.access(folder, os.W_OK):
        raise UsageError(
            "a folder that can be written to", "one that cannot", where=str(folder), hint=f"{_OF_YOURS}/{path.name}."
        )
    if path.is_file() and not replaces and not _may_go(path, is_page=is_page):
        raise UsageError(
            "a new file, or an earlier report of storscope" if is_page else "a new file",
            f"one of {format_bytes(path.stat().st_size)} that would be lost",
            where=str(path),
            hint="Name another file, or replace this one with --replace.",
        )


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _is_among_devices(folder: Path) -> bool:
    """Whether it is on the file system of the devices; /dev/shm is on another."""
    return folder.is_relative_to(_DEVICES) and folder.stat().st_dev == _DEVICES.stat().st_dev


def _block_device(path: Path) -> UsageError:
    return UsageError("a file", "a block device, whose content would be lost", where=str(path))


def _may_go(path: Path, *, is_page: bool) -> bool:
    """Whether nothing is lost with a file: it is empty, or for a page an earlier one."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False  # what it is cannot be told
    return not head or (is_page and head.lstrip().lower().startswith(b"<!doctype html") and _MARK in head)


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
