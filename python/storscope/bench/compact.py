"""Intervals that take little memory: the buckets of their histograms as arrays instead of lists.

A run of 400 volumes has a million buckets in an interval, and a number in a list takes 36 bytes where one in an array
takes 8. Arrays are parts of one for the whole interval. In virtual time hardly an I/O is late: where all were sent when
they were due, service is response, and both are one object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from storscope.domain.arrays import IntArray

_TALLIES = ("reads", "writes", "flushes")
_LISTS = ("bucket_low_ns", "bucket_high_ns", "bucket_count")


def compact(form: dict[str, Any]) -> dict[str, Any]:
    """An interval as the engine writes it, with arrays for the lists of its histograms; `form` itself is changed."""
    tallies = [cell[name] for cell in form["cells"] for name in _TALLIES if cell.get(name) is not None]
    histograms = []
    for tally in tallies:
        if tally["service"] == tally["response"]:
            tally["service"] = tally["response"]
        histograms += list({id(value): value for value in tally.values() if isinstance(value, dict)}.values())
    ends = np.cumsum([0, *(len(one["bucket_count"]) for one in histograms)]).tolist()
    for name in _LISTS:
        values = np.fromiter(chain.from_iterable([one[name] for one in histograms]), np.int64, ends[-1])
        for one, start, end in zip(histograms, ends[:-1], ends[1:], strict=True):
            one[name] = values[start:end]
    return form


def is_compact(histogram: Mapping[str, Any]) -> bool:
    """Whether its buckets are arrays."""
    return isinstance(histogram["bucket_count"], np.ndarray)


def plain_numbers(values: Sequence[int] | IntArray) -> Sequence[int]:
    """As integers of Python, from a list or an array."""
    if isinstance(values, np.ndarray):
        numbers: list[int] = values.tolist()
        return numbers
    return values
