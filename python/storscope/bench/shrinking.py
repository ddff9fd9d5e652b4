"""Whether a target became smaller while it was measured: somebody truncated the file, or the device below was reduced.

A read beyond the end gives no error, only no bytes; a write there makes a file longer again, and what was truncated has
become holes, as what was punched out: so it is looked for holes in a file that had none when it was opened. A file
system that has failed (XFS that shut down, NFS that lost the file) does not even tell the size.
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
        self._before = [_size_bytes_if_told(ready) for ready in self._targets]

    def compare(self, outcome: Outcome) -> Outcome:
        """The outcome with what shrank: behind the error that ended the run; doubts where the run went on."""
        shrunk = [
            f"{ready.name} shrank during the run, from {_words(before, now)} to {_words(now, before)}"
            for ready, before in zip(self._targets, self._before, strict=True)
            if before is not None and (now := _size_bytes_if_told(ready)) is not None and now < before
        ]
        if outcome.error is not None:
            return _explained(outcome, outcome.error, shrunk)
        told = (
            *(f"{said}: somebody else changes it, and figures are of less of it than asked for." for said in shrunk),
            *(_told_of_holes(ready) for ready in self._targets if _has_lost_blocks(ready)),
        )
        return replace(outcome, doubts=(*outcome.doubts, *told)) if told else outcome


def _explained(outcome: Outcome, error: tuple[str, str], shrunk: Sequence[str]) -> Outcome:
    if not shrunk:
        return outcome
    kind, message = error
    return replace(outcome, error=(kind, f"{message}; {'; '.join(shrunk)}: beyond its end there is nothing to read"))


def _has_lost_blocks(ready: Ready) -> bool:
    """Whether there is a hole in the part that is used, and none was when it was opened."""
    if ready.extents is None or ready.extents.missing_bytes:
        return False
    try:
        return os.lseek(ready.descriptor, 0, os.SEEK_HOLE) < min(ready.size_bytes, _size_bytes(ready))
    except OSError:  # empty, or its file system has failed
        return False


def _told_of_holes(ready: Ready) -> str:
    return (
        f"{ready.name} has holes, and had none when it was opened: somebody else truncated it or punched them. Figures "
        "are in part of these: each first write there allocates, and reading them is answered from memory."
    )


def _size_bytes(ready: Ready) -> int:
    return os.lseek(ready.descriptor, 0, os.SEEK_END)


def _size_bytes_if_told(ready: Ready) -> int | None:
    """None where its file system has failed: what ends the run says so."""
    try:
        return _size_bytes(ready)
    except OSError:
        return None


def _words(size_bytes: int, other_bytes: int) -> str:
    """In bytes where rounded sizes would be the same, or nearly so."""
    is_near = abs(size_bytes - other_bytes) < _NEAR * max(size_bytes, other_bytes)
    return f"{format_count(size_bytes)} bytes" if is_near else format_bytes(size_bytes)
