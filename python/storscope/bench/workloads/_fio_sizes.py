"""The sizes of a fio job's transfers: `bs`, `bsrange`, `bssplit`, for each direction.

Without `bs_unaligned` fio rounds them down to multiples of the direction's least one (get_next_buflen of its io_u.c).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from storscope.bench.workloads._fio_given import GivenOptions
from storscope.bench.workloads._fio_text import Option, integer_of, size_of

_DEFAULT_SIZE = 4096
_MOST_SIZES = 100


def sizes_of(job: GivenOptions, direction: int) -> tuple[tuple[int, float], ...]:
    """Sizes with their shares; direction 0 reads, 1 writes."""
    plain, *sizes = job.pair("bs")
    ranged, *ranges = job.pair("bsrange")
    split, *splits = job.pair("bssplit")
    if split and splits[direction]:
        return _split(job, split, splits[direction])
    if ranged and ranges[direction]:
        return _range(job, ranged, ranges[direction])
    if plain and sizes[direction]:
        return ((_size(job, plain, sizes[direction]), 1.0),)
    return ((_DEFAULT_SIZE, 1.0),)


def least_size_of(job: GivenOptions, direction: int) -> int:
    """The least of them, also where `sizes_of` has fewer sizes stand for a long range."""
    split, *splits = job.pair("bssplit")
    ranged, *ranges = job.pair("bsrange")
    if ranged and ranges[direction] and not (split and splits[direction]):
        return _size(job, ranged, ranges[direction].partition("-")[0])
    return min(size for size, _ in sizes_of(job, direction))


def mean_size_of(job: GivenOptions, direction: int) -> float:
    """Their mean in bytes."""
    return math.fsum(size * share for size, share in sizes_of(job, direction))


def _size(job: GivenOptions, option: Option, text: str) -> int:
    size = size_of(option, text, job.where, job.kb_base)
    if not 0 < size <= 2**30:
        job.fail(option, "sizes from 1 byte to 1 GiB")
    return size


def _split(job: GivenOptions, option: Option, text: str) -> tuple[tuple[int, float], ...]:
    """4k/10:64k/50:32k/, as fio 3.33 fills up its percentages."""
    sizes, given = [], []
    for part in text.split(":"):
        size, _, percent = part.partition("/")
        sizes.append(_size(job, option, size))
        given.append(integer_of(option, percent, job.where, 100) if percent.strip() else 0)
    if sum(given) > 100 or len(given) > _MOST_SIZES:
        job.fail(option, f"at most {_MOST_SIZES} sizes, percentages that add up to 100 (they give {sum(given)})")
    if 0 not in given and sum(given) < 100:
        filled = sizes[_last_greatest(given)]
        job.note("bssplit", f"the percentages give {sum(given)}: what is left has {filled} bytes, as in fio")
    shares = [(size, percent / 100) for size, percent in zip(sizes, _filled(given), strict=True)]
    return tuple(shares) if job.flag("bs_unaligned") else _rounded(job, shares)


def _filled(given: Sequence[int]) -> list[int]:
    """Percentages that add up to 100 of those that are given, where 0 is what is not.

    The missing ones are the rest, divided in whole per cent (bssplit_ddir of fio's options.c; 0 is missing there, too).
    What is still left falls to the greatest, since it is the last that is drawn (get_next_buflen of its io_u.c); among
    equals to the last in the file.
    """
    missing = given.count(0)
    filled = [percent or (100 - sum(given)) // missing for percent in given]
    filled[_last_greatest(filled)] += 100 - sum(filled)
    return filled


def _last_greatest(percents: Sequence[int]) -> int:
    return max(range(len(percents)), key=lambda index: (percents[index], index))


def _rounded(job: GivenOptions, shares: Sequence[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """Each size as fio rounds it down."""
    least = min(size for size, _ in shares)
    found: dict[int, float] = {}
    for size, share in shares:
        found[size // least * least] = found.get(size // least * least, 0.0) + share
    odd = ", ".join(str(size) for size, _ in shares if size % least)
    if odd:
        job.note("bssplit", f"{odd} rounded down to multiples of {least}, as fio does without bs_unaligned")
    return tuple((size, round(share, 12)) for size, share in found.items()) if odd else tuple(shares)


def _range(job: GivenOptions, option: Option, text: str) -> tuple[tuple[int, float], ...]:
    """4k-16k: every multiple of the least with the same probability, and what is left over above the last one at the
    greatest; measured with fio 3.33."""
    low, _, high = text.partition("-")
    least, greatest = _size(job, option, low), _size(job, option, high)
    count = greatest // least
    if greatest < least:
        job.fail(option, "a range like 4k-16k")
    if job.flag("bs_unaligned"):
        job.note("bs_unaligned", f"fio takes any number of bytes in between, here multiples of {least}")
    rest = greatest % least / greatest
    most = _MOST_SIZES - (rest > 0)
    if count > most:
        job.note("bsrange", f"{_MOST_SIZES} sizes stand for the range")
    sizes = [(least * number, members * least / greatest) for number, members in _middles(count, min(count, most))]
    return (*sizes, (greatest, rest)) if rest else tuple(sizes)


def _middles(count: int, groups: int) -> list[tuple[int, int]]:
    """The middle of each of so many groups of the numbers from 1 to `count`, and how many are in it.

    They are as alike as can be. A middle between two numbers is one of them by turns, so that the mean stays: it is off
    by less than one half.
    """
    ends = [count * group // groups for group in range(groups + 1)]
    return [
        ((before + 1 + after + group % 2) // 2, after - before)
        for group, (before, after) in enumerate(itertools.pairwise(ends))
    ]
