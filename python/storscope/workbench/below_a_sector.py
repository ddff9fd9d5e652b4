"""Simulated I/Os that no disk can do: of parts of a sector, or from within one on."""

from __future__ import annotations

import math
from typing import Final

from storscope.domain.units import format_bytes
from storscope.domain.workload import Workload

_SECTOR_BYTES: Final = 512
"""Logical sector of disks and of nearly all flash drives; a few have 4 KiB."""


def doubts_of_sectors(workload: Workload) -> tuple[str, ...]:
    """A sentence on streams whose sizes or places are no whole sectors: a host's block layer refuses such I/Os."""
    streams = [one.name for one in workload.streams if math.gcd(*one.unit_bytes()) % _SECTOR_BYTES]
    if not streams:
        return ()
    named = ", ".join(streams)
    are = "Stream {} asks" if len(streams) == 1 else "Streams {} ask"
    sentence = (
        f"{are.format(named)} for parts of a sector of {format_bytes(_SECTOR_BYTES)}, which drives do not have: hosts "
        "read the whole sectors for it, and read them before they write them. Give sizes and align in whole sectors."
    )
    return (sentence,)
