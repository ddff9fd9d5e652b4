"""How much a workload asks: outstanding I/Os (closed loop) or arrivals (open loop), and where requests go.

Mirrors crates/storscope-types/src/load.rs and offsets.rs field by field; the JSON form is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from storscope.domain.access import check_ratio
from storscope.domain.json_form import U32, U64, require

MOST_OUTSTANDING = 32_768
"""Most I/Os of one worker on one target, or of an open loop on all: what a ring can hold.

As crates/storscope-types/src/check.rs says. On real storage it bounds those on all targets together, too (plan.rs).
"""


class Process(StrEnum):
    """How arrivals are spaced: equal gaps, or exponential ones, which is what many independent users look like."""

    FIXED = "fixed"
    POISSON = "poisson"


def _check_outstanding(count: int, path: str) -> None:
    require(1 <= count <= MOST_OUTSTANDING, path, f"1 to {MOST_OUTSTANDING}", count)


def _check_rate(rate_per_s: float, path: str) -> None:
    require(0 < rate_per_s <= 1e9, path, "above 0, at most 1e9 per second", rate_per_s)


@dataclass(frozen=True)
class Closed:
    """A completion makes room for the next request: throughput follows the storage.

    `outstanding` counts I/Os per worker and target, as Iometer does.
    """

    kind: ClassVar[str] = "closed"
    is_open: ClassVar[bool] = False
    outstanding: U32

    def check(self, path: str) -> None:
        """Raises ConfigError for what cannot be run."""
        _check_outstanding(self.outstanding, f"{path}.outstanding")


@dataclass(frozen=True)
class Open:
    """Requests arrive whether or not earlier ones are done; latency counts from the arrival.

    `rate_per_s` is of all workers of the stream together; replies and copies' writes do not count. At most
    `max_outstanding` I/Os are in flight per worker; what arrives above it waits, and its waiting is counted.
    """

    kind: ClassVar[str] = "open"
    is_open: ClassVar[bool] = True
    rate_per_s: float
    process: Process = Process.POISSON
    max_outstanding: U32 = 1024

    def check(self, path: str) -> None:
        """Raises ConfigError for what cannot be run."""
        _check_rate(self.rate_per_s, f"{path}.rate_per_s")
        _check_outstanding(self.max_outstanding, f"{path}.max_outstanding")


@dataclass(frozen=True)
class RateStep:
    """A rate of the whole stream that holds for a while."""

    rate_per_s: float
    duration_ns: U64

    def check(self, path: str) -> None:
        """Raises ConfigError for what cannot be run."""
        _check_rate(self.rate_per_s, f"{path}.rate_per_s")
        require(self.duration_ns > 0, f"{path}.duration_ns", "more than 0", self.duration_ns)


@dataclass(frozen=True)
class Steps:
    """Open loop with one rate after another; the run ends after the last step."""

    kind: ClassVar[str] = "steps"
    is_open: ClassVar[bool] = True
    steps: tuple[RateStep, ...]
    process: Process = Process.POISSON
    max_outstanding: U32 = 1024

    def check(self, path: str) -> None:
        """Raises ConfigError for what cannot be run."""
        require(bool(self.steps), f"{path}.steps", "at least one step", "none")
        for index, step in enumerate(self.steps):
            step.check(f"{path}.steps[{index}]")
        _check_outstanding(self.max_outstanding, f"{path}.max_outstanding")


Load = Closed | Open | Steps
"""The load of a stream."""


@dataclass(frozen=True)
class ThinkTime:
    """What a user does between a completion and the next request; closed loop only.

    Constant with `fixed`, exponential with `poisson`.
    """

    mean_ns: U64
    process: Process = Process.POISSON


@dataclass(frozen=True)
class Uniform:
    """Every position alike."""

    kind: ClassVar[str] = "uniform"

    def check(self, path: str) -> None:
        """Always sound."""


@dataclass(frozen=True)
class Zipf:
    """The k-th most popular position is chosen with a probability in proportion to k^-exponent.

    Popular positions are scattered over the region. 0.99 is YCSB's usual value, 1.2 is fio's example.
    """

    kind: ClassVar[str] = "zipf"
    exponent: float

    def check(self, path: str) -> None:
        """Raises ConfigError for what cannot be run."""
        require(0 < self.exponent <= 10, f"{path}.exponent", "above 0, at most 10", self.exponent)


@dataclass(frozen=True)
class HotSpot:
    """A part of the region, of `space_share` from `start_share` on, gets `access_share` of the requests."""

    kind: ClassVar[str] = "hot_spot"
    access_share: float
    space_share: float
    start_share: float = 0.0

    def check(self, path: str) -> None:
        """Raises ConfigError for what cannot be run."""
        check_ratio(self.access_share, f"{path}.access_share")
        check_ratio(self.start_share, f"{path}.start_share")
        sound = self.space_share > 0 and self.start_share + self.space_share <= 1
        require(sound, f"{path}.space_share", "above 0 and within the region", self.space_share)


Offsets = Uniform | Zipf | HotSpot
"""The distribution of random offsets over a region."""


class Starts(StrEnum):
    """Where the workers of a stream begin what is not random.

    Together: all at the start of the region, as Iometer's and fio's do; what one has read the others find in a cache.
    Apart: evenly spread over the region, of n workers the k-th, counting from 0, at k/n of it.
    """

    TOGETHER = "together"
    APART = "apart"


@dataclass(frozen=True)
class Region:
    """The part of each target that is used; without a length it reaches to the end of the target."""

    start_bytes: U64 = 0
    length_bytes: U64 | None = None
