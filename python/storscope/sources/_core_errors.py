"""From the errors of the Rust core to the error tree: the one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from storscope import _core
from storscope.domain.errors import InputError, MalformedInput

_EXPECTED: Final = {
    "no_header": ("a line with the names of the counters", "Only blank lines were found; the capture may be empty."),
    "line_too_long": ("lines of at most 64 MiB", "No counter file is that wide; its line ends were probably lost."),
    "too_many_columns": ("at most 1,000,000 columns", "Capture fewer counters, or split the file by column."),
    "unclosed_quote": ("a closing quote for every name", "The header is damaged; copy the file again."),
    "shrunk": ("a file that keeps its length", "It was truncated while it was read; import a copy."),
}


@contextmanager
def core_errors(name: str) -> Iterator[None]:
    """Raises the core's errors about the file called `name`: MalformedInput, or InputError where it cannot be read."""
    try:
        yield
    except _core.ReadError as error:
        kind, message = error.args
        if kind not in _EXPECTED:
            raise InputError("a file that can be read", message, where=name) from error
        expected, hint = _EXPECTED[kind]
        raise MalformedInput(expected, message, where=name, hint=hint) from error
