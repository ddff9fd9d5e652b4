"""Columns of Arrow from NumPy's memory, without a copy where that is possible.

`pa.array` would copy what has nulls, and its first call for an ndarray imports numpy.ma. Beware: do not change an array
afterwards that has become a column.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from storscope.domain.arrays import FloatArray, IntArray

_WIDE_BITS = 64


def nullable(values: FloatArray) -> pa.Array:
    """An array of numbers with NaN and infinities as null, over the same memory if they are floats of 64 bits."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    finite = np.isfinite(values)
    missing = len(values) - int(np.count_nonzero(finite))
    valid = pa.py_buffer(np.packbits(finite, bitorder="little")) if missing else None
    return pa.Array.from_buffers(pa.float64(), len(values), [valid, pa.py_buffer(values)], missing)


def plain(values: npt.NDArray[np.int64] | npt.NDArray[np.int32], kind: pa.DataType) -> pa.Array:
    """An integer array without nulls as an Arrow array, over the same memory if it is as wide as the type.

    Raises TypeError for floats, which would lose their fractions.
    """
    width = np.int64 if kind.bit_width == _WIDE_BITS else np.int32
    same = np.ascontiguousarray(values.astype(width, casting="same_kind", copy=False))
    return pa.Array.from_buffers(kind, len(same), [None, pa.py_buffer(same)], 0)


def repeated(texts: Sequence[str], counts: Sequence[int] | IntArray) -> pa.Array:
    """Each text as often as its count says, one after another."""
    if len(set(texts)) == 1:
        texts, counts = texts[:1], [int(np.sum(counts))]
    encoded = [text.encode("utf-8") for text in texts]
    lengths = np.repeat(np.array([len(text) for text in encoded], np.int64), counts)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    if offsets[-1] > np.iinfo(np.int32).max:
        return pa.array(np.repeat(np.array(texts, object), counts), pa.string())
    data = b"".join(text * int(count) for text, count in zip(encoded, counts, strict=True))
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data))


def without_times(array: pa.Array) -> pa.Array:
    """Null in the place of each placeholder, lists at their length."""
    if not isinstance(array, pa.ListArray):
        return pa.nulls(len(array), array.type)
    return pa.ListArray.from_arrays(array.offsets, pa.nulls(len(array.values), array.type.value_type))
