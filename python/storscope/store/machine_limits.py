"""Files that cannot be read for a reason that is not theirs: a limit of the process or the machine, a right, a device.

A capture is not to be called damaged, and moved away, because the process that reads it ran out of something.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from storscope.domain.errors import StoreError
from storscope.domain.open_files import HINTS

_MEMORY: Final = "Give the process more memory, or ask for less at once."
_HINTS: Final = {
    **HINTS,
    errno.ENOMEM: _MEMORY,
    errno.EACCES: "Give the process the right to read it.",
    errno.EPERM: "Give the process the right to read it.",
    errno.EIO: "The kernel's log (dmesg) says what the device answered.",
}
"""By number, what to try."""


def limit_of(error: BaseException, where: Path | str) -> StoreError | None:
    """What kept a file from being read, if it is none of the file's faults.

    The engine's errors have no number, only the system's words.
    """
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        return _limit("none left", _MEMORY, where, "more memory")
    number = error.errno if isinstance(error, OSError) else None
    for known, hint in _HINTS.items():
        words = os.strerror(known)
        if number == known or (number is None and words in str(error)):
            return _limit(words, hint, where, "a file that can be read now")
    return None


@contextmanager
def limits_told(where: Path | str) -> Iterator[None]:
    """Raises StoreError in place of an error that is a limit; others as they are."""
    try:
        yield
    except (OSError, MemoryError) as error:
        limit = limit_of(error, where)
        if limit is None:
            raise
        raise limit from error
    except RuntimeError as error:  # of a thread
        if "can't start new thread" not in str(error):
            raise
        raise _limit("none left", "Let the user, or the unit (TasksMax), have more: ulimit -u.", where,
                     "more tasks") from error  # fmt: skip


def _limit(found: str, hint: str, where: Path | str, expected: str) -> StoreError:
    return StoreError(expected, found, where=str(where), hint=f"{hint} The store is not at fault.")
