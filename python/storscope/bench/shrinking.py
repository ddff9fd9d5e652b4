"""Whether a target became smaller while it was measured: somebody truncated the file, or the device below was reduced.

A read beyond the end gives no error, only no bytes; a write there makes a file longer again, and nothing is noticed.
A file system that has failed (XFS that shut down, NFS that lost the file) does not even tell the size.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from storscope.bench.figures import Outcome
from storscope.bench.targets import Ready
from storscope.domain.units import format_bytes, format_count

_NEAR = 0.01
"""A size has three digits when it is rounded."""


class Sizes:
    """The sizes of targets when the run began."""

    def __init__(self, targets: Sequence[Ready]) -> None:
        self._targets = tuple(targets)
        self._before = [_size_bytes(ready) for ready in self._targets]

    def compare(self, outcome: Outcome) -> Outcome:
        """The outcome with what shrank: behind the error that ended the run; a doubt where the run went on."""
        found = [
            f"{ready.name} shrank during the run, from {_words(before, now)} to {_words(now, before)}"
            for ready, before in zip(self._targets, self._before, strict=True)
            if (now := _size_bytes_if_told(ready)) is not None and now < before
        ]
        if not found:
            return outcome
        if outcome.error is None:
            told = (
                f"{said}: somebody else changes it, and figures are of less of it than asked for." for said in found
            )
            return replace(outcome, doubts=(*outcome.doubts, *told))
        kind, message = outcome.error
        return replace(outcome, error=(kind, f"{message}; {'; '.join(found)}: beyond its end there is nothing to read"))


def _size_bytes(ready: Ready) -> int:
    return os.lseek(ready.descriptor, 0, os.SEEK_END)


def _size_bytes_if_told(ready: Ready) -> int | None:
    """None where its file system has failed meanwhile: what ended the run says so."""
    try:
        return _size_bytes(ready)
    except OSError:
        return None


def _words(size_bytes: int, other_bytes: int) -> str:
    """In bytes where rounded sizes would be the same, or nearly so."""
    is_near = abs(size_bytes - other_bytes) < _NEAR * max(size_bytes, other_bytes)
    return f"{format_count(size_bytes)} bytes" if is_near else format_bytes(size_bytes)
