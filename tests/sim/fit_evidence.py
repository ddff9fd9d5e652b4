"""Evidence of drives whose truth is known: traces by the textbook's formula, tables of results."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

TURN_US, SEEK_BASE_US, SEEK_ROOT_US, OVERHEAD_US = 6_000.0, 1_500.0, 6_000.0, 700.0
SECTORS = 8_000_000


def textbook_trace(requests: int, seed: int = 1) -> str:
    """Random reads of 4 KiB: overhead + a + b·√(share of the stroke) + a uniform part of a turn."""
    draws = random.Random(seed)
    lines, before = [], 0
    for _ in range(requests):
        first = draws.randrange(0, SECTORS - 8, 8)
        seek_us = SEEK_BASE_US + SEEK_ROOT_US * math.sqrt(abs(first - before) / SECTORS)
        service_us = OVERHEAD_US + seek_us + draws.random() * TURN_US
        lines.append(f"R Hit {first} 8 {service_us:.1f} {10_000 + draws.random() * 30_000:.1f}")
        before = first
    return "\n".join(lines) + "\n"


def results_table(reads: Mapping[int, float], writes: Mapping[int, float], system: str = "drive") -> str:
    """As people publish throughput by queue depth."""
    rows = ["system,workload,block,read_pct,iodepth,numjobs,iops"]
    for name, percent, rates in (("randread", 100, reads), ("randwrite", 0, writes)):
        rows += [f"{system},{name},4k,{percent},{depth},1,{rate}" for depth, rate in rates.items()]
    return "\n".join(rows) + "\n"


def joined(tables: Sequence[str]) -> str:
    """Several tables as one."""
    return tables[0] + "".join(table.split("\n", 1)[1] for table in tables[1:])
