"""Who is at work in a store: told by locks, which the kernel frees when a process dies.

There are two. The store's own is held for moments: while captures are renamed, and while what was left behind is looked
through. One in each directory that a capture is written into is held until it is published, so that a long run keeps
nobody waiting. A process number would tell nothing: in another container or on another host it is somebody else's.

Where the file system has no locks, captures are written without, and what is left behind stays.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

STORE_LOCK = ".storscope-store.lock"
"""There while it is held only."""
_WRITER_LOCK = "writer.lock"


@contextmanager
def alone(store: Path) -> Iterator[None]:
    """Waits until nobody else renames in the store, and keeps them waiting while the block lasts."""
    store.mkdir(parents=True, exist_ok=True)
    path = store / STORE_LOCK
    descriptor = _locked(path, fcntl.LOCK_EX)
    try:
        yield
    finally:
        _free(path, descriptor)


@contextmanager
def alone_if_free(store: Path) -> Iterator[bool]:
    """Whether nobody else renames in the store, and none will while the block lasts; False also if it cannot tell."""
    path = store / STORE_LOCK
    try:
        descriptor = _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        descriptor = None
    try:
        yield descriptor is not None
    finally:
        _free(path, descriptor)


def hold(directory: Path) -> int | None:
    """Says that a capture is being written into `directory`, until the descriptor is closed; None without locks.

    Called with the store to itself, as nobody is to see the directory without its lock.
    """
    return _locked(directory / _WRITER_LOCK, fcntl.LOCK_EX)


def let_go(directory: Path, descriptor: int | None) -> None:
    """Takes the lock out of a directory that is about to be published, with the store to itself."""
    (directory / _WRITER_LOCK).unlink(missing_ok=True)
    if descriptor is not None:
        os.close(descriptor)


def is_held(directory: Path) -> bool:
    """Whether somebody still writes into the directory, or that cannot be told."""
    try:
        descriptor = os.open(directory / _WRITER_LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _locked(path: Path, how: int) -> int | None:
    """The file, made and locked; None where files cannot be locked. Raises BlockingIOError if another one has it.

    A link is not followed: in a store from elsewhere it would have a file made at any place.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(descriptor, how)
        except BlockingIOError:
            os.close(descriptor)
            raise
        except OSError:
            os.close(descriptor)
            return None
        with suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        os.close(descriptor)  # whoever had it has removed it between the two calls


def _free(path: Path, descriptor: int | None) -> None:
    if descriptor is not None:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)
