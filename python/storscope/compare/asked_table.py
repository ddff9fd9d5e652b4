"""What a row of a table of results tells of its load in words: the access pattern, where it gives no shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from storscope.compare.asked import Asked, Thing
from storscope.domain.comparison import Load

_TOOL: Final = "table"
_COLUMNS: Final = ("mode", "rw", "pattern")
_PATTERN: Final = "access pattern"


def asked_of_row(cells: Mapping[str, str], load: Load) -> Asked:
    """Of a row; nothing where its shares of reads and of random access are numbers, which are compared."""
    if load.read_ratio is not None and load.random_ratio is not None:
        return Asked()
    words = next((" ".join(cells[name].split()) for name in _COLUMNS if cells.get(name, "").strip()), None)
    return Asked() if words is None else Asked(_TOOL, {_PATTERN: Thing(words.casefold(), words)})
