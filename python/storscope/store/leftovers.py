"""Directories of a store that are no captures yet, or no longer: their names, and what becomes of those left behind.

.incoming-<random>                     a capture being written, with its writer's lock in it
.incoming-<id>-<random>-replaced       a capture between the two renames that put another in its place
.incoming-<id>-<random>-removed        a capture being deleted
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from storscope.store.lock import alone_if_free, is_held

_NAME = re.compile(r"\.incoming-([0-9a-f]+)(?:-[0-9a-f]+)?(-replaced|-removed)?")


def incoming(store: Path) -> Path:
    """Where a capture is written."""
    return store / f".incoming-{secrets.token_hex(8)}"


def removed(store: Path, capture: str) -> Path:
    """Where a capture waits that is no longer one."""
    return store / f".incoming-{capture}-{secrets.token_hex(8)}-removed"


@contextmanager
def set_aside(store: Path, capture: str) -> Iterator[Path | None]:
    """Moves a capture aside while the block puts another in its place; gives what is to be deleted then, if any.

    Called with the store to itself. What stays under that name was left by a crash in the block, and is put back.
    """
    final, gone = store / f"capture={capture}", removed(store, capture)
    if not final.exists():
        yield None
        return
    aside = store / f".incoming-{capture}-{secrets.token_hex(8)}-replaced"
    final.rename(aside)
    try:
        yield gone
    except OSError:
        aside.rename(final)
        raise
    aside.rename(gone)


def clear(store: Path) -> None:
    """Deletes what crashed processes left behind, and puts back what one was about to replace.

    Only what nobody holds any more; all of it stays where the store cannot be written.
    """
    if not any(store.glob(".incoming-*")):
        return
    with alone_if_free(store) as is_ours:
        for leftover in store.glob(".incoming-*") if is_ours else ():
            match = _NAME.fullmatch(leftover.name)
            if match is None or is_held(leftover):
                continue
            published = store / f"capture={match[1]}"
            with suppress(OSError):
                if match[2] == "-replaced" and not published.exists():
                    leftover.rename(published)
                else:
                    shutil.rmtree(leftover, ignore_errors=True)


def waiting(store: Path) -> list[str]:
    """Captures whose replacement broke off, and that could not be put back."""
    found = (_NAME.fullmatch(path.name) for path in store.glob(".incoming-*-replaced"))
    return sorted(match[1] for match in found if match and not (store / f"capture={match[1]}").exists())
