"""Loads, changes and counts in words."""

from __future__ import annotations

from collections.abc import Sequence

from storscope.domain.comparison import Load
from storscope.domain.interval_words import signed_percent
from storscope.domain.units import format_bytes, format_count, format_ratio


def load_in_words(load: Load) -> str:
    """'8 KiB, 70 % reads, 100 % random, 16 outstanding'; 'load not stated' when the source says nothing.

    The number of jobs stands for what is outstanding where the source does not tell that.
    """
    said = [
        None if load.block_bytes is None else format_bytes(load.block_bytes),
        None if load.read_ratio is None else f"{format_ratio(load.read_ratio)} reads",
        None if load.random_ratio is None else f"{format_ratio(load.random_ratio)} random",
        None if load.outstanding is None else f"{format_count(load.outstanding)} outstanding",
        None if load.workers is None or load.outstanding is not None else _jobs(load.workers),
    ]
    return ", ".join(part for part in said if part) or "load not stated"


def _jobs(workers: float) -> str:
    return f"{format_count(workers)} {'job' if workers == 1 else 'jobs'}"


def percent(change: float) -> str:
    """A change with its sign: '+8.1 %', '−40 %'; what rounds to nothing has none: '0.0 %'."""
    return signed_percent(change)


def listed(names: Sequence[str], most: int = 4) -> str:
    """Names joined by commas, a long list cut: 'a, b, c, d and 3 more'."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
