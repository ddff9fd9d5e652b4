"""The latency buckets of fio's histograms, as json+ and its logs print them (fio's `stat.c` and `stat.h`, 2.1 to 3.42).

fio counts whole units (ns from 3.0 on, us before) in 64 buckets an octave: exact below 128, then groups of 64 whose
width doubles, so a bucket is at most 1.6 % wide.
"""

from __future__ import annotations

import numpy as np

from storscope.domain.arrays import IntArray
from storscope.domain.units import NS_PER_MS, NS_PER_S, NS_PER_US

_PLAT_BITS = 6
"""FIO_IO_U_PLAT_BITS."""
_PLAT_GROUPS = {"ns": 29, "us": 19}
"""FIO_IO_U_PLAT_GROUP_NR."""
NS_OF = {"ns": 1.0, "us": float(NS_PER_US), "ms": float(NS_PER_MS), "s": float(NS_PER_S)}


def bucket_from_value(value: int, unit: str, greatest_ns: float | None = None) -> tuple[float, float]:
    """The bounds in ns, low < latency <= high, of the bucket that fio's `plat_val_to_idx` puts `value` into.

    The last bucket of the last group takes everything above; it is closed with `greatest_ns`.
    """
    shift = max(0, value.bit_length() - 1 - _PLAT_BITS)
    low = (value >> shift) << shift
    high = low + (1 << shift)
    factor = NS_OF[unit]
    last = ((1 << (_PLAT_BITS + 1)) - 1) << (_PLAT_GROUPS[unit] - 2)
    high_ns = high * factor - 1
    if low >= last and greatest_ns is not None:
        high_ns = max(high_ns, greatest_ns)
    return low * factor - 1, high_ns


def value_from_index(index: int) -> int:
    """The lowest value of bucket `index`: the inverse of `plat_val_to_idx` (fio's `plat_idx_to_val`, low end)."""
    if index < 2 << _PLAT_BITS:
        return index
    shift = (index >> _PLAT_BITS) - 1
    return (1 << (shift + _PLAT_BITS)) + ((index % (1 << _PLAT_BITS)) << shift)


def lowest_values(values: IntArray) -> IntArray:
    """The lowest value of the bucket of each value, below 2**53 and of any unit: those of `value_from_index`."""
    shifts = np.maximum(0, np.frexp(values.astype(np.float64))[1] - 1 - _PLAT_BITS)
    lowest: IntArray = (values >> shifts) << shifts
    return lowest
