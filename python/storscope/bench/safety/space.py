"""Room on a file system, with a margin that is left to others."""

from __future__ import annotations

import resource

from storscope.bench.safety.check import Check, passed, refused
from storscope.domain.units import GIB, MIB, format_bytes

MARGIN_RATIO = 0.05
MARGIN_LEAST_BYTES = 16 * MIB
MARGIN_MOST_BYTES = 8 * GIB
"""What is left free for journals, metadata and whoever else writes: our choice. ext4 keeps 5 % for root likewise."""


def margin_bytes(total_bytes: int) -> int:
    """What must stay free on a file system of this size."""
    return int(min(max(total_bytes * MARGIN_RATIO, MARGIN_LEAST_BYTES), MARGIN_MOST_BYTES))


def check_space(needed_bytes: int, free_bytes: int, total_bytes: int) -> Check:
    """Whether the file system has room for what would be allocated."""
    margin = margin_bytes(total_bytes)
    says = f"needs {format_bytes(needed_bytes)} of {format_bytes(free_bytes)} free"
    if needed_bytes and free_bytes - needed_bytes < margin:
        says += f", and {format_bytes(margin)} must stay free"
        return refused("space", says, "Choose a smaller size or another file system.")
    return passed("space", says)


def check_file_limit(size_bytes: int) -> Check:
    """Whether this process may write files of that size (setrlimit(2))."""
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit != resource.RLIM_INFINITY and size_bytes > limit:
        says = f"needs a file of {format_bytes(size_bytes)}, the limit is {format_bytes(limit)}"
        return refused("file size limit", says, "Raise the limit (ulimit -f).")
    return passed("file size limit", "no limit in the way")
