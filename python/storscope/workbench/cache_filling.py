"""Whether a write cache was still filling when a run ended: then drives have work before them that nothing shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from storscope.domain.units import NS_PER_S, format_ratio

_LEAST_KEPT = 0.2
"""Of the pages that came to be written, so many must have stayed. What destaging keeps up with leaves far less in a
minute (at most 5 % in the designs of `examples/designs` once they have settled)."""
_LEAST_PER_S = 1.0
"""So many of them a second for each drive: less is hardly anything for one, that does a hundred writes or more."""


def doubts_of_cache(report: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence if much of what came into the cache in the time of a report stayed there.

    Latency and IOPS cannot tell: until the cache is full, writes take as long as ever. Says nothing of a cache that
    was full, or kept its level.
    """
    cache = report["cache"]
    if cache is None or not cache["dirty_limit_pages"]:
        return ()
    came = cache["written_pages"] - cache["absorbed_pages"]
    stayed = came - cache["destaged_pages"]
    drives = sum(one["kind"] == "drive" for one in report["components"])
    if stayed < _LEAST_KEPT * came or stayed < _LEAST_PER_S * drives * report["duration_ns"] / NS_PER_S:
        return ()
    full = format_ratio(cache["dirty_pages"] / cache["dirty_limit_pages"])
    said = (
        f"The write cache was still filling: {format_ratio(stayed / came)} of the pages that came to be written were "
        f"still there at the end, when {full} of it was dirty. So the drives had less to do than the load asks of "
        "them. Simulate longer, with --duration."
    )
    return (said,)
