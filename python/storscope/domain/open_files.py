"""What to try where too many files are open: no room that is made, and no other place, would help."""

from __future__ import annotations

import errno
from typing import Final

HINTS: Final = {
    errno.ENFILE: "The machine has too many files open: sysctl fs.file-max.",
    errno.EMFILE: "Let the process open more files: ulimit -n 1024.",
}
"""By number; the words of the first begin with those of the second."""


def open_files_hint(error: BaseException | None) -> str:
    """Of such an error; empty for any other."""
    number = error.errno if isinstance(error, OSError) else None
    return "" if number is None else HINTS.get(number, "")
