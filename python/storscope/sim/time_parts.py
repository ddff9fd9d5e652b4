"""What the parts of an I/O's time are called before people; crates/storscope-sim/src/array/account.rs has the parts."""

from __future__ import annotations

from typing import Final

_WORDS: Final = {
    "join": "wait for the slowest drive",
    "takeover": "wait for a takeover",
    "cache_wait": "wait for the cache",
}
"""Those whose names do not say it."""


def part_words(part: str) -> str:
    """'drive queue' for 'drive_queue', 'wait for the slowest drive' for 'join'."""
    return _WORDS.get(part, part.replace("_", " "))
