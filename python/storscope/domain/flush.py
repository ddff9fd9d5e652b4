"""Flushes: what makes written data outlive a loss of power.

Mirrors crates/storscope-types/src/flush.rs field by field; the JSON form is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from storscope.domain.json_form import U32, require


class FlushKind(StrEnum):
    """What a flush makes durable, by its system call: the data and what is needed to read them again, or all of a file,
    its times included."""

    DATA = "fdatasync"
    FULL = "fsync"


OPERATION: Final = "sync"
"""What flushes are called in the tables, as fio's are: the operation of their histograms."""
RATE: Final = "sync.ops_per_s"
LATENCY: Final = "sync.latency_ns_mean"
"""Counters of a benchmark's intervals: flushes per second and their mean latency, for which there are no columns.

Among the columns `ops_per_s` counts flushes, too, and `latency_ns_mean` is of all operations.
"""


@dataclass(frozen=True)
class Flush:
    """After each `every`-th write that a worker completed on a target a flush of that target follows.

    In a closed loop it takes that write's place in the queue, and the next request of the place waits for it: a reply,
    and what comes after the think time. In an open loop it is sent the instant the write is done. A flush covers what
    was completed before it was sent; it is no barrier for other requests in flight. Writes of copies and replies count.
    """

    every: U32
    kind: FlushKind = FlushKind.DATA

    def check(self, path: str, *, writes: bool) -> None:
        """Raises ConfigError for what cannot be run; `writes` tells whether the stream does."""
        require(self.every > 0, f"{path}.every", "a flush after every 1 write or more", self.every)
        require(writes, path, "writes, which a flush follows", "a stream that only reads")
