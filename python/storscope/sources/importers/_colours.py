"""Colours of a terminal in what a tool printed: sysstat writes them with S_COLORS=always, `script` keeps them.

Escape sequences as in ECMA-48, 5.4: CSI, parameters, intermediate bytes, a final byte.
"""

from __future__ import annotations

import re
from typing import Final

_ESCAPE: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def without_colours(line: str) -> str:
    """The line as it would be without them."""
    return _ESCAPE.sub("", line) if "\x1b" in line else line
