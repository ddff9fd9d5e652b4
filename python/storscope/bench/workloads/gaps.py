"""What alignment does to transfers: where all may begin, and whether those in sequence leave gaps."""

from __future__ import annotations

import math
from collections.abc import Sequence

from storscope.domain.workload import AccessSpec


def alignment_bytes(lines: Sequence[AccessSpec]) -> int:
    """The least distance that is a multiple of the alignment of each line."""
    return math.lcm(*(line.effective_align_bytes for line in lines))


def leaves_gaps(line: AccessSpec, lines: Sequence[AccessSpec]) -> bool:
    """Whether a transfer of `line` that goes on from one of `lines`, or its reply, may skip bytes.

    It begins at the next multiple of its alignment.
    """
    sizes = [size for other in lines for size in (other.size_bytes, other.reply_bytes)]
    return any(size % line.effective_align_bytes for size in sizes)
