"""Work that follows what is printed, and is done also if the reader of standard output has had enough (`| head`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def after_printing(work: Callable[[], None]) -> Iterator[None]:
    """Does `work` at the end of the block, or when printing in it met a closed pipe, which is raised again after it."""
    try:
        yield
    except BrokenPipeError:
        work()
        raise
    work()
