"""On which line and in which column of a TOML text each value stands, which Python's reader does not tell.

For texts that are TOML (`toml_text.parsed_toml` has read them): what begins with a bracket ends with one. Values inside
of inline tables and lists have places of their own. Should it lose its way all the same, the places up to there stay,
and an error names the nearest table.
"""

from __future__ import annotations

import contextlib
import re
from typing import NamedTuple

Path = tuple[str | int, ...]
"""Keys and, after a key of a list of tables, the index: ('stream', 0, 'line', 2, 'size')."""


class LineColumn(NamedTuple):
    """Both count from 1."""

    line: int
    column: int


_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_HEADER = re.compile(r"(\[\[?)[ \t]*")
_KEY_PART = re.compile(r"""[ \t]*(?:"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'|([\w-]+))[ \t]*""")
_TEXT = re.compile(
    r"""\"{3}(?:[^\\]|\\.)*?\"{3,5} | '{3}.*?'{3,5} | \"(?:[^\"\\\n]|\\[^\n])*\" | '[^'\n]*'""", re.DOTALL | re.VERBOSE
)
_PLAIN = re.compile(r"[^,\[\]{}#\n]*")


class _LostError(Exception):
    """What is here is not what TOML has."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.offsets: dict[Path, int] = {}
        self.counts: dict[Path, int] = {}
        """The index that each list of tables is at."""

    def scan(self) -> None:
        table: Path = ()
        self.skip()
        while self.at < len(self.text):
            if self.text.startswith("[", self.at):
                table = self.header()
            else:
                self.pair(table)
            self.skip()

    def skip(self) -> None:
        """Blanks, ends of lines and remarks."""
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def take(self, mark: str) -> bool:
        is_there = self.text.startswith(mark, self.at)
        self.at += len(mark) * is_there
        return is_there

    def key(self) -> list[str]:
        parts = []
        while match := _KEY_PART.match(self.text, self.at):
            parts.append(next(part for part in match.groups() if part is not None))
            self.at = match.end()
            if not self.take("."):
                return parts
        raise _LostError

    def header(self) -> Path:
        """The path of the table, with the index of the table that each list is at."""
        opened = _HEADER.match(self.text, self.at)
        if opened is None:
            raise _LostError
        self.at = opened.end()
        parts = self.key()
        path: Path = ()
        for number, part in enumerate(parts, 1):
            path = (*path, part)
            if opened[1] == "[[" and number == len(parts):
                self.offsets.setdefault(path, opened.end())
                self.counts[path] = self.counts.get(path, -1) + 1
            if path in self.counts:
                path = (*path, self.counts[path])
        self.offsets.setdefault(path, opened.end())
        if not self.take("]" * len(opened[1])):
            raise _LostError
        return path

    def pair(self, table: Path) -> None:
        path = (*table, *self.key())
        if not self.take("="):
            raise _LostError
        self.value(path)

    def value(self, path: Path) -> None:
        while self.take(" ") or self.take("\t"):
            pass
        self.offsets.setdefault(path, self.at)
        if self.take("["):
            self.items(path)
        elif self.take("{"):
            self.pairs(path)
        else:
            match = _TEXT.match(self.text, self.at) or _PLAIN.match(self.text, self.at)
            self.at = match.end() if match else self.at

    def items(self, path: Path) -> None:
        index = 0
        self.skip()
        while not self.take("]"):
            self.value((*path, index))
            index += 1
            self.skip()
            if not self.take(",") and not self.text.startswith("]", self.at):
                raise _LostError
            self.skip()

    def pairs(self, path: Path) -> None:
        self.skip()
        while not self.take("}"):
            self.pair(path)
            self.skip()
            if not self.take(",") and not self.text.startswith("}", self.at):
                raise _LostError
            self.skip()


def find_places(text: str) -> dict[Path, LineColumn]:
    """Where values and tables stand, by path."""
    text = text.replace("\r\n", "\n")
    scanner = _Scanner(text)
    with contextlib.suppress(_LostError, RecursionError):
        scanner.scan()
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    places, line = {}, 1
    for path, offset in sorted(scanner.offsets.items(), key=lambda item: item[1]):
        while line < len(starts) and starts[line] <= offset:
            line += 1
        places[path] = LineColumn(line, offset - starts[line - 1] + 1)
    return places


def place_of(places: dict[Path, LineColumn], path: Path) -> LineColumn | None:
    """That of a path or of the nearest table around it; None when there is none."""
    while path:
        if path in places:
            return places[path]
        path = path[:-1]
    return None
