"""Workload-independent preconditioning: what is measured afterwards does not depend on what was written before.

SNIA Solid State Storage Performance Test Specification (PTS) 2.0.2: write twice the user capacity with sequential
128 KiB writes. Here the capacity is that of the part of the target that is used.
"""

from __future__ import annotations

from dataclasses import dataclass

from storscope.bench.goals import Progress
from storscope.bench.judgement import Judgement, estimates_of
from storscope.bench.samples import BANDWIDTH, Figure, Samples
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.errors import UsageError
from storscope.domain.load import Closed
from storscope.domain.units import KIB, NS_PER_S, format_bytes
from storscope.domain.workload import Stream, Workload

TIMES = 2
_TRANSFER_BYTES = 128 * KIB
_OUTSTANDING = 8
_LONGEST_NS = 14 * 24 * 3600 * NS_PER_S
_SOURCE = "SNIA PTS 2.0.2, workload-independent preconditioning"


def preconditioning(workload: Workload, size_bytes: int) -> Workload:
    """Sequential writes with the data and the stamps of `workload`.

    UsageError for a target too small for one of them.
    """
    if size_bytes < _TRANSFER_BYTES:
        raise UsageError("at least 128 KiB to precondition", format_bytes(size_bytes))
    line = AccessSpec(
        _TRANSFER_BYTES, read_share=0.0, random_share=0.0, align_bytes=workload.stamp_unit_bytes
    )  # fmt: skip
    return Workload("precondition", (Stream(Mix((line,)), Closed(_OUTSTANDING)),), source=_SOURCE, data=workload.data)


@dataclass(frozen=True)
class Amount:
    """Until so much is written; the figures are of all of it."""

    bytes: int

    @property
    def figure(self) -> Figure:
        """Its throughput."""
        return Figure(BANDWIDTH)

    @property
    def longest_ns(self) -> int:
        """Longer than any."""
        return _LONGEST_NS

    def explain(self) -> str:
        """In words, for the record."""
        return f"{format_bytes(self.bytes)} written"

    def progress(self, samples: Samples, _grid_ns: int) -> Progress:
        """The engine ends it; the time left is what the rate so far makes it."""
        done = sum(part.bytes for sample in samples.between(0) for part in sample.parts(None))
        left_ns = round((self.bytes - done) / done * samples.end_ns) if done else _LONGEST_NS
        return Progress(samples.end_ns, max(0, left_ns), says=f"preconditioning, {min(1.0, done / self.bytes):.0%}")

    def judge(self, samples: Samples, _grid_ns: int, *, is_whole: bool) -> Judgement:
        """Writing on fresh storage slows down on purpose, so nothing is left out and no interval is given."""
        estimates = estimates_of(samples.between(0), self.figure)
        return Judgement(
            self.figure.name, 0, samples.end_ns, "Nothing is left out.",
            f"{_SOURCE}: {format_bytes(self.bytes)} written." if is_whole else "It ended early.",
            {name: one.without_interval for name, one in estimates.items()},
        )  # fmt: skip
