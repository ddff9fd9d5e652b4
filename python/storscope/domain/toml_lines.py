"""On which line of a TOML text a key stands, which Python's reader does not tell.

Follows table headers and keys at the beginning of lines; a key inside an inline table or a list has the line of the
key before it. Text inside multi-line strings may be taken for keys, which can only make an error name a wrong line.
"""

from __future__ import annotations

import re

Path = tuple[str | int, ...]
"""Keys and, after a key of a list of tables, the index: ('stream', 0, 'line', 2, 'size')."""

_HEADER = re.compile(r"\s*(\[{1,2})\s*([\w\-. \"']+?)\s*\]{1,2}\s*(#.*)?$")
_LONGEST = 300
"""Characters of a line that are looked at."""
_KEY = re.compile(r"""\s*("[^"\n]*"|'[^'\n]*'|[\w\-"'. ]+?)\s*=""")
_QUOTED = re.compile(r""""[^"]*"|'[^']*'""")


def find_lines(text: str) -> dict[Path, int]:
    """Line numbers from 1 by path."""
    lines: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        line = line[:_LONGEST]
        header = _HEADER.match(line)
        if header:
            table = _table(_parts(header[2]), counts, is_list=header[1] == "[[")
            lines.setdefault(table, number)
            continue
        key = _KEY.match(line)
        if key:
            lines.setdefault((*table, *_parts(key[1])), number)
    return lines


def _parts(text: str) -> list[str]:
    if _QUOTED.fullmatch(text):
        return [text[1:-1]]
    return [part.strip().strip("\"'") for part in text.split(".")]


def _table(parts: list[str], counts: dict[Path, int], *, is_list: bool) -> Path:
    """The path of a header, with the index of the table that each list is at."""
    path: Path = ()
    for at, part in enumerate(parts):
        path = (*path, part)
        if is_list and at == len(parts) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def line_of(lines: dict[Path, int], path: Path) -> int | None:
    """The line of a path or of the nearest table around it; None when there is none."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return None
