"""Whether caches were still filling when a run ended.

Of a write cache drives then have work before them that nothing shows; of a read cache hits that are still to come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storscope.domain.units import NS_PER_S, format_bytes, format_ratio

_LEAST_KEPT = 0.2
"""Of the pages that came to be written, so many must have stayed. What destaging keeps up with leaves far less in a
minute (at most 5 % in the designs of `examples/designs` once they have settled)."""
_LEAST_PER_S = 1.0
"""So many of them a second for each drive: less is hardly anything for one, that does a hundred writes or more."""
_ALL_THERE = 0.05
"""Of the pages that were written, fewer that were not there already leave the cache as it is: the places that are
written are all in it."""
_FULL = 0.98
"""A read cache is never quite full: what is being read has its room, too."""
_FULL_OF_WRITES = 0.95
"""Of what may be dirty: what is being destaged leaves its room a little before the next write takes it."""
_LEAST_MISSED = 0.05
"""Fewer misses are hardly worth waiting for."""
_LEAST_SHARE = 0.05
"""Of what it stands before: a smaller cache will not answer many reads when it is full, unless few places are read."""
_LEAST_HIT = 0.05
"""Few places are read where a small cache that is not full answers so many: a full one will answer more."""

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


def doubts_of_cache(
    report: Mapping[str, Any], last: Mapping[str, Any] | None = None, longer: str = _LONGER
) -> tuple[str, ...]:
    """A sentence if much of what came into the cache in the time of a report stayed there; `longer` is what to try.

    Latency and IOPS cannot tell: until the cache is full, writes take as long as ever. Says nothing of a cache that
    was full, or kept its level; nor, by `last`, the report of the end of that time, of one that holds all the places
    that are written: nothing is left to come.
    """
    cache = report["cache"]
    if cache is None or not cache["dirty_limit_pages"]:
        return ()
    came, stayed = _came(cache), _stayed(cache)
    if not came or stayed < _LEAST_KEPT * came or not _grew(report) or (last is not None and _holds_all(last)):
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


def _came(cache: Mapping[str, Any]) -> int:
    """Pages that were written and not there already."""
    return int(cache["written_pages"] - cache["absorbed_pages"])


def _stayed(cache: Mapping[str, Any]) -> int:
    return _came(cache) - int(cache["destaged_pages"])


def _grew(report: Mapping[str, Any]) -> bool:
    drives = sum(one["kind"] == "drive" for one in report["components"])
    least: float = _LEAST_PER_S * drives * report["duration_ns"] / NS_PER_S
    return _stayed(report["cache"]) >= least


def _holds_all(report: Mapping[str, Any]) -> bool:
    """Whether what was written was there already, all but a little."""
    cache = report["cache"]
    return not _grew(report) and cache["written_pages"] > 0 and _came(cache) <= _ALL_THERE * cache["written_pages"]


def doubts_of_reads(
    report: Mapping[str, Any], sizes_bytes: Sequence[int], *, keeps_reads: bool, longer: str = _LONGER
) -> tuple[str, ...]:
    """A sentence if the flash of hosts was not full and still missed, and one of the array's own read cache.

    `sizes_bytes` is how much of each target is used; `keeps_reads`: whether the array's cache keeps what was read. What
    it answers tells of no places: it holds what was written or read ahead, too.
    """
    said = []
    before = [(target, size) for target, size in zip(report["targets"], sizes_bytes, strict=True) if target["flash"]]
    filling = [(target, state) for target, size in before if (state := _flash_filling(target["flash"], size))]
    if filling:
        target, state = max(filling, key=lambda one: one[1].missed)
        name = f"The flash cache of {target['host']} for {target['volume']}"
        said.append(state.words(name, longer, len(filling) - 1))
    cache = report["cache"]
    if cache is not None and keeps_reads:
        state = _Filling(cache["clean_pages"], cache["clean_limit_pages"], cache["reads"], cache["read_hits"])
        if state.is_told and not state.is_small(cache["page_bytes"], sum(sizes_bytes)):
            said.append(state.words("The read cache", longer))
    return tuple(said)


def _flash_filling(flash: Mapping[str, int], before_bytes: int) -> _Filling | None:
    """The state of a host's flash that is worth a doubt: large beside what it stands before, or of use already.

    Of one that a schedule took away nothing is left to fill; one of which other hosts have written as much anew as it
    holds is as full as they let it become.
    """
    if flash.get("is_lost") or flash.get("outdated_blocks", 0) > flash["used_blocks"]:
        return None
    state = _Filling(flash["used_blocks"], flash["blocks"], flash["reads"], flash["hits"])
    is_idle = state.is_small(flash["block_bytes"], before_bytes) and 1.0 - state.missed < _LEAST_HIT
    return state if state.is_told and not is_idle else None


@dataclass(frozen=True)
class _Filling:
    """What a read cache held at the end, of how much, and what it answered."""

    used: int
    most: int
    reads: int
    hits: int

    @property
    def missed(self) -> float:
        return 1.0 - self.hits / self.reads if self.reads else 0.0

    @property
    def is_told(self) -> bool:
        return self.used < _FULL * self.most and self.missed >= _LEAST_MISSED

    def is_small(self, each_bytes: int, before_bytes: int) -> bool:
        """Beside what it stands before."""
        return self.most * each_bytes < _LEAST_SHARE * before_bytes

    def words(self, name: str, longer: str, others: int = 0) -> str:
        was = f", and so were {others} more" if others > 1 else ", and so was one more" if others else ""
        return (
            f"{name} was still filling{was}: {format_ratio(self.used / self.most)} of it was in use at the end, and "
            f"{format_ratio(self.missed)} of the reads missed it. The fuller it gets, the faster reads become. "
            f"{longer}, or let a stream of a --schedule read it full before."
        )
