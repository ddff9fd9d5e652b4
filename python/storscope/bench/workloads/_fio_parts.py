"""Which lines of a mix one fio job can stand for.

fio draws the direction of each I/O, then its size from that direction's split. So one job is enough for lines that
differ in size and share of reads; lines that differ in delay or burst need several. Lines that differ in randomness
become several in an open loop, where each has its rate. In a closed loop they stay one job, with the mean for each
direction: jobs can only be held in proportion by `flow`, which divides the queue and slows fio down (fio 3.33, the
workload vdi-boot on a virtual disk: 78,000 IOPS as one job, 30,000 as two, 400 if they do not sleep).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from storscope.domain.workload import AccessSpec


@dataclass(frozen=True)
class Part:
    """Lines that one fio job can stand for, with their weight among the stream's transfers."""

    lines: tuple[AccessSpec, ...]
    weight: float

    @property
    def reads(self) -> float:
        """The share of reads among its transfers."""
        return math.fsum(line.transfer_weight * line.read_share for line in self.lines) / self.weight


def parts_of(lines: Sequence[AccessSpec], *, by_randomness: bool) -> list[Part]:
    """As few groups as fio needs jobs: by pauses, then by randomness if wanted and needed."""
    groups: dict[tuple[int, int], list[AccessSpec]] = {}
    for line in lines:
        if line.transfer_weight > 0:
            key = (line.delay_ns, line.burst if line.delay_ns else 1)
            groups.setdefault(key, []).append(line)
    found: list[list[AccessSpec]] = []
    for group in groups.values():
        found += _by_randomness(group) if by_randomness and not _one_job(group) else [group]
    return [Part(tuple(part), math.fsum(line.transfer_weight for line in part)) for part in found]


def _one_job(lines: Sequence[AccessSpec]) -> bool:
    """Whether all reads, and all writes, are equally random."""
    reads = {line.random_share for line in lines if line.read_share > 0}
    writes = {line.random_share for line in lines if line.read_share < 1}
    return len(reads) <= 1 and len(writes) <= 1


def _by_randomness(lines: Sequence[AccessSpec]) -> list[list[AccessSpec]]:
    groups: dict[float, list[AccessSpec]] = {}
    for line in lines:
        groups.setdefault(line.random_share, []).append(line)
    return list(groups.values())
