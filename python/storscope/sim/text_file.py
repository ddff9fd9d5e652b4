"""Reads a text that a person wrote."""

from __future__ import annotations

from pathlib import Path

from storscope.domain.errors import ConfigError, UsageError

MOST_BYTES = 4 * 1024**2
"""Larger than any design made by hand."""


def text_of(path: Path) -> str:
    """The content of a file. Raises UsageError for what cannot be read, ConfigError for what is no UTF-8."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError("a file that can be read", error.strerror or str(error), where=str(path)) from None
    except ValueError as error:  # a NUL in the name
        raise UsageError("a path", repr(str(path))[:80]) from error
    if len(content) > MOST_BYTES:
        raise UsageError("a file of at most 4 MiB", "a larger one", where=str(path))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError("text in UTF-8", f"byte {content[error.start]:#04x}", where=str(path)) from None


def check_text(text: str, where: str) -> None:
    """Raises ConfigError for half of a surrogate pair, which is no character and has no place in UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError("text", f"half of a character, {text[error.start]!r}", where=where) from None
