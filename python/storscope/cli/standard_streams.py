"""Standard input, output and error, also where a daemon, a full disk or an impatient reader took one of them away.

Only what is printed to standard output is a command's result; what is said beside it, on standard error, never ends it.
A result that cannot be written does, and that error says where it should have gone.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STDOUT, _STDERR = 1, 2


def prepare() -> None:
    """Occupies the numbers of streams that are closed, and makes standard error one that can always be written to.

    What cannot be written to standard output raises an OSError that names it.
    """
    for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)):
        if stream is None:
            _occupy(number)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.fileno() == _STDOUT:
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_Named(_STDOUT, "w", closefd=False)),
            encoding=sys.stdout.encoding,
            errors=sys.stdout.errors,
            line_buffering=sys.stdout.line_buffering,
            write_through=sys.stdout.write_through,
        )
    if sys.stderr is None or (isinstance(sys.stderr, io.TextIOWrapper) and sys.stderr.fileno() == _STDERR):
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(_Forgiving(_STDERR, "w", closefd=False)),
            encoding=sys.stderr.encoding if sys.stderr is not None else "utf-8",
            errors="replace",
            line_buffering=True,
        )


def standard_input() -> BinaryIO | None:
    """Its bytes; None if it is closed."""
    return None if sys.stdin is None else sys.stdin.buffer


def standard_output() -> BinaryIO:
    """Its bytes. Raises UsageError if it is closed."""
    from storscope.domain.errors import UsageError

    if sys.stdout is None:
        raise UsageError("a standard output that is open", "a closed one")
    return sys.stdout.buffer


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody sees at once what is written to a stream; a closed one is none."""
    return stream is not None and stream.isatty()


def _occupy(number: int) -> None:
    """A file that is opened later would take the number, and what is said go there."""
    null = os.open(os.devnull, os.O_RDWR)
    if null != number:
        os.dup2(null, number)
        os.close(null)
    os.set_inheritable(number, True)


class _Named(io.FileIO):
    """Standard output, which is told by name and place if it cannot be written; once, as nothing is written then."""

    _has_failed = False

    def write(self, data: ReadableBuffer, /) -> int:
        """As any file's; its error, of the same type, has words for a filename. What a buffer still has is dropped."""
        if self._has_failed:
            return memoryview(data).nbytes
        try:
            return super().write(data)
        except OSError as error:
            self._has_failed = True
            raise OSError(error.errno, error.strerror, f"the output cannot be written to {_place()}") from None


def _place() -> str:
    """Where standard output goes: a file by its name, anything else by what the kernel calls it."""
    try:
        return f"standard output, {Path(f'/proc/self/fd/{_STDOUT}').readlink()}"
    except OSError:
        return "standard output"


class _Forgiving(io.FileIO):
    """Drops what cannot be written: on a full disk, to a terminal that is gone, to a reader who has had enough."""

    def write(self, data: ReadableBuffer, /) -> int:
        """All of it is written, or nobody can be told."""
        try:
            written = super().write(data)
        except OSError:
            written = None
        return memoryview(data).nbytes if written is None else written
