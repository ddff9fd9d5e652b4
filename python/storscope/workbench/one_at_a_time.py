"""A sweep is measured by one process at a time: two would disturb each other and count as one another's repetitions."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storscope.domain.errors import UsageError


@contextmanager
def one_at_a_time(directory: Path, digest: str, what: str) -> Iterator[None]:
    """Keeps others that asked the same (`digest`) out of a store while the block lasts, also those that start anew.

    The kernel frees the lock when a process dies, so a file that is left behind stops nobody. Where the file system has
    no locks nobody is kept out. Raises UsageError when another process is at it.
    """
    path = directory / f".{what}-{digest}.lock"
    descriptor = _locked(path)
    if descriptor is None:
        raise UsageError(
            f"one process that measures this {what}", "another one that is at it", where=str(directory),
            hint="Wait for its end, or stop it; what it has measured stays, and the same call goes on from there.",
        )  # fmt: skip
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(path: Path) -> int | None:
    """The file, locked where there are locks; None if another process has it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:
            return descriptor
        if path.exists() and path.stat().st_ino == os.fstat(descriptor).st_ino:
            return descriptor
        os.close(descriptor)  # whoever had it has ended between the two calls, and removed it
