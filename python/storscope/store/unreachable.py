"""Paths that lead to nothing which is there or could be made: asked early, as of some Python has an odd error only."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

_UNREACHABLE: Final = frozenset({errno.EACCES, errno.ELOOP})
"""Of a folder on the way that may not be entered, and of links in a circle: to resolve these is a RuntimeError."""


def unreachable(path: str | Path) -> str | None:
    """Why a path cannot be reached, in the system's words; None where it can, or where there is nothing yet."""
    try:
        os.stat(path)  # noqa: PTH116  of a text, whose last dot counts
    except OSError as error:
        if error.errno in _UNREACHABLE:
            return os.strerror(error.errno)
    return None
