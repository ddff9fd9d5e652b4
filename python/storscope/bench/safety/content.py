"""Whether a device holds data that no signature explains: databases on raw devices, plain encryption, VM images.

The first and last MiB and evenly spaced blocks between are read. One byte that is not zero makes the content unknown.
All zero means "blank as far as sampled", not "empty": a device with a little data in a few places can pass, which is
why the check of claims, holders and writers comes with it, never alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from storscope.bench.safety.signatures import Medium
from storscope.domain.units import KIB, MIB

_EDGE_BYTES = MIB
_BLOCK_BYTES = 4 * KIB
_BLOCKS = 256
"""On a drive with 8 ms per seek about 2 s."""


@dataclass(frozen=True)
class Sample:
    """What was looked at."""

    looked_at_bytes: int
    first_data_at: int | None
    """The offset of the first block with data; null if all were zero."""


def sample(medium: Medium) -> Sample:
    """Looks until it finds data. Raises OSError where the medium cannot be read."""
    looked_at = 0
    for offset, length in _places(medium.size_bytes):
        block = medium.read(offset, length)
        looked_at += len(block)
        if block.count(0) != len(block):
            return Sample(looked_at, offset)
    return Sample(looked_at, None)


def _places(size_bytes: int) -> list[tuple[int, int]]:
    edge = min(_EDGE_BYTES, size_bytes)
    step = max(_BLOCK_BYTES, size_bytes // _BLOCKS // _BLOCK_BYTES * _BLOCK_BYTES)
    between = range(edge, max(edge, size_bytes - edge), step)
    return [(0, edge), (size_bytes - edge, edge), *((offset, _BLOCK_BYTES) for offset in between)]
