"""Which captures a store holds, asked while others may be replacing one."""

from __future__ import annotations

import re
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from storscope.domain.errors import DamagedStore
from storscope.store.leftovers import waiting

_NAME = re.compile(r"capture=[0-9a-f]+")
_REPLACING_S = 0.002
"""A capture that is replaced is in neither place for less."""
_LOOKS = 5
"""What still waits then was left aside by a crash, in a store that cannot be written."""


def published(store: Path, pause: Callable[[float], object] = time.sleep) -> list[Path]:
    """The directories of the captures in order of their ids, those among them that are being replaced right now.

    One look would miss these: a replacement is two renames (`leftovers.set_aside`), and between them the capture is in
    neither place. So it looks twice, and in between for what waits aside. A gap that is open then is seen waiting; one
    that ended before or began after makes the two looks differ. In both cases it pauses for longer than a gap, and
    looks again.
    """
    found = _listed(store)
    for _ in range(_LOOKS):
        is_settled = not waiting(store)
        before, found = found, _listed(store)
        if is_settled and found == before:
            break
        pause(_REPLACING_S)
    _check_names(found)
    return found


def _check_names(directories: Sequence[Path]) -> None:
    """Raises DamagedStore for a folder that no storscope named, as a copy of a capture would count for twice, and for
    what is no folder, as `store remove` takes away none but captures."""
    for directory in directories:
        if found := _instead_of_a_folder(directory):
            raise DamagedStore(
                "captures only, each a folder", f"{ascii(directory.name)[1:-1]}, {found}",
                where=str(directory.parent), hint="Move it out of the store, or put back the folder that was there.",
            )  # fmt: skip
        if _NAME.fullmatch(directory.name) is None:
            raise DamagedStore(
                "captures only, named capture= and hexadecimal digits", ascii(directory.name)[1:-1],
                where=str(directory.parent), hint="Move it out of the store: it may be a copy that somebody made.",
            )  # fmt: skip


def _instead_of_a_folder(path: Path) -> str:
    """Empty where it is one, or gone: it may be a capture that is being replaced right now."""
    try:
        return "" if stat.S_ISDIR(path.stat().st_mode) else "which is none"
    except OSError:
        return "a link that leads nowhere" if path.is_symlink() else ""


def _listed(store: Path) -> list[Path]:
    return sorted(store.glob("capture=*"))
