"""What each request of a workload looks like: Iometer's access specification lines, and copies.

Mirrors crates/storscope-types/src/access.rs field by field; the JSON form is the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from storscope.domain.json_form import U32, U64, require

LARGEST_TRANSFER_BYTES = 2**30
"""What fits the 32-bit length of a request with room to spare (crates/storscope-types/src/check.rs)."""
MOST_SHARE = 1e12
"""Of a line: products and sums of what is below are numbers."""


def check_ratio(ratio: float, path: str) -> None:
    """Raises ConfigError unless `ratio` is from 0 to 1."""
    require(0.0 <= ratio <= 1.0, path, "a ratio from 0 to 1", ratio)


def check_target(target: int, targets: int | None, path: str) -> None:
    """Raises ConfigError if there is no such target; any index will do while their number is not known."""
    require(targets is None or target < targets, path, f"the index of one of {targets} targets", target)


def _check_size(size_bytes: int, path: str) -> None:
    require(0 < size_bytes <= LARGEST_TRANSFER_BYTES, path, "1 byte to 1 GiB", size_bytes)


@dataclass(frozen=True)
class AccessSpec:
    """One line of a mix, with the meaning Iometer gives it (IOGrunt: IOAccess.cpp, IOTargetDisk.cpp).

    For every *burst* a line is drawn with a probability in proportion to `share`, so `share` counts bursts, not bytes;
    shares need not add up to one. Then, for each transfer of the burst, it is drawn whether it reads (`read_share`)
    and whether it goes to a random offset (`random_share`). What is not random goes to the offset of the target's
    previous transfer plus that transfer's size; all outstanding I/Os of a worker share that position.

    `delay_ns` is waited before each burst while completions are handled; `burst` is the number of transfers sent back
    to back. Offsets are multiples of `align_bytes`, counted from the start of the region; zero means multiples of the
    size (Iometer's zero means the sector: the ICF reader writes 512 then). With `reply_bytes` each transfer is
    followed by one of the opposite direction and that size; the pair is a transaction and keeps its place in the
    queue until the second is done.
    """

    size_bytes: U64
    share: float = 1.0
    read_share: float = 1.0
    random_share: float = 1.0
    delay_ns: U64 = 0
    burst: U32 = 1
    align_bytes: U64 = 0
    reply_bytes: U64 = 0

    @property
    def effective_align_bytes(self) -> int:
        """The alignment in force."""
        return self.align_bytes or self.size_bytes

    @property
    def transfer_weight(self) -> float:
        """The line's weight among transfers rather than bursts; replies do not count."""
        return self.share * self.burst

    def check(self, path: str, *, is_open: bool) -> None:
        """Raises ConfigError for what cannot be run."""
        _check_size(self.size_bytes, f"{path}.size_bytes")
        require(0 <= self.share <= MOST_SHARE, f"{path}.share", f"zero or more, at most {MOST_SHARE:g}", self.share)
        check_ratio(self.read_share, f"{path}.read_share")
        check_ratio(self.random_share, f"{path}.random_share")
        require(self.burst > 0, f"{path}.burst", "at least one transfer", self.burst)
        require(self.reply_bytes <= LARGEST_TRANSFER_BYTES, f"{path}.reply_bytes", "at most 1 GiB", self.reply_bytes)
        still = not is_open or self.delay_ns == 0
        require(still, f"{path}.delay_ns", "0 in an open loop: arrivals set the pace", self.delay_ns)


@dataclass(frozen=True)
class Mix:
    """A weighted mix of lines; Iometer allows 100."""

    kind: ClassVar[str] = "mix"
    lines: tuple[AccessSpec, ...]

    def check(self, path: str, *, is_open: bool, targets: int | None) -> None:  # noqa: ARG002  by name
        """Raises ConfigError for what cannot be run."""
        for index, line in enumerate(self.lines):
            line.check(f"{path}.lines[{index}]", is_open=is_open)
        total = math.fsum(line.share for line in self.lines)
        require(total > 0, f"{path}.lines", "shares above zero", total)

    @property
    def reads(self) -> bool:
        """Whether any request reads."""
        return any(line.read_share > 0 or line.reply_bytes for line in self.lines)

    @property
    def writes(self) -> bool:
        """Whether any request writes."""
        return any(line.read_share < 1 or line.reply_bytes for line in self.lines)


@dataclass(frozen=True)
class Copy:
    """A copy stream: each read is followed by a write of the same bytes at the same place of the destination.

    `destination` is the index of the target that is written; it may be the one that is read, with another start.
    `destination_start_bytes` is where the copy of the region's first byte goes. `random_share` is the probability
    that a read goes to a random offset; zero copies from front to back.
    """

    kind: ClassVar[str] = "copy"
    size_bytes: U64
    destination: U32
    destination_start_bytes: U64 = 0
    random_share: float = 0.0

    def check(self, path: str, *, is_open: bool, targets: int | None) -> None:  # noqa: ARG002  by name
        """Raises ConfigError for what cannot be run."""
        _check_size(self.size_bytes, f"{path}.size_bytes")
        check_ratio(self.random_share, f"{path}.random_share")
        check_target(self.destination, targets, f"{path}.destination")

    @property
    def reads(self) -> bool:
        """It does."""
        return True

    @property
    def writes(self) -> bool:
        """It does."""
        return True


Access = Mix | Copy
"""What a stream asks for."""
