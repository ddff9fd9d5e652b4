"""Foreign text in one line of a terminal."""

from __future__ import annotations


def visible(text: str) -> str:
    """The text with what would leave its line, or do something to the terminal, as escape sequences: \\n, \\x1b."""
    return "".join(map(_visible, text))


def _visible(letter: str) -> str:
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
