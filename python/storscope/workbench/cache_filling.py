"""Whether caches were still filling when a run ended.

Of a write cache drives then have work before them that nothing shows; of a read cache hits that are still to come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from storscope.domain.units import NS_PER_S, format_bytes, format_ratio

_LEAST_KEPT = 0.2
"""Of the pages that came to be written, so many must have stayed. What destaging keeps up with leaves far less in a
minute (at most 5 % in the designs of `examples/designs` once they have settled)."""
_LEAST_PER_S = 1.0
"""So many of them a second for each drive: less is hardly anything for one, that does a hundred writes or more."""
_FULL = 0.98
"""A read cache is never quite full: what is being read has its room, too."""
_FULL_OF_WRITES = 0.95
"""Of what may be dirty: what is being destaged leaves its room a little before the next write takes it."""
_LEAST_MISSED = 0.05
"""Fewer misses are hardly worth waiting for."""
_LEAST_SHARE = 0.05
"""Of what it stands before: a smaller cache will not answer many reads when it is full, unless few places are read."""

_LONGER = "Simulate longer, with --duration"


def full_words(report: Mapping[str, Any]) -> str:
    """That the write cache was full at the end of a report, if it was: what came before was quicker than what lasts."""
    cache = report["cache"]
    if cache is None or not cache["dirty_limit_pages"]:
        return ""
    pages = cache["dirty_pages"], cache["dirty_limit_pages"]
    if pages[0] < _FULL_OF_WRITES * pages[1]:
        return ""
    dirty, limit = (format_bytes(count * cache["page_bytes"]) for count in pages)
    return f"its write cache, empty at the start, was full at the end ({dirty} of {limit} dirty)"


def doubts_of_cache(report: Mapping[str, Any], longer: str = _LONGER) -> tuple[str, ...]:
    """A sentence if much of what came into the cache in the time of a report stayed there; `longer` is what to try.

    Latency and IOPS cannot tell: until the cache is full, writes take as long as ever. Says nothing of a cache that
    was full, or kept its level.
    """
    cache = report["cache"]
    if cache is None or not cache["dirty_limit_pages"]:
        return ()
    came = cache["written_pages"] - cache["absorbed_pages"]
    stayed = came - cache["destaged_pages"]
    drives = sum(one["kind"] == "drive" for one in report["components"])
    if not came or stayed < _LEAST_KEPT * came or stayed < _LEAST_PER_S * drives * report["duration_ns"] / NS_PER_S:
        return ()
    dirty = cache["dirty_pages"] / cache["dirty_limit_pages"]
    kept = f"{format_ratio(stayed / came)} of the pages that came to be written were still there at the end"
    if dirty >= _FULL_OF_WRITES:
        said = (
            f"The write cache became full: {kept}. Until then the drives had less to do than the load asks of them, "
            f"and writes were quicker than those that last. {longer}."
        )
    else:
        said = (
            f"The write cache was still filling: {kept}, when {format_ratio(dirty)} of it was dirty. So the drives had "
            f"less to do than the load asks of them. {longer}."
        )
    return (said,)


def doubts_of_reads(
    report: Mapping[str, Any], sizes_bytes: Sequence[int], *, keeps_reads: bool, longer: str = _LONGER
) -> tuple[str, ...]:
    """A sentence for each read cache that was not full and still missed: the flash of hosts, and the array's own.

    `sizes_bytes` are those of the targets; `keeps_reads`: whether the array's cache keeps what was read.
    """
    said = []
    for target, size_bytes in zip(report["targets"], sizes_bytes, strict=True):
        flash = target["flash"]
        if flash is not None:
            name = f"The flash cache of {target['host']} for {target['volume']}"
            said += _filling(
                name, flash["used_blocks"], flash["blocks"], flash["block_bytes"], size_bytes, flash, longer
            )
    cache = report["cache"]
    if cache is not None and keeps_reads:
        reads = {"reads": cache["reads"], "hits": cache["read_hits"]}
        used, most = cache["clean_pages"], cache["clean_limit_pages"]
        said += _filling("The read cache", used, most, cache["page_bytes"], sum(sizes_bytes), reads, longer)
    return tuple(said)


def _filling(
    name: str,
    used: int,
    most: int,
    each_bytes: int,
    before_bytes: int,
    counts: Mapping[str, int],
    longer: str,
) -> list[str]:
    missed = 1 - counts["hits"] / counts["reads"] if counts["reads"] else 0.0
    if used >= _FULL * most or missed < _LEAST_MISSED or most * each_bytes < _LEAST_SHARE * before_bytes:
        return []
    said = (
        f"{name} was still filling: {format_ratio(used / most)} of it was in use at the end, and "
        f"{format_ratio(missed)} of the reads missed it. The fuller it gets, the faster reads become. "
        f"{longer}, or let a stream of a --schedule read it full before."
    )
    return [said]
