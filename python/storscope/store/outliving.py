"""Whether what is written has to outlive a crash of the machine. A store that is gone with its command need not.

The disk may be the one whose trouble is looked into, where each write that is waited for takes long.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PASSING: Final[set[Path]] = set()


@contextmanager
def passing(folder: Path) -> Iterator[None]:
    """Stores in `folder` are gone after the block, at the latest: nothing there has to be on the disk before."""
    kept = folder.resolve()
    _PASSING.add(kept)
    try:
        yield
    finally:
        _PASSING.discard(kept)


def sync(path: Path) -> None:
    """Waits until a file, or what is in a directory, is on the disk, where that matters. Raises OSError."""
    if _PASSING and not _PASSING.isdisjoint(path.resolve().parents):
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
