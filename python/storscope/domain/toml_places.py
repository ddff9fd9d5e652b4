"""Where in a TOML text something is: lines and columns, the statement, what is open there, and where a key was before.

It follows strings, remarks and brackets, and no more of TOML than that, so that it also walks through text that is no
TOML. What it says is for messages; what a text means is said by `tomllib` alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<remark>\#[^\n]*) | (?P<quote>\"\"\"|'''|["']) | (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<mark>[,=\n])""",
    re.VERBOSE,
)
_ENDS = {
    '"""': re.compile(r'(?:[^\\]|\\.)*?"{3,5}', re.DOTALL),
    "'''": re.compile(r".*?'{3,5}", re.DOTALL),
    '"': re.compile(r'(?:[^"\\\n]|\\[^\n])*"'),
    "'": re.compile(r"[^'\n]*'"),
}
"""What ends a text that begins with these quotes, from behind them."""
_HEADER = re.compile(r"[ \t]*\[{1,2}[ \t]*([^\[\]\n]*?)[ \t]*\]")
_KEY = re.compile(r"[ \t]*([^=\n\[\]{}]+?)[ \t]*=")


@dataclass(frozen=True)
class Place:
    """What surrounds an offset of a text."""

    text: str
    offset: int
    statements: tuple[int, ...]
    """Where statements begin, up to the one that it is in: lines outside of all brackets and texts."""
    item: int
    """Offset behind the last `=`, `,` or opening bracket before it: where the value begins that it is in."""
    opened: tuple[tuple[str, int], ...]
    """Brackets that are open, the innermost last, with their offsets."""
    quote: tuple[str, int] | None
    """The quotes, and their offset, of a text that does not end, or ends behind the offset."""

    @property
    def statement(self) -> int:
        """The offset at which its statement begins."""
        return self.statements[-1]

    @property
    def rest(self) -> str:
        """From the offset to the end of the line."""
        return self.text[self.offset :].partition("\n")[0]

    @property
    def is_header(self) -> bool:
        """Whether the statement is a [table]."""
        return self.text[self.statement :].lstrip(" \t").startswith("[")

    @property
    def key(self) -> str:
        """What stands before the value: the nearest key; '' if none is."""
        start = max(self.statement, self.text.rfind("\n", 0, self.item) + 1)
        found = re.search(r"([\w\-.]+|\"[^\"\n]*\"|'[^'\n]*')\s*=\s*$", self.text[start : self.item])
        return found[1] if found else ""

    @property
    def written(self) -> str:
        """The value that the offset is in, as it is written, to the end of the line or of the item."""
        rest = re.split(r"[,\]}#]" if self.opened else "#", self.rest, maxsplit=1)[0]
        return (self.text[self.item : self.offset] + rest).strip()


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def offset_of(text: str, line: int, column: int) -> int:
    """The offset of a line and column."""
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    return start + column - 1


def place_at(text: str, offset: int) -> Place:
    """What surrounds an offset."""
    starts, item, at = [0], 0, 0
    opened: list[tuple[str, int]] = []
    quote = None
    while quote is None and (token := _TOKEN.search(text, at)) and token.start() < offset:
        at = token.end()
        if token["quote"]:
            end = _ENDS[token["quote"]].match(text, at)
            if end is None or end.end() > offset:
                quote = (token["quote"], token.start())
            else:
                at = end.end()
        elif token["open"]:
            opened.append((token["open"], token.start()))
            item = at
        elif token["close"]:
            opened = opened[:-1]
        elif token["mark"] == "\n" and not opened:
            starts.append(at)
            item = at
        elif token["mark"] == "=" or (token["mark"] == "," and opened):
            item = at
    return Place(text, offset, tuple(starts), item, tuple(opened), quote)


def first_line_of(place: Place) -> tuple[str, int | None]:
    """The key, or [table], of the statement, and the line that has it for the first time in its table; None if none."""
    table, counts, seen = "", dict[str, int](), dict[tuple[str, str], int]()
    name = ""
    for start in place.statements:
        header, key = _HEADER.match(place.text, start), _KEY.match(place.text, start)
        if header:
            name = _bare(header[1])
            counts[name] = counts.get(name, 0) + header[0].lstrip().startswith("[[")
            table, where = f"{name} {counts[name]}", ("", name)
        elif key:
            name = _bare(key[1])
            where = (table, name)
        else:
            continue
        if start == place.statements[-1]:
            return name, seen.get(where)
        seen.setdefault(where, position(place.text, start)[0])
    return name, None


def _bare(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))
