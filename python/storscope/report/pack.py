"""Chart data in little room: columns of numbers, made compressible, gzip, base64.

A column is int32 deltas of milliseconds (times), float32 (values, NaN for absent) or uint32. Its bytes are stored
plane by plane (all first bytes, then all second bytes, ...), which gzip likes. Values lose what no eye sees: the
significand is rounded to 13 bits, a relative error of at most 2^-14 (0.006 %). `unpack.js` reads this; the two change
together.
"""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from storscope.domain.arrays import IntArray

_DROPPED_BITS = 23 - 13


@dataclass
class Packer:
    """Collects columns; each `add_...` returns the column's number, by which the page's JSON refers to it."""

    columns: list[dict[str, object]] = field(default_factory=list)
    _parts: list[bytes] = field(default_factory=list)

    def add_times(self, time_ns: IntArray) -> int:
        """Instants, kept to the millisecond."""
        ms = np.asarray(time_ns, dtype=np.int64) // 1_000_000
        deltas = np.diff(ms)
        if len(deltas) and np.abs(deltas).max() >= 2**31:
            # A gap of more than 24 days: seconds are enough there.
            ms = ms // 1000
            return self._add("seconds", np.diff(ms).astype(np.int32), int(ms[0]))
        return self._add("millis", deltas.astype(np.int32), int(ms[0]) if len(ms) else None)

    def add_values(self, values: npt.ArrayLike) -> int:
        """Numbers with NaN for absent."""
        return self._add("float", rounded(np.asarray(values, dtype=np.float64)))

    def add_counts(self, counts: npt.ArrayLike) -> int:
        """Whole numbers from 0 to 2^32-1."""
        return self._add("uint", np.asarray(counts).astype(np.uint32))

    def text(self) -> str:
        """Everything added, as base64 of gzip. The same data gives the same text."""
        return base64.b64encode(gzip.compress(b"".join(self._parts), 9, mtime=0)).decode("ascii")

    def _add(self, kind: str, values: npt.NDArray[np.generic], base: int | None = None) -> int:
        little = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<")))
        self._parts.append(little.view(np.uint8).reshape(-1, 4).T.tobytes())
        self.columns.append({"kind": kind, "n": len(values)} | ({} if base is None else {"base": base}))
        return len(self.columns) - 1


def rounded(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """float32 with the lowest bits rounded away; NaN stays NaN."""
    bits = values.astype(np.float32).view(np.uint32)
    half = np.uint32(1 << (_DROPPED_BITS - 1))
    mask = np.uint32(0xFFFFFFFF ^ ((1 << _DROPPED_BITS) - 1))
    short = ((bits + half) & mask).view(np.float32)
    return np.where(np.isfinite(values), short, np.float32(np.nan))


def island_json(value: object) -> str:
    """JSON that is safe inside a <script> element: no '<', '>' or '&', whatever the texts in it hold."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
