"""The workload: what is asked of the storage.

Mirrors crates/storscope-types/src/workload.rs and data.rs field by field: `to_json` writes what serde writes, and
`from_json` takes what serde takes, so that Python prepares a workload and the Rust generator runs it. The parts are
in `domain.access` (what a request looks like) and `domain.load` (how many there are and where they go).

Beware: `from_json` refuses an unknown field everywhere; serde overlooks one beside the lines of a mix.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from storscope.domain.access import Access, AccessSpec, Copy, Mix, check_ratio, check_target
from storscope.domain.flush import Flush, FlushKind
from storscope.domain.json_form import U32, U64, decode, encode, require
from storscope.domain.load import (
    Closed,
    HotSpot,
    Load,
    Offsets,
    Open,
    Process,
    RateStep,
    Region,
    Starts,
    Steps,
    ThinkTime,
    Uniform,
    Zipf,
)
from storscope.domain.units import KIB, MIB

__all__ = [
    "Access",
    "AccessSpec",
    "Closed",
    "Copy",
    "DataPool",
    "Flush",
    "FlushKind",
    "HotSpot",
    "Load",
    "Mix",
    "Offsets",
    "Open",
    "Process",
    "RateStep",
    "Region",
    "Starts",
    "Steps",
    "Stream",
    "ThinkTime",
    "Uniform",
    "Verification",
    "Workload",
    "Zipf",
]

MOST_WORKERS = 1024
_LEAST_STAMP_UNIT_BYTES = 32
_LARGEST_STAMP_UNIT_BYTES = 4096
_UNIFORM = Uniform()
_WHOLE = Region()


class Verification(StrEnum):
    """Whether reads are checked: not at all, or that each block's stamp names the place it was written to."""

    NONE = "none"
    STAMPS = "stamps"


DUPLICATE_BLOCK_BYTES = (4 * KIB, MIB)
"""The least and the largest block that may repeat: the stamped block, and more than any array compares."""
_MOST_CONTENTS_BYTES = 256 * MIB


@dataclass(frozen=True)
class DataPool:
    """The pool that written data comes from. Each block of a write is stamped: no two are equal by accident.

    `compressible_ratio` is the share of zeros in each stamped block (4 KiB, or less if sizes or alignment ask for it),
    the rest being random: 0 cannot be compressed, 0.5 compresses 2:1. `duplicate_ratio` is the share of blocks of
    `duplicate_block_bytes` that repeat one of `duplicate_contents` contents: who compares smaller blocks finds as many,
    who compares larger ones none. `pool_bytes` is its least size; it grows with the queue. `seed` is of contents and
    stamps, apart from the run's: what one run wrote another can verify.
    """

    compressible_ratio: float = 0.0
    duplicate_ratio: float = 0.0
    duplicate_contents: U32 = 64
    duplicate_block_bytes: U64 = 4 * KIB
    pool_bytes: U64 = 4 * MIB
    seed: U64 = 0

    def check(self, path: str) -> None:
        """Raises ConfigError for what cannot be run."""
        check_ratio(self.compressible_ratio, f"{path}.compressible_ratio")
        check_ratio(self.duplicate_ratio, f"{path}.duplicate_ratio")
        require(self.duplicate_contents > 0, f"{path}.duplicate_contents", "at least one", self.duplicate_contents)
        block, contents = self.duplicate_block_bytes, self.duplicate_contents
        is_block = block.bit_count() == 1 and DUPLICATE_BLOCK_BYTES[0] <= block <= DUPLICATE_BLOCK_BYTES[1]
        require(is_block, f"{path}.duplicate_block", "a power of two from 4 KiB to 1 MiB", f"{block} bytes")
        require(
            not self.duplicate_ratio or contents * block <= _MOST_CONTENTS_BYTES, f"{path}.duplicate_contents",
            "contents that are 256 MiB together at most, as each worker holds them in memory",
            f"{contents * block} bytes",
        )  # fmt: skip


@dataclass(frozen=True)
class Stream:
    """Requests of one kind under one load.

    `think_time` is the pause between a completion and the next request of the same place in the queue (closed loop
    only). `flush` follows its writes. `targets` are indices of targets; empty means all. Each of `workers` is a thread
    with its own queue, offsets and draws.
    """

    access: Access
    load: Load
    name: str = ""
    think_time: ThinkTime | None = None
    flush: Flush | None = None
    offsets: Offsets = _UNIFORM
    region: Region = _WHOLE
    targets: tuple[U32, ...] = ()
    workers: U32 = 1
    starts: Starts = Starts.TOGETHER

    def check(self, path: str, targets: int | None) -> None:
        """Raises ConfigError for what cannot be run on `targets` targets."""
        for index, target in enumerate(self.targets):
            check_target(target, targets, f"{path}.targets[{index}]")
        require(1 <= self.workers <= MOST_WORKERS, f"{path}.workers", f"1 to {MOST_WORKERS}", self.workers)
        self.load.check(f"{path}.load")
        self.offsets.check(f"{path}.offsets")
        sound = self.think_time is None or not self.load.is_open
        require(sound, f"{path}.think_time", "none in an open loop: arrivals do not wait", "a think time")
        if self.flush is not None:
            self.flush.check(f"{path}.flush", writes=self.access.writes)
        self.access.check(f"{path}.access", is_open=self.load.is_open, targets=targets)

    def unit_bytes(self) -> list[int]:
        """Sizes, alignments and starts: their common divisor divides every offset and size of the stream."""
        if isinstance(self.access, Copy):
            return [self.region.start_bytes, self.access.size_bytes, self.access.destination_start_bytes]
        lines = [
            unit
            for line in self.access.lines
            for unit in (line.size_bytes, line.effective_align_bytes, line.reply_bytes)
        ]
        return [self.region.start_bytes, *lines]


@dataclass(frozen=True)
class Workload:
    """What is asked of the storage: one stream or several at the same time.

    `source` says where it comes from: a file, a paper, a specification.
    """

    name: str
    streams: tuple[Stream, ...]
    source: str | None = None
    data: DataPool = field(default_factory=DataPool)
    verification: Verification = Verification.NONE

    @property
    def writes(self) -> bool:
        """Whether any stream writes. One that does not never needs more than a read-only target."""
        return any(stream.access.writes for stream in self.streams)

    @property
    def flushes(self) -> bool:
        """Whether any stream flushes."""
        return any(stream.flush is not None for stream in self.streams)

    @property
    def stamp_unit_bytes(self) -> int:
        """Bytes that carry one stamp: the greatest unit, up to 4 KiB, that every offset and size is a multiple of."""
        return math.gcd(_LARGEST_STAMP_UNIT_BYTES, *(unit for stream in self.streams for unit in stream.unit_bytes()))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, as the Rust generator reads them."""
        encoded: dict[str, Any] = encode(self)
        return encoded

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Workload:
        """The workload that plain JSON values describe.

        ConfigError names the path of what is missing, unknown, of the wrong type or impossible to run.
        """
        workload: Workload = decode(cls, value)
        workload._check_meaning(None)
        return workload

    def check(self, targets: int | None = None) -> None:
        """Raises ConfigError, naming the path, for what cannot be run on `targets` targets (None: not known yet)."""
        decode(Workload, self.to_json())
        self._check_meaning(targets)

    def _check_meaning(self, targets: int | None) -> None:
        require(bool(self.streams), "streams", "at least one stream", "none")
        for index, stream in enumerate(self.streams):
            stream.check(f"streams[{index}]", targets)
        self.data.check("data")
        if self.verification is not Verification.NONE:
            self._check_verification()

    def _check_verification(self) -> None:
        unit = self.stamp_unit_bytes
        expected = "sizes and alignments with a common divisor of 32 bytes or more, to stamp each block"
        require(unit >= _LEAST_STAMP_UNIT_BYTES, "verification", expected, f"a common divisor of {unit} bytes")
        copies = any(isinstance(stream.access, Copy) for stream in self.streams)
        require(not copies, "verification", "no copy streams: copied blocks name the place they came from", "one")
