"""The validation traces published with DiskSim: one line a request, each sent after the answer of the one above.

`R|W Hit|Miss first-sector sectors service-us think-us`; sectors of 512 bytes. The time of a request is that of the
one above and its service and think time. The second word is not used.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from storscope.domain.units import NS_PER_US
from storscope.sim.traces.trace import SECTOR_BYTES, Gathering, Trace, exact_ns, is_passed_over, whole_number

FORMAT = "drive trace"
_WORDS = 6


def recognise(first: str) -> bool:
    """By its first line with something in it."""
    words = first.split()
    return len(words) == _WORDS and words[0] in {"R", "W"} and words[1] in {"Hit", "Miss"}


def read(where: str, lines: Iterable[str]) -> Trace:
    """All of it."""
    found = Gathering(where, FORMAT)
    at_ns = 0
    for number, line in enumerate(lines, 1):
        if is_passed_over(line):
            continue
        words = line.split()
        if len(words) != _WORDS or words[0] not in {"R", "W"} or words[1] not in {"Hit", "Miss"}:
            raise found.error(number, "R or W, Hit or Miss, first sector, sectors, service and think time in us", line)
        first, sectors = whole_number(words[2]), whole_number(words[3])
        service_ns, think_ns = exact_ns(words[4], NS_PER_US), exact_ns(words[5], NS_PER_US)
        for value, word, what in zip(
            (first, sectors, service_ns, think_ns), words[2:],
            chain(("a sector", "a number of sectors"), ("microseconds",) * 2), strict=True,
        ):  # fmt: skip
            if value is None:
                raise found.error(number, what, word)
        assert first is not None and sectors is not None and service_ns is not None and think_ns is not None
        found.add(
            number, at_ns, first * SECTOR_BYTES, sectors * SECTOR_BYTES, is_write=words[0] == "W", think_ns=think_ns
        )
        at_ns += service_ns + think_ns
    return found.trace(thinks=True)
